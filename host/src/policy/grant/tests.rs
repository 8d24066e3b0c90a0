//! Declared and granted: tables of what a call may do.

use serde_json::{Value, json};

use super::*;
use crate::registry::{CapabilityName, Digest};

const NOW: i64 = 1_700_000_000_000;

fn capability(overrides: &Value) -> Arc<Capability> {
    let mut manifest = json!({
        "publisher": "acme", "slug": "weather", "version": "1.0.0", "title": "W", "description": "W.",
        "uses": ["http", "entities"],
        "http": { "allow": ["api.example.com", "*.cdn.example.com"], "ownCredentials": true },
        "secrets": [
            { "name": "API_KEY", "description": "K.", "hosts": ["api.example.com"], "in": ["body"] },
            { "name": "UNUSED", "description": "U.", "hosts": ["api.example.com"], "in": ["body"] },
        ],
    });
    for (field, value) in overrides.as_object().unwrap() {
        manifest[field] = value.clone();
    }
    Arc::new(Capability {
        name: CapabilityName { publisher: "acme".to_owned(), slug: "weather".to_owned() },
        digest: Digest::of(b"weather"),
        manifest: serde_json::from_value(manifest).unwrap(),
        installed_at: 0,
        size: 0,
    })
}

fn decide_with(overrides: &Value, grants: &[&str], approvals: &[Approval]) -> Granted {
    let grants: Vec<_> = grants.iter().map(|grant| read_grant(grant)).collect();
    decide(&capability(overrides), &grants, approvals, NOW, &Config::default())
}

/// `namespace` or `namespace:entry`.
fn read_grant(text: &str) -> Grant {
    let (namespace, entry) = text.split_once(':').map_or((text, None), |(name, entry)| (name, Some(entry)));
    let namespace = serde_json::from_value(json!(namespace)).unwrap();
    Grant { namespace, entry: entry.map(str::to_owned) }
}

fn approval(secret: &str, source: &str, host: &str, place: Place) -> Approval {
    let (secret, source, host) = (secret.to_owned(), source.to_owned(), host.to_owned());
    Approval { secret, source, host, port: 443, place, expires_at: None }
}

#[test]
fn a_namespace_exists_when_declared_and_granted() {
    // What every capability has is neither declared nor granted.
    let always = ["log", "progress", "listing"];
    let cases: &[(&[&str], &[&str])] = &[
        (&[], &[]),
        (&["http"], &["http"]),
        (&["entities"], &["entities"]),
        (&["http", "entities"], &["http", "entities"]),
        // An entry is not its namespace.
        (&["http:api.example.com"], &[]),
        // Granted beyond the declaration.
        (&["loops", "sandbox", "ask"], &[]),
    ];
    for (grants, expected) in cases {
        let granted = decide_with(&json!({}), grants, &[]);
        let names: Vec<_> = granted.namespaces().iter().map(|namespace| namespace.as_str()).collect();
        assert_eq!(names, [*expected, &always].concat(), "{grants:?}");
        assert_eq!(granted.http().is_some(), expected.contains(&"http"), "{grants:?}");
    }
}

#[test]
fn a_host_is_reached_when_declared_and_granted() {
    let cases: &[(&[&str], &[&str])] = &[
        (&["http"], &[]),
        (&["http", "http:api.example.com"], &["api.example.com"]),
        (&["http", "http:a.cdn.example.com"], &["a.cdn.example.com"]),
        (&["http", "http:*.cdn.example.com"], &["*.cdn.example.com"]),
        // Beyond the declaration: a wider pattern, another host, another port, no pattern at all.
        (&["http", "http:*.example.com", "http:evil.example", "http:api.example.com:8443", "http:*"], &[]),
    ];
    for (grants, expected) in cases {
        let granted = decide_with(&json!({}), grants, &[]);
        let expected: Vec<HostPattern> = expected.iter().map(|entry| entry.parse().unwrap()).collect();
        assert_eq!(granted.http().unwrap().allow, expected, "{grants:?}");
    }
}

#[test]
fn an_entity_exists_when_declared_and_granted() {
    let manifest = json!({ "entities": ["notes", "tags"] });
    let cases: &[(&[&str], Option<&[&str]>)] = &[
        (&[], None),
        (&["entities:notes"], None),
        (&["entities"], Some(&[])),
        (&["entities", "entities:tags"], Some(&["tags"])),
        (&["entities", "entities:tags", "entities:notes"], Some(&["notes", "tags"])),
        (&["entities", "entities:other", "entities:*", "entities:Notes", "http:notes"], Some(&[])),
    ];
    for (grants, expected) in cases {
        let granted = decide_with(&manifest, grants, &[]);
        let names = granted.entities().map(|grant| grant.names.iter().map(String::as_str).collect::<Vec<_>>());
        assert_eq!(names.as_deref(), *expected, "{grants:?}");
    }
}

#[test]
fn own_credentials_are_declared_and_granted() {
    let declared = json!({});
    let undeclared = json!({ "http": { "allow": ["api.example.com"] } });
    let cases = [
        (&declared, "http:ownCredentials", true),
        (&declared, "http:api.example.com", false),
        (&undeclared, "http:ownCredentials", false),
    ];
    for (manifest, entry, expected) in cases {
        let granted = decide_with(manifest, &["http", entry], &[]);
        assert_eq!(granted.http().unwrap().own_credentials, expected, "{manifest} {entry}");
    }
}

#[test]
fn secrets_keep_the_approvals_that_are_declared() {
    let good = approval("API_KEY", "API_KEY", "api.example.com", Place::Body);
    let stale = [
        approval("API_KEY", "API_KEY", "old.example.com", Place::Body),
        approval("API_KEY", "API_KEY", "a.cdn.example.com", Place::Body),
        approval("API_KEY", "API_KEY", "api.example.com", Place::Header("authorization".to_owned())),
        approval("GONE", "GONE", "api.example.com", Place::Body),
        Approval { port: 8443, ..good.clone() },
    ];
    let all: Vec<_> = stale.into_iter().chain([good.clone()]).collect();
    let granted = decide_with(&json!({}), &["http"], &all);
    let [key, unused] = granted.secrets() else { panic!("two secrets are declared") };
    assert_eq!((key.name.as_str(), key.approvals.as_slice()), ("API_KEY", [good].as_slice()));
    assert_eq!((unused.name.as_str(), unused.approvals.as_slice()), ("UNUSED", [].as_slice()));
}

#[test]
fn an_approval_counts_until_its_end() {
    let cases = [
        (None, true),
        (Some(NOW + 1), true),
        (Some(NOW), false),
        (Some(NOW - 1), false),
        (Some(0), false),
        (Some(i64::MAX), true),
        (Some(i64::MIN), false),
    ];
    for (expires_at, counts) in cases {
        let approval = Approval { expires_at, ..approval("API_KEY", "API_KEY", "api.example.com", Place::Body) };
        let granted = decide_with(&json!({}), &["http"], &[approval]);
        assert_eq!(granted.secrets()[0].approvals.len(), usize::from(counts), "{expires_at:?}");
    }
}

#[test]
fn places_have_a_text_form() {
    for (text, place) in [("body", Some(Place::Body)), ("header:x-key", Some(Place::Header("x-key".to_owned())))] {
        assert_eq!(text.parse().ok(), place);
        assert_eq!(place.map(|place| place.to_string()).as_deref(), Some(text));
    }
    for text in ["", "Body", "header", "header:", "header:X-Key", "query:key", "body "] {
        assert_eq!(text.parse::<Place>(), Err(InvalidPlace), "{text}");
    }
}

#[test]
fn loops_are_declared_granted_and_limited() {
    let loops = |uses: &Value, grants: &[&str]| {
        let grant = decide_with(uses, grants, &[]).loops();
        grant.map(|grant| (grant.max, grant.min_period.as_secs()))
    };
    let declared = json!({ "uses": ["loops"] });
    type Case<'a> = (&'a Value, &'a [&'a str], Option<(u32, u64)>);
    let cases: &[Case<'_>] = &[
        (&declared, &[], None),
        (&declared, &["loops:max=5"], None),
        (&declared, &["loops"], Some((20, 60))),
        (&declared, &["loops", "loops:max=5", "loops:every=1h"], Some((5, 3600))),
        (&json!({}), &["loops", "loops:max=5"], None),
    ];
    for (uses, grants, expected) in cases {
        assert_eq!(loops(uses, grants), *expected, "{grants:?}");
    }
}
