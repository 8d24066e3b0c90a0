//! The rows of secrets: sealed values, which mean nothing here. What belongs together is one closure of the
//! vault's, in one transaction; this room only says what a row is.

use std::collections::BTreeMap;

use rusqlite::{Connection, OptionalExtension, Row};

use super::{Store, count, read_count, read_generation};
use crate::error::Result;
use crate::registry::CapabilityName;
use crate::secrets::{SecretKind, StoredSecret};

/// The columns of a [`Sealed`], in the order of `read_sealed`.
macro_rules! sealed_columns {
    () => {
        "version, kind, expires_at, scheme, kek_id, salt, nonce, ciphertext"
    };
}

/// A value that only the vault can open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Sealed {
    /// Grows with each write and never repeats, not even under another name.
    pub(crate) version: u64,
    pub(crate) kind: SecretKind,
    /// In milliseconds since 1970. After it the value is not put in any more.
    pub(crate) expires_at: Option<i64>,
    /// What the ciphertext is bound to.
    pub(crate) scheme: u64,
    /// Which key sealed it.
    pub(crate) kek_id: String,
    pub(crate) salt: Vec<u8>,
    pub(crate) nonce: Vec<u8>,
    pub(crate) ciphertext: Vec<u8>,
}

/// The newest version of each secret, as text under a MAC.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SealedRoster {
    /// Which key made the MAC.
    pub(crate) kek_id: String,
    pub(crate) newest: String,
    pub(crate) mac: Vec<u8>,
}

/// The two tables that hold sealed values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shelf {
    /// The values of now.
    Current,
    /// Those that were replaced.
    Old,
}

/// The rows, inside one transaction.
pub(crate) struct SecretRows<'c> {
    connection: &'c Connection,
    now_ms: i64,
}

impl Store {
    /// Reads rows, all of one moment.
    pub(crate) fn read_secrets<T>(&self, read: impl FnOnce(&SecretRows<'_>) -> Result<T>) -> Result<T> {
        let now_ms = self.now_ms();
        self.read(|connection| read(&SecretRows { connection, now_ms }))
    }

    /// Changes rows in one transaction, while nobody else can, and returns when it is on disk. An error leaves
    /// them as they were.
    pub(crate) fn change_secrets<T: Send + 'static>(
        &self,
        change: impl FnOnce(&SecretRows<'_>) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let now_ms = self.now_ms();
        self.write(move |connection| change(&SecretRows { connection, now_ms }))
    }

    /// Notes that these values go out now. It is on disk soon; nobody waits for it.
    pub(crate) fn note_uses(&self, names: Vec<String>) {
        let now_ms = self.now_ms();
        self.write_later(
            move |connection| {
                let mut note = connection.prepare_cached(
                    "INSERT INTO secret_uses (name, used_at) SELECT name, ?2 FROM secrets WHERE name = ?1
                     ON CONFLICT DO UPDATE SET used_at = max(used_at, ?2)",
                )?;
                names.iter().try_for_each(|name| Ok(note.execute((name, now_ms)).map(drop)?))
            },
            |result| {
                if let Err(error) = result {
                    tracing::warn!("when secrets were last used could not be noted: {error}");
                }
            },
        );
    }
}

impl SecretRows<'_> {
    /// The time of this transaction, in milliseconds since 1970.
    pub(crate) fn now_ms(&self) -> i64 {
        self.now_ms
    }

    /// The version of the next [`SecretRows::put`]: a write of a secret moves the generation, so no two can see
    /// the same one.
    pub(crate) fn next_version(&self) -> Result<u64> {
        Ok(read_generation(self.connection)? + 1)
    }

    /// The value of now.
    pub(crate) fn current(&self, name: &str) -> Result<Option<Sealed>> {
        let mut statement = self.connection.prepare_cached(concat!(
            "SELECT ",
            sealed_columns!(),
            " FROM secrets WHERE name = ?1"
        ))?;
        Ok(statement.query_row([name], |row| read_sealed(row, 0)).optional()?)
    }

    /// The values that were replaced at `since` or later, the newest first.
    pub(crate) fn old(&self, name: &str, since: i64) -> Result<Vec<Sealed>> {
        let mut statement = self.connection.prepare_cached(concat!(
            "SELECT ",
            sealed_columns!(),
            " FROM old_values WHERE name = ?1 AND replaced_at >= ?2 ORDER BY version DESC"
        ))?;
        let rows = statement.query_map((name, since), |row| read_sealed(row, 0))?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// Every row of a shelf with its name.
    pub(crate) fn all(&self, shelf: Shelf) -> Result<Vec<(String, Sealed)>> {
        let mut statement = self.connection.prepare_cached(match shelf {
            Shelf::Current => concat!("SELECT name, ", sealed_columns!(), " FROM secrets"),
            Shelf::Old => concat!("SELECT name, ", sealed_columns!(), " FROM old_values"),
        })?;
        let rows = statement.query_map([], |row| Ok((row.get(0)?, read_sealed(row, 1)?)))?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// Stores a value in the place of the one that is there. What is approved for it counts as exposed from now.
    pub(crate) fn put(&self, name: &str, sealed: &Sealed) -> Result<()> {
        self.connection
            .prepare_cached(
                "INSERT INTO secrets (name, version, kind, expires_at, scheme, kek_id, salt, nonce, ciphertext,
                 created_at, changed_at)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?10)
                 ON CONFLICT (name) DO UPDATE SET version = ?2, kind = ?3, expires_at = ?4, scheme = ?5,
                 kek_id = ?6, salt = ?7, nonce = ?8, ciphertext = ?9, changed_at = ?10",
            )?
            .execute(rusqlite::params![
                name,
                count(sealed.version),
                sealed.kind.as_str(),
                sealed.expires_at,
                count(sealed.scheme),
                sealed.kek_id,
                sealed.salt,
                sealed.nonce,
                sealed.ciphertext,
                self.now_ms,
            ])?;
        self.connection
            .prepare_cached(
                "INSERT OR IGNORE INTO exposures
                 SELECT DISTINCT publisher, slug, secret, source FROM approvals WHERE source = ?1",
            )?
            .execute([name])?;
        Ok(())
    }

    /// Keeps a value that is replaced now.
    pub(crate) fn keep_old(&self, name: &str, sealed: &Sealed) -> Result<()> {
        self.connection
            .prepare_cached(
                "INSERT OR REPLACE INTO old_values (name, version, kind, expires_at, scheme, kek_id, salt, nonce,
                 ciphertext, replaced_at)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
            )?
            .execute(rusqlite::params![
                name,
                count(sealed.version),
                sealed.kind.as_str(),
                sealed.expires_at,
                count(sealed.scheme),
                sealed.kek_id,
                sealed.salt,
                sealed.nonce,
                sealed.ciphertext,
                self.now_ms,
            ])?;
        Ok(())
    }

    /// Seals a row anew: the same value, version and end under another key.
    pub(crate) fn reseal(&self, shelf: Shelf, name: &str, sealed: &Sealed) -> Result<()> {
        self.connection
            .prepare_cached(match shelf {
                Shelf::Current => {
                    "UPDATE secrets SET scheme = ?3, kek_id = ?4, salt = ?5, nonce = ?6, ciphertext = ?7
                     WHERE name = ?1 AND version = ?2"
                }
                Shelf::Old => {
                    "UPDATE old_values SET scheme = ?3, kek_id = ?4, salt = ?5, nonce = ?6, ciphertext = ?7
                     WHERE name = ?1 AND version = ?2"
                }
            })?
            .execute(rusqlite::params![
                name,
                count(sealed.version),
                count(sealed.scheme),
                sealed.kek_id,
                sealed.salt,
                sealed.nonce,
                sealed.ciphertext,
            ])?;
        Ok(())
    }

    /// Removes one value that was replaced.
    pub(crate) fn drop_old(&self, name: &str, version: u64) -> Result<()> {
        self.connection
            .prepare_cached("DELETE FROM old_values WHERE name = ?1 AND version = ?2")?
            .execute((name, count(version)))?;
        Ok(())
    }

    /// Removes every value that was replaced before `since`.
    pub(crate) fn drop_old_before(&self, since: i64) -> Result<()> {
        self.connection.prepare_cached("DELETE FROM old_values WHERE replaced_at < ?1")?.execute([since])?;
        Ok(())
    }

    /// Removes a secret and all that is known of it. Gives whether there was one.
    pub(crate) fn forget(&self, name: &str) -> Result<bool> {
        let removed = self.connection.prepare_cached("DELETE FROM secrets WHERE name = ?1")?.execute([name])?;
        for also in [
            "DELETE FROM old_values WHERE name = ?1",
            "DELETE FROM secret_uses WHERE name = ?1",
            "DELETE FROM exposures WHERE source = ?1",
        ] {
            self.connection.prepare_cached(also)?.execute([name])?;
        }
        Ok(removed > 0)
    }

    /// The ids of all keys that something here was sealed with.
    pub(crate) fn key_ids(&self) -> Result<Vec<String>> {
        let mut statement = self.connection.prepare_cached(
            "SELECT kek_id FROM secrets UNION SELECT kek_id FROM old_values UNION SELECT kek_id FROM roster",
        )?;
        let ids = statement.query_map([], |row| row.get(0))?;
        Ok(ids.collect::<Result<_, _>>()?)
    }

    /// The version of every value of now.
    pub(crate) fn versions(&self) -> Result<BTreeMap<String, u64>> {
        let mut statement = self.connection.prepare_cached("SELECT name, version FROM secrets")?;
        let rows = statement.query_map([], |row| Ok((row.get(0)?, read_count(row, 1)?)))?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// The roster; `None` in a home where no secret was written since there is one.
    pub(crate) fn roster(&self) -> Result<Option<SealedRoster>> {
        let mut statement = self.connection.prepare_cached("SELECT kek_id, newest, mac FROM roster")?;
        let row = statement
            .query_row([], |row| Ok(SealedRoster { kek_id: row.get(0)?, newest: row.get(1)?, mac: row.get(2)? }));
        Ok(row.optional()?)
    }

    /// Writes the roster; `None` removes it.
    pub(crate) fn put_roster(&self, roster: Option<&SealedRoster>) -> Result<()> {
        match roster {
            None => self.connection.prepare_cached("DELETE FROM roster")?.execute([])?,
            Some(roster) => self
                .connection
                .prepare_cached("INSERT OR REPLACE INTO roster (one, kek_id, newest, mac) VALUES (1, ?1, ?2, ?3)")?
                .execute((&roster.kek_id, &roster.newest, &roster.mac))?,
        };
        Ok(())
    }

    /// Every (placeholder, stored name) that a capability was ever allowed to send.
    pub(crate) fn exposures(&self, capability: &CapabilityName) -> Result<Vec<(String, String)>> {
        let mut statement = self
            .connection
            .prepare_cached("SELECT secret, source FROM exposures WHERE publisher = ?1 AND slug = ?2")?;
        let rows = statement
            .query_map((&capability.publisher, &capability.slug), |row| Ok((row.get(0)?, row.get(1)?)))?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// What people see: no value.
    pub(crate) fn list(&self) -> Result<Vec<StoredSecret>> {
        let mut statement = self.connection.prepare_cached(
            "SELECT name, kind, created_at, changed_at, used_at, expires_at
             FROM secrets LEFT JOIN secret_uses USING (name) ORDER BY name",
        )?;
        let rows = statement.query_map([], |row| {
            Ok(StoredSecret {
                name: row.get(0)?,
                kind: read_kind(row, 1)?,
                created_at: row.get(2)?,
                changed_at: row.get(3)?,
                used_at: row.get(4)?,
                expires_at: row.get(5)?,
            })
        })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }
}

fn read_sealed(row: &Row<'_>, first: usize) -> rusqlite::Result<Sealed> {
    Ok(Sealed {
        version: read_count(row, first)?,
        kind: read_kind(row, first + 1)?,
        expires_at: row.get(first + 2)?,
        scheme: read_count(row, first + 3)?,
        kek_id: row.get(first + 4)?,
        salt: row.get(first + 5)?,
        nonce: row.get(first + 6)?,
        ciphertext: row.get(first + 7)?,
    })
}

fn read_kind(row: &Row<'_>, column: usize) -> rusqlite::Result<SecretKind> {
    let text = row.get_ref(column)?.as_str()?;
    SecretKind::ALL.into_iter().find(|kind| kind.as_str() == text).ok_or_else(|| {
        rusqlite::Error::FromSqlConversionFailure(column, rusqlite::types::Type::Text, "no such kind".into())
    })
}

#[cfg(test)]
impl Store {
    /// What somebody with a hand on the file could do.
    pub(crate) fn tamper(&self, sql: &'static str) -> Result<()> {
        self.write(move |connection| Ok(connection.execute_batch(sql)?))
    }
}
