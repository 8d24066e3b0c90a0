//! `remit loops show`.

use std::fmt::Write as _;

use clap::Args;
use serde_json::json;

use super::super::Context;
use super::super::describe::indented;
use super::super::figures::{local_time, utc_time};
use super::Which;
use super::describe::{loop_value, moment, task};
use crate::error::Result;
use crate::scheduler::next::{Schedule, in_largest_unit, zones_version};
use crate::scheduler::{Loop, Status};

/// Firings that are shown.
const FIRINGS: usize = 5;

/// Show one loop: what it does, and its next firings in local time
#[derive(Debug, Args)]
pub(super) struct ShowArgs {
    #[command(flatten)]
    which: Which,
}

pub(super) fn run(args: &ShowArgs, context: &Context) -> Result<()> {
    let output = context.output;
    let app = context.open()?;
    let found = app.admin().find_loop(&args.which.name, &args.which.loop_name)?;
    let firings = firings(&found);
    if output.is_json() {
        let mut value = loop_value(&found);
        value["firings"] = firings.iter().copied().map(utc_time).collect();
        value["zones"] = json!(zones_version());
        return output.value(&value);
    }
    output.text(&shown(&found, &firings))
}

/// The next firings: what is paused or broken has none.
fn firings(found: &Loop) -> Vec<i64> {
    let schedule = Schedule::new(&found.definition.timing, found.anchor_at).ok();
    let (Some(schedule), Some(next_at)) = (schedule, found.next_at) else { return Vec::new() };
    std::iter::once(next_at).chain(schedule.after(next_at)).take(FIRINGS).collect()
}

fn shown(found: &Loop, firings: &[i64]) -> String {
    let definition = &found.definition;
    let row = |name: &str, value: String| vec![name.to_owned(), value];
    let mut rows = vec![
        row("does", task(&definition.task)),
        row("schedule", definition.timing.to_string()),
        row("made by", format!("{} ({})", found.owner, found.origin.as_str())),
        row("status", found.status.as_str().to_owned()),
        row(
            "when late",
            format!("{}, up to {}", definition.misfire.as_str(), in_largest_unit(definition.window.as_secs())),
        ),
        row("when still running", definition.overlap.as_str().to_owned()),
        row("last run", moment(found.last_at)),
        row("missed", found.missed.to_string()),
        row("skipped", found.skipped.to_string()),
    ];
    if let (Status::Broken, Some(reason)) = (found.status, &found.reason) {
        rows.push(row("broken", reason.clone()));
    }
    let mut text = format!("{} of {}\n{}", definition.name, found.capability, indented(&rows));
    if !firings.is_empty() {
        let rows: Vec<_> = firings.iter().map(|firing| vec![local_time(*firing)]).collect();
        let _ = write!(text, "\nnext firings, local time\n{}", indented(&rows));
    }
    text
}
