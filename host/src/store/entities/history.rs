//! What documents were before: kept for people to look at and to restore, within bounds.
//!
//! A bounded number for each key, and as many bytes for a capability as its documents may have: beyond that the
//! oldest go, so that what is removed again and again cannot fill the disk.

use rusqlite::Connection;

use super::super::{count, read_count};
use super::Held;
use crate::config::EntitiesConfig;
use crate::error::Result;
use crate::namespaces::entities::document::Change;

/// Bytes of a row and its place in the index, besides its key and value.
const ROW_BYTES: u64 = 128;

/// Keeps what is there now, before it is changed.
pub(super) fn keep(connection: &Connection, held: &mut Held, change: &Change) -> Result<()> {
    let size: u64 = connection
        .prepare_cached(
            "INSERT INTO old_documents (holding, version, entity, key, changed_at, value)
             SELECT holding, version, entity, key, changed_at, value FROM documents
             WHERE holding = ?1 AND entity = ?2 AND key = ?3
             RETURNING length(key) + octet_length(value)",
        )?
        .query_row((held.id, &change.entity, change.key.as_bytes()), |row| read_count(row, 0))?;
    held.old_bytes += size + ROW_BYTES;
    Ok(())
}

/// Keeps that a document is there no longer, from the newest version on.
pub(super) fn keep_end(connection: &Connection, held: &mut Held, change: &Change, now: i64) -> Result<()> {
    connection
        .prepare_cached(
            "INSERT INTO old_documents (holding, version, entity, key, changed_at) VALUES (?1, ?2, ?3, ?4, ?5)",
        )?
        .execute((held.id, count(held.version), &change.entity, change.key.as_bytes(), now))?;
    held.old_bytes += change.key.len() as u64 + ROW_BYTES;
    Ok(())
}

/// Forgets what is beyond the bounds.
pub(super) fn prune(
    connection: &Connection,
    held: &mut Held,
    change: &Change,
    limits: &EntitiesConfig,
) -> Result<()> {
    let beyond: Vec<(u64, u64)> = connection
        .prepare_cached(
            "SELECT version, length(key) + coalesce(octet_length(value), 0) FROM old_documents
             WHERE holding = ?1 AND entity = ?2 AND key = ?3 ORDER BY version DESC LIMIT -1 OFFSET ?4",
        )?
        .query_map((held.id, &change.entity, change.key.as_bytes(), limits.history), read_row)?
        .collect::<Result<_, _>>()?;
    for row in beyond {
        forget(connection, held, row)?;
    }
    while held.old_bytes > limits.bytes {
        let oldest = connection
            .prepare_cached(
                "SELECT version, length(key) + coalesce(octet_length(value), 0) FROM old_documents
                 WHERE holding = ?1 ORDER BY version LIMIT 1",
            )?
            .query_map([held.id], read_row)?
            .next()
            .transpose()?;
        let Some(oldest) = oldest else { break };
        forget(connection, held, oldest)?;
    }
    Ok(())
}

fn forget(connection: &Connection, held: &mut Held, (version, size): (u64, u64)) -> Result<()> {
    connection
        .prepare_cached("DELETE FROM old_documents WHERE holding = ?1 AND version = ?2")?
        .execute((held.id, count(version)))?;
    held.old_bytes = held.old_bytes.saturating_sub(size + ROW_BYTES);
    Ok(())
}

fn read_row(row: &rusqlite::Row<'_>) -> rusqlite::Result<(u64, u64)> {
    Ok((read_count(row, 0)?, read_count(row, 1)?))
}
