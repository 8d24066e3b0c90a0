//! The rows of asks: what refused calls needed, and what people do not want to be asked again.

use rusqlite::{Connection, OptionalExtension, Row};
use serde::{Deserialize, Serialize};

use super::failure::damaged;
use super::{Store, read_count};
use crate::asks::{Ask, AskId, Asker};
use crate::error::{Error, Result};
use crate::policy::Wish;
use crate::registry::{CapabilityName, Digest};

/// Asks of one capability that are open. A person reads no more, and a guest that asks for ever new hosts fills
/// nothing.
const OPEN: u32 = 50;

/// A wish as it is stored. The order of the fields is part of an ask's id.
#[derive(Serialize, Deserialize)]
#[serde(tag = "wish", rename_all = "camelCase", deny_unknown_fields)]
enum WishRow {
    Host { host: String, port: u16 },
    OwnCredentials,
    Secret { secret: String, host: String, port: u16, place: String },
    Value { secret: String, source: String },
}

/// What is known of a wish before it is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Known {
    /// It can be asked for, by this id.
    Open(AskId),
    /// A person does not want to be asked.
    Refused,
    /// A value that is stored already.
    Given,
}

impl Store {
    /// What is known of these wishes of `name`, pinned to `digest`, in their order.
    pub(crate) fn known_asks(
        &self,
        name: &CapabilityName,
        digest: &Digest,
        wishes: &[&Wish],
    ) -> Result<Vec<Known>> {
        let now = self.now_ms();
        self.read(|connection| {
            let key = read_key(connection)?;
            let known = wishes.iter().map(|wish| {
                if let Wish::Value { source, .. } = wish
                    && is_stored(connection, source, now)?
                {
                    return Ok(Known::Given);
                }
                let id = AskId::new(&key, name, digest, &write_wish(wish)?);
                let refused_at: Option<Option<i64>> = connection
                    .prepare_cached("SELECT refused_at FROM asks WHERE id = ?1")?
                    .query_row([id.to_string()], |row| row.get(0))
                    .optional()?;
                Ok(if refused_at.flatten().is_some() { Known::Refused } else { Known::Open(id) })
            });
            known.collect()
        })
    }

    /// Queues asks of one call, or counts them once more. The oldest go when there are too many, but none of
    /// this call. Nothing is written for a digest that is not installed any more.
    pub(crate) fn put_asks(
        &self,
        asker: &Asker<'_>,
        wishes: Vec<(AskId, Wish)>,
        answer: impl FnOnce(Result<()>) + Send + 'static,
    ) {
        if wishes.is_empty() {
            return;
        }
        let now = self.now_ms();
        let (name, digest) = (asker.capability.name.clone(), asker.capability.digest);
        let [principal, tool, call] = [asker.principal, asker.tool, asker.call].map(str::to_owned);
        self.write_later(
            move |connection| {
                for (id, wish) in &wishes {
                    connection
                        .prepare_cached(
                            "INSERT INTO asks (id, publisher, slug, digest, wish, principal, tool, call, first_at,
                             last_at, times)
                             SELECT ?1, publisher, slug, digest, ?5, ?6, ?7, ?8, ?9, ?9, 1 FROM installs
                             WHERE publisher = ?2 AND slug = ?3 AND digest = ?4
                             ON CONFLICT DO UPDATE SET times = times + 1, last_at = max(last_at, ?9),
                             principal = ?6, tool = ?7, call = ?8",
                        )?
                        .execute(rusqlite::params![
                            id.to_string(),
                            name.publisher,
                            name.slug,
                            digest.to_string(),
                            write_wish(wish)?,
                            principal,
                            tool,
                            call,
                            now,
                        ])?;
                }
                connection
                    .prepare_cached(
                        "DELETE FROM asks WHERE id IN (
                             SELECT id FROM asks WHERE publisher = ?1 AND slug = ?2 AND refused_at IS NULL
                             ORDER BY call = ?3 DESC, last_at DESC LIMIT -1 OFFSET ?4)",
                    )?
                    .execute((&name.publisher, &name.slug, &call, OPEN))?;
                Ok(())
            },
            answer,
        );
    }

    /// All asks, refused ones included, the newest first.
    pub(crate) fn asks(&self) -> Result<Vec<Ask>> {
        self.read(|connection| {
            let mut statement = connection.prepare_cached(
                "SELECT id, publisher, slug, digest, wish, principal, tool, call, first_at, last_at, times,
                 refused_at FROM asks ORDER BY last_at DESC, id",
            )?;
            let mut rows = statement.query([])?;
            let mut asks = Vec::new();
            while let Some(row) = rows.next()? {
                asks.push(read_ask(row)?);
            }
            Ok(asks)
        })
    }

    /// Whether a value is stored under this name that can be used now.
    pub(crate) fn has_value(&self, name: &str) -> Result<bool> {
        let now = self.now_ms();
        self.read(|connection| is_stored(connection, name, now))
    }

    /// Closes asks. Those that are not there are closed already.
    pub(crate) fn remove_asks(&self, ids: &[AskId]) -> Result<()> {
        let ids = ids.to_vec();
        self.write(move |connection| {
            let mut delete = connection.prepare_cached("DELETE FROM asks WHERE id = ?1")?;
            for id in ids {
                delete.execute([id.to_string()])?;
            }
            Ok(())
        })
    }

    /// Notes that a person does not want to be asked this again.
    pub(crate) fn refuse_ask(&self, id: AskId) -> Result<()> {
        let now = self.now_ms();
        self.write(move |connection| {
            connection
                .prepare_cached("UPDATE asks SET refused_at = ?2 WHERE id = ?1")?
                .execute((id.to_string(), now))?;
            Ok(())
        })
    }
}

impl Store {
    /// A key of this home's for one purpose: it opens nothing of another, and does not tell what it was made of.
    pub(crate) fn key_for(&self, purpose: &[u8]) -> Result<[u8; 32]> {
        let key = self.read(read_key)?;
        let tag = ring::hmac::sign(&ring::hmac::Key::new(ring::hmac::HMAC_SHA256, &key), purpose);
        tag.as_ref().try_into().map_err(|_| Error::internal("a key has the wrong length"))
    }
}

fn read_key(connection: &Connection) -> Result<Vec<u8>> {
    Ok(connection.prepare_cached("SELECT ask_key FROM meta")?.query_row([], |row| row.get(0))?)
}

fn is_stored(connection: &Connection, source: &str, now_ms: i64) -> Result<bool> {
    let mut statement = connection.prepare_cached(
        "SELECT EXISTS (SELECT 1 FROM secrets WHERE name = ?1 AND (expires_at IS NULL OR expires_at > ?2))",
    )?;
    Ok(statement.query_row((source, now_ms), |row| row.get(0))?)
}

fn read_ask(row: &Row<'_>) -> Result<Ask> {
    let text = |column: usize| row.get_ref(column)?.as_str().map_err(damaged);
    Ok(Ask {
        id: text(0)?.parse().map_err(damaged)?,
        name: CapabilityName { publisher: row.get(1)?, slug: row.get(2)? },
        digest: text(3)?.parse().map_err(|_| damaged("the digest of an ask"))?,
        wish: read_wish(text(4)?)?,
        principal: row.get(5)?,
        tool: row.get(6)?,
        call: row.get(7)?,
        first_at: row.get(8)?,
        last_at: row.get(9)?,
        times: read_count(row, 10)?,
        refused_at: row.get(11)?,
    })
}

fn write_wish(wish: &Wish) -> Result<String> {
    let row = match wish.clone() {
        Wish::Host { host, port } => WishRow::Host { host, port },
        Wish::OwnCredentials => WishRow::OwnCredentials,
        Wish::Secret { secret, host, port, place } => {
            WishRow::Secret { secret, host, port, place: place.to_string() }
        }
        Wish::Value { secret, source } => WishRow::Value { secret, source },
    };
    serde_json::to_string(&row).map_err(|error| Error::internal("a wish is JSON").detail(error))
}

fn read_wish(text: &str) -> Result<Wish> {
    Ok(match serde_json::from_str(text).map_err(damaged)? {
        WishRow::Host { host, port } => Wish::Host { host, port },
        WishRow::OwnCredentials => Wish::OwnCredentials,
        WishRow::Secret { secret, host, port, place } => {
            Wish::Secret { secret, host, port, place: place.parse().map_err(damaged)? }
        }
        WishRow::Value { secret, source } => Wish::Value { secret, source },
    })
}

#[cfg(test)]
impl Store {
    /// What a damaged file could do: no ask can be read or written.
    pub(crate) fn break_asks(&self) -> Result<()> {
        self.write(|connection| Ok(connection.execute_batch("DROP TABLE asks")?))
    }
}
