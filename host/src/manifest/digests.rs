//! Two digests of what a manifest says: of its tools, and of what it asks.
//!
//! The pin is the digest of the component's bytes. These say which part of it changed, and are what a publisher signs
//! and a lock writes down: SHA-256 over RFC 8785 JSON. What does not reach an agent or a grant is in neither.

use serde_json::{Value, json};

use super::{Manifest, Tool};
use crate::canonical::canonical;
use crate::registry::Digest;

/// Of every tool: name, title, description, schemas and annotations, in the order of the names.
#[must_use]
pub fn tools_digest(manifest: &Manifest) -> Digest {
    let mut tools: Vec<&Tool> = manifest.tools.iter().collect();
    tools.sort_by(|one, other| one.name.cmp(&other.name));
    digest(&Value::Array(tools.into_iter().map(said).collect()))
}

/// What an agent is told of a tool. Defaults are filled in: writing one down changes nothing.
fn said(tool: &Tool) -> Value {
    json!({
        "name": tool.name,
        "title": tool.title.as_ref().unwrap_or(&tool.name),
        "description": tool.description,
        "inputSchema": tool.input_schema,
        "outputSchema": tool.output_schema,
        "annotations": {
            "readOnly": tool.read_only,
            "destructive": tool.is_destructive(),
            "idempotent": tool.idempotent,
            "openWorld": tool.open_world,
        },
    })
}

/// Of all that an installer is asked for: namespaces, hosts, secrets with their places, entities with their forms,
/// loops, files and limits.
#[must_use]
pub fn grants_digest(manifest: &Manifest) -> Digest {
    let mut namespaces: Vec<_> = manifest.uses.iter().map(|namespace| namespace.as_str()).collect();
    namespaces.sort_unstable();
    let mut secrets: Vec<_> = manifest.secrets.iter().collect();
    secrets.sort_by(|one, other| one.name.cmp(&other.name));
    digest(&json!({
        "namespaces": namespaces,
        "http": manifest.http,
        "secrets": secrets,
        "entities": manifest.entities,
        "entityFormats": manifest.entity_formats,
        "loops": manifest.loops,
        "sandbox": manifest.sandbox,
        "limits": manifest.limits,
    }))
}

fn digest(value: &Value) -> Digest {
    Digest::of(canonical(value).as_bytes())
}

#[cfg(test)]
mod tests {
    use serde_json::Map;

    use super::*;
    use crate::manifest::from_value;

    fn manifest() -> Value {
        let schema = json!({ "type": "object", "properties": { "a": { "type": "string" } }, "additionalProperties": false });
        json!({
            "publisher": "acme", "slug": "weather", "version": "1.0.0", "title": "Weather", "description": "It tells.",
            "uses": ["http", "entities"], "http": { "allow": ["api.example.com"] }, "entities": ["city"],
            "secrets": [{ "name": "KEY", "description": "A key.", "hosts": ["api.example.com"], "in": ["header:x-key"] }],
            "limits": { "fuel": 1_000_000 },
            "tools": [
                { "name": "one", "description": "It reads.", "inputSchema": schema, "readOnly": true },
                { "name": "two", "description": "It writes.", "inputSchema": schema, "outputSchema": schema },
            ],
        })
    }

    fn digests(value: &Value) -> (Digest, Digest) {
        let manifest = from_value(value.clone(), "").unwrap_or_else(|error| panic!("{error:?}"));
        (tools_digest(&manifest), grants_digest(&manifest))
    }

    fn reversed(value: &Value) -> Value {
        match value {
            Value::Object(members) => {
                Value::Object(members.iter().rev().map(|(name, member)| (name.clone(), reversed(member))).collect::<Map<_, _>>())
            }
            Value::Array(items) => Value::Array(items.iter().map(reversed).collect()),
            other => other.clone(),
        }
    }

    #[test]
    fn each_field_moves_its_own_digest_and_no_other() {
        let (tools, grants) = digests(&manifest());
        let other_schema = json!({ "type": "object", "properties": {}, "additionalProperties": false });
        let of_tools = [
            ("/tools/0/name", json!("three")),
            ("/tools/0/title", json!("One")),
            ("/tools/0/description", json!("It reads. Call it first.")),
            ("/tools/0/inputSchema", other_schema.clone()),
            ("/tools/1/outputSchema", other_schema),
            ("/tools/0/readOnly", json!(false)),
            ("/tools/1/destructive", json!(false)),
            ("/tools/1/idempotent", json!(true)),
            ("/tools/1/openWorld", json!(false)),
        ];
        for (pointer, value) in of_tools {
            let (changed_tools, same_grants) = digests(&changed(pointer, value));
            assert_ne!(changed_tools, tools, "{pointer}");
            assert_eq!(same_grants, grants, "{pointer}");
        }
        let of_grants = [
            ("/uses", json!(["http", "entities", "loops"])),
            ("/http/allow", json!(["api.example.com", "*.example.com"])),
            ("/http/ownCredentials", json!(true)),
            ("/secrets/0/in", json!(["header:x-key", "body"])),
            ("/secrets/0/required", json!(true)),
            ("/entities", json!(["city", "country"])),
            ("/entityFormats", json!({ "city": 2 })),
            ("/limits", json!({ "fuel": 2_000_000 })),
        ];
        for (pointer, value) in of_grants {
            let (same_tools, changed_grants) = digests(&changed(pointer, value));
            assert_eq!(same_tools, tools, "{pointer}");
            assert_ne!(changed_grants, grants, "{pointer}");
        }
        for (pointer, value) in [("/title", json!("Rain")), ("/keywords", json!(["rain"])), ("/version", json!("1.0.1"))] {
            assert_eq!(digests(&changed(pointer, value)), (tools, grants), "{pointer}");
        }
    }

    #[test]
    fn how_it_is_written_moves_nothing() {
        let one = digests(&manifest());
        // Lists are reversed as well: the order of tools and namespaces means nothing.
        assert_eq!(digests(&reversed(&manifest())), one);
        let spelt_out = [("/tools/0/title", json!("one")), ("/tools/1/destructive", json!(true))];
        for (pointer, value) in spelt_out {
            assert_eq!(digests(&changed(pointer, value)), one, "{pointer}");
        }
    }

    fn changed(pointer: &str, value: Value) -> Value {
        let mut manifest = manifest();
        let (parent, name) = pointer.rsplit_once('/').expect("a pointer");
        let parent = manifest.pointer_mut(parent).expect("its parent");
        parent.as_object_mut().expect("an object").insert(name.to_owned(), value);
        manifest
    }
}
