//! Whether what people ask for finds the tool that does it, by words alone: about 1,200 tools made of a public API's
//! description, and queries written as people ask.

use std::collections::BTreeMap;
use std::sync::Arc;

use remit::manifest::Manifest;
use remit::policy::Identity;
use remit::registry::{Capability, CapabilityName, Digest, Entry, Snapshot};
use remit::search::Search;
use serde_json::{Map, Value, json};

const QUERIES: &str = include_str!("../data/retrieval.json");

/// How many of the queries must find their tool among the first five.
const RECALL: f64 = 0.90;

#[test]
fn most_queries_find_their_tool_among_the_first_five() {
    let snapshot = snapshot();
    let search = Search::default();
    let queries: Vec<Value> = serde_json::from_str(QUERIES).expect("JSON");
    assert!(queries.len() >= 150, "{} queries", queries.len());
    let caller = Identity::operator("test");
    let mut missed = Vec::new();
    for query in &queries {
        let text = query["query"].as_str().expect("text");
        let expected: Vec<String> =
            query["expected"].as_array().expect("ids").iter().filter_map(Value::as_str).map(id).collect();
        for id in &expected {
            assert!(search.look_up(&snapshot, &caller, id).is_some(), "`{id}` is no tool");
        }
        let hits = search.find(&snapshot, &caller, text, 20);
        let tools: Vec<&str> = hits.iter().filter(|hit| hit.tool().is_some()).map(|hit| hit.id.as_str()).collect();
        let place = tools.iter().position(|tool| expected.iter().any(|id| id == tool));
        if place.is_none_or(|place| place >= 5) {
            missed.push(format!(
                "{text:?}: {place:?}, {expected:?} is not among {:?}",
                &tools[..tools.len().min(5)]
            ));
        }
    }
    #[expect(clippy::cast_precision_loss, reason = "numbers of queries")]
    let recall = 1.0 - missed.len() as f64 / queries.len() as f64;
    assert!(recall >= RECALL, "recall@5 is {recall:.3}:\n{}", missed.join("\n"));
    // What is missed is said with `--no-capture`: it is where the next word should go.
    eprintln!("recall@5 is {recall:.3} of {} queries:\n{}", queries.len(), missed.join("\n"));
}

/// `issues/create-comment` as a tool's id.
fn id(operation: &str) -> String {
    let (tag, name) = operation.split_once('/').expect("a tag and a name");
    format!("tool:api/{tag}.{}", name.replace('-', "_"))
}

/// One capability for each tag, one tool for each operation.
fn snapshot() -> Snapshot {
    let file = std::env::var_os("REMIT_TEST_GITHUB_DESCRIPTION").expect(
        "`REMIT_TEST_GITHUB_DESCRIPTION` names the file of the API's description; `cargo xtask test` sets it",
    );
    let description = std::fs::read_to_string(file).expect("the description can be read");
    let description: Value = serde_json::from_str(&description).expect("the description is JSON");
    let mut tags: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for methods in description["paths"].as_object().expect("paths").values() {
        for operation in methods.as_object().expect("methods").values() {
            let Some((tag, name)) = operation["operationId"].as_str().and_then(|id| id.split_once('/')) else {
                continue;
            };
            tags.entry(tag.to_owned()).or_default().push(tool(&description, name, operation));
        }
    }
    let entries = tags.into_iter().map(|(tag, tools)| entry(&tag, tools)).collect();
    Snapshot { generation: 1, entries, ..Snapshot::default() }
}

fn tool(description: &Value, name: &str, operation: &Value) -> Value {
    let parameter = |parameter: &Value| {
        let referred =
            parameter["$ref"].as_str().and_then(|place| description.pointer(place.trim_start_matches('#')));
        referred.unwrap_or(parameter)["name"].as_str().map(str::to_owned)
    };
    let parameters = operation["parameters"].as_array().into_iter().flatten().filter_map(parameter);
    let body =
        operation.pointer("/requestBody/content/application~1json/schema/properties").and_then(Value::as_object);
    let fields = body.into_iter().flat_map(|fields| fields.keys().cloned());
    let properties: Map<String, Value> = parameters.chain(fields).map(|name| (name, json!({}))).collect();
    json!({
        "name": name.replace('-', "_"), "title": operation["summary"], "description": operation["description"],
        "expose": true,
        "inputSchema": { "type": "object", "properties": properties, "additionalProperties": false },
    })
}

fn entry(tag: &str, tools: Vec<Value>) -> (CapabilityName, Arc<Entry>) {
    let name = CapabilityName { publisher: "api".to_owned(), slug: tag.to_owned() };
    let manifest = json!({
        "publisher": "api", "slug": tag, "version": "1.0.0", "title": tag, "description": "Operations.", "tools": tools,
    });
    let manifest: Manifest = serde_json::from_value(manifest).expect("a manifest");
    let digest = Digest::of(tag.as_bytes());
    let capability = Capability { name: name.clone(), digest, manifest, installed_at: 0, size: 0 };
    let entry = Entry {
        capability: Arc::new(capability),
        grants: Vec::new(),
        approvals: Vec::new(),
        restrictions: Vec::new(),
        withdrawn: remit::registry::Withdrawn::default(),
        schemas: Arc::default(),
    };
    (name, Arc::new(entry))
}
