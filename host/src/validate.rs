//! Whether a value fits a schema: JSON Schema 2020-12 (draft-07 where a schema says so), no references off
//! the document, no network, patterns in linear time.
//!
//! Checking an input is on the path of every call: compiled once, then some microseconds. Which schemas are
//! acceptable is decided in `manifest/rules/`; a schema that got here passed them.

use std::sync::OnceLock;

use jsonschema::error::ValidationErrorKind;
use jsonschema::{PatternOptions, ValidationError, ValidationOptions, Validator};
use serde_json::{Map, Value};

use crate::manifest::{Tool, visible};

/// Bytes of one compiled pattern: large enough for any that people write.
const PATTERN_BYTES: usize = 256 * 1024;

/// Characters of a path or a reason that are shown. The agent has the value at hand.
const MAX_SHOWN: usize = 200;

/// The compiled schemas of one tool.
#[derive(Debug)]
pub struct ToolSchemas {
    input: Schema,
    output: Option<Schema>,
}

/// Where and why a value does not fit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// JSON Pointer (RFC 6901) of the offending part; empty for the whole.
    pub path: String,
    /// What is wrong with it.
    pub reason: String,
}

impl ToolSchemas {
    /// The schemas of `tool`; each is compiled when it is first needed.
    #[must_use]
    pub fn new(tool: &Tool) -> Self {
        Self { input: Schema::new(&tool.input_schema), output: tool.output_schema.as_ref().map(Schema::new) }
    }

    /// Checks an input.
    pub fn check_input(&self, input: &Value) -> Result<(), Mismatch> {
        self.input.check(input)
    }

    /// Checks a structured output. Without an output schema everything fits.
    pub fn check_output(&self, output: &Value) -> Result<(), Mismatch> {
        self.output.as_ref().map_or(Ok(()), |schema| schema.check(output))
    }
}

/// Says why `schema` can't be compiled, in words that name the fix.
pub fn check_schema(schema: &Value) -> Result<(), String> {
    compile(schema).map(drop)
}

/// Whether a form is filled in as its schema says, formats included: a person typed it. A schema that cannot be
/// compiled fits nothing.
#[must_use]
pub fn is_form(schema: &Value, filled: &Value) -> bool {
    options().should_validate_formats(true).build(schema).is_ok_and(|validator| validator.is_valid(filled))
}

#[derive(Debug)]
struct Schema {
    source: Value,
    compiled: OnceLock<Result<Validator, String>>,
}

impl Schema {
    fn new(source: &Map<String, Value>) -> Self {
        Self { source: Value::Object(source.clone()), compiled: OnceLock::new() }
    }

    fn check(&self, value: &Value) -> Result<(), Mismatch> {
        let validator = self.compiled.get_or_init(|| compile(&self.source)).as_ref().map_err(|reason| {
            Mismatch { path: String::new(), reason: format!("the tool's schema is broken: {reason}") }
        })?;
        // Most values fit, and this way of asking builds no error.
        if validator.is_valid(value) {
            return Ok(());
        }
        validator.validate(value).map_err(|error| mismatch(&error))
    }
}

/// Nothing is fetched, and patterns take linear time.
fn options() -> ValidationOptions<'static> {
    jsonschema::options()
        .offline()
        .with_pattern_options(PatternOptions::regex().size_limit(PATTERN_BYTES).dfa_size_limit(PATTERN_BYTES))
}

fn compile(schema: &Value) -> Result<Validator, String> {
    options()
        .should_validate_formats(false)
        .build(schema)
        .map_err(|error| {
            let place = visible(error.instance_path().as_str(), MAX_SHOWN);
            match error.kind() {
                ValidationErrorKind::Format { format } if format == "regex" => {
                    format!(
                        "simplify the pattern at `{place}`: no look-around, no back-references, and not too large"
                    )
                }
                _ => format!(
                    "correct it at `{place}`: {}",
                    visible(&error.masked_with("it").to_string(), MAX_SHOWN)
                ),
            }
        })
}

fn mismatch(error: &ValidationError<'_>) -> Mismatch {
    Mismatch { path: visible(error.instance_path().as_str(), MAX_SHOWN), reason: reason(error) }
}

/// What is wrong, in terms of the schema. Values are not repeated: they may be large, or secret.
fn reason(error: &ValidationError<'_>) -> String {
    let reason = match error.kind() {
        ValidationErrorKind::AdditionalProperties { unexpected } => {
            let names: Vec<_> = unexpected.iter().take(3).map(|name| format!("`{}`", visible(name, 64))).collect();
            format!("no property is named {}", names.join(", "))
        }
        ValidationErrorKind::Required { property } => {
            format!("the property `{}` is missing", property.as_str().unwrap_or_default())
        }
        ValidationErrorKind::Type { .. } => error.masked_with("it").to_string().replace('"', "`"),
        _ => error.masked_with("it").to_string(),
    };
    visible(&reason, MAX_SHOWN)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn schemas(input: &Value) -> ToolSchemas {
        let tool = json!({ "name": "t", "description": "d", "inputSchema": input,
            "outputSchema": { "type": "object", "properties": { "n": { "type": "integer" } } } });
        ToolSchemas::new(&serde_json::from_value(tool).unwrap())
    }

    #[test]
    fn a_mismatch_says_where_and_why_and_repeats_no_value() {
        let schemas = schemas(&json!({
            "type": "object", "additionalProperties": false, "required": ["place"],
            "properties": {
                "place": { "type": "string", "minLength": 2, "maxLength": 8, "pattern": "^[A-Z]" },
                "days": { "type": "integer", "minimum": 1, "maximum": 14 },
                "unit": { "enum": ["c", "f"] },
                "tags": { "type": "array", "items": { "type": "string" }, "maxItems": 2 },
                "at": { "type": "object", "additionalProperties": false, "properties": { "lat": { "type": "number" } } },
            },
        }));
        assert_eq!(schemas.check_input(&json!({ "place": "Oslo", "days": 3, "at": { "lat": 1.5 } })), Ok(()));
        let cases = [
            (json!({}), "", "the property `place` is missing"),
            (json!([]), "", "it is not of type `object`"),
            (json!(null), "", "it is not of type `object`"),
            (json!({ "place": 5 }), "/place", "it is not of type `string`"),
            (json!({ "place": "O" }), "/place", "it is shorter than 2 characters"),
            (json!({ "place": "Very long secret text" }), "/place", "it is longer than 8 characters"),
            (json!({ "place": "oslo" }), "/place", "it does not match \"^[A-Z]\""),
            (json!({ "place": "Oslo", "days": 0 }), "/days", "it is less than the minimum of 1"),
            (json!({ "place": "Oslo", "days": 1.5 }), "/days", "it is not of type `integer`"),
            (json!({ "place": "Oslo", "unit": "k" }), "/unit", "it is not one of \"c\" or \"f\""),
            (json!({ "place": "Oslo", "tags": ["a", 1] }), "/tags/1", "it is not of type `string`"),
            (json!({ "place": "Oslo", "at": { "lat": 1, "x": 1 } }), "/at", "no property is named `x`"),
            (json!({ "place": "Oslo", "b\u{202e}": 1 }), "", "no property is named `b\\u{202e}`"),
        ];
        for (input, path, reason) in cases {
            let expected = Mismatch { path: path.to_owned(), reason: reason.to_owned() };
            assert_eq!(schemas.check_input(&input), Err(expected), "{input}");
        }
        assert_eq!(schemas.check_output(&json!({ "n": 1, "more": true })), Ok(()));
        assert!(schemas.check_output(&json!({ "n": "1" })).is_err());
    }

    #[test]
    fn long_names_are_cut() {
        let schemas = schemas(&json!({ "type": "object", "additionalProperties": false }));
        let input = Value::Object((0..100).map(|index| (format!("{index:0200}"), json!(1))).collect());
        assert!(schemas.check_input(&input).unwrap_err().reason.len() < 300);
    }

    #[test]
    fn nothing_is_fetched() {
        for reference in ["https://example.com/schema.json", "file:///etc/passwd", "other.json"] {
            assert!(check_schema(&json!({ "$ref": reference })).is_err(), "{reference}");
        }
    }

    #[test]
    fn patterns_run_in_linear_time() {
        for pattern in ["(?=a)b", "(a)\\1", "(?<!a)b", "("] {
            let reason = check_schema(&json!({ "pattern": pattern })).unwrap_err();
            assert!(reason.contains("pattern"), "{reason}");
        }
        assert!(check_schema(&json!({ "pattern": "^(?:(?:ab|\\w){1,500}c){1,500}$" })).is_err());
        // Takes for ever where patterns backtrack.
        let schemas = schemas(&json!({ "type": "object", "properties": { "a": { "pattern": "^(a+)+$" } } }));
        assert!(schemas.check_input(&json!({ "a": format!("{}b", "a".repeat(50_000)) })).is_err());
    }

    #[test]
    fn an_older_draft_is_understood_where_it_is_named() {
        let schema = |dialect: &str| {
            json!({
                "$schema": dialect, "type": "object",
                "properties": { "pair": { "type": "array", "items": [{ "type": "string" }] } },
            })
        };
        let wrong = json!({ "pair": [1] });
        assert!(schemas(&schema("http://json-schema.org/draft-07/schema#")).check_input(&wrong).is_err());
        assert!(check_schema(&schema("https://json-schema.org/draft/2020-12/schema")).is_err());
    }
}
