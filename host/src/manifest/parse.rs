//! Reads a manifest from JSON, and says of a mistake where it is and what was probably meant.

use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::Value;

use super::Manifest;
use super::rules::visible;
use crate::error::{Error, ErrorKind, Result};

/// How much of a reason is shown: unknown fields are listed with all known ones.
const MAX_REASON: usize = 200;

/// Names that differ in more letters than this are not taken for each other.
const MAX_TYPOS: usize = 3;

/// Reads a manifest that is complete: the one in a component.
pub fn parse(json: &[u8]) -> Result<Manifest> {
    if !json.trim_ascii_start().starts_with(b"{") {
        return Err(invalid("a manifest is a JSON object: `{ … }`".to_owned()));
    }
    // What is no JSON is told apart from JSON that is no manifest.
    serde_json::from_slice::<IgnoredAny>(json).map_err(|error| syntax(&error))?;
    typed(&mut serde_json::Deserializer::from_slice(json), "")
}

/// Reads JSON that is not yet a manifest: `capability.json`, which leaves to the source what the source says.
pub fn parse_value(text: &str) -> Result<Value> {
    let value: Value = serde_json::from_str(text).map_err(|error| syntax(&error))?;
    if value.is_object() { Ok(value) } else { Err(invalid("a manifest is a JSON object: `{ … }`".to_owned())) }
}

/// Makes a manifest of JSON. `text` is the file that most of it came from: places are given in it.
pub fn from_value(value: Value, text: &str) -> Result<Manifest> {
    typed(value, text)
}

fn typed<'de, T: DeserializeOwned, D>(reader: D, text: &str) -> Result<T>
where
    D: serde::Deserializer<'de>,
    D::Error: std::fmt::Display,
{
    serde_path_to_error::deserialize(reader).map_err(|error| {
        let path = error.path().to_string();
        let path = if path == "." { String::new() } else { path };
        mistake(&path, &error.inner().to_string(), text)
    })
}

fn syntax(error: &serde_json::Error) -> Error {
    let (reason, _) = split_place(&error.to_string());
    let place = format!("line {}, column {}", error.line(), error.column());
    invalid(format!("the manifest is not JSON: {} ({place})", visible(&reason, MAX_REASON)))
}

/// A mistake that serde reports in words, in words for authors.
fn mistake(path: &str, message: &str, text: &str) -> Error {
    let (reason, place) = split_place(message);
    let names: Vec<_> = reason.split('`').skip(1).step_by(2).collect();
    let place = place.or_else(|| names.first().and_then(|name| place_of(name, text)));
    let place = place.map(|place| format!(" ({place})")).unwrap_or_default();
    // The path of an unknown field ends in it.
    let path =
        names.first().and_then(|name| path.strip_suffix(name)).map_or(path, |path| path.trim_end_matches('.'));
    let inside = if path.is_empty() { String::new() } else { format!("`{}`: ", visible(path, MAX_REASON)) };
    match names.as_slice() {
        [name, known @ ..] if reason.starts_with("unknown ") => {
            let what = if reason.starts_with("unknown variant") { "value" } else { "field" };
            let name = visible(name, MAX_REASON);
            let error = invalid(format!("{inside}unknown {what} `{name}`{place}"));
            match nearest(&name, known) {
                Some(meant) => error.hint(format!("did you mean `{meant}`?")),
                None => error.hint(format!("known here: {}", known.join(", "))),
            }
        }
        [name, ..] if reason.starts_with("missing field") => {
            invalid(format!("{inside}the field `{name}` is missing{place}"))
        }
        _ => invalid(format!("{inside}{}{place}", visible(&reason, MAX_REASON))),
    }
}

/// Splits serde_json's own ` at line 1 column 2` from what it says.
fn split_place(message: &str) -> (String, Option<String>) {
    match message.rsplit_once(" at line ") {
        Some((reason, place)) => {
            (reason.to_owned(), Some(format!("line {}", place.replace(" column", ", column"))))
        }
        None => (message.to_owned(), None),
    }
}

/// Where `"name"` first stands in `text`.
fn place_of(name: &str, text: &str) -> Option<String> {
    let quoted = format!("\"{name}\"");
    let (index, line) = text.lines().enumerate().find(|(_, line)| line.contains(&quoted))?;
    let column = line.find(&quoted)? + 1;
    Some(format!("line {}, column {column}", index + 1))
}

/// The name among `known` that was probably meant.
fn nearest<'a>(name: &str, known: &[&'a str]) -> Option<&'a str> {
    let plain = name.to_lowercase().replace(['_', '-'], "");
    known
        .iter()
        .map(|candidate| (strsim::osa_distance(&plain, &candidate.to_lowercase().replace('-', "")), *candidate))
        .filter(|(typos, candidate)| *typos <= MAX_TYPOS.min(candidate.len() / 2))
        .min()
        .map(|(_, candidate)| candidate)
}

fn invalid(message: String) -> Error {
    Error::new(ErrorKind::ManifestInvalid, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = r#"{
  "publisher": "acme", "slug": "weather", "version": "1.0.0",
  "title": "Weather", "description": "Forecasts for a place."
}"#;

    fn told(text: &str) -> String {
        let error = parse(text.as_bytes()).unwrap_err();
        assert_eq!(error.kind, ErrorKind::ManifestInvalid);
        match error.hint {
            Some(hint) => format!("{} | {hint}", error.message),
            None => error.message,
        }
    }

    #[test]
    fn mistakes_are_placed_and_explained() {
        assert_eq!(parse(GOOD.as_bytes()).unwrap().slug, "weather");
        let cases = [
            ("misspelt", GOOD.replace("\"title\"", "\"tilte\"")),
            ("unknown", GOOD.replace("\"title\"", "\"colour\"")),
            ("not semver", GOOD.replace("\"1.0.0\"", "\"1.0\"")),
            ("not text", GOOD.replace("\"1.0.0\"", "1")),
            ("missing", GOOD.replace(" \"slug\": \"weather\",", "")),
            ("twice", GOOD.replace("\"title\"", "\"slug\": \"b\", \"title\"")),
            ("misspelt value", GOOD.replace("\"title\"", "\"uses\": [\"htpp\"], \"title\"")),
            (
                "deeper",
                GOOD.replace("\"title\"", "\"tools\": [{\"name\": \"a\", \"descripton\": \"b\"}], \"title\""),
            ),
            ("other case", GOOD.replace("\"title\"", "\"tools\": [{\"input_schema\": {}}], \"title\"")),
            ("no comma", GOOD.replace("\"acme\",", "\"acme\"")),
            ("no end", GOOD.replace('}', "")),
            ("two", format!("{GOOD} {{}}")),
            ("nothing", String::new()),
            ("a list", "[\"acme\", \"weather\", \"1.0.0\", \"t\", \"d\"]".to_owned()),
            ("deep", GOOD.replace("\"Weather\"", &"[".repeat(10_000))),
        ];
        let lines: Vec<_> = cases.iter().map(|(name, text)| format!("{name}: {}", told(text))).collect();
        insta::assert_snapshot!(lines.join("\n"));
    }

    #[test]
    fn hidden_text_in_a_mistake_is_made_visible() {
        let text = GOOD.replace("\"title\"", "\"ti\u{202e}tle\"");
        let told = told(&text);
        assert!(told.starts_with("unknown field `ti\\u{202e}tle`"), "{told}");
    }

    #[test]
    fn a_value_is_placed_in_the_file_it_came_from() {
        let text = GOOD.replace("\"title\"", "\"tilte\"");
        let error = from_value(parse_value(&text).unwrap(), &text).unwrap_err();
        assert_eq!(error.message, "unknown field `tilte` (line 3, column 3)");
    }
}
