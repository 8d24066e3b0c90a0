//! The life of one record: begun, ended once, never forgotten.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use super::{ABORTED, CallEnd, CallStart, OK, RUNNING, Record, Usage, id};
use crate::clock::{Clock, monotonic};
use crate::error::Result;
use crate::runtime::Moments;
use crate::store::Store;
use crate::telemetry::{Labels, Parent, Running, Telemetry};

/// Where calls are recorded. Cheap to clone.
#[derive(Clone)]
pub struct Audit {
    store: Arc<Store>,
    clock: Arc<Clock>,
    lost: Arc<AtomicU64>,
    telemetry: Telemetry,
}

/// The record of a call that runs. Dropping it ends it as `aborted`.
pub struct OpenRecord {
    audit: Audit,
    begun: Instant,
    /// The call can change something: its end is on disk before its answer leaves.
    durable: bool,
    /// What it was confirmed by had not been used before.
    is_confirmed: bool,
    /// `None` once it has ended.
    record: Option<Record>,
    /// What telemetry is told of it.
    running: Option<Running>,
}

impl Audit {
    /// Records into `store`.
    #[must_use]
    pub fn new(store: Arc<Store>, clock: Arc<Clock>) -> Self {
        Self { store, clock, lost: Arc::default(), telemetry: Telemetry::default() }
    }

    /// Tells the end of every record.
    #[must_use]
    pub fn telling(self, telemetry: Telemetry) -> Self {
        Self { telemetry, ..self }
    }

    /// Begins the record of a call. For a call that can change something it is on disk when this returns;
    /// for any other, nothing is written before its end.
    pub async fn begin(&self, start: CallStart) -> Result<OpenRecord> {
        let begun = monotonic();
        let started_at = self.clock.now_ms();
        let record = Record {
            id: id::new(started_at)?,
            started_at,
            principal: start.principal,
            capability: start.capability,
            tool: start.tool,
            digest: start.digest.map(|digest| digest.to_string()),
            dry_run: start.dry_run,
            outcome: RUNNING.to_owned(),
            detail: None,
            usage: Usage::default(),
            requests: Vec::new(),
            changes: Vec::new(),
            files: Vec::new(),
            log: Vec::new(),
        };
        // Made before waiting, so that a caller who gives up meanwhile leaves an end, too.
        let durable = start.can_change || start.run.is_some();
        let mut open = OpenRecord {
            audit: self.clone(),
            begun,
            durable,
            is_confirmed: start.spends.is_none(),
            record: Some(record.clone()),
            running: None,
        };
        if durable {
            match self.store.begin_call(record, start.run, start.spends).await {
                Ok(is_confirmed) => open.is_confirmed = is_confirmed,
                Err(error) => {
                    // The call is refused and its guest does not run: there is nothing to remember.
                    open.record = None;
                    return Err(error);
                }
            }
        }
        Ok(open)
    }

    /// Waits until everything recorded so far is on disk. Blocks the thread: for a clean exit.
    pub fn flush(&self) -> Result<()> {
        self.store.flush()
    }

    /// How many records of ended calls could not be written since this process began.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }
}

impl OpenRecord {
    /// The record's id.
    #[must_use]
    pub fn id(&self) -> &str {
        self.record.as_ref().map_or("", |record| &record.id)
    }

    /// Whether the confirmation that the call uses, if any, was its own: not used by another call before.
    #[must_use]
    pub fn is_confirmed(&self) -> bool {
        self.is_confirmed
    }

    /// Shows the call under these names, in the span of its caller.
    pub fn show(&mut self, labels: Labels, parent: Option<Parent>) {
        self.running = Some(self.audit.telemetry.begin(labels, parent));
    }

    /// Shows when its guest passed which door.
    pub fn passed(&mut self, moments: Moments) {
        if let Some(running) = &mut self.running {
            running.passed(moments);
        }
    }

    /// Tells how it ended. What nobody named is shown as unknown.
    fn tell(&mut self, record: &Record) {
        let unnamed = || self.audit.telemetry.begin(Labels::unknown(), None);
        self.running.take().unwrap_or_else(unnamed).end(record);
    }

    /// Ends the record. Waits for the disk when the call could change something: else a process that is killed
    /// at this moment would leave a change that was answered as `aborted`.
    pub async fn finish(mut self, end: CallEnd) {
        if let Some(mut record) = self.record.take() {
            record.outcome = end.error.map_or(OK, |kind| kind.code()).to_owned();
            record.detail = end.detail;
            record.usage = end.usage;
            record.requests = end.requests;
            record.log = end.log;
            self.tell(&record);
            if self.durable {
                let written = self.audit.store.end_call_durably(record, end.run).await;
                note_lost(&self.audit.lost, written);
            } else {
                self.audit.write(record);
            }
        }
    }
}

impl Drop for OpenRecord {
    fn drop(&mut self) {
        if let Some(mut record) = self.record.take() {
            record.outcome = ABORTED.to_owned();
            record.usage.time = monotonic().duration_since(self.begun);
            self.tell(&record);
            self.audit.write(record);
        }
    }
}

impl Audit {
    fn write(&self, record: Record) {
        let lost = Arc::clone(&self.lost);
        self.store.end_call(record, move |written| note_lost(&lost, written));
    }
}

/// Counts a record that could not be written.
fn note_lost(lost: &AtomicU64, written: Result<()>) {
    let Err(error) = written else { return };
    let lost = lost.fetch_add(1, Ordering::Relaxed) + 1;
    // At 1, 2, 4, 8 and so on: a disk that stays full must not fill the log as well.
    if lost.is_power_of_two() {
        tracing::error!(
            lost,
            code = error.kind.code(),
            detail = error.detail,
            "records of calls could not be written"
        );
    }
}

#[cfg(test)]
mod tests;
