//! The rows of upstream MCP servers. What was accepted of them is an install like any other; a row goes with it.

use rusqlite::{Connection, Row};

use super::failure::damaged;
use super::{Store, installs};
use crate::error::Result;
use crate::registry::{Capability, CapabilityName};
use crate::upstreams::Reach;

/// One server.
#[derive(Clone, Debug)]
pub struct Upstream {
    /// Its name: the slug of its install.
    pub name: String,
    /// How it is reached.
    pub reach: Reach,
    /// When it was added, in milliseconds since 1970.
    pub added_at: i64,
    /// What it said since, and nobody accepted.
    pub held: Option<Held>,
}

/// Definitions that wait for a person.
#[derive(Clone, Debug)]
pub struct Held {
    /// Their one form, as text.
    pub definitions: String,
    /// Since when they are known, in milliseconds since 1970.
    pub at: i64,
}

const COLUMNS: &str = "SELECT name, reach, added_at, held, held_at FROM upstreams";

impl Store {
    /// All servers, by name.
    pub(crate) fn upstreams(&self) -> Result<Vec<Upstream>> {
        self.read(|connection| {
            let mut statement = connection.prepare_cached(&format!("{COLUMNS} ORDER BY name"))?;
            let mut rows = statement.query([])?;
            let mut upstreams = Vec::new();
            while let Some(row) = rows.next()? {
                upstreams.push(read(row)?);
            }
            Ok(upstreams)
        })
    }

    /// One server.
    pub(crate) fn upstream(&self, name: &str) -> Result<Option<Upstream>> {
        self.read(|connection| {
            let mut statement = connection.prepare_cached(&format!("{COLUMNS} WHERE name = ?1"))?;
            let mut rows = statement.query([name])?;
            rows.next()?.map(read).transpose()
        })
    }

    /// Pins what was accepted of a server, in one transaction with how it is reached. What was held is gone.
    pub(crate) fn put_upstream(&self, reach: &Reach, capability: &Capability) -> Result<()> {
        let pin = installs::Pin::of(capability)?;
        let (reach, name) = (reach.to_text()?, capability.name.slug.clone());
        let now = self.now_ms();
        self.write(move |connection| {
            pin.put(connection, &installs::Decision::default(), now)?;
            connection
                .prepare_cached(
                    "INSERT INTO upstreams (name, reach, added_at) VALUES (?1, ?2, ?3)
                     ON CONFLICT (name) DO UPDATE SET reach = ?2, held = NULL, held_at = NULL",
                )?
                .execute((name, reach, now))?;
            Ok(())
        })
    }

    /// Keeps what a server says now, or that it says what was accepted. One that was removed stays so.
    pub(crate) fn hold_upstream(&self, name: &str, definitions: Option<Vec<u8>>) -> Result<()> {
        let definitions = definitions.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        let (name, now) = (name.to_owned(), self.now_ms());
        self.write(move |connection| {
            let at = definitions.as_ref().map(|_| now);
            connection
                .prepare_cached("UPDATE upstreams SET held = ?2, held_at = ?3 WHERE name = ?1 AND held IS NOT ?2")?
                .execute((name, definitions, at))?;
            Ok(())
        })
    }
}

/// Removes the row of an install that is removed.
pub(super) fn forget(connection: &Connection, name: &CapabilityName) -> Result<()> {
    if name.is_upstream() {
        connection.prepare_cached("DELETE FROM upstreams WHERE name = ?1")?.execute([&name.slug])?;
    }
    Ok(())
}

fn read(row: &Row<'_>) -> Result<Upstream> {
    let name: String = row.get(0)?;
    let reach: String = row.get(1)?;
    let reach = Reach::from_text(&reach).ok_or_else(|| damaged(format!("how the server `{name}` is reached")))?;
    let held: Option<String> = row.get(3)?;
    let at: Option<i64> = row.get(4)?;
    let held = held.zip(at).map(|(definitions, at)| Held { definitions, at });
    Ok(Upstream { name, reach, added_at: row.get(2)?, held })
}
