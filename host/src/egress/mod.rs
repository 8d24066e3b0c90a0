//! Outbound requests: the only room that opens a socket to the world.
//!
//! A request passes `approve` (is this URL a granted host?) and `check` (header fields, sizes, placeholders),
//! which are pure; then `resolve` (one look-up; every address must pass `addresses`), `renewal` of tokens that
//! have ended, the secrets' substitution, `dial` (exactly the checked addresses, TLS for the name) and `exchange`;
//! and its answer the redactor. Each step takes what the one before it returned, so none can be skipped or done out of order: a
//! name that is not granted is never looked up, and no secret is read for an address that is not public.
//! A redirect starts again at the top, from what the guest wrote.
//!
//! Which hosts are granted and which secrets are approved is decided in `policy`, anew for every attempt: what
//! is withdrawn while a call runs counts for its next one. An attempt that is under way is not called back.

mod addresses;
mod approve;
mod collector;
mod dial;
mod exceptions;
mod exchange;
mod gates;
mod headers;
mod ledger;
mod needed;
mod own;
mod redirect;
mod refusal;
mod registry;
mod renewal;
mod request;
mod resolve;
mod response;
mod saving;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

pub use addresses::{InvalidNetwork, Network, public};
pub use approve::{Target, approve};
pub use collector::{Collector, Unsent, is_collector};
pub use dial::{Dialer, Socket, Stream, TcpDialer};
pub use exceptions::Exceptions;
pub use headers::{HEADER_BYTES, is_field_value, is_hosts_own};
pub use ledger::Ledger;
pub(crate) use ledger::{PLANNED, SENT};
pub use own::{Endpoint, Own, Unreached};
pub use refusal::Refusal;
pub use registry::{RegistryWay, is_registry};
pub use request::{Checked, Method, Template};
pub use resolve::{Approved, BoxFuture, Resolver, SystemResolver};
pub use response::Answer;
use response::{Received, Room};
pub use saving::Saving;

use http::StatusCode;

use crate::clock;
use crate::config::{Config, HttpConfig};
use crate::error::{Error, ErrorKind, Result};
use crate::policy::Granted;
use crate::registry::{Capability, CapabilityName};
use crate::secrets::{CallSecrets, Connections, Cuts, Redacted, substitute};

/// How names become addresses, and addresses connections: as this machine does it, or as a test that counts.
#[derive(Clone)]
pub struct Outside {
    /// DNS.
    pub resolver: Arc<dyn Resolver>,
    /// TCP.
    pub dialer: Arc<dyn Dialer>,
}

impl Outside {
    /// This machine's resolver and TCP.
    #[must_use]
    pub fn system() -> Self {
        Self { resolver: Arc::new(SystemResolver), dialer: Arc::new(TcpDialer) }
    }
}

/// The way out of this host, for all capabilities.
pub struct Egress {
    resolver: Arc<dyn Resolver>,
    dialer: Arc<dyn Dialer>,
    limits: HttpConfig,
    exceptions: BTreeMap<CapabilityName, Exceptions>,
    no_exceptions: Exceptions,
    gates: gates::Gates,
    /// What renews tokens that have ended; without it they stay ended.
    connections: Option<Arc<Connections>>,
}

/// Who sends, and on whose terms: the same for all requests of one call.
pub struct Sender<'a> {
    /// What the capability may do, asked before every attempt.
    pub granted: &'a dyn Standing,
    /// The secrets of this call.
    pub secrets: &'a CallSecrets,
    /// When the call must have ended.
    pub deadline: Instant,
    /// Nothing may change: unsafe methods are planned, not sent.
    pub dry_run: bool,
}

/// What a capability may do at this moment.
pub trait Standing: Send + Sync {
    /// The capability that sends.
    fn capability(&self) -> &Arc<Capability>;
    /// What it may do now. An error when that cannot be told: then nothing is sent.
    fn now(&self) -> Result<Granted>;
}

/// A decision that stands for as long as it is held.
impl Standing for Granted {
    fn capability(&self) -> &Arc<Capability> {
        self.capability()
    }

    fn now(&self) -> Result<Granted> {
        Ok(self.clone())
    }
}

/// What became of one attempt.
enum Attempt {
    Answered(Redacted<Answer>),
    Redirected,
}

impl Egress {
    /// The way `outside`, under the operator's limits and exceptions.
    pub fn configured(config: &Config, outside: &Outside) -> Result<Self> {
        let mut exceptions = BTreeMap::new();
        for (name, settings) in &config.capability {
            let key: CapabilityName = name.parse().map_err(|why| {
                Error::new(ErrorKind::Config, format!("`capability.\"{name}\"` is no capability: {why}"))
            })?;
            exceptions.insert(key, Exceptions::read(&format!("capability.\"{name}\""), &settings.http)?);
        }
        let Outside { resolver, dialer } = outside.clone();
        Self::new(resolver, dialer, config.http, exceptions)
    }

    /// Any resolver and dialer: tests bring their own.
    pub fn new(
        resolver: Arc<dyn Resolver>,
        dialer: Arc<dyn Dialer>,
        limits: HttpConfig,
        exceptions: BTreeMap<CapabilityName, Exceptions>,
    ) -> Result<Self> {
        let no_exceptions = Exceptions::none()?;
        let gates = gates::Gates::new(&limits);
        Ok(Self { resolver, dialer, limits, exceptions, no_exceptions, gates, connections: None })
    }

    /// With what renews the tokens that its requests carry.
    #[must_use]
    pub fn renewing(self, connections: Arc<Connections>) -> Self {
        Self { connections: Some(connections), ..self }
    }

    /// Sends one request of a call, follows its redirects, and gives the redacted answer. Every attempt is in
    /// `ledger`, whatever becomes of it.
    pub async fn send(
        &self,
        sender: &Sender<'_>,
        template: Template,
        ledger: &mut Ledger,
    ) -> Result<Redacted<Answer>, Refusal> {
        self.send_or_save(sender, template, None, ledger).await
    }

    /// The same for an answer whose body goes elsewhere than into the guest: that of a success is the file that was
    /// asked for, and may be larger than one that is shown.
    pub async fn save(
        &self,
        sender: &Sender<'_>,
        template: Template,
        saving: &Saving,
        ledger: &mut Ledger,
    ) -> Result<Redacted<Answer>, Refusal> {
        self.send_or_save(sender, template, Some(saving), ledger).await
    }

    async fn send_or_save(
        &self,
        sender: &Sender<'_>,
        template: Template,
        saving: Option<&Saving>,
        ledger: &mut Ledger,
    ) -> Result<Redacted<Answer>, Refusal> {
        let left = sender.deadline.saturating_duration_since(clock::monotonic());
        let asked = template.timeout.unwrap_or(left);
        let time = left.min(asked).min(Duration::from_millis(self.limits.request_ms));
        match tokio::time::timeout(time, self.follow(sender, template, saving, ledger)).await {
            Ok(result) => result,
            Err(_) => Err(ledger.refused(Refusal::Timeout, sender.granted.capability())),
        }
    }

    /// One attempt after the other, from the first URL to the answer.
    async fn follow(
        &self,
        sender: &Sender<'_>,
        mut template: Template,
        saving: Option<&Saving>,
        ledger: &mut Ledger,
    ) -> Result<Redacted<Answer>, Refusal> {
        let capability = sender.granted.capability();
        let mut came_from = None;
        for _ in 0..=self.limits.redirects {
            let begun = ledger.begin(&template);
            let granted = begun.and_then(|()| sender.granted.now().map_err(Refusal::Undecided));
            let granted = match granted {
                Ok(granted) => granted,
                Err(refusal) => return Err(ledger.refused(refusal, capability)),
            };
            match self.attempt(sender, &granted, (&mut template, saving), &mut came_from, ledger).await {
                Ok(Attempt::Answered(answer)) => return Ok(answer),
                Ok(Attempt::Redirected) => {}
                Err(refusal) => {
                    if let Some(need) = needed::needed(&refusal, &template, &granted, &self.limits) {
                        ledger.need(need);
                    }
                    return Err(ledger.refused(refusal, capability));
                }
            }
        }
        let refusal = Refusal::RedirectRefused(format!("more than {} in a row", self.limits.redirects));
        Err(ledger.refused(refusal, capability))
    }

    /// One attempt, from the URL to the answer or to the next URL, which is then in `template`.
    async fn attempt(
        &self,
        sender: &Sender<'_>,
        granted: &Granted,
        (template, saving): (&mut Template, Option<&Saving>),
        came_from: &mut Option<Target>,
        ledger: &mut Ledger,
    ) -> Result<Attempt, Refusal> {
        let capability = &granted.capability().name;
        // Without the namespace there is no import to call; it was revoked since.
        let grant = &granted.http().cloned().unwrap_or_default();
        let exceptions = self.exceptions.get(capability).unwrap_or(&self.no_exceptions);

        let target = approve(&template.url, &grant.allow)?;
        ledger.target(&target);
        let here = target.clone();
        if came_from.as_ref().is_some_and(|from| from.authority() != here.authority()) {
            redirect::cross(template, &here, granted.secrets());
        }
        let request = request::check(target, template, grant, granted.secrets(), &self.limits)?;
        ledger.request(&request, template);
        if sender.dry_run && !template.method.is_safe() {
            ledger.planned();
            return Ok(Attempt::Answered(Answer::planned()));
        }

        let _turn = self.gates.enter(capability, clock::monotonic()).await?;
        let approved = resolve::resolve(request, exceptions, &*self.resolver, millis(self.limits.dns_ms)).await?;
        let placeholders = approved.request().placeholders();
        let secrets = renewal::fresh(self, sender, granted, &placeholders, ledger).await?;
        let prepared = substitute(approved, &secrets.set, self.limits.request_bytes)?;
        let sources = prepared.sources().clone();
        let dialled =
            dial::dial(prepared, &*self.dialer, exceptions.tls(), millis(self.limits.connect_ms)).await?;
        ledger.note(|record| record.address = Some(dialled.address().to_string()));
        sender.secrets.note_uses(sources);
        let mut bytes_in = 0;
        let room = Room { shown: self.limits.response_bytes, saved: saving.map(Saving::body_bytes) };
        let received = exchange::exchange(dialled, &self.limits, room, &secrets.redactor, &mut bytes_in).await;
        ledger.note(|record| record.bytes_in = bytes_in);
        let received = received?;
        ledger.note(|record| record.status = Some(received.status()));
        if received.status() == StatusCode::UNAUTHORIZED.as_u16() {
            renewal::refused(self, secrets, &placeholders).await;
        }
        // A value that was set while the request ran can be in the answer as well.
        let newest = sender.secrets.opened(granted).map_err(Refusal::Vault)?;

        match received {
            Received::Redirect(status, location) => {
                if let Some(secret) = newest.redactor.finds(location.as_bytes()) {
                    let mut cuts = Cuts::default();
                    cuts.note(secret);
                    self.note_cuts(&cuts, capability, ledger);
                    return Err(Refusal::RedirectRefused("its `Location` holds a secret".to_owned()));
                }
                redirect::follow(template, &here, status, &location)?;
                *came_from = Some(here);
                ledger.sent();
                Ok(Attempt::Redirected)
            }
            Received::Answer(answer) => {
                let is_searched = std::ptr::eq(newest, secrets);
                let answer = if is_searched { answer } else { answer.again(&newest.redactor) };
                let answer = match saving {
                    Some(saving) => saving.file(answer, &newest.redactor)?,
                    None => answer,
                };
                self.note_cuts(answer.cuts(), capability, ledger);
                ledger.sent();
                Ok(Attempt::Answered(answer))
            }
        }
    }

    /// Notes what was cut out of an answer. A value that the request did not carry came from elsewhere, or was
    /// guessed: the answer confirms it.
    fn note_cuts(&self, cuts: &Cuts, capability: &CapabilityName, ledger: &mut Ledger) {
        let mut carried = Vec::new();
        ledger.note(|record| {
            record.redactions = cuts.count;
            carried.clone_from(&record.secrets);
        });
        if cuts.names.iter().any(|name| !carried.contains(name)) {
            self.gates.note_unasked(capability, clock::monotonic());
        }
    }
}

fn millis(number: u64) -> Duration {
    Duration::from_millis(number)
}
