//! A home whose `test/keeper` keeps documents, and what is in its database: read without the program, so that
//! no code of its own can hide what it lost.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use rusqlite::Connection;
use serde_json::json;
use tempfile::TempDir;

use crate::support::client::Client;
use crate::support::home::{Ended, built, remit};

/// A home that no process uses.
pub(super) struct Kept {
    folder: TempDir,
}

impl Kept {
    /// With `test/keeper` installed, granted and compiled.
    pub(super) fn new() -> Self {
        let folder = tempfile::tempdir().expect("a scratch folder");
        let file = folder.path().join("keeper.wasm");
        std::fs::write(&file, built("keeper")).expect("room for a component");
        let kept = Self { folder };
        let installed = kept.remit(&["install", file.to_str().expect("a text"), "--yes"]);
        assert_eq!(installed.exit, Some(0), "{installed:?}");
        // Nobody is there to be asked between a write and a kill.
        let unasked = kept.remit(&["restrict", "test/keeper", "--confirm", "never"]);
        assert_eq!(unasked.exit, Some(0), "{unasked:?}");
        kept
    }

    pub(super) fn home(&self) -> PathBuf {
        self.folder.path().join("home")
    }

    /// A server on it.
    pub(super) fn client(&self, environment: Vec<(&str, OsString)>) -> Client {
        Client::start_with(&self.home(), environment)
    }

    /// Runs the program on it.
    pub(super) fn remit(&self, arguments: &[&str]) -> Ended {
        remit(&self.home(), arguments, "")
    }
}

/// Stores a document. `None` when the server went away before it answered.
pub(super) fn put(client: &mut Client, key: &str, value: u64) -> Option<Result<String, String>> {
    client.try_call("keeper__put", &json!({ "entity": "notes", "key": key, "value": value.to_string() }))
}

/// Ends a server as `kill -9` does.
pub(super) fn kill(process: u32) {
    let process = i32::try_from(process).ok().and_then(rustix::process::Pid::from_raw).expect("a process");
    rustix::process::kill_process(process, rustix::process::Signal::KILL).expect("it is ours");
}

fn open(home: &Path) -> Connection {
    Connection::open(home.join("remit.db")).expect("the database opens")
}

fn number(connection: &Connection, query: &str) -> i64 {
    connection.query_row(query, [], |row| row.get(0)).unwrap_or_else(|error| panic!("{query}: {error}"))
}

/// Every document in `notes`: its value by its key.
pub(super) fn notes(home: &Path) -> BTreeMap<String, u64> {
    let connection = open(home);
    let mut statement = connection
        .prepare("SELECT CAST(key AS TEXT), value FROM documents WHERE entity = 'notes'")
        .expect("the table is there");
    let rows = statement
        .query_map([], |row| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?)))
        .expect("it is read");
    rows.map(|row| row.expect("it is read")).map(|(key, value)| (key, value.parse().expect("a number"))).collect()
}

/// The database is sound, and nothing in it is half of something: each version that was given is one recorded
/// change, each document's last change is recorded, and the sums are those of the documents.
pub(super) fn check_whole(home: &Path) {
    let connection = open(home);
    let sound: String =
        connection.query_row("PRAGMA integrity_check", [], |row| row.get(0)).expect("it can be checked");
    assert_eq!(sound, "ok");
    assert_eq!(number(&connection, "SELECT count(*) FROM pragma_foreign_key_check"), 0);
    for (what, wrong) in [
        (
            "versions without a change",
            "SELECT count(*) FROM holdings WHERE version <> (SELECT count(*) FROM changes)",
        ),
        (
            "sums",
            "SELECT count(*) FROM holdings WHERE documents <> (SELECT count(*) FROM documents)
             OR bytes <> (SELECT coalesce(sum(length(key) + octet_length(value)), 0) FROM documents)",
        ),
        (
            "documents whose change is not recorded",
            "SELECT count(*) FROM documents WHERE NOT EXISTS (SELECT 1 FROM changes
             WHERE changes.version = documents.version AND changes.entity = documents.entity
             AND changes.key = CAST(documents.key AS TEXT) AND action = 'put')",
        ),
    ] {
        assert_eq!(number(&connection, wrong), 0, "{what}");
    }
}
