//! `remit show`: one install, what was decided about it, and what it still lacks.

use std::fmt::Write as _;

use clap::Args;
use serde_json::{Value, json};

use super::missing::Missing;
use super::{Context, describe, figures, missing};
use crate::admin::Earlier;
use crate::clock::Clock;
use crate::error::{Error, ErrorKind, Result};
use crate::manifest::visible;
use crate::policy::{Grant, asks, same_grant};
use crate::registry::{CapabilityName, Entry};
use crate::versions::lock::spell;

/// Show one install: what it asks, what it was granted, what is missing
#[derive(Debug, Args)]
pub(super) struct ShowArgs {
    /// `publisher/slug`
    name: CapabilityName,
}

/// Runs it.
#[expect(clippy::needless_pass_by_value, reason = "every command takes its arguments")]
pub(super) fn run(args: ShowArgs, context: &Context) -> Result<()> {
    let output = context.output;
    let app = context.open()?;
    let entry = app.admin().find(&args.name)?;
    let now = Clock::system().now_ms();
    let missing = missing::missing(&entry, &app.admin().secrets()?, now);
    let earlier = app.admin().earlier(&args.name)?;
    if !output.is_json() {
        return output.text(&shown(&entry, &earlier, &missing, now));
    }
    let mut value = describe::value(&entry);
    value["manifest"] = serde_json::to_value(&entry.capability.manifest)
        .map_err(|error| Error::new(ErrorKind::Internal, "a manifest is not JSON").detail(error))?;
    value["withdrawn"] =
        entry.withdrawn.iter().map(|item| json!({ "kind": item.kind(), "item": item.name() })).collect();
    value["missing"] = missing.iter().map(|missing| json!({ "what": missing.what, "fix": missing.fix })).collect();
    value["earlier"] = earlier.iter().map(earlier_value).collect();
    output.value(&value)
}

fn earlier_value(earlier: &Earlier) -> Value {
    json!({
        "version": earlier.version.to_string(), "digest": earlier.digest.to_string(),
        "leftAt": figures::utc_time(earlier.left_at), "rolledBack": earlier.was_rolled_back,
        "grants": earlier.grants.iter().map(spell).collect::<Vec<_>>(),
    })
}

fn shown(entry: &Entry, earlier: &[Earlier], missing: &[Missing], now: i64) -> String {
    let capability = &entry.capability;
    let is_granted = |ask: &Grant| entry.grants.iter().any(|grant| same_grant(grant, ask));
    let mark = |ask: &Grant| if is_granted(ask) { "granted" } else { "not granted" }.to_owned();
    let mut text = describe::head(capability, entry.origin.as_ref());
    if let Some(recall) = &entry.recall {
        let _ = writeln!(text, "  {}", visible(&recall.account(), usize::MAX));
    }
    let _ = write!(text, "\n{}", describe::asks(&capability.manifest, &mark));

    let asked = asks(&capability.manifest);
    let is_narrower = |grant: &&Grant| !asked.iter().any(|ask| same_grant(grant, ask));
    let narrower: Vec<&str> =
        entry.grants.iter().filter(is_narrower).filter_map(|grant| grant.entry.as_deref()).collect();
    if !narrower.is_empty() {
        let _ = write!(text, "\ngranted within what it asks\n  {}\n", narrower.join("\n  "));
    }
    let approvals: Vec<Vec<String>> = entry
        .approvals
        .iter()
        .map(|approval| {
            let is_renamed = approval.source != approval.secret;
            let from = if is_renamed { format!("stored as {}", approval.source) } else { String::new() };
            let end = approval.expires_at.map_or(String::new(), |end| {
                let word = if approval.is_over(now) { "ended" } else { "until" };
                format!("{word} {}", figures::local_time(end))
            });
            vec![approval.secret.clone(), describe::authority(approval), approval.place.to_string(), from, end]
        })
        .collect();
    if !approvals.is_empty() {
        let _ = write!(text, "\nsecrets approved\n{}", describe::indented(&approvals));
    }
    let _ = write!(text, "\n{}", describe::tools(&capability.manifest));
    if let Some(documents) = describe::documents(&capability.manifest) {
        let _ = write!(text, "\n{documents}");
    }
    let withdrawn: Vec<_> =
        entry.withdrawn.iter().map(|item| vec![item.kind().to_owned(), item.name().to_owned()]).collect();
    if !withdrawn.is_empty() {
        let _ = write!(text, "\nwithdrawn by itself for now\n{}", describe::indented(&withdrawn));
    }
    if let Some(restrictions) = describe::restrictions(&entry.restrictions) {
        let _ = write!(text, "\n{restrictions}");
    }
    if let Some(loops) = describe::loops(&capability.manifest) {
        let _ = write!(text, "\n{loops}");
    }
    if let Some(prompt) = describe::prompt(&capability.manifest) {
        let _ = write!(text, "\n{prompt}");
    }
    if !earlier.is_empty() {
        let rows: Vec<_> = earlier.iter().map(earlier_row).collect();
        let _ = write!(text, "\nversions before, kept for `remit rollback`\n{}", describe::indented(&rows));
    }
    if !missing.is_empty() {
        let rows: Vec<_> = missing.iter().map(|missing| vec![missing.what.clone(), missing.fix.clone()]).collect();
        let _ = write!(text, "\nmissing\n{}", describe::indented(&rows));
    }
    text
}

fn earlier_row(earlier: &Earlier) -> Vec<String> {
    let why = if earlier.was_rolled_back { "rolled back" } else { "replaced" };
    let grants: Vec<String> = earlier.grants.iter().map(spell).collect();
    let grants = if grants.is_empty() { "nothing granted".to_owned() } else { grants.join(", ") };
    vec![earlier.version.to_string(), format!("{why} {}", figures::local_time(earlier.left_at)), grants]
}
