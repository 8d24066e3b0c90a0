//! The JSON Schema of what a function takes and gives.
//!
//! Closed on both ways. A name of WIT is the name in JSON, letter by letter. What can be said in two ways is taken in
//! both and given in one: a number of 64 bits is text in an answer, because many programs that read JSON would
//! round it.

use serde_json::{Map, Value, json};

use super::Side;
use super::shape::{Integer, Shape, Signature};

/// The member that holds an answer which is no record.
pub(super) const RESULT: &str = "result";

/// The member that holds the value of an option inside an option, where `null` alone would be two things.
pub(super) const SOME: &str = "some";

/// The cases of a `result` inside a value.
pub(super) const OK: &str = "ok";
/// Likewise.
pub(super) const ERR: &str = "err";

/// The largest whole number up to which floating point numbers have no gaps: `2^53 - 1`.
pub(super) const MAX_SAFE: i128 = (1 << 53) - 1;

/// What a tool takes: a member for each parameter.
#[must_use]
pub fn input_schema(signature: &Signature) -> Map<String, Value> {
    object(signature.parameters.iter().map(|(name, shape)| (name.as_str(), shape)), Side::Input)
}

/// What a tool gives: the record that the function gives, or an object around anything else.
#[must_use]
pub fn output_schema(signature: &Signature) -> Map<String, Value> {
    match signature.answer() {
        None => object(std::iter::empty(), Side::Output),
        Some(Shape::Record(fields)) => object(named(fields), Side::Output),
        Some(shape) => {
            let schema = json!({
                "type": "object",
                "additionalProperties": false,
                "required": [RESULT],
                "properties": { RESULT: of(shape, Side::Output) },
            });
            schema.as_object().cloned().unwrap_or_default()
        }
    }
}

/// How an input schema, which its author may have changed, lets in what the function cannot be called with: a member
/// that is no parameter, or the lack of one that it needs.
#[must_use]
pub fn mismatch(schema: &Map<String, Value>, signature: &Signature) -> Option<String> {
    let parameter = |name: &str| signature.parameters.iter().find(|(known, _)| known == name);
    let named = schema.get("properties").and_then(Value::as_object).into_iter().flat_map(Map::keys);
    if let Some(name) = named.into_iter().find(|name| parameter(name).is_none()) {
        return Some(format!("the function has no parameter `{name}`"));
    }
    let required: Vec<_> =
        schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect();
    let mut needed = signature.parameters.iter().filter(|(_, shape)| !matches!(shape, Shape::Option(_)));
    let (name, _) = needed.find(|(name, _)| !required.contains(&name.as_str()))?;
    Some(format!("the function needs `{name}`, so it belongs into `required`"))
}

fn named(fields: &[(String, Shape)]) -> impl Iterator<Item = (&str, &Shape)> {
    fields.iter().map(|(name, shape)| (name.as_str(), shape))
}

fn object<'a>(fields: impl Iterator<Item = (&'a str, &'a Shape)>, side: Side) -> Map<String, Value> {
    let (mut required, mut properties) = (Vec::new(), Map::new());
    for (name, shape) in fields {
        if !matches!(shape, Shape::Option(_)) {
            required.push(json!(name));
        }
        properties.insert(name.to_owned(), of(shape, side));
    }
    let mut schema = Map::new();
    schema.insert("type".to_owned(), json!("object"));
    schema.insert("additionalProperties".to_owned(), json!(false));
    if !required.is_empty() {
        schema.insert("required".to_owned(), Value::Array(required));
    }
    schema.insert("properties".to_owned(), Value::Object(properties));
    schema
}

fn of(shape: &Shape, side: Side) -> Value {
    match shape {
        Shape::Bool => json!({ "type": "boolean" }),
        Shape::Integer(integer) => whole(*integer, side),
        Shape::Float32 => json!({ "type": "number", "minimum": f32::MIN, "maximum": f32::MAX }),
        Shape::Float64 => json!({ "type": "number" }),
        Shape::Char => json!({ "type": "string", "minLength": 1, "maxLength": 1 }),
        Shape::Text => json!({ "type": "string" }),
        Shape::Bytes => json!({ "type": "string", "contentEncoding": "base64" }),
        Shape::List(element) => json!({ "type": "array", "items": of(element, side) }),
        Shape::Tuple(parts) => json!({
            "type": "array",
            "prefixItems": parts.iter().map(|part| of(part, side)).collect::<Vec<_>>(),
            "items": false,
            "minItems": parts.len(),
            "maxItems": parts.len(),
        }),
        Shape::Record(fields) => Value::Object(object(named(fields), side)),
        Shape::Enum(cases) => json!({ "type": "string", "enum": cases }),
        Shape::Flags(flags) => {
            json!({ "type": "array", "items": { "type": "string", "enum": flags }, "uniqueItems": true })
        }
        Shape::Option(inner) => option(inner, side),
        Shape::Variant(cases) => {
            variant(cases.iter().map(|(name, payload)| (name.as_str(), payload.as_ref())), side)
        }
        Shape::Result(ok, err) => variant([(OK, ok.as_deref()), (ERR, err.as_deref())].into_iter(), side),
    }
}

fn whole(integer: Integer, side: Side) -> Value {
    let (least, most) = integer.range();
    // They fit: what is wider is written as text.
    let number = |value: i128| json!(i64::try_from(value.clamp(-MAX_SAFE, MAX_SAFE)).unwrap_or_default());
    let plain = json!({ "type": "integer", "minimum": number(least), "maximum": number(most) });
    if !integer.is_wide() {
        return plain;
    }
    let sign = if least < 0 { "-?" } else { "" };
    let text = json!({ "type": "string", "pattern": format!("^{sign}[0-9]{{1,20}}$") });
    match side {
        Side::Input => json!({ "anyOf": [plain, text] }),
        Side::Output => text,
    }
}

/// Of two options one inside the other, `null` means the outer.
fn option(inner: &Shape, side: Side) -> Value {
    let some = match inner {
        Shape::Option(_) => json!({
            "type": "object",
            "additionalProperties": false,
            "required": [SOME],
            "properties": { SOME: of(inner, side) },
        }),
        inner => of(inner, side),
    };
    json!({ "anyOf": [some, { "type": "null" }] })
}

/// A case without a value is its name, one with a value an object with that member alone.
fn variant<'a>(cases: impl Iterator<Item = (&'a str, Option<&'a Shape>)>, side: Side) -> Value {
    let (mut bare, mut ways) = (Vec::new(), Vec::new());
    for (name, payload) in cases {
        match payload {
            None => bare.push(json!(name)),
            Some(shape) => ways.push(json!({
                "type": "object",
                "additionalProperties": false,
                "required": [name],
                "properties": { name: of(shape, side) },
            })),
        }
    }
    if !bare.is_empty() {
        ways.insert(0, json!({ "type": "string", "enum": bare }));
    }
    json!({ "anyOf": ways })
}
