//! Schedules: which loops fire when, that each firing is claimed once, and what becomes of its run.
//!
//! One round ([`Scheduler::tick`]) of the one process that leads claims what is due, starts what may start, and
//! says when to look again. Deciding is pure (`pattern.rs`, `next.rs`, `decide.rs`), keeping is `store/`'s, and
//! a run goes the path of every call. This room has no way to what people decide.

pub mod decide;
mod define;
pub mod definition;
mod deliver;
mod leader;
pub mod next;
mod pattern;
mod presets;
mod run;
mod thread;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

pub use self::decide::Open;
use self::decide::{Decision, Due, decide, start_at};
pub(crate) use self::define::{Limits, check};
pub use self::definition::{Definition, Loop, Misfire, Origin, Overlap, Run, RunState, Status, Task, official};
pub(crate) use self::deliver::{Deliverer, Way};
use self::leader::Leader;
use self::next::Schedule;
pub(crate) use self::presets::{presets, timing};
pub use self::run::Ran;
#[cfg(test)]
pub(crate) use self::run::record_of;
pub(crate) use self::run::run_end;
pub use self::thread::Running;
use self::thread::Wake;
use crate::call::Host;
use crate::config::Config;
use crate::error::{ErrorKind, Result};
use crate::store::{Claim, Passed, Store};

/// Loops that are claimed in one transaction: some 10 ms of writing.
const BATCH: usize = 250;

/// The schedules of one home. Cheap to clone.
#[derive(Clone)]
pub struct Scheduler {
    shared: Arc<Shared>,
}

struct Shared {
    host: Host,
    store: Arc<Store>,
    config: Config,
    home: PathBuf,
    deliverer: Deliverer,
    leader: Mutex<Option<Leader>>,
    /// As many runs at once as there are places.
    places: Arc<Semaphore>,
    threads: Handle,
    wake: Wake,
    /// Stops calls of runs.
    cancel: CancellationToken,
}

/// What one round did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tick {
    /// This process runs the schedules of its home.
    pub leads: bool,
    /// Runs that were claimed.
    pub claimed: usize,
    /// Runs that were started, or given to agents.
    pub started: usize,
    /// When there is next something to do, as far as is known. In milliseconds since 1970.
    pub next_at: Option<i64>,
}

impl Scheduler {
    /// The schedules of `home`. Runs are called on the threads that this is called from.
    pub(crate) fn new(host: Host, store: Arc<Store>, config: Config, home: PathBuf, deliverer: Deliverer) -> Self {
        let places = Arc::new(Semaphore::new(config.loops.concurrent));
        let shared = Shared {
            host,
            store,
            config,
            home,
            deliverer,
            leader: Mutex::default(),
            places,
            threads: Handle::current(),
            wake: Wake::default(),
            cancel: CancellationToken::new(),
        };
        Self { shared: Arc::new(shared) }
    }

    /// One round: takes the lead if nobody has it, finds runs of processes that died, claims what is due, starts
    /// what may start. Runs go on after it returns.
    pub fn tick(&self) -> Result<Tick> {
        let mut tick = Tick { leads: self.leads()?, ..Tick::default() };
        if !tick.leads {
            return Ok(tick);
        }
        for (run, of) in self.shared.store.orphans()? {
            self.settle(&run, &of)?;
        }
        self.shared.store.end_leases()?;
        tick.claimed = self.claim_due()?;
        tick.started = self.start_claimed()?;
        self.deliver_due()?;
        tick.next_at = self.shared.store.next_due()?;
        Ok(tick)
    }

    /// Waits until no run of this process goes on, and nothing is being delivered.
    pub async fn settled(&self) {
        let all = u32::try_from(self.shared.config.loops.concurrent).unwrap_or(u32::MAX);
        // The places are never closed.
        drop(self.shared.places.acquire_many(all).await);
        self.shared.deliverer.settled().await;
    }

    /// Whether this process leads. The lock is kept for as long as it lives.
    fn leads(&self) -> Result<bool> {
        let mut leader = self.shared.leader.lock().unwrap_or_else(PoisonError::into_inner);
        if leader.is_none() {
            *leader = Leader::take(&self.shared.home)?;
        }
        Ok(leader.is_some())
    }

    /// Decides and claims all that is due. Gives how many runs there are to be.
    fn claim_due(&self) -> Result<usize> {
        let (store, mut runs) = (&self.shared.store, 0);
        loop {
            let now = store.now_ms();
            let due = store.due_loops(now, BATCH)?;
            let is_all = due.len() < BATCH;
            let claims = due.iter().map(|(of, open)| self.claim_of(of, *open, now)).collect::<Result<Vec<_>>>()?;
            if claims.is_empty() {
                return Ok(runs);
            }
            let claimed = store.claim(claims.clone())?;
            runs += claims
                .iter()
                .zip(&claimed)
                .filter(|(_, own)| **own)
                .map(|(claim, _)| claim.run.len())
                .sum::<usize>();
            // A claim that another process was faster with is not due any more either.
            if is_all {
                return Ok(runs);
            }
        }
    }

    fn claim_of(&self, of: &Loop, open: Open, now_ms: i64) -> Result<Claim> {
        let due_at = of.next_at.unwrap_or(now_ms);
        let definition = &of.definition;
        let schedule = match Schedule::new(&definition.timing, of.anchor_at) {
            Ok(schedule) => schedule,
            Err(problem) => return Ok(broken(of, due_at, &problem.to_string())),
        };
        let (misfire, overlap, window) = (definition.misfire, definition.overlap, definition.window);
        let Decision { run, skipped, missed, next } =
            decide(&Due { schedule: &schedule, misfire, overlap, window, due_at, now_ms, open });
        let spread = Duration::from_secs(self.shared.config.loops.jitter_s);
        let start = |nominal_at| (nominal_at, start_at(&of.id, nominal_at, schedule.period(), spread));
        let missed = Passed { number: missed.number, last: missed.last, reason: firings(missed.number) };
        let record = match missed.number {
            0 => None,
            _ => Some(run::record_of(of, ErrorKind::LoopMissed, &missed.reason, now_ms)?),
        };
        if let Err(problem) = &next {
            tracing::error!(id = of.id, principal = of.principal(), %problem, "a loop is broken: it does not fire any more");
        }
        Ok(Claim {
            loop_id: of.id.clone(),
            due_at,
            run: run.into_iter().map(start).collect(),
            skipped: Passed {
                number: skipped.number,
                last: skipped.last,
                reason: "an earlier run was not done".to_owned(),
            },
            missed,
            next: next.map_err(|problem| problem.to_string()),
            record,
        })
    }

    /// Starts what may start, as long as there are places. Gives how many were.
    fn start_claimed(&self) -> Result<usize> {
        let mut started = 0;
        loop {
            let free = self.shared.places.available_permits();
            if free == 0 {
                return Ok(started);
            }
            let startable = self.shared.store.startable(self.shared.store.now_ms(), free)?;
            if startable.is_empty() {
                return Ok(started);
            }
            for (run, of) in startable {
                started += usize::from(self.begin(&run, &of)?);
            }
        }
    }
}

fn broken(of: &Loop, due_at: i64, problem: &str) -> Claim {
    tracing::error!(
        id = of.id,
        principal = of.principal(),
        problem,
        "a loop is broken: it does not fire any more"
    );
    Claim {
        loop_id: of.id.clone(),
        due_at,
        run: Vec::new(),
        skipped: Passed::default(),
        missed: Passed::default(),
        next: Err(problem.to_owned()),
        record: None,
    }
}

fn firings(number: u64) -> String {
    let word = if number == 1 { "firing" } else { "firings" };
    format!("the host was too late for {number} {word}")
}
