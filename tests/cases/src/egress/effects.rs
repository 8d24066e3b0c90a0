//! What a request did and did not do: look-ups, connections, reads of secrets, records. The order of the host's
//! steps is part of its promise, so a refusal must have cost what its step costs and nothing beyond.

use remit::audit::RequestRecord;
use remit::egress::{Answer, Refusal};
use remit::error::ErrorKind;
use url::Url;

use super::case::Case;
use super::plan::Plan;
use super::world::{Left, World, value_of};

/// The outcome of an attempt that was answered.
const SENT: &str = "sent";

/// How far beyond its limit a body may have been read: what was on its way when it was cut.
const ON_ITS_WAY: u64 = 1024 * 1024;

/// Fields that the host adds to every request, or that say how long its body is.
const HOSTS_OWN: [&str; 4] = ["host", "user-agent", "accept-encoding", "content-length"];

/// How often the world was asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Tally {
    pub(super) looked_up: usize,
    pub(super) dialled: usize,
    hellos: usize,
    requests: usize,
    secret_reads: usize,
}

impl Tally {
    pub(super) fn of(world: &World) -> Self {
        Self {
            looked_up: world.names.asked().len(),
            dialled: world.wires.asked().len(),
            hellos: world.wires.log.hellos().len(),
            requests: world.wires.log.requests().len(),
            secret_reads: world.secret_reads(),
        }
    }

    fn since(self, before: Self) -> Self {
        Self {
            looked_up: self.looked_up - before.looked_up,
            dialled: self.dialled - before.dialled,
            hellos: self.hellos - before.hellos,
            requests: self.requests - before.requests,
            secret_reads: self.secret_reads - before.secret_reads,
        }
    }
}

/// How far an attempt came before it was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Step {
    /// Nothing was looked up.
    Nothing,
    /// The name was looked up, and no address dialled.
    Address,
    /// An address was dialled, and no request sent.
    Connection,
    /// A request was sent.
    Exchange,
}

impl Step {
    fn of(kind: ErrorKind, plan: &Plan) -> Self {
        match kind {
            ErrorKind::HttpPrivateAddress if plan.peer.is_some() || plan.is_own => Self::Connection,
            ErrorKind::HttpDnsFailed | ErrorKind::HttpPrivateAddress => Self::Address,
            ErrorKind::HttpTlsFailed | ErrorKind::HttpConnectFailed => Self::Connection,
            ErrorKind::HttpTimeout
            | ErrorKind::HttpResponseTooLarge
            | ErrorKind::HttpResponseInvalid
            | ErrorKind::HttpRedirectRefused => Self::Exchange,
            _ => Self::Nothing,
        }
    }
}

/// What is wrong about a refused request: the last attempt of it was refused, those before were redirects.
pub(super) fn check_denied(
    plan: &Plan,
    world: &World,
    before: Tally,
    left: &Left,
    refusal: &Refusal,
) -> Vec<String> {
    let kind = refusal.kind();
    let mut wrong = Vec::new();
    let Some((last, earlier)) = left.records.split_last() else {
        return vec!["no attempt was recorded".to_owned()];
    };
    // A `Location` that cannot be read ends the attempt that was answered with it: there is no next one.
    let is_unread = plan.redirects && last.status.is_some();
    let step = if is_unread { Step::Exchange } else { Step::of(kind, plan) };
    if last.outcome != kind.code() || earlier.iter().any(|record| record.outcome != SENT) {
        wrong.push(format!("recorded as {:?}", outcomes(&left.records)));
    }
    let hops = earlier.len();
    let reached = |at: Step| hops + usize::from(step >= at);
    let tally = Tally::of(world).since(before);
    check("look-ups", tally.looked_up, reached(Step::Address), &mut wrong);
    check("connections", tally.dialled, reached(Step::Connection), &mut wrong);
    check("requests on the wire", tally.requests, reached(Step::Exchange), &mut wrong);
    check("reads of secrets", tally.secret_reads, reads(hops, step >= Step::Connection, left, world), &mut wrong);
    if kind == ErrorKind::HttpPrivateAddress {
        check("TLS handshakes", tally.hellos, hops, &mut wrong);
    }
    if kind == ErrorKind::HttpResponseTooLarge && last.bytes_in > world.limits.response_bytes as u64 + ON_ITS_WAY {
        wrong.push(format!("{} bytes were read", last.bytes_in));
    }
    check_hops(world, before, left, &mut wrong);
    check_secrets(world, left, &mut wrong);
    wrong
}

/// What is wrong about an answered request.
pub(super) fn check_allowed(
    case: &Case,
    world: &World,
    before: Tally,
    left: &Left,
    answer: &Answer,
) -> Vec<String> {
    let mut wrong = Vec::new();
    if left.records.is_empty() || left.records.iter().any(|record| record.outcome != SENT) {
        wrong.push(format!("recorded as {:?}", outcomes(&left.records)));
    }
    let hops = left.records.len();
    let tally = Tally::of(world).since(before);
    check("look-ups", tally.looked_up, hops, &mut wrong);
    check("connections", tally.dialled, hops, &mut wrong);
    check("requests on the wire", tally.requests, hops, &mut wrong);
    check("reads of secrets", tally.secret_reads, reads(hops, false, left, world), &mut wrong);
    check_hops(world, before, left, &mut wrong);
    check_secrets(world, left, &mut wrong);

    let asked = Url::parse(&case.url_or_host).ok().and_then(|url| url.domain().map(str::to_owned));
    let first = world.names.asked().get(before.looked_up).map(|look_up| look_up.name.clone());
    if first != asked {
        wrong.push(format!("{first:?} was looked up first, for {asked:?}"));
    }
    if let Some(expected) = &case.assert_next_hop_headers {
        let requests = world.wires.log.requests();
        match requests.get(before.requests + 1) {
            Some(request) if guest_fields(request) == *expected => {}
            Some(request) => wrong.push(format!("the next hop got the fields {:?}", guest_fields(request))),
            None => wrong.push("there was no next hop".to_owned()),
        }
    }
    for absent in case.assert_guest_headers_absent.iter().flatten() {
        if answer.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case(absent)) {
            wrong.push(format!("the guest sees `{absent}`"));
        }
    }
    wrong
}

fn check(what: &str, found: usize, expected: usize, wrong: &mut Vec<String>) {
    if found != expected {
        wrong.push(format!("{found} {what} instead of {expected}"));
    }
}

/// Secrets are read once a call, when the first attempt may be dialled, and never when none is declared.
fn reads(hops: usize, dialled: bool, left: &Left, world: &World) -> usize {
    debug_assert!(hops <= left.records.len());
    usize::from((hops > 0 || dialled) && world.has_secrets())
}

/// Name, address, certificate and record of each connection belong together.
fn check_hops(world: &World, before: Tally, left: &Left, wrong: &mut Vec<String>) {
    let (asked, dialled) = (world.names.asked(), world.wires.asked());
    let (hellos, requests) = (world.wires.log.hellos(), world.wires.log.requests());
    for (index, record) in left.records.iter().enumerate() {
        let (Some(look_up), Some(address)) =
            (asked.get(before.looked_up + index), dialled.get(before.dialled + index))
        else {
            return;
        };
        let (host, port) = record.authority.split_once(':').unwrap_or((&record.authority, "443"));
        if look_up.name != host {
            wrong.push(format!("`{}` was looked up for `{host}`", look_up.name));
        }
        if !look_up.addresses.contains(&address.ip()) || address.port().to_string() != port {
            wrong.push(format!("{address} was dialled, for {:?} at {port}", look_up.addresses));
        }
        // A refused address stands in the record without the port.
        let there = [address.to_string(), world.wires.peer(*address).to_string()];
        if record.address.as_ref().is_some_and(|recorded| !there.contains(recorded)) {
            wrong.push(format!("{:?} was recorded for {address}", record.address));
        }
        if hellos.get(before.hellos + index).is_some_and(|hello| hello.name.as_deref() != Some(host)) {
            wrong.push(format!("TLS was spoken for another name than `{host}`"));
        }
        let host_line = format!("\r\nhost: {}\r\n", record.authority);
        if requests.get(before.requests + index).is_some_and(|request| !request.contains(&host_line)) {
            wrong.push(format!("a request did not say that it is for `{}`", record.authority));
        }
    }
}

/// No value is in what a call leaves behind, nor in a request to another host than the one it is approved for.
fn check_secrets(world: &World, left: &Left, wrong: &mut Vec<String>) {
    let kept = format!(
        "{:?} {:?}",
        left.records,
        left.result
            .as_ref()
            .map(|answer| { (answer.headers.clone(), String::from_utf8_lossy(&answer.body).into_owned()) })
    );
    let requests = world.wires.log.requests();
    for (name, host) in world.secrets() {
        let value = value_of(name);
        let elsewhere = requests
            .iter()
            .any(|request| request.contains(&value) && !request.contains(&format!("\r\nhost: {host}\r\n")));
        if kept.contains(&value) || elsewhere {
            wrong.push(format!("the value of `{name}` is where it should not be"));
        }
    }
}

fn outcomes(records: &[RequestRecord]) -> Vec<&str> {
    records.iter().map(|record| record.outcome.as_str()).collect()
}

/// The names of the fields in a request that are not the host's.
fn guest_fields(request: &str) -> Vec<String> {
    let head = request.split("\r\n\r\n").next().unwrap_or_default();
    let names = head.lines().skip(1).filter_map(|line| line.split_once(':')).map(|(name, _)| name.to_owned());
    names.filter(|name| !HOSTS_OWN.contains(&name.as_str())).collect()
}
