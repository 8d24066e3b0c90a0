//! From any known state of the database to the newest one, or a refusal that changes nothing.
//!
//! Each step is one transaction that also moves `user_version`: a process that is killed leaves the
//! database before a step or after it. Several processes may start at once; the first does the work.

use std::path::Path;

use rusqlite::{Connection, TransactionBehavior};

use super::backup;
use super::failure::damaged;
use super::files::hold_lock;
use crate::error::{Error, ErrorKind, Result};

/// In order; step `n` leads from `user_version` `n` to `n + 1`. Released steps are never edited.
const STEPS: &[&str] = &[
    include_str!("migrations/0001_first.sql"),
    include_str!("migrations/0002_decisions_and_values.sql"),
    include_str!("migrations/0003_loops.sql"),
    include_str!("migrations/0004_entities.sql"),
    include_str!("migrations/0005_deliveries.sql"),
    include_str!("migrations/0006_listing.sql"),
    include_str!("migrations/0007_principals.sql"),
    include_str!("migrations/0008_restrictions.sql"),
    include_str!("migrations/0009_upstreams.sql"),
    include_str!("migrations/0010_programs.sql"),
    include_str!("migrations/0011_sandbox.sql"),
    include_str!("migrations/0012_embeddings.sql"),
    include_str!("migrations/0013_keys.sql"),
    include_str!("migrations/0014_versions.sql"),
];

/// Marks the file as ours: the letters "RMIT".
pub(super) const APPLICATION_ID: i32 = 0x524d_4954;

/// Held while the database is set up, so that processes that start together do it one after another:
/// SQLite does not wait for a lock when it changes the journal mode.
const LOCK_FILE: &str = "setup.lock";

/// Brings the database up to date, and makes sure that it is in WAL mode.
pub(super) fn prepare(connection: &mut Connection, home: &Path) -> Result<()> {
    if state(connection)? < STEPS.len() {
        let _held = hold_lock(home, LOCK_FILE)?;
        set_wal(connection)?;
        for step in state(connection)?..STEPS.len() {
            apply(connection, step)?;
        }
    }
    set_wal(connection)
}

/// How many steps the database has had. Refuses one that is not ours, or from the future.
///
/// One transaction, so that another process that sets it up meanwhile is seen before or after, not between.
pub(super) fn state(connection: &Connection) -> Result<usize> {
    let connection = connection.unchecked_transaction()?;
    let pragma = |name| connection.pragma_query_value(None, name, |row| row.get::<_, i32>(0));
    let (application_id, version) = (pragma("application_id")?, pragma("user_version")?);
    let is_new = application_id == 0 && version == 0 && {
        let objects: i64 = connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
        objects == 0
    };
    if is_new {
        return Ok(0);
    }
    if application_id == backup::BACKUP_ID {
        return Err(Error::new(ErrorKind::Store, "`remit.db` is a backup, which is not used as it is")
            .hint("remit --home NEW-DIRECTORY restore FILE"));
    }
    if application_id != APPLICATION_ID {
        return Err(Error::new(ErrorKind::Store, "`remit.db` is the database of another program")
            .hint("choose another data directory with `--home` or `REMIT_HOME`"));
    }
    known_version(&connection)
}

/// How many steps it has had, when this program knows all of them.
pub(super) fn known_version(connection: &Connection) -> Result<usize> {
    let version = connection.pragma_query_value(None, "user_version", |row| row.get::<_, i32>(0))?;
    let version = usize::try_from(version).map_err(|_| damaged(format!("`user_version` is {version}")))?;
    if version > STEPS.len() {
        return Err(Error::new(ErrorKind::Store, "the database was made by a newer version of this program")
            .detail(format!("`user_version` is {version}, this program knows {}", STEPS.len()))
            .hint("use that version, or choose another data directory with `--home`"));
    }
    Ok(version)
}

/// How many steps there are.
pub(super) fn newest() -> usize {
    STEPS.len()
}

/// A database in memory that has had so many steps: what one of that version must look like.
pub(super) fn reference(version: usize) -> Result<Connection> {
    let mut connection = Connection::open_in_memory()?;
    for step in 0..version {
        apply(&mut connection, step)?;
    }
    Ok(connection)
}

fn apply(connection: &mut Connection, step: usize) -> Result<()> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    transaction.execute_batch(STEPS[step])?;
    transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
    let version = i32::try_from(step + 1).map_err(|_| Error::internal("too many migrations"))?;
    transaction.pragma_update(None, "user_version", version)?;
    Ok(transaction.commit()?)
}

/// The answer is what counts: some file systems refuse WAL without an error.
fn set_wal(connection: &Connection) -> Result<()> {
    let mode: String = connection.pragma_update_and_check(None, "journal_mode", "wal", |row| row.get(0))?;
    if mode == "wal" {
        return Ok(());
    }
    Err(Error::new(ErrorKind::Store, "the file system of the data directory cannot keep the database safe")
        .detail(format!("journal mode is `{mode}`"))
        .hint("choose a directory on a local disk with `--home` or `REMIT_HOME`"))
}

#[cfg(test)]
mod tests;
