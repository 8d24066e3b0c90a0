//! One message, two readings: whatever judges a request must see what runs.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::door::{Answered, Door, meta};
use crate::support::home::{built, remit, renamed};

/// Sends a call as text, under the header fields of a call of `echo__echo`.
fn send(door: &Door, body: &str, media_type: &str) -> Answered {
    let media_type = format!("Content-Type: {media_type}");
    let fields =
        ["MCP-Protocol-Version: 2026-07-28", "Mcp-Method: tools/call", "Mcp-Name: echo__echo", &media_type];
    door.send("POST", "/mcp", &fields, body)
}

/// A call as text, in which `good` is replaced.
fn call(good: &str, by: &str) -> String {
    let params = json!({ "name": "echo__echo", "arguments": { "message": "judged" }, "_meta": meta() });
    let text = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params }).to_string();
    assert!(text.contains(good), "{good}");
    text.replacen(good, by, 1)
}

fn two_tools() -> Door {
    let other = renamed(&built("echo"), |manifest| manifest["slug"] = json!("other"));
    Door::with("", &[built("echo"), other])
}

#[test]
fn what_is_judged_is_what_runs() {
    let door = two_tools();
    let name = "\"name\":\"echo__echo\"";
    for (what, body) in [
        ("another name", call(name, "\"name\":\"other__echo\"")),
        ("two names, the second another", call(name, &format!("{name},\"name\":\"other__echo\""))),
        ("two methods, the second another", call("\"id\":1", "\"method\":\"tools/list\",\"id\":1")),
        ("two methods", call("\"params\":", "\"method\":\"resources/list\",\"params\":")),
        ("an escaped name", call(name, "\"name\":\"\\u006fther__echo\"")),
    ] {
        let answer = send(&door, &body, "application/json");
        let is_call = answer.body.contains("judged");
        assert!(answer.status >= 400 || answer.body.contains("\"error\"") || is_call, "{what}: {answer:?}");
    }
    let right = send(&door, &call(name, name), "application/json");
    assert_eq!(right.json()["result"]["content"][0]["text"], json!("judged"));
    // The fields name one tool, so no other ran.
    let ran = door.records(1);
    assert!(ran.iter().all(|record| record["capability"] == "test/echo"), "{ran:?}");
    // Arguments that stand twice: the guest sees what was held against the schema, and it is one of them.
    let twice = call("\"message\":\"judged\"", "\"message\":7,\"message\":\"judged\"");
    let answer = send(&door, &twice, "application/json");
    let text = answer.json()["result"]["content"][0]["text"].as_str().unwrap_or_default().to_owned();
    assert!(text == "judged" || text.starts_with("call/invalid-input"), "{answer:?}");
    let twice = call("\"message\":\"judged\"", "\"message\":\"judged\",\"message\":7");
    let answer = send(&door, &twice, "application/json");
    assert!(answer.body.contains("call/invalid-input") || answer.status == 400, "{answer:?}");
}

#[test]
fn names_are_letter_for_letter() {
    let door = two_tools();
    let message = "\"message\":\"judged\"";
    for by in [
        "\"Message\":\"judged\"",
        "\"MESSAGE\":\"judged\"",
        "\"message\\u0000\":\"judged\"",
        "\"\\u0000message\":\"judged\"",
        "\"me\u{200b}ssage\":\"judged\"",
        "\"message\":\"judged\",\"Message\":\"other\"",
        "\"message\":\"judged\",\"message\\u0000\":\"other\"",
    ] {
        let answer = send(&door, &call(message, by), "application/json");
        let result = answer.json()["result"].clone();
        assert_eq!(result["isError"], json!(true), "{by}: {answer:?}");
        let text = result["content"][0]["text"].as_str().unwrap_or_default();
        assert!(text.starts_with("call/invalid-input"), "{by}: {text}");
    }
    for (good, by) in [
        ("\"method\":", "\"Method\":"),
        ("\"params\":", "\"Params\":"),
        ("\"tools/call\"", "\"Tools/Call\""),
        ("\"tools/call\"", "\"tools/call\\u0000\""),
        ("\"jsonrpc\":", "\"JSONRPC\":"),
        ("\"name\":", "\"Name\":"),
        ("\"echo__echo\"", "\"Echo__echo\""),
        ("\"echo__echo\"", "\"echo__echo\\u0000\""),
        ("\"arguments\":", "\"Arguments\":"),
    ] {
        let answer = send(&door, &call(good, by), "application/json");
        assert!(!answer.body.contains("\"text\":\"judged\""), "{by}: {answer:?}");
    }
    // The one that is right is the only one that ran.
    assert_eq!(send(&door, &call("judged", "judged"), "application/json").status, 200);
    let is_ok = |record: &&Value| record["outcome"] == "ok";
    while !door.records(1).iter().any(|record| is_ok(&record)) {}
    assert_eq!(door.records(1).iter().filter(is_ok).count(), 1);
}

#[test]
fn a_media_type_has_no_case() {
    let door = two_tools();
    let right = call("judged", "judged");
    let plain = send(&door, &right, "application/json");
    assert_eq!(plain.json()["result"]["content"][0]["text"], json!("judged"));
    for media_type in ["Application/JSON", "APPLICATION/JSON; charset=utf-8", "application/json;charset=UTF-8"] {
        let answer = send(&door, &right, media_type);
        // Refused or read, and when read, read alike.
        match answer.status {
            415 => assert!(!answer.body.contains("judged"), "{media_type}: {answer:?}"),
            _ => assert_eq!(answer.json()["result"]["content"], plain.json()["result"]["content"], "{media_type}"),
        }
    }
    for media_type in ["text/json", "application/json-seq", "application/jsonx", "application/xjson", "json"] {
        assert_eq!(send(&door, &right, media_type).status, 415, "{media_type}");
    }
}

#[test]
fn patterns_of_publishers_take_no_longer_than_their_text() {
    let hostile = renamed(&built("echo"), |manifest| {
        manifest["tools"][0]["inputSchema"]["properties"]["message"]["pattern"] = json!("^(a+)+$");
    });
    let door = Door::with("", &[hostile]);
    let ask = |message: &str| {
        let params = json!({ "name": "echo__echo", "arguments": { "message": message } });
        let begun = Instant::now();
        let answer = door.ask(&[], "tools/call", &params).json();
        (answer["result"]["isError"].clone(), begun.elapsed())
    };
    assert_eq!(ask("aaa").0, json!(false));
    let (is_error, time) = ask(&format!("{}!", "a".repeat(50_000)));
    assert_eq!(is_error, json!(true));
    assert!(time < Duration::from_secs(10), "{time:?}, where it would be for ever");
    // Those that cannot be matched in linear time are refused before they are installed.
    for pattern in ["(?=a)b", "(a)\\1"] {
        let refused = renamed(&built("echo"), |manifest| {
            manifest["version"] = json!("1.0.1");
            manifest["tools"][0]["inputSchema"]["properties"]["message"]["pattern"] = json!(pattern);
        });
        let file = door.home().join("refused.wasm");
        std::fs::write(&file, refused).expect("room");
        let ended = remit(door.home(), &["install", &file.display().to_string(), "--yes", "--json"], "");
        assert_eq!(ended.code(), "manifest/invalid", "{pattern}: {ended:?}");
    }
}
