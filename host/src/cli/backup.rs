//! `remit backup` and `remit restore`: a home as one file, and back.

use std::path::PathBuf;

use clap::Args;
use serde_json::json;

use super::{Context, figures};
use crate::admin;
use crate::error::Result;
use crate::store::Contents;

/// Write everything to one file, while others go on working
///
/// Installs, decisions, documents, records, sealed secrets and the components themselves, all of one moment. The key
/// is not in it: without the file `key` nobody can read a secret of it. Settings (`remit.toml`) are not in it either.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  remit backup /backups/remit-2026-01-31")]
pub(super) struct BackupArgs {
    /// The file to write, which must not exist
    file: PathBuf,
}

/// Restore a backup to a data directory that has nothing yet
///
/// The directory is made, or is empty but for `key` and `remit.toml`. Everything is checked before anything is
/// there: the backup itself, and each component against its digest.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  remit --home /srv/remit restore /backups/remit-2026-01-31")]
pub(super) struct RestoreArgs {
    /// The file that `remit backup` wrote
    file: PathBuf,
}

/// Runs `remit backup`.
#[expect(clippy::needless_pass_by_value, reason = "every command takes its arguments")]
pub(super) fn back_up(args: BackupArgs, context: &Context) -> Result<()> {
    let output = context.output;
    let app = context.open()?;
    let contents = app.admin().back_up(&args.file, &mut output.bar("copying"))?;
    if output.is_json() {
        return output.value(&value(&contents));
    }
    let (size, components) = (figures::size(contents.bytes), figures::plural(contents.components, "component"));
    output.note(&format!("wrote `{}`: {size}, {components}", args.file.display()));
    if !contents.keys.is_empty() {
        output.note(&format!("\nhint: its secrets need the key {}; keep a copy of it elsewhere", keys(&contents)));
    }
    Ok(())
}

/// Runs `remit restore`.
#[expect(clippy::needless_pass_by_value, reason = "every command takes its arguments")]
pub(super) fn restore(args: RestoreArgs, context: &Context) -> Result<()> {
    let output = context.output;
    let home = context.home()?;
    let contents = admin::restore(&home, &args.file, &mut output.bar("copying"))?;
    // Opening brings it up to date, and ends the records of calls that ran when it was made.
    let app = context.open()?;
    let installs = app.admin().installed()?.entries.len();
    if output.is_json() {
        return output.value(&value(&contents));
    }
    output.note(&format!("restored `{}`: {}", home.display(), figures::plural(installs, "install")));
    if !contents.keys.is_empty() && app.admin().check_secrets().is_err() {
        let key = home.join("key");
        output.note(&format!(
            "\nhint: its secrets need the key {}: copy it to `{}`",
            keys(&contents),
            key.display()
        ));
    }
    Ok(())
}

fn keys(contents: &Contents) -> String {
    contents.keys.iter().map(|key| format!("`{key}`")).collect::<Vec<_>>().join(", ")
}

fn value(contents: &Contents) -> serde_json::Value {
    json!({ "bytes": contents.bytes, "components": contents.components, "keys": contents.keys })
}
