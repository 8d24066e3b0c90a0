//! `remit review show`: what a release's bytes say, and what it changes.

use clap::Args;
use serde_json::{Value, json};

use super::super::inspect::as_json;
use super::super::{Context, describe, on_threads, report, reviewed};
use super::{Shown, Where, look};
use crate::error::Result;
use crate::registry::Exact;

/// Show what a release's bytes say, and what differs from the version before it
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  remit review show acme/weather@1.1.0")]
pub(super) struct ShowArgs {
    /// `publisher/slug@version`
    release: Exact,
    #[command(flatten)]
    place: Where,
}

/// Runs it.
pub(super) fn run(args: &ShowArgs, context: &Context) -> Result<()> {
    let output = context.output;
    let registry = args.place.open(context)?;
    let shown = on_threads(look(&registry, &args.release, context))?;
    if output.is_json() {
        return output.value(&value(&args.release, &shown)?);
    }
    output.styled(&text(&args.release, &shown))?;
    let (release, digest) = (&args.release, &shown.report.digest);
    output.note(&format!("\nnext: remit review approve {release} --digest {digest}"));
    Ok(())
}

/// Everything to read before deciding.
pub(super) fn text(release: &Exact, shown: &Shown) -> String {
    let Shown { state, key, report, compared } = shown;
    let key = key.to_string();
    let rows = [["state", state.as_str()], ["signed by", key.as_str()], ["digest", report.digest.as_str()]];
    let rows: Vec<Vec<String>> =
        rows.iter().map(|row| row.iter().map(|cell| (*cell).to_owned()).collect()).collect();
    let manifest = &report.manifest;
    let mut parts = vec![
        format!(
            "{release}\n  {}: {}\n{}",
            describe::one_line(&manifest.title),
            describe::one_line(&manifest.description),
            describe::indented(&rows)
        ),
        report::interfaces(&report.imports, &report.exports),
        describe::asks(manifest, &|_| String::new()),
        describe::tools(manifest),
    ];
    parts.extend(describe::documents(manifest));
    parts.extend(describe::loops(manifest));
    parts.extend(describe::prompt(manifest));
    parts.push(reviewed::report(report));
    parts.extend(compared.as_ref().map(reviewed::compared));
    parts.join("\n")
}

fn value(release: &Exact, shown: &Shown) -> Result<Value> {
    Ok(json!({
        "release": release.to_string(),
        "state": shown.state,
        "key": shown.key,
        "review": as_json(&shown.report)?,
        "against": shown.compared.as_ref().map(as_json).transpose()?,
    }))
}
