//! `remit serve --http` as a client meets it: the built program, an empty home, raw requests. What attackers try at it is
//! `mcp_attacks/`; the whole matrix of checks is tested beside the door.

use serde_json::{Value, json};

use crate::support::door::{Door, initialize};

#[test]
fn nothing_but_mcp_is_there() {
    let door = Door::open("");
    for path in ["/", "/.well-known/oauth-protected-resource", "/.well-known/oauth-authorization-server/mcp"] {
        assert_eq!(door.send("GET", path, &[], "").status, 404, "{path}");
    }
    for (method, expected) in [("GET", 400), ("DELETE", 400), ("PUT", 405), ("OPTIONS", 405)] {
        assert_eq!(door.send(method, "/mcp", &[], "").status, expected, "{method}");
    }
    for method in ["GET", "DELETE"] {
        assert_eq!(door.send(method, "/mcp", &["Mcp-Session-Id: made-up"], "").status, 404, "{method}");
    }
}

#[test]
fn a_body_that_is_no_single_message_is_answered_by_the_protocol() {
    let door = Door::open("");
    for (body, code) in [("not json", -32700), ("{", -32700), ("[]", -32600), ("[{}]", -32600), ("7", -32600)] {
        let answered = door.send("POST", "/mcp", &[], body);
        let answer: Value = serde_json::from_str(&answered.body).unwrap();
        assert_eq!((answered.status, &answer["error"]["code"], &answer["id"]), (400, &json!(code), &Value::Null));
        assert!(answered.head.contains("x-accel-buffering: no"), "{}", answered.head);
    }
}

#[test]
fn a_capability_that_is_not_installed_has_no_endpoint() {
    let door = Door::open("");
    for path in ["/mcp/acme/notes", "/mcp/acme", "/mcp/", "/mcp/a/b/c", "/mcp/../mcp", "/mcp/Acme/notes"] {
        assert_eq!(door.send("POST", path, &[], &initialize().to_string()).status, 404, "{path}");
    }
}

#[test]
fn the_modern_era_is_spoken() {
    let door = Door::open("");
    let ask = |method: &str, params: Value| {
        let answer = door.ask(&[], method, &params);
        (answer.status, answer.json())
    };
    let (status, discovered) = ask("server/discover", json!({}));
    assert_eq!((status, &discovered["result"]["resultType"]), (200, &json!("complete")));
    let (status, listed) = ask("tools/list", json!({}));
    assert_eq!((status, &listed["result"]["tools"]), (200, &json!([])));
    let (status, unknown) = ask("tools/call", json!({ "name": "none__none" }));
    assert_eq!((status, &unknown["error"]["code"]), (200, &json!(-32602)));
    assert_eq!(ask("unknown/method", json!({})).0, 404);
}
