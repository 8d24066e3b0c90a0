//! Documents, prompts, questions and news of a capability, as clients of both eras meet them on standard input and
//! output: the built program with the conformance fixture.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use remit_guests::Guest;
use serde_json::{Value, json};

use crate::loops_processes::wait_until;
use crate::support::home::{Home, built, outcome, program};

/// A test that waits longer than this is stuck.
const PATIENCE: Duration = Duration::from_secs(60);

const NAME: &str = "test/conformance";

fn home() -> Home {
    let home = Home::new();
    home.install(built("conformance"));
    home
}

/// Every tool for itself.
const DIRECT: &[&str] = &["--tools", "direct"];

/// A `remit serve` and what it said.
struct Server {
    child: Child,
    input: ChildStdin,
    lines: mpsc::Receiver<Value>,
    last_id: u64,
    /// What came beside answers.
    heard: Vec<Value>,
    /// How a legacy client answers what it is asked.
    answer: Value,
}

impl Server {
    fn start(home: &Path, arguments: &[&str]) -> Self {
        let mut child = Command::new(program())
            .arg("serve")
            .args(arguments)
            .env("REMIT_HOME", home)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("remit serve starts");
        let input = child.stdin.take().expect("a pipe");
        let output = BufReader::new(child.stdout.take().expect("a pipe"));
        let (sender, lines) = mpsc::channel();
        std::thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                let _ = sender.send(serde_json::from_str(&line).expect("JSON"));
            }
        });
        Self { child, input, lines, last_id: 0, heard: Vec::new(), answer: Value::Null }
    }

    fn legacy(home: &Path, arguments: &[&str], capabilities: &Value) -> Self {
        let mut server = Self::start(home, arguments);
        let about = json!({ "name": "test", "version": "1" });
        let greeting =
            json!({ "protocolVersion": "2025-11-25", "capabilities": capabilities, "clientInfo": about });
        server.ask("initialize", &greeting);
        server.write(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        server
    }

    fn write(&mut self, message: &Value) {
        writeln!(self.input, "{message}").expect("the server reads");
        self.input.flush().expect("the server reads");
    }

    /// Sends a request and gives the answer to it; answers what the server asks meanwhile.
    fn ask(&mut self, method: &str, params: &Value) -> Value {
        self.last_id += 1;
        let id = self.last_id;
        self.write(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        loop {
            let message = self.lines.recv_timeout(PATIENCE).expect("an answer");
            if message["method"].is_null() && message["id"] == id {
                return message;
            }
            if message["method"].is_string() && !message["id"].is_null() {
                let answer = json!({ "jsonrpc": "2.0", "id": message["id"], "result": self.answer });
                self.write(&answer);
            }
            self.heard.push(message);
        }
    }

    fn call(&mut self, tool: &str, more: &Value) -> Value {
        let mut params = json!({ "name": tool, "arguments": {} });
        for (key, value) in more.as_object().expect("an object") {
            params[key] = value.clone();
        }
        self.ask("tools/call", &params)
    }

    fn heard(&self, method: &str) -> Vec<&Value> {
        self.heard.iter().filter(|message| message["method"] == method).map(|message| &message["params"]).collect()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn meta(capabilities: &Value) -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": capabilities,
    })
}

fn forms() -> Value {
    json!({ "elicitation": { "form": {} } })
}

fn text(answer: &Value) -> &str {
    answer["result"]["content"][0]["text"].as_str().unwrap_or_default()
}

#[test]
fn documents_have_a_prefix_beside_others_and_their_own_address_alone() {
    let home = home();
    let cases: [(&[&str], &str, &str); 2] =
        [(DIRECT, "remit://test/conformance/", "conformance__"), (&["--only", NAME], "", "")];
    for (arguments, prefix, name) in cases {
        let mut server = Server::legacy(home.path(), arguments, &json!({}));
        let address = format!("{prefix}test://static-text");
        let listed = server.ask("resources/list", &json!({}))["result"]["resources"].clone();
        assert!(listed.as_array().expect("a list").iter().any(|one| one["uri"] == json!(address)), "{listed}");
        let read = server.ask("resources/read", &json!({ "uri": address }));
        let contents = &read["result"]["contents"][0];
        assert_eq!(contents["uri"], json!(address), "{read}");
        assert_eq!(contents["text"], "This is the content of the static text resource.");
        for unknown in ["test://none", "test://template//data", ""] {
            let uri = format!("{prefix}{unknown}");
            let refused = server.ask("resources/read", &json!({ "uri": uri }));
            assert_eq!(
                (&refused["error"]["code"], &refused["error"]["data"]["uri"]),
                (&json!(-32002), &json!(uri))
            );
        }
        let params = json!({ "name": format!("{name}test_simple_prompt") });
        let prompt = server.ask("prompts/get", &params)["result"].clone();
        assert_eq!(prompt["messages"][0]["content"]["text"], "This is a simple prompt for testing.", "{prompt}");
        assert!(text(&server.call(&format!("{name}test_simple_text"), &json!({}))).starts_with("This is"));
    }
}

#[test]
fn a_modern_client_answers_by_asking_again_and_only_for_its_own_request() {
    let home = home();
    let mut server = Server::start(home.path(), &["--only", NAME]);
    let (tool, meta) = ("test_input_required_result_elicitation", meta(&forms()));
    let asked = server.call(tool, &json!({ "_meta": meta }))["result"].clone();
    assert_eq!(asked["resultType"], "input_required", "{asked}");
    let question = &asked["inputRequests"]["user_name"];
    assert_eq!(question["params"]["message"], "Conformance: What is your name?");
    let state = asked["requestState"].as_str().expect("a state").to_owned();
    let responses = json!({ "user_name": { "action": "accept", "content": { "name": "Ada" } } });
    let again = |state: &str, responses: &Value| json!({ "_meta": meta, "requestState": state, "inputResponses": responses });

    let answered = server.call(tool, &again(&state, &responses));
    assert_eq!(text(&answered), "Hello, Ada!", "{answered}");
    let other = server.call("test_input_required_result_request_state", &again(&state, &responses));
    assert_eq!(other["error"]["code"], -32602, "a state of another tool: {other}");
    let mut tampered = state.clone().into_bytes();
    tampered[20] = if tampered[20] == b'A' { b'B' } else { b'A' };
    let tampered = String::from_utf8(tampered).expect("text");
    for bad in [tampered.as_str(), "", "made-up", &state[..40]] {
        let refused = server.call(tool, &again(bad, &responses));
        assert_eq!(refused["error"]["code"], -32602, "{refused}");
    }
    for wrong in [
        json!({}),
        json!({ "other": responses["user_name"] }),
        json!({ "user_name": { "action": "accept" } }),
        json!({ "user_name": { "action": "accept", "content": { "name": 7 } } }),
        json!({ "user_name": { "roots": [] } }),
    ] {
        let asked = server.call(tool, &again(&state, &wrong))["result"].clone();
        assert_eq!(asked["resultType"], "input_required", "{wrong}: {asked}");
    }
    let declined = server.call(tool, &again(&state, &json!({ "user_name": { "action": "decline" } })));
    assert_eq!(text(&declined), "Hello, whoever you are!");
    let cancelled = server.call(tool, &again(&state, &json!({ "user_name": { "action": "cancel" } })));
    assert_eq!(text(&cancelled), "Never mind.");

    let lacking = server.call("test_missing_capability", &json!({ "_meta": meta }));
    assert_eq!(lacking["error"]["code"], -32021, "{lacking}");
    assert_eq!(lacking["error"]["data"]["requiredCapabilities"], json!({ "sampling": {} }));
}

#[test]
fn a_legacy_client_is_asked_on_its_session_if_it_said_that_it_can_be() {
    let home = home();
    let tool = "conformance__test_input_required_result_elicitation";
    for (answer, expected) in [
        (json!({ "action": "accept", "content": { "name": "Ada" } }), "Hello, Ada!"),
        (json!({ "action": "decline" }), "Hello, whoever you are!"),
        (json!({ "action": "cancel" }), "Never mind."),
    ] {
        let mut server = Server::legacy(home.path(), DIRECT, &json!({ "elicitation": {} }));
        server.answer = answer;
        let answered = server.call(tool, &json!({}));
        assert_eq!(text(&answered), expected, "{answered}");
        let asked = server.heard("elicitation/create");
        assert_eq!((asked.len(), &asked[0]["message"]), (1, &json!("Conformance: What is your name?")));
    }
    let mut server = Server::legacy(home.path(), DIRECT, &json!({}));
    let refused = server.call(tool, &json!({}));
    assert_eq!(refused["result"]["isError"], json!(true));
    assert!(text(&refused).starts_with("call/client-cannot"), "{refused}");
    assert!(server.heard("elicitation/create").is_empty());
}

fn keeper() -> Home {
    let home = Home::new();
    home.install(built("keeper"));
    home
}

fn put(home: &Home) {
    home.call("test/keeper.put", &json!({ "entity": "notes", "key": "a", "value": "1" })).expect("stored");
}

fn is_there(home: &Home) -> bool {
    outcome(&home.call("test/keeper.get", &json!({ "entity": "notes", "key": "a" }))) != "nothing"
}

const DELETE: &str = "keeper__delete";

fn deletion() -> Value {
    json!({ "entity": "notes", "key": "a" })
}

#[test]
fn a_person_agrees_to_what_destroys_by_a_form_that_a_modern_client_sends_again() {
    let home = keeper();
    let mut server = Server::start(home.path(), DIRECT);
    let meta = meta(&forms());
    put(&home);
    let mut ask = || server.call(DELETE, &json!({ "arguments": deletion(), "_meta": meta }))["result"].clone();
    let asked = ask();
    assert_eq!(asked["resultType"], "input_required", "{asked}");
    let message = asked["inputRequests"]["confirmation"]["params"]["message"].as_str().expect("a message");
    assert!(message.contains("It would:\n- delete `a` in notes"), "{message}");
    assert!(!asked.to_string().contains("confirmation_token"), "the token stays sealed: {asked}");
    let states: Vec<Value> = (0..4).map(|_| ask()["requestState"].clone()).collect();
    let mut answer = |state: &Value, answer: &Value, key: &str| {
        let arguments = json!({ "entity": "notes", "key": key });
        let responses = json!({ "confirmation": answer });
        let again =
            json!({ "arguments": arguments, "_meta": meta, "requestState": state, "inputResponses": responses });
        server.call(DELETE, &again)
    };
    let (yes, no) = (
        json!({ "action": "accept", "content": { "agree": true } }),
        json!({ "action": "accept", "content": { "agree": false } }),
    );
    for refusal in [&json!({ "action": "decline" }), &json!({ "action": "cancel" }), &no] {
        let refused = answer(&states[0], refusal, "a");
        assert!(text(&refused).starts_with("call/confirmation-required: the person"), "{refused}");
        assert_eq!(refused["result"]["isError"], json!(true));
    }
    for unsaid in [json!({ "action": "accept" }), json!({ "action": "accept", "content": { "agree": "true" } })] {
        assert_eq!(answer(&states[1], &unsaid, "a")["result"]["resultType"], "input_required", "{unsaid}");
    }
    assert_eq!(answer(&states[2], &yes, "b")["error"]["code"], -32602, "a yes to another call");
    assert!(is_there(&home), "nobody agreed");

    let done = answer(&states[3], &yes, "a");
    assert_eq!(done["result"]["isError"], json!(false), "{done}");
    assert!(!is_there(&home));
    put(&home);
    let again = answer(&states[3], &yes, "a");
    assert!(
        text(&again).starts_with("call/confirmation-invalid: ") && is_there(&home),
        "one yes, one call: {again}"
    );
}

#[test]
fn a_person_agrees_to_what_destroys_by_a_form_on_the_session_of_a_legacy_client() {
    let home = keeper();
    let delete = json!({ "arguments": deletion() });
    for (said, is_done) in [
        (json!({ "action": "decline" }), false),
        (json!({ "action": "cancel" }), false),
        (json!({ "action": "accept", "content": { "agree": false } }), false),
        (json!({ "action": "accept", "content": { "agree": true } }), true),
    ] {
        put(&home);
        let mut server = Server::legacy(home.path(), DIRECT, &json!({ "elicitation": {} }));
        server.answer = said.clone();
        let answered = server.call(DELETE, &delete);
        assert_eq!(answered["result"]["isError"], json!(!is_done), "{said}: {answered}");
        assert_eq!(is_there(&home), !is_done, "{said}");
        let asked = server.heard("elicitation/create");
        assert!(asked.len() == 1 && asked[0]["message"].to_string().contains("delete `a` in notes"), "{asked:?}");
    }
    put(&home);
    let mut server = Server::legacy(home.path(), DIRECT, &json!({}));
    let refused = server.call(DELETE, &delete);
    assert!(text(&refused).contains("`confirmation_token`") && is_there(&home), "{refused}");
    assert!(server.heard("elicitation/create").is_empty());
}

#[test]
fn a_call_that_is_called_off_stops_its_guest_and_is_not_answered() {
    let home = Home::new();
    home.install(Guest::loops().capability("loops"));
    let mut server = Server::legacy(home.path(), DIRECT, &json!({}));
    let params = json!({ "name": "loops__run", "arguments": {} });
    server.write(&json!({ "jsonrpc": "2.0", "id": 99, "method": "tools/call", "params": params }));
    server.write(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 99 } }));
    let outcome = || home.records().first().map(|record| record.outcome.clone()).unwrap_or_default();
    wait_until(|| outcome() == "call/cancelled", outcome);
    assert_eq!(server.ask("ping", &json!({}))["result"], json!({}));
    assert!(server.heard.iter().all(|message| message["id"] != json!(99)), "{:?}", server.heard);
}

#[test]
fn news_is_told_to_those_who_asked() {
    let home = home();
    let mut server = Server::start(home.path(), &["--only", NAME]);
    let plain = meta(&json!({}));
    for tool in ["test_tool_with_progress", "test_tool_with_logging"] {
        assert!(text(&server.call(tool, &json!({ "_meta": plain }))).starts_with("Three"));
    }
    assert!(server.heard.is_empty(), "{:?}", server.heard);
    let mut wants = plain.clone();
    wants["progressToken"] = json!("p");
    server.call("test_tool_with_progress", &json!({ "_meta": wants }));
    let progress: Vec<&Value> = server.heard("notifications/progress");
    assert_eq!(progress.last().map(|last| &last["progressToken"]), Some(&json!("p")));
    assert!(progress.windows(2).all(|two| two[0]["progress"].as_f64() < two[1]["progress"].as_f64()));
    for (level, lines) in [("warning", 0), ("info", 3)] {
        let mut wants = plain.clone();
        wants["io.modelcontextprotocol/logLevel"] = json!(level);
        server.call("test_tool_with_logging", &json!({ "_meta": wants }));
        assert_eq!(server.heard("notifications/message").len(), lines, "{level}");
    }

    let mut server = Server::legacy(home.path(), &["--only", NAME], &json!({}));
    server.call("test_tool_with_logging", &json!({}));
    assert!(server.heard("notifications/message").is_empty());
    assert_eq!(server.ask("logging/setLevel", &json!({ "level": "debug" }))["result"], json!({}));
    server.call("test_tool_with_logging", &json!({}));
    let lines = server.heard("notifications/message");
    assert_eq!((lines.len(), &lines[0]["data"]), (3, &json!("Tool execution started")));
    assert_eq!((&lines[0]["level"], &lines[0]["logger"]), (&json!("info"), &json!(NAME)));
}
