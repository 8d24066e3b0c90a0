//! `remit lock` and `remit sync`: what is installed as a file for version control, and a home made equal to one.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::json;

use super::{Context, compiled, figures};
use crate::admin::Admin;
use crate::app::App;
use crate::component;
use crate::error::{Error, ErrorKind, Result};
use crate::registry::Digest;
use crate::store::{Existing, open_regular, write_whole};
use crate::versions::lock::{Lock, differences, read, write};

/// Bytes of a lock: far more than ten thousand installs need.
const MAX_BYTES: u64 = 16 * 1024 * 1024;

/// Write down what is installed and what it is granted, for version control
///
/// One entry for each capability: version, digests of its bytes, its tools and its asks, what you granted, and who
/// reviewed it. The same decisions give the same text. With `--check` nothing is written: the exit code is 1 when the
/// file and the home differ.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  remit lock
  remit lock --file ops/remit.lock --check")]
pub(super) struct LockArgs {
    /// The file
    #[arg(long, value_name = "FILE", default_value = "remit.lock")]
    file: PathBuf,
    /// Compare, and write nothing
    #[arg(long)]
    check: bool,
}

/// Make the data directory equal to a lock file, without questions
///
/// Every entry gets exactly the bytes and the grants that are written there; what is not as the file says is refused
/// with its line, before anything changes. Bytes come from this data directory, from the named files, or from the
/// registry of the entry, and are always compared with the digest. What the file does not name stays, unless it is
/// pruned.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  remit sync --locked
  remit sync --locked --prune
  remit sync --locked weather.wasm notes.wasm")]
pub(super) struct SyncArgs {
    /// Components that the lock names, as files
    #[arg(value_name = "COMPONENT")]
    components: Vec<PathBuf>,
    /// Follow the lock file to the letter: the only way there is
    #[arg(long, required = true)]
    locked: bool,
    /// The file
    #[arg(long, value_name = "FILE", default_value = "remit.lock")]
    file: PathBuf,
    /// Uninstall what the file does not name; documents stay
    #[arg(long)]
    prune: bool,
}

/// Runs `remit lock`.
#[expect(clippy::needless_pass_by_value, reason = "every command takes its arguments")]
pub(super) fn lock(args: LockArgs, context: &Context) -> Result<()> {
    let LockArgs { file, check } = args;
    let app = context.open()?;
    let here = app.admin().lock()?;
    let count = figures::plural(here.entries.len(), "capability");
    if check {
        let lines = differences(&read_file(&file)?, &here);
        if lines.is_empty() {
            context.output.note(&format!("`{}` is what is installed: {count}", file.display()));
            return Ok(());
        }
        context.output.text(&lines.join("\n"))?;
        let message = format!("`{}` is not what is installed", file.display());
        return Err(Error::new(ErrorKind::LockDiffers, message)
            .hint("remit sync --locked follows the file, remit lock writes it anew"));
    }
    let path = std::path::absolute(&file).map_err(|error| Error::file(&file, &error))?;
    write_whole(&path, write(&here).as_bytes(), Existing::Replace)?;
    if context.output.is_json() {
        return context.output.value(&json!({ "file": file, "entries": here.entries.len() }));
    }
    context.output.note(&format!("wrote `{}`: {count}", file.display()));
    Ok(())
}

/// Runs `remit sync`.
#[expect(clippy::needless_pass_by_value, reason = "every command takes its arguments")]
pub(super) fn sync(args: SyncArgs, context: &Context) -> Result<()> {
    let SyncArgs { components, locked: _, file, prune } = args;
    let lock = read_file(&file)?;
    let app = context.open()?;
    let fetched = fetched(&lock, &components, app.admin())?;
    prepare(&app, &fetched, context)?;
    let synced = app.admin().follow(&lock, &fetched, prune)?;
    compiled::forget(&app, &synced.left)?;
    let names = |releases: &[crate::registry::Exact]| -> Vec<String> {
        releases.iter().map(ToString::to_string).collect()
    };
    let (changed, removed, extra) = (names(&synced.changed), names(&synced.removed), names(&synced.extra));
    if context.output.is_json() {
        return context.output.value(&json!({ "changed": changed, "removed": removed, "extra": extra }));
    }
    for (what, names) in [("set", &changed), ("removed", &removed), ("not in the lock, left", &extra)] {
        for name in names {
            context.output.text(&format!("{what} {name}"))?;
        }
    }
    if changed.is_empty() && removed.is_empty() {
        context.output.note("everything is as the lock says");
    }
    Ok(())
}

/// The text of a lock file as decisions. Errors name the file as it was given.
fn read_file(file: &Path) -> Result<Lock> {
    let unreadable = |error: &std::io::Error| {
        Error::new(ErrorKind::Usage, format!("cannot read `{}`: {}", file.display(), error.kind()))
    };
    let Some(opened) = open_regular(file).map_err(|error| unreadable(&error))? else {
        let message = format!("there is no `{}`", file.display());
        return Err(Error::new(ErrorKind::Usage, message).hint("remit lock writes one of what is installed"));
    };
    let mut bytes = Vec::new();
    opened.take(MAX_BYTES + 1).read_to_end(&mut bytes).map_err(|error| unreadable(&error))?;
    let text = String::from_utf8(bytes).ok().filter(|text| text.len() as u64 <= MAX_BYTES);
    let text = text.ok_or_else(|| {
        Error::new(ErrorKind::LockInvalid, format!("`{}` is no text, or longer than 16 MiB", file.display()))
    })?;
    read(&file.display().to_string(), &text)
}

/// The bytes of entries that are not in this home, from the named files. A file that no entry names is a mistake.
fn fetched(lock: &Lock, components: &[PathBuf], admin: &Admin) -> Result<BTreeMap<Digest, Vec<u8>>> {
    let mut fetched = BTreeMap::new();
    for file in components {
        let bytes = component::read(file)?;
        let digest = Digest::of(&bytes);
        if !lock.entries.iter().any(|entry| entry.component == digest) {
            let message = format!("the lock does not name the bytes of `{}`", file.display());
            return Err(Error::new(ErrorKind::LockMismatch, message).detail(format!("they are {digest}")));
        }
        fetched.insert(digest, bytes);
    }
    for entry in admin.missing(lock)?.iter().filter(|entry| !fetched.contains_key(&entry.component)) {
        let message = format!(
            "line {}: the bytes of `{}` are not here, and no registry is named for them",
            entry.position.0,
            entry.release()
        );
        return Err(Error::new(ErrorKind::LockSource, message).hint("remit sync --locked FILE.wasm"));
    }
    Ok(fetched)
}

/// Compiles what came, before anything changes.
fn prepare(app: &App, fetched: &BTreeMap<Digest, Vec<u8>>, context: &Context) -> Result<()> {
    for bytes in fetched.values() {
        let offer = app.admin().offer(bytes.clone())?;
        compiled::ahead(app, &offer, context.output)?;
    }
    Ok(())
}
