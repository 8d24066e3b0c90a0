//! How many requests of one capability are out at once, how many leave in a minute, and how many answers may hold
//! secrets that were not sent along.
//!
//! Too many at once wait a moment, because several calls share the gate and none of them is at fault; too many
//! in a minute are refused at once, with the time after which to try again. So is everything after too many
//! answers that could have confirmed a guess of a secret: that is rare in honest work, and a person is told.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use super::Refusal;
use crate::config::HttpConfig;
use crate::registry::CapabilityName;

/// How long a request waits for its turn: a few ordinary requests, well within a call's time.
const TURN: Duration = Duration::from_secs(5);

const MINUTE: Duration = Duration::from_secs(60);

/// The gates of all capabilities.
pub(super) struct Gates {
    concurrent: usize,
    per_minute: u32,
    unasked_per_minute: u32,
    of: Mutex<HashMap<CapabilityName, Gate>>,
}

struct Gate {
    turns: Arc<Semaphore>,
    requests: Rate,
    unasked: Rate,
}

impl Gates {
    pub(super) fn new(limits: &HttpConfig) -> Self {
        Self {
            concurrent: limits.concurrent,
            per_minute: limits.per_minute,
            unasked_per_minute: limits.redactions_per_minute,
            of: Mutex::default(),
        }
    }

    /// Lets one request of `capability` out. The permit is its turn: dropping it ends it.
    pub(super) async fn enter(
        &self,
        capability: &CapabilityName,
        now: Instant,
    ) -> Result<OwnedSemaphorePermit, Refusal> {
        let turns = self.admit(capability, now)?;
        match timeout(TURN, turns.acquire_owned()).await {
            Ok(Ok(permit)) => Ok(permit),
            Ok(Err(_)) | Err(_) => Err(rate_limited(TURN)),
        }
    }

    fn admit(&self, capability: &CapabilityName, now: Instant) -> Result<Arc<Semaphore>, Refusal> {
        self.with_gate(capability, now, |gate| {
            gate.unasked.check(now, self.unasked_per_minute).map_err(rate_limited)?;
            gate.requests.check(now, self.per_minute).map_err(rate_limited)?;
            gate.requests.count(now, self.per_minute);
            Ok(Arc::clone(&gate.turns))
        })
    }

    /// Counts an answer that holds a secret which its request did not carry.
    pub(super) fn note_unasked(&self, capability: &CapabilityName, now: Instant) {
        let closes = self.with_gate(capability, now, |gate| {
            let was_open = gate.unasked.check(now, self.unasked_per_minute).is_ok();
            gate.unasked.count(now, self.unasked_per_minute);
            was_open && gate.unasked.check(now, self.unasked_per_minute).is_err()
        });
        if closes {
            tracing::warn!(
                %capability,
                limit = self.unasked_per_minute,
                "answers hold secrets that the requests did not carry: somebody may be guessing; further \
                 requests are refused for a while"
            );
        }
    }

    fn with_gate<T>(&self, capability: &CapabilityName, now: Instant, act: impl FnOnce(&mut Gate) -> T) -> T {
        let mut gates = self.of.lock().unwrap_or_else(PoisonError::into_inner);
        act(gates.entry(capability.clone()).or_insert_with(|| Gate {
            turns: Arc::new(Semaphore::new(self.concurrent)),
            requests: Rate { next: now },
            unasked: Rate { next: now },
        }))
    }
}

fn rate_limited(after: Duration) -> Refusal {
    Refusal::RateLimited(u32::try_from(after.as_millis()).unwrap_or(u32::MAX).max(1))
}

/// A minute's worth may come together; then they come evenly spaced (the generic cell rate algorithm, with one
/// number of state).
struct Rate {
    /// When the next one would come if all were evenly spaced.
    next: Instant,
}

impl Rate {
    /// Whether one more may come, or how long to wait.
    fn check(&self, now: Instant, per_minute: u32) -> Result<(), Duration> {
        let Some(spacing) = MINUTE.checked_div(per_minute) else { return Err(MINUTE) };
        let ahead = self.next.saturating_duration_since(now);
        let tolerance = MINUTE - spacing;
        if ahead > tolerance { Err(ahead - tolerance) } else { Ok(()) }
    }

    /// Counts one, whether it may come or not.
    fn count(&mut self, now: Instant, per_minute: u32) {
        self.next = self.next.max(now) + MINUTE.checked_div(per_minute).unwrap_or(MINUTE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::monotonic;

    #[test]
    fn a_minutes_worth_leaves_at_once_and_then_evenly() {
        let start = monotonic();
        let at = |seconds: u64| start + Duration::from_secs(seconds);
        let mut rate = Rate { next: start };
        let mut admit = |now| rate.check(now, 60).map(|()| rate.count(now, 60));
        for _ in 0..60 {
            assert_eq!(admit(at(0)), Ok(()));
        }
        assert_eq!(admit(at(0)), Err(Duration::from_secs(1)));
        assert_eq!(admit(at(1)), Ok(()));
        assert_eq!(admit(at(1)), Err(Duration::from_secs(1)));
        assert_eq!(admit(at(61)), Ok(()));
        assert_eq!(Rate { next: start }.check(at(0), 0), Err(MINUTE));
    }

    #[tokio::test]
    async fn answers_that_could_confirm_guesses_close_the_gate_of_their_capability() {
        let gates = Gates::new(&HttpConfig { redactions_per_minute: 3, ..HttpConfig::default() });
        let name: CapabilityName = "acme/weather".parse().unwrap();
        let other: CapabilityName = "acme/other".parse().unwrap();
        let start = monotonic();
        let at = |seconds: u64| start + Duration::from_secs(seconds);
        for _ in 0..3 {
            assert!(gates.enter(&name, start).await.is_ok());
            gates.note_unasked(&name, start);
        }
        assert!(matches!(gates.enter(&name, start).await, Err(Refusal::RateLimited(20_000))));
        assert!(gates.enter(&other, start).await.is_ok());
        assert!(gates.enter(&name, at(20)).await.is_ok());
        gates.note_unasked(&name, at(20));
        assert!(gates.enter(&name, at(39)).await.is_err());
        assert!(gates.enter(&name, at(40)).await.is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn one_too_many_waits_for_a_turn_and_then_gives_up() {
        let gates = Gates::new(&HttpConfig { concurrent: 2, ..HttpConfig::default() });
        let name: CapabilityName = "acme/weather".parse().unwrap();
        let other: CapabilityName = "acme/other".parse().unwrap();
        let now = monotonic();
        let first = gates.enter(&name, now).await.unwrap();
        let _second = gates.enter(&name, now).await.unwrap();
        assert!(matches!(gates.enter(&name, now).await, Err(Refusal::RateLimited(5000))));
        assert!(gates.enter(&other, now).await.is_ok());
        drop(first);
        assert!(gates.enter(&name, now).await.is_ok());
    }
}
