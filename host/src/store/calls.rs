//! The rows of records: calls and their outbound requests.

use std::path::Path;

use rusqlite::{Connection, Row};

use super::failure::damaged;
use super::{
    Process, Spend, Store, confirmations, count, deliveries, entities, process, read_count, runs, sandbox,
};
use crate::audit::{self, Query, Record, RequestRecord, RunEnd, Traced, Usage};
use crate::error::{Error, Result};

/// Bytes of a text that a caller chose: enough to see what was tried, too few to fill the disk with.
const CALLERS_TEXT: usize = 512;

impl Store {
    /// Writes the record of a call that begins, and returns when it is on disk. Until it ends it belongs to
    /// this process, and is `aborted` when the process is no more.
    /// The call of a loop's run is noted there. Gives whether the confirmation that it uses, if any, was not used
    /// before.
    pub(crate) async fn begin_call(
        &self,
        record: Record,
        run: Option<String>,
        spends: Option<Spend>,
    ) -> Result<bool> {
        let (process, now) = (self.process_token()?, self.now_ms());
        self.write_async(move |connection| {
            put(connection, &record, Some(&process))?;
            run.map_or(Ok(()), |run| runs::begin_call(connection, &run, &record.id))?;
            spends.map_or(Ok(true), |spend| confirmations::spend(connection, &spend, now))
        })
        .await
    }

    /// Queues the record of a call that ended, whether its beginning was written or not.
    pub(crate) fn end_call(&self, record: Record, answer: impl FnOnce(Result<()>) + Send + 'static) {
        self.write_later(
            move |connection| {
                put(connection, &record, None)?;
                put_requests(connection, &record)
            },
            answer,
        );
    }

    /// Writes the record of a call that ended, with the end of the loop's run that it was, and returns when both
    /// are on disk.
    pub(crate) async fn end_call_durably(&self, record: Record, run: Option<RunEnd>) -> Result<()> {
        let (process, now, ways) = (self.process_token()?, self.now_ms(), self.ways());
        self.write_async(move |connection| {
            put(connection, &record, None)?;
            put_requests(connection, &record)?;
            run.map_or(Ok(()), |run| {
                runs::end(connection, &run, &record.id, &process, now)?;
                deliveries::owe(connection, &run.id, &ways, now)
            })
        })
        .await
    }

    /// Records, newest first.
    pub(crate) fn records(&self, query: &Query) -> Result<Vec<Record>> {
        // Ids begin with their time and are the key: a lower bound on them ends the search early.
        let since = query.since_ms.map(audit::id::earliest);
        let limit = i64::try_from(query.limit).unwrap_or(i64::MAX);
        self.read(|connection| {
            let mut statement = connection.prepare_cached(
                "SELECT id, started_at, principal, capability, tool, digest, dry_run, outcome, detail,
                 fuel, memory_peak, time_us, host_calls, requests, bytes_out, bytes_in, log FROM calls
                 WHERE (?1 IS NULL OR id = ?1) AND (?2 IS NULL OR capability = ?2)
                 AND (?3 IS NULL OR tool = ?3) AND (?4 IS NULL OR outcome = ?4)
                 AND id >= coalesce(?5, '')
                 AND (?7 IS NULL OR EXISTS (SELECT 1 FROM requests WHERE call = calls.id AND outcome = ?7))
                 ORDER BY id DESC LIMIT ?6",
            )?;
            let Query { id, capability, tool, outcome, request_outcome, .. } = query;
            let mut rows = statement.query((id, capability, tool, outcome, since, limit, request_outcome))?;
            let mut records = Vec::new();
            while let Some(row) = rows.next()? {
                let mut record = read_record(row)?;
                record.requests = read_requests(connection, &record.id)?;
                record.changes = entities::read_changes(connection, &record.id)?;
                record.files = sandbox::read_file_changes(connection, &record.id)?;
                records.push(record);
            }
            Ok(records)
        })
    }

    pub(super) fn process_token(&self) -> Result<String> {
        let mut process = self.process.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(process) = &*process {
            return Ok(process.token.clone());
        }
        let started = Process::start(&self.home, audit::id::new(self.now_ms())?)?;
        let token = started.token.clone();
        *process = Some(started);
        Ok(token)
    }
}

/// Marks the calls of processes that are no more as `aborted`.
pub(super) fn abort_orphans(connection: &Connection, home: &Path) -> Result<()> {
    let owners: Vec<String> = connection
        .prepare("SELECT DISTINCT process FROM calls WHERE process IS NOT NULL")?
        .query_map([], |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    for owner in owners {
        if !process::is_alive(home, &owner)? {
            connection.execute(
                "UPDATE calls SET process = NULL, outcome = ?2 WHERE process = ?1",
                (owner, audit::ABORTED),
            )?;
        }
    }
    Ok(())
}

/// Writes a record over the one of its beginning, if there is one.
pub(super) fn put(connection: &Connection, record: &Record, process: Option<&str>) -> Result<()> {
    let usage = &record.usage;
    connection
        .prepare_cached(
            "INSERT INTO calls (id, process, started_at, principal, capability, tool, digest, dry_run,
             outcome, detail, fuel, memory_peak, time_us, host_calls, requests, bytes_out, bytes_in, log)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18)
             ON CONFLICT (id) DO UPDATE SET process = ?2, digest = ?7, outcome = ?9, detail = ?10, fuel = ?11,
             memory_peak = ?12, time_us = ?13, host_calls = ?14, requests = ?15, bytes_out = ?16,
             bytes_in = ?17, log = ?18",
        )?
        .execute(rusqlite::params![
            record.id,
            process,
            record.started_at,
            capped(&record.principal),
            capped(&record.capability),
            capped(&record.tool),
            record.digest,
            record.dry_run,
            record.outcome,
            record.detail,
            count(usage.fuel),
            count(usage.memory_peak),
            i64::try_from(usage.time.as_micros()).unwrap_or(i64::MAX),
            count(usage.host_calls),
            usage.requests,
            count(usage.bytes_out),
            count(usage.bytes_in),
            json(&record.log)?,
        ])?;
    Ok(())
}

fn put_requests(connection: &Connection, record: &Record) -> Result<()> {
    let mut insert = connection.prepare_cached(
        "INSERT INTO requests (call, position, method, authority, path, address, status, outcome,
         bytes_out, bytes_in, secrets, redactions, time_ms, own)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)",
    )?;
    for (position, request) in (0_i64..).zip(&record.requests) {
        insert.execute(rusqlite::params![
            record.id,
            position,
            request.method,
            request.authority,
            request.path,
            request.address,
            request.status,
            request.outcome,
            count(request.bytes_out),
            count(request.bytes_in),
            json(&request.secrets)?,
            request.redactions,
            count(request.time_ms),
            request.own,
        ])?;
    }
    Ok(())
}

fn read_record(row: &Row<'_>) -> Result<Record> {
    Ok(Record {
        id: row.get(0)?,
        started_at: row.get(1)?,
        principal: row.get(2)?,
        capability: row.get(3)?,
        tool: row.get(4)?,
        digest: row.get(5)?,
        dry_run: row.get(6)?,
        outcome: row.get(7)?,
        detail: row.get(8)?,
        usage: Usage {
            fuel: read_count(row, 9)?,
            memory_peak: read_count(row, 10)?,
            time: std::time::Duration::from_micros(read_count(row, 11)?),
            host_calls: read_count(row, 12)?,
            requests: row.get(13)?,
            bytes_out: read_count(row, 14)?,
            bytes_in: read_count(row, 15)?,
        },
        requests: Vec::new(),
        changes: Vec::new(),
        files: Vec::new(),
        log: list(row, 16)?,
    })
}

fn read_requests(connection: &Connection, call: &str) -> Result<Vec<RequestRecord>> {
    let mut statement = connection.prepare_cached(
        "SELECT method, authority, path, address, status, outcome, bytes_out, bytes_in, secrets, redactions,
         time_ms, own FROM requests WHERE call = ?1 ORDER BY position",
    )?;
    let mut rows = statement.query([call])?;
    let mut requests = Vec::new();
    while let Some(row) = rows.next()? {
        requests.push(RequestRecord {
            method: row.get(0)?,
            authority: row.get(1)?,
            path: row.get(2)?,
            address: row.get(3)?,
            status: row.get(4)?,
            outcome: row.get(5)?,
            bytes_out: read_count(row, 6)?,
            bytes_in: read_count(row, 7)?,
            secrets: list(row, 8)?,
            redactions: row.get(9)?,
            time_ms: read_count(row, 10)?,
            own: row.get(11)?,
            traced: Traced::default(),
        });
    }
    Ok(requests)
}

/// The beginning of a text, cut where a character ends.
fn capped(text: &str) -> &str {
    &text[..text.floor_char_boundary(CALLERS_TEXT)]
}

fn json(lines: &[String]) -> Result<String> {
    serde_json::to_string(lines).map_err(|error| Error::internal("strings are JSON").detail(error))
}

fn list(row: &Row<'_>, column: usize) -> Result<Vec<String>> {
    let text = row.get_ref(column)?.as_str().map_err(damaged)?;
    serde_json::from_str(text).map_err(damaged)
}

#[cfg(test)]
impl Store {
    /// Which process a call that has not ended belongs to.
    pub(crate) fn running_owner(&self, id: &str) -> Result<String> {
        self.read(|connection| {
            Ok(connection.query_row("SELECT process FROM calls WHERE id = ?1", [id], |row| row.get(0))?)
        })
    }

    /// A disk of so many pages, but no fewer than are in use.
    pub(crate) fn limit_pages(&self, pages: u32) -> Result<()> {
        self.write(move |connection| {
            Ok(connection.query_row(&format!("PRAGMA max_page_count = {pages}"), [], |_| Ok(()))?)
        })
    }
}
