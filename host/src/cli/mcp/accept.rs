//! `remit mcp accept`.

use clap::Args;
use serde_json::json;

use super::super::Context;
use super::describe;
use crate::error::{Error, ErrorKind, Result};

/// Accept what an upstream MCP server says since it changed
///
/// Shows the difference first. What is accepted is what is shown: the server is not asked again.
#[derive(Debug, Args)]
pub(in crate::cli) struct AcceptArgs {
    /// The server's name
    name: String,
    /// Accept without a question
    #[arg(long, short)]
    yes: bool,
}

pub(super) fn run(args: &AcceptArgs, context: &Context) -> Result<()> {
    let output = context.output;
    let name = &args.name;
    let app = context.open()?;
    let admin = app.admin();
    let known = admin.upstream(name)?;
    let Some(held) = &known.held else {
        if output.is_json() {
            return output.value(&json!({ "accepted": null }));
        }
        output.note(&format!("nothing waits: {name} says what was accepted, as far as is known"));
        output.note(&format!("\nhint: remit mcp check {name}"));
        return Ok(());
    };
    let offer = admin.offer_upstream(name, held.clone())?;
    let shown = describe::difference(&known.pinned, held) + &describe::left_out(&offer.left_out);
    if args.yes {
        output.note(&shown)
    } else {
        output.aside(&shown)
    }
    if !args.yes && !describe::is_accepted("Accept this?", context)? {
        return Err(Error::new(ErrorKind::Cancelled, "nothing was accepted"));
    }
    admin.accept_upstream(&known.upstream.reach, &offer)?;
    if output.is_json() {
        return output.value(&json!({ "accepted": describe::value(&admin.upstream(name)?)? }));
    }
    output.text(&format!("accepted what {name} says"))
}
