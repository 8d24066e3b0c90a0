//! The calls of one program: started as it asks, waited for in the order in which they end, counted and remembered.
//!
//! A call that needs the word of a person stops the program. What it had called until then is its past; run again
//! with the word, it gets the answers of its past in the same order, and only what had no answer is called. That it
//! goes the same way again is the engine's promise, and is compared, not believed.

use std::collections::VecDeque;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Poll;
use std::time::Instant;

use serde_json::{Map, Value};
use tokio::runtime::Handle;
use tokio::sync::Semaphore;

use super::names::Named;
use super::{Names, value};
use crate::answer::Plan;
use crate::audit::Usage;
use crate::call::{Failure, Reply};
use crate::client::{Confirmation, Wants};
use crate::error::ErrorKind;
use crate::registry::ToolName;
use crate::runtime::{Lease, Stop, bound};

/// Calls of one program: a page of work. Beyond it a program should ask for more at once.
const CALLS: usize = 200;

/// Calls of one program that run at once; others wait. Few enough to leave places for everybody else.
const AT_ONCE: usize = 8;

/// Bytes of all inputs and answers together: what is kept of a program that waits for a person.
const BYTES: usize = 8 * 1024 * 1024;

/// Makes one call, in the way of every call.
pub(crate) type Calling =
    Box<dyn Fn(Call) -> Pin<Box<dyn Future<Output = Result<Reply, Failure>> + Send>> + Send + Sync>;

/// One call of a program.
pub(crate) struct Call {
    pub(crate) tool: ToolName,
    pub(crate) arguments: Map<String, Value>,
    /// The word of a person for this call, if there is one.
    pub(crate) confirmation: Confirmation,
    /// The record of the program.
    pub(crate) record: String,
    /// Until when, and for whom.
    pub(crate) lease: Lease,
}

/// What a program has called, and in which order it heard of the ends.
#[derive(Clone, Default)]
pub(crate) struct Past {
    entries: Vec<Entry>,
    heard: Vec<u32>,
}

/// One call as a program made it.
#[derive(Clone)]
struct Entry {
    path: Vec<String>,
    input: String,
    state: State,
}

#[derive(Clone)]
enum State {
    Open,
    Ended(Result<String, bound::Failure>),
    /// It waits for the word of a person, which its token brings.
    Unconfirmed {
        token: String,
    },
}

/// The calls of one run.
pub(crate) struct Calls {
    call: Calling,
    names: Names,
    /// What is confirmed beforehand.
    is_standing: bool,
    io: Handle,
    /// How many run at once.
    turns: Arc<Semaphore>,
    inner: Mutex<Inner>,
    /// The calls that have not ended. The program's own thread drives them while it waits: it has nothing else to
    /// do, and a call costs no turn of another thread.
    open: Mutex<Vec<Open>>,
}

/// A call that has not ended.
struct Open {
    id: u32,
    call: Pin<Box<dyn Future<Output = Result<Reply, Failure>> + Send>>,
}

#[derive(Default)]
struct Inner {
    /// The program's record, and how long it runs.
    begun: Option<(String, Lease)>,
    /// What an earlier run did.
    past: Past,
    /// What this run does.
    now: Past,
    /// Calls that have not ended.
    running: usize,
    bytes: usize,
    /// What a dry run would have done, and what unconfirmed calls would do.
    plan: Plan,
    /// The tools that need the word of a person.
    unconfirmed: Vec<ToolName>,
}

/// The end of a call, and what it spent of the program's budget.
pub(super) struct Heard {
    pub(super) ended: bound::Ended,
    pub(super) usage: Usage,
}

impl Calls {
    /// Of a program that may name what `names` says. From a thread of the I/O runtime.
    pub(crate) fn new(call: Calling, names: Names, past: Past, is_standing: bool) -> Arc<Self> {
        Arc::new(Self {
            call,
            names,
            is_standing,
            io: Handle::current(),
            turns: Arc::new(Semaphore::new(AT_ONCE)),
            inner: Mutex::new(Inner { past, ..Inner::default() }),
            open: Mutex::default(),
        })
    }

    /// The program begins, under this record.
    pub(crate) fn begin(&self, record: &str, lease: &Lease) {
        self.lock().begun = Some((record.to_owned(), lease.clone()));
    }

    /// What a dry run would have done; what unconfirmed calls would do.
    pub(crate) fn plan(&self) -> Plan {
        self.lock().plan.clone()
    }

    /// What the program did until it was stopped, and the tools that need the word of a person.
    pub(crate) fn stopped(&self) -> (Past, Vec<ToolName>) {
        let inner = self.lock();
        (inner.now.clone(), inner.unconfirmed.clone())
    }

    pub(super) fn list(&self, path: &[String]) -> Vec<Named> {
        self.names.list(path)
    }

    /// Starts a call, or takes its end from the past.
    pub(super) fn start(&self, path: Vec<String>, input: String) -> Result<u32, Stop> {
        let mut inner = self.lock();
        let id = inner.now.entries.len();
        inner.bytes += input.len();
        if id >= CALLS || inner.bytes > BYTES {
            return Err(Stop::HostCalls);
        }
        let id = u32::try_from(id).map_err(|_| Stop::HostCalls)?;
        let past = inner.past.entries.get(id as usize).cloned();
        let confirmation = match past {
            Some(entry) if entry.path != path || entry.input != input => return Err(Stop::Strayed),
            Some(Entry { state: State::Ended(outcome), .. }) => {
                inner.now.entries.push(Entry { path, input, state: State::Ended(outcome) });
                return Ok(id);
            }
            Some(Entry { state: State::Unconfirmed { token }, .. }) => Confirmation::Token(token),
            Some(Entry { state: State::Open, .. }) | None if self.is_standing => Confirmation::Standing,
            Some(Entry { state: State::Open, .. }) | None => Confirmation::Missing,
        };
        let found = self.read(&path, &input);
        inner.now.entries.push(Entry { path, input, state: State::Open });
        inner.running += 1;
        let Some((record, lease)) = inner.begun.clone() else { return Err(Stop::Cancelled) };
        drop(inner);
        let call: Pin<Box<dyn Future<Output = _> + Send>> = match found {
            Ok((tool, arguments)) => {
                let call = (self.call)(Call { tool, arguments, confirmation, record, lease });
                let turns = Arc::clone(&self.turns);
                Box::pin(async move {
                    // Never closed: all turns come.
                    let _turn = turns.acquire().await;
                    call.await
                })
            }
            // Nobody is asked, so nothing is recorded: it is as if the program had looked for it.
            Err(error) => Box::pin(std::future::ready(Err(Failure::unrecorded(error)))),
        };
        self.open().push(Open { id, call });
        Ok(id)
    }

    fn read(&self, path: &[String], input: &str) -> crate::error::Result<(ToolName, Map<String, Value>)> {
        let invalid = |kind, what: String| crate::error::Error::new(kind, what);
        let shown = path.join(".");
        let tool = self
            .names
            .tool(path)
            .ok_or_else(|| invalid(ErrorKind::UnknownTool, format!("nothing is bound as `remit.{shown}`")))?;
        match serde_json::from_str(input) {
            Ok(Value::Object(arguments)) => Ok((tool, arguments)),
            _ => Err(invalid(ErrorKind::InvalidInput, format!("the input of `remit.{shown}` is an object"))),
        }
    }

    /// Waits for the next call that ends; nothing when none is open.
    pub(super) fn wait(&self) -> Result<Option<Heard>, Stop> {
        if let Some(ended) = self.remembered()? {
            return Ok(Some(Heard { ended, usage: Usage::default() }));
        }
        if self.lock().running == 0 {
            return Ok(None);
        }
        let (id, called) = self.next()?;
        if needs_word(&called) {
            return Err(self.gather(id, called)?);
        }
        let (outcome, usage) = self.end(id, called)?;
        self.lock().now.heard.push(id);
        Ok(Some(Heard { ended: bound::Ended { id, outcome }, usage }))
    }

    /// The next end of the past, in the order of then.
    fn remembered(&self) -> Result<Option<bound::Ended>, Stop> {
        let mut inner = self.lock();
        let Some(id) = inner.past.heard.get(inner.now.heard.len()).copied() else { return Ok(None) };
        // What was heard then was started then, and is started now if the program goes the same way.
        let state = inner.now.entries.get(id as usize).map(|entry| entry.state.clone());
        let Some(State::Ended(outcome)) = state else { return Err(Stop::Strayed) };
        inner.now.heard.push(id);
        Ok(Some(bound::Ended { id, outcome }))
    }

    fn next(&self) -> Result<(u32, Result<Reply, Failure>), Stop> {
        let lease = self.lock().begun.as_ref().map(|(_, lease)| lease.clone()).ok_or(Stop::Cancelled)?;
        let mut open = self.open();
        let ended = poll_fn(|context| {
            let ended =
                open.iter_mut().enumerate().find_map(|(at, call)| match call.call.as_mut().poll(context) {
                    Poll::Ready(called) => Some((at, call.id, called)),
                    Poll::Pending => None,
                });
            match ended {
                Some((at, id, called)) => {
                    drop(open.remove(at));
                    Poll::Ready((id, called))
                }
                None => Poll::Pending,
            }
        });
        self.io.block_on(async {
            tokio::select! {
                biased;
                () = lease.cancel.cancelled() => Err(Stop::Cancelled),
                ended = ended => Ok(ended),
                () = tokio::time::sleep_until(Instant::into(lease.deadline)) => Err(Stop::Time),
            }
        })
    }

    /// Keeps how a call ended.
    fn end(
        &self,
        id: u32,
        called: Result<Reply, Failure>,
    ) -> Result<(Result<String, bound::Failure>, Usage), Stop> {
        let mut inner = self.lock();
        inner.running = inner.running.saturating_sub(1);
        let tool = inner.now.entries.get(id as usize).map(|entry| entry.path.join(".")).unwrap_or_default();
        let (outcome, usage) = match called {
            Ok(reply) => {
                let text = value::of_reply(&reply).to_string();
                let usage = reply.usage;
                inner.plan.append(reply.plan);
                (Ok(text), usage)
            }
            Err(failure) => (Err(value::of_failure(&failure, &tool)), failure.usage),
        };
        inner.bytes += outcome.as_ref().map_or(0, String::len);
        if inner.bytes > BYTES {
            return Err(Stop::HostCalls);
        }
        if let Some(entry) = inner.now.entries.get_mut(id as usize) {
            entry.state = State::Ended(outcome.clone());
        }
        Ok((outcome, usage))
    }

    /// Stops the program before a call that needs the word of a person, once all its other calls have ended: what
    /// runs is not cut off, and a person is asked once for all that needs their word.
    fn gather(&self, id: u32, called: Result<Reply, Failure>) -> Result<Stop, Stop> {
        let mut waiting = VecDeque::from([(id, called)]);
        loop {
            while let Some((id, called)) = waiting.pop_front() {
                match called {
                    Err(Failure { wants: Wants::Confirmation(unconfirmed), .. }) => {
                        let mut inner = self.lock();
                        inner.running = inner.running.saturating_sub(1);
                        inner.plan.append(unconfirmed.plan);
                        let path = inner.now.entries.get(id as usize).map(|entry| entry.path.clone());
                        inner.unconfirmed.extend(path.and_then(|path| self.names.tool(&path)));
                        if let Some(entry) = inner.now.entries.get_mut(id as usize) {
                            entry.state = State::Unconfirmed { token: unconfirmed.token };
                        }
                    }
                    called => {
                        self.end(id, called).map(drop)?;
                        self.lock().now.heard.push(id);
                    }
                }
            }
            if self.lock().running == 0 {
                return Ok(Stop::Unconfirmed);
            }
            waiting.push_back(self.next()?);
        }
    }

    fn open(&self) -> MutexGuard<'_, Vec<Open>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn needs_word(called: &Result<Reply, Failure>) -> bool {
    matches!(called, Err(Failure { wants: Wants::Confirmation(_), .. }))
}
