//! `remit loops pause`, `resume` and `delete`.

use clap::Args;
use serde_json::json;

use super::super::{Context, figures};
use super::Which;
use crate::error::Result;

/// Pause a loop: it does not fire, and runs that have not started do not start
#[derive(Debug, Args)]
pub(super) struct PauseArgs {
    #[command(flatten)]
    which: Which,
}

/// Let a paused or broken loop fire again, at its next time
#[derive(Debug, Args)]
pub(super) struct ResumeArgs {
    #[command(flatten)]
    which: Which,
}

/// Delete a loop with its history
///
/// One that came with a capability can be paused instead.
#[derive(Debug, Args)]
pub(super) struct DeleteArgs {
    #[command(flatten)]
    which: Which,
}

pub(super) fn pause(args: &PauseArgs, context: &Context) -> Result<()> {
    let app = context.open()?;
    let found = app.admin().find_loop(&args.which.name, &args.which.loop_name)?;
    app.admin().pause_loop(&found)?;
    told(&args.which, "paused", "", context)
}

pub(super) fn resume(args: &ResumeArgs, context: &Context) -> Result<()> {
    let app = context.open()?;
    let found = app.admin().find_loop(&args.which.name, &args.which.loop_name)?;
    let next_at = app.admin().resume_loop(&found)?;
    told(&args.which, "resumed", &format!("; it fires next at {}", figures::local_time(next_at)), context)
}

pub(super) fn delete(args: &DeleteArgs, context: &Context) -> Result<()> {
    let app = context.open()?;
    let found = app.admin().find_loop(&args.which.name, &args.which.loop_name)?;
    app.admin().delete_loop(&found)?;
    told(&args.which, "deleted", "", context)
}

fn told(which: &Which, what: &str, more: &str, context: &Context) -> Result<()> {
    let Which { name, loop_name } = which;
    if context.output.is_json() {
        return context.output.value(&json!({ "capability": name.to_string(), "name": loop_name, "done": what }));
    }
    context.output.note(&format!("{what} `{loop_name}` of {name}{more}"));
    Ok(())
}
