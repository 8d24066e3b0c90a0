//! The word of a person over the wire, as an old client on stdio and a new one over HTTP get to know it: what is
//! listed, what a dry run says, and how a call goes on by its token.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

use remit::policy::{Confirm, Restriction};
use serde_json::{Value, json};

use crate::support::client::Client;
use crate::support::home::{Home, built, outcome, program};

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
struct Modern {
    child: Child,
    address: String,
}

impl Modern {
    fn start(home: &Home) -> Self {
        let mut child = Command::new(program())
            .args(["serve", "--http", "127.0.0.1:0", "--no-token"])
            .env("REMIT_HOME", home.path())
            .stderr(Stdio::piped())
            .spawn()
            .expect("remit serve starts");
        let mut errors = BufReader::new(child.stderr.take().expect("a pipe"));
        let address = loop {
            let mut line = String::new();
            assert!(errors.read_line(&mut line).expect("a line") > 0, "the door did not open");
            let rest = line.trim().strip_prefix("listening on http://");
            if let Some(address) = rest.and_then(|rest| rest.strip_suffix("/mcp")) {
                break address.to_owned();
            }
        };
        std::thread::spawn(move || std::io::copy(&mut errors, &mut std::io::sink()));
        Self { child, address }
    }
}

impl Door for Modern {
    fn ask(&mut self, method: &str, params: &Value) -> Value {
        let mut params = params.clone();
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        let name = params["name"].as_str().map_or(String::new(), |name| format!("Mcp-Name: {name}\r\n"));
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params }).to_string();
        let request = format!(
            "POST /mcp HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\n\
             Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2026-07-28\r\n\
             Mcp-Method: {method}\r\n{name}Content-Length: {}\r\n\r\n{body}",
            body.len()
        );
        let mut stream = TcpStream::connect(&self.address).expect("the door is open");
        stream.write_all(request.as_bytes()).expect("it reads");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("it answers");
        // One JSON object, or one event that holds it.
        let start = answer.find("{\"jsonrpc\"").unwrap_or_else(|| panic!("{answer}"));
        let message = serde_json::Deserializer::from_str(&answer[start..]).into_iter::<Value>().next();
        let message = message.expect("a message").expect("JSON");
        if message["error"].is_null() { message["result"].clone() } else { message["error"].clone() }
    }
}

impl Drop for Modern {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
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
