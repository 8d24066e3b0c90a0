//! `remit principal add` and `token`: a token is printed once.

use clap::Args;

use super::super::Context;
use super::{AllowanceArgs, read_end, show_token};
use crate::error::Result;

/// Add a principal, and print a token for it, once
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  remit principal add laptop
  remit principal add ci --role release --permission notes:read
  remit principal add guest --expires 30d")]
pub(super) struct AddArgs {
    /// Lower-case letters, digits and hyphens
    name: String,
    #[command(flatten)]
    allowed: AllowanceArgs,
    /// From then on the token is nobody's: `12h`, `90d`, `1y`, a date, or a time
    #[arg(long, value_name = "WHEN")]
    expires: Option<String>,
}

/// Print a further token of a principal, once
///
/// The others stay good, so that one can be replaced without a gap: make a new one, use it, then take the old one
/// back.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  remit principal token laptop
  remit principal token laptop --expires 30d")]
pub(super) struct TokenArgs {
    /// Whose
    name: String,
    /// From then on it is nobody's: `12h`, `90d`, `1y`, a date, or a time
    #[arg(long, value_name = "WHEN")]
    expires: Option<String>,
}

pub(super) fn add(args: AddArgs, context: &Context) -> Result<()> {
    let expires_at = args.expires.as_deref().map(read_end).transpose()?;
    let app = context.open()?;
    let token = app.admin().add_principal(&args.name, args.allowed.read(), expires_at)?;
    show_token(&args.name, &token, expires_at, context.output)
}

pub(super) fn token(args: &TokenArgs, context: &Context) -> Result<()> {
    let expires_at = args.expires.as_deref().map(read_end).transpose()?;
    let app = context.open()?;
    let token = app.admin().add_token(&args.name, expires_at)?;
    show_token(&args.name, &token, expires_at, context.output)
}
