//! The rows of secrets: sealed values, which mean nothing here.

use rusqlite::{OptionalExtension, Row};

use super::{Store, count, read_count, read_generation};
use crate::error::Result;
use crate::secrets::StoredSecret;

/// A value that only the vault can open.
#[derive(Clone)]
pub(crate) struct Sealed {
    /// Bound into the ciphertext. Grows with each write and never repeats, not even under another name.
    pub(crate) version: u64,
    /// Which key sealed it.
    pub(crate) kek_id: String,
    pub(crate) salt: Vec<u8>,
    pub(crate) nonce: Vec<u8>,
    pub(crate) ciphertext: Vec<u8>,
}

impl Store {
    /// Stores what `seal` makes for the next version.
    pub(crate) fn put_secret(
        &self,
        name: &str,
        seal: impl FnOnce(u64) -> Result<Sealed> + Send + 'static,
    ) -> Result<()> {
        let name = name.to_owned();
        let now = self.now_ms();
        self.write(move |connection| {
            // Every write of a secret moves the generation, so no two can see the same one.
            let sealed = seal(read_generation(connection)? + 1)?;
            connection
                .prepare_cached(
                    "INSERT INTO secrets
                     (name, version, kek_id, salt, nonce, ciphertext, created_at, changed_at)
                     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?7)
                     ON CONFLICT (name) DO UPDATE SET version = ?2, kek_id = ?3, salt = ?4, nonce = ?5,
                     ciphertext = ?6, changed_at = ?7",
                )?
                .execute((
                    &name,
                    count(sealed.version),
                    &sealed.kek_id,
                    &sealed.salt,
                    &sealed.nonce,
                    &sealed.ciphertext,
                    now,
                ))?;
            Ok(())
        })
    }

    /// Removes a value. Gives whether there was one.
    pub(crate) fn remove_secret(&self, name: &str) -> Result<bool> {
        let name = name.to_owned();
        self.write(move |connection| {
            Ok(connection.prepare_cached("DELETE FROM secrets WHERE name = ?1")?.execute([name])? > 0)
        })
    }

    /// Names and times.
    pub(crate) fn list_secrets(&self) -> Result<Vec<StoredSecret>> {
        self.read(|connection| {
            let mut statement =
                connection.prepare_cached("SELECT name, created_at, changed_at FROM secrets ORDER BY name")?;
            let rows = statement.query_map([], |row| {
                Ok(StoredSecret { name: row.get(0)?, created_at: row.get(1)?, changed_at: row.get(2)? })
            })?;
            Ok(rows.collect::<Result<_, _>>()?)
        })
    }

    /// The ids of the keys that sealed the stored values.
    pub(crate) fn key_ids(&self) -> Result<Vec<String>> {
        self.read(|connection| {
            let mut statement = connection.prepare_cached("SELECT DISTINCT kek_id FROM secrets")?;
            let ids = statement.query_map([], |row| row.get(0))?;
            Ok(ids.collect::<Result<_, _>>()?)
        })
    }

    /// The sealed values of these names, in their order and of one moment; `None` where there is none.
    pub(crate) fn sealed(&self, names: &[&str]) -> Result<Vec<Option<Sealed>>> {
        self.read(|connection| {
            let mut statement = connection
                .prepare_cached("SELECT version, kek_id, salt, nonce, ciphertext FROM secrets WHERE name = ?1")?;
            let rows = names.iter().map(|name| statement.query_row([name], read_sealed).optional());
            Ok(rows.collect::<Result<_, _>>()?)
        })
    }
}

fn read_sealed(row: &Row<'_>) -> rusqlite::Result<Sealed> {
    Ok(Sealed {
        version: read_count(row, 0)?,
        kek_id: row.get(1)?,
        salt: row.get(2)?,
        nonce: row.get(3)?,
        ciphertext: row.get(4)?,
    })
}

#[cfg(test)]
impl Store {
    /// What somebody with a hand on the file could do: exchange two rows.
    pub(crate) fn swap_secrets(&self, one: &str, other: &str) -> Result<()> {
        let renames = [(one, "-"), (other, one), ("-", other)].map(|(from, to)| [from.to_owned(), to.to_owned()]);
        self.write(move |connection| {
            for rename in renames {
                connection.execute("UPDATE secrets SET name = ?2 WHERE name = ?1", rename)?;
            }
            Ok(())
        })
    }
}
