//! `remit loops history`.

use clap::Args;
use serde_json::Value;

use super::super::{Context, figures};
use super::Which;
use super::describe::run_value;
use crate::error::Result;
use crate::scheduler::Run;

/// List the last runs of a loop, newest first, and what came of them
#[derive(Debug, Args)]
pub(super) struct HistoryArgs {
    #[command(flatten)]
    which: Which,
    /// At most so many
    #[arg(long, value_name = "NUMBER", default_value_t = 20)]
    limit: usize,
}

pub(super) fn run(args: &HistoryArgs, context: &Context) -> Result<()> {
    let output = context.output;
    let app = context.open()?;
    let found = app.admin().find_loop(&args.which.name, &args.which.loop_name)?;
    let runs = app.admin().runs(&found, args.limit)?;
    if output.is_json() {
        return output.value(&Value::Array(runs.iter().map(run_value).collect()));
    }
    if runs.is_empty() {
        output.note("no runs yet");
        return Ok(());
    }
    let failed = app.admin().failed_deliveries(&found)?;
    let rows: Vec<_> = runs.iter().map(|run| row(run, failed.get(&run.id))).collect();
    output.table(&["FIRING", "STATE", "STARTS", "RECORD", "WHY"], &rows)
}

fn row(run: &Run, undelivered: Option<&String>) -> Vec<String> {
    let why = match (undelivered, &run.reason) {
        (Some(why), _) => format!("not delivered: {why}"),
        (None, Some(reason)) => reason.clone(),
        _ if run.is_nothing => "nothing to report".to_owned(),
        _ if run.is_manual => "asked for".to_owned(),
        _ => String::new(),
    };
    vec![
        figures::local_time(run.nominal_at),
        run.state.as_str().to_owned(),
        run.attempt.to_string(),
        run.call.clone().unwrap_or_else(|| "-".to_owned()),
        why,
    ]
}
