//! What lasts longer than a request: how much of it there may be, whose it is, and that nothing passes from one to
//! another.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};

use crate::support::door::{Door, serve};
use crate::support::home::built;

/// More than a door keeps, as a client without manners would begin.
const FLOOD: usize = 3000;

/// KiB that the flood may cost.
const COST: u64 = 10 * 1024;

#[test]
fn a_flood_of_beginnings_costs_little() {
    let door = Door::open("[serve]\nsessions = 20\n");
    for _ in 0..20 {
        assert_eq!(door.begin(&[]).status, 200);
    }
    let before = door.memory();
    for _ in 0..FLOOD {
        assert_eq!(door.begin(&[]).status, 503);
    }
    let after = door.memory();
    assert!(after < before + COST, "{before} KiB before, {after} KiB after");

    let home = tempfile::tempdir().expect("a scratch folder");
    let guarded = Door::of(&mut serve("127.0.0.1:0", home.path()));
    assert_eq!(guarded.begin(&[]).status, 401);
    let before = guarded.memory();
    for _ in 0..FLOOD {
        assert_eq!(guarded.begin(&[]).status, 401);
    }
    let after = guarded.memory();
    assert!(after < before + COST, "{before} KiB before, {after} KiB after");
}

#[test]
fn sessions_are_bounded_and_an_ended_one_makes_room() {
    let door = Door::open("[serve]\nsessions = 2\n");
    let first = door.begin(&[]).session();
    door.begin(&[]).session();
    let full = door.begin(&[]);
    assert!(full.status == 503 && full.head.contains("retry-after: "), "{full:?}");
    assert_eq!(door.send("DELETE", "/mcp", &[&first], "").status, 202);
    let list = json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/list" }).to_string();
    assert_eq!(door.send("POST", "/mcp", &[&first], &list).status, 404, "an ended one is gone");
    assert_eq!(door.begin(&[]).status, 200);
}

#[test]
fn ids_of_sessions_are_long_and_never_come_again() {
    let door = Door::open("[serve]\nsessions = 1\n");
    let mut seen = BTreeSet::new();
    for _ in 0..50 {
        let session = door.begin(&[]).session();
        let id = session.split_once(": ").expect("a field").1;
        assert!(id.len() >= 32 && id.bytes().all(|byte| byte.is_ascii_graphic()), "{id}");
        assert!(seen.insert(id.to_owned()), "{id} came again");
        assert_eq!(door.send("DELETE", "/mcp", &[&session], "").status, 202);
    }
    // Nothing that two of them share is long enough to guess the rest from.
    let shared = seen
        .iter()
        .zip(seen.iter().skip(1))
        .map(|(left, right)| left.bytes().zip(right.bytes()).take_while(|(left, right)| left == right).count());
    assert!(shared.max().unwrap_or(0) < 8, "{seen:?}");
    let asked = door.begin(&["Mcp-Session-Id: chosen-by-the-client"]);
    assert!(!asked.head.contains("chosen-by-the-client"), "{asked:?}");
}

#[test]
fn there_are_no_tasks_to_take() {
    let door = Door::open("");
    for method in ["tasks/get", "tasks/update", "tasks/cancel", "tasks/list", "tasks/result"] {
        let answer = door.ask(&[], method, &json!({ "taskId": "1" }));
        assert!(answer.body.contains("\"error\"") && !answer.body.contains("\"result\""), "{method}: {answer:?}");
    }
}

#[test]
fn equal_ids_of_several_clients_are_not_mixed_up() {
    let door = Door::with("", &[built("echo")]);
    let sessions: Vec<String> = (0..2).map(|_| door.begin(&[]).session()).collect();
    let answered = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for client in 0..6 {
            let (door, session, answered) = (&door, sessions.get(client), &answered);
            scope.spawn(move || {
                for turn in 0..20 {
                    let message = format!("client {client}, turn {turn}");
                    // Every client counts alike, and repeats itself.
                    let id = json!(turn % 3);
                    let params = json!({ "name": "echo__echo", "arguments": { "message": message } });
                    let answer = match session {
                        Some(session) => {
                            let body =
                                json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params });
                            door.send("POST", "/mcp", &[session], &body.to_string())
                        }
                        None => door.ask_with(&[], "tools/call", &params, &id),
                    };
                    let answer: Value = answer.json();
                    assert_eq!(answer["id"], id, "{answer}");
                    assert_eq!(answer["result"]["content"][0]["text"], json!(message), "{answer}");
                    answered.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
    });
    assert_eq!(answered.load(Ordering::Relaxed), 120);
}
