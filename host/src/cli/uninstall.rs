//! `remit uninstall`: remove an install with all that was decided about it.

use clap::Args;
use serde_json::json;

use super::Context;
use crate::error::Result;
use crate::registry::CapabilityName;

/// Remove an install with its grants and approvals
///
/// Stored secrets stay: they may serve others. Records of its calls stay too.
#[derive(Debug, Args)]
pub(super) struct UninstallArgs {
    /// `publisher/slug`
    name: CapabilityName,
}

/// Runs it.
pub(super) fn run(args: UninstallArgs, context: &Context) -> Result<()> {
    let name = args.name;
    let app = context.open()?;
    let digest = app.admin().uninstall(&name)?;
    app.forget(&digest)?;
    if context.output.is_json() {
        return context.output.value(&json!({ "name": name.to_string(), "digest": digest.to_string() }));
    }
    context.output.note(&format!("uninstalled {name} ({digest})"));
    Ok(())
}
