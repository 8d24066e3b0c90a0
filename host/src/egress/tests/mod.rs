//! The whole pipeline, without a network: a resolver and a dialer that count and follow a script, and a TLS
//! server at the other end of a pipe in memory. Time stands still and jumps when everything waits.

mod limits;
mod order;
mod redirects;
mod secrets;
mod upstream;

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use remit_upstream::script::{Certificate, Reply, authority};
use serde_json::json;
use zeroize::Zeroizing;

use super::{Answer, Egress, Exceptions, Ledger, Method, Refusal, Sender, Template};
use crate::audit::RequestRecord;
use crate::clock;
use crate::config::{Config, HttpConfig};
use crate::error::ErrorKind;
use crate::policy::{self, Approval, Granted, Place, SecretUse};
use crate::registry::{Capability, Digest};
use crate::secrets::{CallSecrets, SecretSet, SecretValue};
use upstream::{FakeDialer, FakeResolver};

const PUBLIC: &str = "93.184.215.14";
const VALUE: &str = "sk-0123456789abcdef";

/// Everything that one test can set, and what it can look at afterwards.
struct World {
    allow: Vec<&'static str>,
    own_credentials: bool,
    secrets: Vec<SecretUse>,
    values: Vec<(&'static str, String)>,
    limits: HttpConfig,
    budget: u32,
    private: Vec<&'static str>,
    connect: Vec<(&'static str, u16, SocketAddr)>,
    dry_run: bool,
    deadline: Duration,
    resolver: FakeResolver,
    dialer: FakeDialer,
}

/// What one call left behind.
struct Seen {
    result: Result<Answer, Refusal>,
    looked_up: Vec<String>,
    dialled: Vec<SocketAddr>,
    secret_reads: usize,
    /// The requests as the server read them.
    requests: Vec<String>,
    records: Vec<RequestRecord>,
    plan: Vec<RequestRecord>,
    hint: Option<String>,
}

impl World {
    fn new() -> Self {
        Self {
            allow: vec!["api.example.com", "b.example.com"],
            own_credentials: false,
            secrets: Vec::new(),
            values: Vec::new(),
            limits: HttpConfig::default(),
            budget: 20,
            private: Vec::new(),
            connect: Vec::new(),
            dry_run: false,
            deadline: Duration::from_secs(3600),
            resolver: FakeResolver::new(&[("api.example.com", &[PUBLIC]), ("b.example.com", &[PUBLIC])]),
            dialer: FakeDialer::default(),
        }
    }

    /// A world whose server answers with these, one connection each.
    fn answering(replies: impl IntoIterator<Item = Reply>) -> Self {
        let mut world = Self::new();
        world.dialer = FakeDialer::new(replies);
        world
    }

    /// Declares and sets a secret, approved for these hosts and places.
    fn with_secret(mut self, name: &'static str, approvals: &[(&str, Place)]) -> Self {
        let approvals = approvals.iter().map(|(host, place)| Approval {
            secret: name.to_owned(),
            source: name.to_owned(),
            host: (*host).to_owned(),
            port: 443,
            place: place.clone(),
        });
        self.secrets.push(SecretUse { name: name.to_owned(), approvals: approvals.collect() });
        self.values.push((name, VALUE.to_owned()));
        self
    }

    /// What policy decides when all that this world has is declared, and granted.
    fn granted(&self) -> Granted {
        let declared = self.secrets.iter().map(|secret| {
            let hosts: Vec<_> = secret.approvals.iter().map(|approval| &approval.host).collect();
            let places: Vec<_> = secret.approvals.iter().map(|approval| approval.place.to_string()).collect();
            json!({ "name": secret.name, "description": "-", "hosts": hosts, "in": places })
        });
        let manifest = json!({
            "publisher": "acme", "slug": "weather", "version": "1.0.0", "title": "Weather", "description": "-",
            "uses": ["http"],
            "http": { "allow": self.allow, "ownCredentials": self.own_credentials },
            "secrets": declared.collect::<Vec<_>>(),
            "limits": { "httpRequests": self.budget },
        });
        let capability = Arc::new(Capability {
            name: "acme/weather".parse().unwrap(),
            digest: Digest::of(b""),
            manifest: serde_json::from_value(manifest).unwrap(),
            installed_at: 0,
            size: 0,
        });
        let approvals: Vec<_> = self.secrets.iter().flat_map(|secret| secret.approvals.clone()).collect();
        policy::decide(&capability, &policy::asks(&capability.manifest), &approvals, &Config::default())
    }

    fn egress(&self) -> Egress {
        let exceptions = Exceptions::for_test(&self.private, &self.connect, authority());
        let exceptions = BTreeMap::from([("acme/weather".parse().unwrap(), exceptions)]);
        let (resolver, dialer) = (Arc::new(self.resolver.clone()), Arc::new(self.dialer.clone()));
        Egress::new(resolver, dialer, self.limits, exceptions).unwrap()
    }

    async fn send(&self, template: Template) -> Seen {
        self.send_all([template]).await
    }

    /// Sends several requests in one call; the result is that of the last.
    async fn send_all(&self, templates: impl IntoIterator<Item = Template>) -> Seen {
        let granted = self.granted();
        let egress = self.egress();
        let reads = Arc::new(AtomicUsize::new(0));
        let (counter, values) = (Arc::clone(&reads), self.values.clone());
        let secrets = CallSecrets::new(&granted, move || {
            counter.fetch_add(1, Ordering::Relaxed);
            let value = |(name, value): &(&str, String)| SecretValue {
                name: (*name).to_owned(),
                source: (*name).to_owned(),
                value: Zeroizing::new(value.clone().into_bytes()),
                is_usable: true,
            };
            Ok(SecretSet::new(values.iter().map(value).collect()))
        });
        let sender = Sender {
            granted: &granted,
            secrets: &secrets,
            deadline: clock::monotonic() + self.deadline,
            dry_run: self.dry_run,
        };
        let mut ledger = Ledger::new(granted.budget().http_requests);
        let mut result = Err(Refusal::Timeout);
        for template in templates {
            result = egress.send(&sender, template, &mut ledger).await;
        }
        Seen {
            result: result.map(crate::secrets::Redacted::into_inner),
            looked_up: self.resolver.calls(),
            dialled: self.dialer.calls(),
            secret_reads: reads.load(Ordering::Relaxed),
            requests: self.dialer.requests(),
            plan: ledger.plan(),
            hint: ledger.hint().map(str::to_owned),
            records: ledger.into_requests(),
        }
    }
}

impl Seen {
    fn kind(&self) -> Option<ErrorKind> {
        self.result.as_ref().err().map(Refusal::kind)
    }

    fn answer(&self) -> &Answer {
        self.result.as_ref().unwrap_or_else(|refusal| panic!("{refusal}"))
    }

    fn outcomes(&self) -> Vec<&str> {
        self.records.iter().map(|record| record.outcome.as_str()).collect()
    }
}

fn template(method: Method, url: &str) -> Template {
    Template { method, url: url.to_owned(), headers: Vec::new(), body: None, timeout: None }
}

fn get(url: &str) -> Template {
    template(Method::Get, url)
}

impl Template {
    fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.as_bytes().to_vec()));
        self
    }

    fn body(mut self, body: &str) -> Self {
        self.body = Some(body.as_bytes().to_vec());
        self
    }
}

fn header(name: &str) -> Place {
    Place::Header(name.to_owned())
}

fn address(text: &str) -> IpAddr {
    text.parse().unwrap()
}
