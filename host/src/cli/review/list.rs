//! `remit review list`: what waits for a decision.

use clap::Args;
use serde_json::{Value, json};

use super::super::{Context, on_threads};
use super::{Where, signed};
use crate::error::Result;
use crate::registries::State;

/// List releases that wait for a decision
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  remit review list
  remit review list --all")]
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
    let registry = args.place.open(context)?;
    let rows = on_threads(async {
        let mut rows = Vec::new();
        for (release, state) in registry.list().await? {
            if args.all || state == State::InReview {
                let (digest, key) = signed(&registry, &release).await?;
                rows.push([release.to_string(), state.to_string(), key.to_string(), digest.to_string()]);
            }
        }
        Ok(rows)
    })?;
    if output.is_json() {
        let value = |[release, state, key, digest]: &[String; 4]| json!({ "release": release, "state": state, "key": key, "digest": digest });
        return output.value(&Value::Array(rows.iter().map(value).collect()));
    }
    if rows.is_empty() {
        output.note("nothing waits for a decision");
        return Ok(());
    }
    let rows: Vec<Vec<String>> = rows.into_iter().map(Vec::from).collect();
    output.table(&["RELEASE", "STATE", "SIGNED BY", "DIGEST"], &rows)
}
