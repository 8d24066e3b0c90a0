//! What a form may ask, and whether it is filled in as it asks: one level of fields, as MCP's elicitation has it.
//!
//! Clients draw forms by themselves, and each draws the same few kinds of fields. What none of them draws is
//! refused here, so that an author learns of it at the first try and not from a person who sees an empty form.

use serde_json::{Map, Value, json};

use crate::manifest::is_hidden;
use crate::validate;

/// What is in the answer of a page that was opened.
pub(super) const NOTHING: &str = "{}";

/// Bytes of a form's schema.
const SCHEMA_BYTES: usize = 16 * 1024;
/// Bytes of a form that is filled in.
const FILLED_BYTES: usize = 64 * 1024;
/// Fields of one form: a page of them.
const FIELDS: usize = 32;
/// Choices of one field.
const CHOICES: usize = 200;
/// Characters of a field's name.
const NAME_CHARS: usize = 64;
/// Formats that clients know.
const FORMATS: &[&str] = &["email", "uri", "date", "date-time"];

/// Keywords that say nothing to a client, and may stand there.
const SILENT: &[&str] = &["$schema", "additionalProperties"];

/// Reads a form's schema. The error says what is wrong with it.
pub(super) fn read(text: &str) -> Result<Value, String> {
    if text.len() > SCHEMA_BYTES {
        return Err(format!("its schema has more than {SCHEMA_BYTES} bytes"));
    }
    let schema: Value = serde_json::from_str(text).map_err(|_| "its schema is not JSON".to_owned())?;
    let Value::Object(mut schema) = schema else { return Err("its schema is not an object".to_owned()) };
    SILENT.iter().for_each(|keyword| drop(schema.shift_remove(*keyword)));
    known(&schema, &["type", "properties", "required", "title", "description"], "its schema")?;
    if schema.get("type") != Some(&json!("object")) {
        return Err("its schema is not of type `object`".to_owned());
    }
    let Some(Value::Object(fields)) = schema.get("properties") else {
        return Err("its schema has no `properties`".to_owned());
    };
    if fields.is_empty() || fields.len() > FIELDS {
        return Err(format!("a form has 1 to {FIELDS} fields"));
    }
    for (name, field) in fields {
        check_field(name, field)?;
    }
    check_required(schema.get("required"), fields)?;
    let schema = Value::Object(schema);
    if hides(&schema) {
        return Err("its schema has characters that do not show".to_owned());
    }
    validate::check_schema(&schema)?;
    Ok(schema)
}

/// Whether a form of this schema is filled in as it asks.
pub(super) fn accepts(schema: &str, filled: &str) -> bool {
    if filled.len() > FILLED_BYTES {
        return false;
    }
    let (Ok(Value::Object(mut schema)), Ok(filled @ Value::Object(_))) =
        (serde_json::from_str(schema), serde_json::from_str(filled))
    else {
        return false;
    };
    // What nobody asked for is no answer.
    schema.insert("additionalProperties".to_owned(), json!(false));
    validate::is_form(&Value::Object(schema), &filled)
}

fn check_required(required: Option<&Value>, fields: &Map<String, Value>) -> Result<(), String> {
    let Some(required) = required else { return Ok(()) };
    let is_field = |name: &Value| name.as_str().is_some_and(|name| fields.contains_key(name));
    match required {
        Value::Array(names) if names.iter().all(is_field) => Ok(()),
        _ => Err("its `required` is not a list of its fields".to_owned()),
    }
}

fn check_field(name: &str, field: &Value) -> Result<(), String> {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    if name.is_empty() || name.len() > NAME_CHARS || !name.bytes().all(fits) {
        return Err(format!("a field's name is up to {NAME_CHARS} letters, digits, `-`, `_` and `.`"));
    }
    let Value::Object(field) = field else { return Err(format!("the field `{name}` is not an object")) };
    let kind = field.get("type").and_then(Value::as_str).unwrap_or_default();
    let own: &[&str] = match kind {
        "string" if field.contains_key("oneOf") => &["oneOf"],
        "string" if field.contains_key("enum") => &["enum", "enumNames"],
        "string" => &["minLength", "maxLength", "format"],
        "number" | "integer" => &["minimum", "maximum"],
        "boolean" => &[],
        "array" => &["minItems", "maxItems", "items"],
        _ => return Err(format!("the field `{name}` is neither text, number, boolean nor choice")),
    };
    let common = ["type", "title", "description", "default"];
    known(field, &[&common[..], own].concat(), &format!("the field `{name}`"))?;
    for keyword in ["title", "description"] {
        if field.get(keyword).is_some_and(|text| !text.is_string()) {
            return Err(format!("the `{keyword}` of the field `{name}` is not a text"));
        }
    }
    if field.get("format").is_some_and(|format| !FORMATS.iter().any(|known| format == known)) {
        return Err(format!("the field `{name}` has a format that clients do not know: {}", FORMATS.join(", ")));
    }
    let choices = match kind {
        "string" if own == ["oneOf"] => titled(field.get("oneOf")),
        "string" if own.contains(&"enum") => {
            let choices = plain(field.get("enum"));
            let names = field.get("enumNames").map(|names| plain(Some(names)));
            choices.filter(|choices| names.is_none_or(|names| names == Some(*choices)))
        }
        "array" => items(field.get("items")),
        _ => return Ok(()),
    };
    match choices {
        Some(1..=CHOICES) => Ok(()),
        _ => Err(format!("the field `{name}` is not a choice of 1 to {CHOICES} texts")),
    }
}

/// How many texts a list has, if it is one of texts.
fn plain(list: Option<&Value>) -> Option<usize> {
    let list = list?.as_array()?;
    list.iter().all(Value::is_string).then_some(list.len())
}

/// How many choices with titles a list has, if it is one of them.
fn titled(list: Option<&Value>) -> Option<usize> {
    let list = list?.as_array()?;
    let is_choice = |choice: &Value| {
        choice.as_object().is_some_and(|choice| {
            choice.len() == 2 && ["const", "title"].iter().all(|keyword| choice.get(*keyword).is_some_and(Value::is_string))
        })
    };
    list.iter().all(is_choice).then_some(list.len())
}

/// How many choices the items of a list have.
fn items(items: Option<&Value>) -> Option<usize> {
    let items = items?.as_object()?;
    if let Some(list) = items.get("anyOf") {
        return titled(Some(list)).filter(|_| items.len() == 1);
    }
    let is_plain = items.len() == 2 && items.get("type") == Some(&json!("string"));
    plain(items.get("enum")).filter(|_| is_plain)
}

fn known(object: &Map<String, Value>, known: &[&str], what: &str) -> Result<(), String> {
    match object.keys().find(|keyword| !known.contains(&keyword.as_str())) {
        None => Ok(()),
        Some(_) => Err(format!("{what} has more than {}", known.join(", "))),
    }
}

/// Whether a text in it hides something.
fn hides(value: &Value) -> bool {
    match value {
        Value::String(text) => text.chars().any(is_hidden),
        Value::Array(values) => values.iter().any(hides),
        Value::Object(object) => object.values().any(hides),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn form(fields: &Value) -> String {
        json!({ "type": "object", "properties": fields }).to_string()
    }

    #[test]
    fn fields_that_clients_draw_may_be_asked() {
        let titled = json!([{ "const": "r", "title": "Red" }, { "const": "g", "title": "Green" }]);
        let fields = [
            json!({ "type": "string" }),
            json!({ "type": "string", "title": "T", "description": "D", "minLength": 1, "maxLength": 3, "default": "a" }),
            json!({ "type": "string", "format": "email" }),
            json!({ "type": "number", "minimum": 0, "maximum": 1.5, "default": 0.5 }),
            json!({ "type": "integer" }),
            json!({ "type": "boolean", "default": true }),
            json!({ "type": "string", "enum": ["r", "g"] }),
            json!({ "type": "string", "enum": ["r", "g"], "enumNames": ["Red", "Green"] }),
            json!({ "type": "string", "oneOf": titled, "default": "r" }),
            json!({ "type": "array", "items": { "type": "string", "enum": ["r", "g"] }, "minItems": 1, "maxItems": 2 }),
            json!({ "type": "array", "items": { "anyOf": titled }, "default": ["r"] }),
        ];
        for field in fields {
            assert!(read(&form(&json!({ "a": field }))).is_ok(), "{field}: {:?}", read(&form(&json!({ "a": field }))));
        }
        let whole = json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema", "title": "T", "type": "object",
            "properties": { "a": { "type": "string" } }, "required": ["a"], "additionalProperties": false,
        });
        let read = read(&whole.to_string()).unwrap();
        assert_eq!(read, json!({ "title": "T", "type": "object", "properties": { "a": { "type": "string" } }, "required": ["a"] }));
    }

    #[test]
    fn what_no_client_draws_is_refused() {
        let fields = [
            json!({}),
            json!(true),
            json!({ "type": "object", "properties": {} }),
            json!({ "type": "null" }),
            json!({ "type": ["string", "null"] }),
            json!({ "type": "string", "pattern": "(a+)+$" }),
            json!({ "type": "string", "format": "regex" }),
            json!({ "type": "string", "$ref": "https://a.example/" }),
            json!({ "type": "string", "enum": [] }),
            json!({ "type": "string", "enum": [1] }),
            json!({ "type": "string", "enum": ["r"], "enumNames": ["Red", "Green"] }),
            json!({ "type": "string", "enum": vec!["a"; CHOICES + 1] }),
            json!({ "type": "string", "oneOf": [{ "const": "r" }] }),
            json!({ "type": "string", "oneOf": [{ "const": "r", "title": "Red", "type": "string" }] }),
            json!({ "type": "array" }),
            json!({ "type": "array", "items": { "type": "string" } }),
            json!({ "type": "array", "items": { "type": "object" } }),
            json!({ "type": "array", "items": { "type": "array", "items": { "type": "string", "enum": ["a"] } } }),
            json!({ "type": "string", "title": 1 }),
            json!({ "type": "string", "title": "a\u{202e}b" }),
            json!({ "type": "string", "minLength": -1 }),
        ];
        for field in fields {
            assert!(read(&form(&json!({ "a": field }))).is_err(), "{field}");
        }
        let text = json!({ "type": "string" });
        let many: Map<_, _> = (0..=FIELDS).map(|index| (format!("f{index}"), text.clone())).collect();
        let forms = [
            "{".to_owned(),
            "[]".to_owned(),
            json!({ "type": "object" }).to_string(),
            json!({ "type": "array", "properties": { "a": text } }).to_string(),
            json!({ "type": "object", "properties": { "a": text }, "required": ["b"] }).to_string(),
            json!({ "type": "object", "properties": { "a": text }, "allOf": [] }).to_string(),
            form(&json!({})),
            form(&json!({ "": text })),
            form(&json!({ "a b": text })),
            form(&Value::Object(many)),
            form(&json!({ "a": { "type": "string", "description": "x".repeat(SCHEMA_BYTES) } })),
        ];
        for form in forms {
            assert!(read(&form).is_err(), "{form}");
        }
    }

    #[test]
    fn only_what_was_asked_is_an_answer() {
        let schema = json!({
            "type": "object", "required": ["name"],
            "properties": {
                "name": { "type": "string", "maxLength": 3 },
                "mail": { "type": "string", "format": "email" },
                "colours": { "type": "array", "items": { "type": "string", "enum": ["r", "g"] } },
            },
        });
        let cases = [
            (r#"{"name":"Ada"}"#, true),
            (r#"{"name":"Ada","mail":"ada@example.com","colours":["r"]}"#, true),
            ("{}", false),
            (r#"{"name":"Adam"}"#, false),
            (r#"{"name":1}"#, false),
            (r#"{"name":"Ada","mail":"nobody"}"#, false),
            (r#"{"name":"Ada","colours":["b"]}"#, false),
            (r#"{"name":"Ada","admin":true}"#, false),
            (r#"["Ada"]"#, false),
            ("null", false),
            ("", false),
            ("{", false),
        ];
        for (filled, expected) in cases {
            assert_eq!(accepts(&schema.to_string(), filled), expected, "{filled}");
        }
        let large = format!(r#"{{"name":"{}"}}"#, "a".repeat(FILLED_BYTES));
        assert!(!accepts(&form(&json!({ "name": { "type": "string" } })), &large));
    }
}
