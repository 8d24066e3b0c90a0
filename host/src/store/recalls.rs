//! The rows of what was said against releases, and of who vouched for installed bytes.

use std::collections::BTreeMap;

use rusqlite::{Connection, Row};
use semver::{BuildMetadata, Version};

use super::failure::damaged;
use super::installs::{Install, read_pin};
use super::{Store, calls, runs};
use crate::audit::Record;
use crate::error::Result;
use crate::registry::{Against, CapabilityName, Digest, Exact, Origin, Recall};

/// What became of something that was said against a release.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Recalled {
    /// It was not known before.
    pub is_news: bool,
    /// The release is pinned here.
    pub is_pinned: bool,
    /// Loops that were paused for it.
    pub paused: usize,
}

impl Store {
    /// Keeps what was said against a release. In force for the next call of every process; loops that would call a
    /// revoked release, or belong to it, are paused in the same transaction. Who revoked does not yank afterwards.
    /// `record` is written if it is news.
    pub(crate) fn recall(&self, release: &Exact, recall: &Recall, record: Record) -> Result<Recalled> {
        let (Exact { name, version }, recall, now) = (release.clone(), recall.clone(), self.now_ms());
        self.write(move |connection| {
            let Recall { against, reason, source, at } = &recall;
            let version = identity(&version);
            let changed = connection
                .prepare_cached(
                    "INSERT INTO recalls (publisher, slug, version, source, state, reason, at)
                     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
                     ON CONFLICT DO UPDATE SET state = ?5, reason = ?6, at = ?7
                     WHERE state <> 'revoked' AND (state, reason, at) IS NOT (?5, ?6, ?7)",
                )?
                .execute((
                    &name.publisher,
                    &name.slug,
                    version.to_string(),
                    source.as_deref().unwrap_or_default(),
                    against.as_str(),
                    reason,
                    at,
                ))?;
            if changed == 0 {
                return Ok(Recalled::default());
            }
            let is_pinned =
                read_pin(connection, &name)?.is_some_and(|(pinned, _)| pinned.cmp_precedence(&version).is_eq());
            let paused = if is_pinned && *against == Against::Revoked {
                pause_loops(connection, &name, &version, now)?
            } else {
                0
            };
            calls::put(connection, &record, None)?;
            Ok(Recalled { is_news: true, is_pinned, paused })
        })
    }

    /// Takes back what a source said against a release. Gives whether it had said anything.
    pub(crate) fn lift_recall(&self, release: &Exact, source: Option<&str>, record: Record) -> Result<bool> {
        let (Exact { name, version }, source) = (release.clone(), source.unwrap_or_default().to_owned());
        self.write(move |connection| {
            let removed = connection
                .prepare_cached(
                    "DELETE FROM recalls WHERE publisher = ?1 AND slug = ?2 AND version = ?3 AND source = ?4",
                )?
                .execute((&name.publisher, &name.slug, identity(&version).to_string(), &source))?;
            if removed > 0 {
                calls::put(connection, &record, None)?;
            }
            Ok(removed > 0)
        })
    }

    /// What counts of what was said against a release: the worst.
    pub(crate) fn recall_of(&self, release: &Exact) -> Result<Option<Recall>> {
        self.look(|connection| worst(connection, &release.name, &release.version))
    }
}

/// Adds to each of these installs what was said against its release, and who vouched for it.
pub(super) fn read_into(connection: &Connection, installs: &mut BTreeMap<CapabilityName, Install>) -> Result<()> {
    let mut statement = connection.prepare_cached(
        "SELECT state, reason, source, at, publisher, slug FROM recalls JOIN installs USING (publisher, slug, version)
         ORDER BY publisher, slug, state, at",
    )?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let name = CapabilityName { publisher: row.get(4)?, slug: row.get(5)? };
        if let Some(install) = installs.get_mut(&name) {
            // In the order of the words, the worst comes first.
            install.recall.get_or_insert(read(row)?);
        }
    }
    let mut statement = connection.prepare_cached(
        "SELECT registry, key, reviewer, reviewed_at, publisher, slug
         FROM origins JOIN installs USING (publisher, slug, digest)",
    )?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let name = CapabilityName { publisher: row.get(4)?, slug: row.get(5)? };
        if let Some(install) = installs.get_mut(&name) {
            install.origin = Some(read_origin(row, 0)?);
        }
    }
    Ok(())
}

/// Remembers who vouched for bytes.
pub(super) fn put_origin(
    connection: &Connection,
    name: &CapabilityName,
    digest: &Digest,
    origin: &Origin,
) -> Result<()> {
    let Origin { registry, key, reviewer, reviewed_at } = origin;
    connection
        .prepare_cached(
            "INSERT INTO origins (publisher, slug, digest, registry, key, reviewer, reviewed_at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
             ON CONFLICT DO UPDATE SET registry = ?4, key = ?5, reviewer = ?6, reviewed_at = ?7",
        )?
        .execute((&name.publisher, &name.slug, digest.to_string(), registry, key, reviewer, reviewed_at))?;
    Ok(())
}

/// Forgets who vouched for what a name was.
pub(super) fn forget_origins(connection: &Connection, name: &CapabilityName) -> Result<()> {
    connection
        .prepare_cached("DELETE FROM origins WHERE publisher = ?1 AND slug = ?2")?
        .execute((&name.publisher, &name.slug))?;
    Ok(())
}

/// Refuses a release that must not run.
pub(super) fn refuse_revoked(connection: &Connection, name: &CapabilityName, version: &Version) -> Result<()> {
    match worst(connection, name, version)? {
        Some(recall) if recall.against == Against::Revoked => Err(recall.refusal(name, version)),
        _ => Ok(()),
    }
}

/// Refuses a release that nobody should install any more.
pub(super) fn refuse_recalled(connection: &Connection, name: &CapabilityName, version: &Version) -> Result<()> {
    worst(connection, name, version)?.map_or(Ok(()), |recall| Err(recall.refusal(name, version)))
}

/// Whether a release must not run.
pub(super) fn is_revoked(connection: &Connection, name: &CapabilityName, version: &Version) -> Result<bool> {
    Ok(worst(connection, name, version)?.is_some_and(|recall| recall.against == Against::Revoked))
}

fn worst(connection: &Connection, name: &CapabilityName, version: &Version) -> Result<Option<Recall>> {
    let mut statement = connection.prepare_cached(
        "SELECT state, reason, source, at FROM recalls WHERE publisher = ?1 AND slug = ?2 AND version = ?3
         ORDER BY state, at",
    )?;
    let mut rows = statement.query((&name.publisher, &name.slug, identity(version).to_string()))?;
    rows.next()?.map(read).transpose()
}

/// A version without what is no part of its identity.
fn identity(version: &Version) -> Version {
    Version { build: BuildMetadata::EMPTY, ..version.clone() }
}

/// Stops every loop that belongs to a capability, and every loop of somebody else that calls one of its tools.
fn pause_loops(connection: &Connection, name: &CapabilityName, version: &Version, now: i64) -> Result<usize> {
    let reason = format!("version {version} of {name} was revoked");
    let mut statement = connection.prepare_cached(
        "UPDATE loops SET status = 'paused', next_at = NULL, reason = ?3
         WHERE status = 'active' AND ((publisher = ?1 AND slug = ?2)
             OR substr(json_extract(task, '$.tool'), 1, length(?4)) = ?4)
         RETURNING id",
    )?;
    let prefix = format!("{name}.");
    let ids: Vec<String> = statement
        .query_map((&name.publisher, &name.slug, &reason, &prefix), |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    for id in &ids {
        runs::skip_claimed(connection, id, &reason, now)?;
    }
    Ok(ids.len())
}

fn read(row: &Row<'_>) -> Result<Recall> {
    let state: String = row.get(0)?;
    let source: String = row.get(2)?;
    Ok(Recall {
        against: Against::from_word(&state).ok_or_else(|| damaged("a word in `recalls`"))?,
        reason: row.get(1)?,
        source: Some(source).filter(|source| !source.is_empty()),
        at: row.get(3)?,
    })
}

fn read_origin(row: &Row<'_>, first: usize) -> rusqlite::Result<Origin> {
    Ok(Origin {
        registry: row.get(first)?,
        key: row.get(first + 1)?,
        reviewer: row.get(first + 2)?,
        reviewed_at: row.get(first + 3)?,
    })
}
