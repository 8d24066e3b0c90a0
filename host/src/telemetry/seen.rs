//! What may be told of a call: the only place where a record becomes telemetry.
//!
//! Everything here is a name from a manifest, a code of ours, a number or an id that we made. A record also holds
//! principals, paths, addresses, names of secrets, log lines and texts of guests: none of them is read. A host is
//! told as the entry of the allow-list that admitted it, because under `*.example.com` a guest chooses the rest.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::parent::Parent;
use crate::audit::{Record, RequestRecord, Usage};
use crate::registry::CapabilityName;
use crate::runtime::Moments;

/// Stands for a capability or a tool that is not installed: what an agent asked for is its own text.
const UNKNOWN: &str = "unknown";

/// Which tool was called.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Labels {
    /// `publisher/slug`.
    pub(super) capability: Arc<str>,
    /// The tool's name in the manifest.
    pub(super) tool: Arc<str>,
}

impl Labels {
    /// A tool of an installed capability. Both names come from its manifest.
    #[must_use]
    pub fn of(capability: &CapabilityName, tool: &str) -> Self {
        Self { capability: capability.to_string().into(), tool: tool.into() }
    }

    /// A tool that is not installed, whatever it was called.
    #[must_use]
    pub fn unknown() -> Self {
        Self::fixed(UNKNOWN)
    }

    pub(super) fn fixed(word: &'static str) -> Self {
        Self { capability: word.into(), tool: word.into() }
    }
}

/// One call that has ended.
#[derive(Clone, Debug)]
pub(super) struct Seen {
    pub(super) labels: Labels,
    pub(super) parent: Option<Parent>,
    /// The record's id: leads a person from the trace to `remit audit`.
    pub(super) record: String,
    /// `ok`, `aborted`, or the code of an error.
    pub(super) outcome: String,
    pub(super) dry_run: bool,
    pub(super) began_at_ms: u64,
    pub(super) usage: Usage,
    /// Its parts, from its beginning.
    pub(super) phases: Vec<Phase>,
    pub(super) requests: Vec<Request>,
}

/// A part of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Phase {
    pub(super) name: &'static str,
    pub(super) begun: Duration,
    pub(super) took: Duration,
}

/// One outbound request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Request {
    /// One of the methods that there are.
    pub(super) method: String,
    /// The entry of the allow-list; nothing when no entry admits the URL.
    pub(super) host: Option<String>,
    pub(super) status: Option<u16>,
    /// `sent`, `planned`, or the code of an error.
    pub(super) outcome: String,
    pub(super) bytes_out: u64,
    pub(super) bytes_in: u64,
    pub(super) begun: Duration,
    pub(super) took: Duration,
}

impl Seen {
    /// What may be told of a record that ends.
    pub(super) fn of(
        record: &Record,
        labels: Labels,
        parent: Option<Parent>,
        begun: Instant,
        moments: Moments,
    ) -> Self {
        Self {
            labels,
            parent,
            record: record.id.clone(),
            outcome: record.outcome.clone(),
            dry_run: record.dry_run,
            began_at_ms: u64::try_from(record.started_at).unwrap_or_default(),
            usage: record.usage,
            phases: phases(begun, moments),
            requests: record.requests.iter().map(|request| Request::of(request, begun)).collect(),
        }
    }
}

impl Request {
    fn of(record: &RequestRecord, call: Instant) -> Self {
        Self {
            method: record.method.clone(),
            host: record.traced.host.clone(),
            status: record.status,
            outcome: record.outcome.clone(),
            bytes_out: record.bytes_out,
            bytes_in: record.bytes_in,
            begun: record.traced.begun.map(|begun| begun.saturating_duration_since(call)).unwrap_or_default(),
            took: Duration::from_millis(record.time_ms),
        }
    }
}

/// The parts that the guest's call came to. One that was not left ends with the call's work.
fn phases(call: Instant, moments: Moments) -> Vec<Phase> {
    let Moments { asked, admitted, loaded, ended } = moments;
    let Some(end) = ended else { return Vec::new() };
    let borders = [("queue", asked, admitted), ("load", admitted, loaded), ("guest", loaded, Some(end))];
    borders
        .into_iter()
        .filter_map(|(name, from, to)| {
            let from = from?;
            let took = to.unwrap_or(end).saturating_duration_since(from);
            Some(Phase { name, begun: from.saturating_duration_since(call), took })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::monotonic;

    #[test]
    fn the_parts_of_a_call_follow_each_other() {
        let call = monotonic();
        let at = |ms| Some(call + Duration::from_millis(ms));
        let ms = Duration::from_millis;
        let told = |moments| {
            let phases = phases(call, moments);
            phases.into_iter().map(|phase| (phase.name, phase.begun, phase.took)).collect::<Vec<_>>()
        };
        let whole = Moments { asked: at(1), admitted: at(3), loaded: at(10), ended: at(30) };
        assert_eq!(told(whole), [("queue", ms(1), ms(2)), ("load", ms(3), ms(7)), ("guest", ms(10), ms(20))]);
        let turned_away = Moments { asked: at(1), ended: at(5), ..Moments::default() };
        assert_eq!(told(turned_away), [("queue", ms(1), ms(4))]);
        let not_loaded = Moments { loaded: None, ..whole };
        assert_eq!(told(not_loaded), [("queue", ms(1), ms(2)), ("load", ms(3), ms(27))]);
        assert_eq!(told(Moments::default()), []);
    }
}
