//! The rows of runs: a firing that was claimed, from its claim to its end.
//!
//! Each change of state names the state it comes from, so that of two that want it one does it.

use rusqlite::{Connection, OptionalExtension, Row};

use super::loops::{COLUMN_COUNT, COLUMNS as LOOP_COLUMNS, Passed, read_loop, word};
use super::{Store, calls, count, deliveries, process, read_count};
use crate::audit::{self, Record, RunEnd};
use crate::error::{Error, ErrorKind, Result};
use crate::scheduler::{Loop, Open, Run, RunState};

/// Ended runs that are kept of each loop.
const HISTORY: i64 = 100;

/// How long an agent that took a run may work on it before another can take it.
const LEASE_MS: i64 = 10 * 60 * 1_000;

/// Bytes of a reported result that are kept. A digest has some kilobytes.
const REPORT_BYTES: usize = 64 * 1024;

const COLUMNS: &str = "runs.id, runs.loop, runs.nominal_at, runs.start_at, runs.manual, runs.state, runs.attempt,
    runs.started_at, runs.ended_at, runs.call, runs.reason, runs.is_nothing, runs.report, runs.changes, runs.taken_by,
    runs.lease_until";

/// A run that may start at `?1`: the oldest of its loop that waits, with none of it going on.
const STARTABLE: &str =
    "runs.state = 'claimed' AND runs.start_at <= ?1 AND NOT EXISTS (SELECT 1 FROM runs AS other
    WHERE other.loop = runs.loop AND (other.state IN ('running', 'waiting', 'taken')
    OR other.state = 'claimed' AND other.nominal_at < runs.nominal_at))";

/// What an agent reports of a run that it took.
#[derive(Clone, Debug)]
pub struct Report {
    /// Who took it.
    pub principal: String,
    /// What came of it.
    pub text: String,
    /// There is nothing to report.
    pub is_nothing: bool,
}

impl Store {
    /// Runs that may start now, the longest due first: each the oldest of its loop, with none of it going on.
    pub(crate) fn startable(&self, now_ms: i64, limit: usize) -> Result<Vec<(Run, Loop)>> {
        self.with_loops(&format!("{STARTABLE} ORDER BY runs.start_at LIMIT ?2"), (now_ms, count(limit as u64)))
    }

    /// One run, if it may start now.
    pub(crate) fn startable_run(&self, now_ms: i64, id: &str) -> Result<Option<(Run, Loop)>> {
        Ok(self.with_loops(&format!("{STARTABLE} AND runs.id = ?2"), (now_ms, id))?.pop())
    }

    /// Queues a run beside the schedule, for now. Gives its id.
    pub(crate) fn queue_run(&self, loop_id: &str) -> Result<String> {
        let (loop_id, now) = (loop_id.to_owned(), self.now_ms());
        self.write(move |connection| queue(connection, &loop_id, now))
    }

    /// Queues a run as [`Store::queue_run`] does, unless one of the loop waits to start.
    pub(crate) fn queue_one_run(&self, loop_id: &str) -> Result<Option<String>> {
        let (loop_id, now) = (loop_id.to_owned(), self.now_ms());
        self.write(move |connection| match open(connection, &loop_id)?.claimed {
            0 => queue(connection, &loop_id, now).map(Some),
            _ => Ok(None),
        })
    }

    /// Takes a claimed run for this process, which is about to call its tool. Gives whether it was still there.
    pub(crate) fn start_run(&self, id: &str) -> Result<bool> {
        let (id, process, now) = (id.to_owned(), self.process_token()?, self.now_ms());
        self.write(move |connection| {
            let started = connection
                .prepare_cached(
                    "UPDATE runs SET state = 'running', process = ?2, attempt = attempt + 1, started_at = ?3
                     WHERE id = ?1 AND state = 'claimed'",
                )?
                .execute((&id, process, now))?;
            connection
                .prepare_cached("UPDATE loops SET last_at = ?2 WHERE id = (SELECT loop FROM runs WHERE id = ?1)")?
                .execute((&id, now))?;
            Ok(started > 0)
        })
    }

    /// Puts a claimed run where agents find it. Gives whether it was still there.
    pub(crate) fn offer_run(&self, id: &str) -> Result<bool> {
        let (id, now, ways) = (id.to_owned(), self.now_ms(), self.ways());
        self.write(move |connection| {
            let offered = connection
                .prepare_cached("UPDATE runs SET state = 'waiting' WHERE id = ?1 AND state = 'claimed'")?
                .execute([&id])?;
            connection
                .prepare_cached("UPDATE loops SET last_at = ?2 WHERE id = (SELECT loop FROM runs WHERE id = ?1)")?
                .execute((&id, now))?;
            deliveries::owe(connection, &id, &ways, now)?;
            Ok(offered > 0)
        })
    }

    /// Ends a run without a call: `skipped`, `missed` or `interrupted`, with a reason, and with a record for
    /// audit. Gives whether it was still open.
    pub(crate) fn close_run(
        &self,
        id: &str,
        state: RunState,
        reason: &str,
        record: Option<Record>,
    ) -> Result<bool> {
        let (id, reason, now) = (id.to_owned(), reason.to_owned(), self.now_ms());
        self.write(move |connection| {
            let closed = connection
                .prepare_cached(
                    "UPDATE runs SET state = ?2, process = NULL, reason = ?3, ended_at = ?4
                     WHERE id = ?1 AND state IN ('claimed', 'running')",
                )?
                .execute((&id, state.as_str(), &reason, now))?;
            if closed == 0 {
                return Ok(false);
            }
            connection
                .prepare_cached(
                    "UPDATE loops SET skipped = skipped + (?2 = 'skipped'), missed = missed + (?2 = 'missed')
                     WHERE id = (SELECT loop FROM runs WHERE id = ?1)",
                )?
                .execute((&id, state.as_str()))?;
            if let Some(record) = &record {
                calls::put(connection, record, None)?;
            }
            Ok(true)
        })
    }

    /// Runs of processes that are no more. Their calls are marked `aborted`.
    pub(crate) fn orphans(&self) -> Result<Vec<(Run, Loop)>> {
        let owners: Vec<String> = self.read(|connection| {
            let mut statement =
                connection.prepare_cached("SELECT DISTINCT process FROM runs WHERE process IS NOT NULL")?;
            Ok(statement.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?)
        })?;
        let mut orphans = Vec::new();
        for owner in owners {
            if !process::is_alive(&self.home, &owner)? {
                orphans.extend(self.with_loops("runs.process = ?1", [&owner])?);
            }
        }
        if !orphans.is_empty() {
            let home = self.home.clone();
            self.write(move |connection| calls::abort_orphans(connection, &home))?;
        }
        Ok(orphans)
    }

    /// Makes a run that was started `claimed` again: it keeps its id. Gives whether it was still running.
    pub(crate) fn requeue_run(&self, id: &str) -> Result<bool> {
        let id = id.to_owned();
        self.write(move |connection| {
            let again = connection
                .prepare_cached(
                    "UPDATE runs SET state = 'claimed', process = NULL WHERE id = ?1 AND state = 'running'",
                )?
                .execute([&id])?;
            Ok(again > 0)
        })
    }

    /// Gives a waiting run to whoever calls for it, for a while. `None` when there is no such run, or somebody
    /// else has it.
    pub fn take_run(&self, id: &str, principal: &str) -> Result<Option<(Run, Loop)>> {
        let (run_id, principal, now) = (id.to_owned(), principal.to_owned(), self.now_ms());
        let taken = self.write(move |connection| {
            Ok(connection
                .prepare_cached(
                    "UPDATE runs SET state = 'taken', taken_by = ?2, lease_until = ?3, started_at = ?4,
                     attempt = attempt + 1 WHERE id = ?1 AND (state = 'waiting' OR state = 'taken' AND lease_until <= ?4)",
                )?
                .execute((&run_id, &principal, now.saturating_add(LEASE_MS), now))?)
        })?;
        if taken == 0 {
            return Ok(None);
        }
        Ok(self.with_loops("runs.id = ?1", [id])?.pop())
    }

    /// Ends a run that was taken with what the agent made of it. Gives whether it was theirs to end.
    pub fn report_run(&self, id: &str, report: Report) -> Result<bool> {
        let (id, now) = (id.to_owned(), self.now_ms());
        self.write(move |connection| {
            let reported = connection
                .prepare_cached(
                    "UPDATE runs SET state = 'reported', lease_until = NULL, ended_at = ?3, report = ?4,
                     is_nothing = is_nothing OR ?5 WHERE id = ?1 AND state = 'taken' AND taken_by = ?2",
                )?
                .execute((&id, &report.principal, now, capped(&report.text), report.is_nothing))?;
            keep_items_of(connection, &id)?;
            Ok(reported > 0)
        })
    }

    /// Puts back runs whose lease is over. Gives how many there were.
    pub(crate) fn end_leases(&self) -> Result<usize> {
        let now = self.now_ms();
        let expired = self.read(|connection| {
            let mut statement = connection.prepare_cached(
                "SELECT EXISTS (SELECT 1 FROM runs WHERE state = 'taken' AND lease_until <= ?1)",
            )?;
            Ok(statement.query_row([now], |row| row.get::<_, bool>(0))?)
        })?;
        if !expired {
            return Ok(0);
        }
        self.write(move |connection| {
            Ok(connection
                .prepare_cached(
                    "UPDATE runs SET state = 'waiting', taken_by = NULL, lease_until = NULL
                     WHERE state = 'taken' AND lease_until <= ?1",
                )?
                .execute([now])?)
        })
    }

    /// Runs that wait for an agent, or that one works on, the oldest first.
    pub fn inbox(&self) -> Result<Vec<(Run, Loop)>> {
        self.with_loops("runs.state IN ('waiting', 'taken') ORDER BY runs.nominal_at, runs.id", ())
    }

    /// One run.
    pub(crate) fn find_run(&self, id: &str) -> Result<Option<(Run, Loop)>> {
        Ok(self.with_loops("runs.id = ?1", [id])?.pop())
    }

    /// The runs of a loop, newest first.
    pub(crate) fn history(&self, loop_id: &str, limit: usize) -> Result<Vec<Run>> {
        self.read(|connection| {
            let mut statement = connection.prepare_cached(&format!(
                "SELECT {COLUMNS} FROM runs WHERE loop = ?1 ORDER BY nominal_at DESC LIMIT ?2"
            ))?;
            let mut rows = statement.query((loop_id, count(limit as u64)))?;
            let mut runs = Vec::new();
            while let Some(row) = rows.next()? {
                runs.push(read_run(row, 0)?);
            }
            Ok(runs)
        })
    }

    /// The list that the loop of this run reported last, as JSON.
    pub fn last_items(&self, run_id: &str) -> Result<Option<String>> {
        self.read(|connection| {
            let mut statement = connection.prepare_cached(
                "SELECT loops.items FROM loops JOIN runs ON runs.loop = loops.id WHERE runs.id = ?1",
            )?;
            Ok(statement.query_row([run_id], |row| row.get(0)).optional()?.flatten())
        })
    }

    /// Keeps a run's list, as JSON; it becomes the loop's when the run ends well. `is_nothing` says that it is
    /// the same as the last one. `loops/not-found` when no such run is going on.
    pub fn keep_items(&self, run_id: &str, items: String, is_nothing: bool) -> Result<()> {
        let run_id = run_id.to_owned();
        self.write(move |connection| {
            let kept = connection
                .prepare_cached(
                    "UPDATE runs SET items = ?2, is_nothing = ?3 WHERE id = ?1 AND state IN ('running', 'taken')",
                )?
                .execute((&run_id, items, is_nothing))?;
            if kept == 0 {
                return Err(Error::new(ErrorKind::LoopNotFound, "no run of this id is going on"));
            }
            Ok(())
        })
    }

    /// Runs with their loops. `condition` goes on after `WHERE`.
    fn with_loops(&self, condition: &str, values: impl rusqlite::Params) -> Result<Vec<(Run, Loop)>> {
        self.read(|connection| {
            let mut statement = connection.prepare_cached(&format!(
                "SELECT {LOOP_COLUMNS}, {COLUMNS} FROM runs JOIN loops ON loops.id = runs.loop WHERE {condition}"
            ))?;
            let mut rows = statement.query(values)?;
            let mut runs = Vec::new();
            while let Some(row) = rows.next()? {
                runs.push((read_run(row, COLUMN_COUNT)?, read_loop(row)?));
            }
            Ok(runs)
        })
    }
}

fn queue(connection: &Connection, loop_id: &str, now: i64) -> Result<String> {
    let mut nominal_at = now;
    // A firing of this very millisecond has its own row.
    while exists(connection, loop_id, nominal_at)? {
        nominal_at += 1;
    }
    let id = insert_claimed(connection, loop_id, nominal_at, now, now)?;
    connection.prepare_cached("UPDATE runs SET manual = 1 WHERE id = ?1")?.execute([&id])?;
    trim(connection, loop_id)?;
    Ok(id)
}

/// What of a loop is not done.
pub(super) fn open(connection: &Connection, loop_id: &str) -> Result<Open> {
    let mut statement = connection.prepare_cached(
        "SELECT count(*) FILTER (WHERE state = 'claimed'), count(*) FILTER (WHERE state <> 'claimed') FROM runs
         WHERE loop = ?1 AND state IN ('claimed', 'running', 'waiting', 'taken')",
    )?;
    Ok(statement.query_row([loop_id], |row| Ok(Open { claimed: row.get(0)?, started: row.get(1)? }))?)
}

/// Inserts a run that will start, and gives its id. A firing that has a row already stays what it is: the clock,
/// or the schedule, was set back, and nothing runs twice.
pub(super) fn insert_claimed(
    connection: &Connection,
    loop_id: &str,
    nominal_at: i64,
    start_at: i64,
    now: i64,
) -> Result<String> {
    let id = audit::id::new(now)?;
    connection
        .prepare_cached(
            "INSERT INTO runs (id, loop, nominal_at, start_at, manual, state)
             VALUES (?1, ?2, ?3, ?4, 0, 'claimed') ON CONFLICT (loop, nominal_at) DO NOTHING",
        )?
        .execute((&id, loop_id, nominal_at, start_at))?;
    Ok(id)
}

/// Keeps one row for firings that passed without a run: the last of them, with how many there were.
pub(super) fn insert_passed(
    connection: &Connection,
    loop_id: &str,
    state: &str,
    passed: &Passed,
    now: i64,
) -> Result<()> {
    let Some(last) = passed.last.filter(|_| passed.number > 0) else { return Ok(()) };
    connection
        .prepare_cached(
            "INSERT INTO runs (id, loop, nominal_at, start_at, manual, state, ended_at, reason)
             VALUES (?1, ?2, ?3, ?3, 0, ?4, ?5, ?6) ON CONFLICT DO NOTHING",
        )?
        .execute((audit::id::new(now)?, loop_id, last, state, now, &passed.reason))?;
    Ok(())
}

/// Runs of a loop that have not started are not going to, except those that somebody asked for.
pub(super) fn skip_claimed(connection: &Connection, loop_id: &str, reason: &str, now: i64) -> Result<()> {
    let skipped = connection
        .prepare_cached(
            "UPDATE runs SET state = 'skipped', reason = ?2, ended_at = ?3
             WHERE loop = ?1 AND state = 'claimed' AND manual = 0",
        )?
        .execute((loop_id, reason, now))?;
    connection
        .prepare_cached("UPDATE loops SET skipped = skipped + ?2 WHERE id = ?1")?
        .execute((loop_id, count(skipped as u64)))?;
    Ok(())
}

/// Removes the oldest ended runs beyond what is kept.
pub(super) fn trim(connection: &Connection, loop_id: &str) -> Result<()> {
    connection
        .prepare_cached(
            "DELETE FROM runs WHERE loop = ?1 AND state NOT IN ('claimed', 'running', 'waiting', 'taken')
             AND nominal_at < (SELECT nominal_at FROM runs WHERE loop = ?1 ORDER BY nominal_at DESC LIMIT 1 OFFSET ?2)",
        )?
        .execute((loop_id, HISTORY - 1))?;
    Ok(())
}

/// Notes which record the call of a run has, in the transaction that begins it.
pub(super) fn begin_call(connection: &Connection, run_id: &str, call: &str) -> Result<()> {
    connection.prepare_cached("UPDATE runs SET call = ?2 WHERE id = ?1")?.execute((run_id, call))?;
    Ok(())
}

/// Ends a run in the transaction that ends its call.
pub(super) fn end(connection: &Connection, end: &RunEnd, call: &str, process: &str, now: i64) -> Result<()> {
    let state = if end.error.is_none() { RunState::Done } else { RunState::Failed };
    let ended = connection
        .prepare_cached(
            "UPDATE runs SET state = ?2, process = NULL, ended_at = ?3, call = ?4, reason = ?5,
             is_nothing = is_nothing OR ?6, report = ?7 WHERE id = ?1 AND state = 'running' AND process = ?8",
        )?
        .execute((
            &end.id,
            state.as_str(),
            now,
            call,
            end.error,
            end.is_nothing,
            end.report.as_deref().map(capped),
            process,
        ))?;
    if ended > 0 && end.error.is_none() {
        keep_items_of(connection, &end.id)?;
    }
    Ok(())
}

/// Counts documents that a run's call changed, in the transaction that changes them. A run id that is none of a
/// loop's counts nothing.
pub(super) fn count_changes(connection: &Connection, run_id: &str, changes: u64) -> Result<()> {
    connection
        .prepare_cached("UPDATE runs SET changes = changes + ?2 WHERE id = ?1")?
        .execute((run_id, count(changes)))?;
    Ok(())
}

/// The list of a run that ended well becomes what the next one is compared with.
fn keep_items_of(connection: &Connection, run_id: &str) -> Result<()> {
    connection
        .prepare_cached(
            "UPDATE loops SET items = runs.items FROM runs WHERE runs.id = ?1 AND loops.id = runs.loop
             AND runs.items IS NOT NULL AND runs.state IN ('done', 'reported')",
        )?
        .execute([run_id])?;
    Ok(())
}

fn exists(connection: &Connection, loop_id: &str, nominal_at: i64) -> Result<bool> {
    let mut statement =
        connection.prepare_cached("SELECT EXISTS (SELECT 1 FROM runs WHERE loop = ?1 AND nominal_at = ?2)")?;
    Ok(statement.query_row((loop_id, nominal_at), |row| row.get(0))?)
}

/// Reads [`COLUMNS`], which begin at this column.
fn read_run(row: &Row<'_>, first: usize) -> Result<Run> {
    Ok(Run {
        id: row.get(first)?,
        loop_id: row.get(first + 1)?,
        nominal_at: row.get(first + 2)?,
        start_at: row.get(first + 3)?,
        is_manual: row.get(first + 4)?,
        state: word(row, first + 5, RunState::from_word)?,
        attempt: row.get(first + 6)?,
        started_at: row.get(first + 7)?,
        ended_at: row.get(first + 8)?,
        call: row.get(first + 9)?,
        reason: row.get(first + 10)?,
        is_nothing: row.get(first + 11)?,
        report: row.get(first + 12)?,
        changes: read_count(row, first + 13)?,
        taken_by: row.get(first + 14)?,
        lease_until: row.get(first + 15)?,
    })
}

fn capped(text: &str) -> &str {
    &text[..text.floor_char_boundary(REPORT_BYTES)]
}

#[cfg(test)]
mod tests;
