//! Tries to get a request past the allow-list, with any list, URL, header fields and body.
//!
//! An input is text: the entries of the list in the first line, the URL in the second, `name: value` lines up to
//! an empty one, and the body. Two things are asked. **The URL alone**, from `approve`: whatever is approved is on
//! the list, is a DNS name, and is read alike by every parser in this process. **The whole request**, in a dry run
//! of the real pipeline: DNS and the wire are not there, and the vault panics when it is opened, because nothing
//! of the kind may happen; what it would have sent is in its record, and that must be on the list, too.

#![no_main]

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use libfuzzer_sys::fuzz_target;
use remit::clock;
use remit::config::{Config, HttpConfig};
use remit::egress::{
    BoxFuture, Dialer, Egress, Ledger, Method, Resolver, Sender, Socket, Template, approve, is_field_value,
    is_hosts_own,
};
use remit::manifest::{Http, Manifest};
use remit::policy::{Approval, Granted, HostPattern, Place, asks, decide};
use remit::registry::{Capability, Digest};
use remit::secrets::CallSecrets;
use tokio::runtime::Runtime;

/// What a call has, so that no input runs into its end.
const CALL: Duration = Duration::from_secs(3600);

fuzz_target!(|text: &str| {
    let mut lines = text.splitn(3, '\n');
    let (Some(entries), Some(url), rest) = (lines.next(), lines.next(), lines.next().unwrap_or_default()) else {
        return;
    };
    let entries: Vec<String> = entries.split(' ').map(str::to_owned).collect();
    let allow: Vec<HostPattern> = entries.iter().filter_map(|entry| entry.parse().ok()).collect();
    check_entries(&allow);
    let is_approved = check_url(url, &allow);
    check_request(url, rest, entries, &allow, is_approved);
});

/// An entry is one name at one port, in its one spelling.
fn check_entries(allow: &[HostPattern]) {
    for entry in allow {
        check_name(entry.name());
        let again: HostPattern = entry.to_string().parse().expect("what is shown can be read");
        assert_eq!(again, *entry);
        assert!(entry.covers(entry) && entry.port() != 0);
        assert!(!entry.is_wildcard() || !entry.matches(entry.name(), entry.port()), "a wildcard covers its apex");
    }
}

/// Letters, digits and hyphens between single dots, more than one label, and no address.
fn check_name(name: &str) {
    let labels: Vec<_> = name.split('.').collect();
    assert!(labels.len() > 1 && name.len() <= 253, "{name}");
    for label in &labels {
        assert!(!label.is_empty() && label.len() <= 63 && !label.starts_with('-') && !label.ends_with('-'), "{name}");
        assert!(label.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-')), "{name}");
    }
    assert!(name.parse::<IpAddr>().is_err(), "{name}");
}

/// Whatever is approved is on the list, and everybody reads it alike.
fn check_url(url: &str, allow: &[HostPattern]) -> bool {
    let Ok(target) = approve(url, allow) else { return false };
    let (host, port) = (target.host(), target.port());
    assert!(allow.iter().any(|entry| entry.matches(host, port)), "{host}:{port}");
    check_name(host);
    assert!(url.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\'));
    // The raw text names the host at once, and nothing else can: not even a reader that only looks for `/`.
    let after = &url[..8].eq_ignore_ascii_case("https://").then_some(&url[8..]).expect("a scheme");
    let raw = after.split(['/', '?', '#']).next().unwrap_or_default();
    assert!(raw.eq_ignore_ascii_case(host) || raw.eq_ignore_ascii_case(&format!("{host}:{port}")), "{raw}");
    let parsed = target.url();
    assert_eq!(parsed.scheme(), "https");
    assert_eq!((parsed.host_str(), parsed.port_or_known_default()), (Some(host), Some(port)));
    assert_eq!((parsed.username(), parsed.password(), parsed.fragment()), ("", None, None));
    let uri: http::Uri = parsed.as_str().parse().expect("what is sent can be read");
    assert_eq!((uri.host(), uri.port_u16().unwrap_or(443)), (Some(host), port));
    // Read again, it is the same: nothing was repaired that could be repaired another way.
    let again = approve(parsed.as_str(), allow).expect("what was approved stays approved");
    assert_eq!(again, target);
    true
}

/// The pipeline without a network: a request that may change something is planned in a dry run, and no more.
fn check_request(url: &str, rest: &str, entries: Vec<String>, allow: &[HostPattern], is_approved: bool) {
    let (head, body) = rest.split_once("\n\n").unwrap_or((rest, ""));
    let fields = head.split('\n').filter_map(|line| line.split_once(": "));
    let headers: Vec<_> = fields.map(|(name, value)| (name.to_owned(), value.as_bytes().to_vec())).collect();
    let template = Template {
        method: Method::Post,
        url: url.to_owned(),
        headers: headers.clone(),
        body: Some(body.as_bytes().to_vec()),
        timeout: None,
    };
    let granted = granted(entries, allow);
    let secrets = CallSecrets::new(&granted, || panic!("the vault was opened"));
    let sender =
        Sender { granted: &granted, secrets: &secrets, deadline: clock::monotonic() + CALL, dry_run: true };
    let mut ledger = Ledger::new(1);
    let sent = RUNTIME.with(|runtime| runtime.block_on(EGRESS.send(&sender, template, &mut ledger)));
    let [record] = ledger.requests() else { panic!("an attempt leaves one record") };
    match sent {
        Err(refusal) => assert_eq!(record.outcome, refusal.kind().code()),
        Ok(answer) => {
            assert!(is_approved && record.outcome == "planned");
            let (host, port) = record.authority.split_once(':').unwrap_or((&record.authority, "443"));
            let port = port.parse().expect("a port");
            assert!(allow.iter().any(|entry| entry.matches(host, port)), "{}", record.authority);
            assert_eq!(answer.into_inner().status, 202);
            for (name, value) in &headers {
                assert!(!is_hosts_own(&name.to_ascii_lowercase()) && is_field_value(value), "{name}");
            }
            assert!(!url.contains("{{KEY}}"), "a secret in a URL");
        }
    }
}

/// A capability that declares the list, and is granted all of it; its secret is approved for the first host.
fn granted(entries: Vec<String>, allow: &[HostPattern]) -> Granted {
    let exact = allow.iter().find(|entry| !entry.is_wildcard());
    let approval = exact.map(|entry| Approval {
        secret: "KEY".to_owned(),
        source: "KEY".to_owned(),
        host: entry.name().to_owned(),
        port: entry.port(),
        place: Place::Header("authorization".to_owned()),
    });
    let mut manifest = MANIFEST.clone();
    manifest.http = Some(Http { allow: entries, own_credentials: false });
    manifest.secrets.iter_mut().for_each(|secret| secret.hosts = exact.map(ToString::to_string).into_iter().collect());
    let grants = asks(&manifest);
    let capability = Capability {
        name: "test/fuzz".parse().expect("a name"),
        digest: Digest::of(b""),
        manifest,
        installed_at: 0,
        size: 0,
    };
    decide(&Arc::new(capability), &grants, approval.as_slice(), &Config::default())
}

static MANIFEST: LazyLock<Manifest> = LazyLock::new(|| {
    let manifest = serde_json::json!({
        "publisher": "test", "slug": "fuzz", "version": "1.0.0", "title": "Fuzz", "description": "-",
        "uses": ["http"], "http": { "allow": [] },
        "secrets": [{ "name": "KEY", "description": "-", "hosts": [], "in": ["header:authorization"] }],
    });
    serde_json::from_value(manifest).expect("a manifest")
});

static EGRESS: LazyLock<Egress> = LazyLock::new(|| {
    let limits = HttpConfig { per_minute: u32::MAX, ..HttpConfig::default() };
    Egress::new(Arc::new(Nowhere), Arc::new(Nowhere), limits, BTreeMap::new()).expect("an egress")
});

thread_local! {
    static RUNTIME: Runtime =
        tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
}

/// Neither DNS nor a network.
struct Nowhere;

impl Resolver for Nowhere {
    fn resolve<'a>(&'a self, name: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>> {
        panic!("`{name}` was looked up");
    }
}

impl Dialer for Nowhere {
    fn connect(&self, address: SocketAddr) -> BoxFuture<'_, io::Result<Socket>> {
        panic!("{address} was dialled");
    }
}
