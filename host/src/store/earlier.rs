//! The rows of earlier pins: what a name was pinned to before, with what people had decided about that digest.
//!
//! A pin comes here in the transaction that replaces it, and leaves in the one that returns to it. What is taken back
//! from a name is taken back here, too: a rollback gives nothing that somebody took away since.

use rusqlite::{Connection, OptionalExtension, Row};
use semver::Version;

use super::failure::damaged;
use super::grants::{read_approval, read_namespace};
use super::installs::{Pin, delete, read_pin};
use super::{Store, calls, formats, presets, read_count, recalls, restrictions};
use crate::audit::Record;
use crate::error::{Error, ErrorKind, Result};
use crate::policy::{Approval, Grant};
use crate::registry::{CapabilityName, Digest};

/// Earlier pins of one name that are kept: a year of monthly releases, nearly.
pub(crate) const KEPT: usize = 10;

/// One earlier pin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Earlier {
    /// Its version.
    pub version: Version,
    /// Its bytes.
    pub digest: Digest,
    /// How many there are.
    pub size: u64,
    /// When it was pinned, in milliseconds since 1970.
    pub installed_at: i64,
    /// When something else took its place.
    pub left_at: i64,
    /// Whether a rollback left it: another one does not go there by itself.
    pub was_rolled_back: bool,
    /// What it was granted.
    pub grants: Vec<Grant>,
    /// Where its secrets could go.
    pub approvals: Vec<Approval>,
}

/// Why a pin was left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Left {
    Replaced,
    RolledBack,
}

impl Left {
    fn as_str(self) -> &'static str {
        match self {
            Self::Replaced => "replaced",
            Self::RolledBack => "rollback",
        }
    }
}

impl Store {
    /// The earlier pins of a name that are kept, the newest first.
    pub(crate) fn earlier(&self, name: &CapabilityName) -> Result<Vec<Earlier>> {
        self.read(|connection| {
            let mut statement = connection.prepare_cached(
                "SELECT id, version, digest, size, installed_at, left_at, left_by FROM earlier
                 WHERE publisher = ?1 AND slug = ?2 ORDER BY id DESC",
            )?;
            let mut rows = statement.query((&name.publisher, &name.slug))?;
            let mut all = Vec::new();
            while let Some(row) = rows.next()? {
                let id = row.get(0)?;
                let left_by: String = row.get(6)?;
                all.push(Earlier {
                    version: read_version(row, 1)?,
                    digest: read_digest(row, 2)?,
                    size: read_count(row, 3)?,
                    installed_at: row.get(4)?,
                    left_at: row.get(5)?,
                    was_rolled_back: left_by == Left::RolledBack.as_str(),
                    grants: read_grants(connection, id)?,
                    approvals: read_approvals(connection, id)?,
                });
            }
            Ok(all)
        })
    }

    /// What was decided about bytes that were pinned before, unless their release was revoked: for a call that began
    /// with them.
    pub(crate) fn decided_before(
        &self,
        name: &CapabilityName,
        digest: &Digest,
    ) -> Result<Option<(Vec<Grant>, Vec<Approval>)>> {
        self.read(|connection| {
            let Some((id, version)) = find(connection, name, digest)? else { return Ok(None) };
            if recalls::is_revoked(connection, name, &version)? {
                return Ok(None);
            }
            Ok(Some((read_grants(connection, id)?, read_approvals(connection, id)?)))
        })
    }

    /// Pins what was pinned before, with what was decided about it then, in place of `from`. What is pinned now is
    /// kept. Gives the digests that nobody needs any more.
    pub(crate) fn roll_back(
        &self,
        name: &CapabilityName,
        from: &Digest,
        to: &Digest,
        record: Record,
    ) -> Result<Vec<Digest>> {
        let (name, from, to, now) = (name.clone(), *from, *to, self.now_ms());
        self.write(move |connection| {
            super::grants::refuse_changed_pin(connection, &name, &from)?;
            let Some((id, version)) = find(connection, &name, &to)? else { return Err(not_kept(&name)) };
            recalls::refuse_revoked(connection, &name, &version)?;
            let manifest: String = connection
                .prepare_cached("SELECT manifest FROM earlier WHERE id = ?1")?
                .query_row([id], |row| row.get(0))?;
            let manifest = serde_json::from_str(&manifest).map_err(damaged)?;
            formats::enter(connection, &name, &manifest)?;
            keep(connection, &name, Left::RolledBack, now)?;
            delete(connection, &name)?;
            restrictions::tighten(connection, &name)?;
            restore(connection, id, now)?;
            restrictions::loosen(connection, &name, &read_words(connection, id)?)?;
            connection.prepare_cached("DELETE FROM earlier WHERE id = ?1")?.execute([id])?;
            presets::sync(connection, &name, now)?;
            calls::put(connection, &record, None)?;
            trim(connection, &name)
        })
    }
}

/// Keeps the pin of a name, with what was decided about it. The install itself is not touched.
pub(super) fn keep(connection: &Connection, name: &CapabilityName, left: Left, now: i64) -> Result<()> {
    connection
        .prepare_cached(
            "INSERT INTO earlier (publisher, slug, version, digest, size, installed_at, left_at, left_by, manifest)
             SELECT publisher, slug, version, digest, size, installed_at, ?3, ?4, manifest FROM installs
             WHERE publisher = ?1 AND slug = ?2",
        )?
        .execute((&name.publisher, &name.slug, now, left.as_str()))?;
    let id = connection.last_insert_rowid();
    for copy in [
        "INSERT INTO earlier_grants SELECT ?3, namespace, entry FROM grants WHERE publisher = ?1 AND slug = ?2",
        "INSERT INTO earlier_approvals SELECT ?3, secret, source, host, port, place, expires_at FROM approvals
         WHERE publisher = ?1 AND slug = ?2",
        "INSERT INTO earlier_words SELECT ?3, tool FROM restrictions
         WHERE publisher = ?1 AND slug = ?2 AND confirm = 'never'",
    ] {
        connection.prepare_cached(copy)?.execute((&name.publisher, &name.slug, id))?;
    }
    Ok(())
}

/// The install that an earlier pin was, with its grants and approvals.
fn restore(connection: &Connection, id: i64, now: i64) -> Result<()> {
    connection
        .prepare_cached(
            "INSERT INTO installs (publisher, slug, version, digest, size, installed_at, manifest)
             SELECT publisher, slug, version, digest, size, ?2, manifest FROM earlier WHERE id = ?1",
        )?
        .execute((id, now))?;
    for copy in [
        "INSERT INTO grants (publisher, slug, digest, namespace, entry)
         SELECT publisher, slug, digest, namespace, entry FROM earlier JOIN earlier_grants ON pin = id WHERE id = ?1",
        "INSERT INTO approvals (publisher, slug, digest, secret, source, host, port, place, expires_at)
         SELECT publisher, slug, digest, secret, source, host, port, place, expires_at
         FROM earlier JOIN earlier_approvals ON pin = id WHERE id = ?1",
    ] {
        connection.prepare_cached(copy)?.execute([id])?;
    }
    Ok(())
}

/// Drops an earlier pin: its bytes are decided about anew.
pub(super) fn forget(connection: &Connection, name: &CapabilityName, digest: &Digest) -> Result<()> {
    connection
        .prepare_cached("DELETE FROM earlier WHERE publisher = ?1 AND slug = ?2 AND digest = ?3")?
        .execute((&name.publisher, &name.slug, digest.to_string()))?;
    Ok(())
}

/// Drops all earlier pins of a name. Gives their digests.
pub(super) fn forget_all(connection: &Connection, name: &CapabilityName) -> Result<Vec<Digest>> {
    drop_beyond(connection, name, 0)
}

/// Drops the oldest pins of a name beyond what is kept. Gives their digests.
pub(super) fn trim(connection: &Connection, name: &CapabilityName) -> Result<Vec<Digest>> {
    drop_beyond(connection, name, KEPT)
}

fn drop_beyond(connection: &Connection, name: &CapabilityName, kept: usize) -> Result<Vec<Digest>> {
    let mut statement = connection.prepare_cached(
        "DELETE FROM earlier WHERE id IN (
             SELECT id FROM earlier WHERE publisher = ?1 AND slug = ?2 ORDER BY id DESC LIMIT -1 OFFSET ?3
         ) RETURNING digest",
    )?;
    let mut rows = statement.query((&name.publisher, &name.slug, i64::try_from(kept).unwrap_or(i64::MAX)))?;
    let mut dropped = Vec::new();
    while let Some(row) = rows.next()? {
        dropped.push(read_digest(row, 0)?);
    }
    for digest in &dropped {
        connection
            .prepare_cached("DELETE FROM origins WHERE publisher = ?1 AND slug = ?2 AND digest = ?3")?
            .execute((&name.publisher, &name.slug, digest.to_string()))?;
    }
    Ok(dropped)
}

/// A version means the same bytes for ever, also while it is not the one that is pinned.
pub(super) fn refuse_other_bytes(connection: &Connection, pin: &Pin) -> Result<()> {
    let mut statement =
        connection.prepare_cached("SELECT version, digest FROM earlier WHERE publisher = ?1 AND slug = ?2")?;
    let mut rows = statement.query((&pin.name.publisher, &pin.name.slug))?;
    while let Some(row) = rows.next()? {
        let (version, digest) = (read_version(row, 0)?, read_digest(row, 1)?);
        if digest != pin.digest {
            super::installs::refuse_other_bytes(&pin.name, &pin.version, &version)?;
        }
    }
    Ok(())
}

/// Whether a call of these bytes may go on in a namespace, and in this entry of it: they are pinned and granted it, or
/// were when the call began, nobody took it back since, and their release was not revoked.
pub(super) fn may_go_on(
    connection: &Connection,
    name: &CapabilityName,
    digest: &Digest,
    namespace: &str,
    entry: &str,
) -> Result<bool> {
    let CapabilityName { publisher, slug } = name;
    let digest_text = digest.to_string();
    let is_granted: bool = connection
        .prepare_cached(
            "SELECT EXISTS (SELECT 1 FROM grants WHERE publisher = ?1 AND slug = ?2 AND digest = ?3
             AND namespace = ?4 AND entry = ?5)",
        )?
        .query_row((publisher, slug, &digest_text, namespace, entry), |row| row.get(0))?;
    if is_granted {
        let version = read_pin(connection, name)?.map(|(version, _)| version);
        return Ok(match version {
            Some(version) => !recalls::is_revoked(connection, name, &version)?,
            None => false,
        });
    }
    // An upgrade that changed the form of an entity's documents ends what older code writes into it.
    let was_granted: bool = connection
        .prepare_cached(
            "SELECT EXISTS (SELECT 1 FROM earlier JOIN earlier_grants ON pin = id
             WHERE publisher = ?1 AND slug = ?2 AND digest = ?3 AND namespace = ?4 AND entry = ?5
             AND coalesce(json_extract(manifest, '$.entityFormats.\"' || ?5 || '\"'), 1) >= coalesce(
                 (SELECT format FROM entity_formats WHERE publisher = ?1 AND slug = ?2 AND entity = ?5), 1)
             AND NOT EXISTS (SELECT 1 FROM recalls WHERE recalls.publisher = ?1 AND recalls.slug = ?2
                 AND recalls.version = earlier.version AND state = 'revoked'))",
        )?
        .query_row((publisher, slug, &digest_text, namespace, entry), |row| row.get(0))?;
    // What is uninstalled is not upgraded.
    Ok(was_granted && read_pin(connection, name)?.is_some())
}

/// No earlier version of `name` is there to return to.
pub(crate) fn not_kept(name: &CapabilityName) -> Error {
    Error::new(ErrorKind::NotKept, format!("no such earlier version of `{name}` is kept"))
        .hint(format!("remit show {name} lists them; `remit install FILE` brings another one"))
}

fn find(connection: &Connection, name: &CapabilityName, digest: &Digest) -> Result<Option<(i64, Version)>> {
    connection
        .prepare_cached("SELECT id, version FROM earlier WHERE publisher = ?1 AND slug = ?2 AND digest = ?3")?
        .query_row((&name.publisher, &name.slug, digest.to_string()), |row| {
            Ok((row.get(0)?, read_version(row, 1)))
        })
        .optional()?
        .map(|(id, version)| Ok((id, version?)))
        .transpose()
}

fn read_grants(connection: &Connection, id: i64) -> Result<Vec<Grant>> {
    let mut statement = connection
        .prepare_cached("SELECT namespace, entry FROM earlier_grants WHERE pin = ?1 ORDER BY namespace, entry")?;
    let mut rows = statement.query([id])?;
    let mut grants = Vec::new();
    while let Some(row) = rows.next()? {
        let (namespace, entry): (String, String) = (row.get(0)?, row.get(1)?);
        let entry = Some(entry).filter(|entry| !entry.is_empty());
        grants.push(Grant { namespace: read_namespace(&namespace)?, entry });
    }
    Ok(grants)
}

fn read_approvals(connection: &Connection, id: i64) -> Result<Vec<Approval>> {
    let mut statement = connection.prepare_cached(
        "SELECT secret, source, host, port, place, expires_at FROM earlier_approvals WHERE pin = ?1
         ORDER BY secret, host, port, place",
    )?;
    let mut rows = statement.query([id])?;
    let mut approvals = Vec::new();
    while let Some(row) = rows.next()? {
        approvals.push(read_approval(row, 0)?);
    }
    Ok(approvals)
}

fn read_words(connection: &Connection, id: i64) -> Result<Vec<String>> {
    let mut statement = connection.prepare_cached("SELECT tool FROM earlier_words WHERE pin = ?1")?;
    Ok(statement.query_map([id], |row| row.get(0))?.collect::<Result<_, _>>()?)
}

fn read_version(row: &Row<'_>, column: usize) -> Result<Version> {
    let text: String = row.get(column)?;
    Version::parse(&text).map_err(|_| damaged("a version in `earlier`"))
}

fn read_digest(row: &Row<'_>, column: usize) -> Result<Digest> {
    let text: String = row.get(column)?;
    text.parse().map_err(|_| damaged("a digest in `earlier`"))
}

#[cfg(test)]
mod tests;
