//! The rows of restrictions: what an installer asks beyond what a publisher asks, by name.

use std::collections::BTreeMap;

use rusqlite::{Connection, OptionalExtension, Row};

use super::Store;
use super::failure::damaged;
use super::installs::{Install, read_pin};
use crate::error::{Error, ErrorKind, Result};
use crate::policy::{Confirm, Restriction};
use crate::registry::CapabilityName;

impl Store {
    /// Puts a restriction over the one for the same tool: what it leaves open stays as it is. With `replaces` the
    /// one that is there goes first; one that asks nothing then is gone. Gives what stands afterwards.
    pub(crate) fn restrict(
        &self,
        name: &CapabilityName,
        restriction: &Restriction,
        replaces: bool,
    ) -> Result<Option<Restriction>> {
        let (name, restriction) = (name.clone(), restriction.clone());
        self.write(move |connection| {
            if read_pin(connection, &name)?.is_none() {
                return Err(Error::new(ErrorKind::RegistryNotFound, format!("`{name}` is not installed")));
            }
            let tool = restriction.tool.clone().unwrap_or_default();
            if replaces {
                connection
                    .prepare_cached("DELETE FROM restrictions WHERE publisher = ?1 AND slug = ?2 AND tool = ?3")?
                    .execute((&name.publisher, &name.slug, &tool))?;
            }
            let asks_nothing =
                restriction == Restriction { tool: restriction.tool.clone(), ..Restriction::default() };
            if !asks_nothing {
                let Restriction { hidden, role, permission, flag, confirm, .. } = &restriction;
                connection
                    .prepare_cached(
                        "INSERT INTO restrictions (publisher, slug, tool, hidden, role, permission, flag, confirm)
                         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
                         ON CONFLICT DO UPDATE SET hidden = max(hidden, ?4), role = coalesce(?5, role),
                         permission = coalesce(?6, permission), flag = coalesce(?7, flag),
                         confirm = coalesce(?8, confirm)",
                    )?
                    .execute((
                        &name.publisher,
                        &name.slug,
                        &tool,
                        hidden,
                        role,
                        permission,
                        flag,
                        confirm.map(Confirm::as_str),
                    ))?;
            }
            connection
                .prepare_cached(
                    "SELECT tool, hidden, role, permission, flag, confirm FROM restrictions
                     WHERE publisher = ?1 AND slug = ?2 AND tool = ?3",
                )?
                .query_row((&name.publisher, &name.slug, &tool), |row| Ok(read(row)))
                .optional()?
                .transpose()
        })
    }
}

/// Adds what is stored for each of these installs; what stands for all tools comes first.
pub(super) fn read_into(connection: &Connection, installs: &mut BTreeMap<CapabilityName, Install>) -> Result<()> {
    let mut statement = connection.prepare_cached(
        "SELECT tool, hidden, role, permission, flag, confirm, publisher, slug FROM restrictions
         ORDER BY publisher, slug, tool",
    )?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let name = CapabilityName { publisher: row.get(6)?, slug: row.get(7)? };
        if let Some(install) = installs.get_mut(&name) {
            install.restrictions.push(read(row)?);
        }
    }
    Ok(())
}

/// Takes back what does not narrow: other bytes have the name now, and nobody said that these need no word.
pub(super) fn tighten(connection: &Connection, name: &CapabilityName) -> Result<()> {
    connection
        .prepare_cached(
            "UPDATE restrictions SET confirm = NULL WHERE publisher = ?1 AND slug = ?2 AND confirm = 'never'",
        )?
        .execute((&name.publisher, &name.slug))?;
    connection
        .prepare_cached(
            "DELETE FROM restrictions WHERE publisher = ?1 AND slug = ?2 AND hidden = 0
             AND coalesce(role, permission, flag, confirm) IS NULL",
        )?
        .execute((&name.publisher, &name.slug))?;
    Ok(())
}

/// Gives back what belonged to bytes that have the name again, where nothing else was said since. An empty tool stands
/// for all.
pub(super) fn loosen(connection: &Connection, name: &CapabilityName, tools: &[String]) -> Result<()> {
    let mut put = connection.prepare_cached(
        "INSERT INTO restrictions (publisher, slug, tool, hidden, confirm) VALUES (?1, ?2, ?3, 0, 'never')
         ON CONFLICT DO UPDATE SET confirm = coalesce(confirm, 'never')",
    )?;
    for tool in tools {
        put.execute((&name.publisher, &name.slug, tool))?;
    }
    Ok(())
}

/// Removes all restrictions of a capability.
pub(super) fn delete(connection: &Connection, name: &CapabilityName) -> Result<()> {
    connection
        .prepare_cached("DELETE FROM restrictions WHERE publisher = ?1 AND slug = ?2")?
        .execute((&name.publisher, &name.slug))?;
    Ok(())
}

fn read(row: &Row<'_>) -> Result<Restriction> {
    let tool: String = row.get(0)?;
    let confirm: Option<String> = row.get(5)?;
    let confirm = confirm
        .map(|word| Confirm::from_word(&word).ok_or_else(|| damaged("when a restriction asks for a word")))
        .transpose()?;
    Ok(Restriction {
        tool: Some(tool).filter(|tool| !tool.is_empty()),
        hidden: row.get(1)?,
        role: row.get(2)?,
        permission: row.get(3)?,
        flag: row.get(4)?,
        confirm,
    })
}
