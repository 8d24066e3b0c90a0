//! `remit serve --http` as the network meets it: the built program, an empty home, raw requests. The whole
//! matrix of checks is tested beside the door; here, that the program has them all switched on.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

/// More than a door keeps, as a client without manners would begin.
const FLOOD: usize = 3000;

struct Door {
    child: Child,
    address: String,
    _home: tempfile::TempDir,
}

impl Door {
    /// Starts a door with this `remit.toml`, open to this machine.
    fn open(config: &str) -> Self {
        let home = tempfile::tempdir().unwrap();
        std::fs::write(home.path().join("remit.toml"), config).unwrap();
        let mut child = serve("127.0.0.1:0", &home).stderr(Stdio::piped()).spawn().unwrap();
        let mut errors = BufReader::new(child.stderr.take().unwrap());
        let address = loop {
            let mut line = String::new();
            assert!(errors.read_line(&mut line).unwrap() > 0, "the door did not open");
            let address =
                line.trim().strip_prefix("listening on http://").and_then(|rest| rest.strip_suffix("/mcp"));
            if let Some(address) = address {
                break address.to_owned();
            }
        };
        std::thread::spawn(move || std::io::copy(&mut errors, &mut std::io::sink()));
        Self { child, address, _home: home }
    }

    /// Sends a request with these fields and gives the status, the head and the body.
    fn send(&self, method: &str, path: &str, fields: &[&str], body: &str) -> (u16, String, String) {
        let mut head = format!("{method} {path} HTTP/1.1\r\nConnection: close\r\n");
        let length = format!("Content-Length: {}", body.len());
        let defaults =
            ["Host: localhost", "Content-Type: application/json", "Accept: application/json, text/event-stream"];
        let name = |field: &str| field.split_once(':').unwrap().0.to_ascii_lowercase();
        let has = |wanted: &str| fields.iter().any(|field| name(field) == name(wanted));
        let missing = defaults.iter().filter(|default| !has(default));
        let length = (!has("Transfer-Encoding:")).then_some(length.as_str());
        for field in fields.iter().chain(missing).copied().chain(length) {
            head.push_str(field);
            head.push_str("\r\n");
        }
        let mut stream = TcpStream::connect(&self.address).unwrap();
        // A door that refuses early may close before it has read everything.
        let _ = stream.write_all(format!("{head}\r\n{body}").as_bytes());
        let mut text = String::new();
        let _ = stream.read_to_string(&mut text);
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or_default();
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
        (status, head.to_ascii_lowercase(), body.to_owned())
    }

    fn begin(&self, fields: &[&str]) -> u16 {
        self.send("POST", "/mcp", fields, &initialize().to_string()).0
    }
}

impl Drop for Door {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn serve(address: &str, home: &tempfile::TempDir) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_remit"));
    command.args(["serve", "--http", address, "--no-token"]).env("REMIT_HOME", home.path());
    command
}

fn initialize() -> Value {
    let client = json!({ "name": "test", "version": "1" });
    let params = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client });
    json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params })
}

#[test]
fn foreign_hosts_and_origins_are_refused() {
    let door = Door::open("[serve]\nhosts = [\"remit.example.com\"]\norigins = [\"https://app.example.com\"]\n");
    let cases = [
        ("Host: localhost", 200),
        ("Host: [::1]:9", 200),
        ("Host: remit.example.com", 200),
        ("Host: evil.example", 403),
        ("Origin: http://localhost:5173", 200),
        ("Origin: https://app.example.com", 200),
        ("Origin: null", 403),
        ("Origin: https://evil.example", 403),
    ];
    for (field, expected) in cases {
        assert_eq!(door.begin(&[field]), expected, "{field}");
    }
}

#[test]
fn bodies_are_bounded_and_of_one_type() {
    let door = Door::open("[serve]\nbody-bytes = 10000\n");
    assert_eq!(door.send("POST", "/mcp", &[], &" ".repeat(10_001)).0, 413);
    let chunk = format!("2711\r\n{}\r\n0\r\n\r\n", " ".repeat(10_001));
    assert_eq!(door.send("POST", "/mcp", &["Transfer-Encoding: chunked"], &chunk).0, 413);
    assert_eq!(door.begin(&["Content-Type: text/plain"]), 415);
    assert_eq!(door.begin(&[]), 200);
}

#[test]
fn nothing_but_mcp_is_there() {
    let door = Door::open("");
    for path in ["/", "/.well-known/oauth-protected-resource", "/.well-known/oauth-authorization-server/mcp"] {
        assert_eq!(door.send("GET", path, &[], "").0, 404, "{path}");
    }
    for (method, expected) in [("GET", 400), ("DELETE", 400), ("PUT", 405), ("OPTIONS", 405)] {
        assert_eq!(door.send(method, "/mcp", &[], "").0, expected, "{method}");
    }
    for method in ["GET", "DELETE"] {
        assert_eq!(door.send(method, "/mcp", &["Mcp-Session-Id: made-up"], "").0, 404, "{method}");
    }
}

#[test]
fn a_body_that_is_no_single_message_is_answered_by_the_protocol() {
    let door = Door::open("");
    for (body, code) in [("not json", -32700), ("{", -32700), ("[]", -32600), ("[{}]", -32600), ("7", -32600)] {
        let (status, head, body) = door.send("POST", "/mcp", &[], body);
        let answer: Value = serde_json::from_str(&body).unwrap();
        assert_eq!((status, &answer["error"]["code"], &answer["id"]), (400, &json!(code), &Value::Null));
        assert!(head.contains("x-accel-buffering: no"), "{head}");
    }
}

#[test]
fn a_capability_that_is_not_installed_has_no_endpoint() {
    let door = Door::open("");
    for path in ["/mcp/acme/notes", "/mcp/acme", "/mcp/", "/mcp/a/b/c", "/mcp/../mcp", "/mcp/Acme/notes"] {
        assert_eq!(door.send("POST", path, &[], &initialize().to_string()).0, 404, "{path}");
    }
}

#[test]
fn the_modern_era_is_spoken() {
    let door = Door::open("");
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {},
    });
    let ask = |method: &str, name: Option<&str>, params: Value| {
        let mut params = params;
        params["_meta"] = meta.clone();
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        let mut fields = vec!["MCP-Protocol-Version: 2026-07-28".to_owned(), format!("Mcp-Method: {method}")];
        fields.extend(name.map(|name| format!("Mcp-Name: {name}")));
        let fields: Vec<&str> = fields.iter().map(String::as_str).collect();
        let (status, _, body) = door.send("POST", "/mcp", &fields, &body.to_string());
        (status, serde_json::from_str::<Value>(&body).unwrap())
    };
    let (status, discovered) = ask("server/discover", None, json!({}));
    assert_eq!((status, &discovered["result"]["resultType"]), (200, &json!("complete")));
    let (status, listed) = ask("tools/list", None, json!({}));
    assert_eq!((status, &listed["result"]["tools"]), (200, &json!([])));
    let (status, unknown) = ask("tools/call", Some("none__none"), json!({ "name": "none__none" }));
    assert_eq!((status, &unknown["error"]["code"]), (200, &json!(-32602)));
    let (status, mismatch) = ask("tools/call", Some("other"), json!({ "name": "none__none" }));
    assert_eq!((status, &mismatch["error"]["code"]), (400, &json!(-32020)));
    assert_eq!(ask("unknown/method", None, json!({})).0, 404);
}

#[test]
fn a_flood_of_sessions_is_bounded() {
    let door = Door::open("[serve]\nsessions = 20\n");
    let mut begun = 0;
    for _ in 0..FLOOD {
        match door.begin(&[]) {
            200 => begun += 1,
            status => assert_eq!(status, 503),
        }
    }
    assert_eq!(begun, 20);
}

#[test]
fn other_machines_need_a_token() {
    let home = tempfile::tempdir().unwrap();
    let output = serve("0.0.0.0:0", &home).stdin(Stdio::null()).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let errors = String::from_utf8(output.stderr).unwrap();
    assert!(errors.contains("needs a token"), "{errors}");
    assert_eq!(output.stdout, b"");
}
