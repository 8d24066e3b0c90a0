//! `remit list`: what is installed.

use clap::Args;
use serde_json::Value;

use super::{Context, describe, missing};
use crate::clock::Clock;
use crate::error::Result;
use crate::policy::{asks, same_grant};
use crate::registry::Entry;

/// List what is installed
#[derive(Debug, Args)]
pub(super) struct ListArgs {}

/// Runs it.
pub(super) fn run(_args: ListArgs, context: &Context) -> Result<()> {
    let output = context.output;
    let app = context.open()?;
    let snapshot = app.admin().installed()?;
    if output.is_json() {
        return output
            .value(&Value::Array(snapshot.entries.values().map(|entry| describe::value(entry)).collect()));
    }
    if snapshot.entries.is_empty() {
        output.note("nothing is installed\n\nhint: remit install FILE.wasm");
        return Ok(());
    }
    let stored = app.admin().secrets()?;
    let now = Clock::system().now_ms();
    let rows: Vec<_> = snapshot
        .entries
        .values()
        .map(|entry| {
            let manifest = &entry.capability.manifest;
            vec![
                entry.capability.name.to_string(),
                version(entry),
                manifest.tools.len().to_string(),
                granted(entry),
                missing::missing(entry, &stored, now).len().to_string(),
            ]
        })
        .collect();
    output.table(&["NAME", "VERSION", "TOOLS", "GRANTED", "MISSING"], &rows)
}

/// The version, and what was said against it.
fn version(entry: &Entry) -> String {
    let version = &entry.capability.manifest.version;
    entry
        .recall
        .as_ref()
        .map_or_else(|| version.to_string(), |recall| format!("{version} {}", recall.against.as_str()))
}

/// `2 of 3`: how many of the asks are granted.
fn granted(entry: &Entry) -> String {
    let asks = asks(&entry.capability.manifest);
    let granted = asks.iter().filter(|ask| entry.grants.iter().any(|grant| same_grant(grant, ask))).count();
    format!("{granted} of {}", asks.len())
}
