//! The schemas of tools. An input schema is closed: what it does not name does not reach the guest, so that
//! a reviewer who read it knows all that an agent can send.
//!
//! The limits also keep validation cheap, whatever a publisher wrote: no references off the document, no
//! cycles, and a bounded size once references are followed (`references.rs`).

use serde_json::{Map, Value};

use super::text::hidden;
use super::{Problems, references};
use crate::validate;

/// Bytes of one schema. Agents read it on every search.
const MAX_SCHEMA_BYTES: usize = 32 * 1024;
/// Levels of one schema. Nobody reads deeper ones.
const MAX_DEPTH: usize = 32;
/// Properties of one object.
const MAX_PROPERTIES: usize = 256;
/// Characters of a property's name: what the APIs of model providers take.
const MAX_PROPERTY: usize = 64;

/// The host adds these to what an agent may send.
const HOST_PROPERTIES: &[&str] = &["dry_run", "confirmation_token"];

/// Dialects that are understood, and the default when none is named.
const DIALECTS: &[&str] = &[
    "https://json-schema.org/draft/2020-12/schema",
    "http://json-schema.org/draft-07/schema",
    "http://json-schema.org/draft-07/schema#",
];

/// Keywords that would change what a reference means, or leave the document.
const REFUSED: &[&str] =
    &["$id", "$anchor", "$dynamicRef", "$dynamicAnchor", "$recursiveRef", "$recursiveAnchor", "$vocabulary"];

/// At the top level model providers take a plain object only.
const REFUSED_AT_TOP: &[&str] = &["anyOf", "oneOf", "allOf", "not", "if", "enum", "const", "$ref"];

/// Keywords whose value is a schema that only tests: it describes no part of the input by itself.
const TESTS: &[&str] = &["not", "if", "contains", "propertyNames"];
/// Keywords whose value is a schema.
const ONE: &[&str] = &["items", "additionalItems", "additionalProperties", "unevaluatedItems", "then", "else"];
/// Keywords whose value is a list of schemas.
const LIST: &[&str] = &["allOf", "anyOf", "oneOf", "prefixItems", "items"];
/// Keywords whose value is a map of schemas.
const MAP: &[&str] = &["properties", "$defs", "definitions"];

/// Any of these says what a value may be.
const SAYS_WHAT: &[&str] = &["type", "enum", "const", "$ref", "anyOf", "oneOf", "allOf"];

pub(super) fn input(schema: &Map<String, Value>, field: &str, problems: &mut Problems) {
    for keyword in REFUSED_AT_TOP.iter().filter(|keyword| schema.contains_key(**keyword)) {
        problems.add(format!("{field}.{keyword}"), "remove it: the top level is a plain object");
    }
    for name in HOST_PROPERTIES.iter().filter(|name| property(schema, name).is_some()) {
        problems.add(
            format!("{field}.properties.{name}"),
            "choose another name: the host adds a property of this one",
        );
    }
    check(schema, field, true, problems);
}

pub(super) fn output(schema: &Map<String, Value>, field: &str, problems: &mut Problems) {
    check(schema, field, false, problems);
}

fn check(schema: &Map<String, Value>, field: &str, is_closed: bool, problems: &mut Problems) {
    let before = problems.0.len();
    if schema.get("type").and_then(Value::as_str) != Some("object") {
        problems.add(format!("{field}.type"), "write \"object\"");
    }
    if let Some(dialect) = schema.get("$schema")
        && !dialect.as_str().is_some_and(|dialect| DIALECTS.contains(&dialect))
    {
        problems.add(format!("{field}.$schema"), format!("leave it out, or write \"{}\"", DIALECTS[0]));
    }
    let document = Value::Object(schema.clone());
    let bytes = document.to_string().len();
    if bytes > MAX_SCHEMA_BYTES {
        let fix = format!("shorten it to {} KiB: it has {} KiB", MAX_SCHEMA_BYTES / 1024, bytes.div_ceil(1024));
        return problems.add(field, fix);
    }
    texts(&document, field, problems);
    Walk { is_closed, problems: &mut *problems }.schema(&document, field, 1);
    problems.add_some(field, references::check(&document));
    // A schema that is known to be wrong would only be reported twice.
    if problems.0.len() == before
        && let Err(reason) = validate::check_schema(&document)
    {
        problems.add(field, reason);
    }
}

fn property<'a>(schema: &'a Map<String, Value>, name: &str) -> Option<&'a Value> {
    schema.get("properties")?.get(name)
}

/// Visits every schema inside a schema.
struct Walk<'a> {
    is_closed: bool,
    problems: &'a mut Problems,
}

impl Walk<'_> {
    fn schema(&mut self, schema: &Value, field: &str, depth: usize) {
        if depth > MAX_DEPTH {
            return self.problems.add(field, format!("nest at most {MAX_DEPTH} levels"));
        }
        match schema {
            Value::Object(schema) => self.object(schema, field, depth),
            Value::Bool(true) if self.is_closed => {
                self.problems.add(field, "say what is let in: `true` lets in anything")
            }
            Value::Bool(_) => {}
            _ => self.problems.add(field, "write a schema: an object"),
        }
    }

    fn object(&mut self, schema: &Map<String, Value>, field: &str, depth: usize) {
        for keyword in REFUSED.iter().filter(|keyword| schema.contains_key(**keyword)) {
            self.problems.add(format!("{field}.{keyword}"), "remove it: use `$ref` with `#/$defs/NAME`");
        }
        if depth > 1 && schema.contains_key("$schema") {
            self.problems.add(format!("{field}.$schema"), "remove it: it stands at the top level only");
        }
        self.properties(schema, field);
        if self.is_closed {
            self.closed(schema, field);
        }
        for (keyword, value) in schema {
            self.inside(keyword, value, &format!("{field}.{keyword}"), depth + 1);
        }
    }

    /// Goes on into the schemas under one keyword.
    fn inside(&mut self, keyword: &str, value: &Value, field: &str, depth: usize) {
        match value {
            Value::Object(entries) if MAP.contains(&keyword) => {
                for (name, schema) in entries {
                    self.schema(schema, &format!("{field}.{}", super::visible(name, MAX_PROPERTY)), depth);
                }
            }
            Value::Array(schemas) if LIST.contains(&keyword) => {
                for (index, schema) in schemas.iter().enumerate() {
                    self.schema(schema, &format!("{field}[{index}]"), depth);
                }
            }
            // `false` here is what closes an object or a list.
            Value::Bool(_) if keyword.starts_with("additional") || keyword.starts_with("unevaluated") => {}
            schema if ONE.contains(&keyword) => self.schema(schema, field, depth),
            schema if TESTS.contains(&keyword) => {
                Walk { is_closed: false, problems: self.problems }.schema(schema, field, depth);
            }
            _ => {}
        }
    }

    /// What closes an input: objects name all their properties, and nothing is left unsaid.
    fn closed(&mut self, schema: &Map<String, Value>, field: &str) {
        if !SAYS_WHAT.iter().any(|keyword| schema.contains_key(*keyword)) {
            return self.problems.add(field, "add a `type`: without one it lets in anything");
        }
        let is_of = |name: &str| match schema.get("type") {
            Some(Value::String(only)) => only == name,
            Some(Value::Array(names)) => names.iter().any(|one| one == name),
            _ => false,
        };
        let is_object = is_of("object") || schema.contains_key("properties");
        if is_object && schema.get("additionalProperties") != Some(&Value::Bool(false)) {
            self.problems.add(format!("{field}.additionalProperties"), "write `false`, and name every property");
        }
        for keyword in ["patternProperties", "dependencies", "dependentSchemas", "unevaluatedProperties"] {
            if schema.contains_key(keyword) {
                self.problems.add(format!("{field}.{keyword}"), "remove it: name every property in `properties`");
            }
        }
        if is_of("array") && !schema.contains_key("items") {
            self.problems.add(format!("{field}.items"), "say what the list holds");
        }
    }

    fn properties(&mut self, schema: &Map<String, Value>, field: &str) {
        let Some(properties) = schema.get("properties").and_then(Value::as_object) else { return };
        if properties.len() > MAX_PROPERTIES {
            self.problems.add(format!("{field}.properties"), format!("name at most {MAX_PROPERTIES} properties"));
        }
        let fits = |character: char| character.is_ascii_alphanumeric() || "_.-".contains(character);
        for name in properties.keys() {
            if name.is_empty() || name.len() > MAX_PROPERTY || !name.chars().all(fits) {
                let name = super::visible(name, MAX_PROPERTY);
                let fix =
                    format!("use 1 to {MAX_PROPERTY} letters a-z and A-Z, digits, `_`, `.` and `-` in a name");
                self.problems.add(format!("{field}.properties.{name}"), fix);
            }
        }
        let required = schema.get("required").and_then(Value::as_array);
        for name in required.into_iter().flatten().filter_map(Value::as_str) {
            if !properties.contains_key(name) {
                let name = super::visible(name, MAX_PROPERTY);
                self.problems
                    .add(format!("{field}.required"), format!("name `{name}` in `properties`, or remove it"));
            }
        }
    }
}

/// Agents read every text of a schema, so none may hide anything.
fn texts(value: &Value, field: &str, problems: &mut Problems) {
    match value {
        Value::String(text) => problems.add_some(field, hidden(text, &['\n', '\t'])),
        Value::Array(values) => {
            for (index, value) in values.iter().enumerate() {
                texts(value, &format!("{field}[{index}]"), problems);
            }
        }
        Value::Object(members) => {
            for (name, value) in members {
                let field = format!("{field}.{}", super::visible(name, MAX_PROPERTY));
                problems.add_some(&field, hidden(name, &[]));
                texts(value, &field, problems);
            }
        }
        _ => {}
    }
}
