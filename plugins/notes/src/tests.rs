//! The tools over documents in memory.

use remit_sdk::completions::Subject;
use remit_sdk::entities::{Entity, Expected, entity};
use remit_sdk::serde_json::{self, Value, json};
use remit_sdk::testing::Shown;
use remit_sdk::{Content, Contents, Context, Failure, testing};

use crate::notes::Capability as Notes;

fn empty() {
    testing::entities(&["notes", "tags"]);
}

fn call_as(run_id: &str, tool: &str, input: &Value) -> Result<Value, Failure> {
    let context = Context { run_id: run_id.to_owned(), ..testing::context() };
    let reply = testing::call_with::<Notes>(tool, input, &context)?;
    Ok(serde_json::from_str(&reply.structured.expect("answers are structured")).expect("they are JSON"))
}

fn call(tool: &str, input: &Value) -> Result<Value, Failure> {
    call_as("another", tool, input)
}

fn add(id: &str, title: &str, body: &str, tags: &[&str]) -> u64 {
    let added = call_as(id, "add_note", &json!({ "title": title, "body": body, "tags": tags })).expect("added");
    assert_eq!(added["id"], id);
    added["version"].as_u64().expect("a version")
}

fn titles(answer: &Value) -> Vec<&str> {
    answer["notes"].as_array().expect("a list").iter().filter_map(|note| note["title"].as_str()).collect()
}

/// The keys of the index, which no tool shows.
fn index() -> Vec<String> {
    let tags: Entity<Value> = entity("tags");
    tags.list("").map(|entry| entry.expect("it can be read").key).collect()
}

#[test]
fn tools_say_what_they_do() {
    let tools = testing::tools::<Notes>();
    let said: Vec<_> = tools
        .as_array()
        .expect("tools are a list")
        .iter()
        .map(|tool| {
            (tool["name"].as_str().unwrap_or_default(), tool["readOnly"] == true, tool["destructive"] != false)
        })
        .collect();
    assert_eq!(
        said,
        [
            ("add_note", false, false),
            ("get_note", true, true),
            ("update_note", false, true),
            ("delete_note", false, true),
            ("list_notes", true, true),
            ("search_notes", true, true),
            ("add_tag", false, false),
            ("remove_tag", false, true),
        ]
    );
}

#[test]
fn a_note_is_kept() {
    empty();
    let version = add("1", "Milk", "two litres", &["shopping", "a-b", "shopping"]);
    let note = call("get_note", &json!({ "id": "1" })).expect("it is there");
    assert_eq!(
        (&note["title"], &note["body"], &note["tags"], &note["version"]),
        (&json!("Milk"), &json!("two litres"), &json!(["a-b", "shopping"]), &json!(version))
    );
    assert_eq!(index(), ["a-b/1", "shopping/1"]);
    assert!(matches!(call("get_note", &json!({ "id": "2" })), Err(Failure::NotFound(_))));
}

#[test]
fn a_run_that_is_started_again_adds_once() {
    empty();
    let version = add("1", "Milk", "", &["shopping"]);
    assert_eq!(add("1", "Milk", "", &["shopping"]), version);
    assert_eq!(titles(&call("list_notes", &json!({})).expect("a list")), ["Milk"]);
}

#[test]
fn only_what_was_read_is_changed() {
    empty();
    let version = add("1", "Milk", "two litres", &["shopping"]);
    let updated =
        call("update_note", &json!({ "id": "1", "version": version, "title": "Oat milk" })).expect("updated");
    assert_ne!(updated["version"], version);
    assert_eq!(titles(&call("list_notes", &json!({ "tag": "shopping" })).expect("a list")), ["Oat milk"]);

    for (tool, input) in [
        ("update_note", json!({ "id": "1", "version": version, "body": "none" })),
        ("delete_note", json!({ "id": "1", "version": version })),
    ] {
        let refused = call(tool, &input);
        let now = format!("version {}", updated["version"]);
        assert!(matches!(&refused, Err(Failure::Failed(why)) if why.contains(&now)), "{refused:?}");
    }
    let note = call("get_note", &json!({ "id": "1" })).expect("it is there");
    assert_eq!((&note["body"], &note["version"]), (&json!("two litres"), &updated["version"]));

    let same = call("update_note", &json!({ "id": "1", "version": updated["version"], "body": "two litres" }));
    assert_eq!(same.expect("nothing to do")["version"], updated["version"]);
    assert!(matches!(call("update_note", &json!({ "id": "2", "version": 1 })), Err(Failure::NotFound(_))));
}

#[test]
fn what_is_deleted_is_gone_from_the_tags_too() {
    empty();
    let version = add("1", "Milk", "", &["shopping", "food"]);
    add("2", "Bread", "", &["food"]);
    assert_eq!(call("delete_note", &json!({ "id": "1", "version": version })), Ok(json!({ "deleted": true })));
    assert_eq!(call("delete_note", &json!({ "id": "1" })), Ok(json!({ "deleted": false })));
    assert_eq!(index(), ["food/2"]);
}

#[test]
fn tags_come_and_go() {
    empty();
    let version = add("1", "Milk", "", &[]);
    let tagged = call("add_tag", &json!({ "id": "1", "tag": "food" })).expect("tagged");
    assert_eq!(tagged["tags"], json!(["food"]));
    let again = call("add_tag", &json!({ "id": "1", "tag": "food" })).expect("tagged");
    assert_eq!(again["version"], tagged["version"], "nothing was changed");
    assert_ne!(tagged["version"], version);
    assert_eq!(index(), ["food/1"]);
    assert_eq!(call("remove_tag", &json!({ "id": "1", "tag": "food" })).expect("untagged")["tags"], json!([]));
    assert_eq!(index(), [""; 0]);

    for tag in ["", "a/b", "a b", "Food", "É", "\u{1}", &"x".repeat(41)] {
        let refused = call("add_tag", &json!({ "id": "1", "tag": tag }));
        assert!(matches!(refused, Err(Failure::InvalidInput(_))), "{tag}: {refused:?}");
    }
    for number in 0..20 {
        call("add_tag", &json!({ "id": "1", "tag": number.to_string() })).expect("tagged");
    }
    assert!(matches!(call("add_tag", &json!({ "id": "1", "tag": "more" })), Err(Failure::InvalidInput(_))));
    assert_eq!(index().len(), 20);
}

#[test]
fn a_tag_is_not_the_beginning_of_another() {
    empty();
    add("1", "Milk", "", &["food"]);
    add("2", "Foodie", "", &["foodie"]);
    assert_eq!(titles(&call("list_notes", &json!({ "tag": "food" })).expect("a list")), ["Milk"]);
}

#[test]
fn lists_have_pages() {
    empty();
    for number in 0..5 {
        add(&number.to_string(), &format!("Note {number}"), "", if number % 2 == 0 { &["even"] } else { &[] });
    }
    for (tag, expected) in [
        (None, vec!["Note 0", "Note 1", "Note 2", "Note 3", "Note 4"]),
        (Some("even"), vec!["Note 0", "Note 2", "Note 4"]),
    ] {
        let mut seen: Vec<String> = Vec::new();
        let mut input = json!({ "limit": 2 });
        if let Some(tag) = tag {
            input["tag"] = json!(tag);
        }
        loop {
            let page = call("list_notes", &input).expect("a page");
            assert!(titles(&page).len() <= 2);
            seen.extend(titles(&page).into_iter().map(str::to_owned));
            let Some(next) = page.get("next") else { break };
            input["cursor"] = next.clone();
        }
        assert_eq!(seen, expected);
    }
    let forged = call("list_notes", &json!({ "cursor": "3" }));
    assert!(matches!(forged, Err(Failure::InvalidInput(_))), "{forged:?}");
}

#[test]
fn a_search_finds_all_the_words() {
    empty();
    add("1", "Trip", "The MILK train to Ålesund leaves at six", &[]);
    add("2", "Shopping", "bread", &["milk", "train"]);
    add("3", "Milk", "by train", &[]);
    add("4", "Milk", "by bus", &[]);
    let found = call("search_notes", &json!({ "query": " train  milk " })).expect("found");
    assert_eq!(titles(&found), ["Milk", "Shopping", "Trip"]);
    assert_eq!((&found["total"], &found["searched"], &found["complete"]), (&json!(3), &json!(4), &json!(true)));

    let found = call("search_notes", &json!({ "query": "åLESUND", "limit": 1 })).expect("found");
    assert_eq!(found["notes"][0]["excerpt"], "The MILK train to Ålesund leaves at six");
    assert_eq!(titles(&call("search_notes", &json!({ "query": "%" })).expect("nothing")), [""; 0]);
    assert!(matches!(call("search_notes", &json!({ "query": " " })), Err(Failure::InvalidInput(_))));
}

#[test]
fn excerpts_are_around_what_was_found() {
    empty();
    add("1", "Long", &format!("{}needle{}", "é".repeat(100), "x".repeat(500)), &[]);
    let found = call("search_notes", &json!({ "query": "needle" })).expect("found");
    let expected = format!("…{}needle{}…", "é".repeat(40), "x".repeat(114));
    assert_eq!(found["notes"][0]["excerpt"], expected);
}

#[test]
fn a_search_is_bounded_and_says_so() {
    empty();
    let body = "x".repeat(20_000);
    for number in 0..250 {
        add(&format!("{number:03}"), "Large", &body, &[]);
    }
    let found = call("search_notes", &json!({ "query": "x", "limit": 2 })).expect("found");
    assert_eq!(found["complete"], false);
    assert_eq!(found["searched"], 209, "4 MiB of them");
    assert_eq!(found["notes"].as_array().map(Vec::len), Some(2));
}

#[test]
fn a_dry_run_keeps_nothing() {
    empty();
    let context = Context { dry_run: true, ..testing::context() };
    let input = json!({ "title": "Milk", "body": "", "tags": ["food"] });
    assert!(testing::call_with::<Notes>("add_note", &input, &context).is_ok());
    assert_eq!(titles(&call("list_notes", &json!({})).expect("a list")), [""; 0]);
    assert_eq!(index(), [""; 0]);
}

fn document(uri: &str) -> Result<String, Failure> {
    let mut documents = testing::read::<Notes>(uri)?;
    let document = documents.remove(0);
    assert_eq!((document.uri.as_str(), document.mime_type.as_deref()), (uri, Some("text/markdown")));
    let Contents::Text(text) = document.contents else { panic!("text") };
    Ok(text)
}

#[test]
fn notes_are_documents() {
    empty();
    add("1", "Milk", "two litres", &["shopping", "food"]);
    add("a b/ö", "Bread", "rye", &[]);
    assert_eq!(document("note:1"), Ok("# Milk\n\ntwo litres\n\nTags: food, shopping\n".to_owned()));
    assert_eq!(document("note:a%20b%2F%C3%B6"), Ok("# Bread\n\nrye\n".to_owned()));
    let all = "# Notes\n\n- [Milk](note:1)\n- [Bread](note:a%20b%2F%C3%B6)\n";
    assert_eq!(document("notes:all"), Ok(all.to_owned()));
    assert!(matches!(document("note:2"), Err(Failure::NotFound(_))));
}

#[test]
fn changes_are_told_to_those_who_listen() {
    empty();
    let told = || -> Vec<Shown> { testing::shown() };
    let of = |uri: &str| vec![Shown::Updated(uri.to_owned()), Shown::Updated("notes:all".to_owned())];
    let version = add("a b", "Milk", "", &[]);
    assert_eq!(told(), of("note:a%20b"));
    let same = json!({ "id": "a b", "version": version, "title": "Milk" });
    call("update_note", &same).expect("nothing to do");
    call("get_note", &json!({ "id": "a b" })).expect("it is there");
    assert_eq!(told(), []);
    call("add_tag", &json!({ "id": "a b", "tag": "food" })).expect("tagged");
    assert_eq!(told(), of("note:a%20b"));
    call("delete_note", &json!({ "id": "a b" })).expect("deleted");
    assert_eq!(told(), of("note:a%20b"));
    call("delete_note", &json!({ "id": "a b" })).expect("nothing to do");
    assert_eq!(told(), []);
}

#[test]
fn the_notes_of_a_tag_can_be_summed_up() {
    empty();
    add("1", "Milk", "two litres", &["food"]);
    add("2", "Train", "at six", &["travel"]);
    let prompt = testing::prompt::<Notes>("sum_up", &[("tag", "food")]).expect("a prompt");
    let Content::Text(text) = &prompt.messages[0].content else { panic!("text") };
    assert!(text.contains("# Milk\n\ntwo litres") && !text.contains("Train"), "{text}");
    for tag in ["foo", "a b"] {
        assert!(testing::prompt::<Notes>("sum_up", &[("tag", tag)]).is_err(), "{tag}");
    }
}

#[test]
fn ids_and_tags_are_proposed() {
    empty();
    add("10", "Milk", "", &["food", "to-do"]);
    add("11", "Train", "", &["travel"]);
    add("2", "Bread", "", &["food"]);
    let proposed = |subject, name: &str, value: &str| {
        testing::complete::<Notes>(subject, &[(name, value)]).expect("proposals").values
    };
    assert_eq!(proposed(Subject::Template("note:{id}".to_owned()), "id", "1"), ["10", "11"]);
    assert_eq!(proposed(Subject::Prompt("sum_up".to_owned()), "tag", "t"), ["to-do", "travel"]);
    assert_eq!(proposed(Subject::Prompt("sum_up".to_owned()), "tag", ""), ["food", "to-do", "travel"]);
}

#[test]
fn what_others_wrote_there_does_not_fit() {
    empty();
    let odd: Entity<u32> = entity("notes");
    odd.put("1", &7, Expected::Absent).expect("stored");
    assert!(matches!(call("get_note", &json!({ "id": "1" })), Err(Failure::Failed(_))));
}
