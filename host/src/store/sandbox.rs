//! Files of conversations: written whole or not at all, read in parts.
//!
//! Every statement names the tenant, the principal, the conversation and the capability: there is no way to a file
//! without them. A change is one transaction with the record's child. Bytes lie in pieces in the database and not in
//! files beside it: so what was acknowledged survives a crash with its name, its record and its place in the quota,
//! and goes into backups with them. Whether a file may be written is decided by `namespaces::sandbox::rules`, on what
//! is there inside the transaction.

mod people;

use rusqlite::{Connection, OptionalExtension, Row};

use super::failure::damaged;
use super::{Store, count, earlier, read_count, runs};
use crate::client::Conversation;
use crate::error::Result;
use crate::manifest::NamespaceName;
use crate::namespaces::sandbox::name::FileName;
use crate::namespaces::sandbox::rules::{Quota, Sums, decide};
use crate::namespaces::sandbox::{File, FileRecord, Refusal};
use crate::registry::{CapabilityName, Digest};

pub use people::KeptConversation;
pub(super) use people::purge;

/// The only tenant there is today.
const TENANT: &str = "default";

/// Bytes of one piece: few enough that a small part costs little, enough that a file is few rows.
const PIECE: u64 = 256 * 1024;

/// Conversations whose time is over that one change removes: more would make a guest wait for what is not its own.
const REMOVED_AT_ONCE: u32 = 2;

/// One conversation of one principal.
#[derive(Clone, Debug)]
pub(crate) struct Room {
    pub(crate) principal: String,
    /// Its key, which only this principal's conversation has.
    pub(crate) conversation: String,
    kind: &'static str,
    /// How long files are kept after the last change, in milliseconds.
    keep_ms: i64,
}

/// What one capability keeps in a conversation.
#[derive(Clone, Debug)]
pub(crate) struct Drawer {
    pub(crate) room: Room,
    pub(crate) owner: CapabilityName,
}

/// Which call makes a change.
pub(crate) struct WrittenBy {
    /// Its record, which is on disk.
    pub(crate) call: String,
    /// How many changes it has made before.
    pub(crate) position: u64,
    /// The run of a loop that it belongs to: it counts the changes made in it.
    pub(crate) run: Option<String>,
    /// What runs: a change counts as long as these bytes are installed and granted the namespace.
    pub(crate) digest: Digest,
}

impl Room {
    /// The conversation of this principal. Files are kept for so long after the last change in it.
    pub(crate) fn of(principal: &str, conversation: &Conversation, keep_ms: i64) -> Self {
        let (kind, key) = (conversation.kind(), conversation.key(principal));
        Self { principal: principal.to_owned(), conversation: key, kind, keep_ms }
    }

    /// The id of its row, unless its time is over.
    fn id(&self, connection: &Connection, now: i64) -> Result<Option<i64>> {
        let alive_since = now.saturating_sub(self.keep_ms);
        Ok(connection
            .prepare_cached(
                "SELECT id FROM conversations
                 WHERE tenant = ?1 AND principal = ?2 AND key = ?3 AND used_at > ?4",
            )?
            .query_row((TENANT, &self.principal, &self.conversation, alive_since), |row| row.get(0))
            .optional()?)
    }

    /// The same for a change: it is there afterwards, and was used now.
    fn enter(&self, connection: &Connection, now: i64) -> Result<i64> {
        remove_old(connection, now.saturating_sub(self.keep_ms), REMOVED_AT_ONCE)?;
        if let Some(id) = self.id(connection, now)? {
            connection
                .prepare_cached("UPDATE conversations SET used_at = ?2 WHERE id = ?1")?
                .execute((id, now))?;
            return Ok(id);
        }
        // One whose time is over, and that was not among those which were removed.
        connection
            .prepare_cached("DELETE FROM conversations WHERE tenant = ?1 AND principal = ?2 AND key = ?3")?
            .execute((TENANT, &self.principal, &self.conversation))?;
        connection
            .prepare_cached(
                "INSERT INTO conversations (tenant, principal, key, kind, began_at, used_at)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?5)",
            )?
            .execute((TENANT, &self.principal, &self.conversation, self.kind, now))?;
        Ok(connection.last_insert_rowid())
    }
}

impl Store {
    /// What a capability keeps in a conversation, in the order of the names.
    pub(crate) fn files(&self, drawer: &Drawer) -> Result<Vec<File>> {
        let now = self.now_ms();
        self.read(|connection| match drawer.room.id(connection, now)? {
            Some(room) => {
                Ok(rows_of(connection, room, &drawer.owner)?.into_iter().map(|(_, file)| file).collect())
            }
            None => Ok(Vec::new()),
        })
    }

    /// What all capabilities keep in a conversation.
    pub(crate) fn files_of_all(&self, room: &Room) -> Result<Vec<File>> {
        let now = self.now_ms();
        self.read(|connection| match room.id(connection, now)? {
            Some(id) => people::files_in(connection, id),
            None => Ok(Vec::new()),
        })
    }

    /// Bytes of a file from `offset` on, `length` at most. Nothing when there is no such file.
    pub(crate) fn read_file(
        &self,
        drawer: &Drawer,
        name: &FileName,
        offset: u64,
        length: u64,
    ) -> Result<Option<Vec<u8>>> {
        let now = self.now_ms();
        self.read(|connection| {
            let Some(room) = drawer.room.id(connection, now)? else { return Ok(None) };
            let found = rows_of(connection, room, &drawer.owner)?.into_iter().find(|(_, file)| file.name == *name);
            found.map(|(id, file)| read_part(connection, id, file.bytes, offset, length)).transpose()
        })
    }

    /// What a principal keeps, all conversations together.
    pub(crate) fn file_sums(&self, room: &Room) -> Result<Sums> {
        let now = self.now_ms();
        self.look(|connection| sums_of(connection, room, now))
    }

    /// Writes a file whole, and tells whether it is new. When this returns it is on disk. When it is dropped before
    /// the writer has begun with it, it is not made.
    pub(crate) async fn write_file(
        &self,
        drawer: Drawer,
        by: WrittenBy,
        name: FileName,
        bytes: Vec<u8>,
        quota: Quota,
    ) -> Result<Result<(File, bool), Refusal>> {
        let now = self.now_ms();
        self.write_while_wanted(move |connection| {
            let Drawer { room, owner } = &drawer;
            if !is_granted(connection, owner, &by.digest)? {
                return Ok(Err(Refusal::NotAvailable));
            }
            let size = bytes.len() as u64;
            let present = match room.id(connection, now)? {
                Some(id) => rows_of(connection, id, owner)?,
                None => Vec::new(),
            };
            let of_principal = sums_of(connection, room, now)?;
            let found = present.iter().map(|(_, file)| (&file.name, file.bytes));
            if let Err(refusal) = decide(&name, size, found, of_principal, &quota) {
                return Ok(Err(refusal));
            }
            let replaced = present.iter().find(|(_, file)| file.name == name).map(|(id, _)| *id);
            replaced.map_or(Ok(()), |id| remove(connection, id))?;
            let id = room.enter(connection, now)?;
            put(connection, id, owner, &name, &bytes, now)?;
            record(connection, &by, &FileRecord::written(&name, size))?;
            let file = File { owner: owner.clone(), name, bytes: size, written_at: now };
            Ok(Ok((file, replaced.is_none())))
        })
        .await
    }

    /// Removes a file, and tells whether it was there.
    pub(crate) async fn delete_file(
        &self,
        drawer: Drawer,
        by: WrittenBy,
        name: FileName,
    ) -> Result<Result<bool, Refusal>> {
        let now = self.now_ms();
        self.write_while_wanted(move |connection| {
            let Drawer { room, owner } = &drawer;
            if !is_granted(connection, owner, &by.digest)? {
                return Ok(Err(Refusal::NotAvailable));
            }
            let Some(id) = room.id(connection, now)? else { return Ok(Ok(false)) };
            let found = rows_of(connection, id, owner)?.into_iter().find(|(_, file)| file.name == name);
            let Some((file, _)) = found else { return Ok(Ok(false)) };
            remove(connection, file)?;
            room.enter(connection, now)?;
            record(connection, &by, &FileRecord::deleted(&name))?;
            Ok(Ok(true))
        })
        .await
    }

    /// Removes all conversations whose time is over.
    pub(crate) fn remove_old_files(&self, keep_ms: i64) -> Result<()> {
        let now = self.now_ms();
        self.write(move |connection| remove_old(connection, now.saturating_sub(keep_ms), u32::MAX))
    }
}

fn remove_old(connection: &Connection, since: i64, most: u32) -> Result<()> {
    connection
        .prepare_cached(
            "DELETE FROM conversations WHERE id IN
             (SELECT id FROM conversations WHERE used_at <= ?1 ORDER BY used_at LIMIT ?2)",
        )?
        .execute((since, most))?;
    Ok(())
}

/// The files of one capability in one conversation, with the ids of their rows.
fn rows_of(connection: &Connection, room: i64, owner: &CapabilityName) -> Result<Vec<(i64, File)>> {
    let mut statement = connection.prepare_cached(
        "SELECT publisher, slug, name, bytes, written_at, id FROM files
         WHERE conversation = ?1 AND publisher = ?2 AND slug = ?3 ORDER BY name",
    )?;
    let mut rows = statement.query((room, &owner.publisher, &owner.slug))?;
    let mut files = Vec::new();
    while let Some(row) = rows.next()? {
        files.push((row.get(5)?, read_row(row)?));
    }
    Ok(files)
}

/// From publisher, slug, name, bytes, time.
fn read_row(row: &Row<'_>) -> Result<File> {
    let name: String = row.get(2)?;
    Ok(File {
        owner: CapabilityName { publisher: row.get(0)?, slug: row.get(1)? },
        name: name.parse().map_err(|_| damaged("a name in `files`"))?,
        bytes: read_count(row, 3)?,
        written_at: row.get(4)?,
    })
}

fn sums_of(connection: &Connection, room: &Room, now: i64) -> Result<Sums> {
    let alive_since = now.saturating_sub(room.keep_ms);
    Ok(connection
        .prepare_cached(
            "SELECT count(*), coalesce(sum(bytes), 0) FROM files JOIN conversations ON conversation = conversations.id
             WHERE tenant = ?1 AND principal = ?2 AND used_at > ?3",
        )?
        .query_row((TENANT, &room.principal, alive_since), |row| {
            Ok(Sums { files: read_count(row, 0)?, bytes: read_count(row, 1)? })
        })?)
}

fn put(
    connection: &Connection,
    room: i64,
    owner: &CapabilityName,
    name: &FileName,
    bytes: &[u8],
    now: i64,
) -> Result<()> {
    connection
        .prepare_cached(
            "INSERT INTO files (conversation, publisher, slug, name, folded, bytes, written_at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        )?
        .execute((
            room,
            &owner.publisher,
            &owner.slug,
            name.as_str(),
            name.folded(),
            count(bytes.len() as u64),
            now,
        ))?;
    let file = connection.last_insert_rowid();
    let mut insert =
        connection.prepare_cached("INSERT INTO file_pieces (file, position, bytes) VALUES (?1, ?2, ?3)")?;
    let piece = usize::try_from(PIECE).unwrap_or(usize::MAX);
    for (position, piece) in (0_i64..).zip(bytes.chunks(piece)) {
        insert.execute((file, position, piece))?;
    }
    Ok(())
}

fn remove(connection: &Connection, file: i64) -> Result<()> {
    connection.prepare_cached("DELETE FROM files WHERE id = ?1")?.execute([file])?;
    Ok(())
}

fn read_part(connection: &Connection, file: i64, size: u64, offset: u64, length: u64) -> Result<Vec<u8>> {
    let until = offset.saturating_add(length).min(size);
    if offset >= until {
        return Ok(Vec::new());
    }
    let (first, last) = (offset / PIECE, (until - 1) / PIECE);
    let mut statement = connection.prepare_cached(
        "SELECT bytes FROM file_pieces WHERE file = ?1 AND position BETWEEN ?2 AND ?3 ORDER BY position",
    )?;
    let mut rows = statement.query((file, count(first), count(last)))?;
    let mut bytes = Vec::new();
    while let Some(row) = rows.next()? {
        bytes.extend_from_slice(row.get_ref(0)?.as_blob().map_err(damaged)?);
    }
    let from = usize::try_from(offset - first * PIECE).map_err(damaged)?;
    let wanted = usize::try_from(until - offset).map_err(damaged)?;
    let part =
        bytes.get(from..from + wanted).ok_or_else(|| damaged("a file has fewer bytes than its row says"))?;
    Ok(part.to_vec())
}

/// Whether a call of these bytes may go on changing files: nobody took the namespace back or uninstalled it since.
fn is_granted(connection: &Connection, owner: &CapabilityName, digest: &Digest) -> Result<bool> {
    earlier::may_go_on(connection, owner, digest, NamespaceName::Sandbox.as_str(), "")
}

fn record(connection: &Connection, by: &WrittenBy, change: &FileRecord) -> Result<()> {
    put_change(connection, &by.call, by.position, change)?;
    by.run.as_ref().map_or(Ok(()), |run| runs::count_changes(connection, run, 1))
}

fn put_change(connection: &Connection, call: &str, position: u64, change: &FileRecord) -> Result<()> {
    let FileRecord { name, action, bytes } = change;
    connection
        .prepare_cached(
            "INSERT INTO file_changes (call, position, name, action, bytes) VALUES (?1, ?2, ?3, ?4, ?5)",
        )?
        .execute((call, count(position), name, action, count(*bytes)))?;
    Ok(())
}

/// What a call did to files, in order.
pub(super) fn read_file_changes(connection: &Connection, call: &str) -> Result<Vec<FileRecord>> {
    let mut statement = connection
        .prepare_cached("SELECT name, action, bytes FROM file_changes WHERE call = ?1 ORDER BY position")?;
    let rows = statement.query_map([call], |row| {
        Ok(FileRecord { name: row.get(0)?, action: row.get(1)?, bytes: read_count(row, 2)? })
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

#[cfg(test)]
mod tests;
