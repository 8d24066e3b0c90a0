//! Attacks on what is written: the way of a value into the vault, and logs that are turned up.

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use rusqlite::Connection;

use super::{keyed, with_key};
use crate::support::home::{program, remit};
use crate::support::spellings;
use crate::support::world::SECRET;

#[test]
fn s35_no_log_level_shows_a_value() {
    let world = keyed();
    let arguments = with_key().to_string();
    let levels = [
        "trace",
        "hyper=trace,hyper_util=trace,h2=trace,rustls=trace,tokio_rustls=trace,trace",
        "rmcp=trace,remit=trace,wasmtime=trace",
        "remit::secrets=trace,remit::egress=trace",
    ];
    for level in levels {
        let output = Command::new(program())
            .args(["call", "test/probe.fetch", &arguments, "--verbose"])
            .env("REMIT_HOME", world.home.path())
            .env("REMIT_LOG", level)
            .env("RUST_LOG", "trace")
            .env("RUST_BACKTRACE", "full")
            .output()
            .expect("remit starts");
        let said =
            format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success() && said.contains("[redacted:API_KEY]"), "{level}: {said}");
        for spelling in spellings::all(SECRET) {
            assert!(!spelling.is_in(said.as_bytes()), "{level}, {}: {said}", spelling.name);
        }
        for library in ["hyper", "rustls", "h2::"] {
            assert!(
                !said.contains(&format!("TRACE {library}")) && !said.contains(&format!("DEBUG {library}")),
                "{said}"
            );
        }
    }
    assert_eq!(world.upstream.seen().len(), levels.len());
}

#[test]
fn s43_a_row_of_another_name_or_of_yesterday_does_not_open() {
    let world = keyed();
    world.set("OTHER_KEY", "pk_test_Qm5+tR/0vJz8yEw1Kd=");
    let database = Connection::open(world.home.path().join("remit.db")).expect("a database");
    let change = |statements: &str| database.execute_batch(statements).expect("SQL");
    let opens = |expected: bool, what: &str| {
        let before = world.upstream.seen().len();
        let result = world.fetch(&with_key());
        assert_eq!(result.is_ok(), expected, "{what}: {result:?}");
        assert_eq!(world.upstream.seen().len(), before + usize::from(expected), "{what}");
        if !expected {
            assert_eq!(world.home.records()[0].requests[0].outcome, "secret/key", "{what}");
        }
    };
    opens(true, "as it was");
    let swap = "UPDATE secrets SET name = 'X' WHERE name = 'API_KEY';
                UPDATE secrets SET name = 'API_KEY' WHERE name = 'OTHER_KEY';
                UPDATE secrets SET name = 'OTHER_KEY' WHERE name = 'X';";
    change(swap);
    opens(false, "the row of another name");
    change(swap);
    opens(true, "back in its place");
    change("CREATE TEMP TABLE yesterday AS SELECT * FROM secrets WHERE name = 'API_KEY'");
    world.set("API_KEY", "sk_live_of-today-0123456789");
    opens(true, "the value of today");
    change("CREATE TEMP TABLE today AS SELECT * FROM secrets WHERE name = 'API_KEY'");
    for (table, expected) in [("yesterday", false), ("today", true)] {
        change(&format!("DELETE FROM secrets WHERE name = 'API_KEY'; INSERT INTO secrets SELECT * FROM {table}"));
        opens(expected, table);
    }
    // Nor does a ciphertext that was moved, or touched.
    change(
        "UPDATE secrets SET (salt, nonce, ciphertext) = (SELECT salt, nonce, ciphertext FROM yesterday)
         WHERE name = 'API_KEY'",
    );
    opens(false, "the ciphertext of yesterday in the row of today");
}

#[test]
fn a_value_is_seen_by_nobody_on_its_way_in() {
    let scratch = tempfile::tempdir().expect("a scratch folder");
    let home = scratch.path().join("home");
    let mut child = Command::new(program())
        .args(["secret", "set", "API_KEY"])
        .env("REMIT_HOME", &home)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("remit starts");
    let mut stdin = child.stdin.take().expect("a pipe");
    stdin.write_all(SECRET.as_bytes()).expect("it reads");
    // It waits for the end of its input, and anybody on this machine can look at it.
    let process = Path::new("/proc").join(child.id().to_string());
    for file in ["cmdline", "environ", "comm"] {
        let shown = fs::read(process.join(file)).expect("the process is there");
        assert!(!shown.windows(SECRET.len()).any(|window| window == SECRET.as_bytes()), "{file}");
    }
    drop(stdin);
    let output = child.wait_with_output().expect("it ends");
    assert!(output.status.success(), "{output:?}");
    assert!(!format!("{output:?}").contains(SECRET));
    let listed = remit(&home, &["secret", "list", "--json"], "");
    assert_eq!(listed.json()[0]["name"], "API_KEY", "{listed:?}");
}
