//! What differs between two manifests, field by field: every word of a publisher that an upgrade would change.
//!
//! It does not judge. What becomes wider is `widened.rs`'s; what a reviewer should look at is the reviewer's.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use crate::manifest::Manifest;

/// Said elsewhere, or of no meaning.
const LEFT_OUT: [&str; 4] = ["$schema", "publisher", "slug", "version"];

/// The fields by which the members of a list are told apart.
const KEYS: [&str; 3] = ["name", "uri", "uriTemplate"];

/// One field that differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// Where: `tools.get_forecast.description`.
    pub field: String,
    /// What it was, as text; `None` when it was not there.
    pub before: Option<String>,
    /// What it is; `None` when it is gone.
    pub after: Option<String>,
}

/// Everything that differs, in the order of the fields' names.
#[must_use]
pub fn changes(before: &Manifest, after: &Manifest) -> Vec<Change> {
    let value = |manifest| match serde_json::to_value(manifest) {
        Ok(Value::Object(fields)) => fields,
        _ => Map::new(),
    };
    let (mut before, mut after) = (value(before), value(after));
    for field in LEFT_OUT {
        before.remove(field);
        after.remove(field);
    }
    let mut found = Vec::new();
    objects("", &before, &after, &mut found);
    found
}

fn objects(at: &str, before: &Map<String, Value>, after: &Map<String, Value>, found: &mut Vec<Change>) {
    let fields: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    for field in fields {
        let at = if at.is_empty() { field.clone() } else { format!("{at}.{field}") };
        values(&at, before.get(field), after.get(field), found);
    }
}

fn values(at: &str, before: Option<&Value>, after: Option<&Value>, found: &mut Vec<Change>) {
    match (before, after) {
        (before, after) if before == after => {}
        (Some(Value::Object(before)), Some(Value::Object(after))) => objects(at, before, after, found),
        (before, after) => match (before.map_or(Some(Map::new()), keyed), after.map_or(Some(Map::new()), keyed)) {
            (Some(before), Some(after)) if !before.is_empty() || !after.is_empty() => {
                objects(at, &before, &after, found);
            }
            _ => found.push(Change { field: at.to_owned(), before: before.map(text), after: after.map(text) }),
        },
    }
}

/// A list as an object by the names of its members; `None` for what is no such list.
fn keyed(list: &Value) -> Option<Map<String, Value>> {
    let members = list.as_array()?;
    let key = |member: &Value| KEYS.iter().find_map(|key| Some(member.get(key)?.as_str()?.to_owned()));
    members.iter().map(|member| Some((key(member)?, member.clone()))).collect()
}

fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
