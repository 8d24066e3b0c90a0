//! `remit mcp remove`.

use clap::Args;
use serde_json::json;

use super::super::Context;
use crate::error::Result;

/// Remove an upstream MCP server with all that was decided about it
///
/// Stored secrets stay, and so do the records of its calls.
#[derive(Debug, Args)]
pub(in crate::cli) struct RemoveArgs {
    /// The server's name
    name: String,
}

pub(super) fn run(args: &RemoveArgs, context: &Context) -> Result<()> {
    let app = context.open()?;
    app.admin().remove_upstream(&args.name)?;
    if context.output.is_json() {
        return context.output.value(&json!({ "removed": args.name }));
    }
    context.output.text(&format!("removed {}", args.name))
}
