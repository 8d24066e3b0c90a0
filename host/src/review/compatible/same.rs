//! Whether two schemas let in the same because they say the same, words apart.

use serde_json::Value;

use super::schema::is_annotation;

/// Keywords whose value is a map: its names are the author's, and no keywords.
const MAPS: [&str; 5] =
    ["properties", "patternProperties", "dependentSchemas", "dependentRequired", "dependencies"];

/// Keywords whose value is data.
const DATA: [&str; 3] = ["const", "enum", "default"];

/// Whether they say the same. Of an input the default is part of what it says: leaving something out is a value too.
pub(super) fn same(one: &Value, other: &Value, with_defaults: bool) -> bool {
    match (one, other) {
        (Value::Object(one), Value::Object(other)) => {
            let says = |(keyword, _): &(&String, &Value)| {
                !is_annotation(keyword) || with_defaults && keyword.as_str() == "default"
            };
            let same_value = |keyword: &str, one: &Value, other: &Value| match keyword {
                keyword if DATA.contains(&keyword) => one == other,
                keyword if MAPS.contains(&keyword) => same_members(one, other, with_defaults),
                _ => same(one, other, with_defaults),
            };
            one.iter().filter(says).count() == other.iter().filter(says).count()
                && one.iter().filter(says).all(|(keyword, value)| {
                    other.get(keyword).is_some_and(|other| same_value(keyword, value, other))
                })
        }
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| same(one, other, with_defaults))
        }
        (one, other) => one == other,
    }
}

fn same_members(one: &Value, other: &Value, with_defaults: bool) -> bool {
    let (Some(one), Some(other)) = (one.as_object(), other.as_object()) else { return one == other };
    one.len() == other.len()
        && one.iter().all(|(name, schema)| other.get(name).is_some_and(|other| same(schema, other, with_defaults)))
}
