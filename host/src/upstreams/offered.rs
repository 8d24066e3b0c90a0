//! The manifest that a server's definitions make. Pure.
//!
//! The server's words are a stranger's: hidden characters are taken out of its texts, texts are cut and say whose
//! they are, and a tool that cannot be made safe so is left out with the reason. Its annotations are hints: that a
//! tool only reads counts because a person saw and accepted it with the rest; every other tool is taken for one that
//! destroys.

use serde_json::{Map, Value};

use super::Definitions;
use crate::manifest::{Limits, Manifest, Run, Runtime, Tool, is_hidden};
use crate::registry::UPSTREAM;
use crate::validate::check_schema;

/// Characters of a tool's name: what the specification recommends as the most.
const MAX_NAME: usize = 128;
/// Characters of a title.
const MAX_TITLE: usize = 100;
/// Characters of a description.
const MAX_DESCRIPTION: usize = 2_000;
/// Characters of a description inside a schema.
const MAX_HINT: usize = 1_000;
/// Bytes of one schema.
const MAX_SCHEMA: usize = 64 * 1024;
/// How deep a schema may be: checking a value against a deeper one costs more than a call should.
const MAX_DEPTH: usize = 32;
/// Keys that hold words for the reader of a schema.
const WORDS: [&str; 3] = ["description", "title", "$comment"];
/// What a call may take, unless the operator's ceiling is lower. The server's own limit is in the settings.
const TIME_MS: u32 = 120_000;

/// A tool that is not offered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// Its name, as the server says it.
    pub tool: String,
    /// Why.
    pub why: String,
}

/// What a server offers.
#[derive(Clone, Debug)]
pub struct Offered {
    /// The manifest: `mcp/<server>`.
    pub manifest: Manifest,
    /// Tools that cannot be called.
    pub left_out: Vec<LeftOut>,
}

/// What the server `name` offers, accepted for the `acceptance`th time.
#[must_use]
pub fn offered(name: &str, definitions: &Definitions, acceptance: u64) -> Offered {
    let mut left_out = Vec::new();
    let mut tools = Vec::new();
    for (tool, definition) in definitions.tools() {
        match read_tool(name, tool, definition) {
            Ok(tool) => tools.push(tool),
            Err(why) => left_out.push(LeftOut { tool: tool.to_owned(), why }),
        }
    }
    let manifest = Manifest {
        schema: None,
        publisher: UPSTREAM.to_owned(),
        slug: name.to_owned(),
        version: semver::Version::new(acceptance, 0, 0),
        title: format!("MCP server {name}"),
        description: format!("The tools of the upstream MCP server `{name}`, in its own words."),
        keywords: Vec::new(),
        domain: None,
        runtime: Runtime::Mcp,
        uses: Vec::new(),
        http: None,
        secrets: Vec::new(),
        tools,
        resources: Vec::new(),
        resource_templates: Vec::new(),
        prompts: Vec::new(),
        prompt: None,
        loops: Vec::new(),
        entities: Vec::new(),
        entity_formats: std::collections::BTreeMap::new(),
        sandbox: None,
        limits: Some(Limits { time_ms: Some(TIME_MS), ..Limits::default() }),
    };
    Offered { manifest, left_out }
}

fn read_tool(server: &str, name: &str, definition: &Value) -> Result<Tool, String> {
    if name.is_empty() || name.len() > MAX_NAME || !name.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(format!("its name is not 1 to {MAX_NAME} visible ASCII characters"));
    }
    let text = |key: &str| definition.get(key).and_then(Value::as_str).unwrap_or_default();
    let hint = |key: &str| definition["annotations"].get(key).and_then(Value::as_bool);
    let title = Some(shown(text("title"), MAX_TITLE).split_whitespace().collect::<Vec<_>>().join(" "));
    let described = shown(text("description"), MAX_DESCRIPTION);
    let read_only = hint("readOnlyHint") == Some(true);
    let input = definition.get("inputSchema").and_then(Value::as_object).cloned().unwrap_or_default();
    let output = definition.get("outputSchema").and_then(Value::as_object).cloned();
    Ok(Tool {
        name: name.to_owned(),
        title: title.filter(|title| !title.is_empty()),
        description: match described.is_empty() {
            true => format!("A tool of the MCP server `{server}`, which does not describe it."),
            false => format!("From the MCP server `{server}`: {described}"),
        },
        tags: Vec::new(),
        keywords: Vec::new(),
        input_schema: schema(input, "input schema")?,
        output_schema: output.map(|output| schema(output, "output schema")).transpose()?,
        read_only,
        destructive: Some(!read_only),
        idempotent: read_only && hint("idempotentHint") == Some(true),
        open_world: Some(true),
        expose: true,
        required_role: None,
        required_permission: None,
        feature_flag: None,
        run: Run { kind: Runtime::Mcp, export: None },
    })
}

/// A schema that clients take and that can be checked in bounded time, or why there is none.
fn schema(mut schema: Map<String, Value>, what: &str) -> Result<Map<String, Value>, String> {
    match schema.get("type") {
        None => {
            schema.insert("type".to_owned(), Value::String("object".to_owned()));
        }
        Some(Value::String(kind)) if kind == "object" => {}
        Some(_) => return Err(format!("its {what} is not that of an object")),
    }
    let mut schema = Value::Object(schema);
    clean(&mut schema, MAX_DEPTH).map_err(|why| format!("its {what} {why}"))?;
    if schema.to_string().len() > MAX_SCHEMA {
        return Err(format!("its {what} has more than {MAX_SCHEMA} bytes"));
    }
    check_schema(&schema).map_err(|why| format!("its {what} cannot be used: {why}"))?;
    match schema {
        Value::Object(schema) => Ok(schema),
        _ => Err(format!("its {what} is not that of an object")),
    }
}

/// Cleans the words of a schema, and refuses hidden characters in all that a value is compared with.
fn clean(value: &mut Value, depth: usize) -> Result<(), &'static str> {
    if depth == 0 {
        return Err("is too deep");
    }
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                match value {
                    _ if name.chars().any(is_hidden) => return Err("has a name with hidden characters"),
                    Value::String(words) if WORDS.contains(&name.as_str()) => *words = shown(words, MAX_HINT),
                    value => clean(value, depth - 1)?,
                }
            }
            Ok(())
        }
        Value::Array(items) => items.iter_mut().try_for_each(|item| clean(item, depth - 1)),
        Value::String(text) if text.chars().any(is_hidden) => Err("has a value with hidden characters"),
        _ => Ok(()),
    }
}

/// A stranger's text without what a person does not see, and not without end.
fn shown(text: &str, limit: usize) -> String {
    let visible: String =
        text.chars().filter(|character| matches!(character, '\n' | '\t') || !is_hidden(*character)).collect();
    let visible = visible.trim();
    match visible.char_indices().nth(limit) {
        Some((end, _)) => format!("{}… [cut]", visible[..end].trim_end()),
        None => visible.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn one(changes: &Value) -> Result<Tool, String> {
        let mut tool = json!({ "name": "t", "description": "Does it.", "inputSchema": { "type": "object" } });
        for (key, value) in changes.as_object().unwrap() {
            tool[key] = value.clone();
        }
        let mut offered = offered("home", &Definitions::of_json(json!([tool])), 1);
        offered.manifest.tools.pop().ok_or_else(|| offered.left_out.remove(0).why)
    }

    #[test]
    fn only_what_was_said_to_read_reads() {
        let cases = [
            (json!({}), false),
            (json!({ "annotations": { "destructiveHint": false, "idempotentHint": true } }), false),
            (json!({ "annotations": { "readOnlyHint": false } }), false),
            (json!({ "annotations": { "readOnlyHint": true, "destructiveHint": true } }), true),
        ];
        for (changes, reads) in cases {
            let tool = one(&changes).unwrap();
            assert_eq!((tool.read_only, tool.is_destructive()), (reads, !reads), "{changes}");
        }
    }

    #[test]
    fn its_texts_are_cleaned_cut_and_said_to_be_its_own() {
        let tool = one(&json!({
            "title": "Set\u{200b} it\n\u{1b}[31mnow", "description": "Does\u{202e} it.\u{e0041}\nWell.",
            "inputSchema": { "type": "object", "properties": { "a": { "description": "x\u{200b}y" } } },
        }))
        .unwrap();
        assert_eq!(tool.title.as_deref(), Some("Set it [31mnow"));
        assert_eq!(tool.description, "From the MCP server `home`: Does it.\nWell.");
        assert_eq!(tool.input_schema["properties"]["a"]["description"], "xy");
        let long = one(&json!({ "description": "x".repeat(10_000) })).unwrap().description;
        assert!(long.ends_with("… [cut]") && long.chars().count() < MAX_DESCRIPTION + 100, "{}", long.len());
        let silent = one(&json!({ "description": "\u{200b}" })).unwrap().description;
        assert_eq!(silent, "A tool of the MCP server `home`, which does not describe it.");
    }

    #[test]
    fn what_cannot_be_made_safe_is_left_out() {
        let deep = (0..100).fold(json!({}), |inner, _| json!({ "properties": { "a": inner } }));
        let cases = [
            (json!({ "name": "a b" }), "its name"),
            (json!({ "name": "a\u{200b}" }), "its name"),
            (json!({ "name": "" }), "its name"),
            (json!({ "name": "x".repeat(129) }), "its name"),
            (json!({ "inputSchema": { "type": "string" } }), "not that of an object"),
            (json!({ "inputSchema": { "type": ["object", "null"] } }), "not that of an object"),
            (
                json!({ "inputSchema": { "properties": { "a": { "$ref": "https://evil.example/s.json" } } } }),
                "cannot be used",
            ),
            (json!({ "inputSchema": { "properties": { "a": { "pattern": "(?=a)b" } } } }), "cannot be used"),
            (json!({ "inputSchema": { "properties": { "a\u{200b}": {} } } }), "hidden"),
            (json!({ "inputSchema": { "properties": { "a": { "enum": ["x\u{e0041}"] } } } }), "hidden"),
            (json!({ "inputSchema": { "properties": { "a": { "default": "\u{202e}" } } } }), "hidden"),
            (json!({ "inputSchema": deep }), "too deep"),
            (json!({ "inputSchema": { "enum": ["x".repeat(MAX_SCHEMA)] } }), "bytes"),
            (json!({ "outputSchema": { "type": "array" } }), "output schema"),
        ];
        for (changes, expected) in cases {
            let why = one(&changes).unwrap_err();
            assert!(why.contains(expected), "{changes}: {why}");
        }
    }

    #[test]
    fn an_input_is_at_least_an_object() {
        assert_eq!(one(&json!({ "inputSchema": {} })).unwrap().input_schema["type"], "object");
    }
}
