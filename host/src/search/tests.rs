//! Who finds what, and how the index is kept.

use serde_json::json;

use super::*;
use crate::manifest::NamespaceName;
use crate::policy::{Directory, Grant, Restriction};
use crate::registry::{Capability, Withdrawn};

fn entry(slug: &str, bytes: &str, change: impl FnOnce(&mut Value)) -> Arc<Entry> {
    let tool = |name: &str, description: &str| {
        json!({
            "name": name, "description": description, "expose": true, "readOnly": true,
            "inputSchema": { "type": "object", "properties": { "place": {} }, "additionalProperties": false },
        })
    };
    let mut manifest = json!({
        "publisher": "acme", "slug": slug, "version": "1.0.0", "title": slug, "description": "Things.",
        "tools": [tool("get_forecast", "Gives the weather."), tool("get_secrets", "Gives hidden treasure.")],
    });
    change(&mut manifest);
    let capability = Capability {
        name: CapabilityName { publisher: "acme".to_owned(), slug: slug.to_owned() },
        digest: Digest::of(bytes.as_bytes()),
        manifest: serde_json::from_value(manifest).unwrap(),
        installed_at: 1,
        size: 1,
    };
    Arc::new(Entry {
        capability: Arc::new(capability),
        grants: Vec::new(),
        approvals: Vec::new(),
        restrictions: Vec::new(),
        withdrawn: Withdrawn::default(),
        schemas: Arc::default(),
    })
}

fn snapshot(generation: u64, entries: &[&Arc<Entry>]) -> Snapshot {
    let entries = entries.iter().map(|entry| (entry.capability.name.clone(), Arc::clone(entry))).collect();
    Snapshot { generation, entries, directory: Arc::new(Directory::default()), ..Snapshot::default() }
}

fn operator() -> Identity {
    Identity::operator("test")
}

fn ids(search: &Search, snapshot: &Snapshot, caller: &Identity, query: &str) -> Vec<String> {
    search.find(snapshot, caller, query, 20).into_iter().map(|found| found.id).collect()
}

#[test]
fn what_a_caller_may_not_call_is_nowhere() {
    let search = Search::default();
    let guarded = entry("weather", "1", |manifest| manifest["tools"][1]["requiredRole"] = json!("admin"));
    let now = snapshot(1, &[&guarded]);
    assert_eq!(ids(&search, &now, &operator(), "treasure"), ["tool:acme/weather.get_secrets"]);
    let agent = Identity::stored("http");
    assert_eq!(ids(&search, &now, &agent, "treasure"), Vec::<String>::new());
    assert!(ids(&search, &now, &agent, "weather").contains(&"tool:acme/weather.get_forecast".to_owned()));
    assert!(search.look_up(&now, &agent, "tool:acme/weather.get_secrets").is_none());
    let (_, details) = search.look_up(&now, &agent, "capability:acme/weather").unwrap();
    assert!(!details.to_string().contains("secrets"), "{details}");
    let (_, details) = search.look_up(&now, &operator(), "capability:acme/weather").unwrap();
    assert!(details.to_string().contains("tool:acme/weather.get_secrets"), "{details}");
}

#[test]
fn what_is_hidden_unpublished_withdrawn_or_not_granted_is_not_found() {
    let search = Search::default();
    let plain = entry("weather", "1", |_| {});
    assert!(!ids(&search, &snapshot(1, &[&plain]), &operator(), "forecast").is_empty());
    let hidden = Arc::new(Entry {
        restrictions: vec![Restriction { hidden: true, ..Restriction::default() }],
        ..(*plain).clone()
    });
    assert_eq!(ids(&search, &snapshot(2, &[&hidden]), &operator(), "forecast"), Vec::<String>::new());
    let unpublished = entry("weather", "2", |manifest| {
        for tool in manifest["tools"].as_array_mut().unwrap() {
            tool["expose"] = json!(false);
        }
    });
    assert_eq!(ids(&search, &snapshot(3, &[&unpublished]), &operator(), "forecast"), Vec::<String>::new());
    let asks = entry("weather", "3", |manifest| {
        manifest["uses"] = json!(["http"]);
        manifest["http"] = json!({ "allow": ["api.example.com"] });
    });
    assert_eq!(ids(&search, &snapshot(4, &[&asks]), &operator(), "forecast"), Vec::<String>::new());
    let granted =
        Arc::new(Entry { grants: vec![Grant { namespace: NamespaceName::Http, entry: None }], ..(*asks).clone() });
    assert!(!ids(&search, &snapshot(5, &[&granted]), &operator(), "forecast").is_empty());
}

#[test]
fn the_index_follows_what_is_installed_and_keeps_the_rest() {
    let search = Search::default();
    let (weather, notes) = (entry("weather", "1", |_| {}), entry("notes", "1", |_| {}));
    let query = |generation, entries: &[&Arc<Entry>]| {
        ids(&search, &snapshot(generation, entries), &operator(), "forecast")
    };
    assert_eq!(query(1, &[&weather]).len(), 1);
    assert_eq!(query(2, &[&weather, &notes]).len(), 2);
    let number =
        |name: &str| search.state.read().unwrap().parts[&name.parse::<CapabilityName>().unwrap()].numbers.start;
    let before = number("acme/weather");
    assert_eq!(query(3, &[&weather]).len(), 1);
    let newer = entry("notes", "2", |manifest| manifest["tools"][0]["name"] = json!("get_outlook"));
    assert_eq!(query(4, &[&weather, &newer]), ["tool:acme/weather.get_forecast"]);
    assert_eq!(number("acme/weather"), before, "it was not indexed again");
    for generation in 5..3_000 {
        let other = entry("notes", &generation.to_string(), |_| {});
        assert_eq!(query(generation, &[&weather, &other]).len(), 2);
    }
    let state = search.state.read().unwrap();
    assert!(state.things.len() < 2_000, "what is gone takes no room for ever: {}", state.things.len());
}

#[test]
fn without_words_there_is_an_overview() {
    let search = Search::default();
    let weather = entry("weather", "1", |manifest| manifest["domain"] = json!("outdoors"));
    let hiking = entry("hiking", "1", |manifest| manifest["domain"] = json!("outdoors"));
    let now = snapshot(1, &[&weather, &hiking]);
    let expected = ["domain:outdoors", "capability:acme/hiking", "capability:acme/weather"];
    for query in ["", "  ", "?!"] {
        assert_eq!(ids(&search, &now, &operator(), query), expected);
    }
    let (found, details) = search.look_up(&now, &operator(), "domain:outdoors").unwrap();
    assert_eq!((found.name.as_str(), details["members"].as_array().unwrap().len()), ("outdoors", 2));
}
