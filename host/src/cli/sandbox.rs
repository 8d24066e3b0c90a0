//! `remit sandbox`: files of conversations, for people.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::{Context, figures};
use crate::admin::{Admin, File};
use crate::error::{Error, ErrorKind, Result};
use crate::store::{Existing, make_folder, write_whole};

/// Letters of a conversation's id that lists show.
const SHOWN: usize = 12;

/// Look at the files that capabilities wrote in conversations, copy and remove them
///
/// Files go by themselves, `keep-hours` of `[sandbox]` after the last change in their conversation.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  remit sandbox list
  remit sandbox list 3f0c9a71be52
  remit sandbox read 3f0c9a71be52 remit://sandbox/acme/images/cat.png > cat.png
  remit sandbox export 3f0c9a71be52 cats
  remit sandbox delete 3f0c9a71be52")]
pub(super) struct SandboxArgs {
    #[command(subcommand)]
    command: SandboxCommand,
}

#[derive(Debug, Subcommand)]
enum SandboxCommand {
    /// List the conversations that have files, or the files of one
    List(ListArgs),
    /// Print the bytes of one file
    Read(ReadArgs),
    /// Copy the files of a conversation to a new folder, as `PUBLISHER/SLUG/NAME`
    Export(ExportArgs),
    /// Remove one file of a conversation, or all of them
    Delete(DeleteArgs),
}

#[derive(Debug, Args)]
struct ListArgs {
    /// The conversation, by the beginning of its id
    conversation: Option<String>,
}

#[derive(Debug, Args)]
struct ReadArgs {
    /// The conversation, by the beginning of its id
    conversation: String,
    /// The file's address
    #[arg(value_name = "ADDRESS")]
    file: String,
}

#[derive(Debug, Args)]
struct ExportArgs {
    /// The conversation, by the beginning of its id
    conversation: String,
    /// The folder to make, which must not exist
    folder: PathBuf,
}

#[derive(Debug, Args)]
struct DeleteArgs {
    /// The conversation, by the beginning of its id
    conversation: String,
    /// The file's address. Without it: all files
    #[arg(value_name = "ADDRESS")]
    file: Option<String>,
}

/// Runs it.
pub(super) fn run(args: SandboxArgs, context: &Context) -> Result<()> {
    let app = context.open()?;
    let admin = app.admin();
    match args.command {
        SandboxCommand::List(args) => match args.conversation {
            None => list_conversations(admin, context),
            Some(conversation) => list_files(&conversation, admin, context),
        },
        SandboxCommand::Read(args) => read(&args, admin, context),
        SandboxCommand::Export(args) => export(&args, admin, context),
        SandboxCommand::Delete(args) => delete(&args, admin, context),
    }
}

fn list_conversations(admin: &Admin, context: &Context) -> Result<()> {
    let output = context.output;
    let conversations = admin.conversations()?;
    if output.is_json() {
        let values = conversations.iter().map(|one| {
            json!({
                "id": one.key, "principal": one.principal, "kind": one.kind, "files": one.sums.files,
                "bytes": one.sums.bytes, "usedAt": figures::utc_time(one.used_at),
            })
        });
        return output.value(&Value::Array(values.collect()));
    }
    if conversations.is_empty() {
        output.note("no conversation has files");
        return Ok(());
    }
    let rows = conversations.into_iter().map(|one| {
        vec![
            one.key[..one.key.floor_char_boundary(SHOWN)].to_owned(),
            one.principal,
            one.kind,
            figures::count(one.sums.files),
            figures::size(one.sums.bytes),
            figures::local_time(one.used_at),
        ]
    });
    output.table(&["ID", "PRINCIPAL", "KIND", "FILES", "SIZE", "CHANGED"], &rows.collect::<Vec<_>>())
}

fn list_files(conversation: &str, admin: &Admin, context: &Context) -> Result<()> {
    let output = context.output;
    let files = admin.files(&admin.conversation(conversation)?)?;
    if output.is_json() {
        let values = files.iter().map(|file| {
            json!({
                "uri": file.address(), "bytes": file.bytes, "mediaType": file.name.media_type(),
                "writtenAt": figures::utc_time(file.written_at),
            })
        });
        return output.value(&Value::Array(values.collect()));
    }
    let rows = files
        .iter()
        .map(|file| vec![file.address(), figures::size(file.bytes), figures::local_time(file.written_at)]);
    output.table(&["FILE", "SIZE", "WRITTEN"], &rows.collect::<Vec<_>>())
}

fn read(args: &ReadArgs, admin: &Admin, context: &Context) -> Result<()> {
    let bytes = admin.file(&admin.conversation(&args.conversation)?, &args.file)?;
    if context.output.is_terminal() {
        // At a terminal, what a guest wrote must not act on it. A pipe gets it as it is.
        return context.output.text(&super::output::printable(&String::from_utf8_lossy(&bytes)));
    }
    context.output.bytes(&bytes)
}

fn export(args: &ExportArgs, admin: &Admin, context: &Context) -> Result<()> {
    let conversation = admin.conversation(&args.conversation)?;
    let files = admin.files(&conversation)?;
    let folder = std::path::absolute(&args.folder).map_err(|error| Error::file(&args.folder, &error))?;
    if folder.symlink_metadata().is_ok() {
        return Err(Error::new(ErrorKind::Usage, format!("`{}` is there already", args.folder.display())));
    }
    match (folder.parent(), folder.file_name().and_then(|name| name.to_str())) {
        (Some(parent), Some(name)) => make_folder(parent, name)?,
        _ => {
            return Err(Error::new(ErrorKind::Usage, format!("`{}` is no folder to make", args.folder.display())));
        }
    }
    for file in &files {
        let path = place(&folder, file)?;
        let bytes = admin.file(&conversation, &file.address())?;
        if !write_whole(&path, &bytes, Existing::Keep)? {
            return Err(Error::new(ErrorKind::Usage, format!("`{}` is there already", path.display())));
        }
    }
    if context.output.is_json() {
        return context.output.value(&json!({ "folder": args.folder, "files": files.len() }));
    }
    context.output.note(&format!("wrote {}", figures::plural(files.len(), "file")));
    Ok(())
}

/// Where a file is exported to, below a folder that was made for it. Names are of a closed grammar, so none leads
/// out of it.
fn place(folder: &Path, file: &File) -> Result<PathBuf> {
    let mut path = folder.to_owned();
    let name = format!("{}/{}", file.owner, file.name);
    let mut parts: Vec<&str> = name.split('/').collect();
    let last = parts.pop().unwrap_or_default();
    for part in parts {
        make_folder(&path, part)?;
        path.push(part);
    }
    Ok(path.join(last))
}

fn delete(args: &DeleteArgs, admin: &Admin, context: &Context) -> Result<()> {
    let conversation = admin.conversation(&args.conversation)?;
    let gone = admin.delete_files(&conversation, args.file.as_deref())?;
    if context.output.is_json() {
        return context.output.value(&json!({ "conversation": conversation.key, "removed": gone }));
    }
    context.output.note(&format!("removed {}", figures::plural(gone, "file")));
    Ok(())
}
