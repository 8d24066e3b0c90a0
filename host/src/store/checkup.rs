//! What a database says about itself: asked read-only, repaired never.

use std::path::Path;

use rusqlite::Connection;

use super::failure::damaged;
use super::{FILE, connect, migrations, process};
use crate::error::{Error, ErrorKind, Result};
use crate::registry::{CapabilityName, Digest};

/// Problems that are listed at most: the first ones say it all.
const PROBLEMS: usize = 10;

/// A database that is looked at.
pub(crate) struct Checkup {
    connection: Connection,
    version: usize,
}

impl Checkup {
    /// Opens the database of a home, whatever its state; it may be older than this program.
    pub(crate) fn open(home: &Path) -> Result<Self> {
        super::refuse_old_sqlite(rusqlite::version_number())?;
        let connection = connect(&home.join(FILE))?;
        connection.pragma_update(None, "query_only", true)?;
        let version = migrations::state(&connection)?;
        Ok(Self { connection, version })
    }

    /// Whether the next command brings it up to date first.
    pub(crate) fn is_older(&self) -> bool {
        self.version < migrations::newest()
    }

    /// What is wrong with its pages, rows and references.
    pub(crate) fn problems(&self) -> Result<Vec<String>> {
        let mut problems = integrity(&self.connection)?;
        if schema(&self.connection)? != schema(&migrations::reference(self.version)?)? {
            problems.push("its tables are not as this program makes them".to_owned());
        }
        Ok(problems)
    }

    /// Calls that a process began which is no more. The next start ends their records.
    pub(crate) fn orphans(&self, home: &Path) -> Result<u64> {
        let mut statement = self
            .connection
            .prepare("SELECT process, count(*) FROM calls WHERE process IS NOT NULL GROUP BY process")?;
        let owners = statement.query_map([], |row| Ok((row.get::<_, String>(0)?, super::read_count(row, 1)?)))?;
        let mut orphans = 0;
        for owner in owners {
            let (process, calls) = owner?;
            orphans += if process::is_alive(home, &process)? { 0 } else { calls };
        }
        Ok(orphans)
    }

    /// Capabilities whose sums are not those of their documents.
    pub(crate) fn wrong_sums(&self) -> Result<Vec<CapabilityName>> {
        let mut statement = self.connection.prepare(
            "SELECT publisher, slug FROM holdings LEFT JOIN (
                 SELECT holding, count(*) AS documents, sum(length(key) + octet_length(value)) AS bytes
                 FROM documents GROUP BY holding
             ) AS found ON found.holding = holdings.id
             WHERE holdings.documents <> coalesce(found.documents, 0) OR holdings.bytes <> coalesce(found.bytes, 0)",
        )?;
        let names =
            statement.query_map([], |row| Ok(CapabilityName { publisher: row.get(0)?, slug: row.get(1)? }))?;
        Ok(names.collect::<Result<_, _>>()?)
    }

    /// How many files of conversations there are, and how many of them have not the bytes that they should have.
    pub(crate) fn files(&self) -> Result<(u64, u64)> {
        Ok(self.connection.query_row(
            "SELECT count(*), count(*) FILTER (WHERE files.bytes <> coalesce(found, 0)) FROM files LEFT JOIN (
                 SELECT file, sum(length(bytes)) AS found FROM file_pieces GROUP BY file
             ) ON file = files.id",
            [],
            |row| Ok((super::read_count(row, 0)?, super::read_count(row, 1)?)),
        )?)
    }
}

/// The version of the SQLite that this program carries.
#[must_use]
pub fn sqlite_version() -> &'static str {
    rusqlite::version()
}

/// What SQLite finds wrong; nothing when the file is sound.
pub(super) fn integrity(connection: &Connection) -> Result<Vec<String>> {
    let mut statement = connection.prepare(&format!("PRAGMA integrity_check({PROBLEMS})"))?;
    let lines: Vec<String> = statement.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
    let mut problems: Vec<_> = lines.into_iter().filter(|line| line != "ok").collect();
    let dangling: u64 = connection
        .query_row("SELECT count(*) FROM pragma_foreign_key_check", [], |row| super::read_count(row, 0))?;
    if dangling > 0 {
        problems.push(format!("{dangling} rows refer to rows that are not there"));
    }
    Ok(problems)
}

/// Every table, index and trigger, as it was made.
pub(super) fn schema(connection: &Connection) -> Result<Vec<(String, String)>> {
    let mut statement = connection.prepare(
        "SELECT name, sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite%' ORDER BY name",
    )?;
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// The digests that installs are pinned to, and those that they can return to.
pub(super) fn pinned(connection: &Connection) -> Result<Vec<Digest>> {
    // A backup of a program that kept no earlier versions has no table of them.
    let keeps: bool =
        connection.query_row("SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE name = 'earlier')", [], |row| {
            row.get(0)
        })?;
    let earlier = if keeps { " UNION SELECT digest FROM earlier" } else { "" };
    let mut statement = connection.prepare(&format!("SELECT digest FROM installs GROUP BY digest{earlier}"))?;
    let digests = statement.query_map([], |row| row.get::<_, String>(0))?;
    digests.map(|digest| digest?.parse().map_err(|_| damaged("a digest in `installs`"))).collect()
}

/// A file that is not what it should be.
pub(super) fn unsound(file: &Path, detail: impl std::fmt::Display) -> Error {
    Error::new(ErrorKind::Store, format!("`{}` is damaged: {detail}", file.display()))
        .hint("use another backup; this one was left as it is")
}
