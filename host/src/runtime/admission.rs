//! Who may run now, who waits, who is turned away.
//!
//! A call needs a place among all calls and one among those of its capability, so that one capability cannot
//! take every place. Waiting counts against the call's own time.
//!
//! A program that waits for its calls needs places for them, so it has none of theirs: programs have places of their
//! own, as many as a capability has.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore, TryAcquireError};

use super::budget::{Lease, Stop};
use crate::config::RuntimeConfig;
use crate::error::{Error, ErrorKind, Result};
use crate::manifest::Runtime;
use crate::registry::{Capability, CapabilityName};

/// The places of this process.
pub struct Admission {
    places: Arc<Semaphore>,
    per_capability: usize,
    capabilities: Mutex<HashMap<CapabilityName, Arc<Semaphore>>>,
    waiting: Arc<AtomicUsize>,
    queue: usize,
}

/// A place; it is free again when this is dropped.
pub struct Permit {
    _capability: OwnedSemaphorePermit,
    _place: Option<OwnedSemaphorePermit>,
}

impl Admission {
    /// Places as configured.
    #[must_use]
    pub fn new(config: RuntimeConfig) -> Self {
        Self {
            places: Arc::new(Semaphore::new(config.calls)),
            per_capability: config.calls_per_capability,
            capabilities: Mutex::default(),
            waiting: Arc::default(),
            queue: config.queue,
        }
    }

    /// Reads how many calls wait for a place.
    pub fn waiting(&self) -> impl Fn() -> u64 + Send + Sync + use<> {
        let waiting = Arc::clone(&self.waiting);
        move || waiting.load(Ordering::Relaxed) as u64
    }

    /// Gets a place, or waits for one while the lease lasts.
    pub async fn enter(&self, of: &Capability, lease: &Lease) -> Result<Permit> {
        let capability = self.of_capability(&of.name);
        let is_program = of.manifest.runtime == Runtime::Engine;
        // The common case takes both without a turn through the scheduler.
        if let Ok(own) = capability.clone().try_acquire_owned()
            && let Ok(place) = self.try_place(is_program)
        {
            return Ok(Permit { _capability: own, _place: place });
        }
        let _turn = Turn::take(&self.waiting, self.queue)?;
        let both = async {
            // One's own place first: a capability that is over its share must not hold the others' places.
            let own = capability.acquire_owned().await;
            let place = if is_program { None } else { Some(self.places.clone().acquire_owned().await) };
            own.and_then(|own| place.transpose().map(|place| Permit { _capability: own, _place: place }))
        };
        tokio::select! {
            permit = both => permit.map_err(|_| Error::internal("the places are never closed")),
            () = lease.cancel.cancelled() => Err(stopped(Stop::Cancelled)),
            () = tokio::time::sleep_until(lease.deadline.into()) => Err(stopped(Stop::Time)),
        }
    }

    fn try_place(&self, is_program: bool) -> std::result::Result<Option<OwnedSemaphorePermit>, TryAcquireError> {
        if is_program { Ok(None) } else { self.places.clone().try_acquire_owned().map(Some) }
    }

    fn of_capability(&self, name: &CapabilityName) -> Arc<Semaphore> {
        let mut capabilities = self.capabilities.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(semaphore) = capabilities.get(name) {
            return semaphore.clone();
        }
        let semaphore = Arc::new(Semaphore::new(self.per_capability));
        capabilities.insert(name.clone(), semaphore.clone());
        semaphore
    }
}

fn stopped(stop: Stop) -> Error {
    Error::new(stop.kind(), format!("the call {stop} while it waited for a place"))
}

/// One of the callers that wait.
struct Turn<'a>(&'a AtomicUsize);

impl<'a> Turn<'a> {
    fn take(waiting: &'a AtomicUsize, limit: usize) -> Result<Self> {
        let turn = Self(waiting);
        if waiting.fetch_add(1, Ordering::Relaxed) >= limit {
            return Err(Error::new(ErrorKind::Busy, "too many calls wait already, try again later"));
        }
        Ok(turn)
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
