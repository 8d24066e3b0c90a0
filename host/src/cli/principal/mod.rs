//! `remit principal`: who may call, and what.

mod add;
mod allow;
mod list;
mod revoke;
mod show;

use clap::{Args, Subcommand};
use jiff::tz::TimeZone;
use serde_json::{Value, json};

use super::output::Output;
use super::{Context, figures};
use crate::admin::{Allowance, KnownPrincipal};
use crate::app::App;
use crate::clock::Clock;
use crate::error::{Error, ErrorKind, Result};
use crate::policy::{Identity, OPERATOR};
use crate::tokens::{NewToken, StoredToken};

/// What stands in a column when there is nothing to say.
const NONE: &str = "-";

/// Add, list and remove those who may call, and what they may
///
/// A principal is an agent, or a person behind one. It is known by a token over HTTP, or by name where you start
/// the program for it: `remit serve --principal NAME`. Tools ask for roles, permissions and flags; who lacks one
/// neither sees nor calls the tool. `stdio` and `http` are the doors' own principals, for clients that show no other;
/// `cli` is you, of whom nothing is asked.
#[derive(Debug, Args)]
pub(super) struct PrincipalArgs {
    #[command(subcommand)]
    command: PrincipalCommand,
}

#[derive(Debug, Subcommand)]
enum PrincipalCommand {
    Add(add::AddArgs),
    List(list::ListArgs),
    Show(show::ShowArgs),
    Token(add::TokenArgs),
    Allow(allow::AllowArgs),
    Revoke(revoke::RevokeArgs),
}

/// What is given or taken.
#[derive(Debug, Args)]
struct AllowanceArgs {
    /// A role, by its name; as often as needed
    #[arg(long = "role", value_name = "ROLE")]
    roles: Vec<String>,
    /// A permission, `DOMAIN:ACTION`, or `DOMAIN:*` for all of a domain; as often as needed
    #[arg(long = "permission", value_name = "PERMISSION")]
    permissions: Vec<String>,
}

impl AllowanceArgs {
    fn read(self) -> Allowance {
        Allowance { roles: self.roles, permissions: self.permissions }
    }

    fn is_empty(&self) -> bool {
        self.roles.is_empty() && self.permissions.is_empty()
    }
}

/// Runs it.
pub(super) fn run(args: PrincipalArgs, context: &Context) -> Result<()> {
    match args.command {
        PrincipalCommand::Add(args) => add::add(args, context),
        PrincipalCommand::List(list::ListArgs {}) => list::run(context),
        PrincipalCommand::Show(args) => show::run(&args, context),
        PrincipalCommand::Token(args) => add::token(&args, context),
        PrincipalCommand::Allow(args) => allow::run(args, context),
        PrincipalCommand::Revoke(args) => revoke::run(args, context),
    }
}

/// Somebody who may come in as this principal: `--as NAME`, `--principal NAME`.
pub(super) fn known(app: &App, name: &str) -> Result<Identity> {
    if name == OPERATOR {
        let message = format!("`{OPERATOR}` is the person at the command line, and nobody else");
        return Err(Error::new(ErrorKind::Usage, message).hint("remit principal list"));
    }
    app.admin().principal(name).map(|known| Identity::stored(known.name))
}

/// Reads `--expires`.
fn read_end(text: &str) -> Result<i64> {
    figures::end(text, Clock::system().now_ms(), &TimeZone::system()).ok_or_else(|| {
        Error::new(ErrorKind::Usage, format!("`{text}` is no time to come"))
            .hint("for example 12h, 90d, 1y, 2027-01-31, or 2027-01-31T08:00")
    })
}

/// Shows a new token, the only time it is shown.
fn show_token(name: &str, new: &NewToken, expires_at: Option<i64>, output: Output) -> Result<()> {
    if output.is_json() {
        return output.value(&json!({
            "name": name, "id": new.id, "token": *new.token, "expiresAt": expires_at.map(figures::utc_time),
        }));
    }
    output.text(&new.token)?;
    let end = expires_at.map_or(String::new(), |end| format!(" until {}", figures::local_time(end)));
    let id = &new.id;
    output.note(&format!(
        "this token is shown this once; with it a client is `{name}`{end}\n\n\
         hint: over HTTP a client sends `Authorization: Bearer TOKEN`\n\
         \x20     take it back: remit principal revoke {name} --token {id}"
    ));
    Ok(())
}

fn words<'a>(words: impl IntoIterator<Item = &'a String>) -> String {
    let words: Vec<&str> = words.into_iter().map(String::as_str).collect();
    if words.is_empty() { NONE.to_owned() } else { words.join(", ") }
}

fn moment(at: Option<i64>) -> String {
    at.map_or(NONE.to_owned(), figures::local_time)
}

/// A principal for programs.
fn value(known: &KnownPrincipal) -> Value {
    json!({
        "name": known.name,
        // The doors' own were always there.
        "createdAt": Some(known.stored.created_at).filter(|at| *at > 0).map(figures::utc_time),
        "roles": known.stored.roles,
        "permissions": known.stored.permissions,
        "tokens": known.tokens.iter().map(|(token, used_at)| token_value(token, *used_at)).collect::<Vec<_>>(),
    })
}

fn token_value(token: &StoredToken, used_at: Option<i64>) -> Value {
    json!({
        "id": token.id,
        "createdAt": figures::utc_time(token.created_at),
        "usedAt": used_at.map(figures::utc_time),
        "expiresAt": token.expires_at.map(figures::utc_time),
    })
}
