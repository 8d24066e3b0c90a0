//! What people ask in their own words is answered by the right one of a thousand tools: the operations of GitHub's
//! public API, as a capability for each of their tags would offer them.
//!
//! The questions are in `tests/data/retrieval.json`. A question whose answer is not among the first five is a miss;
//! questions are never changed to suit the ranking.

use std::collections::BTreeMap;
use std::sync::Arc;

use remit::manifest::Manifest;
use remit::policy::Identity;
use remit::registry::{Capability, CapabilityName, Digest, Entry, Snapshot, Withdrawn};
use remit::search::Search;
use serde_json::{Map, Value, json};

/// Of all questions, those that must be answered among the first five.
const RECALL: f64 = 0.90;

const METHODS: [&str; 5] = ["get", "post", "put", "patch", "delete"];

/// The description as a home in which every tag is a capability.
fn installed() -> Arc<Snapshot> {
    let file = std::env::var_os("REMIT_TEST_GITHUB_DESCRIPTION").expect(
        "`REMIT_TEST_GITHUB_DESCRIPTION` names the file of the API's description; `cargo xtask test` sets it",
    );
    let text = std::fs::read_to_string(&file).expect("the description can be read");
    let description: Value = serde_json::from_str(&text).expect("the description is JSON");
    let mut by_tag: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    let paths = description["paths"].as_object().expect("there are paths");
    for operation in paths.values().flat_map(|path| METHODS.iter().filter_map(|method| path.get(method))) {
        let id = operation["operationId"].as_str().expect("an operation has an id");
        let (tag, name) = id.split_once('/').expect("an id begins with its tag");
        by_tag.entry(tag.to_owned()).or_default().push(tool(&description, operation, name));
    }
    let entries =
        by_tag.into_iter().map(|(tag, tools)| (format!("github/{tag}").parse().unwrap(), entry(&tag, &tools)));
    Arc::new(Snapshot { generation: 1, entries: entries.collect(), ..Snapshot::default() })
}

fn tool(description: &Value, operation: &Value, name: &str) -> Value {
    let mut properties = Map::new();
    for parameter in operation["parameters"].as_array().into_iter().flatten() {
        let parameter = match parameter["$ref"].as_str() {
            Some(address) => description.pointer(&address[1..]).expect("a reference leads somewhere"),
            None => parameter,
        };
        properties.insert(parameter["name"].as_str().expect("a parameter has a name").to_owned(), json!({}));
    }
    let body = operation.pointer("/requestBody/content/application~1json/schema/properties");
    for property in body.and_then(Value::as_object).into_iter().flat_map(Map::keys) {
        properties.insert(property.clone(), json!({}));
    }
    json!({
        "name": name.replace('-', "_"), "title": operation["summary"], "expose": true,
        "description": operation["description"].as_str().unwrap_or("-"),
        "inputSchema": { "type": "object", "properties": properties, "additionalProperties": false },
    })
}

fn entry(tag: &str, tools: &[Value]) -> Arc<Entry> {
    let manifest = json!({
        "publisher": "github", "slug": tag, "version": "1.0.0", "title": tag, "description": tag, "domain": tag,
        "tools": tools,
    });
    let manifest: Manifest = serde_json::from_value(manifest).expect("a manifest");
    let name: CapabilityName = format!("github/{tag}").parse().unwrap();
    Arc::new(Entry {
        capability: Arc::new(Capability {
            manifest,
            name,
            digest: Digest::of(tag.as_bytes()),
            installed_at: 0,
            size: 0,
        }),
        grants: Vec::new(),
        approvals: Vec::new(),
        restrictions: Vec::new(),
        withdrawn: Withdrawn::default(),
        recall: None,
        origin: None,
        schemas: Arc::default(),
    })
}

#[test]
fn nine_of_ten_questions_are_answered_among_the_first_five() {
    let (snapshot, search, caller) = (installed(), Search::default(), Identity::operator("cli"));
    let asked: Value = serde_json::from_str(include_str!("../data/retrieval.json")).expect("questions");
    let asked = asked["questions"].as_array().expect("questions");
    assert!(asked.len() >= 150, "{} questions", asked.len());
    let mut misses = Vec::new();
    for one in asked {
        let question = one["ask"].as_str().expect("a question");
        let answers: Vec<String> = one["find"].as_array().expect("answers").iter().map(id).collect();
        for answer in &answers {
            assert!(search.look_up(&snapshot, &caller, answer).is_some(), "`{answer}` is no operation");
        }
        let found: Vec<String> =
            search.find(&snapshot, &caller, question, 5).into_iter().map(|found| found.id).collect();
        if !answers.iter().any(|answer| found.contains(answer)) {
            misses.push(format!("{question}\n   expected {answers:?}\n   found {found:?}"));
        }
    }
    let recall = 1.0 - ratio(misses.len(), asked.len());
    println!("recall@5 {recall:.3} of {} questions; missed:\n{}", asked.len(), misses.join("\n"));
    assert!(recall >= RECALL, "recall@5 is {recall:.3}, expected {RECALL}");
}

/// `issues/create-comment` as the id of its tool.
fn id(operation: &Value) -> String {
    let (tag, name) = operation.as_str().and_then(|id| id.split_once('/')).expect("an operation");
    format!("tool:github/{tag}.{}", name.replace('-', "_"))
}

#[expect(clippy::cast_precision_loss, reason = "numbers of questions")]
fn ratio(part: usize, whole: usize) -> f64 {
    part as f64 / whole as f64
}
