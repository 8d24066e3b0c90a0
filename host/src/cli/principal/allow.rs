//! `remit principal allow`.

use clap::Args;

use super::super::Context;
use super::{AllowanceArgs, value, words};
use crate::error::{Error, ErrorKind, Result};

/// Give a principal roles and permissions, from its next call on
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  remit principal allow laptop --role editor
  remit principal allow stdio --permission notes:write
  remit principal allow ci --permission 'mail:*'")]
pub(super) struct AllowArgs {
    /// Its name
    name: String,
    #[command(flatten)]
    allowed: AllowanceArgs,
}

pub(super) fn run(args: AllowArgs, context: &Context) -> Result<()> {
    let AllowArgs { name, allowed } = args;
    if allowed.is_empty() {
        let message = "say what: `--role ROLE`, `--permission DOMAIN:ACTION`, or both";
        return Err(Error::new(ErrorKind::Usage, message).hint("remit principal allow --help"));
    }
    let app = context.open()?;
    app.admin().allow_principal(&name, allowed.read())?;
    let known = app.admin().principal(&name)?;
    if context.output.is_json() {
        return context.output.value(&value(&known));
    }
    let (roles, permissions) = (words(&known.stored.roles), words(&known.stored.permissions));
    context.output.note(&format!("`{name}` has now the roles {roles} and the permissions {permissions}"));
    Ok(())
}
