//! What an upgrade carries over, from one manifest to another.

use serde_json::{Value, json};

use super::*;
use crate::manifest::{Manifest, NamespaceName};
use crate::policy::{Approval, Grant};

/// A manifest with these changes, as pointers and values; a `-` at the end of a pointer adds to a list.
fn manifest(changes: &[(&str, Value)]) -> Manifest {
    let mut manifest = json!({
        "publisher": "acme", "slug": "weather", "version": "1.0.0", "title": "Weather", "description": "Forecasts.",
        "uses": ["http", "entities", "loops", "sandbox"], "entities": ["notes"],
        "http": { "allow": ["api.example.com", "*.cdn.example.com"] },
        "secrets": [{ "name": "API_KEY", "description": "K.", "hosts": ["api.example.com"], "in": ["body"] }],
        "sandbox": { "files": 5 },
        "limits": { "fuel": 1_000_000 },
        "loops": [{ "name": "daily", "scheduleType": "interval", "scheduleExpression": "24h", "tool": "look" }],
        "tools": [
            { "name": "look", "description": "Looks.", "inputSchema": {}, "readOnly": true },
            { "name": "add", "description": "Adds.", "inputSchema": {}, "destructive": false,
              "requiredRole": "admin" },
        ],
    });
    for (pointer, value) in changes {
        match pointer.strip_suffix("/-") {
            Some(list) => {
                let list = manifest.pointer_mut(list).and_then(Value::as_array_mut).expect("a list");
                list.push(value.clone());
            }
            None => {
                let (parent, field) = pointer.rsplit_once('/').expect("a pointer");
                manifest.pointer_mut(parent).expect("a parent")[field] = value.clone();
            }
        }
    }
    serde_json::from_value(manifest).expect("a manifest")
}

fn grant(namespace: NamespaceName, entry: &str) -> Grant {
    Grant { namespace, entry: Some(entry.to_owned()).filter(|entry| !entry.is_empty()) }
}

fn approval(host: &str, port: u16, place: &str) -> Approval {
    let (secret, source) = ("API_KEY".to_owned(), "WORK_KEY".to_owned());
    Approval {
        secret,
        source,
        host: host.to_owned(),
        port,
        place: place.parse().expect("a place"),
        expires_at: None,
    }
}

#[test]
fn c_12_what_was_given_stands_as_far_as_both_versions_ask_for_it() {
    use NamespaceName::{Entities, Http, Loops};
    let before = manifest(&[]);
    let given = [
        grant(Http, ""),
        grant(Http, "*.cdn.example.com"),
        grant(Http, "api.example.com"),
        grant(Entities, ""),
        grant(Entities, "notes"),
        grant(Loops, ""),
        grant(Loops, "max=3"),
    ];
    let approved = [approval("api.example.com", 443, "body")];
    let same = carry(&before, &manifest(&[("/description", json!("Other."))]), &given, &approved);
    assert_eq!((same.grants.as_slice(), same.approvals.as_slice()), (&given[..], &approved[..]));
    assert!(same.lost_grants.is_empty() && same.lost_approvals.is_empty());

    // Nothing is more than it was: not what is new, not what was asked and never given.
    let wider = manifest(&[
        ("/http/allow", json!(["api.example.com", "*.example.com"])),
        ("/entities/-", json!("tags")),
        ("/secrets/0/in/-", json!("header:authorization")),
    ]);
    let carried = carry(&before, &wider, &given[..3], &approved);
    assert_eq!(carried.grants, given[..3]);
    assert_eq!(carried.approvals, approved);

    // What is asked no more is gone; of what is asked in part, the part stays.
    let narrower = manifest(&[
        ("/http/allow", json!(["a.cdn.example.com"])),
        ("/uses", json!(["http"])),
        ("/entities", json!([])),
        ("/loops", json!([])),
        ("/secrets/0/hosts", json!(["a.cdn.example.com"])),
    ]);
    let carried = carry(&before, &narrower, &given, &approved);
    assert_eq!(carried.grants, [grant(Http, ""), grant(Http, "a.cdn.example.com")]);
    assert_eq!(carried.lost_grants.len(), 6);
    assert!(carried.approvals.is_empty());
    assert_eq!(carried.lost_approvals, approved);
    // Who gave nothing gives nothing.
    assert_eq!(carry(&before, &narrower, &[], &[]), Carried::default());
}
