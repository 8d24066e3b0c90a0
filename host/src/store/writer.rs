//! The one thread that writes.
//!
//! Jobs that came in together share a transaction, and with it one sync of the disk. A job that nobody
//! waits for may wait a little for company. Each job has its own savepoint, so that one that fails does not
//! take the others along; only when the transaction itself is lost (a full disk) do all of them fail.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use rusqlite::{Connection, TransactionBehavior};

use crate::clock::monotonic;
use crate::error::{Error, ErrorKind, Result};

/// How long a job that nobody waits for may wait for others. Half of the 50 ms within which the record of a
/// call is promised to be on disk; the other half is for the disk.
const GROUP_WINDOW: Duration = Duration::from_millis(25);

/// After a job that somebody waited for, so long is looked for the next one before the thread sleeps: who waited
/// often has another, and waking a sleeping core costs as much as writing a row.
const LINGER: Duration = Duration::from_micros(50);

/// Jobs in one transaction at most, so that other processes get their turn after some 10 ms.
const BATCH: usize = 1024;

/// Jobs that may wait. Records of some kilobytes at most, so tens of megabytes when the disk stands still.
const QUEUE_LIMIT: usize = 8192;

/// What is done inside the transaction.
pub(super) type Work = Box<dyn FnOnce(&Connection) -> Result<()> + Send>;

/// Told once: after the commit, or why there was none.
pub(super) type Answer = Box<dyn FnOnce(Result<()>) + Send>;

/// One change.
pub(super) struct Job {
    pub(super) work: Work,
    pub(super) answer: Answer,
}

/// Whether somebody waits for the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Hurry {
    /// Commit as soon as the writer is free.
    Now,
    /// Commit together with others, within the group window.
    Soon,
}

/// The queue of the writing thread. Dropping it writes what is queued.
pub(super) struct Writer {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    queue: Mutex<Queue>,
    wake: Condvar,
}

#[derive(Default)]
struct Queue {
    jobs: VecDeque<Job>,
    /// Somebody waits for one of the jobs.
    urgent: bool,
    /// Somebody waited for one of the last batch.
    was_urgent: bool,
    /// No more jobs are taken.
    closed: bool,
}

impl Writer {
    pub(super) fn start(connection: Connection) -> Result<Self> {
        let shared = Arc::new(Shared { queue: Mutex::default(), wake: Condvar::new() });
        let thread = std::thread::Builder::new()
            .name("remit-store".to_owned())
            .spawn({
                let shared = Closing(Arc::clone(&shared));
                move || shared.0.work(connection)
            })
            .map_err(|error| Error::internal("no thread for the database").detail(error))?;
        Ok(Self { shared, thread: Some(thread) })
    }

    /// Queues a job. It always gets its answer, also when it is refused.
    pub(super) fn push(&self, job: Job, hurry: Hurry) {
        let mut queue = self.shared.lock();
        let refusal = if queue.closed {
            stopped()
        } else if queue.jobs.len() >= QUEUE_LIMIT {
            Error::new(ErrorKind::Store, "the database cannot keep up with what is to be written")
                .hint("check that the disk of the data directory is neither full nor slow")
        } else {
            queue.jobs.push_back(job);
            // A writer that waits for company is left alone until there is enough of it.
            let news = queue.jobs.len() == 1 || queue.jobs.len() == BATCH;
            if hurry == Hurry::Now && !queue.urgent {
                queue.urgent = true;
                self.shared.wake.notify_one();
            } else if news {
                self.shared.wake.notify_one();
            }
            return;
        };
        drop(queue);
        (job.answer)(Err(refusal));
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.shared.lock().closed = true;
        self.shared.wake.notify_one();
        if let Some(thread) = self.thread.take() {
            // A panic of the thread has been reported where it happened.
            let _ = thread.join();
        }
    }
}

/// The writer is gone: only a bug ends it early.
pub(super) fn stopped() -> Error {
    Error::internal("the database's writer has stopped")
}

/// However the thread ends, nobody is left waiting for it.
struct Closing(Arc<Shared>);

impl Drop for Closing {
    fn drop(&mut self) {
        let abandoned = {
            let mut queue = self.0.lock();
            queue.closed = true;
            std::mem::take(&mut queue.jobs)
        };
        for job in abandoned {
            (job.answer)(Err(stopped()));
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn work(&self, mut connection: Connection) {
        while let Some(batch) = self.next_batch() {
            let (works, answers): (Vec<_>, Vec<_>) = batch.into_iter().map(|job| (job.work, job.answer)).unzip();
            match transact(&mut connection, works) {
                Ok(results) => answers.into_iter().zip(results).for_each(|(answer, result)| answer(result)),
                Err(error) => answers.into_iter().for_each(|answer| answer(Err(error.clone()))),
            }
        }
    }

    /// Waits for jobs; `None` when there will be no more.
    fn next_batch(&self) -> Option<Vec<Job>> {
        let mut queue = self.lock();
        let until = monotonic() + LINGER;
        while queue.jobs.is_empty() && queue.was_urgent && !queue.closed && monotonic() < until {
            drop(queue);
            std::thread::yield_now();
            queue = self.lock();
        }
        while queue.jobs.is_empty() {
            if queue.closed {
                return None;
            }
            queue = self.wake.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
        let alone = |queue: &mut Queue| !queue.urgent && !queue.closed && queue.jobs.len() < BATCH;
        let (mut queue, _) =
            self.wake.wait_timeout_while(queue, GROUP_WINDOW, alone).unwrap_or_else(PoisonError::into_inner);
        let count = queue.jobs.len().min(BATCH);
        let batch = queue.jobs.drain(..count).collect();
        queue.was_urgent = queue.urgent;
        queue.urgent &= !queue.jobs.is_empty();
        Some(batch)
    }
}

/// Runs a batch in one transaction and gives each job's own result. An error means that none of it is
/// committed.
fn transact(connection: &mut Connection, works: Vec<Work>) -> Result<Vec<Result<()>>> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let mut results = Vec::with_capacity(works.len());
    for work in works {
        transaction.prepare_cached("SAVEPOINT job")?.execute([])?;
        let result = work(&transaction);
        if let Err(error) = &result {
            if transaction.is_autocommit() {
                // SQLite has rolled back everything, not this job alone: the disk is full or fails.
                return Err(error.clone());
            }
            transaction.prepare_cached("ROLLBACK TO job")?.execute([])?;
        }
        transaction.prepare_cached("RELEASE job")?.execute([])?;
        results.push(result);
    }
    transaction.commit()?;
    Ok(results)
}
