//! The rows of deliveries: which runs are owed to somebody outside, and how often that was tried.
//!
//! A row is written in the transaction that gives a run its end, or its place in the inbox: a process that dies
//! between the two loses none. What is sent, and when again, is `scheduler/deliver/`'s.

use std::collections::BTreeMap;

use rusqlite::Connection;

use super::loops::word;
use super::{Store, count};
use crate::audit;
use crate::error::Result;
use crate::scheduler::{Loop, Run, Way};

/// One that is due.
#[derive(Debug)]
pub(crate) struct Delivery {
    /// The same at each attempt.
    pub(crate) id: String,
    pub(crate) way: Way,
    /// Attempts that were begun.
    pub(crate) attempts: u32,
    pub(crate) run: Run,
    pub(crate) of: Loop,
}

impl Store {
    /// From now on runs are delivered these ways. Said once, before anything runs.
    pub(crate) fn deliver(&self, ways: Vec<Way>) {
        // Whoever is second says the same: both read the one configuration.
        let _ = self.ways.set(ways);
    }

    pub(super) fn ways(&self) -> Vec<Way> {
        self.ways.get().cloned().unwrap_or_default()
    }

    /// Deliveries that are due, the longest due first.
    pub(crate) fn due_deliveries(&self, now_ms: i64, limit: usize) -> Result<Vec<Delivery>> {
        let rows: Vec<(String, Way, u32, String)> = self.read(|connection| {
            let mut statement = connection.prepare_cached(
                "SELECT id, kind, attempts, run FROM deliveries WHERE next_at IS NOT NULL AND next_at <= ?1
                 ORDER BY next_at, id LIMIT ?2",
            )?;
            let mut rows = statement.query((now_ms, count(limit as u64)))?;
            let mut due = Vec::new();
            while let Some(row) = rows.next()? {
                due.push((row.get(0)?, word(row, 1, Way::from_word)?, row.get(2)?, row.get(3)?));
            }
            Ok(due)
        })?;
        let mut due = Vec::new();
        for (id, way, attempts, run) in rows {
            // A loop that was deleted meanwhile took it along.
            if let Some((run, of)) = self.find_run(&run)? {
                due.push(Delivery { id, way, attempts, run, of });
            }
        }
        Ok(due)
    }

    /// Notes that another attempt begins, and when there is the next if nobody tells how it ended. Gives whether
    /// it was this process that did so.
    pub(crate) fn begin_delivery(&self, delivery: &Delivery, next_at: i64) -> Result<bool> {
        let (id, attempts) = (delivery.id.clone(), delivery.attempts);
        self.write(move |connection| {
            let begun = connection
                .prepare_cached(
                    "UPDATE deliveries SET attempts = attempts + 1, next_at = ?3
                     WHERE id = ?1 AND state = 'due' AND attempts = ?2",
                )?
                .execute((&id, attempts, next_at))?;
            Ok(begun > 0)
        })
    }

    /// It arrived.
    pub(crate) fn delivered(&self, id: &str) -> Result<()> {
        self.end_delivery(id, "delivered", None, None)
    }

    /// It did not arrive; it is tried again at `next_at`, or never without.
    pub(crate) fn undelivered(&self, id: &str, why: String, next_at: Option<i64>) -> Result<()> {
        let state = if next_at.is_some() { "due" } else { "failed" };
        self.end_delivery(id, state, next_at, Some(why))
    }

    fn end_delivery(
        &self,
        id: &str,
        state: &'static str,
        next_at: Option<i64>,
        error: Option<String>,
    ) -> Result<()> {
        let id = id.to_owned();
        self.write(move |connection| {
            connection
                .prepare_cached(
                    "UPDATE deliveries SET state = ?2, next_at = ?3, last_error = ?4 WHERE id = ?1 AND state = 'due'",
                )?
                .execute((&id, state, next_at, error))?;
            Ok(())
        })
    }

    /// Why runs of a loop could not be delivered, by run. Those that are still tried are not in it.
    pub(crate) fn failed_deliveries(&self, loop_id: &str) -> Result<BTreeMap<String, String>> {
        self.read(|connection| {
            let mut statement = connection.prepare_cached(
                "SELECT run, coalesce(last_error, '') FROM deliveries JOIN runs ON runs.id = run
                 WHERE loop = ?1 AND deliveries.state = 'failed' ORDER BY deliveries.id",
            )?;
            let rows = statement.query_map([loop_id], |row| Ok((row.get(0)?, row.get(1)?)))?;
            Ok(rows.collect::<Result<_, _>>()?)
        })
    }
}

/// A run that came to something is owed to somebody: a tool that ended well, unless the loop is quiet and there is
/// nothing to report, or a prompt that waits. Once for each run and way.
pub(super) fn owe(connection: &Connection, run_id: &str, ways: &[Way], now: i64) -> Result<()> {
    for way in ways {
        connection
            .prepare_cached(
                "INSERT INTO deliveries (id, run, kind, state, next_at)
                 SELECT ?1, runs.id, ?3, 'due', ?4 FROM runs JOIN loops ON loops.id = runs.loop
                 WHERE runs.id = ?2 AND (runs.state = 'waiting'
                 OR runs.state = 'done' AND NOT (loops.quiet AND runs.is_nothing)) ON CONFLICT DO NOTHING",
            )?
            .execute((audit::id::new(now)?, run_id, way.as_str(), now))?;
    }
    Ok(())
}
