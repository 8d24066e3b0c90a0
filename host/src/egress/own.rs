//! The host's own requests: to the token endpoint of a connection, to the webhook for what runs came to, for the
//! keys of an issuer of access tokens, to a collector of telemetry on another machine, to upstream MCP servers, and to registries.
//!
//! They pass the same steps as a guest's, with an allow-list of one: the endpoint that a person configured. A
//! redirect is refused, because nobody decided where it leads; an answer is bounded. Operators' exceptions are those
//! of the secret, the webhook, the issuer, the collector or the server, not of the capability. What is in requests and
//! answers is decided in `secrets/oauth/`, `scheduler/deliver/`, `mcp/http/oauth/`, `telemetry/` and
//! `upstreams/web.rs`.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use url::Url;

use super::response::{Received, Room};
use super::{
    Answer, Exceptions, Method, Outside, Refusal, Target, Template, approve, dial, exchange, millis, registry,
    request, resolve,
};
use crate::audit::{RequestRecord, Traced};
use crate::clock;
use crate::config::{Config, HttpConfig};
use crate::error::{ErrorKind, Result};
use crate::policy::{HostPattern, HttpGrant};
use crate::secrets::{Redactor, SecretSet, substitute};

/// Bytes of an answer. Tokens with their claims have a few thousand.
const RESPONSE_BYTES: usize = 64 * 1024;

/// Where the exceptions of the webhook stand.
const DELIVERIES: &str = "loops.deliver";

/// Where those of the collector stand.
const TELEMETRY: &str = "telemetry";
/// Where the exceptions of issuers stand.
const ISSUERS: &str = "serve.issuer";

/// The way out for the host itself.
pub struct Own {
    outside: Outside,
    limits: HttpConfig,
    exceptions: BTreeMap<String, Exceptions>,
    upstreams: BTreeMap<String, Exceptions>,
    /// For answers of upstream MCP servers: they hold pictures and documents, not tokens.
    upstream_limits: HttpConfig,
    no_exceptions: Exceptions,
    deliveries: Exceptions,
    telemetry: Exceptions,
    issuers: BTreeMap<String, Exceptions>,
    registries: BTreeMap<String, Exceptions>,
}

/// A URL that the host may be told to send its own requests to: `https:`, a public name, no user name.
#[derive(Clone, Debug)]
pub struct Endpoint {
    target: Target,
}

/// Why the host's own request has no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{why}")]
pub struct Unreached {
    /// The stable kind.
    pub kind: ErrorKind,
    /// In our words.
    pub why: String,
    /// What the operator can do.
    pub hint: Option<String>,
}

impl Endpoint {
    /// Judges `url` as that of a guest is judged, under a list of its own host and port.
    pub fn new(url: &str) -> Result<Self, Refusal> {
        Ok(Self { target: approve(url, &[pattern(url)?])? })
    }

    /// How a request to the token endpoint at `url` is recorded before it is sent. No sizes: they would tell those
    /// of secrets.
    pub(crate) fn record(url: &str, name: &str) -> RequestRecord {
        let target = Self::new(url).ok().map(|endpoint| endpoint.target);
        RequestRecord {
            method: Method::Post.as_str().to_owned(),
            authority: target.as_ref().map_or_else(String::new, Target::authority),
            path: target.as_ref().map_or_else(String::new, |target| target.url().path().to_owned()),
            address: None,
            status: None,
            // Stays when nobody waits for its end.
            outcome: ErrorKind::Cancelled.code().to_owned(),
            bytes_out: 0,
            bytes_in: 0,
            secrets: vec![name.to_owned()],
            redactions: 0,
            time_ms: 0,
            own: true,
            traced: Traced {
                begun: Some(clock::monotonic()),
                host: target.as_ref().map(|target| target.admitted_by().to_owned()),
            },
        }
    }
}

impl Own {
    /// The way `outside`, under the operator's limits and exceptions.
    pub fn configured(config: &Config, outside: &Outside) -> Result<Self> {
        let mut exceptions = BTreeMap::new();
        for (name, settings) in &config.secret {
            let read = Exceptions::read(&format!("secret.\"{name}\""), &settings.http)?;
            exceptions.insert(name.clone(), read);
        }
        let mut upstreams = BTreeMap::new();
        for (name, settings) in &config.upstream {
            upstreams.insert(name.clone(), Exceptions::read(&format!("upstream.{name}"), &settings.http)?);
        }
        let limits = HttpConfig { response_bytes: RESPONSE_BYTES, ..config.http };
        let no_exceptions = Exceptions::none()?;
        let deliveries = Exceptions::read(DELIVERIES, &config.loops.deliver.http)?;
        let telemetry = Exceptions::read(TELEMETRY, &config.telemetry.http)?;
        let mut issuers = BTreeMap::new();
        for settings in &config.serve.issuer {
            issuers.insert(settings.issuer.clone(), Exceptions::read(ISSUERS, &settings.http)?);
        }
        let mut registries = BTreeMap::new();
        for (name, settings) in &config.registries.by_name {
            registries.insert(name.clone(), Exceptions::read(&format!("registries.{name}"), &settings.http)?);
        }
        let (outside, upstream_limits) = (outside.clone(), config.http);
        Ok(Self {
            outside,
            limits,
            exceptions,
            upstreams,
            upstream_limits,
            no_exceptions,
            deliveries,
            telemetry,
            issuers,
            registries,
        })
    }

    /// Sends a request for the connection `name` to its token endpoint, and notes in `record` what became of it.
    pub async fn send(
        &self,
        name: &str,
        token_url: &str,
        request: http::Request<Vec<u8>>,
        record: &Mutex<RequestRecord>,
    ) -> Result<http::Response<Vec<u8>>, Unreached> {
        let exceptions = self.exceptions.get(name).unwrap_or(&self.no_exceptions);
        self.send_under((&format!("secret.\"{name}\""), exceptions), token_url, request, record, &self.limits)
            .await
    }

    /// Sends a request to the webhook at `url`.
    pub async fn deliver(
        &self,
        url: &str,
        request: http::Request<Vec<u8>>,
    ) -> Result<http::Response<Vec<u8>>, Unreached> {
        let record = Mutex::new(Endpoint::record(url, ""));
        self.send_under((DELIVERIES, &self.deliveries), url, request, &record, &self.limits).await
    }

    /// Sends a message to the upstream MCP server `name` at `url`. The whole exchange takes no longer than `limit`.
    pub async fn ask_upstream(
        &self,
        name: &str,
        url: &str,
        request: http::Request<Vec<u8>>,
        limit: Duration,
    ) -> Result<http::Response<Vec<u8>>, Unreached> {
        let exceptions = self.upstreams.get(name).unwrap_or(&self.no_exceptions);
        let limit_ms = u64::try_from(limit.as_millis()).unwrap_or(u64::MAX);
        // A tool may take its time before it answers.
        let limits = HttpConfig { request_ms: limit_ms, first_byte_ms: limit_ms, ..self.upstream_limits };
        let record = Mutex::new(Endpoint::record(url, ""));
        self.send_under((&format!("upstream.{name}"), exceptions), url, request, &record, &limits).await
    }

    /// Sends a message to the collector of telemetry at `url`.
    pub async fn export(
        &self,
        url: &str,
        request: http::Request<Vec<u8>>,
    ) -> Result<http::Response<Vec<u8>>, Unreached> {
        let record = Mutex::new(Endpoint::record(url, ""));
        self.send_under((TELEMETRY, &self.telemetry), url, request, &record, &self.limits).await
    }

    /// Gets a public document of the issuer `issuer`, from `url`.
    pub async fn get(&self, issuer: &str, url: &str) -> Result<http::Response<Vec<u8>>, Unreached> {
        let exceptions = self.issuers.get(issuer).unwrap_or(&self.no_exceptions);
        let record = Mutex::new(Endpoint::record(url, ""));
        let request = http::Request::get(url).header(http::header::ACCEPT, "application/json").body(Vec::new());
        let request = request.map_err(|_| Unreached {
            kind: ErrorKind::HttpInvalidUrl,
            why: "the URL cannot be asked for".to_owned(),
            hint: None,
        })?;
        self.send_under((ISSUERS, exceptions), url, request, &record, &self.limits).await
    }

    /// Sends a request to the registry `name` at `url`: components are larger, and take longer, than tokens.
    pub(super) async fn ask_registry(
        &self,
        name: &str,
        url: &str,
        request: http::Request<Vec<u8>>,
    ) -> Result<http::Response<Vec<u8>>, Unreached> {
        let exceptions = self.registries.get(name).unwrap_or(&self.no_exceptions);
        let time = u64::try_from(registry::TIME.as_millis()).unwrap_or(u64::MAX);
        let limits = HttpConfig {
            request_ms: time,
            first_byte_ms: time,
            request_bytes: registry::REQUEST_BYTES,
            response_bytes: registry::RESPONSE_BYTES,
            ..self.limits
        };
        let record = Mutex::new(Endpoint::record(url, ""));
        self.send_under((&format!("registries.{name}"), exceptions), url, request, &record, &limits).await
    }

    /// How long a request takes at most.
    #[must_use]
    pub fn limit(&self) -> Duration {
        millis(self.limits.request_ms)
    }

    async fn send_under(
        &self,
        (section, exceptions): (&str, &Exceptions),
        url: &str,
        request: http::Request<Vec<u8>>,
        record: &Mutex<RequestRecord>,
        limits: &HttpConfig,
    ) -> Result<http::Response<Vec<u8>>, Unreached> {
        let begun = clock::monotonic();
        let exchange = self.exchange(exceptions, url, request, record, limits);
        let result = match tokio::time::timeout(millis(limits.request_ms), exchange).await {
            Ok(result) => result,
            Err(_) => Err(Refusal::Timeout),
        };
        let outcome = result.as_ref().map_or_else(|refusal| refusal.kind().code(), |_| super::ledger::SENT);
        note(record, |record| {
            outcome.clone_into(&mut record.outcome);
            record.time_ms = u64::try_from(elapsed(begun).as_millis()).unwrap_or(u64::MAX);
            if let Err(Refusal::PrivateAddress(address)) = &result {
                record.address = Some(address.to_string());
            }
        });
        result.map_err(|refusal| unreached(&refusal, section))
    }

    async fn exchange(
        &self,
        exceptions: &Exceptions,
        url: &str,
        request: http::Request<Vec<u8>>,
        record: &Mutex<RequestRecord>,
        limits: &HttpConfig,
    ) -> Result<http::Response<Vec<u8>>, Refusal> {
        // It carries credentials that the host itself puts in; placeholders mean nothing in it.
        let grant = HttpGrant { allow: vec![pattern(url)?], own_credentials: true };
        let template = template(request)?;
        let target = approve(&template.url, &grant.allow)?;
        let request = request::check(target, &template, &grant, &[], limits)?;
        let approved =
            resolve::resolve(request, exceptions, &*self.outside.resolver, millis(limits.dns_ms)).await?;
        let prepared = substitute(approved, &SecretSet::default(), limits.request_bytes)?;
        let dialled =
            dial::dial(prepared, &*self.outside.dialer, exceptions.tls(), millis(limits.connect_ms)).await?;
        note(record, |record| record.address = Some(dialled.address().to_string()));
        // What comes back are tokens, for the vault alone, or an answer of which the status counts.
        let received =
            exchange::exchange(dialled, limits, Room::shown(limits), &Redactor::default(), &mut 0).await?;
        note(record, |record| record.status = Some(received.status()));
        let Received::Answer(answer) = received else {
            return Err(Refusal::RedirectRefused("the host's own requests are not sent elsewhere".to_owned()));
        };
        let Answer { status, headers, body } = answer.into_inner();
        let mut response = http::Response::builder().status(status);
        for (name, value) in headers {
            response = response.header(name, value);
        }
        response.body(body).map_err(|_| Refusal::ResponseInvalid("its head cannot be kept".to_owned()))
    }
}

/// The allow-list of one: the host and port of `url`.
fn pattern(url: &str) -> Result<HostPattern, Refusal> {
    let unreadable = || Refusal::InvalidUrl("it must be `https://`, a host and a path".to_owned());
    let parsed = Url::parse(url).map_err(|_| unreadable())?;
    let host = parsed.host_str().ok_or_else(unreadable)?;
    let entry = match parsed.port() {
        Some(port) => format!("{host}:{port}"),
        None => host.to_owned(),
    };
    entry.parse().map_err(|why: crate::policy::InvalidPattern| Refusal::InvalidUrl(why.0))
}

fn template(request: http::Request<Vec<u8>>) -> Result<Template, Refusal> {
    let (head, body) = request.into_parts();
    let field = |(name, value): (&http::HeaderName, &http::HeaderValue)| {
        (name.as_str().to_owned(), value.as_bytes().to_vec())
    };
    Ok(Template {
        method: head.method.as_str().parse()?,
        url: head.uri.to_string(),
        headers: head.headers.iter().map(field).collect(),
        body: Some(body),
        timeout: None,
    })
}

fn unreached(refusal: &Refusal, section: &str) -> Unreached {
    let hint = match refusal {
        Refusal::PrivateAddress(address) => Some(format!(
            "if its host may be at {address}, add that to `private` in `[{section}.http]` of `remit.toml`"
        )),
        Refusal::TlsFailed => Some(format!(
            "if its host uses a certificate authority of your own, add its PEM file to `ca` in \
             `[{section}.http]` of `remit.toml`"
        )),
        _ => None,
    };
    Unreached { kind: refusal.kind(), why: refusal.to_string(), hint }
}

fn elapsed(begun: std::time::Instant) -> Duration {
    clock::monotonic().duration_since(begun)
}

fn note(record: &Mutex<RequestRecord>, write: impl FnOnce(&mut RequestRecord)) {
    write(&mut record.lock().unwrap_or_else(PoisonError::into_inner));
}
