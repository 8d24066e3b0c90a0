//! Renews connections: one renewal of a name at a time, in this process (a lock in memory) and in all processes of
//! the home (`flock(2)` on a file). Whoever waited looks at what is stored now, and mostly finds it done.
//!
//! Decides when a token is asked for, and that it is stored before anything uses it: a rotated refresh token that
//! is lost is a connection that is lost. So once a request is on its way it is a task of its own, which the end of
//! the call that wanted it does not stop. What the protocol says is `protocol.rs`; whether the name may be used at
//! all was decided before.

use std::collections::HashMap;
use std::fs::File;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::OwnedMutexGuard;

use super::super::Vault;
use super::connection::{Connection, Validity};
use super::protocol::{self, Asker, Unrenewed};
use crate::audit::RequestRecord;
use crate::egress::Own;
use crate::error::{Error, Result};

/// After a failure the next request to the token endpoint waits so long: the server is down or says no, and
/// neither changes by asking at once.
const PAUSE: Duration = Duration::from_secs(30);

/// What keeps the connections of one home fresh.
pub struct Connections {
    vault: Arc<Vault>,
    own: Arc<Own>,
    flights: Mutex<HashMap<String, Arc<Flight>>>,
}

/// The lock of one name in this process, and how its last renewal failed.
type Flight = tokio::sync::Mutex<Option<Failed>>;

struct Failed {
    /// With these tokens. When a person connects anew, the failure is forgotten.
    with: Validity,
    /// Until then, in milliseconds since 1970, nobody asks again.
    until: i64,
    why: Unrenewed,
}

/// The right to renew one connection. As long as it lives nobody else renews it.
pub(crate) struct Renewal {
    connections: Arc<Connections>,
    name: String,
    connection: Connection,
    asker: Asker,
    flight: OwnedMutexGuard<Option<Failed>>,
    _lock: File,
}

impl Connections {
    /// For the connections in `vault`, with the host's own way out.
    #[must_use]
    pub fn new(vault: Arc<Vault>, own: Own) -> Self {
        Self { vault, own: Arc::new(own), flights: Mutex::default() }
    }

    /// The time of the clock that ends are measured with, in milliseconds since 1970.
    pub(crate) fn now_ms(&self) -> i64 {
        self.vault.now_ms()
    }

    /// Waits until nobody renews `name`, and gives the right to do it; `None` when there is nothing to do any more:
    /// somebody else did it, or the name means something else by now. Nothing is sent yet.
    pub(crate) async fn turn(self: &Arc<Self>, name: &str) -> Result<Option<Renewal>, Unrenewed> {
        let flight = self.flight(name).lock_owned().await;
        let lock = self.lock(name).await.map_err(|error| unusable(name, &error))?;
        let stored = self.vault.connection(name).map_err(|error| unusable(name, &error))?;
        let Some(connection) = stored else { return Ok(None) };
        let (validity, now) = (connection.validity(), self.now_ms());
        if !validity.is_due(now) {
            return Ok(None);
        }
        if let Some(failed) = &*flight
            && failed.with == validity
            && now < failed.until
        {
            return Err(failed.why.clone());
        }
        if !connection.can_renew() {
            return Err(Unrenewed::GrantEnded);
        }
        let asker = Asker::new(Arc::clone(&self.own), name, connection.settings());
        let (connections, name) = (Arc::clone(self), name.to_owned());
        Ok(Some(Renewal { connections, name, connection, asker, flight, _lock: lock }))
    }

    /// An upstream refused the token of `name` that was good as `which` says.
    pub(crate) async fn refused(self: &Arc<Self>, name: &str, which: Validity) {
        let (connections, row) = (Arc::clone(self), name.to_owned());
        let now = self.now_ms();
        let marked = tokio::task::spawn_blocking(move || {
            connections.vault.update_connection(&row, move |connection| connection.refused(&which, now))
        });
        match marked.await {
            Ok(Ok(_)) => {}
            Ok(Err(error)) => tracing::warn!(name, "a refused token could not be marked: {error}"),
            Err(_) => tracing::error!(name, "marking a refused token was cut short"),
        }
    }

    fn flight(&self, name: &str) -> Arc<Flight> {
        let mut flights = self.flights.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(flights.entry(name.to_owned()).or_default())
    }

    /// Waits on a thread of its own: another process may hold it for as long as a request takes.
    async fn lock(&self, name: &str) -> Result<File> {
        let (vault, name) = (Arc::clone(&self.vault), name.to_owned());
        let locked = tokio::task::spawn_blocking(move || vault.hold_connection(&name));
        locked.await.map_err(|_| Error::internal("waiting for a lock was cut short"))?
    }
}

impl Renewal {
    /// How the request that is about to be sent is recorded.
    pub(crate) fn record(&self) -> RequestRecord {
        self.asker.record()
    }

    /// Asks for the next tokens and stores them, whether the caller waits for it or not.
    pub(crate) async fn run(self) -> (RequestRecord, Result<(), Unrenewed>) {
        let begun = self.record();
        let renewed = tokio::spawn(async move {
            let mut this = self;
            let renewed = this.renew().await;
            (this.record(), renewed)
        });
        renewed.await.unwrap_or((begun, Err(Unrenewed::Host)))
    }

    async fn renew(&mut self) -> Result<(), Unrenewed> {
        let result = match protocol::renew(&self.asker, &self.connection).await {
            Ok(tokens) => self.store(tokens).await,
            Err(why) => Err(why),
        };
        *self.flight = result.as_ref().err().map(|why| {
            tracing::warn!(name = self.name, "a connection could not be renewed: {why}");
            let until = self.connections.now_ms() + i64::try_from(PAUSE.as_millis()).unwrap_or(i64::MAX);
            Failed { with: self.connection.validity(), until, why: why.clone() }
        });
        result
    }

    /// Stores new tokens in the connection that they were got for. When that is gone by now, they are dropped.
    async fn store(&self, tokens: super::connection::Tokens) -> Result<(), Unrenewed> {
        let (connections, name) = (Arc::clone(&self.connections), self.name.clone());
        let (with, now) = (self.connection.validity(), self.connections.now_ms());
        let stored = tokio::task::spawn_blocking(move || {
            connections.vault.update_connection(&name, move |connection| {
                let is_same = connection.is_same(&with);
                if is_same {
                    connection.accept(tokens, now);
                }
                is_same
            })
        });
        match stored.await {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(error)) => Err(unusable(&self.name, &error)),
            Err(_) => Err(Unrenewed::Host),
        }
    }
}

fn unusable(name: &str, error: &Error) -> Unrenewed {
    tracing::error!(name, detail = error.detail, "a connection could not be used: {error}");
    Unrenewed::Host
}

#[cfg(test)]
mod tests;
