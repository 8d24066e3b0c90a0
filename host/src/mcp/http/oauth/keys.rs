//! When an issuer's keys are fetched, and how long they count.
//!
//! Keys that are known are used at once, and fetched anew behind the scenes when they get old. A request waits only
//! for a key that nobody knows yet, and then not for long. An issuer that is down or makes names up costs one attempt
//! a minute, whatever arrives; its last good keys count for some hours, and then its tokens are refused.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::keyset::{KeySet, Missing};
use super::token::{Presented, Signed};
use super::{Refusal, discovery};
use crate::clock::Clock;
use crate::config::IssuerConfig;
use crate::egress::Own;

/// Milliseconds after which keys are fetched anew: a key that was withdrawn is out that soon.
const FRESH: i64 = 10 * 60 * 1000;

/// Milliseconds for which the last good keys count while the issuer cannot be asked: over an outage, not over a
/// night in which somebody withdraws a key and nobody hears of it.
const KEPT: i64 = 4 * 60 * 60 * 1000;

/// Milliseconds between two attempts, whether they succeed or not.
const PAUSE: i64 = 60 * 1000;

/// How long an attempt may take in all. Shorter than the pause, so that there is never more than one.
const ATTEMPT: Duration = Duration::from_secs(30);

/// How long a request waits for keys. The attempt goes on without it.
const PATIENCE: Duration = Duration::from_secs(5);

/// The keys of one issuer.
pub(super) struct Keys {
    issuer: String,
    jwks: Option<String>,
    own: Arc<Own>,
    clock: Arc<Clock>,
    known: Mutex<Known>,
    /// Held by the one attempt that is on its way.
    flight: tokio::sync::Mutex<()>,
}

#[derive(Default)]
struct Known {
    keys: Option<Arc<KeySet>>,
    fetched_at: i64,
    tried_at: Option<i64>,
}

impl Keys {
    /// The keys of the issuer of `settings`, none of which is known yet.
    pub(super) fn new(settings: &IssuerConfig, own: Arc<Own>, clock: Arc<Clock>) -> Self {
        Self {
            issuer: settings.issuer.clone(),
            jwks: settings.jwks.clone(),
            own,
            clock,
            known: Mutex::default(),
            flight: tokio::sync::Mutex::default(),
        }
    }

    /// Holds a token against the key that it names.
    pub(super) async fn check(self: &Arc<Self>, token: Presented<'_>) -> Result<Signed, Refusal> {
        let known = self.usable();
        if let Some(keys) = &known {
            let found = keys.find(token.kid());
            if self.is_old() {
                self.renew();
            }
            match found {
                Ok(key) => return token.signed_by(key).map_err(Refusal::Invalid),
                Err(Missing::Ambiguous) => return Err(Refusal::Invalid("it names no key")),
                Err(Missing::Unknown) => {}
            }
        }
        self.wait().await;
        let keys = self.usable().ok_or(Refusal::Unavailable)?;
        let key = keys.find(token.kid()).map_err(|_| Refusal::Invalid("its key is not known"))?;
        token.signed_by(key).map_err(Refusal::Invalid)
    }

    /// Waits a moment for the attempt that is on its way, or for one that begins now. Whether it came to anything
    /// shows in what is known then.
    async fn wait(self: &Arc<Self>) {
        if self.has_paused() {
            let _ = tokio::time::timeout(PATIENCE, self.renew()).await;
        } else {
            let _ = tokio::time::timeout(PATIENCE, self.flight.lock()).await;
        }
    }

    /// Starts an attempt, which goes on whether anybody waits for it or not.
    fn renew(self: &Arc<Self>) -> tokio::task::JoinHandle<()> {
        let this = Arc::clone(self);
        tokio::spawn(async move { this.attempt().await })
    }

    async fn attempt(&self) {
        let _flight = self.flight.lock().await;
        // Whoever waited for another attempt has what that one brought.
        if !self.has_paused() {
            return;
        }
        self.known().tried_at = Some(self.clock.now_ms());
        let fetched = tokio::time::timeout(ATTEMPT, self.fetch()).await;
        match fetched.unwrap_or_else(|_| Err("it took too long".to_owned())) {
            Ok(keys) => {
                let mut known = self.known();
                known.keys = Some(Arc::new(keys));
                known.fetched_at = self.clock.now_ms();
            }
            Err(why) => tracing::warn!(issuer = self.issuer, "keys of an issuer could not be fetched: {why}"),
        }
    }

    async fn fetch(&self) -> Result<KeySet, String> {
        let jwks = match &self.jwks {
            Some(url) => url.clone(),
            None => self.discover().await?,
        };
        let document = self.get(&jwks).await?.ok_or("there is nothing where they should be")?;
        KeySet::read(&document).ok_or_else(|| "what is published holds no key that can be used".to_owned())
    }

    async fn discover(&self) -> Result<String, String> {
        for place in discovery::places(&self.issuer) {
            if let Some(metadata) = self.get(&place).await? {
                return discovery::jwks(&metadata, &self.issuer).map_err(str::to_owned);
            }
        }
        Err("it publishes no metadata".to_owned())
    }

    /// The document at `url`; `None` when there is none.
    async fn get(&self, url: &str) -> Result<Option<Vec<u8>>, String> {
        let answer = self.own.get(&self.issuer, url).await.map_err(|unreached| match unreached.hint {
            Some(hint) => format!("{}; {hint}", unreached.why),
            None => unreached.why,
        })?;
        match answer.status().as_u16() {
            200 => Ok(Some(answer.into_body())),
            404 | 410 => Ok(None),
            status => Err(format!("it answers with status {status}")),
        }
    }

    /// The keys that count now.
    fn usable(&self) -> Option<Arc<KeySet>> {
        let known = self.known();
        known.keys.clone().filter(|_| self.age(known.fetched_at) < KEPT)
    }

    fn is_old(&self) -> bool {
        let fetched_at = self.known().fetched_at;
        self.age(fetched_at) >= FRESH && self.has_paused()
    }

    /// Whether the issuer may be asked again.
    fn has_paused(&self) -> bool {
        let tried_at = self.known().tried_at;
        tried_at.is_none_or(|at| self.age(at) >= PAUSE)
    }

    /// Milliseconds since `at`. A clock that was set back must not keep anything young for ever.
    fn age(&self, at: i64) -> i64 {
        match self.clock.now_ms() - at {
            future if future < 0 => i64::MAX,
            age => age,
        }
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
