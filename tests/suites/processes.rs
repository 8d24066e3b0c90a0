//! Several processes on one home: every client starts its own server, the command line works beside them,
//! and all see each other's decisions on the next call.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use remit_guests::Guest;
use serde_json::Value;

use crate::support::client::Client;
use crate::support::home::program;

fn remit(home: &Path, arguments: &[&str]) {
    let output = Command::new(program()).args(arguments).env("REMIT_HOME", home).output().expect("remit starts");
    assert!(output.status.success(), "remit {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn four_servers_and_a_command_line_share_a_home() {
    let scratch = tempfile::tempdir().expect("a scratch folder");
    let home = scratch.path().join("home");
    let file = |slug: &str, guest: &Guest| {
        let path = scratch.path().join(format!("{slug}.wasm"));
        std::fs::write(&path, guest.capability(slug)).expect("room");
        path.display().to_string()
    };
    let first = file("first", &Guest::done());
    let second = file("second", &Guest::done());

    // All of them make the home at once.
    let mut clients: Vec<Client> = std::thread::scope(|scope| {
        let starting: Vec<_> = (0..4).map(|_| scope.spawn(|| Client::start(&home))).collect();
        starting.into_iter().map(|client| client.join().expect("a client")).collect()
    });
    for client in &mut clients {
        assert_eq!(client.tools(), Vec::<String>::new());
        assert_eq!(client.call("first__run"), "-32602");
    }

    remit(&home, &["install", &first, "--yes"]);
    for client in &mut clients {
        assert_eq!(client.call("first__run"), "ok", "on the very next call");
        assert_eq!(client.tools(), ["first__run"]);
    }

    // Every client calls all the time, while the command line installs and removes.
    let calls = std::thread::scope(|scope| {
        let calling: Vec<_> = clients
            .iter_mut()
            .map(|client| {
                scope.spawn(move || {
                    let mut slowest = Duration::ZERO;
                    for _ in 0..100 {
                        let begun = Instant::now();
                        assert_eq!(client.call("first__run"), "ok");
                        slowest = slowest.max(begun.elapsed());
                        let other = client.call("second__run");
                        assert!(other == "ok" || other == "-32602", "{other}");
                    }
                    slowest
                })
            })
            .collect();
        for _ in 0..5 {
            remit(&home, &["install", &second, "--yes"]);
            remit(&home, &["uninstall", "test/second"]);
        }
        calling.into_iter().map(|calls| calls.join().expect("no client fails")).max().expect("clients")
    });
    assert!(calls < Duration::from_secs(10), "nothing blocks for long: {calls:?}");

    remit(&home, &["uninstall", "test/first"]);
    for client in &mut clients {
        assert_eq!(client.call("first__run"), "-32602", "on the very next call");
        assert_eq!(client.tools(), Vec::<String>::new());
        // The change was announced, or will be: reading goes on until it was.
        while client.notified == 0 {
            client.receive();
        }
    }
    drop(clients);

    // No record is lost: 4 clients made 1 + 100 calls that were answered, and the database is sound.
    let output = Command::new(program())
        .args(["audit", "--json", "--capability", "test/first", "--outcome", "ok", "--limit", "1000"])
        .env("REMIT_HOME", &home)
        .output()
        .expect("remit starts");
    let records: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(records.as_array().expect("records").len(), 4 * 101);
}
