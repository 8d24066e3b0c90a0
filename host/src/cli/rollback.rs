//! `remit rollback`: return to the version that was pinned before, with what was decided about it.

use clap::Args;
use semver::Version;
use serde_json::json;

use super::{Context, compiled, describe};
use crate::error::Result;
use crate::registry::{CapabilityName, read_version};
use crate::versions::lock::spell;

/// Return to the version that was installed before, with its grants
///
/// Nothing is fetched and nobody is asked: the bytes were kept, and so was what you granted them. What you took back
/// since stays taken back. Refused when documents have a newer form than that version can read, and when its release
/// was revoked. The version that is left is kept too.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  remit rollback acme/weather
  remit rollback acme/weather --to 1.0.0")]
pub(super) struct RollbackArgs {
    /// `publisher/slug`
    name: CapabilityName,
    /// The version to return to [default: the one before]
    #[arg(long, value_name = "VERSION")]
    to: Option<String>,
}

/// Runs it.
#[expect(clippy::needless_pass_by_value, reason = "every command takes its arguments")]
pub(super) fn run(args: RollbackArgs, context: &Context) -> Result<()> {
    let RollbackArgs { name, to } = args;
    let to: Option<Version> = to.as_deref().map(read_version).transpose()?;
    let output = context.output;
    let app = context.open()?;
    let admin = app.admin();
    let back = admin.roll_back(&name, to.as_ref())?;
    compiled::forget(&app, &back.left)?;
    let entry = admin.find(&name)?;
    if output.is_json() {
        return output.value(&json!({ "rolledBack": describe::value(&entry), "from": back.from.to_string() }));
    }
    output.text(&format!("rolled back {name} from {} to {}", back.from, back.to.version))?;
    let granted: Vec<String> = entry.grants.iter().map(spell).collect();
    output.note(&match granted.as_slice() {
        [] => "nothing is granted, as before".to_owned(),
        granted => format!("granted again: {}", granted.join(", ")),
    });
    Ok(())
}
