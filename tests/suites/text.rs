//! `plugins/text` by the path of a call: every tool once with its whole answer, and nothing asked of the host.

use serde_json::{Value, json};

use crate::support::home::{Home, built, outcome, remit};

#[test]
fn every_tool_answers_as_written() {
    let home = Home::new();
    home.install(built("text"));
    let diff = "@@ -1,2 +1,2 @@\n a\n-b\n+c\n";
    let cases = [
        ("echo", json!({ "message": "hé\n\u{1f980}" }), "hé\n\u{1f980}".to_owned()),
        (
            "count",
            json!({ "text": "one twö\n" }),
            json!({ "bytes": 9, "characters": 8, "words": 2, "lines": 1 }).to_string(),
        ),
        (
            "diff",
            json!({ "before": "a\nb\n", "after": "a\nc\n" }),
            json!({ "same": false, "lines_added": 1, "lines_removed": 1, "unified": diff }).to_string(),
        ),
        ("change_lines", json!({ "text": "b\na\nb", "steps": ["sort", "unique"] }), "a\nb".to_owned()),
        (
            "replace",
            json!({ "text": "a1b22", "find": "[0-9]+", "replacement": "<$0>", "regex": true }),
            json!({ "text": "a<1>b<22>", "replaced": 2 }).to_string(),
        ),
        (
            "extract",
            json!({ "text": "\nk=v", "pattern": "(?<key>k)=(v)" }),
            json!({ "matches": [{ "text": "k=v", "line": 2, "groups": ["k", "v"] }], "more": false }).to_string(),
        ),
        (
            "json_query",
            json!({ "json": "{\"a\":[{\"b\":1.0},{\"b\":2}]}", "path": "a[*].b", "limit": 1 }),
            json!({ "values": [{ "pointer": "/a/0/b", "json": "1.0" }], "more": true }).to_string(),
        ),
        (
            "json_format",
            json!({ "json": "{\"b\":1.0,\"a\":[]}", "style": "compact", "sort_keys": true }),
            "{\"a\":[],\"b\":1.0}".to_owned(),
        ),
        ("encode", json!({ "text": "hé", "encoding": "base64" }), "aMOp".to_owned()),
        ("decode", json!({ "encoded": " aMOp ", "encoding": "base64" }), "hé".to_owned()),
        (
            "hash",
            json!({ "text": "abc" }),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad".to_owned(),
        ),
        ("convert_case", json!({ "text": "Hello, World", "to": "snake" }), "hello_world".to_owned()),
        (
            "truncate",
            json!({ "text": "one two", "max_characters": 5 }),
            json!({ "text": "one…", "characters_cut": 4 }).to_string(),
        ),
    ];
    let mut wrong = Vec::new();
    for (tool, arguments, expected) in &cases {
        let got = outcome(&home.call(&format!("remit/text.{tool}"), arguments));
        if got != *expected {
            wrong.push(format!("{tool}: {got}"));
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
    let installed = home.app.admin().installed().expect("a list");
    let entry = installed.entries.values().next().expect("one");
    let mut names: Vec<&str> = entry.capability.manifest.tools.iter().map(|tool| tool.name.as_str()).collect();
    let mut called: Vec<&str> = cases.iter().map(|(tool, ..)| *tool).collect();
    names.sort_unstable();
    called.sort_unstable();
    assert_eq!(called, names, "each of its tools is called");
}

#[test]
fn mistakes_are_said() {
    let home = Home::new();
    home.install(built("text"));
    let cases = [
        ("extract", json!({ "text": "", "pattern": "(" }), "call/invalid-input"),
        ("extract", json!({ "text": "", "pattern": "a", "limit": 0 }), "call/invalid-input"),
        ("decode", json!({ "encoded": "?", "encoding": "base64" }), "call/invalid-input"),
        ("decode", json!({ "encoded": "ff", "encoding": "hex" }), "call/invalid-input"),
        ("encode", json!({ "text": "a", "encoding": "rot13" }), "call/invalid-input"),
        ("json_format", json!({ "json": "{" }), "call/invalid-input"),
        ("json_format", json!({ "json": "[".repeat(100_000) }), "call/invalid-input"),
        ("echo", json!({ "message": "a", "loud": true }), "call/invalid-input"),
    ];
    for (tool, arguments, expected) in cases {
        let result = home.call(&format!("remit/text.{tool}"), &arguments);
        assert_eq!(outcome(&result), expected, "{tool}: {result:?}");
    }
}

#[test]
fn it_asks_the_host_for_nothing() {
    let scratch = tempfile::tempdir().expect("a scratch folder");
    let file = scratch.path().join("text.wasm");
    std::fs::write(&file, built("text")).expect("room");
    let report = remit(scratch.path(), &["inspect", &file.display().to_string(), "--json"], "").json();
    assert_eq!(report["valid"], true);
    assert_eq!(report["warnings"], json!([]));
    let imports: Vec<&Value> = report["imports"].as_array().expect("imports").iter().collect();
    assert!(
        imports.iter().all(|import| import.as_str().is_some_and(|name| name.starts_with("remit:"))),
        "{imports:?}"
    );
    assert_eq!(report["manifest"]["uses"], Value::Null, "no namespace is declared");
}
