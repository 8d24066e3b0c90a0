//! The rows of grants and approvals: what people decided about an installed digest.

use std::collections::BTreeMap;

use rusqlite::{Connection, Row};
use serde::Deserialize;
use serde::de::IntoDeserializer;
use serde::de::value::{Error as ValueError, StrDeserializer};

use super::failure::damaged;
use super::installs::{Install, read_pin};
use super::{Store, presets};
use crate::error::{Error, ErrorKind, Result};
use crate::manifest::NamespaceName;
use crate::policy::{Approval, Grant};
use crate::registry::{CapabilityName, Digest};

impl Store {
    /// Adds grants, as long as `name` is still pinned to the digest they were decided for.
    pub(crate) fn add_grants(&self, name: &CapabilityName, digest: &Digest, grants: &[Grant]) -> Result<()> {
        let (name, digest, grants) = (name.clone(), *digest, grants.to_vec());
        let now = self.now_ms();
        self.write(move |connection| {
            refuse_changed_pin(connection, &name, &digest)?;
            insert(connection, &name, &digest, &grants)?;
            presets::sync(connection, &name, now)
        })
    }

    /// Removes grants. One of a namespace itself takes the namespace's entries along. Gives how many rows
    /// went.
    pub(crate) fn remove_grants(&self, name: &CapabilityName, grants: &[Grant]) -> Result<usize> {
        let (name, grants) = (name.clone(), grants.to_vec());
        let now = self.now_ms();
        self.write(move |connection| {
            let mut delete = connection.prepare_cached(
                "DELETE FROM grants WHERE publisher = ?1 AND slug = ?2 AND namespace = ?3
                 AND (?4 IS NULL OR entry = ?4)",
            )?;
            // A rollback must not give back what is taken back now.
            let mut forget = connection.prepare_cached(
                "DELETE FROM earlier_grants WHERE namespace = ?3 AND (?4 IS NULL OR entry = ?4)
                 AND pin IN (SELECT id FROM earlier WHERE publisher = ?1 AND slug = ?2)",
            )?;
            let mut removed = 0;
            for grant in &grants {
                let row = (&name.publisher, &name.slug, grant.namespace.as_str(), &grant.entry);
                removed += delete.execute(row)?;
                forget.execute(row)?;
            }
            presets::sync(connection, &name, now)?;
            Ok(removed)
        })
    }

    /// Adds approvals, as long as `name` is still pinned to the digest they were decided for. One for
    /// the same host and place takes the place of the one that is there, and of its end. From now on answers to
    /// `name` are searched for their values, whatever becomes of the approvals.
    pub(crate) fn add_approvals(
        &self,
        name: &CapabilityName,
        digest: &Digest,
        approvals: &[Approval],
    ) -> Result<()> {
        let (name, digest, approvals) = (name.clone(), *digest, approvals.to_vec());
        self.write(move |connection| {
            refuse_changed_pin(connection, &name, &digest)?;
            insert_approvals(connection, &name, &digest, &approvals)
        })
    }

    /// Removes every approval of one secret. Gives how many there were.
    pub(crate) fn remove_approvals(&self, name: &CapabilityName, secret: &str) -> Result<usize> {
        let (name, secret) = (name.clone(), secret.to_owned());
        self.write(move |connection| {
            // A rollback must not give back what is taken back now.
            connection
                .prepare_cached(
                    "DELETE FROM earlier_approvals WHERE secret = ?3
                     AND pin IN (SELECT id FROM earlier WHERE publisher = ?1 AND slug = ?2)",
                )?
                .execute((&name.publisher, &name.slug, &secret))?;
            Ok(connection
                .prepare_cached("DELETE FROM approvals WHERE publisher = ?1 AND slug = ?2 AND secret = ?3")?
                .execute((&name.publisher, &name.slug, &secret))?)
        })
    }
}

/// Adds approvals of a digest that is installed. From now on answers to `name` are searched for their values.
pub(super) fn insert_approvals(
    connection: &Connection,
    name: &CapabilityName,
    digest: &Digest,
    approvals: &[Approval],
) -> Result<()> {
    let mut approve = connection.prepare_cached(
        "INSERT INTO approvals (publisher, slug, digest, secret, source, host, port, place, expires_at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
         ON CONFLICT DO UPDATE SET source = ?5, expires_at = ?9",
    )?;
    let mut expose = connection.prepare_cached(
        "INSERT INTO exposures (publisher, slug, secret, source) VALUES (?1, ?2, ?3, ?4)
         ON CONFLICT DO NOTHING",
    )?;
    for approval in approvals {
        let Approval { secret, source, host, port, place, expires_at } = approval;
        approve.execute(rusqlite::params![
            name.publisher,
            name.slug,
            digest.to_string(),
            secret,
            source,
            host,
            port,
            place.to_string(),
            expires_at,
        ])?;
        expose.execute((&name.publisher, &name.slug, secret, source))?;
    }
    Ok(())
}

/// Removes all grants and approvals of a name, to write others in the same transaction.
pub(super) fn clear(connection: &Connection, name: &CapabilityName) -> Result<()> {
    for table in ["grants", "approvals"] {
        connection
            .prepare_cached(&format!("DELETE FROM {table} WHERE publisher = ?1 AND slug = ?2"))?
            .execute((&name.publisher, &name.slug))?;
    }
    Ok(())
}

/// Adds what is stored for each of these installs.
pub(super) fn read_into(connection: &Connection, installs: &mut BTreeMap<CapabilityName, Install>) -> Result<()> {
    let mut statement = connection.prepare_cached(
        "SELECT publisher, slug, namespace, entry FROM grants ORDER BY publisher, slug, namespace, entry",
    )?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let name = CapabilityName { publisher: row.get(0)?, slug: row.get(1)? };
        let (namespace, entry): (String, String) = (row.get(2)?, row.get(3)?);
        let namespace = read_namespace(&namespace)?;
        let entry = Some(entry).filter(|entry| !entry.is_empty());
        if let Some(install) = installs.get_mut(&name) {
            install.grants.push(Grant { namespace, entry });
        }
    }
    let mut statement = connection.prepare_cached(
        "SELECT publisher, slug, secret, source, host, port, place, expires_at FROM approvals
         ORDER BY publisher, slug, secret, host, port, place",
    )?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let name = CapabilityName { publisher: row.get(0)?, slug: row.get(1)? };
        let approval = read_approval(row, 2)?;
        if let Some(install) = installs.get_mut(&name) {
            install.approvals.push(approval);
        }
    }
    Ok(())
}

/// Adds grants of a digest that is installed. An entry `key=value` takes the place of another value.
pub(super) fn insert(
    connection: &Connection,
    name: &CapabilityName,
    digest: &Digest,
    grants: &[Grant],
) -> Result<()> {
    let mut insert = connection.prepare_cached(
        "INSERT INTO grants (publisher, slug, digest, namespace, entry) VALUES (?1, ?2, ?3, ?4, ?5)
         ON CONFLICT DO NOTHING",
    )?;
    let mut replace = connection.prepare_cached(
        "DELETE FROM grants WHERE publisher = ?1 AND slug = ?2 AND namespace = ?3
         AND substr(entry, 1, length(?4)) = ?4 AND entry <> ?5",
    )?;
    for grant in grants {
        let entry = grant.entry.as_deref().unwrap_or_default();
        if let Some(equals) = entry.find('=') {
            let key = &entry[..=equals];
            replace.execute((&name.publisher, &name.slug, grant.namespace.as_str(), key, entry))?;
        }
        insert.execute((&name.publisher, &name.slug, digest.to_string(), grant.namespace.as_str(), entry))?;
    }
    Ok(())
}

/// From secret, source, host, port, place and end, in this order.
pub(super) fn read_approval(row: &Row<'_>, first: usize) -> Result<Approval> {
    let place: String = row.get(first + 4)?;
    Ok(Approval {
        secret: row.get(first)?,
        source: row.get(first + 1)?,
        host: row.get(first + 2)?,
        port: row.get(first + 3)?,
        place: place.parse().map_err(damaged)?,
        expires_at: row.get(first + 5)?,
    })
}

pub(super) fn read_namespace(text: &str) -> Result<NamespaceName> {
    let text: StrDeserializer<'_, ValueError> = text.into_deserializer();
    NamespaceName::deserialize(text).map_err(damaged)
}

/// What a person decided about one digest must not be given to another one that came meanwhile.
pub(super) fn refuse_changed_pin(connection: &Connection, name: &CapabilityName, digest: &Digest) -> Result<()> {
    match read_pin(connection, name)? {
        Some((_, pinned)) if pinned == *digest => Ok(()),
        _ => Err(Error::new(
            ErrorKind::RegistryNotFound,
            format!("`{name}` was replaced or removed by somebody else meanwhile; nothing was changed"),
        )
        .hint(format!("look at it with `remit show {name}`, then decide again"))),
    }
}
