//! What is remembered of a call: one record, with a child per outbound request and per change of a document or a file.
//!
//! Decides when a record is written: that of a call that may change something before its guest runs, that
//! of any other within 50 ms of its end, off the call's path. Every record ends: a call that is dropped is
//! `aborted`, and so is one whose process died. It does not decide what may be in a record: texts come here
//! redacted.

pub(crate) mod id;
mod record;

use std::time::Duration;

pub use record::{Audit, OpenRecord};

use crate::namespaces::entities::document::{Action, Change};
pub use crate::namespaces::sandbox::FileRecord;

/// The outcome of a call that answered.
pub const OK: &str = "ok";

/// The outcome of a call that has not ended.
pub const RUNNING: &str = "running";

/// The outcome of a call that was dropped, or whose process died.
pub const ABORTED: &str = "aborted";

/// What one call spent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Units of work.
    pub fuel: u64,
    /// The most memory it held at once, in bytes.
    pub memory_peak: u64,
    /// Wall-clock time from the request to the answer.
    pub time: Duration,
    /// Calls into the host.
    pub host_calls: u64,
    /// Outbound requests, redirects included.
    pub requests: u32,
    /// Bytes sent and received by them.
    pub bytes_out: u64,
    /// Bytes received by them.
    pub bytes_in: u64,
}

/// One outbound request as it is recorded: sent, refused, or planned in a dry run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestRecord {
    /// `GET`, `POST` and so on.
    pub method: String,
    /// The host and port asked for, or the text that could not be read as one, capped.
    pub authority: String,
    /// The path, without the query: queries carry data.
    pub path: String,
    /// The address that was dialled.
    pub address: Option<String>,
    /// The status that came back.
    pub status: Option<u16>,
    /// `sent`, `planned`, or the code of the error.
    pub outcome: String,
    /// Bytes of the body sent.
    pub bytes_out: u64,
    /// Bytes of the body that the guest got, or that came before reading failed.
    pub bytes_in: u64,
    /// Names of the secrets that were put in.
    pub secrets: Vec<String>,
    /// How many values were cut out of the answer.
    pub redactions: u32,
    /// Milliseconds it took.
    pub time_ms: u64,
    /// The host's own request, for the connection in `secrets`. Its sizes are not told.
    pub own: bool,
    /// What a trace shows of it. Not stored.
    pub traced: Traced,
}

/// What a trace shows of a request beside its record.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Traced {
    /// When it began.
    pub begun: Option<std::time::Instant>,
    /// The entry of the allow-list that admitted it.
    pub host: Option<String>,
}

/// One change of a document as it is recorded, or planned in a dry run. Never its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangeRecord {
    /// The collection.
    pub entity: String,
    /// The document.
    pub key: String,
    /// `put` or `delete`.
    pub action: String,
    /// The version it got; in a dry run, the one it would get now.
    pub version: u64,
    /// Bytes of the value; 0 for a removal.
    pub bytes: u64,
}

impl ChangeRecord {
    /// What is remembered of a change that got this version.
    #[must_use]
    pub fn of(change: &Change, version: u64) -> Self {
        let bytes = match &change.action {
            Action::Put(value) => value.len() as u64,
            Action::Delete => 0,
        };
        let (entity, key) = (change.entity.clone(), change.key.clone());
        Self { entity, key, action: change.action.as_str().to_owned(), version, bytes }
    }
}

/// What is known when a call begins.
#[derive(Clone, Debug)]
pub struct CallStart {
    /// Who calls.
    pub principal: String,
    /// `publisher/slug`, as it was asked for.
    pub capability: String,
    /// The tool's name, as it was asked for.
    pub tool: String,
    /// The pinned digest, once it is known.
    pub digest: Option<crate::registry::Digest>,
    /// Nothing may change.
    pub dry_run: bool,
    /// The tool may change something: its record is on disk before its guest runs.
    pub can_change: bool,
    /// The loop's run that it is. Such a record is as durable as that of a change.
    pub run: Option<String>,
    /// The confirmation that it uses up, in the transaction that begins its record.
    pub(crate) spends: Option<crate::store::Spend>,
}

/// How a call ended.
#[derive(Clone, Debug)]
pub struct CallEnd {
    /// `None` for an answer.
    pub error: Option<crate::error::ErrorKind>,
    /// For the operator: message and detail of the error, redacted.
    pub detail: Option<String>,
    /// What it spent.
    pub usage: Usage,
    /// Its outbound requests, in order.
    pub requests: Vec<RequestRecord>,
    /// What the guest logged, redacted, as `level: message` lines.
    pub log: Vec<String>,
    /// How the loop's run ends with it.
    pub run: Option<RunEnd>,
}

/// How a loop's run ends with its call.
#[derive(Clone, Debug)]
pub struct RunEnd {
    /// The run.
    pub id: String,
    /// The code of the error, if it failed.
    pub error: Option<&'static str>,
    /// The answer says that there is nothing to report.
    pub is_nothing: bool,
    /// The answer, redacted.
    pub report: Option<String>,
}

/// Which records to list.
#[derive(Clone, Debug, Default)]
pub struct Query {
    /// Only this record.
    pub id: Option<String>,
    /// Only of this capability.
    pub capability: Option<String>,
    /// Only of this tool.
    pub tool: Option<String>,
    /// Only with this outcome: `ok`, `running`, `aborted`, or the code of an error.
    pub outcome: Option<String>,
    /// Only with a request of this outcome: `sent`, `planned`, or the code of an error.
    pub request_outcome: Option<String>,
    /// Only since this time, in milliseconds since 1970.
    pub since_ms: Option<i64>,
    /// At most so many.
    pub limit: usize,
}

/// One record as it is listed.
#[derive(Clone, Debug)]
pub struct Record {
    /// Its id: sorts by time.
    pub id: String,
    /// When it began, in milliseconds since 1970.
    pub started_at: i64,
    /// Who called.
    pub principal: String,
    /// `publisher/slug`.
    pub capability: String,
    /// The tool.
    pub tool: String,
    /// The digest that ran, as text.
    pub digest: Option<String>,
    /// Nothing could change.
    pub dry_run: bool,
    /// `ok`, `running`, `aborted`, or the code of an error.
    pub outcome: String,
    /// For the operator.
    pub detail: Option<String>,
    /// What it spent.
    pub usage: Usage,
    /// Its outbound requests.
    pub requests: Vec<RequestRecord>,
    /// What it changed. Written with each change, not with the record.
    pub changes: Vec<ChangeRecord>,
    /// What it did to files of the conversation. Written with each change, too.
    pub files: Vec<FileRecord>,
    /// What the guest logged.
    pub log: Vec<String>,
}
