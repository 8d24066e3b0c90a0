//! `remit principal list`.

use clap::Args;
use serde_json::Value;

use super::super::Context;
use super::{moment, value, words};
use crate::error::Result;

/// List principals: what each may, and when one of its tokens was last used, to some minutes
#[derive(Debug, Args)]
pub(super) struct ListArgs {}

pub(super) fn run(context: &Context) -> Result<()> {
    let output = context.output;
    let app = context.open()?;
    let principals = app.admin().principals()?;
    if output.is_json() {
        return output.value(&Value::Array(principals.iter().map(value).collect()));
    }
    let rows: Vec<_> = principals
        .iter()
        .map(|known| {
            vec![
                known.name.clone(),
                words(&known.stored.roles),
                words(&known.stored.permissions),
                known.tokens.len().to_string(),
                moment(known.tokens.iter().filter_map(|(_, used_at)| *used_at).max()),
            ]
        })
        .collect();
    output.table(&["NAME", "ROLES", "PERMISSIONS", "TOKENS", "LAST USED"], &rows)
}
