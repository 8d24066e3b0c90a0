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

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use super::*;
    use crate::clock::Clock;
    use crate::error::ErrorKind;
    use crate::registry::Capability;

    fn capability(version: &str) -> Capability {
        let manifest = serde_json::json!({
            "publisher": "acme", "slug": "notes", "version": version, "title": "N", "description": "N.",
        });
        Capability {
            name: "acme/notes".parse().unwrap(),
            digest: Digest::of(version.as_bytes()),
            manifest: serde_json::from_value(manifest).unwrap(),
            installed_at: 0,
            size: 1,
        }
    }

    fn withdrawn(store: &Store, capability: &Capability) -> Vec<Item> {
        let installs = store.installs(|_, _, _| false).unwrap();
        installs.by_name[&capability.name].withdrawn.iter().cloned().collect()
    }

    #[test]
    fn it_hangs_on_the_bytes_that_said_so() {
        let home = tempfile::tempdir().unwrap();
        let store = Store::open(home.path(), Arc::new(Clock::manual(Duration::ZERO))).unwrap();
        let (old, new) = (capability("1.0.0"), capability("1.1.0"));
        let item = Item::Tool("get".to_owned());
        store.put_install(&old, &[]).unwrap();
        let before = store.generation().unwrap();
        for (offered, moved) in [(true, 0), (false, 1), (false, 1), (true, 2), (false, 3)] {
            store.set_offered(&old.name, &old.digest, &item, offered).unwrap();
            assert_eq!(store.generation().unwrap() - before, moved, "what is so already moves nothing");
        }
        assert_eq!(withdrawn(&store, &old), std::slice::from_ref(&item));

        store.put_install(&new, &[]).unwrap();
        assert_eq!(withdrawn(&store, &new), []);
        let late = store.set_offered(&old.name, &old.digest, &item, false).unwrap_err();
        assert_eq!(late.kind, ErrorKind::RegistryNotFound, "a call of the old version goes on");
        assert_eq!(withdrawn(&store, &new), []);
    }
}
