//! Completes `capability.json` with what the source says of its tools.
//!
//! The SDK derives name, description and schemas from Rust; the file may add to a tool or override it, by
//! its name. A tool that only the file knows would be a promise without code, so it is refused where the
//! source lists its tools.

use serde_json::{Map, Value};

use crate::error::{Error, ErrorKind, Result};
use crate::manifest::{self, Manifest};

/// Makes the manifest of `text` (`capability.json`) and of the sections that the SDK left in the module.
pub(super) fn merge(text: &str, sections: &[&[u8]]) -> Result<Manifest> {
    let mut value = manifest::parse_value(text)?;
    let derived = derived_tools(sections)?;
    if !derived.is_empty()
        && let Some(members) = value.as_object_mut()
    {
        let written = match members.remove("tools") {
            None => Vec::new(),
            Some(Value::Array(tools)) => tools,
            Some(_) => return Err(invalid("`tools`: write a list of tools".to_owned())),
        };
        members.insert("tools".to_owned(), Value::Array(merge_tools(derived, written)?));
    }
    manifest::from_value(value, text)
}

/// The tools that the source lists. A linker joins sections of one name, so each may hold several lists.
fn derived_tools(sections: &[&[u8]]) -> Result<Vec<Map<String, Value>>> {
    let mut tools = Vec::new();
    for section in sections {
        for list in serde_json::Deserializer::from_slice(section).into_iter::<Vec<Map<String, Value>>>() {
            let list = list.map_err(|error| {
                Error::new(ErrorKind::ManifestInvalid, "the tools that the source lists are not understood")
                    .detail(error)
                    .hint("build it with the SDK of this version of remit")
            })?;
            tools.extend(list);
        }
    }
    Ok(tools)
}

/// In the order of the source; what the file writes wins.
fn merge_tools(derived: Vec<Map<String, Value>>, written: Vec<Value>) -> Result<Vec<Value>> {
    let mut tools = derived;
    for (index, overrides) in written.into_iter().enumerate() {
        let Value::Object(overrides) = overrides else {
            return Err(invalid(format!("`tools[{index}]`: write an object")));
        };
        let Some(name) = overrides.get("name").and_then(Value::as_str) else {
            return Err(invalid(format!("`tools[{index}].name`: name the tool that this is about")));
        };
        let Some(tool) = tools.iter_mut().find(|tool| tool.get("name").and_then(Value::as_str) == Some(name))
        else {
            let name = manifest::visible(name, 64);
            return Err(invalid(format!("`tools[{index}].name`: the source has no tool `{name}`"))
                .hint("mark a function of this name with `#[tool]`, or remove the entry"));
        };
        tool.extend(overrides);
    }
    Ok(tools.into_iter().map(Value::Object).collect())
}

fn invalid(message: String) -> Error {
    Error::new(ErrorKind::ManifestInvalid, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &[u8] = br#"[{"name":"echo","description":"Repeats.","inputSchema":{"type":"object"}}]
        [{"name":"count","description":"Counts.","inputSchema":{"type":"object"},"readOnly":true}]"#;

    fn merged(tools: &str, sections: &[&[u8]]) -> Result<Manifest> {
        let text =
            format!(r#"{{"publisher":"a","slug":"b","version":"1.0.0","title":"t","description":"d"{tools}}}"#);
        merge(&text, sections)
    }

    #[test]
    fn the_source_lists_the_tools_and_the_file_adds_to_them() {
        let manifest = merged("", &[SOURCE]).unwrap();
        let names: Vec<_> = manifest.tools.iter().map(|tool| tool.name.as_str()).collect();
        assert_eq!(names, ["echo", "count"]);

        let tools = r#","tools":[{"name":"count","description":"Counts words.","idempotent":true}]"#;
        let manifest = merged(tools, &[SOURCE]).unwrap();
        let count = &manifest.tools[1];
        assert_eq!(count.description, "Counts words.");
        assert!(count.idempotent && count.read_only);
    }

    #[test]
    fn without_the_sdk_the_file_says_all() {
        let tools = r#","tools":[{"name":"echo","description":"d","inputSchema":{}}]"#;
        assert_eq!(merged(tools, &[]).unwrap().tools.len(), 1);
    }

    #[test]
    fn mistakes_are_named() {
        let cases: &[(&str, &[u8], &str)] = &[
            (r#","tools":[{"name":"ehco"}]"#, SOURCE, "`tools[0].name`: the source has no tool `ehco`"),
            (r#","tools":[{"title":"x"}]"#, SOURCE, "`tools[0].name`: name the tool that this is about"),
            (r#","tools":["echo"]"#, SOURCE, "`tools[0]`: write an object"),
            (r#","tools":{}"#, SOURCE, "`tools`: write a list of tools"),
            (
                r#","tools":[{"name":"echo","titel":"x"}]"#,
                SOURCE,
                "`tools[0]`: unknown field `titel` (line 1, column 101)",
            ),
            ("", b"[{]", "the tools that the source lists are not understood"),
            (r#","tools":[{"name":"echo"}]"#, b"", "`tools[0]`: the field `description` is missing"),
        ];
        for (tools, section, expected) in cases {
            let message = merged(tools, &[section]).unwrap_err().message;
            assert!(message.starts_with(expected), "{message}");
        }
    }
}
