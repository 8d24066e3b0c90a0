//! `remit loops run`: a run now, beside the schedule.

use std::time::Duration;

use clap::Args;

use super::super::{Context, on_threads};
use super::Which;
use super::describe::run_value;
use crate::app::App;
use crate::error::{Error, ErrorKind, Result};
use crate::scheduler::{Ran, Run, RunState};

/// How often it is looked whether a run that another process took is done.
const PAUSE: Duration = Duration::from_millis(100);

/// Run a loop now, beside its schedule, and wait for the end
///
/// Goes the way of every run: same grants, same limits, same record. What waits for an agent is in the inbox.
#[derive(Debug, Args)]
pub(super) struct RunArgs {
    #[command(flatten)]
    which: Which,
}

pub(super) fn run(args: &RunArgs, context: &Context) -> Result<()> {
    let app = context.open()?;
    let found = app.admin().find_loop(&args.which.name, &args.which.loop_name)?;
    let id = app.admin().queue_run(&found)?;
    let ended = on_threads(async {
        let ended = match app.scheduler()?.run_now(&id).await? {
            Ran::Called(Err(failure)) => Err(failure.error),
            Ran::Refused(error) => Err(error),
            Ran::Called(Ok(_)) | Ran::Waiting | Ran::Later => until_done(&app, &id).await,
        };
        app.leave_upstreams().await;
        ended
    });
    app.shutdown();
    let run = ended?;
    if context.output.is_json() {
        return context.output.value(&run_value(&run));
    }
    match (run.state, &run.report) {
        (RunState::Failed | RunState::Skipped | RunState::Missed | RunState::Interrupted, _) => Err(failed(&run)),
        (_, Some(report)) => context.output.text(report),
        (state, None) => {
            context.output.note(&format!("the run is {}", state.as_str()));
            Ok(())
        }
    }
}

/// Waits for a run that may be another process's.
async fn until_done(app: &App, id: &str) -> Result<Run> {
    loop {
        let run = app.admin().find_run(id)?;
        if !matches!(run.state, RunState::Claimed | RunState::Running) {
            return Ok(run);
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// The error of a run that another process made.
fn failed(run: &Run) -> Error {
    let reason = run.reason.as_deref().unwrap_or_default();
    let kind = ErrorKind::ALL.iter().copied().find(|kind| kind.code() == reason).unwrap_or(ErrorKind::Failed);
    let error = Error::new(kind, format!("the run was {}: {reason}", run.state.as_str()));
    match &run.call {
        Some(call) => error.hint(format!("remit audit {call}")),
        None => error,
    }
}
