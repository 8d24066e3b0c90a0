//! `remit serve` as a client meets it on standard input and output: the built program, an empty home.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// A test that waits longer than this is stuck.
const PATIENCE: Duration = Duration::from_secs(20);

/// Less than the time that calls in progress get when the input ends.
const PROMPT: Duration = Duration::from_secs(4);

struct Client {
    child: Child,
    input: Option<ChildStdin>,
    lines: mpsc::Receiver<String>,
    _home: tempfile::TempDir,
}

impl Client {
    fn start() -> Self {
        let home = tempfile::tempdir().unwrap();
        let mut child = Command::new(env!("CARGO_BIN_EXE_remit"))
            .args(["serve", "--tools", "direct"])
            .env("REMIT_HOME", home.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let input = child.stdin.take();
        let output = BufReader::new(child.stdout.take().unwrap());
        let (sender, lines) = mpsc::channel();
        std::thread::spawn(move || {
            for line in output.lines() {
                let _ = sender.send(line.unwrap());
            }
        });
        Self { child, input, lines, _home: home }
    }

    fn write(&mut self, line: &str) {
        let input = self.input.as_mut().unwrap();
        input.write_all(line.as_bytes()).unwrap();
        input.write_all(b"\n").unwrap();
        input.flush().unwrap();
    }

    fn read(&self) -> Value {
        let line = self.lines.recv_timeout(PATIENCE).unwrap();
        let message: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(message["jsonrpc"], json!("2.0"), "{line}");
        message
    }

    /// Sends a request and gives the answer to it.
    fn ask(&mut self, id: u32, method: &str, params: &Value) -> Value {
        self.write(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string());
        let answer = self.read();
        assert_eq!(answer["id"], json!(id), "{answer}");
        answer
    }

    fn notify(&mut self, method: &str, params: &Value) {
        self.write(&json!({ "jsonrpc": "2.0", "method": method, "params": params }).to_string());
    }

    fn begin(&mut self, version: &str) -> Value {
        let client = json!({ "name": "test", "version": "1" });
        let params = json!({ "protocolVersion": version, "capabilities": {}, "clientInfo": client });
        self.ask(1, "initialize", &params)
    }

    /// Closes the input and gives what else was written, the exit code and how long the end took.
    fn end(mut self) -> (Vec<String>, Option<i32>, Duration) {
        let closed = Instant::now();
        self.input = None;
        let status = self.child.wait().unwrap();
        (self.lines.iter().collect(), status.code(), closed.elapsed())
    }
}

fn meta(version: &str) -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": version, "io.modelcontextprotocol/clientCapabilities": {},
    })
}

/// What the server can do, whatever is installed.
fn capabilities() -> Value {
    json!({
        "logging": {}, "completions": {}, "prompts": { "listChanged": true },
        "resources": { "subscribe": true, "listChanged": true }, "tools": { "listChanged": true },
    })
}

fn modern() -> Value {
    json!({ "_meta": meta("2026-07-28") })
}

#[test]
fn every_legacy_version_is_spoken() {
    let cases = [
        ("2024-11-05", "2024-11-05"),
        ("2025-03-26", "2025-03-26"),
        ("2025-06-18", "2025-06-18"),
        ("2025-11-25", "2025-11-25"),
        ("2026-07-28", "2025-11-25"),
        ("2099-01-01", "2025-11-25"),
    ];
    for (asked, expected) in cases {
        let mut client = Client::start();
        let result = client.begin(asked)["result"].clone();
        assert_eq!(result["protocolVersion"], json!(expected));
        assert_eq!(result["serverInfo"]["name"], json!("remit"));
        assert_eq!(result["capabilities"], capabilities());
        assert!(result["instructions"].as_str().unwrap().len() < 4096);
        client.notify("notifications/initialized", &json!({}));
        assert_eq!(client.ask(2, "ping", &json!({}))["result"], json!({}));
        let listed = client.ask(3, "tools/list", &json!({}))["result"].clone();
        assert_eq!(listed, json!({ "tools": [] }), "no member of a later version");
    }
}

#[test]
fn the_modern_era_needs_no_handshake() {
    let mut client = Client::start();
    let discovered = client.ask(1, "server/discover", &modern())["result"].clone();
    assert!(discovered["supportedVersions"].as_array().unwrap().contains(&json!("2026-07-28")));
    assert_eq!(discovered["capabilities"], capabilities());
    assert_eq!(discovered["_meta"]["io.modelcontextprotocol/serverInfo"]["name"], json!("remit"));
    let listed = client.ask(2, "tools/list", &modern())["result"].clone();
    assert_eq!((&listed["tools"], &listed["ttlMs"]), (&json!([]), &json!(0)));
    assert_eq!((&listed["cacheScope"], &listed["resultType"]), (&json!("private"), &json!("complete")));
    for method in ["ping", "logging/setLevel", "resources/subscribe", "unknown/method"] {
        let params = json!({ "_meta": meta("2026-07-28"), "level": "info", "uri": "x:y" });
        assert_eq!(client.ask(3, method, &params)["error"]["code"], json!(-32601), "{method}");
    }
    let unsupported = client.ask(4, "tools/list", &json!({ "_meta": meta("1900-01-01") }));
    assert_eq!(unsupported["error"]["code"], json!(-32022));
    assert_eq!(unsupported["error"]["data"]["requested"], json!("1900-01-01"));
    let incomplete = json!({ "_meta": { "io.modelcontextprotocol/protocolVersion": "2026-07-28" } });
    assert_eq!(client.ask(5, "tools/list", &incomplete)["error"]["code"], json!(-32602));
}

#[test]
fn a_subscription_is_acknowledged_and_ends_with_the_door() {
    let params = json!({ "_meta": meta("2026-07-28"), "notifications": { "toolsListChanged": true } });
    let subscribe = json!({ "jsonrpc": "2.0", "id": "s", "method": "subscriptions/listen", "params": params });
    let mut client = Client::start();
    client.write(&subscribe.to_string());
    let acknowledged = client.read();
    assert_eq!(acknowledged["method"], json!("notifications/subscriptions/acknowledged"));
    assert_eq!(acknowledged["params"]["notifications"], json!({ "toolsListChanged": true }));
    assert_eq!(acknowledged["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], json!("s"));
    client.notify("notifications/cancelled", &json!({ "_meta": meta("2026-07-28"), "requestId": "s" }));
    assert_eq!(client.ask(2, "tools/list", &modern())["result"]["tools"], json!([]));
    let (rest, code, _) = client.end();
    assert_eq!((rest, code), (Vec::<String>::new(), Some(0)), "a cancelled one says nothing more");

    let mut client = Client::start();
    client.write(&subscribe.to_string());
    client.read();
    // Two round trips later the acknowledgement is certainly settled on the other side too.
    for id in 2..4 {
        client.ask(id, "tools/list", &modern());
    }
    let (rest, code, took) = client.end();
    let last: Value = serde_json::from_str(&rest[0]).unwrap();
    assert_eq!((rest.len(), &last["id"], code), (1, &json!("s"), Some(0)));
    assert_eq!(last["result"]["resultType"], json!("complete"));
    assert!(took < PROMPT, "an open one keeps nobody waiting: {took:?}");
}

#[test]
fn a_probe_may_be_followed_by_a_handshake() {
    let mut client = Client::start();
    assert!(client.ask(7, "server/discover", &modern())["result"].is_object());
    assert!(client.begin("2025-11-25")["result"].is_object());

    let mut client = Client::start();
    assert!(client.ask(7, "server/discover", &modern())["result"].is_object());
    client.notify("notifications/cancelled", &json!({ "requestId": 7, "reason": "timeout" }));
    assert!(client.begin("2025-11-25")["result"].is_object(), "a client that gave up on its probe");

    let mut client = Client::start();
    assert_eq!(client.ask(7, "tools/list", &json!({}))["error"]["code"], json!(-32602), "neither era");
    assert!(client.begin("2025-06-18")["result"].is_object());
}

#[test]
fn requests_before_initialized_are_answered() {
    let mut client = Client::start();
    assert_eq!(client.ask(1, "ping", &json!({}))["result"], json!({}));
    client.begin("2025-06-18");
    assert_eq!(client.ask(2, "tools/list", &json!({}))["result"]["tools"], json!([]));
    client.notify("notifications/initialized", &json!({}));
    assert_eq!(client.ask(3, "tools/list", &json!({}))["result"]["tools"], json!([]));
}

#[test]
fn what_is_not_there_or_malformed_is_a_protocol_error() {
    let cases = [
        ("tools/call", json!({ "name": "none__none", "arguments": {} }), -32602),
        ("tools/call", json!({ "name": "none__none" }), -32602),
        ("tools/call", json!({ "name": "none__none", "arguments": [1] }), -32602),
        ("tools/call", json!({ "name": "none__none", "arguments": "{}" }), -32602),
        ("tools/call", json!({ "name": 7 }), -32602),
        ("tools/call", json!({}), -32602),
        ("tools/list", json!({ "cursor": "made-up" }), -32602),
        ("tools/list", json!({ "cursor": "" }), -32602),
        ("resources/list", json!({ "cursor": "made-up" }), -32602),
        ("resources/read", json!({ "uri": 7 }), -32602),
        ("resources/read", json!({ "uri": "remit://results/00" }), -32002),
        ("resources/read", json!({ "uri": "remit://acme/notes/note:1" }), -32002),
        ("resources/subscribe", json!({ "uri": "remit://inbox" }), -32002),
        ("prompts/list", json!({ "cursor": "made-up" }), -32602),
        ("prompts/get", json!({ "name": "none" }), -32602),
        ("prompts/get", json!({}), -32602),
        (
            "completion/complete",
            json!({ "ref": { "type": "ref/prompt", "name": "none" }, "argument": { "name": "a", "value": "" } }),
            -32602,
        ),
        ("tools/grant", json!({}), -32601),
    ];
    let mut client = Client::start();
    client.begin("2025-11-25");
    for (method, params, expected) in cases {
        let answer = client.ask(9, method, &params);
        assert_eq!(answer["error"]["code"], json!(expected), "{method} {params} {answer}");
    }
}

#[test]
fn broken_lines_do_not_end_the_session() {
    let mut client = Client::start();
    client.begin("2025-11-25");
    for line in
        ["", "not json", "{", "[]", "7", "{\"jsonrpc\":\"2.0\"}", "\u{0}", "{\"jsonrpc\":\"1.0\",\"id\":1}"]
    {
        client.write(line);
    }
    client.write(&" ".repeat(17 * 1024 * 1024));
    client.write(&json!({ "jsonrpc": "2.0", "id": "last", "method": "ping" }).to_string());
    while client.read()["id"] != json!("last") {}
}

#[test]
fn the_end_of_the_input_is_the_end() {
    let mut begun = Client::start();
    begun.begin("2025-06-18");
    let mut discovered = Client::start();
    discovered.ask(1, "server/discover", &modern());
    for client in [Client::start(), begun, discovered] {
        let (rest, code, took) = client.end();
        assert_eq!((rest, code), (Vec::<String>::new(), Some(0)));
        assert!(took < PROMPT, "{took:?}");
    }
}

#[test]
fn answers_to_a_closed_input_still_come() {
    let mut client = Client::start();
    client.begin("2025-06-18");
    for id in 0..20 {
        client.write(&json!({ "jsonrpc": "2.0", "id": id, "method": "tools/list" }).to_string());
    }
    let (rest, code, _) = client.end();
    assert_eq!((rest.len(), code), (20, Some(0)));
}
