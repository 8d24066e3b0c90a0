//! Schedules of this capability, over `wit/loops.wit`: at each firing a loop calls one of its tools, or gives the
//! agent a prompt.
//!
//! A capability sees its own loops only: those it made, and the presets of its manifest.
//!
//! ```
//! use remit_sdk::loops::{self, Definition};
//! # use remit_sdk::serde_json::json;
//!
//! # fn main() -> Result<(), remit_sdk::Failure> {
//! # remit_sdk::testing::loops();
//! let at_eight = loops::cron("0 8 * * *", "Europe/Berlin");
//! loops::create(&Definition::tool("morning", at_eight, "digest", &json!({}))?.quiet())?;
//! loops::create(&Definition::prompt("weekly", loops::every(7 * 24 * 3600), "Tidy up the notes."))?;
//! loops::pause("weekly")?;
//! # Ok(()) }
//! ```
//!
//! A tool that runs in a loop tells what is new since its last run that ended well with
//! [`diff_since_last_run`], and says so when there is nothing: [`nothing_to_report`], or a member
//! `"nothingToReport": true` in what it answers. A quiet loop then delivers nothing.

mod error;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::Reply;
use crate::bindings::remit::capability::loops as wit;
pub use crate::bindings::remit::capability::loops::{
    Cron, Definition, LoopInfo, Schedule, Status, Task, ToolTask,
};
#[cfg(not(target_arch = "wasm32"))]
use crate::testing::loops as host;
#[cfg(target_arch = "wasm32")]
use wit as host;

pub use error::Error;

/// What the last reported items and these differ in.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference<T> {
    /// There were no earlier items.
    pub first: bool,
    /// Items that are new, in their order.
    pub added: Vec<T>,
    /// Items that are gone.
    pub removed: Vec<T>,
}

impl<T> Difference<T> {
    /// Whether nothing is new and nothing is gone.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.added.is_empty() && self.removed.is_empty()
    }
}

/// A cron pattern of five fields, in an IANA time zone such as `Europe/Berlin`.
#[must_use]
pub fn cron(pattern: impl Into<String>, timezone: impl Into<String>) -> Schedule {
    Schedule::Cron(Cron { pattern: pattern.into(), timezone: timezone.into() })
}

/// A fixed period in seconds: 60 or more, and no shorter than granted.
#[must_use]
pub const fn every(seconds: u64) -> Schedule {
    Schedule::Interval(seconds)
}

impl Definition {
    /// A loop that calls a tool of this capability.
    pub fn tool(
        name: impl Into<String>,
        schedule: Schedule,
        tool: impl Into<String>,
        input: &impl Serialize,
    ) -> Result<Self, Error> {
        let input = serde_json::to_string(input).map_err(|error| Error::Json(error.to_string()))?;
        let task = Task::Tool(ToolTask { tool: tool.into(), input });
        Ok(Self { name: name.into(), schedule, task, quiet: false })
    }

    /// A loop that asks the agent to do something, and waits for its report.
    #[must_use]
    pub fn prompt(name: impl Into<String>, schedule: Schedule, prompt: impl Into<String>) -> Self {
        Self { name: name.into(), schedule, task: Task::Prompt(prompt.into()), quiet: false }
    }

    /// It delivers nothing when there is nothing to report.
    #[must_use]
    pub fn quiet(mut self) -> Self {
        self.quiet = true;
        self
    }
}

/// Makes a loop.
pub fn create(definition: &Definition) -> Result<LoopInfo, Error> {
    Ok(host::create(definition)?)
}

/// All loops of this capability.
pub fn list() -> Result<Vec<LoopInfo>, Error> {
    Ok(host::list()?)
}

/// Replaces the definition of the loop of this name.
pub fn update(definition: &Definition) -> Result<LoopInfo, Error> {
    Ok(host::update(definition)?)
}

/// Pauses a loop. One that is paused stays so.
pub fn pause(name: &str) -> Result<LoopInfo, Error> {
    Ok(host::pause(name, true)?)
}

/// Lets a paused loop fire again.
pub fn resume(name: &str) -> Result<LoopInfo, Error> {
    Ok(host::pause(name, false)?)
}

/// Removes a loop.
pub fn delete(name: &str) -> Result<(), Error> {
    Ok(host::delete(name)?)
}

/// Starts a run now, beside the schedule, and gives its id.
pub fn run(name: &str) -> Result<String, Error> {
    #[cfg(target_arch = "wasm32")]
    return Ok(wit::run(name)?);
    // In tests `run` is how a test plays one.
    #[cfg(not(target_arch = "wasm32"))]
    return Ok(host::start(name)?);
}

/// Compares items with those of the loop's last run that ended well, and keeps these as the run's result: a run
/// that does not end well has reported nothing, and the next one finds the same again. Two items are the same
/// when their `key` member is equal, or else when they are equal as JSON.
///
/// Only inside a run of a loop: elsewhere it is [`Error::NotFound`]. Lists have at most 1,000 items and 256 KiB: give
/// the keys when the items are large.
pub fn diff_since_last_run<T: Serialize + DeserializeOwned>(items: &[T]) -> Result<Difference<T>, Error> {
    let write = |item| serde_json::to_string(item).map_err(|error| Error::Json(error.to_string()));
    let items = items.iter().map(write).collect::<Result<Vec<_>, _>>()?;
    let wit::Difference { first, added, removed } = host::diff_since_last_run(&items)?;
    Ok(Difference { first, added: read(&added)?, removed: read(&removed)? })
}

/// The answer of a tool that found nothing worth telling: a quiet loop delivers nothing then.
#[must_use]
pub fn nothing_to_report() -> Reply {
    Reply { structured: Some("{\"nothingToReport\":true}".to_owned()), ..Reply::new().text("nothing to report") }
}

fn read<T: DeserializeOwned>(items: &[String]) -> Result<Vec<T>, Error> {
    items.iter().map(|item| serde_json::from_str(item).map_err(|error| Error::Json(error.to_string()))).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::testing;

    #[test]
    fn loops_are_made_changed_and_removed() {
        testing::loops();
        let hourly = Definition::tool("hourly", every(3600), "check", &json!({ "all": true })).expect("JSON");
        let made = create(&hourly).expect("made");
        assert_eq!((made.status, made.preset), (Status::Active, false));
        assert!(matches!(create(&hourly), Err(Error::AlreadyExists(_))));

        let daily = Definition::prompt("hourly", cron("0 8 * * *", "UTC"), "Look.").quiet();
        assert_eq!(update(&daily).map(|info| info.definition), Ok(daily.clone()));
        assert_eq!(pause("hourly").map(|info| info.status), Ok(Status::Paused));
        assert_eq!(resume("hourly").map(|info| info.status), Ok(Status::Active));
        assert_eq!(list().map(|list| list.len()), Ok(1));
        assert!(run("hourly").is_ok());
        assert_eq!(delete("hourly"), Ok(()));
        for missing in [delete("hourly").err(), pause("hourly").err(), run("hourly").err(), update(&daily).err()] {
            assert_eq!(missing, Some(Error::NotFound("there is no loop `hourly`".to_owned())));
        }
    }

    #[test]
    fn differences_are_typed_and_kept_by_runs_that_end_well() {
        testing::loops();
        let item = |key: &str, text: &str| json!({ "key": key, "text": text });
        let diff = |items: &[Value]| diff_since_last_run(items);
        assert!(matches!(diff(&[item("a", "1")]), Err(Error::NotFound(_))), "not inside a run");

        let first = testing::run(|| diff(&[item("a", "1")])).expect("inside a run");
        assert_eq!(first, Difference { first: true, added: vec![item("a", "1")], removed: vec![] });
        let failed = testing::run(|| diff(&[item("b", "1")]).and(Err::<(), _>(Error::Unavailable)));
        assert_eq!(failed, Err(Error::Unavailable));
        let again = testing::run(|| diff(&[item("a", "2"), item("b", "1")])).expect("inside a run");
        assert_eq!(again, Difference { first: false, added: vec![item("b", "1")], removed: vec![] });
        let gone = testing::run(|| diff(&[item("b", "1")])).expect("inside a run");
        assert_eq!(gone, Difference { first: false, added: vec![], removed: vec![item("a", "2")] });
        assert!(testing::run(|| diff(&[item("b", "1")])).expect("inside a run").is_empty());
        let twice =
            [item("c", "1"), item("c", "2"), json!({ "key": null, "n": 1 }), json!({ "key": null, "n": 2 })];
        let once = testing::run(|| diff(&twice)).expect("inside a run");
        assert_eq!(once.added, [&twice[0], &twice[2], &twice[3]].map(Value::clone));
        let many = vec![json!("x"); 1_001];
        assert!(matches!(testing::run(|| diff(&many)), Err(Error::Limit(_))));
    }

    #[test]
    fn nothing_to_report_is_said() {
        assert_eq!(nothing_to_report().structured.as_deref(), Some(r#"{"nothingToReport":true}"#));
    }
}
