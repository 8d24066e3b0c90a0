//! The rows of what capabilities have withdrawn from agents.

use std::collections::BTreeMap;

use rusqlite::Connection;

use super::Store;
use super::failure::damaged;
use super::grants::refuse_changed_pin;
use super::installs::Install;
use crate::error::Result;
use crate::registry::{CapabilityName, Digest, Item, Withdrawn};

impl Store {
    /// Withdraws an item, or offers it again, as long as `name` is still pinned to the digest whose code asks for
    /// it. What is so already moves nothing: whoever watches would fetch lists for it.
    pub(crate) fn set_offered(
        &self,
        name: &CapabilityName,
        digest: &Digest,
        item: &Item,
        offered: bool,
    ) -> Result<()> {
        let (name, digest, item) = (name.clone(), *digest, item.clone());
        self.write(move |connection| {
            refuse_changed_pin(connection, &name, &digest)?;
            let sql = if offered {
                "DELETE FROM withdrawn
                 WHERE publisher = ?1 AND slug = ?2 AND digest = ?3 AND kind = ?4 AND item = ?5"
            } else {
                "INSERT INTO withdrawn (publisher, slug, digest, kind, item) VALUES (?1, ?2, ?3, ?4, ?5)
                 ON CONFLICT DO NOTHING"
            };
            connection.prepare_cached(sql)?.execute((
                &name.publisher,
                &name.slug,
                digest.to_string(),
                item.kind(),
                item.name(),
            ))?;
            Ok(())
        })
    }
}

/// Adds what each of these installs has withdrawn.
pub(super) fn read_into(connection: &Connection, installs: &mut BTreeMap<CapabilityName, Install>) -> Result<()> {
    let mut statement = connection.prepare_cached("SELECT publisher, slug, kind, item FROM withdrawn")?;
    let mut rows = statement.query([])?;
    let mut by_name: BTreeMap<CapabilityName, Vec<Item>> = BTreeMap::new();
    while let Some(row) = rows.next()? {
        let name = CapabilityName { publisher: row.get(0)?, slug: row.get(1)? };
        let kind: String = row.get(2)?;
        let item = Item::of_kind(&kind, row.get(3)?).ok_or_else(|| damaged("a kind in `withdrawn`"))?;
        by_name.entry(name).or_default().push(item);
    }
    for (name, items) in by_name {
        if let Some(install) = installs.get_mut(&name) {
            install.withdrawn = items.into_iter().collect::<Withdrawn>();
        }
    }
    Ok(())
}
