//! Databases of every version that was released, one that is not yet, and the real program killed on the way
//! from one to the next. `tests/data/homes` has a folder for each released version: what a program of it wrote,
//! as SQL, and its key.

use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use rusqlite::Connection;
use rusqlite::types::Value;
use tempfile::TempDir;

use super::disk::{Disk, Fault, KILL};
use crate::support::home::{Ended, program, remit};

/// The generation moves with a migration that changes what it counts.
const MOVES: &str = "meta";

type Rows = BTreeMap<String, Vec<Vec<Value>>>;

fn released() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/data/homes");
    let homes: Vec<_> =
        fs::read_dir(folder).expect("the folder").map(|entry| entry.expect("a home").path()).collect();
    assert!(!homes.is_empty());
    homes
}

/// A home as a program of that version left it.
fn home_of(version: &Path) -> TempDir {
    let home = tempfile::tempdir().expect("a scratch folder");
    let database = Connection::open(home.path().join("remit.db")).expect("a new database");
    let text = fs::read_to_string(version.join("remit.sql")).expect("what it wrote");
    database.execute_batch("PRAGMA foreign_keys = OFF; PRAGMA journal_mode = WAL;").expect("settings");
    database.execute_batch(&text).expect("what it wrote");
    drop(database);
    fs::copy(version.join("key"), home.path().join("key")).expect("its key");
    for file in ["remit.db", "key"] {
        fs::set_permissions(home.path().join(file), Permissions::from_mode(0o600)).expect("ours");
    }
    home
}

/// Every row of these tables in these columns; without any, of all tables.
fn rows(home: &Path, of: Option<&BTreeMap<String, Vec<String>>>) -> (BTreeMap<String, Vec<String>>, Rows) {
    let database = Connection::open(home.join("remit.db")).expect("it opens");
    let list = |query: &str| -> Vec<String> {
        let mut statement = database.prepare(query).expect("a query");
        let names = statement.query_map([], |row| row.get(0)).expect("names");
        names.map(|name| name.expect("a name")).collect()
    };
    let columns = of.cloned().unwrap_or_else(|| {
        let tables = list("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%'");
        let named = tables.into_iter().filter(|table| table != MOVES);
        named
            .map(|table| (table.clone(), list(&format!("SELECT name FROM pragma_table_info('{table}')"))))
            .collect()
    });
    let read = |table: &String, columns: &Vec<String>| {
        let (names, number) = (columns.join(", "), columns.len());
        let mut statement =
            database.prepare(&format!("SELECT {names} FROM {table} ORDER BY {names}")).expect("its columns");
        let rows =
            statement.query_map([], |row| (0..number).map(|column| row.get(column)).collect()).expect("rows");
        rows.map(|row| row.expect("a row")).collect()
    };
    let rows = columns.iter().map(|(table, columns)| (table.clone(), read(table, columns))).collect();
    (columns, rows)
}

fn version(home: &Path) -> i32 {
    let database = Connection::open(home.join("remit.db")).expect("it opens");
    database.pragma_query_value(None, "user_version", |row| row.get(0)).expect("a number")
}

/// The version that this program makes.
fn newest() -> i32 {
    let home = tempfile::tempdir().expect("a scratch folder");
    assert_eq!(remit(home.path(), &["list"], "").exit, Some(0));
    version(home.path())
}

/// The state of each check of `remit doctor`.
fn checks(ended: &Ended) -> BTreeMap<String, String> {
    let text = |value: &serde_json::Value| value.as_str().expect("a text").to_owned();
    let findings = ended.json();
    let findings = findings.as_array().expect("findings").iter();
    findings.map(|finding| (text(&finding["check"]), text(&finding["state"]))).collect()
}

#[test]
fn db08_every_released_version_comes_up_to_date_with_all_that_it_had() {
    for released in released() {
        let home = home_of(&released);
        let (columns, before) = rows(home.path(), None);
        assert!(before.values().all(|rows| !rows.is_empty()), "each table of {released:?} has rows");
        assert_eq!(checks(&remit(home.path(), &["doctor", "--json"], ""))["database"], "warn", "it is older");
        let listed = remit(home.path(), &["list", "--json"], "");
        assert_eq!(listed.json().as_array().expect("installs").len(), before["installs"].len(), "{listed:?}");
        assert_eq!(version(home.path()), newest());
        assert_eq!(rows(home.path(), Some(&columns)).1, before);
        let checks = checks(&remit(home.path(), &["doctor", "--json"], ""));
        assert_eq!((checks["database"].as_str(), checks["key"].as_str()), ("ok", "ok"), "{checks:?}");
    }
}

#[test]
fn db08_a_newer_version_is_refused_and_left_alone() {
    let newer = newest() + 1;
    for released in released() {
        let home = home_of(&released);
        let database = Connection::open(home.path().join("remit.db")).expect("it opens");
        database.pragma_update(None, "user_version", newer).expect("a number");
        drop(database);
        let file = home.path().join("remit.db");
        let before = fs::read(&file).expect("the file");
        for command in [&["list"][..], &["serve"], &["secret", "list"], &["doctor"], &["backup", "copy"]] {
            let ended = remit(home.path(), command, "");
            assert_ne!(ended.exit, Some(0), "{command:?}");
            let said = format!("{}{}", ended.stdout, ended.stderr);
            assert!(said.contains("newer version of this program"), "{said}");
            assert_eq!(fs::read(&file).expect("the file"), before, "{command:?}");
        }
    }
}

#[test]
fn db07_the_program_killed_at_any_operation_comes_up_to_date_at_the_next_start() {
    let newest = newest();
    for released in released() {
        let mut kills = 0;
        for at in 1.. {
            let home = home_of(&released);
            let (columns, before) = rows(home.path(), None);
            let from = version(home.path());
            let disk = Disk::new();
            disk.set(Fault { at, error: KILL, is_lasting: false });
            let output = Command::new(program())
                .arg("list")
                .env("REMIT_HOME", home.path())
                .envs(disk.environment())
                .output()
                .expect("it starts");
            let found = version(home.path());
            assert!((from..=newest).contains(&found), "operation {at}: {found}");
            let listed = remit(home.path(), &["list"], "");
            assert_eq!(listed.exit, Some(0), "operation {at}: {listed:?}");
            assert_eq!(version(home.path()), newest, "operation {at}");
            assert_eq!(rows(home.path(), Some(&columns)).1, before, "operation {at}");
            if output.status.signal().is_none() {
                assert_eq!(disk.clear(), 0);
                break;
            }
            kills += 1;
        }
        assert!(kills > 10, "{kills}");
    }
}
