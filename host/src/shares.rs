//! How much of this host one principal may take: calls at once, and calls in a minute.
//!
//! Each principal has a share of its own, so that one that floods meets its own limit, and the others meet none. A
//! call over the share is refused at once rather than kept waiting: waiting calls would be the flood. The operator
//! and the scheduler, which counts for itself, have no share.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::clock;
use crate::config::PrincipalsConfig;
use crate::error::{Error, ErrorKind, Result};
use crate::policy::{Authority, Identity};

/// Principals that are counted at once: far more than a host has. One that is at rest is as good as none and is
/// forgotten.
const MAX_PRINCIPALS: usize = 4096;

/// The shares of all principals in this process.
pub(crate) struct Shares {
    at_once: usize,
    per_minute: f64,
    principals: Mutex<HashMap<String, Share>>,
}

struct Share {
    running: usize,
    /// Calls that it may still begin.
    left: f64,
    filled_at: Instant,
}

/// A place within a share; it is free again when this is dropped.
pub(crate) struct Place {
    /// Whose place, and where it is counted; nothing when it is not.
    counted: Option<(Arc<Shares>, String)>,
}

impl Shares {
    /// Shares as configured.
    #[must_use]
    pub(crate) fn new(config: PrincipalsConfig) -> Self {
        Self {
            at_once: config.calls,
            per_minute: f64::from(config.calls_per_minute),
            principals: Mutex::default(),
        }
    }

    /// Begins a call of `caller`, or refuses it with the time after which to try again.
    pub(crate) fn enter(self: &Arc<Self>, caller: &Identity) -> Result<Place> {
        self.take(caller, clock::monotonic(), true)
    }

    /// Counts a call that a program of `caller` makes: the program has the place, and its calls count for the
    /// minute.
    pub(crate) fn enter_within(self: &Arc<Self>, caller: &Identity) -> Result<Place> {
        self.take(caller, clock::monotonic(), false)
    }

    #[cfg(test)]
    fn enter_at(self: &Arc<Self>, caller: &Identity, now: Instant) -> Result<Place> {
        self.take(caller, now, true)
    }

    fn take(self: &Arc<Self>, caller: &Identity, now: Instant, needs_place: bool) -> Result<Place> {
        let name = match &caller.authority {
            Authority::Operator | Authority::Owner(_) => return Ok(Place { counted: None }),
            Authority::Stored | Authority::Token(_) => caller.principal.clone(),
        };
        let mut principals = self.lock();
        if principals.len() >= MAX_PRINCIPALS && !principals.contains_key(&name) {
            principals.retain(|_, share| share.running > 0 || self.left(share, now) < self.per_minute);
            if principals.len() >= MAX_PRINCIPALS {
                return Err(busy("too many principals call at once", Duration::from_secs(1)));
            }
        }
        let full = Share { running: 0, left: self.per_minute, filled_at: now };
        let share = principals.entry(name.clone()).or_insert(full);
        let left = self.left(share, now);
        (share.left, share.filled_at) = (left, now);
        if needs_place && share.running >= self.at_once {
            return Err(busy("too many calls of this principal run at once", Duration::from_secs(1)));
        }
        if left < 1.0 {
            let wait = Duration::from_secs_f64((1.0 - left) * 60.0 / self.per_minute);
            return Err(busy("too many calls of this principal in a minute", wait));
        }
        share.left -= 1.0;
        if !needs_place {
            return Ok(Place { counted: None });
        }
        share.running += 1;
        Ok(Place { counted: Some((Arc::clone(self), name)) })
    }

    fn left(&self, share: &Share, now: Instant) -> f64 {
        let gained = now.saturating_duration_since(share.filled_at).as_secs_f64() * self.per_minute / 60.0;
        (share.left + gained).min(self.per_minute)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Share>> {
        self.principals.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if let Some((shares, name)) = &self.counted
            && let Some(share) = shares.lock().get_mut(name)
        {
            share.running = share.running.saturating_sub(1);
        }
    }
}

fn busy(why: &str, wait: Duration) -> Error {
    // Whole seconds, and never 0, which would invite to try at once.
    let seconds = wait.as_secs() + u64::from(wait.subsec_nanos() > 0 || wait.is_zero());
    Error::new(ErrorKind::Busy, format!("{why}; try again in {seconds} s"))
        .hint("`[principals]` in `remit.toml` has the limits")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shares(calls: usize, calls_per_minute: u32) -> Arc<Shares> {
        Arc::new(Shares::new(PrincipalsConfig { calls, calls_per_minute, ..PrincipalsConfig::default() }))
    }

    fn refusal(result: Result<Place>) -> String {
        let error = result.map(drop).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Busy);
        error.message
    }

    #[test]
    fn a_principal_over_its_share_is_refused_and_another_is_not() {
        let (shares, now) = (shares(2, 1000), clock::monotonic());
        let (ada, bob) = (Identity::stored("ada"), Identity::stored("bob"));
        let first = shares.enter_at(&ada, now).unwrap();
        let _second = shares.enter_at(&ada, now).unwrap();
        let third = refusal(shares.enter_at(&ada, now));
        assert_eq!(third, "too many calls of this principal run at once; try again in 1 s");
        let _other = shares.enter_at(&bob, now).unwrap();
        drop(first);
        let _third = shares.enter_at(&ada, now).unwrap();
        refusal(shares.enter_at(&ada, now));
    }

    #[test]
    fn a_minute_has_so_many_calls_and_fills_steadily() {
        let (shares, now) = (shares(100, 6), clock::monotonic());
        let ada = Identity::stored("ada");
        for _ in 0..6 {
            drop(shares.enter_at(&ada, now).unwrap());
        }
        let refused = refusal(shares.enter_at(&ada, now));
        assert_eq!(refused, "too many calls of this principal in a minute; try again in 10 s");
        let refused = refusal(shares.enter_at(&ada, now + Duration::from_millis(7500)));
        assert_eq!(refused, "too many calls of this principal in a minute; try again in 3 s");
        assert!(shares.enter_at(&ada, now + Duration::from_secs(10)).is_ok());
        refusal(shares.enter_at(&ada, now + Duration::from_secs(10)));
        let token = Identity { principal: "ada".to_owned(), authority: Authority::Token(vec!["a:b".to_owned()]) };
        refusal(shares.enter_at(&token, now + Duration::from_secs(10)));
    }

    #[test]
    fn people_and_their_schedules_have_no_share() {
        let (shares, now) = (shares(1, 1), clock::monotonic());
        let free = [Identity::operator("cli"), Identity::made_by("ada", "loop:a/b/c")];
        let places: Vec<_> = free.iter().cycle().take(10).map(|caller| shares.enter_at(caller, now)).collect();
        assert!(places.iter().all(Result::is_ok));
        assert!(shares.lock().is_empty());
    }

    #[test]
    fn a_flood_of_names_is_bounded_and_passes() {
        let (shares, now) = (shares(4, 60), clock::monotonic());
        for number in 0..5000 {
            drop(shares.enter_at(&Identity::stored(format!("agent-{number}")), now));
        }
        assert_eq!(shares.lock().len(), MAX_PRINCIPALS);
        refusal(shares.enter_at(&Identity::stored("late"), now));
        assert!(shares.enter_at(&Identity::stored("late"), now + Duration::from_secs(60)).is_ok());
        assert_eq!(shares.lock().len(), 1);
    }
}
