//! What differs between versions, as tables over pairs of manifests.

use serde_json::{Value, json};

use super::*;
use crate::manifest::Manifest;

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
            { "name": "look", "description": "Looks.", "inputSchema": { "type": "object" }, "readOnly": true },
            { "name": "add", "description": "Adds.", "inputSchema": {}, "destructive": true },
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
                match manifest.pointer_mut(parent).expect("a parent") {
                    Value::Array(list) => list[field.parse::<usize>().expect("an index")] = value.clone(),
                    object => object[field] = value.clone(),
                }
            }
        }
    }
    serde_json::from_value(manifest).expect("a manifest")
}

/// Wider as `+ …`, narrower as `- …`.
fn shifted(before: &Manifest, after: &Manifest) -> Vec<String> {
    let wider = widenings(before, after).into_iter().map(|widening| format!("+ {}", widening.what));
    let narrower = narrowings(before, after).into_iter().map(|what| format!("- {what}"));
    wider.chain(narrower).collect()
}

#[test]
fn what_is_wider_one_way_is_narrower_the_other() {
    let every = |every: &str| json!([{ "name": "daily", "scheduleType": "interval", "scheduleExpression": every, "tool": "look" }]);
    type Changes<'a> = &'a [(&'a str, Value)];
    let cases: &[(&str, Changes<'_>, &str, &str)] = &[
        ("host", &[("/http/allow/-", json!("b.example.com"))], "`http` `b.example.com`", "`http` `b.example.com`"),
        (
            "wildcard",
            &[("/http/allow/-", json!("*.example.com"))],
            "`http` `*.example.com`",
            "`http` `*.example.com`",
        ),
        (
            "port",
            &[("/http/allow/-", json!("api.example.com:8443"))],
            "`http` `api.example.com:8443`",
            "`http` `api.example.com:8443`",
        ),
        (
            "place",
            &[("/secrets/0/in/-", json!("header:authorization"))],
            "the secret `API_KEY` may be approved for `api.example.com` in `header:authorization`",
            "the secret `API_KEY` may not be approved any more for `api.example.com` in `header:authorization`",
        ),
        (
            "fuel",
            &[("/limits/fuel", json!(2_000_000))],
            "a call may spend 2000000 fuel, before 1000000",
            "a call may spend 1000000 fuel, before 2000000",
        ),
        (
            "files",
            &[("/sandbox/files", json!(6))],
            "it keeps 6 files in a conversation, before 5",
            "it keeps 5 files in a conversation, before 6",
        ),
        (
            "interval",
            &[("/loops", every("12h"))],
            "it runs `daily` as often as every 12h, before every 1d",
            "it runs `daily` as often as every 1d, before every 12h",
        ),
        (
            "published",
            &[("/tools/0/expose", json!(true))],
            "`look` is published to agents",
            "`look` is not published to agents any more",
        ),
    ];
    let plain = manifest(&[]);
    for (what, changes, wider, narrower) in cases {
        let changed = manifest(changes);
        assert_eq!(shifted(&plain, &changed), [format!("+ {wider}")], "{what}");
        assert_eq!(shifted(&changed, &plain), [format!("- {narrower}")], "{what}");
    }
    assert_eq!(shifted(&plain, &plain), [""; 0]);
    // A part of what was asked is no more than it was.
    let part = manifest(&[("/http/allow", json!(["api.example.com", "a.cdn.example.com"]))]);
    assert_eq!(shifted(&plain, &part), ["- `http` `*.cdn.example.com`"]);
}

#[test]
fn c_10_a_change_of_words_alone_is_shown() {
    let plain = manifest(&[]);
    let cases = [
        ("/description", "description"),
        ("/prompt", "prompt"),
        ("/title", "title"),
        ("/tools/0/description", "tools.look.description"),
        ("/tools/0/title", "tools.look.title"),
        ("/tools/0/keywords", "tools.look.keywords"),
    ];
    for (pointer, field) in cases {
        let value = if field.ends_with("keywords") { json!(["send"]) } else { json!("Call me first.") };
        let changed = manifest(&[(pointer, value)]);
        let found = changes(&plain, &changed);
        assert_eq!(found.len(), 1, "{pointer}: {found:?}");
        assert_eq!((found[0].field.as_str(), found[0].weight), (field, Weight::Words));
        assert!(found[0].before.as_deref() != found[0].after.as_deref());
        // Words alone ask for nothing more.
        assert_eq!(shifted(&plain, &changed), [""; 0], "{pointer}");
    }
    assert_eq!(changes(&plain, &plain), []);
    assert_eq!(changes(&plain, &manifest(&[("/version", json!("1.0.1"))])), []);
}

#[test]
fn c_11_schemas_and_annotations_weigh_as_contracts() {
    let plain = manifest(&[]);
    let cases = [
        ("/tools/0/inputSchema", json!({ "type": "object", "properties": { "a": {} } })),
        ("/tools/0/inputSchema", json!({ "type": "object", "description": "Call me first." })),
        ("/tools/0/outputSchema", json!({ "type": "object" })),
        ("/tools/0/readOnly", json!(false)),
        ("/tools/1/destructive", json!(false)),
        ("/tools/1/idempotent", json!(true)),
        ("/tools/1/openWorld", json!(true)),
        ("/tools/1/requiredRole", json!("admin")),
        ("/tools/1/run", json!({ "kind": "component", "export": "x" })),
        ("/tools/1/name", json!("remove")),
    ];
    for (pointer, value) in cases {
        let found = changes(&plain, &manifest(&[(pointer, value)]));
        assert!(!found.is_empty(), "{pointer}");
        assert!(found.iter().all(|change| change.weight == Weight::Contract), "{pointer}: {found:?}");
    }
    // What says less of itself is asked about less: both are a step further.
    assert_eq!(
        shifted(&plain, &manifest(&[("/tools/1/destructive", json!(false))])),
        ["+ `add` is said to destroy nothing, so nobody is asked before it runs"]
    );
    assert_eq!(shifted(&plain, &manifest(&[("/tools/0/readOnly", json!(false))])), ["+ `look` may destroy"]);
}
