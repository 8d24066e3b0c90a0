//! The thread that makes the rounds while a server serves.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use super::{Scheduler, Tick};
use crate::error::{Error, Result};

/// How long a round waits at most for the next: what another process changed is noticed within it, and so is
/// the end of the process that leads.
const ROUND: Duration = Duration::from_secs(1);

/// How long runs may go on after the server was told to stop. What runs longer is started again by the next
/// process if its tool destroys nothing.
const GRACE: Duration = Duration::from_secs(5);

/// Makes a waiting round begin at once.
#[derive(Debug, Default)]
pub(super) struct Wake {
    is_wanted: Mutex<bool>,
    changed: Condvar,
}

impl Wake {
    pub(super) fn now(&self) {
        *self.is_wanted.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.changed.notify_all();
    }

    fn wait(&self, most: Duration) {
        let wanted = self.is_wanted.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.changed.wait_timeout_while(wanted, most, |wanted| !*wanted);
        let (mut wanted, _) = waited.unwrap_or_else(PoisonError::into_inner);
        *wanted = false;
    }
}

/// Rounds that are being made. Dropping it ends them, and leaves runs to whoever leads next.
pub struct Running {
    scheduler: Scheduler,
    is_stopped: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Scheduler {
    /// Makes rounds on a thread of their own until the value is dropped.
    pub fn start(&self) -> Result<Running> {
        let is_stopped = Arc::new(AtomicBool::new(false));
        let thread = std::thread::Builder::new()
            .name("remit-scheduler".to_owned())
            .spawn({
                let (scheduler, is_stopped) = (self.clone(), Arc::clone(&is_stopped));
                move || scheduler.rounds(&is_stopped)
            })
            .map_err(|error| Error::internal("no thread for the schedules").detail(error))?;
        Ok(Running { scheduler: self.clone(), is_stopped, thread: Some(thread) })
    }

    fn rounds(&self, is_stopped: &AtomicBool) {
        let mut was_leading = false;
        while !is_stopped.load(Ordering::Acquire) {
            let wait = match self.tick() {
                Ok(tick) => {
                    if tick.leads && !was_leading {
                        tracing::info!(zones = super::next::zones_version(), "this process runs the schedules");
                    }
                    was_leading = tick.leads;
                    self.until(&tick)
                }
                Err(error) => {
                    tracing::error!(
                        code = error.kind.code(),
                        detail = error.detail,
                        "schedules stand still: {}",
                        error.message
                    );
                    ROUND
                }
            };
            self.shared.wake.wait(wait);
        }
    }

    /// How long to wait after a round.
    fn until(&self, tick: &Tick) -> Duration {
        let Some(next_at) = tick.next_at else { return ROUND };
        let wait = next_at.saturating_sub(self.shared.store.now_ms());
        // What is due and could not start waits for a place, and is woken when there is one.
        if wait <= 0 { ROUND } else { Duration::from_millis(wait.unsigned_abs()).min(ROUND) }
    }
}

impl Running {
    /// Claims nothing more, and waits a little for the runs that go on.
    pub async fn stop(self) {
        let scheduler = self.scheduler.clone();
        let rounds = tokio::task::spawn_blocking(move || self.end());
        let settled = async {
            // A panic of the thread has been reported where it happened.
            let _running = rounds.await;
            scheduler.settled().await;
        };
        if tokio::time::timeout(GRACE, settled).await.is_err() {
            tracing::warn!("runs of loops go on; the next process settles them");
        }
    }

    fn end(mut self) -> Self {
        self.join();
        self
    }

    fn join(&mut self) {
        self.is_stopped.store(true, Ordering::Release);
        self.scheduler.shared.wake.now();
        if let Some(thread) = self.thread.take() {
            // A panic of the thread has been reported where it happened.
            let _ = thread.join();
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.join();
    }
}
