//! The forms in which a capability's documents are stored, as its manifests number them.
//!
//! Code that was installed may have written documents of its form from then on, so the newest form that was ever
//! installed is what counts, until the documents are gone.

use rusqlite::Connection;

use crate::error::{Error, ErrorKind, Result};
use crate::manifest::Manifest;
use crate::registry::CapabilityName;

/// Lets code with this manifest have the documents, or refuses: what is stored has a form that is newer than what it
/// can read.
pub(super) fn enter(connection: &Connection, name: &CapabilityName, manifest: &Manifest) -> Result<()> {
    for entity in &manifest.entities {
        let (reads, stored) = (manifest.entity_format(entity), stored(connection, name, entity)?);
        if reads < stored && holds(connection, name, entity)? {
            return Err(Error::new(
                ErrorKind::EntityFormat,
                format!(
                    "`{entity}` of `{name}` holds documents of format {stored}, and version {} reads format {reads}",
                    manifest.version
                ),
            )
            .hint(format!(
                "stay with a version that reads format {stored}; or keep a copy with `remit entities export {name} \
                 FILE` and remove the documents with `remit uninstall {name} --purge`, then install that version"
            )));
        }
        put(connection, name, entity, reads)?;
    }
    Ok(())
}

/// Forgets the forms: there are no documents any more.
pub(super) fn forget(connection: &Connection, name: &CapabilityName) -> Result<()> {
    connection
        .prepare_cached("DELETE FROM entity_formats WHERE publisher = ?1 AND slug = ?2")?
        .execute((&name.publisher, &name.slug))?;
    Ok(())
}

fn stored(connection: &Connection, name: &CapabilityName, entity: &str) -> Result<u32> {
    Ok(connection
        .prepare_cached(
            "SELECT coalesce(max(format), 1) FROM entity_formats WHERE publisher = ?1 AND slug = ?2 AND entity = ?3",
        )?
        .query_row((&name.publisher, &name.slug, entity), |row| row.get(0))?)
}

fn holds(connection: &Connection, name: &CapabilityName, entity: &str) -> Result<bool> {
    Ok(connection
        .prepare_cached(
            "SELECT EXISTS (SELECT 1 FROM holdings JOIN documents ON holding = id
             WHERE publisher = ?1 AND slug = ?2 AND entity = ?3)",
        )?
        .query_row((&name.publisher, &name.slug, entity), |row| row.get(0))?)
}

fn put(connection: &Connection, name: &CapabilityName, entity: &str, format: u32) -> Result<()> {
    let (publisher, slug) = (&name.publisher, &name.slug);
    // The first form needs no row.
    if format > 1 {
        connection
            .prepare_cached(
                "INSERT INTO entity_formats (publisher, slug, entity, format) VALUES (?1, ?2, ?3, ?4)
                 ON CONFLICT DO UPDATE SET format = ?4",
            )?
            .execute((publisher, slug, entity, format))?;
    } else {
        connection
            .prepare_cached("DELETE FROM entity_formats WHERE publisher = ?1 AND slug = ?2 AND entity = ?3")?
            .execute((publisher, slug, entity))?;
    }
    Ok(())
}
