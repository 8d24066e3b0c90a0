//! The rows of documents: read by their capability, changed whole or not at all.
//!
//! Every statement names the tenant and the capability: there is no way to a document without them. Each change
//! is one transaction with the sums of the capability and the record's child, so that what was acknowledged,
//! what is counted and what is recorded are the same. Whether a change may be made is decided by
//! `namespaces::entities::rules`, on what is there inside the transaction.

mod history;
mod people;

use rusqlite::{Connection, OptionalExtension, Row};

use super::failure::damaged;
use super::{Store, count, earlier, read_count, runs};
use crate::audit::ChangeRecord;
use crate::config::EntitiesConfig;
use crate::error::{Error, ErrorKind, Result};
use crate::manifest::NamespaceName;
use crate::namespaces::entities::document::{Action, Change, Document, Made, Page, Refusal};
use crate::namespaces::entities::rules::{Present, Sums, decide};
use crate::registry::{CapabilityName, Digest};

pub use people::{EntitySums, Holding, OldDocument};

/// The only tenant there is today.
const TENANT: &str = "default";

/// Greater than the first byte of any text.
const BEYOND_TEXT: u8 = 0xff;

/// What every `get` of a guest runs.
const DOCUMENT: &str = "SELECT value, documents.version, changed_at FROM holdings JOIN documents ON holding = id
    WHERE tenant = ?1 AND publisher = ?2 AND slug = ?3 AND entity = ?4 AND key = ?5";

/// Whose documents.
#[derive(Clone, Debug)]
pub(crate) struct Scope {
    tenant: &'static str,
    name: CapabilityName,
}

/// Which call makes a change.
pub(crate) struct ChangedBy {
    /// Its record, which is on disk.
    pub(crate) call: String,
    /// How many changes it has made before.
    pub(crate) position: u64,
    /// The run of a loop that it belongs to: it counts the changes made in it.
    pub(crate) run: Option<String>,
    /// What runs: a change counts as long as these bytes are installed and granted the entity.
    pub(crate) digest: Digest,
}

impl Scope {
    /// The documents of this capability.
    pub(crate) fn of(name: &CapabilityName) -> Self {
        Self { tenant: TENANT, name: name.clone() }
    }

    fn key(&self) -> [&str; 3] {
        [self.tenant, &self.name.publisher, &self.name.slug]
    }
}

impl Store {
    /// The document under a key.
    pub(crate) fn document(&self, scope: &Scope, entity: &str, key: &str) -> Result<Option<Document>> {
        self.look(|connection| {
            let [tenant, publisher, slug] = scope.key();
            let found = connection
                .prepare_cached(DOCUMENT)?
                .query_row((tenant, publisher, slug, entity, key.as_bytes()), |row| {
                    let (value, version, changed_at) = (row.get(0)?, read_count(row, 1)?, row.get(2)?);
                    Ok(Document { key: key.to_owned(), value, version, changed_at })
                })
                .optional()?;
            Ok(found)
        })
    }

    /// Documents whose keys begin with `prefix`, from the one after `after`: at most `limit`, and no more bytes
    /// than `bytes`, but one at least.
    pub(crate) fn documents(
        &self,
        scope: &Scope,
        entity: &str,
        prefix: &str,
        after: Option<&str>,
        limit: usize,
        bytes: usize,
    ) -> Result<Page> {
        let from = after.map_or_else(|| prefix.as_bytes().to_vec(), |after| [after.as_bytes(), &[0]].concat());
        self.look(|connection| {
            let mut statement = connection.prepare_cached(
                "SELECT documents.key, value, documents.version, changed_at
                 FROM holdings JOIN documents ON holding = id
                 WHERE tenant = ?1 AND publisher = ?2 AND slug = ?3 AND entity = ?4 AND key >= ?5 AND key < ?6
                 ORDER BY key",
            )?;
            let [tenant, publisher, slug] = scope.key();
            let mut rows = statement.query((tenant, publisher, slug, entity, from, beyond(prefix)))?;
            let mut page = Page::default();
            let mut left = bytes as u64;
            while let Some(row) = rows.next()? {
                let document = read_document(row)?;
                let fits = page.documents.len() < limit && document.size() <= left;
                if let Some(last) = page.documents.last().filter(|_| !fits) {
                    page.next = Some(last.key.clone());
                    break;
                }
                left = left.saturating_sub(document.size());
                page.documents.push(document);
            }
            Ok(page)
        })
    }

    /// How much is kept, and the last version that was given to a change.
    pub(crate) fn sums(&self, scope: &Scope) -> Result<(Sums, u64)> {
        self.look(|connection| {
            let held = Held::read(connection, scope)?;
            Ok(held.map_or((Sums::default(), 0), |held| (held.sums, held.version)))
        })
    }

    /// Makes all of these changes or none. When this returns they are on disk. When it is dropped before the
    /// writer has begun with them, they are not made.
    pub(crate) async fn change_documents(
        &self,
        scope: Scope,
        by: ChangedBy,
        changes: Vec<Change>,
        limits: EntitiesConfig,
    ) -> Result<Result<Vec<Made>, Refusal>> {
        let now = self.now_ms();
        self.write_while_wanted(move |connection| {
            if let Some(entity) = revoked(connection, &scope, &by.digest, &changes)? {
                return Ok(Err(Refusal::NotAvailable(entity)));
            }
            let planned = match plan(connection, &scope, &changes, &limits)? {
                Ok(planned) => planned,
                Err(refusal) => return Ok(Err(refusal)),
            };
            let made = make(connection, &scope, planned, &changes, &limits, (&by.call, by.position), now)?;
            if let Some(run) = &by.run {
                let changes = made.iter().filter(|made| !matches!(made, Made::Nothing)).count();
                runs::count_changes(connection, run, changes as u64)?;
            }
            Ok(Ok(made))
        })
        .await
    }
}

/// The row of a capability.
struct Held {
    id: i64,
    sums: Sums,
    /// Bytes of what its documents were before, with what surrounds them.
    old_bytes: u64,
    version: u64,
}

impl Held {
    fn read(connection: &Connection, scope: &Scope) -> Result<Option<Self>> {
        Ok(connection
            .prepare_cached(
                "SELECT id, documents, bytes, old_bytes, version FROM holdings
                 WHERE tenant = ?1 AND publisher = ?2 AND slug = ?3",
            )?
            .query_row(scope.key(), |row| {
                Ok(Self {
                    id: row.get(0)?,
                    sums: Sums { documents: read_count(row, 1)?, bytes: read_count(row, 2)? },
                    old_bytes: read_count(row, 3)?,
                    version: read_count(row, 4)?,
                })
            })
            .optional()?)
    }

    fn insert(connection: &Connection, scope: &Scope) -> Result<Self> {
        connection
            .prepare_cached(
                "INSERT INTO holdings (tenant, publisher, slug, documents, bytes, old_bytes, version)
                 VALUES (?1, ?2, ?3, 0, 0, 0, 0)",
            )?
            .execute(scope.key())?;
        Ok(Self { id: connection.last_insert_rowid(), sums: Sums::default(), old_bytes: 0, version: 0 })
    }

    fn write(&self, connection: &Connection) -> Result<()> {
        connection
            .prepare_cached(
                "UPDATE holdings SET documents = ?2, bytes = ?3, old_bytes = ?4, version = ?5 WHERE id = ?1",
            )?
            .execute((
                self.id,
                count(self.sums.documents),
                count(self.sums.bytes),
                count(self.old_bytes),
                count(self.version),
            ))?;
        Ok(())
    }

    /// What is there under a key.
    fn present(&self, connection: &Connection, entity: &str, key: &str) -> Result<Option<Present>> {
        Ok(connection
            .prepare_cached(
                "SELECT version, length(key) + octet_length(value) FROM documents
                 WHERE holding = ?1 AND entity = ?2 AND key = ?3",
            )?
            .query_row((self.id, entity, key.as_bytes()), |row| {
                Ok(Present { version: read_count(row, 0)?, bytes: read_count(row, 1)? })
            })
            .optional()?)
    }
}

/// Changes that may be made, with what is there before them.
struct Planned {
    /// `None` as long as the capability never kept anything.
    held: Option<Held>,
    present: Vec<Option<Present>>,
    after: Sums,
}

/// Decides about changes on what is there; writes nothing.
fn plan(
    connection: &Connection,
    scope: &Scope,
    changes: &[Change],
    limits: &EntitiesConfig,
) -> Result<Result<Planned, Refusal>> {
    let held = Held::read(connection, scope)?;
    let look = |change: &Change| match &held {
        Some(held) => held.present(connection, &change.entity, &change.key),
        None => Ok(None),
    };
    let present = changes.iter().map(look).collect::<Result<Vec<_>>>()?;
    let sums = held.as_ref().map_or_else(Sums::default, |held| held.sums);
    let after = match decide(changes, &present, sums, limits) {
        Ok(after) => after,
        Err(refusal) => return Ok(Err(refusal)),
    };
    Ok(Ok(Planned { held, present, after }))
}

/// Makes changes that were decided in the same transaction.
fn make(
    connection: &Connection,
    scope: &Scope,
    planned: Planned,
    changes: &[Change],
    limits: &EntitiesConfig,
    (call, mut position): (&str, u64),
    now: i64,
) -> Result<Vec<Made>> {
    let Planned { held, present, after } = planned;
    let changes_nothing = |(change, present): (&Change, &Option<Present>)| is_nothing(change, *present);
    if changes.iter().zip(&present).all(changes_nothing) {
        return Ok(vec![Made::Nothing; changes.len()]);
    }
    let mut held = match held {
        Some(held) => held,
        None => Held::insert(connection, scope)?,
    };
    let mut made = Vec::with_capacity(changes.len());
    for (change, present) in changes.iter().zip(&present) {
        if is_nothing(change, *present) {
            made.push(Made::Nothing);
            continue;
        }
        held.version += 1;
        if present.is_some() {
            history::keep(connection, &mut held, change)?;
        }
        match &change.action {
            Action::Put(value) => put(connection, &held, change, value, now)?,
            Action::Delete => {
                remove(connection, &held, change)?;
                history::keep_end(connection, &mut held, change, now)?;
            }
        }
        if present.is_some() {
            history::prune(connection, &mut held, change, limits)?;
        }
        record(connection, call, position, &ChangeRecord::of(change, held.version))?;
        position += 1;
        let version = held.version;
        made.push(if change.action == Action::Delete { Made::Removed(version) } else { Made::Put(version) });
    }
    held.sums = after;
    held.write(connection)?;
    Ok(made)
}

/// Removing what is not there changes nothing.
fn is_nothing(change: &Change, present: Option<Present>) -> bool {
    change.action == Action::Delete && present.is_none()
}

fn put(connection: &Connection, held: &Held, change: &Change, value: &str, now: i64) -> Result<()> {
    connection
        .prepare_cached(
            "INSERT INTO documents (holding, entity, key, version, changed_at, value)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6)
             ON CONFLICT DO UPDATE SET version = ?4, changed_at = ?5, value = ?6",
        )?
        .execute((held.id, &change.entity, change.key.as_bytes(), count(held.version), now, value))?;
    Ok(())
}

fn remove(connection: &Connection, held: &Held, change: &Change) -> Result<()> {
    connection
        .prepare_cached("DELETE FROM documents WHERE holding = ?1 AND entity = ?2 AND key = ?3")?
        .execute((held.id, &change.entity, change.key.as_bytes()))?;
    Ok(())
}

fn record(connection: &Connection, call: &str, position: u64, change: &ChangeRecord) -> Result<()> {
    let ChangeRecord { entity, key, action, version, bytes } = change;
    connection
        .prepare_cached(
            "INSERT INTO changes (call, position, entity, key, action, version, bytes)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        )?
        .execute((call, count(position), entity, key, action, count(*version), count(*bytes)))?;
    Ok(())
}

/// What a call changed, in order.
pub(super) fn read_changes(connection: &Connection, call: &str) -> Result<Vec<ChangeRecord>> {
    let mut statement = connection.prepare_cached(
        "SELECT entity, key, action, version, bytes FROM changes WHERE call = ?1 ORDER BY position",
    )?;
    let rows = statement.query_map([call], |row| {
        Ok(ChangeRecord {
            entity: row.get(0)?,
            key: row.get(1)?,
            action: row.get(2)?,
            version: read_count(row, 3)?,
            bytes: read_count(row, 4)?,
        })
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// An entity of these changes that is granted no longer: taken back or uninstalled since the call began, or its form was
/// changed by an upgrade.
fn revoked(connection: &Connection, scope: &Scope, digest: &Digest, changes: &[Change]) -> Result<Option<String>> {
    let mut known: Vec<&str> = Vec::new();
    for Change { entity, .. } in changes {
        if known.contains(&entity.as_str()) {
            continue;
        }
        if !earlier::may_go_on(connection, &scope.name, digest, NamespaceName::Entities.as_str(), entity)? {
            return Ok(Some(entity.clone()));
        }
        known.push(entity);
    }
    Ok(None)
}

/// The bytes that come right after every key with this prefix. Text never has the byte that this could overflow.
fn beyond(prefix: &str) -> Vec<u8> {
    let mut bytes = prefix.as_bytes().to_vec();
    match bytes.last_mut() {
        Some(last) => *last += 1,
        None => bytes.push(BEYOND_TEXT),
    }
    bytes
}

/// From key, value, version, time.
fn read_document(row: &Row<'_>) -> Result<Document> {
    Ok(Document {
        key: read_key(row, 0)?,
        value: row.get(1)?,
        version: read_count(row, 2)?,
        changed_at: row.get(3)?,
    })
}

fn read_key(row: &Row<'_>, column: usize) -> Result<String> {
    let bytes: Vec<u8> = row.get(column)?;
    String::from_utf8(bytes).map_err(|_| damaged("a key in `documents`"))
}

/// The writer came to a change after its call had ended.
pub(super) fn unwanted() -> Error {
    Error::new(ErrorKind::Cancelled, "nobody waits for this change any more")
}

#[cfg(test)]
mod tests;
