//! What an upgrade asks, carries over and shows, as tables over pairs of manifests.

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

/// What is asked, each with the word for it.
fn asked(before: &Manifest, after: &Manifest) -> Vec<String> {
    let said = |widening: Widening| match widening.about.word() {
        Some(word) => format!("{word}: {}", widening.what),
        None => widening.what,
    };
    widenings(before, after).into_iter().map(said).collect()
}

#[test]
fn c12_each_widening_is_asked_and_no_narrowing_is() {
    let loop_every = |every: &str| json!([{ "name": "daily", "scheduleType": "interval", "scheduleExpression": every, "tool": "look" }]);
    type Changes<'a> = &'a [(&'a str, Value)];
    let cases: &[(&str, Changes<'_>, &[&str])] = &[
        ("nothing", &[], &[]),
        ("description", &[("/description", json!("Other."))], &[]),
        ("host", &[("/http/allow/-", json!("b.example.com"))], &["`http` `b.example.com`"]),
        ("wildcard", &[("/http/allow/-", json!("*.example.com"))], &["`http` `*.example.com`"]),
        ("port", &[("/http/allow/-", json!("api.example.com:8443"))], &["`http` `api.example.com:8443`"]),
        ("a part of a wildcard", &[("/http/allow", json!(["api.example.com", "a.cdn.example.com"]))], &[]),
        ("fewer hosts", &[("/http/allow", json!(["api.example.com:443"]))], &[]),
        ("own credentials", &[("/http/ownCredentials", json!(true))], &["`http` `ownCredentials`"]),
        ("namespace", &[("/uses/-", json!("ask"))], &["`ask`"]),
        ("entity", &[("/entities/-", json!("tags"))], &["`entities` `tags`"]),
        ("others", &[("/sandbox/others", json!(true))], &["`sandbox` `others`"]),
        (
            "secret's place",
            &[("/secrets/0/in/-", json!("header:authorization"))],
            &["the secret `API_KEY` may be approved for `api.example.com` in `header:authorization`"],
        ),
        (
            "secret's host",
            &[("/secrets/0/hosts/-", json!("a.cdn.example.com"))],
            &["the secret `API_KEY` may be approved for `a.cdn.example.com` in `body`"],
        ),
        ("less fuel", &[("/limits/fuel", json!(10))], &[]),
        (
            "more fuel",
            &[("/limits/fuel", json!(2_000_000))],
            &["limits: a call may spend 2000000 fuel, before 1000000"],
        ),
        ("fuel unsaid", &[("/limits", json!({}))], &["limits: a call may spend 500000000 fuel, before 1000000"]),
        ("memory", &[("/limits/memoryMiB", json!(65))], &["limits: a call may spend 65 MiB of memory, before 64"]),
        ("the default memory", &[("/limits/memoryMiB", json!(64))], &[]),
        (
            "time",
            &[("/limits/timeMs", json!(30_001))],
            &["limits: a call may spend 30001 ms of time, before 30000"],
        ),
        ("requests", &[("/limits/httpRequests", json!(21))], &["limits: a call may spend 21 requests, before 20"]),
        (
            "more files",
            &[("/sandbox/files", json!(6))],
            &["sandbox: it keeps 6 files in a conversation, before 5"],
        ),
        ("fewer files", &[("/sandbox/files", json!(4))], &[]),
        (
            "files unsaid",
            &[("/sandbox", json!({}))],
            &["sandbox: it keeps as many as allowed files in a conversation, before 5"],
        ),
        ("a longer interval", &[("/loops", loop_every("48h"))], &[]),
        (
            "a shorter interval",
            &[("/loops", loop_every("12h"))],
            &["loops: it runs `daily` as often as every 12h, before every 1d"],
        ),
        ("another task", &[("/loops/0/tool", json!("add"))], &["loops: `daily` does something else when it runs"]),
        (
            "a new loop",
            &[(
                "/loops/-",
                json!({ "name": "b", "scheduleType": "interval", "scheduleExpression": "1h", "tool": "look" }),
            )],
            &["loops: it runs `b` by itself, at least 1h apart"],
        ),
        ("no loop", &[("/loops", json!([]))], &[]),
        ("not read-only", &[("/tools/0/readOnly", json!(false))], &["tools: `look` may destroy"]),
        (
            "not read-only, and not destructive",
            &[("/tools/0/readOnly", json!(false)), ("/tools/0/destructive", json!(false))],
            &["tools: `look` changes something, before it only read"],
        ),
        ("destructive", &[("/tools/1/destructive", json!(true))], &["tools: `add` may destroy"]),
        ("read-only", &[("/tools/1/readOnly", json!(true))], &[]),
        ("published", &[("/tools/0/expose", json!(true))], &["tools: `look` is published to agents"]),
        (
            "role",
            &[("/tools/1/requiredRole", Value::Null)],
            &["tools: `add` does not ask for the role `admin` any more"],
        ),
        (
            "another role",
            &[("/tools/1/requiredRole", json!("member"))],
            &["tools: `add` does not ask for the role `admin` any more"],
        ),
        ("one more role", &[("/tools/0/requiredRole", json!("member"))], &[]),
        (
            "a tool that reads",
            &[("/tools/-", json!({ "name": "b", "description": "B.", "inputSchema": {}, "readOnly": true }))],
            &[],
        ),
        (
            "a tool that may destroy",
            &[("/tools/-", json!({ "name": "b", "description": "B.", "inputSchema": {} }))],
            &["tools: the new tool `b` may destroy"],
        ),
    ];
    let before = manifest(&[]);
    for (what, changes, expected) in cases {
        assert_eq!(asked(&before, &manifest(changes)), *expected, "{what}");
    }
}

#[test]
fn c12_what_was_given_stands_as_far_as_both_versions_ask_for_it() {
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

#[test]
fn c10_every_word_that_changes_is_shown() {
    let shown = |changes: &[(&str, Value)]| -> Vec<String> {
        let line = |change: Change| {
            let side = |text: Option<String>| text.unwrap_or_else(|| "nothing".to_owned());
            format!("{}: {} -> {}", change.field, side(change.before), side(change.after))
        };
        super::changes(&manifest(&[]), &manifest(changes)).into_iter().map(line).collect()
    };
    assert_eq!(shown(&[]), [""; 0]);
    assert_eq!(shown(&[("/version", json!("2.0.0"))]), [""; 0]);
    assert_eq!(shown(&[("/description", json!("Other."))]), ["description: Forecasts. -> Other."]);
    assert_eq!(shown(&[("/prompt", json!("Call me first."))]), ["prompt: nothing -> Call me first."]);
    assert_eq!(shown(&[("/tools/0/description", json!("X."))]), ["tools.look.description: Looks. -> X."]);
    assert_eq!(
        shown(&[("/tools/1/inputSchema/type", json!("object"))]),
        ["tools.add.inputSchema.type: nothing -> object"]
    );
    assert_eq!(
        shown(&[("/http/allow/-", json!("b.example.com"))]),
        ["http.allow: [\"api.example.com\",\"*.cdn.example.com\"] -> \
         [\"api.example.com\",\"*.cdn.example.com\",\"b.example.com\"]"]
    );
    let removed = shown(&[("/tools", json!([]))]);
    assert_eq!(removed.len(), 2, "{removed:?}");
    assert!(removed[0].starts_with("tools.add: {") && removed[0].ends_with("-> nothing"), "{removed:?}");
}
