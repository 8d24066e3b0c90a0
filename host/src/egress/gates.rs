//! How many requests of one capability are out at once, and how many leave in a minute.
//!
//! Too many at once wait a moment, because several calls share the gate and none of them is at fault; too many
//! in a minute are refused at once, with the time after which to try again.

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
    of: Mutex<HashMap<CapabilityName, Gate>>,
}

struct Gate {
    turns: Arc<Semaphore>,
    rate: Rate,
}

impl Gates {
    pub(super) fn new(limits: &HttpConfig) -> Self {
        Self { concurrent: limits.concurrent, per_minute: limits.per_minute, of: Mutex::default() }
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
        let mut gates = self.of.lock().unwrap_or_else(PoisonError::into_inner);
        let gate = gates.entry(capability.clone()).or_insert_with(|| Gate {
            turns: Arc::new(Semaphore::new(self.concurrent)),
            rate: Rate { next: now },
        });
        gate.rate.admit(now, self.per_minute).map_err(rate_limited)?;
        Ok(Arc::clone(&gate.turns))
    }
}

fn rate_limited(after: Duration) -> Refusal {
    Refusal::RateLimited(u32::try_from(after.as_millis()).unwrap_or(u32::MAX).max(1))
}

/// A minute's worth of requests may leave together; then they leave evenly spaced (the generic cell rate
/// algorithm, with one number of state).
struct Rate {
    /// When the next request would leave if all were evenly spaced.
    next: Instant,
}

impl Rate {
    /// Admits one request, or says how long to wait.
    fn admit(&mut self, now: Instant, per_minute: u32) -> Result<(), Duration> {
        let Some(spacing) = MINUTE.checked_div(per_minute) else { return Err(MINUTE) };
        let next = self.next.max(now);
        let ahead = next - now;
        let tolerance = MINUTE - spacing;
        if ahead > tolerance {
            return Err(ahead - tolerance);
        }
        self.next = next + spacing;
        Ok(())
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
        for _ in 0..60 {
            assert_eq!(rate.admit(at(0), 60), Ok(()));
        }
        assert_eq!(rate.admit(at(0), 60), Err(Duration::from_secs(1)));
        assert_eq!(rate.admit(at(1), 60), Ok(()));
        assert_eq!(rate.admit(at(1), 60), Err(Duration::from_secs(1)));
        assert_eq!(rate.admit(at(61), 60), Ok(()));
        assert_eq!(Rate { next: start }.admit(at(0), 0), Err(MINUTE));
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
