//! The tools of `remit/loops`: what an agent does with schedules of its own, and with the inbox.
//!
//! Loops are made through the namespace that capabilities have, so that both are held to the same rules. A run of
//! the inbox belongs to whoever took it, until its lease ends.

use std::sync::Arc;

use jiff::Timestamp;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::input::{DiffInput, LoopInput, ReportInput, TakeInput};
use crate::error::{Error, ErrorKind, Result};
use crate::namespaces::Access;
use crate::namespaces::loops::{self, Loops, Refusal};
use crate::scheduler::{Loop, Run, RunState, Task};
use crate::store::{Report, Store};

/// What one call holds.
pub(crate) struct Desk {
    pub(crate) store: Arc<Store>,
    pub(crate) loops: Loops,
    pub(crate) access: Access,
    /// Who calls.
    pub(crate) principal: String,
}

impl Desk {
    /// Calls a tool with an input that its schema lets in. Waits for the disk.
    pub(crate) fn call(&mut self, tool: &str, input: &Value) -> Result<Value> {
        // Whatever the tool, the namespace is granted, or it is not there.
        self.loops.granted()?;
        match tool {
            "create_loop" => self.create(read(input)?),
            "list_loops" => {
                let loops: Vec<_> = self.loops.list()?.iter().map(loop_value).collect();
                Ok(json!({ "loops": loops }))
            }
            "update_loop" => self.update(&read(input)?),
            "delete_loop" => {
                let LoopInput { name, .. } = read(input)?;
                self.loops.delete(&name).map_err(error)?;
                Ok(json!({ "deleted": name }))
            }
            "run_loop" => {
                let LoopInput { name, .. } = read(input)?;
                Ok(json!({ "run": self.loops.run(&name).map_err(error)? }))
            }
            "take_run" => self.take(read(input)?),
            "diff_since_last_run" => self.difference(&read(input)?),
            "report_run" => self.report(read(input)?),
            _ => Err(Error::new(ErrorKind::UnknownTool, format!("`remit/loops` has no tool `{tool}`"))),
        }
    }

    fn create(&mut self, input: LoopInput) -> Result<Value> {
        let made = self.loops.create(input.definition()?).map_err(error)?;
        Ok(loop_value(&made))
    }

    fn update(&mut self, input: &LoopInput) -> Result<Value> {
        let mut found = self.loops.find(&input.name)?;
        if let Some(definition) = input.changes(&found.definition)? {
            found = self.loops.update(definition).map_err(error)?;
        }
        if let Some(is_paused) = input.paused {
            found = self.loops.pause(&input.name, is_paused).map_err(error)?;
        }
        Ok(loop_value(&found))
    }

    fn take(&self, input: TakeInput) -> Result<Value> {
        self.refuse_in_run()?;
        let named = input.run.is_some();
        let waiting: Vec<String> = match input.run {
            Some(run) => vec![run],
            None => self.waiting()?,
        };
        for run in waiting {
            let taken = match self.access {
                Access::Change => self.store.take_run(&run, &self.principal)?,
                _ => self.store.find_run(&run)?.filter(|(run, _)| run.state == RunState::Waiting),
            };
            if let Some((run, of)) = taken {
                return Ok(run_value(&run, &of));
            }
        }
        if named {
            return Err(Error::new(ErrorKind::LoopNotFound, "no such run waits for an agent"));
        }
        Ok(json!({ "run": null }))
    }

    /// The oldest first.
    fn waiting(&self) -> Result<Vec<String>> {
        let inbox = self.store.inbox()?;
        Ok(inbox.into_iter().filter(|(run, _)| run.state == RunState::Waiting).map(|(run, _)| run.id).collect())
    }

    fn difference(&self, input: &DiffInput) -> Result<Value> {
        self.taken(&input.run)?;
        let items = loops::read_items(&input.items)?;
        let difference = loops::compare(&self.store, &input.run, &items)?;
        if self.access == Access::Change {
            loops::keep(&self.store, &input.run, &items, &difference)?;
        }
        let texts = |items: &[Value]| items.iter().map(Value::to_string).collect::<Vec<_>>();
        let (added, removed) = (texts(&difference.added), texts(&difference.removed));
        Ok(json!({ "first": difference.is_first, "added": added, "removed": removed }))
    }

    fn report(&self, input: ReportInput) -> Result<Value> {
        self.taken(&input.run)?;
        let report =
            Report { principal: self.principal.clone(), text: input.text, is_nothing: input.nothing_to_report };
        // Between the two looks the lease may have ended.
        if self.access == Access::Change && !self.store.report_run(&input.run, report)? {
            return Err(not_taken());
        }
        Ok(json!({ "reported": input.run }))
    }

    /// The run is in the caller's hands.
    fn taken(&self, run: &str) -> Result<()> {
        self.refuse_in_run()?;
        match self.store.find_run(run)? {
            Some((run, _)) if run.state == RunState::Taken && run.taken_by.as_ref() == Some(&self.principal) => {
                Ok(())
            }
            _ => Err(not_taken()),
        }
    }

    /// A loop that empties the inbox would do so while nobody looks.
    fn refuse_in_run(&self) -> Result<()> {
        if self.loops.is_in_run() {
            return Err(Error::new(ErrorKind::NotAllowed, "a run of a loop has nothing to do with the inbox"));
        }
        Ok(())
    }
}

fn not_taken() -> Error {
    Error::new(ErrorKind::LoopNotFound, "you have no such run, or not any more: take it first")
}

fn read<T: DeserializeOwned>(input: &Value) -> Result<T> {
    serde_json::from_value(input.clone())
        .map_err(|error| Error::internal("an input that fits its schema can be read").detail(error))
}

fn error(refusal: Refusal) -> Error {
    match refusal {
        Refusal::ReadOnly => Error::internal("a tool that makes loops is declared to change nothing"),
        Refusal::Because(error) => error,
    }
}

/// A loop as an agent sees it.
fn loop_value(found: &Loop) -> Value {
    let definition = &found.definition;
    json!({
        "name": definition.name,
        "schedule": definition.timing.to_string(),
        "task": match &definition.task {
            Task::Tool { tool, input } => format!("calls {tool} {}", Value::Object(input.clone())),
            Task::Prompt(prompt) => format!("asks an agent: {prompt}"),
        },
        "quiet": definition.quiet,
        "status": found.status.as_str(),
        "nextAt": found.next_at.map(moment),
        "lastAt": found.last_at.map(moment),
    })
}

/// A run of the inbox as an agent sees it.
pub(crate) fn run_value(run: &Run, of: &Loop) -> Value {
    let prompt = match &of.definition.task {
        Task::Prompt(prompt) => prompt.as_str(),
        Task::Tool { .. } => "",
    };
    json!({
        "run": run.id,
        "capability": of.capability.to_string(),
        "loop": of.definition.name,
        "prompt": prompt,
        "firing": moment(run.nominal_at),
        "until": run.lease_until.map(moment),
    })
}

/// A time in UTC, as RFC 3339 has it.
fn moment(at_ms: i64) -> String {
    Timestamp::from_millisecond(at_ms).map(|at| at.to_string()).unwrap_or_default()
}
