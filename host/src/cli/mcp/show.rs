//! `remit mcp show`.

use clap::Args;

use super::super::Context;
use super::super::describe::{indented, tools};
use super::describe;
use crate::error::Result;

/// Show one upstream MCP server: where it is, what it gets, its tools, and what changed
#[derive(Debug, Args)]
pub(in crate::cli) struct ShowArgs {
    /// The server's name
    name: String,
}

pub(super) fn run(args: &ShowArgs, context: &Context) -> Result<()> {
    let output = context.output;
    let app = context.open()?;
    let known = app.admin().upstream(&args.name)?;
    if output.is_json() {
        return output.value(&describe::value(&known)?);
    }
    let mut rows = describe::place(&known.upstream.reach)?;
    rows.push(vec!["pinned".to_owned(), known.entry.capability.digest.to_string()]);
    let manifest = &known.entry.capability.manifest;
    let mut text = format!("MCP server {}\n{}\n{}", args.name, indented(&rows), tools(manifest));
    if let Some(held) = &known.held {
        text.push_str("\nsays something else since, which is not in force\n");
        text.push_str(&describe::difference(&known.pinned, held));
    }
    output.styled(&text)?;
    if known.held.is_some() {
        output.note(&format!("\nhint: remit mcp accept {}", args.name));
    }
    Ok(())
}
