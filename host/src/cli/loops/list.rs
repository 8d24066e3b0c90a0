//! `remit loops list`.

use clap::Args;
use serde_json::Value;

use super::super::Context;
use super::describe::{loop_value, moment};
use crate::error::Result;
use crate::registry::CapabilityName;
use crate::scheduler::Status;

/// List loops: when each fires next, in local time, and what was missed and skipped
#[derive(Debug, Args)]
pub(super) struct ListArgs {
    /// Only those of this capability: `publisher/slug`
    name: Option<CapabilityName>,
}

pub(super) fn run(args: &ListArgs, context: &Context) -> Result<()> {
    let output = context.output;
    let app = context.open()?;
    let loops = app.admin().loops(args.name.as_ref())?;
    if output.is_json() {
        return output.value(&Value::Array(loops.iter().map(loop_value).collect()));
    }
    if loops.is_empty() {
        output.note("no loops\n\nhint: remit loops create NAME --every 1h --tool PUBLISHER/SLUG.TOOL");
        return Ok(());
    }
    let rows: Vec<_> = loops
        .iter()
        .map(|found| {
            vec![
                found.capability.to_string(),
                found.definition.name.clone(),
                found.definition.timing.to_string(),
                found.status.as_str().to_owned(),
                moment(found.next_at),
                moment(found.last_at),
                found.missed.to_string(),
                found.skipped.to_string(),
            ]
        })
        .collect();
    output.table(&["NAME", "LOOP", "SCHEDULE", "STATUS", "NEXT", "LAST", "MISSED", "SKIPPED"], &rows)?;
    for found in loops.iter().filter(|found| found.status == Status::Broken) {
        let (capability, name) = (&found.capability, &found.definition.name);
        output.warn(&format!(
            "`{name}` of {capability} does not fire any more: {}",
            found.reason.as_deref().unwrap_or("")
        ));
    }
    Ok(())
}
