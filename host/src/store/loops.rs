//! The rows of loops: which fire next, and that a firing is claimed once.
//!
//! What becomes of a firing was decided by `scheduler/` when it comes here.

use std::time::Duration;

use rusqlite::{Connection, Row};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::failure::damaged;
use super::{Store, calls, count, read_count, runs};
use crate::audit::Record;
use crate::error::{Error, ErrorKind, Result};
use crate::registry::CapabilityName;
use crate::scheduler::next::Timing;
use crate::scheduler::{Definition, Loop, Misfire, Open, Origin, Overlap, Status, Task};

/// The columns of [`read_loop`], in its order.
pub(super) const COLUMNS: &str = "loops.id, loops.publisher, loops.slug, loops.name, loops.origin, loops.owner,
    loops.schedule, loops.task, loops.quiet, loops.misfire, loops.overlap, loops.window_ms, loops.status,
    loops.reason, loops.anchor_at, loops.next_at, loops.last_at, loops.missed, loops.skipped, loops.created_at,
    loops.changed_at";

/// How many columns these are.
pub(super) const COLUMN_COUNT: usize = 21;

/// What to do about the firings of one loop, decided.
#[derive(Clone, Debug)]
pub(crate) struct Claim {
    /// The loop's id.
    pub(crate) loop_id: String,
    /// Its `next_at` when that was decided: another value means that another process was faster.
    pub(crate) due_at: i64,
    /// Runs that will start: firing and start.
    pub(crate) run: Vec<(i64, i64)>,
    /// Firings that are not run: how many, and the last of them.
    pub(crate) skipped: Passed,
    /// Firings that came too late.
    pub(crate) missed: Passed,
    /// The next firing, or why there is none.
    pub(crate) next: Result<i64, String>,
    /// What audit keeps of it.
    pub(crate) record: Option<Record>,
}

/// Firings that passed without a run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Passed {
    pub(crate) number: u64,
    pub(crate) last: Option<i64>,
    /// Why, for the history.
    pub(crate) reason: String,
}

/// What a changed definition leads to.
#[derive(Clone, Copy, Debug)]
pub struct Timed {
    /// What an interval counts from.
    pub anchor_at: i64,
    /// The first firing.
    pub next_at: i64,
}

impl Store {
    /// All loops, or those of one capability, by name.
    pub(crate) fn loops(&self, capability: Option<&CapabilityName>) -> Result<Vec<Loop>> {
        let (publisher, slug) = capability.map(|name| (&name.publisher, &name.slug)).unzip();
        self.read(|connection| {
            let mut statement = connection.prepare_cached(&format!(
                "SELECT {COLUMNS} FROM loops WHERE (?1 IS NULL OR publisher = ?1) AND (?2 IS NULL OR slug = ?2)
                 ORDER BY publisher, slug, name"
            ))?;
            let mut rows = statement.query((publisher, slug))?;
            let mut loops = Vec::new();
            while let Some(row) = rows.next()? {
                loops.push(read_loop(row)?);
            }
            Ok(loops)
        })
    }

    /// One loop by its name.
    pub(crate) fn find_loop(&self, capability: &CapabilityName, name: &str) -> Result<Option<Loop>> {
        self.read(|connection| find(connection, capability, name))
    }

    /// Active loops whose next firing is not after `now_ms`, the longest due first, each with its open runs.
    pub fn due_loops(&self, now_ms: i64, limit: usize) -> Result<Vec<(Loop, Open)>> {
        self.read(|connection| {
            let mut statement = connection.prepare_cached(&format!(
                "SELECT {COLUMNS} FROM loops WHERE next_at IS NOT NULL AND next_at <= ?1 ORDER BY next_at LIMIT ?2"
            ))?;
            let mut rows = statement.query((now_ms, count(limit as u64)))?;
            let mut due = Vec::new();
            while let Some(row) = rows.next()? {
                let found = read_loop(row)?;
                let open = runs::open(connection, &found.id)?;
                due.push((found, open));
            }
            Ok(due)
        })
    }

    /// When there is next something to claim or to start.
    pub fn next_due(&self) -> Result<Option<i64>> {
        self.read(|connection| {
            let mut statement = connection.prepare_cached(
                "SELECT min(at) FROM (SELECT min(next_at) AS at FROM loops WHERE next_at IS NOT NULL
                 UNION ALL SELECT min(start_at) FROM runs WHERE state = 'claimed'
                 UNION ALL SELECT min(next_at) FROM deliveries WHERE next_at IS NOT NULL)",
            )?;
            Ok(statement.query_row([], |row| row.get(0))?)
        })
    }

    /// Claims firings: their runs are there, and the loops moved on, when this returns. Gives for each claim
    /// whether it was this process that did so.
    pub(crate) fn claim(&self, claims: Vec<Claim>) -> Result<Vec<bool>> {
        let now = self.now_ms();
        self.write(move |connection| claims.iter().map(|claim| claim_one(connection, claim, now)).collect())
    }

    /// Makes a loop, as long as there are fewer than `most` of its capability and origin.
    pub(crate) fn create_loop(&self, made: Loop, most: Option<u32>) -> Result<()> {
        self.write(move |connection| {
            let Loop { capability, definition, .. } = &made;
            if find(connection, capability, &definition.name)?.is_some() {
                let message = format!("`{capability}` has a loop `{}` already", definition.name);
                return Err(Error::new(ErrorKind::LoopExists, message));
            }
            if let Some(most) = most
                && count_made(connection, &made)? >= most
            {
                let message = format!("`{capability}` may have {most} loops, and has them");
                return Err(Error::new(ErrorKind::LoopLimit, message)
                    .hint(format!("remit grant {capability} loops max={}", most.saturating_mul(2))));
            }
            insert(connection, &made)
        })
    }

    /// Replaces the definition of a loop. Runs that are open go on. Gives whether there is such a loop.
    pub fn update_loop(&self, id: &str, definition: Definition, timed: Timed) -> Result<bool> {
        let (id, now) = (id.to_owned(), self.now_ms());
        self.write(move |connection| redefine(connection, &id, &definition, timed, now))
    }

    /// Stops a loop. Runs that have not started do not start. Gives whether there is such a loop.
    pub(crate) fn pause_loop(&self, id: &str) -> Result<bool> {
        let (id, now) = (id.to_owned(), self.now_ms());
        self.write(move |connection| {
            let changed = connection
                .prepare_cached("UPDATE loops SET status = 'paused', reason = NULL, next_at = NULL WHERE id = ?1")?
                .execute([&id])?;
            runs::skip_claimed(connection, &id, "the loop was paused", now)?;
            Ok(changed > 0)
        })
    }

    /// Lets a paused or broken loop fire again. Gives whether there is such a loop.
    pub(crate) fn resume_loop(&self, id: &str, next_at: i64) -> Result<bool> {
        let id = id.to_owned();
        self.write(move |connection| {
            let changed = connection
                .prepare_cached("UPDATE loops SET status = 'active', reason = NULL, next_at = ?2 WHERE id = ?1")?
                .execute((&id, next_at))?;
            Ok(changed > 0)
        })
    }

    /// Removes a loop with its history. Gives whether there was such a loop.
    pub(crate) fn delete_loop(&self, id: &str) -> Result<bool> {
        let id = id.to_owned();
        self.write(move |connection| {
            Ok(connection.prepare_cached("DELETE FROM loops WHERE id = ?1")?.execute([&id])? > 0)
        })
    }
}

/// Removes every loop of a capability that is gone for good. Gives how many there were.
pub(super) fn purge(connection: &Connection, name: &CapabilityName) -> Result<usize> {
    Ok(connection
        .prepare_cached("DELETE FROM loops WHERE publisher = ?1 AND slug = ?2")?
        .execute((&name.publisher, &name.slug))?)
}

/// The loops that a maker has already.
fn count_made(connection: &Connection, made: &Loop) -> Result<u32> {
    let mut statement = connection
        .prepare_cached("SELECT count(*) FROM loops WHERE publisher = ?1 AND slug = ?2 AND origin = ?3")?;
    let CapabilityName { publisher, slug } = &made.capability;
    Ok(statement.query_row((publisher, slug, made.origin.as_str()), |row| row.get(0))?)
}

pub(super) fn find(connection: &Connection, capability: &CapabilityName, name: &str) -> Result<Option<Loop>> {
    let mut statement = connection.prepare_cached(&format!(
        "SELECT {COLUMNS} FROM loops WHERE publisher = ?1 AND slug = ?2 AND name = ?3"
    ))?;
    let mut rows = statement.query((&capability.publisher, &capability.slug, name))?;
    rows.next()?.map(read_loop).transpose()
}

/// A claim counts once: when its loop is still due at the time it was decided for.
fn claim_one(connection: &Connection, claim: &Claim, now: i64) -> Result<bool> {
    let (next_at, broken) = match &claim.next {
        Ok(next_at) => (Some(*next_at), None),
        Err(reason) => (None, Some(reason)),
    };
    let moved = connection
        .prepare_cached(
            "UPDATE loops SET next_at = ?3, status = iif(?3 IS NULL, 'broken', 'active'), reason = ?4,
             missed = missed + ?5, skipped = skipped + ?6 WHERE id = ?1 AND next_at = ?2",
        )?
        .execute((
            &claim.loop_id,
            claim.due_at,
            next_at,
            broken,
            count(claim.missed.number),
            count(claim.skipped.number),
        ))?;
    if moved == 0 {
        return Ok(false);
    }
    for &(nominal_at, start_at) in &claim.run {
        runs::insert_claimed(connection, &claim.loop_id, nominal_at, start_at, now)?;
    }
    runs::insert_passed(connection, &claim.loop_id, "skipped", &claim.skipped, now)?;
    runs::insert_passed(connection, &claim.loop_id, "missed", &claim.missed, now)?;
    runs::trim(connection, &claim.loop_id)?;
    if let Some(record) = &claim.record {
        calls::put(connection, record, None)?;
    }
    Ok(true)
}

pub(super) fn insert(connection: &Connection, made: &Loop) -> Result<()> {
    let Loop { definition, .. } = made;
    connection
        .prepare_cached(
            "INSERT INTO loops (id, publisher, slug, name, origin, owner, schedule, task, quiet, misfire, overlap,
             window_ms, status, reason, anchor_at, next_at, created_at, changed_at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18)",
        )?
        .execute(rusqlite::params![
            made.id,
            made.capability.publisher,
            made.capability.slug,
            definition.name,
            made.origin.as_str(),
            made.owner,
            json(&StoredTiming::from(&definition.timing))?,
            json(&StoredTask::from(&definition.task))?,
            definition.quiet,
            definition.misfire.as_str(),
            definition.overlap.as_str(),
            milliseconds(definition.window),
            made.status.as_str(),
            made.reason,
            made.anchor_at,
            made.next_at,
            made.created_at,
            made.changed_at,
        ])?;
    Ok(())
}

/// A paused loop stays paused; one that broke is tried again.
pub(super) fn redefine(
    connection: &Connection,
    id: &str,
    definition: &Definition,
    timed: Timed,
    now: i64,
) -> Result<bool> {
    let changed = connection
        .prepare_cached(
            "UPDATE loops SET schedule = ?2, task = ?3, quiet = ?4, misfire = ?5, overlap = ?6, window_ms = ?7,
             anchor_at = ?8, next_at = iif(status = 'paused', NULL, ?9),
             status = iif(status = 'paused', 'paused', 'active'), reason = NULL, changed_at = ?10 WHERE id = ?1",
        )?
        .execute(rusqlite::params![
            id,
            json(&StoredTiming::from(&definition.timing))?,
            json(&StoredTask::from(&definition.task))?,
            definition.quiet,
            definition.misfire.as_str(),
            definition.overlap.as_str(),
            milliseconds(definition.window),
            timed.anchor_at,
            timed.next_at,
            now,
        ])?;
    Ok(changed > 0)
}

/// A schedule as it is stored.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum StoredTiming {
    Cron { cron: String, timezone: String },
    Interval { seconds: u64 },
}

/// A task as it is stored.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum StoredTask {
    Tool { tool: String, input: Map<String, Value> },
    Prompt { prompt: String },
}

impl From<&Timing> for StoredTiming {
    fn from(timing: &Timing) -> Self {
        match timing.clone() {
            Timing::Cron { pattern, timezone } => Self::Cron { cron: pattern, timezone },
            Timing::Interval { seconds } => Self::Interval { seconds },
        }
    }
}

impl From<&Task> for StoredTask {
    fn from(task: &Task) -> Self {
        match task.clone() {
            Task::Tool { tool, input } => Self::Tool { tool: tool.to_string(), input },
            Task::Prompt(prompt) => Self::Prompt { prompt },
        }
    }
}

/// Reads [`COLUMNS`].
pub(super) fn read_loop(row: &Row<'_>) -> Result<Loop> {
    let (timing, task): (String, String) = (row.get(6)?, row.get(7)?);
    let timing = match serde_json::from_str(&timing).map_err(damaged)? {
        StoredTiming::Cron { cron, timezone } => Timing::Cron { pattern: cron, timezone },
        StoredTiming::Interval { seconds } => Timing::Interval { seconds },
    };
    let task = match serde_json::from_str(&task).map_err(damaged)? {
        StoredTask::Tool { tool, input } => Task::Tool { tool: tool.parse().map_err(damaged)?, input },
        StoredTask::Prompt { prompt } => Task::Prompt(prompt),
    };
    Ok(Loop {
        id: row.get(0)?,
        capability: CapabilityName { publisher: row.get(1)?, slug: row.get(2)? },
        definition: Definition {
            name: row.get(3)?,
            timing,
            task,
            quiet: row.get(8)?,
            misfire: word(row, 9, Misfire::from_word)?,
            overlap: word(row, 10, Overlap::from_word)?,
            window: Duration::from_millis(read_count(row, 11)?),
        },
        origin: word(row, 4, Origin::from_word)?,
        owner: row.get(5)?,
        status: word(row, 12, Status::from_word)?,
        reason: row.get(13)?,
        anchor_at: row.get(14)?,
        next_at: row.get(15)?,
        last_at: row.get(16)?,
        missed: read_count(row, 17)?,
        skipped: read_count(row, 18)?,
        created_at: row.get(19)?,
        changed_at: row.get(20)?,
    })
}

/// Reads one of a few words.
pub(super) fn word<T>(row: &Row<'_>, column: usize, from_word: impl FnOnce(&str) -> Option<T>) -> Result<T> {
    let word: String = row.get(column)?;
    from_word(&word).ok_or_else(|| damaged(format!("the word `{word}`")))
}

fn json(value: &impl Serialize) -> Result<String> {
    serde_json::to_string(value).map_err(|error| Error::internal("a loop is JSON").detail(error))
}

fn milliseconds(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

#[cfg(test)]
pub(super) mod tests;
