//! `remit principal revoke`.

use clap::Args;
use serde_json::json;

use super::super::{Context, figures, prompt};
use super::AllowanceArgs;
use crate::error::{Error, ErrorKind, Result};

/// Take roles, permissions or tokens from a principal, or remove it with all its tokens
///
/// In force from its next request on, in every process, also in sessions that are open. Without options the principal
/// is removed; its loops do not run any more. Records of what it did stay.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  remit principal revoke laptop --role editor
  remit principal revoke laptop --token tok-4t8m2xqa
  remit principal revoke laptop")]
pub(super) struct RevokeArgs {
    /// Its name
    name: String,
    #[command(flatten)]
    taken: AllowanceArgs,
    /// A token, by its id; as often as needed
    #[arg(long = "token", value_name = "ID")]
    tokens: Vec<String>,
    /// Do not ask before the principal is removed
    #[arg(long, short)]
    yes: bool,
}

pub(super) fn run(args: RevokeArgs, context: &Context) -> Result<()> {
    let RevokeArgs { name, taken, tokens, yes } = args;
    let app = context.open()?;
    if taken.is_empty() && tokens.is_empty() {
        let known = app.admin().principal(&name)?;
        let count = figures::plural(known.tokens.len(), "token");
        if !yes && prompt::somebody_is_there() && !prompt::confirm(&format!("remove `{name}` with {count}?"))? {
            return Err(Error::new(ErrorKind::Cancelled, "nothing was removed"));
        }
        app.admin().remove_principal(&name)?;
        if context.output.is_json() {
            return context.output.value(&json!({ "name": name, "removed": true, "tokens": known.tokens.len() }));
        }
        context.output.note(&format!("removed `{name}` with {count}"));
        return Ok(());
    }
    let taken = app.admin().disallow_principal(&name, taken.read(), tokens)?;
    if context.output.is_json() {
        return context.output.value(&json!({ "name": name, "taken": taken }));
    }
    context.output.note(&match taken {
        0 => format!("`{name}` had nothing of this"),
        _ => format!("took it back from `{name}`, from its next request on"),
    });
    Ok(())
}
