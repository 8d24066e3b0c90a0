//! Messages without an end.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::support::door::{Door, initialize};
use crate::support::home::program;

#[test]
fn a_body_is_bounded_also_in_chunks() {
    let door = Door::open("[serve]\nbody-bytes = 10000\n");
    let fits = format!("{}{}", initialize(), " ".repeat(10_000 - initialize().to_string().len()));
    assert_eq!(door.send("POST", "/mcp", &[], &fits).status, 200);
    assert_eq!(door.send("POST", "/mcp", &[], &format!("{fits} ")).status, 413);
    let chunked = ["Transfer-Encoding: chunked"];
    let chunk = format!("2711\r\n{}\r\n0\r\n\r\n", " ".repeat(10_001));
    assert_eq!(door.send("POST", "/mcp", &chunked, &chunk).status, 413);
    let small = format!("64\r\n{}\r\n", " ".repeat(100));
    let many = format!("{}0\r\n\r\n", small.repeat(101));
    assert_eq!(door.send("POST", "/mcp", &chunked, &many).status, 413, "many small ones");
    // What is announced is refused before it comes, and no room is made for it.
    let before = door.memory();
    for _ in 0..20 {
        assert_eq!(door.announce(99_999_999_999), 413);
    }
    assert!(door.memory() < before + 4096);
}

#[test]
fn a_line_is_bounded_on_stdio() {
    let home = tempfile::tempdir().unwrap();
    let mut child = Command::new(program())
        .args(["serve", "--tools", "direct"])
        .env("REMIT_HOME", home.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    writeln!(input, "{}", initialize()).unwrap();
    // Longer than any line that is read, and all of it one text.
    let ping = |id: &str| json!({ "jsonrpc": "2.0", "id": id, "method": "ping" });
    let mut long = ping("long");
    long["params"] = json!({ "text": "a".repeat(17 * 1024 * 1024) });
    writeln!(input, "{long}").unwrap();
    writeln!(input, "{}", ping("last")).unwrap();
    input.flush().unwrap();
    let mut answered = Vec::new();
    while answered.last() != Some(&json!("last")) {
        let mut line = String::new();
        assert!(output.read_line(&mut line).unwrap() > 0, "the session goes on");
        answered.push(serde_json::from_str::<Value>(&line).unwrap()["id"].clone());
    }
    assert!(!answered.contains(&json!("long")), "{answered:?}");
    drop(input);
    assert!(child.wait().unwrap().success());
}
