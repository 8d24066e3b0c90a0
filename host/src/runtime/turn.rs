//! Where a guest runs: its first turn on the thread that asked for it, the rest on one of its own.
//!
//! Most guests are done in less time than it takes to wake another thread. So a guest begins where its call is
//! handled, on a fiber. Once it has computed for a turn, or calls something that may wait, it leaves that thread in
//! the middle and goes on where it holds up nobody. It moves once, and nothing of it runs twice.

use std::cell::Cell;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use wasmtime::StoreContextMut;
use wasmtime::component::{ComponentNamedList, Lift, LinkerInstance, Lower};

use super::State;
use super::instance::Finished;
use crate::error::Error;

/// How long a guest may hold up a thread that does I/O: a few times what a short tool takes, and less than anybody
/// notices.
pub(super) const TURN: Duration = Duration::from_millis(1);

/// A guest that is not over.
pub(super) type Guest = Pin<Box<dyn Future<Output = Finished> + Send>>;

thread_local! {
    /// Others wait for this thread.
    static SHARED: Cell<bool> = const { Cell::new(false) };
}

/// Whether others wait for the calling thread.
pub(super) fn is_shared() -> bool {
    SHARED.get()
}

/// Ends when the guest is on a thread that waits for nobody else.
pub(super) async fn own_thread() {
    std::future::poll_fn(|_| if is_shared() { Poll::Pending } else { Poll::Ready(()) }).await;
}

/// The first turn, on the calling thread. `Err` gives the guest back that has to go on elsewhere.
pub(super) fn first(mut guest: Guest) -> Result<Finished, Guest> {
    let before = SHARED.replace(true);
    let polled = poll(&mut guest);
    SHARED.set(before);
    match polled {
        Poll::Ready(finished) => Ok(finished),
        Poll::Pending => Err(guest),
    }
}

/// The rest, on a thread that is the guest's own. Whatever it waits for holds up this thread.
pub(super) fn rest(mut guest: Guest) -> Finished {
    match poll(&mut guest) {
        Poll::Ready(finished) => finished,
        Poll::Pending => Finished::never_ran(Error::internal("a guest on its own thread waits for another")),
    }
}

/// A panic of the host is one failed call, not a dead process. Nobody wakes a guest: it stops for one reason, and
/// whoever polls it knows that.
fn poll(guest: &mut Guest) -> Poll<Finished> {
    let mut context = Context::from_waker(Waker::noop());
    catch_unwind(AssertUnwindSafe(|| guest.as_mut().poll(&mut context))).unwrap_or_else(|_panic| {
        Poll::Ready(Finished::never_ran(Error::internal("the host failed while the guest ran")))
    })
}

/// Links a function that may wait: for the disk, the network or other calls.
pub(crate) fn link_waiting<P, R>(
    interface: &mut LinkerInstance<'_, State>,
    name: &str,
    function: fn(StoreContextMut<'_, State>, P) -> wasmtime::Result<R>,
) -> wasmtime::Result<()>
where
    P: ComponentNamedList + Lift + Send + 'static,
    R: ComponentNamedList + Lower + Send + 'static,
{
    interface.func_wrap_async(name, move |store, parameters| {
        Box::new(async move {
            own_thread().await;
            function(store, parameters)
        })
    })
}

/// What is known of code from its last guest: whether a turn was too short for it.
#[derive(Debug, Default)]
pub(super) struct Pace(AtomicBool);

impl Pace {
    pub(super) fn is_slow(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    pub(super) fn set_slow(&self, is_slow: bool) {
        // A guest of the usual kind writes nothing that the threads of others have to read again.
        if self.is_slow() != is_slow {
            self.0.store(is_slow, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;
    use crate::error::ErrorKind;

    fn over() -> Finished {
        Finished::never_ran(Error::new(ErrorKind::Usage, "over"))
    }

    fn outcome(finished: Finished) -> String {
        finished.outcome.map_or_else(|error| error.message, |_| "an answer".to_owned())
    }

    #[test]
    fn a_guest_that_never_waits_is_done_where_it_began() {
        let here = std::thread::current().id();
        let finished = first(Box::pin(async move {
            assert!(is_shared());
            assert_eq!(std::thread::current().id(), here);
            over()
        }));
        assert_eq!(finished.map(outcome).ok().as_deref(), Some("over"));
        assert!(!is_shared(), "the thread is given back as it was");
    }

    #[test]
    fn a_guest_that_waits_moves_once_and_runs_nothing_twice() {
        let steps = Arc::new(Mutex::new(Vec::new()));
        let of_guest = steps.clone();
        let guest = first(Box::pin(async move {
            let step = |name| of_guest.lock().expect("no panic").push((name, std::thread::current().id()));
            step("computes");
            own_thread().await;
            step("waits");
            own_thread().await;
            step("waits again");
            over()
        }));
        let Err(guest) = guest else { panic!("it waited on a thread that others need") };
        assert!(!is_shared());
        let (own, said) =
            std::thread::spawn(|| (std::thread::current().id(), outcome(rest(guest)))).join().expect("no panic");
        assert_eq!(said, "over");
        let here = std::thread::current().id();
        assert_eq!(*steps.lock().expect("no panic"), [("computes", here), ("waits", own), ("waits again", own)]);
    }

    #[test]
    fn what_a_guest_asks_of_others_on_its_own_thread_begins_there_too() {
        // A program waits on its thread for a tool, whose guest is in its first turn there.
        let finished = rest(Box::pin(async {
            own_thread().await;
            let inner = first(Box::pin(async {
                own_thread().await;
                over()
            }));
            assert!(inner.is_err(), "the inner one moves to a thread of its own");
            assert!(!is_shared(), "the outer one has its thread again");
            own_thread().await;
            over()
        }));
        assert_eq!(outcome(finished), "over");
    }

    #[test]
    fn a_panic_of_the_host_is_one_failed_call_in_either_part() {
        let early = first(Box::pin(async { panic!("early") }));
        assert!(early.is_ok_and(|finished| outcome(finished).contains("the host failed")));
        assert!(!is_shared());
        let late = first(Box::pin(async {
            own_thread().await;
            panic!("late")
        }));
        assert!(late.is_err_and(|guest| outcome(rest(guest)).contains("the host failed")));
    }
}
