//! `remit audit`: the records of calls.

use std::fmt::Write as _;

use clap::Args;
use jiff::tz::TimeZone;
use serde_json::{Value, json};

use super::output::printable;
use super::{Context, figures, spent};
use crate::audit::{Query, Record};
use crate::clock::Clock;
use crate::error::{Error, ErrorKind, Result};

/// List the records of calls, newest first, or show one in full
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  remit audit --since 1h
  remit audit --capability acme/weather --outcome capability/failed
  remit audit --request-outcome http/host-not-allowed
  remit audit ID                 with its requests, its changes and its log")]
pub(super) struct AuditArgs {
    /// Show this record in full
    #[arg(conflicts_with_all = ["capability", "tool", "outcome", "request_outcome", "since"])]
    id: Option<String>,
    /// Only calls of this capability
    #[arg(long, value_name = "NAME")]
    capability: Option<String>,
    /// Only calls of this tool
    #[arg(long)]
    tool: Option<String>,
    /// Only with this outcome: `ok`, `running`, `aborted`, or the code of an error
    #[arg(long)]
    outcome: Option<String>,
    /// Only with an outbound request of this outcome: `sent`, `planned`, or the code of an error. A capability mostly
    /// turns a refused request into a failure of its own, which `--outcome` finds as `capability/failed`
    #[arg(long, value_name = "OUTCOME")]
    request_outcome: Option<String>,
    /// Only since then: `90m`, `1h`, `2d`, a date, or a time
    #[arg(long, value_name = "WHEN")]
    since: Option<String>,
    /// At most so many
    #[arg(long, value_name = "NUMBER", default_value_t = 50)]
    limit: usize,
}

/// Runs it.
pub(super) fn run(args: AuditArgs, context: &Context) -> Result<()> {
    let since_ms = args.since.as_deref().map(read_since).transpose()?;
    let limit = args.limit;
    let query = Query {
        id: args.id,
        capability: args.capability,
        tool: args.tool,
        outcome: args.outcome,
        request_outcome: args.request_outcome,
        since_ms,
        // One more tells whether there are more.
        limit: limit.saturating_add(1),
    };
    let app = context.open()?;
    let records = app.admin().records(&query)?;
    match &query.id {
        Some(id) => one(records.first(), id, context),
        None => list(&records, limit, context),
    }
}

fn read_since(text: &str) -> Result<i64> {
    figures::since(text, Clock::system().now_ms(), &TimeZone::system()).ok_or_else(|| {
        Error::new(ErrorKind::Usage, format!("`{text}` is no time"))
            .hint("for example 90m, 1h, 2d, 2026-01-31, or 2026-01-31T08:00")
    })
}

fn one(record: Option<&Record>, id: &str, context: &Context) -> Result<()> {
    let output = context.output;
    let Some(record) = record else {
        return Err(Error::new(ErrorKind::Usage, format!("there is no record `{id}`")).hint("remit audit"));
    };
    if output.is_json() { output.value(&record_value(record)) } else { output.text(&record_text(record)) }
}

fn list(records: &[Record], limit: usize, context: &Context) -> Result<()> {
    let output = context.output;
    let shown = &records[..records.len().min(limit)];
    if output.is_json() {
        return output.value(&Value::Array(shown.iter().map(record_value).collect()));
    }
    if shown.is_empty() {
        output.note("no calls");
        return Ok(());
    }
    let rows: Vec<_> = shown
        .iter()
        .map(|record| {
            vec![
                record.id.clone(),
                figures::local_time(record.started_at),
                record.principal.clone(),
                format!("{}.{}", record.capability, record.tool),
                record.outcome.clone(),
                figures::span(record.usage.time),
                record.requests.len().to_string(),
            ]
        })
        .collect();
    output.table(&["ID", "TIME", "BY", "TOOL", "OUTCOME", "TOOK", "REQUESTS"], &rows)?;
    if records.len() > limit {
        output.note("\nhint: there are more: pass `--limit`, or narrow it with `--since`");
    }
    Ok(())
}

fn record_text(record: &Record) -> String {
    let dry_run = if record.dry_run { " (dry run)" } else { "" };
    let mut text = format!("{}.{}{dry_run}: {}\n", record.capability, record.tool, record.outcome);
    let mut rows = vec![
        vec!["id".to_owned(), record.id.clone()],
        vec!["time".to_owned(), figures::local_time(record.started_at)],
        vec!["by".to_owned(), record.principal.clone()],
    ];
    rows.extend(record.digest.iter().map(|digest| vec!["digest".to_owned(), digest.clone()]));
    rows.extend(record.detail.iter().map(|detail| vec!["why".to_owned(), detail.clone()]));
    text.push_str(&super::describe::indented(&rows));
    let _ = write!(text, "\n{}", spent::usage_text(&record.usage));
    if !record.requests.is_empty() {
        let _ = write!(text, "\nrequests\n{}", spent::requests_text(&record.requests));
    }
    if !record.changes.is_empty() {
        let _ = write!(text, "\nchanges\n{}", spent::changes_text(&record.changes));
    }
    if !record.files.is_empty() {
        let _ = write!(text, "\nfiles\n{}", spent::files_text(&record.files));
    }
    if !record.log.is_empty() {
        text.push_str("\nlog\n");
        for line in &record.log {
            let _ = writeln!(text, "  {}", printable(line).replace('\n', "\n    "));
        }
    }
    text
}

fn record_value(record: &Record) -> Value {
    json!({
        "id": record.id,
        "startedAt": figures::utc_time(record.started_at),
        "principal": record.principal,
        "capability": record.capability,
        "tool": record.tool,
        "digest": record.digest,
        "dryRun": record.dry_run,
        "outcome": record.outcome,
        "detail": record.detail,
        "usage": spent::usage_value(&record.usage),
        "requests": spent::requests_value(&record.requests),
        "changes": spent::changes_value(&record.changes),
        "files": spent::files_value(&record.files),
        "log": record.log,
    })
}
