//! What people see and do of files: conversations, what is in one, its bytes, removal.

use rusqlite::{Connection, OptionalExtension};

use super::super::{Store, calls, read_count};
use super::{TENANT, put_change, read_part, read_row, remove, rows_of};
use crate::audit::Record;
use crate::error::Result;
use crate::namespaces::sandbox::name::FileName;
use crate::namespaces::sandbox::rules::Sums;
use crate::namespaces::sandbox::{File, FileRecord};
use crate::registry::CapabilityName;

/// A conversation in which files are kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptConversation {
    /// Its key.
    pub key: String,
    /// Whose it is.
    pub principal: String,
    /// `own`, `session` or `named`.
    pub kind: String,
    /// What is kept.
    pub sums: Sums,
    /// When something in it was changed last, in milliseconds since 1970.
    pub used_at: i64,
}

impl Store {
    /// Every conversation that was used since `since` and has files, the last used first.
    pub(crate) fn conversations(&self, since: i64) -> Result<Vec<KeptConversation>> {
        self.look(|connection| {
            let mut statement = connection.prepare_cached(
                "SELECT key, principal, kind, count(*), sum(bytes), used_at
                 FROM conversations JOIN files ON conversation = conversations.id
                 WHERE tenant = ?1 AND used_at > ?2 GROUP BY conversations.id ORDER BY used_at DESC, key",
            )?;
            let rows = statement.query_map((TENANT, since), |row| {
                Ok(KeptConversation {
                    key: row.get(0)?,
                    principal: row.get(1)?,
                    kind: row.get(2)?,
                    sums: Sums { files: read_count(row, 3)?, bytes: read_count(row, 4)? },
                    used_at: row.get(5)?,
                })
            })?;
            Ok(rows.collect::<Result<_, _>>()?)
        })
    }

    /// The files of a conversation.
    pub(crate) fn files_by_key(&self, key: &str) -> Result<Vec<File>> {
        self.read(|connection| match id_of(connection, key)? {
            Some(id) => files_in(connection, id),
            None => Ok(Vec::new()),
        })
    }

    /// All bytes of a file of a conversation.
    pub(crate) fn file_by_key(
        &self,
        key: &str,
        owner: &CapabilityName,
        name: &FileName,
    ) -> Result<Option<Vec<u8>>> {
        self.read(|connection| {
            let Some(id) = id_of(connection, key)? else { return Ok(None) };
            let found = rows_of(connection, id, owner)?.into_iter().find(|(_, file)| file.name == *name);
            found.map(|(row, file)| read_part(connection, row, file.bytes, 0, file.bytes)).transpose()
        })
    }

    /// Removes one file of a conversation, or all of them, with a person's record. Gives how many there were;
    /// without one there is no record.
    pub(crate) fn delete_files_by_hand(
        &self,
        key: &str,
        only: Option<(CapabilityName, FileName)>,
        record: Record,
    ) -> Result<usize> {
        let key = key.to_owned();
        self.write(move |connection| {
            let Some(id) = id_of(connection, &key)? else { return Ok(0) };
            let gone: Vec<(i64, File)> = match &only {
                Some((owner, name)) => {
                    rows_of(connection, id, owner)?.into_iter().filter(|(_, file)| file.name == *name).collect()
                }
                None => all_rows(connection, id)?,
            };
            if gone.is_empty() {
                return Ok(0);
            }
            calls::put(connection, &record, None)?;
            for (position, (row, file)) in (0..).zip(&gone) {
                remove(connection, *row)?;
                put_change(connection, &record.id, position, &FileRecord::deleted(&file.name))?;
            }
            Ok(gone.len())
        })
    }
}

fn id_of(connection: &Connection, key: &str) -> Result<Option<i64>> {
    Ok(connection
        .prepare_cached("SELECT id FROM conversations WHERE tenant = ?1 AND key = ?2")?
        .query_row((TENANT, key), |row| row.get(0))
        .optional()?)
}

/// The files of one conversation, by capability and name.
pub(super) fn files_in(connection: &Connection, room: i64) -> Result<Vec<File>> {
    Ok(all_rows(connection, room)?.into_iter().map(|(_, file)| file).collect())
}

fn all_rows(connection: &Connection, room: i64) -> Result<Vec<(i64, File)>> {
    let mut statement = connection.prepare_cached(
        "SELECT publisher, slug, name, bytes, written_at, id FROM files
         WHERE conversation = ?1 ORDER BY publisher, slug, name",
    )?;
    let mut rows = statement.query([room])?;
    let mut files = Vec::new();
    while let Some(row) = rows.next()? {
        files.push((row.get(5)?, read_row(row)?));
    }
    Ok(files)
}

/// Removes what a capability keeps in all conversations.
pub(in crate::store) fn purge(connection: &Connection, owner: &CapabilityName) -> Result<u64> {
    let removed = connection
        .prepare_cached("DELETE FROM files WHERE publisher = ?1 AND slug = ?2")?
        .execute((&owner.publisher, &owner.slug))?;
    Ok(removed as u64)
}
