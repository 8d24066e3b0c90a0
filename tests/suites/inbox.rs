//! The inbox as agents see it: resources of `remit serve`, on both transports and in both eras.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::home::{program, remit};

/// A test that waits longer than this is stuck.
const PATIENCE: Duration = Duration::from_secs(20);

/// Nothing is said within it that should not be said: several looks at the inbox.
const SILENCE: Duration = Duration::from_millis(1_500);

/// A home with `remit/loops` and a loop `look` that asks an agent.
fn home() -> tempfile::TempDir {
    let home = tempfile::tempdir().expect("a scratch folder");
    for arguments in [
        &["install", "remit/loops", "--yes"][..],
        &["loops", "create", "look", "--every", "1d", "--prompt", "Look around."],
    ] {
        let ended = remit(home.path(), arguments, "");
        assert_eq!(ended.exit, Some(0), "{ended:?}");
    }
    home
}

/// Puts a run of `look` into the inbox, and gives its id.
fn put_run(home: &Path) -> String {
    let run = remit(home, &["--json", "loops", "run", "remit/loops", "look"], "").json();
    assert_eq!(run["state"], "waiting", "{run}");
    run["id"].as_str().expect("an id").to_owned()
}

struct Server {
    child: Child,
    input: ChildStdin,
    lines: mpsc::Receiver<Value>,
    last_id: u64,
}

impl Server {
    fn start(home: &Path) -> Self {
        let mut child = Command::new(program())
            .args(["serve", "--tools", "direct"])
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
        Self { child, input, lines, last_id: 0 }
    }

    fn legacy(home: &Path) -> (Self, Value) {
        let mut client = Self::start(home);
        let about = json!({ "name": "test", "version": "1" });
        let greeting = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": about });
        let capabilities = client.ask("initialize", &greeting)["result"]["capabilities"].clone();
        client.write(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        (client, capabilities)
    }

    fn write(&mut self, message: &Value) {
        writeln!(self.input, "{message}").expect("the server reads");
        self.input.flush().expect("the server reads");
    }

    /// Sends a request and gives the answer to it.
    fn ask(&mut self, method: &str, params: &Value) -> Value {
        self.last_id += 1;
        let id = self.last_id;
        self.write(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        loop {
            let message = self.lines.recv_timeout(PATIENCE).expect("an answer");
            if message["id"] == id {
                return message;
            }
        }
    }

    /// The addresses of the next updates, in their order.
    fn updates(&self, number: usize) -> Vec<String> {
        let mut uris = Vec::new();
        while uris.len() < number {
            let message = self.lines.recv_timeout(PATIENCE).expect("news");
            if message["method"] == "notifications/resources/updated" {
                uris.push(message["params"]["uri"].as_str().expect("an address").to_owned());
            }
        }
        uris.sort();
        uris
    }

    fn assert_silent(&self) {
        let said = self.lines.recv_timeout(SILENCE);
        assert!(said.is_err(), "{said:?}");
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn meta() -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    })
}

fn read(client: &mut Server, uri: &str) -> Result<Value, i64> {
    let answer = client.ask("resources/read", &json!({ "uri": uri }));
    match answer["error"]["code"].as_i64() {
        Some(code) => Err(code),
        None => {
            let contents = &answer["result"]["contents"][0];
            assert_eq!((&contents["uri"], &contents["mimeType"]), (&json!(uri), &json!("application/json")));
            Ok(serde_json::from_str(contents["text"].as_str().expect("text")).expect("JSON"))
        }
    }
}

#[test]
fn runs_that_wait_are_listed_read_and_gone_when_they_are_reported() {
    let home = home();
    let (mut client, capabilities) = Server::legacy(home.path());
    assert_eq!(capabilities["resources"], json!({ "subscribe": true, "listChanged": true }));
    let run = put_run(home.path());
    let uris = |client: &mut Server| -> Vec<Value> {
        let listed = client.ask("resources/list", &json!({}))["result"]["resources"].clone();
        listed.as_array().expect("a list").iter().map(|resource| resource["uri"].clone()).collect()
    };
    let address = format!("remit://inbox/{run}");
    assert_eq!(uris(&mut client), [json!("remit://inbox"), json!(address)]);
    let templates = client.ask("resources/templates/list", &json!({}))["result"]["resourceTemplates"].clone();
    assert_eq!(templates[0]["uriTemplate"], "remit://inbox/{run}", "{templates}");
    let found = read(&mut client, &address).expect("it is there");
    assert_eq!(
        (&found["prompt"], &found["state"], &found["loop"]),
        (&json!("Look around."), &json!("waiting"), &json!("look"))
    );
    assert_eq!(read(&mut client, "remit://inbox").expect("it is there"), json!({ "runs": [found] }));
    for unknown in ["remit://inbox/none", "remit://inbox/", "remit://other", "file:///etc/passwd"] {
        assert_eq!(read(&mut client, unknown), Err(-32002), "{unknown}");
    }
    let call = |client: &mut Server, tool: &str, arguments: &Value| {
        let called = json!({ "name": format!("loops__{tool}"), "arguments": arguments });
        client.ask("tools/call", &called)["result"].clone()
    };
    let taken = call(&mut client, "take_run", &json!({}));
    assert_eq!(taken["structuredContent"]["run"], json!(run), "{taken}");
    assert_eq!(read(&mut client, &address).expect("it is there")["state"], "taken");
    let reported = call(&mut client, "report_run", &json!({ "run": run, "text": "All is well." }));
    assert_eq!(reported["structuredContent"], json!({ "reported": run }), "{reported}");
    assert_eq!(uris(&mut client), [json!("remit://inbox")]);
    let history = remit(home.path(), &["--json", "loops", "history", "remit/loops", "look"], "").json();
    assert_eq!((&history[0]["state"], &history[0]["report"]), (&json!("reported"), &json!("All is well.")));
}

#[test]
fn without_the_capability_there_is_no_inbox() {
    let home = home();
    put_run(home.path());
    assert_eq!(remit(home.path(), &["revoke", "remit/loops", "loops"], "").exit, Some(0));
    let (mut client, _) = Server::legacy(home.path());
    assert_eq!(client.ask("resources/list", &json!({}))["result"]["resources"], json!([]));
    let templates = client.ask("resources/templates/list", &json!({}))["result"]["resourceTemplates"].clone();
    assert!(!templates.to_string().contains("inbox"), "{templates}");
    for method in ["resources/read", "resources/subscribe"] {
        let refused = client.ask(method, &json!({ "uri": "remit://inbox" }));
        assert_eq!(refused["error"]["code"], -32002, "{method}: {refused}");
        assert_eq!(refused["error"]["data"], json!({ "uri": "remit://inbox" }));
    }
}

#[test]
fn a_legacy_client_hears_what_it_subscribed_to_until_it_does_not() {
    let home = home();
    let (mut client, _) = Server::legacy(home.path());
    assert_eq!(client.ask("resources/subscribe", &json!({ "uri": "remit://inbox" }))["result"], json!({}));
    let other = client.ask("resources/subscribe", &json!({ "uri": "remit://outbox" }));
    assert_eq!(other["error"]["code"], -32002, "{other}");
    // The first look is what later ones are compared with.
    client.assert_silent();
    put_run(home.path());
    assert_eq!(client.updates(1), ["remit://inbox"]);
    client.assert_silent();
    assert_eq!(client.ask("resources/unsubscribe", &json!({ "uri": "remit://inbox" }))["result"], json!({}));
    assert_eq!(remit(home.path(), &["loops", "delete", "remit/loops", "look"], "").exit, Some(0));
    client.assert_silent();
}

#[test]
fn a_modern_client_hears_it_on_the_subscription_that_it_holds() {
    let home = home();
    let mut client = Server::start(home.path());
    let wanted = json!({ "resourceSubscriptions": ["remit://inbox", "remit://outbox"] });
    let params = json!({ "_meta": meta(), "notifications": wanted });
    client.write(&json!({ "jsonrpc": "2.0", "id": "s", "method": "subscriptions/listen", "params": params }));
    let acknowledged = client.lines.recv_timeout(PATIENCE).expect("an acknowledgement");
    let accepted = json!({ "resourceSubscriptions": ["remit://inbox"] });
    assert_eq!(acknowledged["params"]["notifications"], accepted, "{acknowledged}");
    client.assert_silent();
    put_run(home.path());
    assert_eq!(client.updates(1), ["remit://inbox"]);
    let legacy_only = client.ask("resources/subscribe", &json!({ "uri": "remit://inbox", "_meta": meta() }));
    assert_eq!(legacy_only["error"]["code"], -32601, "{legacy_only}");
}

#[test]
fn the_same_is_heard_over_http() {
    let home = home();
    let mut child = Command::new(program())
        .args(["serve", "--tools", "direct", "--http", "127.0.0.1:0", "--no-token"])
        .env("REMIT_HOME", home.path())
        .stderr(Stdio::piped())
        .spawn()
        .expect("remit serve starts");
    let mut errors = BufReader::new(child.stderr.take().expect("a pipe"));
    let address = loop {
        let mut line = String::new();
        assert!(errors.read_line(&mut line).expect("a line") > 0, "the door did not open");
        let found = line.trim().strip_prefix("listening on http://").and_then(|rest| rest.strip_suffix("/mcp"));
        if let Some(address) = found {
            break address.to_owned();
        }
    };
    std::thread::spawn(move || std::io::copy(&mut errors, &mut std::io::sink()));
    let params = json!({ "_meta": meta(), "notifications": { "resourceSubscriptions": ["remit://inbox"] } });
    let body =
        json!({ "jsonrpc": "2.0", "id": "s", "method": "subscriptions/listen", "params": params }).to_string();
    let head = format!(
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nAccept: application/json, \
         text/event-stream\r\nMCP-Protocol-Version: 2026-07-28\r\nMcp-Method: subscriptions/listen\r\n\
         Content-Length: {}\r\n\r\n",
        body.len()
    );
    let mut stream = TcpStream::connect(address).expect("a connection");
    stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
    stream.write_all(format!("{head}{body}").as_bytes()).expect("sent");
    let mut lines = BufReader::new(stream).lines();
    let mut until = |wanted: &str| loop {
        let line = lines.next().expect("more").expect("a line");
        if line.contains(wanted) {
            return line;
        }
    };
    until("notifications/subscriptions/acknowledged");
    // The first look is what later ones are compared with.
    std::thread::sleep(SILENCE);
    put_run(home.path());
    assert!(until("notifications/resources/updated").contains("remit://inbox"));
    let _ = child.kill();
    let _ = child.wait();
}
