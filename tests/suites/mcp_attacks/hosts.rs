//! Pages of foreign sites in a browser of this machine, and other machines: what they send is refused before it means
//! anything.

use std::process::Stdio;

use serde_json::{Value, json};

use crate::support::door::{Door, initialize, meta, serve};
use crate::support::home::built;

const CONFIG: &str = "[serve]\nhosts = [\"remit.example.com\"]\norigins = [\"https://app.example.com\"]\n";

#[test]
fn a_foreign_host_is_refused() {
    let door = Door::open(CONFIG);
    for (host, expected) in [
        ("localhost", 200),
        ("localhost:9", 200),
        ("127.0.0.1:80", 200),
        ("[::1]:9", 200),
        ("remit.example.com", 200),
        ("evil.example", 403),
        ("evil.example:80", 403),
        ("localhost.evil.example", 403),
        ("127.0.0.1.evil.example", 403),
        ("remit.example.com.evil.example", 403),
        ("[::ffff:127.0.0.2]", 403),
        ("0.0.0.0", 403),
        ("null", 403),
    ] {
        let field = format!("Host: {host}");
        assert_eq!(door.begin(&[&field]).status, expected, "{host}");
        assert_eq!(door.ask(&[&field], "tools/list", &json!({})).status, expected, "{host}, 2026");
        // Whatever the method, a foreign name gets no further than the check.
        if expected == 403 {
            for method in ["GET", "DELETE"] {
                let status = door.send(method, "/mcp", &[&field, "Mcp-Session-Id: x"], "").status;
                assert_eq!(status, 403, "{method} {host}");
            }
        }
    }
}

#[test]
fn a_foreign_origin_is_refused() {
    let door = Door::open(CONFIG);
    for (origin, expected) in [
        ("http://localhost:5173", 200),
        ("http://127.0.0.1", 200),
        ("http://[::1]:3000", 200),
        ("https://app.example.com", 200),
        ("https://app.example.com:8443", 403),
        ("http://app.example.com", 403),
        ("null", 403),
        ("https://evil.example", 403),
        ("http://localhost.evil.example", 403),
        ("http://[::2]:3000", 403),
        ("file://", 403),
    ] {
        let field = format!("Origin: {origin}");
        assert_eq!(door.begin(&[&field]).status, expected, "{origin}");
        assert_eq!(door.ask(&[&field], "tools/list", &json!({})).status, expected, "{origin}, 2026");
    }
    let both = ["Host: evil.example", "Origin: http://localhost"];
    assert_eq!(door.begin(&both).status, 403, "a good origin does not make up for the host");
}

/// A call that changes the record of calls, if it runs.
fn call() -> Value {
    let params = json!({ "name": "echo__echo", "arguments": { "message": "hi" }, "_meta": meta() });
    json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params })
}

#[test]
fn a_page_runs_no_tool() {
    let door = Door::with("", &[built("echo")]);
    let modern = ["MCP-Protocol-Version: 2026-07-28", "Mcp-Method: tools/call", "Mcp-Name: echo__echo"];
    let send = |fields: &[&str]| {
        let fields = [&modern[..], fields].concat();
        door.send("POST", "/mcp", &fields, &call().to_string()).status
    };
    // What a browser sends without asking, and a form, and nothing.
    for media_type in [
        "text/plain",
        "text/plain; application/json",
        "application/x-www-form-urlencoded",
        "multipart/form-data",
        "",
    ] {
        let field = format!("Content-Type: {media_type}");
        assert_eq!(send(&[&field]), 415, "{media_type}");
        assert_eq!(send(&[&field, "Origin: https://evil.example"]), 403, "{media_type}");
    }
    assert_eq!(send(&["Origin: http://localhost:5173"]), 200);
    assert_eq!(door.records(1).len(), 1, "and nothing before it was a call");
    // No page learns whether it may ask: no answer names an origin.
    let asked = door.send("OPTIONS", "/mcp", &["Origin: https://evil.example"], "");
    assert!(!asked.head.contains("access-control"), "{asked:?}");
}

#[test]
fn there_is_no_other_transport() {
    let door = Door::open("");
    let upgrade = [
        "Upgrade: websocket",
        "Sec-WebSocket-Version: 13",
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
        "Origin: https://evil.example",
    ];
    for path in ["/mcp", "/ws", "/sse", "/messages", "/mcp/ws"] {
        let answer = door.send("GET", path, &upgrade, "");
        assert!([403, 404].contains(&answer.status), "{path}: {answer:?}");
        let answer = door.send("GET", path, &upgrade[..3], "");
        assert!([400, 404].contains(&answer.status), "{path}: {answer:?}");
    }
}

#[test]
fn there_is_no_door_for_people_on_the_network() {
    let door = Door::open("");
    for path in ["/", "/admin", "/config", "/api/install", "/stdio?transportType=stdio&command=touch&args=/tmp/x"]
    {
        for method in ["GET", "POST"] {
            assert_eq!(door.send(method, path, &[], &initialize().to_string()).status, 404, "{method} {path}");
        }
    }
    // Nor does a message install, grant, approve or set anything.
    for method in ["install", "grant", "secrets/set", "approve", "shell/exec", "config/set"] {
        assert_eq!(door.ask(&[], method, &json!({})).status, 404, "{method}");
    }
}

#[test]
fn other_machines_need_a_token() {
    let home = tempfile::tempdir().unwrap();
    for address in ["0.0.0.0:0", "[::]:0"] {
        let output = serve(address, home.path()).arg("--no-token").stdin(Stdio::null()).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{address}");
        let errors = String::from_utf8(output.stderr).unwrap();
        assert!(errors.contains("needs a token"), "{errors}");
        assert_eq!(output.stdout, b"");
    }
}
