//! What a call spent, which requests it made and what it changed, as rows and as JSON. Pure.

use serde_json::{Value, json};

use super::describe::indented;
use super::figures::{count, local_time, size, span, utc_time};
use crate::audit::{ChangeRecord, FileRecord, RequestRecord, Usage};
use crate::call::{Offer, Plan};
use crate::namespaces::loops::LoopChange;

/// What a call spent, for people.
pub(super) fn usage_text(usage: &Usage) -> String {
    let rows = [
        ("fuel", count(usage.fuel)),
        ("memory peak", size(usage.memory_peak)),
        ("time", span(usage.time)),
        ("host calls", count(usage.host_calls)),
        ("requests", count(usage.requests.into())),
        ("bytes out", size(usage.bytes_out)),
        ("bytes in", size(usage.bytes_in)),
    ];
    format!("usage\n{}", indented(&rows.map(|(name, value)| vec![name.to_owned(), value])))
}

/// What a call spent, for programs.
pub(super) fn usage_value(usage: &Usage) -> Value {
    json!({
        "fuel": usage.fuel,
        "memoryPeak": usage.memory_peak,
        "timeMs": usage.time.as_secs_f64() * 1e3,
        "hostCalls": usage.host_calls,
        "requests": usage.requests,
        "bytesOut": usage.bytes_out,
        "bytesIn": usage.bytes_in,
    })
}

/// Outbound requests, for people.
pub(super) fn requests_text(requests: &[RequestRecord]) -> String {
    let rows: Vec<_> = requests
        .iter()
        .map(|request| {
            let status = request.status.map_or(String::new(), |status| status.to_string());
            let secrets = request.secrets.join(", ");
            let secrets = match (request.own, secrets.is_empty()) {
                (true, _) => format!("the host's own, for {secrets}"),
                (false, true) => secrets,
                (false, false) => format!("with {secrets}"),
            };
            let redactions = match request.redactions {
                0 => String::new(),
                number => format!("{number} redacted"),
            };
            vec![
                request.method.clone(),
                format!("{}{}", request.authority, request.path),
                request.outcome.clone(),
                status,
                format!("{} out, {} in", size(request.bytes_out), size(request.bytes_in)),
                format!("{} ms", request.time_ms),
                secrets,
                redactions,
            ]
        })
        .collect();
    indented(&rows)
}

/// Outbound requests, for programs.
pub(super) fn requests_value(requests: &[RequestRecord]) -> Value {
    let values = requests.iter().map(|request| {
        json!({
            "method": request.method, "authority": request.authority, "path": request.path,
            "address": request.address, "status": request.status, "outcome": request.outcome,
            "bytesOut": request.bytes_out, "bytesIn": request.bytes_in, "secrets": request.secrets,
            "redactions": request.redactions, "timeMs": request.time_ms, "own": request.own,
        })
    });
    Value::Array(values.collect())
}

/// Changes of documents, for people.
pub(super) fn changes_text(changes: &[ChangeRecord]) -> String {
    let rows: Vec<_> = changes
        .iter()
        .map(|change| {
            let size = if change.action == "put" { size(change.bytes) } else { String::new() };
            vec![change.action.clone(), format!("{} {}", change.entity, change.key), size]
        })
        .collect();
    indented(&rows)
}

/// Changes of documents, for programs.
pub(super) fn changes_value(changes: &[ChangeRecord]) -> Value {
    let values = changes.iter().map(|change| {
        json!({
            "entity": change.entity, "key": change.key, "action": change.action,
            "version": change.version, "bytes": change.bytes,
        })
    });
    Value::Array(values.collect())
}

/// Changes of files, for people.
pub(super) fn files_text(files: &[FileRecord]) -> String {
    let rows: Vec<_> = files
        .iter()
        .map(|file| {
            let size = if file.action == "write" { size(file.bytes) } else { String::new() };
            vec![file.action.clone(), file.name.clone(), size]
        })
        .collect();
    indented(&rows)
}

/// Changes of files, for programs.
pub(super) fn files_value(files: &[FileRecord]) -> Value {
    let value = |file: &FileRecord| json!({ "name": file.name, "action": file.action, "bytes": file.bytes });
    Value::Array(files.iter().map(value).collect())
}

/// What a dry run did not do, for people; nothing when there is nothing.
pub(super) fn plan_text(plan: &Plan) -> Option<String> {
    let mut parts = Vec::new();
    if !plan.requests.is_empty() {
        parts.push(format!("not sent\n{}", requests_text(&plan.requests)));
    }
    if !plan.changes.is_empty() {
        parts.push(format!("not changed\n{}", changes_text(&plan.changes)));
    }
    if !plan.files.is_empty() {
        parts.push(format!("not written\n{}", files_text(&plan.files)));
    }
    if !plan.loops.is_empty() {
        parts.push(format!("not done\n{}", loops_text(&plan.loops)));
    }
    if !plan.listing.is_empty() {
        parts.push(format!("not shown or hidden\n{}", listing_text(&plan.listing)));
    }
    (!parts.is_empty()).then(|| parts.join(""))
}

/// What a dry run did not do, for programs.
pub(super) fn plan_value(plan: &Plan) -> Value {
    let changes = changes_value(&plan.changes);
    json!({
        "requests": requests_value(&plan.requests), "changes": changes, "loops": loops_value(&plan.loops),
        "files": files_value(&plan.files), "listing": listing_value(&plan.listing),
    })
}

fn listing_text(offers: &[Offer]) -> String {
    let row = |Offer { item, offered }: &Offer| {
        let action = if *offered { "offer" } else { "withdraw" };
        vec![action.to_owned(), item.kind().to_owned(), item.name().to_owned()]
    };
    indented(&offers.iter().map(row).collect::<Vec<_>>())
}

fn listing_value(offers: &[Offer]) -> Value {
    let value =
        |Offer { item, offered }: &Offer| json!({ "kind": item.kind(), "item": item.name(), "offered": offered });
    Value::Array(offers.iter().map(value).collect())
}

fn loops_text(changes: &[LoopChange]) -> String {
    let rows: Vec<_> = changes
        .iter()
        .map(|change| {
            let next = change.next_at.map(|at| format!("fires next at {}", local_time(at)));
            vec![change.action.to_owned(), change.name.clone(), next.unwrap_or_default()]
        })
        .collect();
    indented(&rows)
}

fn loops_value(changes: &[LoopChange]) -> Value {
    let values = changes.iter().map(
        |change| json!({ "name": change.name, "action": change.action, "nextAt": change.next_at.map(utc_time) }),
    );
    Value::Array(values.collect())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn usage_is_a_small_table() {
        let usage = Usage {
            fuel: 1_234_567,
            memory_peak: 1_114_112,
            time: Duration::from_micros(450),
            host_calls: 3,
            requests: 1,
            bytes_out: 12,
            bytes_in: 38_912,
        };
        assert_eq!(
            usage_text(&usage),
            "\
usage
  fuel         1,234,567
  memory peak  1.0 MiB
  time         0.45 ms
  host calls   3
  requests     1
  bytes out    12 B
  bytes in     38.0 KiB
"
        );
    }

    #[test]
    fn requests_are_one_line_each() {
        let request = RequestRecord {
            method: "POST".to_owned(),
            authority: "api.example.com".to_owned(),
            path: "/items".to_owned(),
            address: None,
            status: Some(201),
            outcome: "sent".to_owned(),
            bytes_out: 5,
            bytes_in: 7,
            secrets: vec!["API_KEY".to_owned()],
            redactions: 2,
            time_ms: 31,
            own: false,
            traced: crate::audit::Traced::default(),
        };
        assert_eq!(
            requests_text(std::slice::from_ref(&request)),
            "  POST  api.example.com/items  sent  201  5 B out, 7 B in  31 ms  with API_KEY  2 redacted\n"
        );
        let token = RequestRecord { own: true, bytes_out: 0, bytes_in: 0, redactions: 0, ..request };
        assert_eq!(
            requests_text(&[token]),
            "  POST  api.example.com/items  sent  201  0 B out, 0 B in  31 ms  the host's own, for API_KEY\n"
        );
    }

    #[test]
    fn changes_are_one_line_each() {
        let change = |action: &str, bytes| ChangeRecord {
            entity: "notes".to_owned(),
            key: "a b".to_owned(),
            action: action.to_owned(),
            version: 3,
            bytes,
        };
        let plan = Plan { changes: vec![change("put", 2_048), change("delete", 0)], ..Plan::default() };
        assert_eq!(
            plan_text(&plan).as_deref(),
            Some("not changed\n  put     notes a b  2.0 KiB\n  delete  notes a b\n")
        );
        assert_eq!(plan_text(&Plan::default()), None);
        assert_eq!(
            plan_value(&plan)["changes"][1],
            json!({ "entity": "notes", "key": "a b", "action": "delete", "version": 3, "bytes": 0 })
        );
    }
}
