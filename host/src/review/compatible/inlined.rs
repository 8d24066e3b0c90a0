//! A schema with its references followed, so that two can be compared by what they say and not by how they are
//! arranged.
//!
//! Manifests bound what references may stand for (`manifest/rules/references.rs`). What is beyond the bounds here is
//! given up, and never taken for equal to something else.

use serde_json::{Map, Value, json};

/// Objects that one schema may stand for: what a manifest allows, and room.
const MAX_OBJECTS: usize = 10_000;

/// Levels, references followed. Comparing takes some frames of the stack for each.
const MAX_DEPTH: usize = 100;

/// Keywords whose values are data, not schemas.
const DATA: [&str; 4] = ["const", "default", "enum", "examples"];

/// Keywords whose values are schemas by names that are no keywords.
const MAPS: [&str; 3] = ["properties", "patternProperties", "dependentSchemas"];

/// The schema of `document` without references and definitions; `None` when it is too large or too deep.
pub(super) fn inlined(document: &Map<String, Value>) -> Option<Value> {
    let mut schema = document.clone();
    schema.retain(|keyword, _| !matches!(keyword.as_str(), "$schema" | "$defs" | "definitions"));
    Follow { document: &Value::Object(document.clone()), left: MAX_OBJECTS }.schema(&Value::Object(schema), 0)
}

struct Follow<'a> {
    document: &'a Value,
    left: usize,
}

impl Follow<'_> {
    fn schema(&mut self, value: &Value, depth: usize) -> Option<Value> {
        if depth > MAX_DEPTH {
            return None;
        }
        match value {
            Value::Object(members) => self.object(members, depth),
            Value::Array(values) => values.iter().map(|value| self.schema(value, depth + 1)).collect(),
            other => Some(other.clone()),
        }
    }

    fn object(&mut self, members: &Map<String, Value>, depth: usize) -> Option<Value> {
        self.left = self.left.checked_sub(1)?;
        let mut own = Map::new();
        for (keyword, value) in members.iter().filter(|(keyword, _)| *keyword != "$ref") {
            let value = match value {
                value if DATA.contains(&keyword.as_str()) => value.clone(),
                Value::Object(schemas) if MAPS.contains(&keyword.as_str()) => self.members(schemas, depth)?,
                value => self.schema(value, depth + 1)?,
            };
            own.insert(keyword.clone(), value);
        }
        let Some(reference) = members.get("$ref") else { return Some(Value::Object(own)) };
        let target = self.document.pointer(reference.as_str()?.strip_prefix('#')?)?;
        let target = self.schema(target, depth + 1)?;
        if own.keys().all(|keyword| super::schema::is_annotation(keyword)) {
            let mut target = target;
            if let (Value::Object(target), Some(default)) = (&mut target, own.remove("default")) {
                target.insert("default".to_owned(), default);
            }
            return Some(target);
        }
        // What stands beside a reference holds as well.
        let others = own.remove("allOf").unwrap_or(Value::Bool(true));
        own.insert("allOf".to_owned(), json!([others, target]));
        Some(Value::Object(own))
    }

    fn members(&mut self, schemas: &Map<String, Value>, depth: usize) -> Option<Value> {
        self.left = self.left.checked_sub(1)?;
        let each = schemas.iter().map(|(name, schema)| Some((name.clone(), self.schema(schema, depth + 1)?)));
        each.collect::<Option<Map<String, Value>>>().map(Value::Object)
    }
}
