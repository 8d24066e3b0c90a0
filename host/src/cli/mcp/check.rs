//! `remit mcp check`.

use clap::Args;

use super::super::{Context, on_threads};
use super::describe;
use crate::error::{Error, ErrorKind, Result};

/// Connect to an upstream MCP server, and compare what it says with what was accepted
#[derive(Debug, Args)]
pub(in crate::cli) struct CheckArgs {
    /// The server's name
    name: String,
}

pub(super) fn run(args: &CheckArgs, context: &Context) -> Result<()> {
    let output = context.output;
    let name = &args.name;
    let app = context.open()?;
    let admin = app.admin();
    let known = admin.upstream(name)?;
    let definitions =
        output.during("connecting", || on_threads(app.look_at_upstream(name, &known.upstream.reach)))?;
    admin.hold_upstream(&known, &definitions)?;
    let known = admin.upstream(name)?;
    if output.is_json() {
        output.value(&describe::value(&known)?)?;
    } else if let Some(held) = &known.held {
        output.styled(&describe::difference(&known.pinned, held))?;
    } else {
        output.text(&format!("{name} says what was accepted"))?;
    }
    match known.held {
        None => Ok(()),
        Some(_) => {
            let message = format!("the MCP server `{name}` describes its tools otherwise than was accepted");
            Err(Error::new(ErrorKind::McpDefinitionChanged, message).hint(format!("remit mcp accept {name}")))
        }
    }
}
