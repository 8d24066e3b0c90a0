//! Values that may be one of several things: `anyOf` and `oneOf`.

use std::borrow::Cow;
use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::schema::is_annotation;

/// The alternatives of a schema with their keyword.
pub(super) fn of(schema: &Map<String, Value>) -> Option<(&'static str, &Vec<Value>)> {
    ["anyOf", "oneOf"].into_iter().find_map(|keyword| Some((keyword, schema.get(keyword)?.as_array()?)))
}

/// The schema with one alternative in the place of all. Where both say something, the alternative's word stands: that
/// lets in more, so nothing is overlooked. The default is the whole's, and compared there.
pub(super) fn with<'a>(schema: &Map<String, Value>, keyword: &str, alternative: &'a Value) -> Cow<'a, Value> {
    let is_alone = schema.keys().all(|known| known == keyword || is_annotation(known));
    let Value::Object(members) = alternative else {
        // `true` adds nothing. What `false` lets in, nothing, is covered by anything.
        return if *alternative == Value::Bool(true) {
            Cow::Owned(Value::Object(without(schema, keyword)))
        } else {
            Cow::Owned(Value::Bool(false))
        };
    };
    if is_alone {
        return Cow::Borrowed(alternative);
    }
    let mut merged = without(schema, keyword);
    merged.extend(members.clone());
    Cow::Owned(Value::Object(merged))
}

fn without(schema: &Map<String, Value>, keyword: &str) -> Map<String, Value> {
    let members = schema.iter().filter(|(known, _)| *known != keyword && !is_annotation(known));
    members.map(|(known, value)| (known.clone(), value.clone())).collect()
}

/// Whether no value fits two of them, so that one of `oneOf` is the same as any.
pub(super) fn are_apart(alternatives: &[Value]) -> bool {
    let mut pairs = alternatives
        .iter()
        .enumerate()
        .flat_map(|(index, one)| alternatives[index + 1..].iter().map(move |other| (one, other)));
    pairs.all(|(one, other)| is_apart(one, other))
}

fn is_apart(one: &Value, other: &Value) -> bool {
    let (Some(one), Some(other)) = (one.as_object(), other.as_object()) else { return false };
    if types(one).is_disjoint(&types(other)) {
        return true;
    }
    if let (Some(one), Some(other)) = (values(one), values(other)) {
        return !one.iter().any(|value| other.contains(value));
    }
    // Objects that are told apart by a property that both must have.
    let Some(names) = one.get("properties").and_then(Value::as_object) else { return false };
    names.keys().filter(|name| is_required(one, name) && is_required(other, name)).any(|name| {
        let pair = values_of(one, name).zip(values_of(other, name));
        pair.is_some_and(|(one, other)| !one.iter().any(|value| other.contains(value)))
    })
}

fn is_required(schema: &Map<String, Value>, name: &str) -> bool {
    let names = schema.get("required").and_then(Value::as_array);
    names.is_some_and(|names| names.iter().any(|known| known == name))
}

fn values_of<'a>(schema: &'a Map<String, Value>, property: &str) -> Option<Vec<&'a Value>> {
    values(schema.get("properties")?.get(property)?.as_object()?)
}

/// The values that are listed, when only those are let in.
pub(super) fn values(schema: &Map<String, Value>) -> Option<Vec<&Value>> {
    match (schema.get("const"), schema.get("enum").and_then(Value::as_array)) {
        (Some(only), _) => Some(vec![only]),
        (None, Some(values)) => Some(values.iter().collect()),
        (None, None) => None,
    }
}

/// The types that a schema lets in; an integer is a number.
pub(super) fn types(schema: &Map<String, Value>) -> BTreeSet<&str> {
    const ALL: [&str; 6] = ["null", "boolean", "object", "array", "number", "string"];
    let named: Option<BTreeSet<&str>> = match schema.get("type") {
        Some(Value::String(only)) => Some([only.as_str()].into()),
        Some(Value::Array(names)) => Some(names.iter().filter_map(Value::as_str).collect()),
        _ => None,
    };
    if let Some(named) = named {
        return named;
    }
    if let Some(values) = values(schema) {
        return values.into_iter().map(type_of).collect();
    }
    let Some((_, alternatives)) = of(schema) else { return ALL.into() };
    let any = |alternative: &'_ Value| !alternative.is_object() && alternative != &Value::Bool(false);
    if alternatives.iter().any(any) {
        return ALL.into();
    }
    alternatives.iter().filter_map(Value::as_object).flat_map(types).collect()
}

fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}
