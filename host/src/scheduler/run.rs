//! What becomes of a claimed run: it is refused, called, given to agents, or settled when its process died.
//!
//! A run is started at least once when its tool destroys nothing, and at most once when it may. Before each start
//! everything is looked at afresh: what was granted when the loop was made may be gone.

use std::time::Duration;

use serde_json::Value;
use tokio::sync::OwnedSemaphorePermit;

use super::Scheduler;
use super::decide::ON_TIME;
use super::define::{has_standing_word, is_for_agents, unconfirmed};
use super::definition::{Loop, Origin, Run, RunState, Task};
use super::next::{Schedule, in_largest_unit};
use crate::answer::{Answer, Content, Reply, ToolAnswer};
use crate::audit::{Record, RunEnd, Usage, id};
use crate::call::{CallRequest, Failure};
use crate::client::Confirmation;
use crate::error::{Error, ErrorKind, Result};
use crate::manifest::Tool;
use crate::policy::{self, Caller, Identity};
use crate::registry::{Entry, Snapshot, ToolName};

/// How often a run is started whose process dies each time.
const ATTEMPTS: u32 = 3;

/// The member of a tool's structured answer that says that there is nothing to report.
const NOTHING: &str = "nothingToReport";

/// What came of a run that somebody waited for.
#[derive(Debug)]
pub enum Ran {
    /// The tool was called.
    Called(Result<Box<Reply>, Box<Failure>>),
    /// It waits for an agent.
    Waiting,
    /// It was not started.
    Refused(Error),
    /// Another process took it, or an earlier run of its loop is not done; it starts after that.
    Later,
}

impl Scheduler {
    /// Runs one queued run here and now, and waits for its end. For a person who asked for it.
    pub async fn run_now(&self, run_id: &str) -> Result<Ran> {
        let store = &self.shared.store;
        let now = store.now_ms();
        let Some((run, of)) = store.startable_run(now, run_id)? else { return Ok(Ran::Later) };
        let (tool, input) = match self.admitted(&run, &of)? {
            Admitted::No(error) => return Ok(Ran::Refused(error)),
            Admitted::Prompt => return Ok(if store.offer_run(run_id)? { Ran::Waiting } else { Ran::Later }),
            Admitted::Tool(tool, input) => (tool, input),
        };
        if !store.start_run(run_id)? {
            return Ok(Ran::Later);
        }
        let request = request(&run, &of, tool, input);
        let called = self.shared.host.call(request, self.shared.cancel.child_token()).await;
        self.settle_unended(&run.id)?;
        Ok(Ran::Called(called.map(Box::new).map_err(Box::new)))
    }

    /// Starts a claimed run, or closes it with the reason why not. Gives whether it was started.
    pub(super) fn begin(&self, run: &Run, of: &Loop) -> Result<bool> {
        let store = &self.shared.store;
        let (tool, input) = match self.admitted(run, of)? {
            Admitted::No(_) => return Ok(false),
            Admitted::Prompt => return store.offer_run(&run.id),
            Admitted::Tool(tool, input) => (tool, input),
        };
        // The one caller asked how many places are free, and nobody else takes any.
        let Ok(place) = self.shared.places.clone().try_acquire_owned() else { return Ok(false) };
        if !store.start_run(&run.id)? {
            return Ok(false);
        }
        let request = request(run, of, tool, input);
        self.shared.threads.spawn(self.clone().call(request, run.id.clone(), place));
        Ok(true)
    }

    /// Calls the tool; its record's end is the run's.
    async fn call(self, request: CallRequest, run_id: String, place: OwnedSemaphorePermit) {
        let (host, cancel) = (self.shared.host.clone(), self.shared.cancel.child_token());
        // Apart, so that a panic in it ends here.
        let called = tokio::spawn(async move { host.call(request, cancel).await }).await;
        if let Err(error) = called {
            tracing::error!(run = run_id, %error, "a run ended in a panic");
        }
        let scheduler = self.clone();
        let settled = tokio::task::spawn_blocking(move || scheduler.settle_unended(&run_id)).await;
        if let Ok(Err(error)) = settled {
            tracing::error!(%error, "a run could not be ended; another process will find it");
        }
        drop(place);
        self.shared.wake.now();
    }

    /// A run whose end could not be written with its call's is settled as if its process had died.
    fn settle_unended(&self, run_id: &str) -> Result<()> {
        match self.shared.store.find_run(run_id)? {
            Some((run, of)) if run.state == RunState::Running => self.settle(&run, &of),
            _ => Ok(()),
        }
    }

    /// What becomes of a run that was started, and whose end nobody knows.
    pub(super) fn settle(&self, run: &Run, of: &Loop) -> Result<()> {
        let store = &self.shared.store;
        let snapshot = self.shared.host.snapshot()?;
        let is_repeatable = match &of.definition.task {
            Task::Tool { tool, .. } => find(&snapshot, tool).is_some_and(|(_, tool)| !tool.is_destructive()),
            Task::Prompt(_) => true,
        };
        if is_repeatable && run.attempt < ATTEMPTS && !is_stale(run, of, store.now_ms()) {
            tracing::warn!(run = run.id, principal = of.principal(), "started again: its process died");
            return store.requeue_run(&run.id).map(drop);
        }
        let reason = if !is_repeatable {
            "its process died, and the tool may destroy: look at what it did before it is run again"
        } else if run.attempt >= ATTEMPTS {
            "its process died each time"
        } else {
            "its process died, and it is too late to start it again"
        };
        tracing::error!(run = run.id, principal = of.principal(), reason, "a run was interrupted");
        store.close_run(&run.id, RunState::Interrupted, reason, None).map(drop)
    }

    /// Whether a run may start now. One that may not is closed, with a record.
    fn admitted(&self, run: &Run, of: &Loop) -> Result<Admitted> {
        let store = &self.shared.store;
        let now = store.now_ms();
        if run.attempt == 0 && !run.is_manual && is_stale(run, of, now) {
            let error = Error::new(ErrorKind::LoopMissed, "it could not start within the loop's window");
            return self.refuse(run, of, RunState::Missed, error);
        }
        let snapshot = self.shared.host.snapshot()?;
        match permitted(of, &snapshot, &self.shared.config) {
            Err(error) => self.refuse(run, of, RunState::Skipped, error),
            Ok(()) => Ok(match &of.definition.task {
                Task::Prompt(_) => Admitted::Prompt,
                Task::Tool { tool, input } => Admitted::Tool(tool.clone(), input.clone()),
            }),
        }
    }

    fn refuse(&self, run: &Run, of: &Loop, state: RunState, error: Error) -> Result<Admitted> {
        let store = &self.shared.store;
        let detail = match &error.detail {
            Some(detail) => format!("{}: {detail}", error.message),
            None => error.message.clone(),
        };
        let record = record_of(of, error.kind, &detail, store.now_ms())?;
        let reason = format!("{}: {}", error.kind.code(), error.message);
        store.close_run(&run.id, state, &reason, Some(record))?;
        Ok(Admitted::No(error))
    }
}

enum Admitted {
    Tool(ToolName, serde_json::Map<String, Value>),
    Prompt,
    No(Error),
}

/// Who a loop calls as: a person's and a manifest's as the operator, all others as whoever made them, with what
/// that one may do now.
fn identity(of: &Loop) -> Identity {
    match of.origin {
        Origin::Person | Origin::Preset => Identity::operator(of.principal()),
        Origin::Agent | Origin::Capability => Identity::made_by(&of.owner, of.principal()),
    }
}

/// What a loop needs at each start: its capability with the grant that it was made under, its tool, and a maker
/// who may still call it.
fn permitted(of: &Loop, snapshot: &Snapshot, config: &crate::config::Config) -> Result<()> {
    if of.origin != Origin::Person {
        let name = &of.capability;
        let Some(entry) = snapshot.entries.get(name) else {
            return Err(Error::new(ErrorKind::RegistryNotFound, format!("`{name}` is not installed")));
        };
        // Approvals, and with them the time, say nothing about loops; the call itself is decided anew.
        let granted = policy::decide(&entry.capability, &entry.grants, &[], 0, config);
        let Some(grant) = granted.loops() else {
            return Err(Error::new(ErrorKind::NotAllowed, format!("`loops` is not granted to `{name}`"))
                .hint(format!("remit grant {name} loops")));
        };
        let period = Schedule::new(&of.definition.timing, of.anchor_at).map_or(Duration::MAX, |is| is.period());
        if period < grant.min_period {
            let least = in_largest_unit(grant.min_period.as_secs());
            return Err(Error::new(
                ErrorKind::LoopLimit,
                format!("`{name}` is granted a period of `{least}` at least"),
            ));
        }
    }
    let identity = identity(of);
    let caller = Caller::of(&identity, &snapshot.directory);
    let Task::Tool { tool, .. } = &of.definition.task else { return policy::may_use(&caller, &[]).map(drop) };
    let Some((entry, known)) = find(snapshot, tool) else {
        return Err(Error::new(ErrorKind::UnknownTool, format!("no installed capability has the tool `{tool}`")));
    };
    policy::may_call(&caller, known, &entry.restrictions)?;
    if of.origin == Origin::Agent && !is_for_agents(tool, known, &entry.restrictions) {
        let message =
            format!("an agent's loop cannot call `{tool}`: it may destroy, or is not for loops of agents");
        return Err(Error::new(ErrorKind::NotAllowed, message));
    }
    if !has_standing_word(of.origin) && policy::needs_word(known, &entry.restrictions) {
        return Err(unconfirmed(tool));
    }
    Ok(())
}

fn find<'a>(snapshot: &'a Snapshot, name: &ToolName) -> Option<(&'a Entry, &'a Tool)> {
    let entry = snapshot.entries.get(&name.capability)?;
    let tool = entry.capability.manifest.tools.iter().find(|tool| tool.name == name.tool)?;
    Some((entry, tool))
}

/// Whether a firing is so long ago that it is not made up for.
fn is_stale(run: &Run, of: &Loop, now_ms: i64) -> bool {
    let late = Duration::from_millis(now_ms.saturating_sub(run.nominal_at).try_into().unwrap_or(0));
    late > of.definition.window.max(ON_TIME)
}

fn request(run: &Run, of: &Loop, tool: ToolName, arguments: serde_json::Map<String, Value>) -> CallRequest {
    let confirmation = if has_standing_word(of.origin) { Confirmation::Standing } else { Confirmation::Missing };
    CallRequest { run: Some(run.id.clone()), confirmation, ..CallRequest::new(identity(of), tool, arguments) }
}

/// How a run ends with the answer of its call.
pub(crate) fn run_end(id: String, answer: &Result<Answer>) -> RunEnd {
    match answer {
        Err(error) => RunEnd { id, error: Some(error.kind.code()), is_nothing: false, report: None },
        Ok(Answer::Tool(answer)) => {
            let is_nothing =
                answer.structured.as_ref().is_some_and(|value| value.get(NOTHING) == Some(&Value::Bool(true)));
            RunEnd { id, error: None, is_nothing, report: report(answer) }
        }
        // Loops call tools alone.
        Ok(_) => RunEnd { id, error: None, is_nothing: false, report: None },
    }
}

/// What an answer says in text: its structured part, or its texts.
fn report(answer: &ToolAnswer) -> Option<String> {
    if let Some(value) = &answer.structured {
        return Some(value.to_string());
    }
    let texts: Vec<&str> = answer
        .content
        .iter()
        .filter_map(|piece| match piece {
            Content::Text(text) => Some(text.as_str()),
            _ => None,
        })
        .collect();
    (!texts.is_empty()).then(|| texts.join("\n"))
}

/// The record of a firing that did not become a call.
pub(crate) fn record_of(of: &Loop, kind: ErrorKind, detail: &str, now_ms: i64) -> Result<Record> {
    let (capability, tool) = match &of.definition.task {
        Task::Tool { tool, .. } => (tool.capability.to_string(), tool.tool.clone()),
        Task::Prompt(_) => (of.capability.to_string(), "prompt".to_owned()),
    };
    Ok(Record {
        id: id::new(now_ms)?,
        started_at: now_ms,
        principal: of.principal(),
        capability,
        tool,
        digest: None,
        dry_run: false,
        outcome: kind.code().to_owned(),
        detail: Some(detail.to_owned()),
        usage: Usage::default(),
        requests: Vec::new(),
        changes: Vec::new(),
        files: Vec::new(),
        log: Vec::new(),
    })
}

#[cfg(test)]
mod tests;
