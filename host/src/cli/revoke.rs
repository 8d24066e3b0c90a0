//! `remit revoke`: take grants back, or stop a release in this home.

use clap::Args;
use serde_json::json;

use super::{Context, asks, figures};
use crate::admin::Admin;
use crate::error::{Error, ErrorKind, Result};
use crate::registry::{CapabilityName, Exact};

/// Take grants back, or stop a release
///
/// Takes effect on the next request of every call, also of one that runs, in every process. A release that is stopped
/// here does not run and is not installed, whatever a registry says; loops that call it are paused.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  remit revoke acme/weather http api.example.com
  remit revoke acme/weather http
  remit revoke acme/weather@1.2.0 --here --reason 'it leaks'
  remit revoke acme/weather@1.2.0 --here --undo")]
pub(super) struct RevokeArgs {
    /// `publisher/slug`, or with `--here` a release, `publisher/slug@1.2.0`
    name: String,
    /// `http`, `entities`, `loops` or `sandbox`
    #[arg(required_unless_present = "here", conflicts_with = "here")]
    namespace: Option<String>,
    /// For `http`: hosts, or `ownCredentials`. Without any: the namespace with all its entries
    #[arg(value_name = "ENTRY")]
    entries: Vec<String>,
    /// Stop this release in this data directory
    #[arg(long)]
    here: bool,
    /// Why
    #[arg(long, value_name = "TEXT", requires = "here")]
    reason: Option<String>,
    /// Let it run again; its loops stay paused
    #[arg(long, requires = "here", conflicts_with = "reason")]
    undo: bool,
}

/// Runs it.
pub(super) fn run(args: RevokeArgs, context: &Context) -> Result<()> {
    let app = context.open()?;
    let RevokeArgs { name, namespace, entries, here: _, reason, undo } = args;
    match namespace {
        Some(namespace) => grants(&name, &namespace, &entries, app.admin(), context),
        None if undo => undone(&name.parse()?, app.admin(), context),
        None => release(&name.parse()?, reason, app.admin(), context),
    }
}

fn grants(name: &str, namespace: &str, entries: &[String], admin: &Admin, context: &Context) -> Result<()> {
    let name: CapabilityName =
        name.parse().map_err(|error| Error::new(ErrorKind::Usage, format!("`{name}`: {error}")))?;
    let revoked = admin.revoke(&name, &asks::to_revoke(namespace, entries)?)?;
    if context.output.is_json() {
        return context.output.value(&json!({ "name": name.to_string(), "revoked": revoked }));
    }
    context.output.note(&match revoked {
        0 => format!("nothing of this was granted to {name}"),
        _ => format!("took back {} from {name}", figures::plural(revoked, "grant")),
    });
    Ok(())
}

fn release(release: &Exact, reason: Option<String>, admin: &Admin, context: &Context) -> Result<()> {
    let heard = admin.revoke_release(release, reason)?;
    if context.output.is_json() {
        return context.output.value(&json!({
            "release": release.to_string(), "news": heard.is_news, "installed": heard.is_pinned,
            "pausedLoops": heard.paused,
        }));
    }
    context.output.note(&match (heard.is_news, heard.is_pinned) {
        (false, _) => format!("{release} was stopped here before"),
        (true, false) => format!("{release} will not be installed here"),
        (true, true) => format!("{release} stopped; {} paused", figures::plural(heard.paused, "loop")),
    });
    Ok(())
}

fn undone(release: &Exact, admin: &Admin, context: &Context) -> Result<()> {
    let was_stopped = admin.allow_release(release)?;
    if context.output.is_json() {
        return context.output.value(&json!({ "release": release.to_string(), "news": was_stopped }));
    }
    context.output.note(&if was_stopped {
        format!("{release} may run here again, as far as this data directory is concerned")
    } else {
        format!("nothing was said against {release} here")
    });
    Ok(())
}
