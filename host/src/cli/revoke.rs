//! `remit revoke`: take grants back.

use clap::Args;
use serde_json::json;

use super::{Context, asks, figures};
use crate::error::Result;
use crate::registry::CapabilityName;

/// Take grants back
///
/// Takes effect on the next request of every call, also of one that runs, in every process.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  remit revoke acme/weather http api.example.com
  remit revoke acme/weather http")]
pub(super) struct RevokeArgs {
    /// `publisher/slug`
    name: CapabilityName,
    /// `http`, `entities`, `loops` or `sandbox`
    namespace: String,
    /// For `http`: hosts, or `ownCredentials`. Without any: the namespace with all its entries
    #[arg(value_name = "ENTRY")]
    entries: Vec<String>,
}

/// Runs it.
pub(super) fn run(args: RevokeArgs, context: &Context) -> Result<()> {
    let RevokeArgs { name, namespace, entries } = args;
    let app = context.open()?;
    let revoked = app.admin().revoke(&name, &asks::to_revoke(&namespace, &entries)?)?;
    if context.output.is_json() {
        return context.output.value(&json!({ "name": name.to_string(), "revoked": revoked }));
    }
    context.output.note(&match revoked {
        0 => format!("nothing of this was granted to {name}"),
        _ => format!("took back {} from {name}", figures::plural(revoked, "grant")),
    });
    Ok(())
}
