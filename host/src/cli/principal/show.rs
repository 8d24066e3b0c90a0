//! `remit principal show`.

use std::fmt::Write as _;

use clap::Args;
use comfy_table::ContentArrangement;

use super::super::Context;
use super::super::describe::indented;
use super::super::output::columns;
use super::{moment, value, words};
use crate::admin::KnownPrincipal;
use crate::clock::Clock;
use crate::error::Result;

/// Show one principal: what it may, and its tokens by their ids
#[derive(Debug, Args)]
pub(super) struct ShowArgs {
    /// Its name
    name: String,
}

pub(super) fn run(args: &ShowArgs, context: &Context) -> Result<()> {
    let app = context.open()?;
    let known = app.admin().principal(&args.name)?;
    if context.output.is_json() {
        return context.output.value(&value(&known));
    }
    context.output.text(&shown(&known, Clock::system().now_ms()))
}

fn shown(known: &KnownPrincipal, now_ms: i64) -> String {
    let row = |what: &str, words: String| vec![what.to_owned(), words];
    let created_at = Some(known.stored.created_at).filter(|at| *at > 0);
    let mut text = format!("{}\n", known.name);
    text.push_str(&indented(&[
        row("added", moment(created_at)),
        row("roles", words(&known.stored.roles)),
        row("permissions", words(&known.stored.permissions)),
    ]));
    if known.tokens.is_empty() {
        return text;
    }
    let rows: Vec<_> = known
        .tokens
        .iter()
        .map(|(token, used_at)| {
            let over = if token.is_over(now_ms) { " (over)" } else { "" };
            let end = format!("{}{over}", moment(token.expires_at));
            vec![token.id.clone(), moment(Some(token.created_at)), moment(*used_at), end]
        })
        .collect();
    let table = columns(&["TOKEN", "MADE", "LAST USED", "EXPIRES"], &rows, ContentArrangement::Disabled);
    let _ = write!(text, "\n{table}\n");
    text
}
