//! `remit role`: the permissions that come with a role.

use clap::{Args, Subcommand};
use serde_json::json;

use super::Context;
use crate::error::Result;

/// Set, list and remove the permissions of roles
///
/// A tool can ask for a role by its name; that needs no permissions. With permissions, a role is a short word for
/// them.
#[derive(Debug, Args)]
pub(super) struct RoleArgs {
    #[command(subcommand)]
    command: RoleCommand,
}

#[derive(Debug, Subcommand)]
enum RoleCommand {
    Set(SetArgs),
    List(ListArgs),
    Remove(RemoveArgs),
}

/// Make these the permissions of a role, in the place of those it had
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  remit role set editor notes:read notes:write
  remit role set owner 'notes:*' 'mail:*'")]
struct SetArgs {
    /// Lower-case letters, digits and hyphens
    role: String,
    /// `DOMAIN:ACTION`, or `DOMAIN:*` for all of a domain
    #[arg(value_name = "PERMISSION", required = true)]
    permissions: Vec<String>,
}

/// List roles with their permissions
#[derive(Debug, Args)]
struct ListArgs {}

/// Take a role's permissions away; who has the role keeps it
#[derive(Debug, Args)]
struct RemoveArgs {
    /// Its name
    role: String,
}

/// Runs it.
pub(super) fn run(args: RoleArgs, context: &Context) -> Result<()> {
    match args.command {
        RoleCommand::Set(args) => set(args, context),
        RoleCommand::List(ListArgs {}) => list(context),
        RoleCommand::Remove(args) => remove(&args, context),
    }
}

fn set(args: SetArgs, context: &Context) -> Result<()> {
    let SetArgs { role, permissions } = args;
    context.open()?.admin().set_role(&role, permissions.clone())?;
    if context.output.is_json() {
        return context.output.value(&json!({ "role": role, "permissions": permissions }));
    }
    context.output.note(&format!("`{role}` may now {}", permissions.join(", ")));
    Ok(())
}

fn list(context: &Context) -> Result<()> {
    let output = context.output;
    let roles = context.open()?.admin().roles()?;
    if output.is_json() {
        return output.value(&json!(roles));
    }
    if roles.is_empty() {
        output.note("nobody has a role\n\nhint: remit principal allow NAME --role ROLE");
        return Ok(());
    }
    let words = |permissions: &std::collections::BTreeSet<String>| {
        let words: Vec<&str> = permissions.iter().map(String::as_str).collect();
        if words.is_empty() { "-".to_owned() } else { words.join(", ") }
    };
    let rows: Vec<_> = roles.iter().map(|(role, permissions)| vec![role.clone(), words(permissions)]).collect();
    output.table(&["ROLE", "PERMISSIONS"], &rows)
}

fn remove(args: &RemoveArgs, context: &Context) -> Result<()> {
    context.open()?.admin().remove_role(&args.role)?;
    if context.output.is_json() {
        return context.output.value(&json!({ "role": args.role, "permissions": [] }));
    }
    context.output.note(&format!("`{}` has no permissions any more", args.role));
    Ok(())
}
