//! The rows of presets: they follow installs and grants, in the transactions that change those.

use rusqlite::{Connection, OptionalExtension};

use super::loops::{Timed, find, insert, redefine};
use crate::audit;
use crate::error::Result;
use crate::manifest::{Manifest, NamespaceName};
use crate::registry::CapabilityName;
use crate::scheduler::next::Schedule;
use crate::scheduler::{Definition, Loop, Origin, Status, presets};

/// The owner of presets.
const MANIFEST: &str = "manifest";

/// Makes the presets of a capability those of its manifest while `loops` is granted, and none otherwise. Called
/// in every transaction that changes an install or a grant, so that no preset fires that should not.
///
/// By name a preset stays the one it was: it keeps its history and its pause.
pub(super) fn sync(connection: &Connection, name: &CapabilityName, now: i64) -> Result<()> {
    let manifest: Option<String> = connection
        .prepare_cached(
            "SELECT manifest FROM installs WHERE publisher = ?1 AND slug = ?2 AND EXISTS (SELECT 1 FROM grants
             WHERE grants.publisher = ?1 AND grants.slug = ?2 AND namespace = ?3 AND entry = '')",
        )?
        .query_row((&name.publisher, &name.slug, NamespaceName::Loops.as_str()), |row| row.get(0))
        .optional()?;
    // One that cannot be read is left out of every snapshot, too.
    let manifest: Option<Manifest> = manifest.and_then(|text| serde_json::from_str(&text).ok());
    let wanted = manifest.as_ref().map(presets).unwrap_or_default();
    let mut statement = connection
        .prepare_cached("SELECT id, name FROM loops WHERE publisher = ?1 AND slug = ?2 AND origin = 'preset'")?;
    let kept: Vec<(String, String)> = statement
        .query_map((&name.publisher, &name.slug), |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect::<Result<_, _>>()?;
    for (id, _) in kept.iter().filter(|(_, kept)| !wanted.iter().any(|wanted| wanted.name == *kept)) {
        connection.prepare_cached("DELETE FROM loops WHERE id = ?1")?.execute([id])?;
    }
    for definition in wanted {
        put_preset(connection, name, definition, now)?;
    }
    Ok(())
}

fn put_preset(connection: &Connection, name: &CapabilityName, definition: Definition, now: i64) -> Result<()> {
    let next = Schedule::new(&definition.timing, now).and_then(|schedule| schedule.next(now));
    let next = next.map_err(|problem| problem.to_string());
    let Some(there) = find(connection, name, &definition.name)? else {
        let made = Loop {
            id: audit::id::new(now)?,
            capability: name.clone(),
            definition,
            origin: Origin::Preset,
            owner: MANIFEST.to_owned(),
            status: if next.is_ok() { Status::Active } else { Status::Broken },
            reason: next.as_ref().err().cloned(),
            anchor_at: now,
            next_at: next.ok(),
            last_at: None,
            missed: 0,
            skipped: 0,
            created_at: now,
            changed_at: now,
        };
        return insert(connection, &made);
    };
    if there.origin == Origin::Preset && there.definition == definition {
        return Ok(());
    }
    // What the capability made under this name gives way to what its publisher wrote.
    connection
        .prepare_cached("UPDATE loops SET origin = 'preset', owner = ?2 WHERE id = ?1")?
        .execute((&there.id, MANIFEST))?;
    let timed = match (there.next_at, &next) {
        // The same schedule goes on counting from where it counts.
        (Some(next_at), _) if there.definition.timing == definition.timing => {
            Timed { anchor_at: there.anchor_at, next_at }
        }
        (_, next) => Timed { anchor_at: now, next_at: next.as_ref().copied().unwrap_or(i64::MAX) },
    };
    redefine(connection, &there.id, &definition, timed, now)?;
    if let Err(reason) = next {
        connection
            .prepare_cached(
                "UPDATE loops SET status = 'broken', next_at = NULL, reason = ?2 WHERE id = ?1 AND status = 'active'",
            )?
            .execute((&there.id, reason))?;
    }
    Ok(())
}
