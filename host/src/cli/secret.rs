//! `remit secret`: store, list and remove secrets, and change the key. A value is never an argument and never
//! printed.

use std::ffi::OsString;

use clap::{Args, Subcommand};
use jiff::tz::TimeZone;
use serde_json::{Value, json};

use super::connect::{self, ConnectArgs};
use super::{Context, figures, prompt};
use crate::admin::StoredSecret;
use crate::clock::Clock;
use crate::error::{Error, ErrorKind, Result};
use crate::secrets::COMFORTABLE;

/// What stands in a column when there is nothing to say.
const NONE: &str = "-";

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
    RotateKey(RotateKeyArgs),
}

/// Store a secret, encrypted; its value is typed unseen, or piped
///
/// A value that is there already is replaced: calls use the new one from their next request on. Answers are searched
/// for the old one as well, for the hours of `overlap-hours` in `remit.toml`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  remit secret set API_KEY
  remit secret set API_KEY --expires 90d
  pass show example/api-key | remit secret set API_KEY")]
struct SetArgs {
    /// Upper-case letters, digits and underscores
    name: String,
    /// From then on it is not put into requests: `12h`, `90d`, `1y`, a date, or a time
    #[arg(long, value_name = "WHEN")]
    expires: Option<String>,
    /// Refused with an explanation, rather than as an argument too many that is then quoted in the error.
    #[arg(hide = true)]
    value: Vec<OsString>,
}

/// List the names of stored secrets
#[derive(Debug, Args)]
struct ListArgs {}

/// Remove a stored secret
///
/// The value is gone, with the values it had before. Answers are not searched for any of them from then on, so make
/// them invalid where they were used, first.
#[derive(Debug, Args)]
struct RemoveArgs {
    /// The name it is stored under
    name: String,
}

/// Seal every stored secret with a new key
///
/// The new key is made first; the old one is removed when everything was sealed anew and read back. No value changes,
/// and running servers go on. A command that is interrupted loses nothing: run it again. Backups of the data directory
/// need the key of their time.
#[derive(Debug, Args)]
struct RotateKeyArgs {}

/// Runs it.
pub(super) fn run(args: SecretArgs, context: &Context) -> Result<()> {
    match args.command {
        SecretCommand::Set(args) => set(&args, context),
        SecretCommand::Connect(args) => connect::run(args, context),
        SecretCommand::List(ListArgs {}) => list(context),
        SecretCommand::Remove(args) => remove(&args, context),
        SecretCommand::RotateKey(RotateKeyArgs {}) => rotate_key(context),
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
    let expires_at = args.expires.as_deref().map(read_end).transpose()?;
    // The home is opened first, so that nobody types a value that then cannot be stored.
    let app = context.open()?;
    let value = prompt::secret(&format!("value of {name}"))?;
    match expires_at {
        Some(end) => app.admin().set_secret_until(name, &value, end)?,
        None => app.admin().set_secret(name, &value)?,
    }
    if value.len() < COMFORTABLE {
        context.output.warn(&format!(
            "the value is shorter than {COMFORTABLE} bytes: a capability could find it by guessing, since it sees \
             what is cut out of an answer"
        ));
    }
    if context.output.is_json() {
        let expires_at = expires_at.map(figures::utc_time);
        return context.output.value(&json!({ "name": name, "stored": true, "expiresAt": expires_at }));
    }
    let end = expires_at.map_or(String::new(), |end| format!(" until {}", figures::local_time(end)));
    context.output.note(&format!("stored `{name}`{end}"));
    Ok(())
}

fn read_end(text: &str) -> Result<i64> {
    figures::end(text, Clock::system().now_ms(), &TimeZone::system()).ok_or_else(|| {
        Error::new(ErrorKind::Usage, format!("`{text}` is no time to come"))
            .hint("for example 12h, 90d, 1y, 2027-01-31, or 2027-01-31T08:00")
    })
}

fn list(context: &Context) -> Result<()> {
    let output = context.output;
    let app = context.open()?;
    let stored = app.admin().secrets()?;
    if output.is_json() {
        return output.value(&Value::Array(stored.iter().map(value).collect()));
    }
    if stored.is_empty() {
        output.note("no secrets are stored\n\nhint: remit secret set NAME");
        return Ok(());
    }
    let now_ms = Clock::system().now_ms();
    let rows: Vec<_> = stored.into_iter().map(|secret| row(secret, now_ms)).collect();
    output.table(&["NAME", "KIND", "FIRST SET", "LAST SET", "LAST USED", "EXPIRES"], &rows)
}

fn value(secret: &StoredSecret) -> Value {
    json!({
        "name": secret.name,
        "kind": secret.kind.as_str(),
        "createdAt": figures::utc_time(secret.created_at),
        "changedAt": figures::utc_time(secret.changed_at),
        "usedAt": secret.used_at.map(figures::utc_time),
        "expiresAt": secret.expires_at.map(figures::utc_time),
    })
}

fn row(secret: StoredSecret, now_ms: i64) -> Vec<String> {
    let time = |at: Option<i64>| at.map_or(NONE.to_owned(), figures::local_time);
    let expires = match secret.has_expired(now_ms) {
        true => format!("{} (over)", time(secret.expires_at)),
        false => time(secret.expires_at),
    };
    let kind = secret.kind.as_str().to_owned();
    let (first, last) = (time(Some(secret.created_at)), time(Some(secret.changed_at)));
    vec![secret.name, kind, first, last, time(secret.used_at), expires]
}

fn rotate_key(context: &Context) -> Result<()> {
    let app = context.open()?;
    let count = app.admin().rotate_key()?;
    if context.output.is_json() {
        return context.output.value(&json!({ "sealedAnew": count }));
    }
    context.output.note(&format!("sealed {} with a new key", figures::plural(count, "secret")));
    Ok(())
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
