//! `remit disapprove`: a secret may go nowhere any more.

use clap::Args;
use serde_json::json;

use super::{Context, figures};
use crate::error::Result;
use crate::registry::CapabilityName;

/// Take back every approval of a secret
///
/// Takes effect on the next request of every call, also of one that runs, in every process. The stored value stays.
#[derive(Debug, Args)]
pub(super) struct DisapproveArgs {
    /// `publisher/slug`
    name: CapabilityName,
    /// The secret, as the manifest names it
    secret: String,
}

/// Runs it.
pub(super) fn run(args: DisapproveArgs, context: &Context) -> Result<()> {
    let DisapproveArgs { name, secret } = args;
    let app = context.open()?;
    let taken = app.admin().disapprove(&name, &secret)?;
    if context.output.is_json() {
        return context.output.value(&json!({ "name": name.to_string(), "secret": secret, "revoked": taken }));
    }
    context.output.note(&match taken {
        0 => format!("`{secret}` of {name} had no approval"),
        _ => format!("took back {} of `{secret}`", figures::plural(taken, "approval")),
    });
    Ok(())
}
