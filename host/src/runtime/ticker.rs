//! The clock behind deadlines: one thread moves the engine's epoch on while guests run.
//!
//! It parks when no guest has run for a while, so that an idle host costs nothing.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::thread::Thread;
use std::time::Duration;

use super::Engine;
use crate::error::{Error, Result};

/// How exactly a deadline is kept, and a first turn ended. Each tick costs a running guest about a microsecond. For a
/// long guest each is a moment at which it gives way: a kernel that preempts lazily makes a thread that wakes wait for
/// one.
pub(super) const TICK: Duration = Duration::from_millis(1);

/// Ticks without a guest until the thread parks: waking it costs more than a few ticks.
const LINGER: u32 = 100;

/// The ticking thread.
pub(super) struct Ticker {
    shared: Arc<Shared>,
    thread: Thread,
}

struct Shared {
    running: AtomicUsize,
    parked: AtomicBool,
}

/// While one exists, the epoch moves.
pub(super) struct Ticking<'a>(&'a Shared);

impl Ticker {
    pub(super) fn start(engine: &Engine) -> Result<Self> {
        let shared = Arc::new(Shared { running: AtomicUsize::new(0), parked: AtomicBool::new(false) });
        let of_thread = shared.clone();
        let engine = engine.raw().weak();
        let handle = std::thread::Builder::new()
            .name("ticker".to_owned())
            .spawn(move || tick(&of_thread, &engine))
            .map_err(|error| Error::internal("the system gives no thread for the ticker").detail(error))?;
        Ok(Self { shared, thread: handle.thread().clone() })
    }

    pub(super) fn run(&self) -> Ticking<'_> {
        self.shared.running.fetch_add(1, SeqCst);
        // The ticker sets `parked` before it looks at `running`: one of the two sees the other.
        if self.shared.parked.load(SeqCst) {
            self.thread.unpark();
        }
        Ticking(&self.shared)
    }
}

impl Drop for Ticking<'_> {
    fn drop(&mut self) {
        self.0.running.fetch_sub(1, SeqCst);
    }
}

fn tick(shared: &Shared, engine: &wasmtime::EngineWeak) {
    let mut unused = 0;
    loop {
        std::thread::park_timeout(TICK);
        let Some(engine) = engine.upgrade() else { return };
        engine.increment_epoch();
        drop(engine);
        unused = if shared.running.load(SeqCst) == 0 { unused + 1 } else { 0 };
        if unused < LINGER {
            continue;
        }
        shared.parked.store(true, SeqCst);
        while shared.running.load(SeqCst) == 0 {
            std::thread::park();
        }
        shared.parked.store(false, SeqCst);
        unused = 0;
    }
}
