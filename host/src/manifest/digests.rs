//! Digests of what a manifest says.

use serde_json::Value;

use super::Manifest;
use crate::registry::Digest;

/// Of every tool.
#[must_use]
pub fn tools_digest(manifest: &Manifest) -> Digest {
    Digest::of(sorted(&serde_json::to_value(&manifest.tools).unwrap_or_default()).to_string().as_bytes())
}

/// Of what it asks.
#[must_use]
pub fn grants_digest(manifest: &Manifest) -> Digest {
    let value = serde_json::json!([
        manifest.uses,
        manifest.http,
        manifest.secrets,
        manifest.entities,
        manifest.loops,
        manifest.sandbox,
        manifest.limits
    ]);
    Digest::of(sorted(&value).to_string().as_bytes())
}

fn sorted(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let mut keys: Vec<_> = fields.iter().collect();
            keys.sort_by_key(|(key, _)| (*key).clone());
            Value::Object(keys.into_iter().map(|(key, value)| (key.clone(), sorted(value))).collect())
        }
        Value::Array(list) => Value::Array(list.iter().map(sorted).collect()),
        other => other.clone(),
    }
}
