//! One guest, from a place to run to what it left behind.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::oneshot;
use wasmtime::{PoolConcurrencyLimitError, Store, Trap, UpdateDeadline};

use super::budget::{Lease, Limiter, Meter, Stop};
use super::loader::{Linked, Loader};
use super::operation::{Missing, Operation, Outcome};
use super::threads::{Threads, demote};
use super::ticker::Ticker;
use super::turn::{self, Guest, TURN};
use super::{Admission, Engine, State};
use crate::clock::monotonic;
use crate::error::{Error, ErrorKind, Result};
use crate::namespaces::Services;
use crate::policy::Granted;
use crate::typed::Misfit;

/// Bytes that one call between guest and host may lift, strings and lists together.
const LIFT_BYTES: usize = 8 * 1024 * 1024;

/// What the engine says when that is too little. It has no type for it.
const TOO_MUCH: &str = "fuel allocated for hostcalls has been exhausted";

/// A guest that runs for longer is a long one. Most tools have answered by then, whatever their language; those
/// that have not can wait for others.
const LONG: Duration = Duration::from_millis(100);

/// Runs guests.
pub struct Runtime {
    engine: Engine,
    loader: Loader,
    admission: Admission,
    threads: Threads,
    ticker: Arc<Ticker>,
}

/// What a guest is called with.
pub struct GuestCall {
    /// What policy decided.
    pub granted: Granted,
    /// Whose code runs, where it is not the capability's own: the engine's.
    pub engine: Option<Granted>,
    /// What it is called for.
    pub operation: Operation,
    /// Until when, and for whom.
    pub lease: Lease,
    /// The namespaces' state.
    pub services: Services,
}

/// What a guest left behind.
pub struct Finished {
    /// Its answer, or why there is none.
    pub outcome: Result<Outcome>,
    /// What it spent.
    pub spent: Spent,
    /// What it did and planned; `None` for one that never ran.
    pub services: Option<Services>,
}

/// What a guest spent.
#[derive(Clone, Copy, Debug, Default)]
pub struct Spent {
    /// Units of work.
    pub fuel: u64,
    /// The most memory held at once, in bytes.
    pub memory_peak: usize,
    /// Calls into the host.
    pub host_calls: u64,
    /// When it passed which door.
    pub moments: Moments,
}

/// When a guest passed which door; nothing for those that it did not come to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Moments {
    /// It asked for a place to run.
    pub asked: Option<Instant>,
    /// It had one.
    pub admitted: Option<Instant>,
    /// Its code was at hand, compiled if need be.
    pub loaded: Option<Instant>,
    /// It was over.
    pub ended: Option<Instant>,
}

impl Finished {
    pub(super) fn never_ran(error: Error) -> Self {
        Self { outcome: Err(error), spent: Spent::default(), services: None }
    }
}

impl Runtime {
    /// A runtime over loaded code.
    pub fn new(engine: Engine, loader: Loader, admission: Admission) -> Result<Self> {
        let ticker = Arc::new(Ticker::start(&engine)?);
        Ok(Self { engine, loader, admission, threads: Threads::default(), ticker })
    }

    /// Compiles ahead of the first call.
    pub fn loader(&self) -> &Loader {
        &self.loader
    }

    /// Runs one guest. When this future is dropped the guest is stopped.
    pub async fn run(&self, call: GuestCall) -> Finished {
        let mut moments = Moments { asked: Some(monotonic()), ..Moments::default() };
        let mut finished = self.run_between(call, &mut moments).await;
        moments.ended = Some(monotonic());
        finished.spent.moments = moments;
        finished
    }

    async fn run_between(&self, call: GuestCall, moments: &mut Moments) -> Finished {
        let _stop_when_dropped = call.lease.cancel.clone().drop_guard();
        let permit = match self.admission.enter(call.granted.capability(), &call.lease).await {
            Ok(permit) => permit,
            Err(error) => return Finished::never_ran(error),
        };
        moments.admitted = Some(monotonic());
        let linked = match self.load(&call).await {
            Ok(linked) => linked,
            Err(error) => return Finished::never_ran(error),
        };
        moments.loaded = Some(monotonic());
        let is_slow = linked.pace.is_slow();
        let (engine, ticker) = (self.engine.clone(), self.ticker.clone());
        let guest: Guest = Box::pin(async move {
            let ticking = ticker.run();
            let finished = execute(&engine, &linked, call).await;
            drop(ticking);
            // Before the answer, so that the caller's next call finds the place free.
            drop(permit);
            finished
        });
        if is_slow {
            return self.elsewhere(guest).await;
        }
        match turn::first(guest) {
            Ok(finished) => finished,
            Err(guest) => self.elsewhere(guest).await,
        }
    }

    /// Goes on with a guest where it holds up nobody. It runs to its end, also when this future is dropped.
    async fn elsewhere(&self, guest: Guest) -> Finished {
        let (send, receive) = oneshot::channel();
        let started = self.threads.run(move || {
            // Nobody listens when the call was dropped meanwhile.
            let _ = send.send(turn::rest(guest));
        });
        if let Err(error) = started {
            let busy = Error::new(ErrorKind::Busy, "the system gives no more threads, try again later");
            return Finished::never_ran(busy.detail(error));
        }
        receive
            .await
            .unwrap_or_else(|_| Finished::never_ran(Error::internal("a guest's thread ended without a word")))
    }

    async fn load(&self, call: &GuestCall) -> Result<Arc<Linked>> {
        tokio::select! {
            biased;
            linked = self.loader.load(call.engine.as_ref().unwrap_or(&call.granted)) => linked,
            () = call.lease.cancel.cancelled() => Err(stopped(Stop::Cancelled)),
            () = tokio::time::sleep_until(call.lease.deadline.into()) => Err(stopped(Stop::Time)),
        }
    }
}

async fn execute(engine: &Engine, linked: &Arc<Linked>, call: GuestCall) -> Finished {
    let budget = call.granted.budget();
    let state = State {
        limiter: Limiter::new(budget.memory_bytes),
        meter: Meter::default(),
        lease: call.lease.clone(),
        granted: call.granted,
        dry_run: call.operation.is_dry_run(),
        services: call.services,
    };
    let mut store = Store::new(engine.raw(), state);
    store.limiter(|state| &mut state.limiter);
    store.set_hostcall_fuel(LIFT_BYTES);
    store.set_epoch_deadline(1);
    let begun = monotonic();
    let of_guest = linked.clone();
    store.epoch_deadline_callback(move |store| {
        store.data().lease.check()?;
        let computed = monotonic().duration_since(begun);
        if turn::is_shared() {
            if computed < TURN {
                return Ok(UpdateDeadline::Continue(1));
            }
            of_guest.pace.set_slow(true);
            return Ok(UpdateDeadline::YieldCustom(1, Box::pin(turn::own_thread())));
        }
        if computed >= LONG {
            demote();
            std::thread::yield_now();
        }
        Ok(UpdateDeadline::Continue(1))
    });
    let outcome = match store.set_fuel(budget.fuel) {
        Ok(()) => enter(&mut store, linked, &call.operation).await,
        Err(error) => Err(error),
    };
    if monotonic().duration_since(begun) < TURN {
        linked.pace.set_slow(false);
    }
    let fuel = budget.fuel.saturating_sub(store.get_fuel().unwrap_or(0));
    let state = store.into_data();
    let spent = Spent {
        fuel,
        memory_peak: state.limiter.peak(),
        host_calls: state.meter.host_calls(),
        ..Spent::default()
    };
    let outcome = outcome.map_err(|error| why_stopped(&error, &state.limiter));
    Finished { outcome, spent, services: Some(state.services) }
}

async fn enter(store: &mut Store<State>, linked: &Linked, operation: &Operation) -> wasmtime::Result<Outcome> {
    // The guest's start function already runs here, under the same budget.
    let instance = linked.instance.instantiate_async(&mut *store).await?;
    operation.call(store, linked, &instance).await
}

fn stopped(stop: Stop) -> Error {
    Error::new(stop.kind(), format!("the call {stop}"))
}

/// The reason a guest has no answer. A trap after the limiter said no is about memory: guests cannot do
/// without what they asked for.
fn why_stopped(error: &wasmtime::Error, limiter: &Limiter) -> Error {
    if let Some(stop) = error.downcast_ref::<Stop>() {
        return stopped(*stop);
    }
    if let Some(misfit) = error.downcast_ref::<Misfit>() {
        return Error::new(misfit.kind(), misfit.to_string());
    }
    if let Some(missing) = error.downcast_ref::<Missing>() {
        return Error::new(ErrorKind::ComponentInvalid, missing.to_string());
    }
    let trap = error.downcast_ref::<Trap>();
    if trap == Some(&Trap::OutOfFuel) {
        return stopped(Stop::Fuel);
    }
    if limiter.refused() {
        return Error::new(ErrorKind::Memory, "the call asked for more memory than it may have");
    }
    if error.is::<PoolConcurrencyLimitError>() {
        return Error::new(ErrorKind::Busy, "too many calls run at once, try again later");
    }
    Error::new(ErrorKind::Trap, format!("the guest stopped: {}", what_happened(error, trap)))
        .detail(format!("{error:#}"))
}

/// What a trap means for whoever called. The engine's own words are in the record.
fn what_happened(error: &wasmtime::Error, trap: Option<&Trap>) -> &'static str {
    match trap {
        None if error.root_cause().to_string().contains(TOO_MUCH) => "it gave more than one call may bring",
        Some(Trap::UnreachableCodeReached) => "it gave up, as programs do that panic",
        Some(Trap::StackOverflow) => "its stack overflowed",
        Some(Trap::MemoryOutOfBounds | Trap::TableOutOfBounds) => "it reached beyond its memory",
        Some(Trap::IntegerDivisionByZero | Trap::IntegerOverflow | Trap::BadConversionToInteger) => {
            "it computed what has no result"
        }
        _ => "it broke the rules of its interface",
    }
}
