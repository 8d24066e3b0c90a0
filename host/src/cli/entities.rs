//! `remit entities`: the documents that capabilities keep, for people.

mod lines;

use std::path::PathBuf;

use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::{Context, figures};
use crate::admin::Admin;
use crate::error::{Error, ErrorKind, Result};
use crate::registry::CapabilityName;
use crate::store::{Existing, write_whole};

/// Look at the documents that capabilities keep, and change them
///
/// Documents outlive upgrades and uninstalls. What a person changes here keeps the limits of `[entities]`, and is
/// recorded like a call.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  remit entities list
  remit entities list acme/notes notes 2026-
  remit entities get acme/notes notes groceries
  remit entities history acme/notes notes groceries
  remit entities restore acme/notes notes groceries --version 7
  remit entities export acme/notes notes.jsonl
  remit entities import acme/notes notes.jsonl --dry-run")]
pub(super) struct EntitiesArgs {
    #[command(subcommand)]
    command: EntitiesCommand,
}

#[derive(Debug, Subcommand)]
enum EntitiesCommand {
    /// List who keeps documents, the entities of one capability, or the documents of one entity
    List(ListArgs),
    /// Print the value of one document
    Get(DocumentArgs),
    /// List what one document is and was, the newest first
    History(DocumentArgs),
    /// Give a document the value of one of its versions
    Restore(RestoreArgs),
    /// Write every document as one line of JSON: entity, key, value, version and changedAt
    Export(ExportArgs),
    /// Put the documents of such lines, all or none; what is not among them stays
    Import(ImportArgs),
    /// Remove one document
    Delete(DocumentArgs),
}

#[derive(Debug, Args)]
struct ListArgs {
    /// `publisher/slug`
    name: Option<CapabilityName>,
    /// The entity
    entity: Option<String>,
    /// Only documents whose keys begin so
    prefix: Option<String>,
    /// At most so many documents
    #[arg(long, value_name = "NUMBER", default_value_t = 100)]
    limit: usize,
}

#[derive(Debug, Args)]
struct DocumentArgs {
    /// `publisher/slug`
    name: CapabilityName,
    /// The entity
    entity: String,
    /// The document
    key: String,
}

#[derive(Debug, Args)]
struct RestoreArgs {
    #[command(flatten)]
    document: DocumentArgs,
    /// The version whose value it gets
    #[arg(long, value_name = "NUMBER")]
    version: u64,
}

#[derive(Debug, Args)]
struct ExportArgs {
    /// `publisher/slug`
    name: CapabilityName,
    /// The file to write, which must not exist. Without it: stdout
    file: Option<PathBuf>,
}

#[derive(Debug, Args)]
struct ImportArgs {
    /// `publisher/slug`
    name: CapabilityName,
    /// The lines, or `-` for stdin
    file: PathBuf,
    /// Check everything, change nothing
    #[arg(long)]
    dry_run: bool,
}

/// Runs it.
pub(super) fn run(args: EntitiesArgs, context: &Context) -> Result<()> {
    let app = context.open()?;
    let admin = app.admin();
    match args.command {
        EntitiesCommand::List(args) => match (&args.name, &args.entity) {
            (None, _) => list_capabilities(admin, context),
            (Some(name), None) => list_entities(name, admin, context),
            (Some(name), Some(entity)) => {
                list_documents(name, entity, args.prefix.as_deref(), args.limit, admin, context)
            }
        },
        EntitiesCommand::Get(args) => get(&args, admin, context),
        EntitiesCommand::History(args) => history(&args, admin, context),
        EntitiesCommand::Restore(args) => restore(&args, admin, context),
        EntitiesCommand::Export(args) => export(&args, admin, context),
        EntitiesCommand::Import(args) => import(&args, admin, context),
        EntitiesCommand::Delete(args) => delete(&args, admin, context),
    }
}

fn list_capabilities(admin: &Admin, context: &Context) -> Result<()> {
    let output = context.output;
    let holdings: Vec<_> = admin.holdings()?.into_iter().filter(|holding| holding.sums.documents > 0).collect();
    let installed = admin.installed()?;
    let is_installed = |name| installed.entries.contains_key(name);
    if output.is_json() {
        let values = holdings.iter().map(|holding| {
            json!({
                "name": holding.name.to_string(), "installed": is_installed(&holding.name),
                "documents": holding.sums.documents, "bytes": holding.sums.bytes,
            })
        });
        return output.value(&Value::Array(values.collect()));
    }
    if holdings.is_empty() {
        output.note("no capability keeps documents");
        return Ok(());
    }
    let rows = holdings.iter().map(|holding| {
        let installed = if is_installed(&holding.name) { "yes" } else { "no" };
        let sums = holding.sums;
        vec![
            holding.name.to_string(),
            figures::count(sums.documents),
            figures::size(sums.bytes),
            installed.to_owned(),
        ]
    });
    output.table(&["NAME", "DOCUMENTS", "SIZE", "INSTALLED"], &rows.collect::<Vec<_>>())
}

fn list_entities(name: &CapabilityName, admin: &Admin, context: &Context) -> Result<()> {
    let output = context.output;
    let entities = admin.entities(name)?;
    if output.is_json() {
        let values = entities.iter().map(|entity| {
            json!({
                "entity": entity.entity, "documents": entity.sums.documents, "bytes": entity.sums.bytes,
            })
        });
        return output.value(&Value::Array(values.collect()));
    }
    if entities.is_empty() {
        output.note(&format!("{name} keeps no documents"));
        return Ok(());
    }
    let rows = entities.into_iter().map(|entity| {
        vec![entity.entity, figures::count(entity.sums.documents), figures::size(entity.sums.bytes)]
    });
    output.table(&["ENTITY", "DOCUMENTS", "SIZE"], &rows.collect::<Vec<_>>())
}

fn list_documents(
    name: &CapabilityName,
    entity: &str,
    prefix: Option<&str>,
    limit: usize,
    admin: &Admin,
    context: &Context,
) -> Result<()> {
    let output = context.output;
    let page = admin.documents(name, entity, prefix.unwrap_or_default(), limit)?;
    if output.is_json() {
        let values = page.documents.iter().map(|document| {
            json!({
                "key": document.key, "version": document.version, "bytes": document.size(),
                "changedAt": figures::utc_time(document.changed_at),
            })
        });
        return output.value(&Value::Array(values.collect()));
    }
    if page.documents.is_empty() {
        output.note(&format!("{name} keeps no such documents in `{entity}`"));
        return Ok(());
    }
    let rows = page.documents.iter().map(|document| {
        vec![
            document.key.clone(),
            document.version.to_string(),
            figures::size(document.size()),
            figures::local_time(document.changed_at),
        ]
    });
    output.table(&["KEY", "VERSION", "SIZE", "CHANGED"], &rows.collect::<Vec<_>>())?;
    if page.next.is_some() {
        output.note("\nhint: there are more: pass `--limit`, or the beginning of their keys");
    }
    Ok(())
}

fn get(args: &DocumentArgs, admin: &Admin, context: &Context) -> Result<()> {
    let output = context.output;
    let document = admin.document(&args.name, &args.entity, &args.key)?;
    if output.is_json() {
        return output.text(&lines::write(&args.entity, &document)?);
    }
    // At a terminal, what a guest wrote must not act on it. A pipe gets it as it is.
    output.text(&if output.is_terminal() { super::output::printable(&document.value) } else { document.value })
}

fn history(args: &DocumentArgs, admin: &Admin, context: &Context) -> Result<()> {
    let DocumentArgs { name, entity, key } = args;
    let output = context.output;
    let versions = admin.history(name, entity, key)?;
    if versions.is_empty() {
        return admin.document(name, entity, key).map(drop);
    }
    if output.is_json() {
        let values = versions.iter().map(|old| {
            let value = old.value.as_deref().map(serde_json::from_str::<Value>);
            json!({
                "version": old.version, "changedAt": figures::utc_time(old.changed_at),
                "value": value.and_then(Result::ok), "removed": old.value.is_none(),
            })
        });
        return output.value(&Value::Array(values.collect()));
    }
    let rows = versions.into_iter().map(|old| {
        let value = old.value.map_or_else(|| "removed".to_owned(), |value| super::describe::one_line(&value));
        vec![old.version.to_string(), figures::local_time(old.changed_at), value]
    });
    output.table(&["VERSION", "CHANGED", "VALUE"], &rows.collect::<Vec<_>>())
}

fn restore(args: &RestoreArgs, admin: &Admin, context: &Context) -> Result<()> {
    let DocumentArgs { name, entity, key } = &args.document;
    let version = admin.restore(name, entity, key, args.version)?;
    if context.output.is_json() {
        return context.output.value(&json!({ "entity": entity, "key": key, "version": version }));
    }
    context
        .output
        .note(&format!("`{entity}` `{key}` has its value of version {}, as version {version}", args.version));
    Ok(())
}

fn export(args: &ExportArgs, admin: &Admin, context: &Context) -> Result<()> {
    let documents = admin.export(&args.name)?;
    let mut text = String::new();
    for (entity, document) in &documents {
        text.push_str(&lines::write(entity, document)?);
    }
    let Some(file) = &args.file else { return context.output.bytes(text.as_bytes()) };
    let path = std::path::absolute(file).map_err(|error| Error::file(file, &error))?;
    if !write_whole(&path, text.as_bytes(), Existing::Keep)? {
        return Err(Error::new(ErrorKind::Usage, format!("`{}` is there already", file.display())));
    }
    if context.output.is_json() {
        return context.output.value(&json!({ "file": file, "documents": documents.len() }));
    }
    context.output.note(&format!("wrote {}", figures::plural(documents.len(), "document")));
    Ok(())
}

fn import(args: &ImportArgs, admin: &Admin, context: &Context) -> Result<()> {
    let text = if args.file.as_os_str() == "-" {
        std::io::read_to_string(std::io::stdin())
    } else {
        std::fs::read_to_string(&args.file)
    };
    let text = text.map_err(|error| Error { kind: ErrorKind::Usage, ..Error::file(&args.file, &error) })?;
    let imported = admin.import(&args.name, lines::read(&text)?, args.dry_run)?;
    if context.output.is_json() {
        return context.output.value(&json!({
            "added": imported.added, "replaced": imported.replaced, "unchanged": imported.unchanged,
            "dryRun": args.dry_run,
        }));
    }
    let would = if args.dry_run { "would be " } else { "" };
    context.output.note(&format!(
        "{} {would}added, {} {would}replaced, {} unchanged",
        imported.added, imported.replaced, imported.unchanged
    ));
    Ok(())
}

fn delete(args: &DocumentArgs, admin: &Admin, context: &Context) -> Result<()> {
    let DocumentArgs { name, entity, key } = args;
    admin.delete_document(name, entity, key)?;
    if context.output.is_json() {
        return context.output.value(&json!({ "entity": entity, "key": key, "removed": true }));
    }
    context
        .output
        .note(&format!("removed `{entity}` `{key}`\n\nhint: remit entities history {name} {entity} KEY"));
    Ok(())
}
