//! The spans of a call: one for the call, and in it one for each of its parts and each outbound request.
//!
//! They are made when the call has ended, from what `seen` tells of its record: so there is one place that makes
//! spans, none is left open, and a call that nobody traces costs nothing here.

use std::time::Duration;

use opentelemetry_proto::tonic::trace::v1::span::SpanKind;
use opentelemetry_proto::tonic::trace::v1::status::StatusCode;
use opentelemetry_proto::tonic::trace::v1::{Span, Status};
use ring::rand::{SecureRandom, SystemRandom};

use super::otlp::{flag, integer, word};
use super::seen::{Request, Seen};
use crate::audit::OK;

/// The outcome of a request that was answered.
const SENT: &str = "sent";

/// The spans of one call, the call's own first. None when the system has no random numbers for ids.
pub(super) fn spans(seen: &Seen) -> Option<Vec<Span>> {
    let trace = match seen.parent {
        Some(parent) => parent.trace,
        None => random()?,
    };
    let begun = Duration::from_millis(seen.began_at_ms);
    let id: [u8; 8] = random()?;
    let at = Place { trace, parent: seen.parent.map(|parent| parent.span.to_vec()).unwrap_or_default() };
    let mut call = at.span(id, format!("call {}", seen.labels.tool), begun, seen.usage.time);
    call.kind = SpanKind::Server.into();
    call.status = status(&seen.outcome, OK);
    call.attributes = vec![
        word("remit.capability", &seen.labels.capability),
        word("remit.tool", &seen.labels.tool),
        word("remit.outcome", &seen.outcome),
        word("remit.record", &seen.record),
        flag("remit.dry_run", seen.dry_run),
        integer("remit.fuel", seen.usage.fuel),
        integer("remit.memory.peak", seen.usage.memory_peak),
        integer("remit.host_calls", seen.usage.host_calls),
    ];
    let mut spans = vec![call];
    let within = Place { trace, parent: id.to_vec() };
    let mut guest = within.parent.clone();
    for phase in &seen.phases {
        let id: [u8; 8] = random()?;
        spans.push(within.span(id, phase.name.to_owned(), begun + phase.begun, phase.took));
        guest = id.to_vec();
    }
    // The guest is the last part that a call comes to, and the only one that sends.
    let within = Place { trace, parent: guest };
    for request in &seen.requests {
        let span =
            within.span(random()?, format!("request {}", request.method), begun + request.begun, request.took);
        spans.push(described(span, request));
    }
    Some(spans)
}

/// Where a span belongs.
struct Place {
    trace: [u8; 16],
    parent: Vec<u8>,
}

impl Place {
    fn span(&self, id: [u8; 8], name: String, begun: Duration, took: Duration) -> Span {
        Span {
            trace_id: self.trace.to_vec(),
            span_id: id.to_vec(),
            parent_span_id: self.parent.clone(),
            name,
            kind: SpanKind::Internal.into(),
            start_time_unix_nano: nanoseconds(begun),
            end_time_unix_nano: nanoseconds(begun + took),
            ..Span::default()
        }
    }
}

fn described(span: Span, request: &Request) -> Span {
    let host = request.host.iter().map(|host| word("server.address", host));
    let code = request.status.iter().map(|code| integer("http.response.status_code", u64::from(*code)));
    let others = [
        word("http.request.method", &request.method),
        word("remit.outcome", &request.outcome),
        integer("http.request.body.size", request.bytes_out),
        integer("http.response.body.size", request.bytes_in),
    ];
    Span {
        kind: SpanKind::Client.into(),
        status: status(&request.outcome, SENT),
        attributes: others.into_iter().chain(host).chain(code).collect(),
        ..span
    }
}

/// A failure is marked as one. Its code is an attribute; there is no message.
fn status(outcome: &str, good: &str) -> Option<Status> {
    (outcome != good).then(|| Status { code: StatusCode::Error.into(), message: String::new() })
}

fn random<const BYTES: usize>() -> Option<[u8; BYTES]> {
    let mut bytes = [0; BYTES];
    SystemRandom::new().fill(&mut bytes).ok()?;
    Some(bytes)
}

/// OTLP counts from 1970 in nanoseconds.
fn nanoseconds(since_epoch: Duration) -> u64 {
    u64::try_from(since_epoch.as_nanos()).unwrap_or(u64::MAX)
}
