//! `remit secret`: store, list and remove secrets. A value is never an argument and never printed.

use std::ffi::OsString;

use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::connect::{self, ConnectArgs};
use super::{Context, figures, prompt};
use crate::error::{Error, ErrorKind, Result};

/// Store, list and remove secrets
#[derive(Debug, Args)]
pub(super) struct SecretArgs {
    #[command(subcommand)]
    command: SecretCommand,
}

#[derive(Debug, Subcommand)]
enum SecretCommand {
    Set(SetArgs),
    Connect(ConnectArgs),
    List(ListArgs),
    Remove(RemoveArgs),
}

/// Store a secret, encrypted; its value is typed unseen, or piped
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  remit secret set API_KEY
  pass show example/api-key | remit secret set API_KEY")]
struct SetArgs {
    /// Upper-case letters, digits and underscores
    name: String,
    /// Refused with an explanation, rather than as an argument too many that is then quoted in the error.
    #[arg(hide = true)]
    value: Vec<OsString>,
}

/// List the names of stored secrets
#[derive(Debug, Args)]
struct ListArgs {}

/// Remove a stored secret
#[derive(Debug, Args)]
struct RemoveArgs {
    /// The name it is stored under
    name: String,
}

/// Runs it.
pub(super) fn run(args: SecretArgs, context: &Context) -> Result<()> {
    match args.command {
        SecretCommand::Set(args) => set(&args, context),
        SecretCommand::Connect(args) => connect::run(args, context),
        SecretCommand::List(ListArgs {}) => list(context),
        SecretCommand::Remove(args) => remove(&args, context),
    }
}

fn set(args: &SetArgs, context: &Context) -> Result<()> {
    let name = &args.name;
    if !args.value.is_empty() {
        let message = "a secret's value is never an argument: it would stay in the shell's history";
        return Err(Error::new(ErrorKind::Usage, message).hint(format!(
            "type it when asked: remit secret set {name}\nor pipe it: … | remit secret set {name}"
        )));
    }
    // The home is opened first, so that nobody types a value that then cannot be stored.
    let app = context.open()?;
    let value = prompt::secret(&format!("value of {name}"))?;
    app.admin().set_secret(name, &value)?;
    if context.output.is_json() {
        return context.output.value(&json!({ "name": name, "stored": true }));
    }
    context.output.note(&format!("stored `{name}`"));
    Ok(())
}

fn list(context: &Context) -> Result<()> {
    let output = context.output;
    let app = context.open()?;
    let stored = app.admin().secrets()?;
    if output.is_json() {
        let values = stored.iter().map(|secret| {
            json!({
                "name": secret.name,
                "createdAt": figures::utc_time(secret.created_at),
                "changedAt": figures::utc_time(secret.changed_at),
            })
        });
        return output.value(&Value::Array(values.collect()));
    }
    if stored.is_empty() {
        output.note("no secrets are stored\n\nhint: remit secret set NAME");
        return Ok(());
    }
    let rows: Vec<_> = stored
        .into_iter()
        .map(|secret| {
            vec![secret.name, figures::local_time(secret.created_at), figures::local_time(secret.changed_at)]
        })
        .collect();
    output.table(&["NAME", "FIRST SET", "LAST SET"], &rows)
}

fn remove(args: &RemoveArgs, context: &Context) -> Result<()> {
    let name = &args.name;
    let app = context.open()?;
    let removed = app.admin().remove_secret(name)?;
    if !removed {
        return Err(
            Error::new(ErrorKind::SecretUnset, format!("no secret `{name}` is stored")).hint("remit secret list")
        );
    }
    if context.output.is_json() {
        return context.output.value(&json!({ "name": name, "stored": false }));
    }
    context.output.note(&format!("removed `{name}`"));
    Ok(())
}
