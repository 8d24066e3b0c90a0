//! `remit mcp`: upstream MCP servers, and what of their words counts.

mod accept;
mod add;
mod check;
mod describe;
mod list;
mod remove;
mod show;

use clap::{Args, Subcommand};

use super::Context;
use crate::error::Result;

/// Add upstream MCP servers, and decide what of their words counts
///
/// The tools of a server that you added are called like those of a capability. What the server says of them is
/// pinned when you accept it; a tool that is described otherwise later is not called until you look at it. A server
/// that is a program runs with your rights: it is not in a sandbox.
#[derive(Debug, Args)]
pub(super) struct McpArgs {
    #[command(subcommand)]
    command: McpCommand,
}

#[derive(Debug, Subcommand)]
enum McpCommand {
    Add(add::AddArgs),
    List(list::ListArgs),
    Show(show::ShowArgs),
    Check(check::CheckArgs),
    Accept(accept::AcceptArgs),
    Remove(remove::RemoveArgs),
}

/// Runs it.
pub(super) fn run(args: McpArgs, context: &Context) -> Result<()> {
    match args.command {
        McpCommand::Add(args) => add::run(args, context),
        McpCommand::List(args) => list::run(&args, context),
        McpCommand::Show(args) => show::run(&args, context),
        McpCommand::Check(args) => check::run(&args, context),
        McpCommand::Accept(args) => accept::run(&args, context),
        McpCommand::Remove(args) => remove::run(&args, context),
    }
}
