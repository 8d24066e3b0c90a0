//! `remit doctor` on homes in which one thing each is broken: it names that thing and what to do, changes nothing,
//! and does not stop at it.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use rusqlite::Connection;
use serde_json::Value;

use crate::support::home::{Ended, built, remit};
use crate::support::world::SECRET;

/// A home with an install, a document and a secret.
fn home() -> tempfile::TempDir {
    let home = tempfile::tempdir().expect("a scratch folder");
    let file = home.path().join("keeper.wasm");
    fs::write(&file, built("keeper")).expect("room");
    let put = "{\"entity\":\"notes\",\"key\":\"a\",\"value\":\"1\"}";
    for (arguments, input) in [
        (&["install", file.to_str().expect("a text"), "--yes"][..], ""),
        (&["secret", "set", "API_KEY"], SECRET),
        (&["call", "test/keeper.put", put, "--yes"], ""),
    ] {
        let ended = remit(home.path(), arguments, input);
        assert_eq!(ended.exit, Some(0), "{ended:?}");
    }
    fs::remove_file(file).expect("ours");
    home
}

/// What it found that is not in order: check, state, and what to do.
fn found(ended: &Ended) -> Vec<(String, String, String)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let findings = ended.json();
    let findings = findings.as_array().expect("findings").iter();
    findings
        .map(|finding| (text(&finding["check"]), text(&finding["state"]), text(&finding["remedy"])))
        .filter(|(_, state, _)| state != "ok")
        .collect()
}

fn mode(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).expect("ours");
}

fn sql(home: &Path, statements: &str) {
    let database = Connection::open(home.join("remit.db")).expect("it opens");
    database.execute_batch(statements).expect("it is done");
}

fn component(home: &Path) -> std::path::PathBuf {
    let mut files = fs::read_dir(home.join("components/sha256")).expect("the folder");
    files.next().expect("a component").expect("a component").path()
}

#[test]
fn each_thing_that_is_broken_is_named_with_what_to_do() {
    type Break = fn(&Path);
    let cases: [(Break, &str, &str, &str); 15] = [
        (|home| mode(home, 0o770), "directory", "fail", "chmod 700"),
        (|home| mode(&home.join("key"), 0o640), "permissions", "fail", "chmod 600"),
        (|home| mode(&home.join("remit.db"), 0o644), "permissions", "fail", "chmod 600"),
        (|home| fs::write(home.join("remit.toml"), "[htpp]\n").unwrap(), "settings", "fail", "did you mean"),
        (|home| fs::write(component(home), b"other bytes").unwrap(), "components", "fail", "remit install FILE"),
        (|home| fs::remove_file(component(home)).unwrap(), "components", "fail", "remit install FILE"),
        (|home| fs::remove_file(home.join("key")).unwrap(), "key", "fail", "backup"),
        (
            |home| fs::write(home.join("key"), (1..33).collect::<Vec<u8>>()).unwrap(),
            "key",
            "fail",
            "from the backup",
        ),
        (|home| sql(home, "UPDATE secrets SET ciphertext = zeroblob(40)"), "key", "fail", "remit secret set"),
        (|home| sql(home, "UPDATE holdings SET documents = 7"), "documents", "fail", "export"),
        (|home| sql(home, "DROP INDEX calls_running"), "database", "fail", "restore FILE"),
        (|home| sql(home, "PRAGMA user_version = 99"), "database", "fail", "use that version"),
        (
            |home| {
                let log = fs::File::create(home.join("remit.db-wal")).unwrap();
                log.set_len(65 * 1024 * 1024).unwrap();
                mode(&home.join("remit.db-wal"), 0o600);
            },
            "log",
            "warn",
            "stop every",
        ),
        (|home| sql(home, "UPDATE calls SET process = 'gone', outcome = 'running'"), "records", "warn", "aborted"),
        (
            |home| {
                let mut bytes = fs::read(home.join("remit.db")).unwrap();
                bytes[4096..8192].fill(0x5a);
                fs::write(home.join("remit.db"), bytes).unwrap();
            },
            "database",
            "fail",
            "backup",
        ),
    ];
    let whole = home();
    assert_eq!(found(&remit(whole.path(), &["doctor", "--json"], "")), []);
    for (number, (damage, check, state, remedy)) in cases.into_iter().enumerate() {
        let home = home();
        damage(home.path());
        let before = fs::read(home.path().join("remit.db")).expect("the database");
        let ended = remit(home.path(), &["doctor", "--json"], "");
        let found = found(&ended);
        let named = found.iter().find(|(named, ..)| named == check);
        let (_, found_state, to_do) = named.unwrap_or_else(|| panic!("case {number}: {check}: {ended:?}"));
        assert_eq!(found_state, state, "case {number}: {ended:?}");
        assert!(to_do.contains(remedy), "case {number}: {to_do}");
        assert_eq!(ended.exit, Some(i32::from(state == "fail")), "case {number}: {ended:?}");
        if check == "database" {
            assert_eq!(fs::read(home.path().join("remit.db")).expect("the database"), before, "case {number}");
        }
    }
}

#[test]
fn a_home_that_is_not_there_is_not_made() {
    let scratch = tempfile::tempdir().expect("a scratch folder");
    let home = scratch.path().join("home");
    let ended = remit(&home, &["doctor", "--json"], "");
    assert_eq!((ended.exit, ended.code().as_str()), (Some(1), "host/unsound"), "{ended:?}");
    assert!(!home.exists());
}
