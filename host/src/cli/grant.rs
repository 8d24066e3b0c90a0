//! `remit grant`: allow an installed capability more of what it asks for.

use clap::Args;
use serde_json::json;

use super::Context;
use super::asks::within;
use crate::error::Result;
use crate::policy::asks;
use crate::registry::CapabilityName;

/// Grant an installed capability more of what it asks for
///
/// Takes effect on the next call, in every running process. Only what the manifest declares can be granted.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  remit grant acme/weather http                    every host it asks for
  remit grant acme/weather http api.example.com    only this one
  remit grant acme/weather http ownCredentials     credentials of its own
  remit grant acme/digest loops max=50 every=5m    up to 50 loops, 5 minutes apart
  remit grant acme/notes entities notes            documents of this entity
  remit grant acme/images sandbox files=20         up to 20 files in a conversation
  remit grant acme/mail sandbox others             files of other capabilities, too")]
pub(super) struct GrantArgs {
    /// `publisher/slug`
    name: CapabilityName,
    /// `http`, `entities`, `loops` or `sandbox`
    namespace: String,
    /// For `http`: hosts, or `ownCredentials`; for `entities`: names; for `loops`: `max=NUMBER`,
    /// `every=INTERVAL`; for `sandbox`: `files=NUMBER`, `bytes=NUMBER`, or `others`. Without any: all it asks for,
    /// own credentials and files of others apart
    #[arg(value_name = "ENTRY")]
    entries: Vec<String>,
}

/// Runs it.
pub(super) fn run(args: GrantArgs, context: &Context) -> Result<()> {
    let GrantArgs { name, namespace, entries } = args;
    let app = context.open()?;
    let entry = app.admin().find(&name)?;
    let grants = within(&namespace, &entries, &asks(&entry.capability.manifest))?;
    app.admin().grant(&name, &grants)?;
    let granted = if entries.is_empty() { "as it asks".to_owned() } else { entries.join(", ") };
    if context.output.is_json() {
        return context.output.value(&json!({ "name": name.to_string(), "granted": grants.len() }));
    }
    context.output.note(&format!("granted `{namespace}` to {name}: {granted}"));
    Ok(())
}
