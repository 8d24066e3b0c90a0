//! `remit review list`: what waits for a decision.

use clap::Args;
use serde_json::{Value, json};

use super::super::Context;
use super::{Where, signed};
use crate::error::Result;
use crate::registries::State;

/// List releases that wait for a decision
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  remit review list --registry /srv/registry
  remit review list --registry /srv/registry --all")]
pub(super) struct ListArgs {
    #[command(flatten)]
    place: Where,
    /// Releases of every state
    #[arg(long)]
    all: bool,
}

/// Runs it.
pub(super) fn run(args: &ListArgs, context: &Context) -> Result<()> {
    let output = context.output;
    let registry = args.place.open()?;
    let releases = registry.list()?.into_iter().filter(|(_, state)| args.all || *state == State::InReview);
    let mut rows = Vec::new();
    for (release, state) in releases {
        let (digest, author) = signed(&registry, &release)?;
        rows.push([release.to_string(), state.to_string(), author.unwrap_or_default(), digest.to_string()]);
    }
    if output.is_json() {
        let value = |[release, state, author, digest]: &[String; 4]| json!({ "release": release, "state": state, "author": author, "digest": digest });
        return output.value(&Value::Array(rows.iter().map(value).collect()));
    }
    if rows.is_empty() {
        output.note("nothing waits for a decision");
        return Ok(());
    }
    let rows: Vec<Vec<String>> = rows.into_iter().map(Vec::from).collect();
    output.table(&["RELEASE", "STATE", "AUTHOR", "DIGEST"], &rows)
}
