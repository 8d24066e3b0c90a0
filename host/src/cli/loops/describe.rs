//! Loops and runs in words and as JSON. Pure.

use serde_json::{Value, json};

use super::super::figures::{local_time, utc_time};
use crate::scheduler::next::Timing;
use crate::scheduler::{Loop, Run, Task};

/// A loop for programs.
pub(super) fn loop_value(found: &Loop) -> Value {
    let definition = &found.definition;
    json!({
        "capability": found.capability.to_string(),
        "name": definition.name,
        "origin": found.origin.as_str(),
        "owner": found.owner,
        "status": found.status.as_str(),
        "reason": found.reason,
        "schedule": match &definition.timing {
            Timing::Cron { pattern, timezone } => json!({ "cron": pattern, "timezone": timezone }),
            Timing::Interval { seconds } => json!({ "everySeconds": seconds }),
        },
        "task": match &definition.task {
            Task::Tool { tool, input } => json!({ "tool": tool.to_string(), "input": input }),
            Task::Prompt(prompt) => json!({ "prompt": prompt }),
        },
        "quiet": definition.quiet,
        "misfire": definition.misfire.as_str(),
        "overlap": definition.overlap.as_str(),
        "windowSeconds": definition.window.as_secs(),
        "nextAt": found.next_at.map(utc_time),
        "lastAt": found.last_at.map(utc_time),
        "missed": found.missed,
        "skipped": found.skipped,
    })
}

/// A run for programs.
pub(super) fn run_value(run: &Run) -> Value {
    json!({
        "id": run.id,
        "firing": utc_time(run.nominal_at),
        "manual": run.is_manual,
        "state": run.state.as_str(),
        "attempts": run.attempt,
        "startedAt": run.started_at.map(utc_time),
        "endedAt": run.ended_at.map(utc_time),
        "call": run.call,
        "reason": run.reason,
        "nothingToReport": run.is_nothing,
        "report": run.report,
        "changes": run.changes,
    })
}

/// What a loop does, on one line.
pub(super) fn task(task: &Task) -> String {
    match task {
        Task::Tool { tool, input } if input.is_empty() => format!("calls {tool}"),
        Task::Tool { tool, input } => format!("calls {tool} {}", Value::Object(input.clone())),
        Task::Prompt(prompt) => format!("asks an agent: {prompt}"),
    }
}

/// A moment, or that there is none.
pub(super) fn moment(at: Option<i64>) -> String {
    at.map_or_else(|| "-".to_owned(), local_time)
}
