//! `remit loops`: what runs on a schedule, when it runs next, and what came of it.

mod create;
mod describe;
mod history;
mod list;
mod run;
mod show;
mod switch;

use clap::{Args, Subcommand};

use super::Context;
use crate::error::Result;
use crate::registry::CapabilityName;

/// List, make, run and stop what runs on a schedule
///
/// Loops come with capabilities that are granted `loops`, or are made by agents and by you. They fire while a
/// `remit serve` of this data directory runs.
#[derive(Debug, Args)]
pub(super) struct LoopsArgs {
    #[command(subcommand)]
    command: LoopsCommand,
}

#[derive(Debug, Subcommand)]
enum LoopsCommand {
    List(list::ListArgs),
    Show(show::ShowArgs),
    Create(Box<create::CreateArgs>),
    Run(run::RunArgs),
    Pause(switch::PauseArgs),
    Resume(switch::ResumeArgs),
    Delete(switch::DeleteArgs),
    History(history::HistoryArgs),
}

/// Which loop.
#[derive(Debug, Args)]
struct Which {
    /// The capability: `publisher/slug`; yours and agents' are those of `remit/loops`
    name: CapabilityName,
    /// The loop's name
    #[arg(value_name = "LOOP")]
    loop_name: String,
}

/// Runs it.
pub(super) fn run(args: LoopsArgs, context: &Context) -> Result<()> {
    match args.command {
        LoopsCommand::List(args) => list::run(&args, context),
        LoopsCommand::Show(args) => show::run(&args, context),
        LoopsCommand::Create(args) => create::run(*args, context),
        LoopsCommand::Run(args) => run::run(&args, context),
        LoopsCommand::Pause(args) => switch::pause(&args, context),
        LoopsCommand::Resume(args) => switch::resume(&args, context),
        LoopsCommand::Delete(args) => switch::delete(&args, context),
        LoopsCommand::History(args) => history::run(&args, context),
    }
}
