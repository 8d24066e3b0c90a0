//! A migration that is killed at any statement, and what it then finds when it starts again.

use std::sync::Arc;
use std::time::Duration;

use rusqlite::Batch;
use rusqlite::fallible_iterator::FallibleIterator;

use super::super::{FILE, Store, checkup, connect, files};
use super::*;
use crate::clock::Clock;

/// A database that has had so many steps, with a row that must survive.
fn database(home: &Path, steps: usize) -> Connection {
    files::make_private_file(&home.join(FILE)).unwrap();
    let mut connection = connect(&home.join(FILE)).unwrap();
    set_wal(&connection).unwrap();
    for step in 0..steps {
        apply(&mut connection, step).unwrap();
    }
    if steps > 0 {
        connection
            .execute_batch(
                "INSERT INTO installs VALUES ('acme', 'notes', '1.0.0', 'sha256:' || printf('%064d', 7), 1, 2, '{}');
                 INSERT INTO secrets (name, version, kek_id, salt, nonce, ciphertext, created_at, changed_at)
                 VALUES ('KEY', 1, 'id', zeroblob(32), zeroblob(12), x'07', 1, 2);",
            )
            .unwrap();
    }
    connection
}

/// What a killed process leaves: the files as they are, without what only memory held.
fn killed(home: &Path) -> tempfile::TempDir {
    let left = tempfile::tempdir().unwrap();
    for file in [FILE.to_owned(), format!("{FILE}-wal")] {
        if home.join(&file).exists() {
            std::fs::copy(home.join(&file), left.path().join(&file)).unwrap();
        }
    }
    left
}

#[test]
fn db07_a_migration_killed_at_any_statement_ends_before_or_after_its_step() {
    let mut unfinished_on_disk = 0;
    for (step, statements_of_step) in STEPS.iter().enumerate() {
        let home = tempfile::tempdir().unwrap();
        let connection = database(home.path(), step);
        // So little memory that unfinished work goes to the disk, where the next start meets it.
        connection.execute_batch("PRAGMA cache_size = 1; PRAGMA cache_spill = 1; BEGIN IMMEDIATE").unwrap();
        let before = std::fs::metadata(home.path().join("remit.db-wal")).unwrap().len();
        let mut batch = Batch::new(&connection, statements_of_step);
        let mut statements = 0;
        while let Some(mut statement) = batch.next().unwrap() {
            statement.execute([]).unwrap();
            statements += 1;
            let left = killed(home.path());
            let log = std::fs::metadata(left.path().join("remit.db-wal")).unwrap().len();
            unfinished_on_disk += u32::from(log > before);

            let found = connect(&left.path().join(FILE)).unwrap();
            assert_eq!(state(&found).unwrap(), step, "statement {statements}: not between");
            drop(found);
            drop(Store::open(left.path(), Arc::new(Clock::manual(Duration::ZERO))).unwrap());
            let found = connect(&left.path().join(FILE)).unwrap();
            assert_eq!(state(&found).unwrap(), STEPS.len());
            assert_eq!(
                checkup::schema(&found).unwrap(),
                checkup::schema(&reference(STEPS.len()).unwrap()).unwrap()
            );
            assert_eq!(checkup::integrity(&found).unwrap(), [""; 0]);
            let rows: i64 = found
                .query_row("SELECT (SELECT count(*) FROM installs) + (SELECT count(*) FROM secrets)", [], |row| {
                    row.get(0)
                })
                .unwrap();
            assert_eq!(rows, if step > 0 { 2 } else { 0 });
        }
        assert!(statements > 0, "step {step}");
    }
    assert!(unfinished_on_disk > 10, "{unfinished_on_disk}");
}

#[test]
fn a_home_of_the_first_step_keeps_its_secrets_and_what_it_approved() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join(FILE);
    files::make_private_file(&path).unwrap();
    let mut connection = connect(&path).unwrap();
    apply(&mut connection, 0).unwrap();
    let digest = format!("sha256:{:064}", 0);
    connection
        .execute_batch(&format!(
            "INSERT INTO installs VALUES ('acme', 'weather', '1.0.0', '{digest}', 1, 1, '{{}}');
             INSERT INTO approvals VALUES ('acme', 'weather', '{digest}', 'A', 'B', 'a.example', 443, 'body'),
             ('acme', 'weather', '{digest}', 'A', 'B', 'b.example', 443, 'body');
             INSERT INTO secrets VALUES ('B', 7, 'key', zeroblob(32), zeroblob(12), x'00', 1, 2);"
        ))
        .unwrap();
    prepare(&mut connection, home.path()).unwrap();
    let row =
        |sql| -> (String, String) { connection.query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?))).unwrap() };
    let pair = |one: &str, other: &str| (one.to_owned(), other.to_owned());
    assert_eq!(row("SELECT secret, source FROM exposures"), pair("A", "B"));
    let secret = row("SELECT kind, CAST(scheme AS TEXT) FROM secrets WHERE expires_at IS NULL");
    assert_eq!(secret, pair("value", "1"));
    let rosters = row("SELECT CAST(count(*) AS TEXT), '' FROM roster");
    assert_eq!(rosters, pair("0", ""), "only who has the key can make one");
}
