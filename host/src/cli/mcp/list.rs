//! `remit mcp list`.

use clap::Args;
use serde_json::Value;

use super::super::Context;
use super::describe;
use crate::error::Result;

/// List the upstream MCP servers, and which of them changed
#[derive(Debug, Args)]
pub(in crate::cli) struct ListArgs {}

pub(super) fn run(_args: &ListArgs, context: &Context) -> Result<()> {
    let output = context.output;
    let app = context.open()?;
    let upstreams = app.admin().upstreams()?;
    if output.is_json() {
        return output.value(&Value::Array(upstreams.iter().map(describe::row_value).collect::<Result<_>>()?));
    }
    if upstreams.is_empty() {
        output.note("no MCP servers\n\nhint: remit mcp add NAME -- COMMAND");
        return Ok(());
    }
    let rows: Vec<_> = upstreams
        .iter()
        .map(|upstream| {
            let state = if upstream.held.is_some() { "changed" } else { "as accepted" };
            vec![upstream.name.clone(), state.to_owned(), upstream.reach.place()]
        })
        .collect();
    output.table(&["NAME", "TOOLS", "AT"], &rows)?;
    if let Some(changed) = upstreams.iter().find(|upstream| upstream.held.is_some()) {
        output.note(&format!("\nhint: remit mcp accept {}", changed.name));
    }
    Ok(())
}
