//! The compact surface as both eras meet it: four tools that find and call all others, and nothing more than the others
//! may.

use remit::policy::{Confirm, Restriction};
use serde_json::{Value, json};

use crate::support::client::Client;
use crate::support::door::{Door, serve};
use crate::support::engine::add_engine;
use crate::support::home::{Home, built, outcome, program};

const COMPACT: &str = "/mcp/compact";

/// A home with documents, and an engine.
fn keeper() -> Home {
    let home = Home::with_engine("");
    home.install(built("keeper"));
    home.call("test/keeper.put", &json!({ "entity": "notes", "key": "a", "value": "1" })).expect("stored");
    home
}

fn is_there(home: &Home, key: &str) -> bool {
    outcome(&home.call("test/keeper.get", &json!({ "entity": "notes", "key": key }))) != "nothing"
}

fn open(home: &Home) -> Door {
    Door::of(serve("127.0.0.1:0", home.path()).arg("--no-token"))
}

/// The result of one of the four, or the protocol's error.
fn call(door: &Door, tool: &str, arguments: &Value) -> Value {
    let params = json!({ "name": tool, "arguments": arguments });
    let message = door.ask_at(COMPACT, &[], "tools/call", &params).json();
    if message["error"].is_null() { message["result"].clone() } else { message["error"].clone() }
}

fn text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{result}"))
}

fn listed(door: &Door, path: &str) -> Vec<String> {
    let answer = door.ask_at(path, &[], "tools/list", &json!({})).json();
    let tools = answer["result"]["tools"].as_array().unwrap_or_else(|| panic!("{answer}"));
    tools.iter().map(|tool| tool["name"].as_str().expect("a name").to_owned()).collect()
}

#[test]
fn the_path_says_what_is_listed_and_the_settings_where_it_does_not() {
    let home = keeper();
    let four = ["search", "call_read_tool", "call_tool", "execute"];
    let door = open(&home);
    assert_eq!(listed(&door, COMPACT), four);
    let direct = listed(&door, "/mcp/direct");
    assert!(direct.len() > 10 && direct.contains(&"keeper__get".to_owned()), "{direct:?}");
    assert_eq!(listed(&door, "/mcp"), direct, "this door was opened with `--tools direct`");
    assert!(listed(&door, "/mcp/test/keeper").contains(&"get".to_owned()));
    drop(door);

    let shape = |settings: &str| {
        std::fs::write(home.path().join("remit.toml"), settings).expect("room");
        let mut client =
            Client::of(std::process::Command::new(program()).arg("serve").env("REMIT_HOME", home.path()));
        let tools = client.request("tools/list", &json!({})).expect("a list")["tools"].clone();
        let names =
            tools.as_array().expect("tools").iter().map(|tool| tool["name"].as_str().expect("a name").to_owned());
        names.collect::<Vec<_>>()
    };
    assert_eq!(shape(""), four, "what nobody chose is compact");
    assert_eq!(shape("[serve]\ntools = \"direct\"\n"), direct);
    assert_eq!(shape("[serve]\ntools = \"auto\"\ndirect-up-to = 1000\n"), direct);
    assert_eq!(shape("[serve]\ntools = \"auto\"\ndirect-up-to = 3\n"), four);
    let pinned = shape("[serve]\npins = [\"keeper__get\", \"keeper__nothing\"]\n");
    assert_eq!(pinned, ["search", "call_read_tool", "call_tool", "execute", "keeper__get"]);
}

#[test]
fn without_an_engine_there_are_three() {
    let door = Door::with("", &[built("echo")]);
    assert_eq!(listed(&door, COMPACT), ["search", "call_read_tool", "call_tool"]);
    let refused = call(&door, "execute", &json!({ "program": "return 1" }));
    assert!(text(&refused).starts_with("program/no-engine"), "{refused}");
}

#[test]
fn what_is_found_can_be_called() {
    let home = keeper();
    let door = open(&home);
    let found = call(&door, "search", &json!({ "query": "read a stored document" }));
    let results = found["structuredContent"]["results"].as_array().expect("results");
    let get = results.iter().find(|one| one["id"] == "tool:test/keeper.get").unwrap_or_else(|| panic!("{found}"));
    assert_eq!((&get["by"], &get["in_programs"]), (&json!("call_read_tool"), &json!("remit.keeper.get")));
    assert_eq!(text(&found), found["structuredContent"].to_string(), "as text, for clients that show only that");
    let first = &results[0]["inputSchema"];
    assert_eq!(first["type"], "object", "the best come with what they take: {found}");

    let input = json!({ "entity": "notes", "key": "a" });
    for id in ["tool:test/keeper.get", "test/keeper.get", "keeper__get"] {
        let read = call(&door, "call_read_tool", &json!({ "tool": id, "input": input }));
        assert_eq!((read["isError"].clone(), text(&read).contains('1')), (json!(false), true), "{id}: {read}");
    }
    let whole = call(&door, "search", &json!({ "entity": "tool:test/keeper.get" }));
    assert_eq!(whole["structuredContent"]["details"]["inputSchema"]["required"], json!(["entity", "key"]));
    let wrong = call(&door, "call_read_tool", &json!({ "tool": "test/keeper.get", "input": { "entity": 1 } }));
    assert!(text(&wrong).starts_with("call/invalid-input") && text(&wrong).contains("input schema"), "{wrong}");
    for unknown in ["test/keeper.nothing", "tool:", "", "search", "execute"] {
        let refused = call(&door, "call_tool", &json!({ "tool": unknown }));
        assert!(text(&refused).starts_with("call/unknown-tool"), "{unknown}: {refused}");
    }
    let nothing = call(&door, "search", &json!({ "entity": "tool:test/other.get" }));
    assert_eq!(nothing["isError"], true);
}

#[test]
fn what_is_called_to_read_changes_nothing() {
    let home = keeper();
    let door = open(&home);
    for (tool, input) in [
        ("put", json!({ "entity": "notes", "key": "b", "value": "2" })),
        ("delete", json!({ "entity": "notes", "key": "a" })),
        ("fill", json!({ "entity": "notes", "prefix": "b", "bytes": 1, "times": 1 })),
    ] {
        let refused =
            call(&door, "call_read_tool", &json!({ "tool": format!("test/keeper.{tool}"), "input": input }));
        assert!(text(&refused).starts_with("call/not-allowed"), "{tool}: {refused}");
    }
    for field in ["dry_run", "confirmation_token"] {
        let refused =
            call(&door, "call_read_tool", &json!({ "tool": "test/keeper.get", "input": {}, field: true }));
        assert_eq!(refused["code"], -32602, "{refused}");
    }
    assert!(is_there(&home, "a") && !is_there(&home, "b"));
    let refused = home.records().into_iter().filter(|record| record.outcome == "call/not-allowed").count();
    assert_eq!(refused, 3, "each has a record");
}

#[test]
fn a_change_is_tried_confirmed_and_made_through_the_four() {
    let home = keeper();
    let door = open(&home);
    let delete = json!({ "tool": "test/keeper.delete", "input": { "entity": "notes", "key": "a" } });
    let with = |field: &str, value: Value| {
        let mut arguments = delete.clone();
        arguments[field] = value;
        arguments
    };
    let tried = call(&door, "call_tool", &with("dry_run", json!(true)));
    assert_eq!(tried["_meta"]["remit/plan"]["changes"][0]["action"], "delete", "{tried}");
    assert!(is_there(&home, "a"));
    let asked = call(&door, "call_tool", &delete);
    assert!(text(&asked).starts_with("call/confirmation-required") && is_there(&home, "a"), "{asked}");
    let token = asked["_meta"]["remit/confirmationToken"].as_str().unwrap_or_else(|| panic!("{asked}")).to_owned();
    let other = json!({
        "tool": "test/keeper.delete", "input": { "entity": "notes", "key": "b" }, "confirmation_token": token,
    });
    assert!(text(&call(&door, "call_tool", &other)).starts_with("call/confirmation-invalid"));
    let done = call(&door, "call_tool", &with("confirmation_token", json!(token)));
    assert_eq!((done["isError"].clone(), is_there(&home, "a")), (json!(false), false), "{done}");
}

#[test]
fn a_program_is_stopped_by_a_plan_and_goes_on_by_its_token() {
    let home = keeper();
    let door = open(&home);
    let program = "
        const before = await remit.keeper.get({ entity: 'notes', key: 'a' });
        await remit.keeper.fill({ entity: 'notes', prefix: 'p', bytes: 1, times: 1 });
        await remit.keeper.delete({ entity: 'notes', key: 'a' });
        console.log('removed');
        return before";
    let asked = call(&door, "execute", &json!({ "program": program }));
    assert!(text(&asked).starts_with("call/confirmation-required") && is_there(&home, "a"), "{asked}");
    let token = asked["_meta"]["remit/confirmationToken"].as_str().unwrap_or_else(|| panic!("{asked}")).to_owned();
    let fills = |home: &Home| home.records().iter().filter(|record| record.tool == "fill").count();
    assert_eq!(fills(&home), 1);
    let done = call(&door, "execute", &json!({ "program": program, "confirmation_token": token }));
    assert_eq!((done["isError"].clone(), is_there(&home, "a")), (json!(false), false), "{done}");
    assert_eq!(done["structuredContent"]["log"], json!(["removed"]));
    assert_eq!(fills(&home), 1, "what was done before the plan is not done again");
}

#[test]
fn what_may_not_be_called_is_not_found_and_not_called() {
    let home = keeper();
    let door = open(&home);
    let name = "test/keeper".parse().expect("a name");
    let restrict = |role: Option<&str>| {
        let restriction =
            Restriction { tool: Some("get".to_owned()), role: role.map(str::to_owned), ..Restriction::default() };
        home.app.admin().restrict(&name, &restriction, true).expect("restricted");
    };
    let found = || {
        let found = call(&door, "search", &json!({ "query": "get", "limit": 20 }));
        text(&found).contains("tool:test/keeper.get\"")
    };
    let input = json!({ "tool": "test/keeper.get", "input": { "entity": "notes", "key": "a" } });
    let program = json!({ "program": "return await remit.keeper.get({ entity: 'notes', key: 'a' })" });
    let called = |tool: &str, arguments: &Value| call(&door, tool, arguments)["isError"] == json!(false);
    assert!(found() && called("call_read_tool", &input) && called("execute", &program));
    restrict(Some("admin"));
    assert!(!found() && !called("call_read_tool", &input) && !called("call_tool", &input));
    assert!(!called("execute", &program));
    restrict(None);
    assert!(found() && called("call_read_tool", &input) && called("execute", &program));
}

#[test]
fn an_old_client_has_the_same_four() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    add_engine(folder.path());
    let home = Home::open(folder);
    home.install(built("keeper"));
    home.call("test/keeper.put", &json!({ "entity": "notes", "key": "a", "value": "1" })).expect("stored");
    let never = Restriction { confirm: Some(Confirm::Never), ..Restriction::default() };
    home.app.admin().restrict(&"test/keeper".parse().expect("a name"), &never, true).expect("restricted");
    let mut client = Client::of(std::process::Command::new(program()).arg("serve").env("REMIT_HOME", home.path()));
    let mut call = |name: &str, arguments: &Value| {
        let params = json!({ "name": name, "arguments": arguments });
        client.request("tools/call", &params).unwrap_or_else(|error| error)
    };
    let found = call("search", &json!({ "query": "delete document" }));
    assert_eq!(found["structuredContent"]["results"][0]["id"], "tool:test/keeper.delete", "{found}");
    let delete = json!({ "tool": "tool:test/keeper.delete", "input": { "entity": "notes", "key": "a" } });
    assert_eq!(call("call_tool", &delete)["isError"], false);
    assert!(!is_there(&home, "a"));
    let sum = call("execute", &json!({ "program": "return [1, 2, 3].reduce((a, b) => a + b)" }));
    assert_eq!(sum["structuredContent"]["result"], 6, "{sum}");
}
