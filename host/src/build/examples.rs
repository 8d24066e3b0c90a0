//! Examples of calls, beside the manifest: what `remit test` runs against the built component, and what a
//! reader of the project learns first.

use std::path::Path;

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::call::{Content, Reply};
use crate::error::{Error, ErrorKind, Result};
use crate::manifest::visible;

/// The file in a project's folder.
const EXAMPLES_FILE: &str = "examples.json";

/// Characters of an answer that are shown when it is not the expected one.
const MAX_SHOWN: usize = 400;

/// One call and what it answers. In the file: `tool`, `input`, and one of `output`, `text` and `error`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    tool: String,
    #[serde(default)]
    input: Map<String, Value>,
    output: Option<Value>,
    text: Option<String>,
    error: Option<String>,
}

/// One call and what it answers.
#[derive(Clone, Debug, PartialEq)]
pub struct Example {
    /// The tool.
    pub tool: String,
    /// Its input.
    pub input: Map<String, Value>,
    /// What comes back.
    pub expected: Expected,
}

/// What a call answers.
#[derive(Clone, Debug, PartialEq)]
pub enum Expected {
    /// Anything but a failure.
    Any,
    /// This structured output.
    Output(Value),
    /// This text: all text of the answer, lines joined.
    Text(String),
    /// A failure of this code, such as `call/invalid-input`.
    Error(String),
}

/// Reads the examples of the project in `folder`. None are no error.
pub fn read_examples(folder: &Path) -> Result<Vec<Example>> {
    let path = folder.join(EXAMPLES_FILE);
    match std::fs::read_to_string(&path) {
        Ok(text) => parse(&text),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(Error::file(&path, &error)),
    }
}

fn parse(text: &str) -> Result<Vec<Example>> {
    let entries: Vec<Entry> = serde_json::from_str(text).map_err(|error| {
        let reason = visible(&error.to_string(), MAX_SHOWN);
        Error::new(ErrorKind::Usage, format!("`{EXAMPLES_FILE}` is not understood: {reason}")).hint(
            "write a list such as [{ \"tool\": \"echo\", \"input\": { \"message\": \"hi\" }, \"text\": \"hi\" }]",
        )
    })?;
    entries.into_iter().enumerate().map(|(index, entry)| entry.read(index)).collect()
}

impl Entry {
    fn read(self, index: usize) -> Result<Example> {
        let expected = match (self.output, self.text, self.error) {
            (None, None, None) => Expected::Any,
            (Some(output), None, None) => Expected::Output(output),
            (None, Some(text), None) => Expected::Text(text),
            (None, None, Some(code)) => Expected::Error(code),
            _ => {
                let message = format!("`{EXAMPLES_FILE}` [{index}]: write one of `output`, `text` and `error`");
                return Err(Error::new(ErrorKind::Usage, message));
            }
        };
        Ok(Example { tool: self.tool, input: self.input, expected })
    }
}

impl Expected {
    /// What is different, or nothing.
    #[must_use]
    pub fn difference(&self, answer: &Result<Reply, Error>) -> Option<String> {
        match (self, answer) {
            (Self::Error(code), Err(error)) if code == error.kind.code() => None,
            (Self::Error(code), Err(error)) => Some(format!("expected `{code}`, got {error}")),
            (Self::Error(code), Ok(reply)) => {
                Some(format!("expected `{code}`, got an answer: {}", shown(&text(reply))))
            }
            (_, Err(error)) => Some(format!("expected an answer, got {error}")),
            (Self::Any, Ok(_)) => None,
            (Self::Output(output), Ok(reply)) if Some(output) == reply.structured.as_ref() => None,
            (Self::Output(output), Ok(reply)) => {
                let got = reply.structured.as_ref().map_or("no structured output".to_owned(), Value::to_string);
                Some(format!("expected {}\n     got {}", shown(&output.to_string()), shown(&got)))
            }
            (Self::Text(expected), Ok(reply)) if *expected == text(reply) => None,
            (Self::Text(expected), Ok(reply)) => {
                Some(format!("expected {:?}\n     got {:?}", shown(expected), shown(&text(reply))))
            }
        }
    }
}

fn text(reply: &Reply) -> String {
    let texts = reply.content.iter().filter_map(|content| match content {
        Content::Text(text) => Some(text.as_str()),
        _ => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}

fn shown(text: &str) -> String {
    visible(text, MAX_SHOWN)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn examples_are_read() {
        let examples = parse(
            r#"[{ "tool": "a" }, { "tool": "b", "input": { "x": 1 }, "output": { "y": 2 } },
                { "tool": "c", "text": "t" }, { "tool": "d", "error": "call/invalid-input" }]"#,
        )
        .unwrap();
        let expected: Vec<_> = examples.into_iter().map(|example| example.expected).collect();
        assert_eq!(
            expected,
            [
                Expected::Any,
                Expected::Output(json!({ "y": 2 })),
                Expected::Text("t".to_owned()),
                Expected::Error("call/invalid-input".to_owned()),
            ]
        );
    }

    #[test]
    fn mistakes_in_examples_are_told() {
        for (text, expected) in [
            ("{}", "`examples.json` is not understood: invalid type: map, expected a sequence at line 1 column 0"),
            (r#"[{"input":{}}]"#, "`examples.json` is not understood: missing field `tool` at line 1 column 13"),
            (
                r#"[{"tool":"a","txt":"b"}]"#,
                "`examples.json` is not understood: unknown field `txt`, expected one of `tool`, `input`, `output`, `text`, `error` at line 1 column 18",
            ),
            (
                r#"[{"tool":"a","text":"b","error":"c"}]"#,
                "`examples.json` [0]: write one of `output`, `text` and `error`",
            ),
        ] {
            assert_eq!(parse(text).unwrap_err().message, expected);
        }
    }

    #[test]
    fn answers_are_compared() {
        let reply = |structured: Option<Value>, texts: &[&str]| {
            Ok(Reply {
                call_id: String::new(),
                structured,
                content: texts.iter().map(|text| Content::Text((*text).to_owned())).collect(),
                plan: crate::call::Plan::default(),
                asked: Vec::new(),
                usage: crate::audit::Usage::default(),
            })
        };
        let failure = || Err(Error::new(ErrorKind::Failed, "no"));
        assert_eq!(Expected::Any.difference(&reply(None, &[])), None);
        assert_eq!(Expected::Text("a\nb".to_owned()).difference(&reply(None, &["a", "b"])), None);
        assert_eq!(Expected::Output(json!({"a": 1})).difference(&reply(Some(json!({"a": 1})), &[])), None);
        assert_eq!(Expected::Error("capability/failed".to_owned()).difference(&failure()), None);
        assert_eq!(
            Expected::Any.difference(&failure()).as_deref(),
            Some("expected an answer, got capability/failed: no")
        );
        assert_eq!(
            Expected::Output(json!({"a": 1})).difference(&reply(None, &["x"])).as_deref(),
            Some("expected {\"a\":1}\n     got no structured output")
        );
        assert_eq!(
            Expected::Error("capability/failed".to_owned()).difference(&reply(None, &["x"])).as_deref(),
            Some("expected `capability/failed`, got an answer: x")
        );
    }
}
