//! What people see and do of documents: sums, history, a copy of all, changes of their own, removal.

use rusqlite::Connection;

use super::super::installs::{read_pin, remove};
use super::super::{Store, calls, formats, loops, read_count, sandbox};
use super::{Held, Scope, TENANT, make, plan, read_document};
use crate::audit::Record;
use crate::config::EntitiesConfig;
use crate::error::Result;
use crate::namespaces::entities::document::{Change, Document, Made, Refusal};
use crate::namespaces::entities::rules::Sums;
use crate::registry::{CapabilityName, Digest};

/// What one capability keeps, installed or not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holding {
    /// The capability.
    pub name: CapabilityName,
    /// How much.
    pub sums: Sums,
}

/// What one entity holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntitySums {
    /// Its name.
    pub entity: String,
    /// How much.
    pub sums: Sums,
}

/// What a document was from one version on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OldDocument {
    /// The version.
    pub version: u64,
    /// When it came to be, in milliseconds since 1970.
    pub changed_at: i64,
    /// JSON text; `None` when there was no document.
    pub value: Option<String>,
}

impl Store {
    /// Every capability that keeps something, or kept something that is remembered.
    pub(crate) fn holdings(&self) -> Result<Vec<Holding>> {
        self.look(|connection| {
            let mut statement = connection.prepare_cached(
                "SELECT publisher, slug, documents, bytes FROM holdings WHERE tenant = ?1 ORDER BY publisher, slug",
            )?;
            let rows = statement.query_map([TENANT], |row| {
                Ok(Holding {
                    name: CapabilityName { publisher: row.get(0)?, slug: row.get(1)? },
                    sums: Sums { documents: read_count(row, 2)?, bytes: read_count(row, 3)? },
                })
            })?;
            Ok(rows.collect::<Result<_, _>>()?)
        })
    }

    /// The entities of a capability in which something is.
    pub(crate) fn entities(&self, scope: &Scope) -> Result<Vec<EntitySums>> {
        self.look(|connection| {
            let mut statement = connection.prepare_cached(
                "SELECT entity, count(*), sum(length(key) + octet_length(value))
                 FROM holdings JOIN documents ON holding = id
                 WHERE tenant = ?1 AND publisher = ?2 AND slug = ?3 GROUP BY entity ORDER BY entity",
            )?;
            let rows = statement.query_map(scope.key(), |row| {
                let sums = Sums { documents: read_count(row, 1)?, bytes: read_count(row, 2)? };
                Ok(EntitySums { entity: row.get(0)?, sums })
            })?;
            Ok(rows.collect::<Result<_, _>>()?)
        })
    }

    /// Every document of a capability with its entity, of one moment.
    pub(crate) fn all_documents(&self, scope: &Scope) -> Result<Vec<(String, Document)>> {
        self.look(|connection| {
            let mut statement = connection.prepare_cached(
                "SELECT documents.key, value, documents.version, changed_at, entity
                 FROM holdings JOIN documents ON holding = id
                 WHERE tenant = ?1 AND publisher = ?2 AND slug = ?3 ORDER BY entity, key",
            )?;
            let mut rows = statement.query(scope.key())?;
            let mut documents = Vec::new();
            while let Some(row) = rows.next()? {
                documents.push((row.get(4)?, read_document(row)?));
            }
            Ok(documents)
        })
    }

    /// What a document was before, the newest first; what it is now is not among it.
    pub(crate) fn old_documents(&self, scope: &Scope, entity: &str, key: &str) -> Result<Vec<OldDocument>> {
        self.look(|connection| {
            let mut statement = connection.prepare_cached(
                "SELECT old_documents.version, changed_at, value FROM holdings JOIN old_documents ON holding = id
                 WHERE tenant = ?1 AND publisher = ?2 AND slug = ?3 AND entity = ?4 AND key = ?5
                 ORDER BY old_documents.version DESC",
            )?;
            let [tenant, publisher, slug] = scope.key();
            let rows = statement.query_map((tenant, publisher, slug, entity, key.as_bytes()), |row| {
                Ok(OldDocument { version: read_count(row, 0)?, changed_at: row.get(1)?, value: row.get(2)? })
            })?;
            Ok(rows.collect::<Result<_, _>>()?)
        })
    }

    /// Makes a person's changes, with a record of their own. Without a change there is no record.
    pub(crate) fn change_documents_by_hand(
        &self,
        scope: Scope,
        record: Record,
        changes: Vec<Change>,
        limits: EntitiesConfig,
    ) -> Result<Result<Vec<Made>, Refusal>> {
        let now = self.now_ms();
        self.write(move |connection| {
            let planned = match plan(connection, &scope, &changes, &limits)? {
                Ok(planned) => planned,
                Err(refusal) => return Ok(Err(refusal)),
            };
            calls::put(connection, &record, None)?;
            make(connection, &scope, planned, &changes, &limits, (&record.id, 0), now).map(Ok)
        })
    }

    /// Removes an install, if it is there, with all that it kept; `record` is written if there was anything.
    /// Gives the digests that nobody needs any more, the pinned one first.
    pub(crate) fn purge(&self, name: &CapabilityName, record: Record) -> Result<(Vec<Digest>, Sums, usize)> {
        let (name, scope) = (name.clone(), Scope::of(name));
        self.write(move |connection| {
            let pin = read_pin(connection, &name)?;
            let earlier = remove(connection, &name)?;
            formats::forget(connection, &name)?;
            let removed = remove_documents(connection, &scope)?;
            let loops = loops::purge(connection, &name)?;
            let files = sandbox::purge(connection, &name)?;
            if removed.is_some() || loops > 0 || files > 0 {
                calls::put(connection, &record, None)?;
            }
            let digests = pin.map(|(_, digest)| digest).into_iter().chain(earlier).collect();
            Ok((digests, removed.unwrap_or_default(), loops))
        })
    }
}

/// Removes every document of a capability with its history. Gives what there was.
fn remove_documents(connection: &Connection, scope: &Scope) -> Result<Option<Sums>> {
    let held = Held::read(connection, scope)?;
    connection
        .prepare_cached("DELETE FROM holdings WHERE tenant = ?1 AND publisher = ?2 AND slug = ?3")?
        .execute(scope.key())?;
    Ok(held.map(|held| held.sums))
}
