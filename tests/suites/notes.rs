//! `plugins/notes` by the path of a call, on documents that are on disk.

use remit::call::{Failure, Reply};
use remit::manifest::NamespaceName;
use remit::policy::Grant;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::support::home::{Home, built, outcome, remit, request};

fn call(home: &Home, tool: &str, arguments: &Value) -> Result<Reply, Failure> {
    home.call(&format!("remit/notes.{tool}"), arguments)
}

fn answer(home: &Home, tool: &str, arguments: &Value) -> Value {
    let reply = call(home, tool, arguments).unwrap_or_else(|failure| panic!("{tool} {arguments}: {failure:?}"));
    reply.structured.expect("answers are structured")
}

fn titles(list: &Value) -> Vec<&str> {
    list["notes"].as_array().expect("a list").iter().filter_map(|note| note["title"].as_str()).collect()
}

#[test]
fn notes_are_kept_found_changed_and_removed() {
    let home = Home::new();
    home.install(built("notes"));
    let milk =
        answer(&home, "add_note", &json!({ "title": "Milk", "body": "two litres", "tags": ["food", "urgent"] }));
    let bread = answer(&home, "add_note", &json!({ "title": "Bread", "body": "rye", "tags": ["food"] }));
    assert_ne!(milk["id"], bread["id"]);

    assert_eq!(titles(&answer(&home, "list_notes", &json!({ "tag": "food" }))), ["Milk", "Bread"]);
    let page = answer(&home, "list_notes", &json!({ "tag": "food", "limit": 1 }));
    assert_eq!(titles(&page), ["Milk"]);
    let rest = answer(&home, "list_notes", &json!({ "tag": "food", "cursor": page["next"] }));
    assert_eq!(titles(&rest), ["Bread"]);
    assert_eq!(rest.get("next"), None);
    // The cursor of one list is none of another.
    let elsewhere = call(&home, "list_notes", &json!({ "cursor": page["next"] }));
    assert_eq!(outcome(&elsewhere), "call/invalid-input");

    let found = answer(&home, "search_notes", &json!({ "query": "LITRES" }));
    assert_eq!((titles(&found), &found["complete"]), (vec!["Milk"], &json!(true)));

    let change = json!({ "id": milk["id"], "version": milk["version"], "title": "Oat milk" });
    let changed = answer(&home, "update_note", &change);
    let again = call(&home, "update_note", &change);
    assert_eq!(outcome(&again), "capability/failed");
    let note = answer(&home, "get_note", &json!({ "id": milk["id"] }));
    assert_eq!((&note["title"], &note["version"]), (&json!("Oat milk"), &changed["version"]));

    answer(&home, "remove_tag", &json!({ "id": milk["id"], "tag": "food" }));
    answer(&home, "add_tag", &json!({ "id": milk["id"], "tag": "drinks" }));
    assert_eq!(titles(&answer(&home, "list_notes", &json!({ "tag": "food" }))), ["Bread"]);
    assert_eq!(titles(&answer(&home, "list_notes", &json!({ "tag": "drinks" }))), ["Oat milk"]);

    assert_eq!(answer(&home, "delete_note", &json!({ "id": milk["id"] })), json!({ "deleted": true }));
    assert_eq!(outcome(&call(&home, "get_note", &json!({ "id": milk["id"] }))), "capability/not-found");
    assert_eq!(titles(&answer(&home, "list_notes", &json!({ "tag": "drinks" }))), [""; 0]);
}

#[test]
fn a_dry_run_plans_the_note_and_its_tags() {
    let home = Home::new();
    home.install(built("notes"));
    let mut request = request("remit/notes.add_note", &json!({ "title": "Milk", "body": "", "tags": ["food"] }));
    request.dry_run = true;
    let host = home.host();
    let reply = home.threads.block_on(host.call(request, CancellationToken::new())).expect("a plan");
    let plan: Vec<&str> = reply.plan.changes.iter().map(|change| change.entity.as_str()).collect();
    assert_eq!(plan, ["notes", "tags"]);
    assert_eq!(titles(&answer(&home, "list_notes", &json!({}))), [""; 0]);
}

#[test]
fn without_its_index_nothing_is_kept() {
    let home = Home::new();
    let grant = Grant { namespace: NamespaceName::Entities, entry: Some("notes".to_owned()) };
    home.install_with(built("notes"), &[grant]);
    let refused = call(&home, "add_note", &json!({ "title": "Milk", "body": "", "tags": ["food"] }));
    assert_eq!(outcome(&refused), "capability/failed");
    assert_eq!(titles(&answer(&home, "list_notes", &json!({}))), [""; 0]);
}

#[test]
fn many_notes_are_searched_within_the_budget() {
    let home = Home::new();
    home.install(built("notes"));
    let scratch = tempfile::tempdir().expect("a scratch folder");
    let file = scratch.path().join("notes.jsonl");
    let body = "lorem ipsum dolor ".repeat(50);
    let lines: String = (0..5_001)
        .map(|number| {
            let value = json!({ "title": format!("Note {number}"), "body": body, "tags": [] });
            format!("{}\n", json!({ "entity": "notes", "key": format!("{number:05}"), "value": value }))
        })
        .collect();
    std::fs::write(&file, lines).expect("room");
    let imported = remit(home.path(), &["entities", "import", "remit/notes", &file.display().to_string()], "");
    assert_eq!(imported.exit, Some(0), "{imported:?}");

    let found = answer(&home, "search_notes", &json!({ "query": "dolor note", "limit": 1 }));
    assert_eq!(found["complete"], false);
    let searched = found["searched"].as_u64().expect("a number");
    assert!((4_000..=5_000).contains(&searched), "{searched}");
    assert_eq!(found["total"], searched);
}
