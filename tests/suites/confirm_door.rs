//! The word of a person over the wire, as an old client on stdio and a new one over HTTP get to know it: what is
//! listed, what a dry run says, and how a call goes on by its token.

use remit::policy::{Confirm, Restriction};
use serde_json::{Value, json};

use crate::support::client::Client;
use crate::support::door::{Door as HttpDoor, serve};
use crate::support::home::{Home, built, outcome};

/// One of the two eras of the protocol, on a `remit serve` of this home.
trait Door {
    fn ask(&mut self, method: &str, params: &Value) -> Value;
}

impl Door for Client {
    fn ask(&mut self, method: &str, params: &Value) -> Value {
        self.request(method, params).unwrap_or_else(|error| error)
    }
}

/// A client of 2026: every request stands for itself.
struct Modern(HttpDoor);

impl Modern {
    fn start(home: &Home) -> Self {
        Self(HttpDoor::of(serve("127.0.0.1:0", home.path()).arg("--no-token")))
    }
}

impl Door for Modern {
    fn ask(&mut self, method: &str, params: &Value) -> Value {
        let message = self.0.ask(&[], method, params).json();
        if message["error"].is_null() { message["result"].clone() } else { message["error"].clone() }
    }
}

fn call(door: &mut dyn Door, tool: &str, arguments: &Value) -> (String, Value) {
    let result = door.ask("tools/call", &json!({ "name": format!("keeper__{tool}"), "arguments": arguments }));
    let text = result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{result}")).to_owned();
    (text, result)
}

fn keeper() -> Home {
    let home = Home::new();
    home.install(built("keeper"));
    put(&home);
    home
}

fn put(home: &Home) {
    let arguments = json!({ "entity": "notes", "key": "a", "value": "1" });
    home.call("test/keeper.put", &arguments).expect("stored");
}

fn is_there(home: &Home) -> bool {
    outcome(&home.call("test/keeper.get", &json!({ "entity": "notes", "key": "a" }))) != "nothing"
}

fn goes_on_by_its_token(home: &Home, door: &mut dyn Door) {
    let (entity, key) = ("notes", "a");
    let (text, result) = call(door, "delete", &json!({ "entity": entity, "key": key }));
    assert!(is_there(home), "nobody agreed");
    assert_eq!(result["isError"], json!(true));
    assert_eq!(result["_meta"]["remit/code"], json!("call/confirmation-required"));
    assert_eq!(result["_meta"]["remit/plan"]["changes"][0]["key"], json!(key));
    assert!(text.starts_with("call/confirmation-required: ") && text.contains("- delete `a` in notes"), "{text}");
    let token = result["_meta"]["remit/confirmationToken"].as_str().expect("a token").to_owned();
    assert!(text.contains(&format!("`confirmation_token`: `{token}`")), "{text}");
    assert!(!text.contains("remit "), "no command for people: {text}");

    let (text, _) =
        call(door, "delete", &json!({ "entity": entity, "key": key, "confirmation_token": "made-up" }));
    assert!(text.starts_with("call/confirmation-invalid: "), "{text}");
    let (text, _) = call(door, "delete", &json!({ "entity": entity, "key": key, "confirmation_token": true }));
    assert!(text.starts_with("call/invalid-input: `/confirmation_token`"), "{text}");
    assert!(is_there(home));

    let confirmed = json!({ "confirmation_token": token, "key": key, "entity": entity });
    let (text, result) = call(door, "delete", &confirmed);
    assert_eq!(result["isError"], json!(false), "{text}");
    assert!(!is_there(home), "somebody agreed");
    put(home);
    let (text, _) = call(door, "delete", &confirmed);
    assert!(text.starts_with("call/confirmation-invalid: ") && is_there(home), "{text}");
}

fn a_dry_run_says_that_it_was_one(home: &Home, door: &mut dyn Door) {
    let arguments = json!({ "entity": "notes", "key": "a", "dry_run": true });
    let (text, result) = call(door, "delete", &arguments);
    assert_eq!(text, "Dry run: nothing was changed. It would:\n- delete `a` in notes");
    assert_eq!(result["isError"], json!(false));
    assert_eq!(result["_meta"]["remit/plan"]["changes"][0]["action"], json!("delete"));
    let (text, _) = call(door, "delete", &json!({ "entity": "notes", "key": "a", "dry_run": "yes" }));
    assert!(text.starts_with("call/invalid-input: `/dry_run`"), "{text}");
    assert!(is_there(home));
    // One that only reads has no such property.
    let (text, _) = call(door, "get", &arguments);
    assert!(text.starts_with("call/invalid-input: ") && text.contains("`dry_run`"), "{text}");
}

/// The properties of the host's in the listed schemas of three tools.
fn listed(door: &mut dyn Door) -> Vec<(String, bool, bool)> {
    let list = door.ask("tools/list", &json!({}));
    let tools = list["tools"].as_array().expect("tools").iter();
    let named = tools.filter(|tool| {
        ["keeper__count", "keeper__delete", "keeper__get"].contains(&tool["name"].as_str().unwrap_or_default())
    });
    named
        .map(|tool| {
            let has = |name: &str| tool["inputSchema"]["properties"].get(name).is_some();
            assert_eq!(tool["inputSchema"]["additionalProperties"], json!(false));
            (tool["name"].as_str().unwrap_or_default().to_owned(), has("dry_run"), has("confirmation_token"))
        })
        .collect()
}

fn lists_say_what_a_call_takes(home: &Home, door: &mut dyn Door) {
    let rows = |count_needs: bool, delete_needs: bool| {
        vec![
            ("keeper__count".to_owned(), true, count_needs),
            ("keeper__delete".to_owned(), true, delete_needs),
            ("keeper__get".to_owned(), false, false),
        ]
    };
    let name = "test/keeper".parse().expect("a name");
    let say = |confirm| {
        let restriction = Restriction { confirm, ..Restriction::default() };
        home.app.admin().restrict(&name, &restriction, true).expect("restricted");
    };
    assert_eq!(listed(door), rows(false, true));
    say(Some(Confirm::Writes));
    assert_eq!(listed(door), rows(true, true));
    say(Some(Confirm::Never));
    assert_eq!(listed(door), rows(false, false));
    say(None);
}

#[test]
fn an_old_client_goes_on_by_the_token() {
    let home = keeper();
    let mut client = Client::start(home.path());
    lists_say_what_a_call_takes(&home, &mut client);
    a_dry_run_says_that_it_was_one(&home, &mut client);
    goes_on_by_its_token(&home, &mut client);
}

#[test]
fn a_new_client_goes_on_by_the_token() {
    let home = keeper();
    let mut client = Modern::start(&home);
    lists_say_what_a_call_takes(&home, &mut client);
    a_dry_run_says_that_it_was_one(&home, &mut client);
    goes_on_by_its_token(&home, &mut client);
}

#[test]
fn a_token_of_one_door_counts_at_no_other() {
    let home = keeper();
    let (mut old, mut new) = (Client::start(home.path()), Modern::start(&home));
    let (_, result) = call(&mut old, "delete", &json!({ "entity": "notes", "key": "a" }));
    let token = result["_meta"]["remit/confirmationToken"].clone();
    let confirmed = json!({ "entity": "notes", "key": "a", "confirmation_token": token });
    let (text, _) = call(&mut new, "delete", &confirmed);
    assert!(text.starts_with("call/confirmation-invalid: ") && is_there(&home), "{text}");
    let (_, result) = call(&mut old, "delete", &confirmed);
    assert_eq!((result["isError"].clone(), is_there(&home)), (json!(false), false));
}
