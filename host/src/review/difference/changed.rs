//! Which fields of two manifests differ: every word of a publisher that a new version would change.
//!
//! How much a change weighs is said by where it stands, never by what it says.

use std::collections::BTreeSet;

use serde::Serialize;
use serde_json::{Map, Value};

use crate::manifest::Manifest;

/// Said elsewhere, or of no meaning.
const LEFT_OUT: [&str; 4] = ["$schema", "publisher", "slug", "version"];

/// The fields by which the members of a list are told apart.
const KEYS: [&str; 3] = ["name", "uri", "uriTemplate"];

/// What people and models read, and nothing else acts on.
const WORDS: [&str; 6] = ["title", "description", "keywords", "tags", "prompt", "domain"];

/// What a capability asks.
const ASKS: [&str; 8] = ["uses", "http", "secrets", "entities", "entityFormats", "loops", "sandbox", "limits"];

/// One field that differs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Change {
    /// Where: `tools.get_forecast.description`.
    pub field: String,
    /// How much it weighs.
    pub weight: Weight,
    /// What it was, as text; `None` when it was not there.
    pub before: Option<String>,
    /// What it is; `None` when it is gone.
    pub after: Option<String>,
}

/// How much a change weighs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Weight {
    /// Words for people and models. They can still mislead, so they are shown.
    Words,
    /// What is asked: hosts, secrets, entities, loops, limits.
    Asks,
    /// What callers rely on: schemas, annotations, names, who may call.
    Contract,
}

impl Change {
    fn new(field: &str, before: Option<&Value>, after: Option<&Value>) -> Self {
        let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        Self { field: field.to_owned(), weight: weight(field), before: before.map(text), after: after.map(text) }
    }

    /// The tool that it is a field of.
    #[must_use]
    pub fn tool(&self) -> Option<&str> {
        let rest = self.field.strip_prefix("tools.")?;
        Some(rest.split_once('.').map_or(rest, |(name, _)| name))
    }
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

fn weight(field: &str) -> Weight {
    let mut parts = field.split('.');
    let first = parts.next().unwrap_or_default();
    if ASKS.contains(&first) {
        return Weight::Asks;
    }
    // A word of a schema is part of the schema: it says what a value means.
    let is_words = WORDS.contains(&first) || parts.nth(1).is_some_and(|part| WORDS.contains(&part));
    if is_words { Weight::Words } else { Weight::Contract }
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
            _ => found.push(Change::new(at, before, after)),
        },
    }
}

/// A list as an object by the names of its members; `None` for what is no such list.
fn keyed(list: &Value) -> Option<Map<String, Value>> {
    let members = list.as_array()?;
    let key = |member: &Value| KEYS.iter().find_map(|key| Some(member.get(key)?.as_str()?.to_owned()));
    members.iter().map(|member| Some((key(member)?, member.clone()))).collect()
}
