//! The only place that reads the time, so that tests can decide what time it is.

use std::sync::Mutex;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Where rooms get the time from.
#[derive(Debug, Default)]
pub struct Clock {
    fixed: Option<Mutex<Duration>>,
}

impl Clock {
    /// The system's clock.
    #[must_use]
    pub fn system() -> Self {
        Self { fixed: None }
    }

    /// A clock that stands still until a test moves it.
    #[must_use]
    pub fn manual(since_epoch: Duration) -> Self {
        Self { fixed: Some(Mutex::new(since_epoch)) }
    }

    /// Moves a manual clock forward; a system clock ignores it.
    pub fn advance(&self, by: Duration) {
        if let Some(fixed) = &self.fixed {
            *fixed.lock().unwrap_or_else(std::sync::PoisonError::into_inner) += by;
        }
    }

    /// Sets a manual clock, also back; a system clock ignores it.
    pub fn set(&self, since_epoch: Duration) {
        if let Some(fixed) = &self.fixed {
            *fixed.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = since_epoch;
        }
    }

    /// Milliseconds since 1970-01-01 UTC.
    #[must_use]
    pub fn now_ms(&self) -> i64 {
        let since_epoch = match &self.fixed {
            Some(fixed) => *fixed.lock().unwrap_or_else(std::sync::PoisonError::into_inner),
            #[expect(clippy::disallowed_methods, reason = "this is the one gate for time")]
            None => SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default(),
        };
        i64::try_from(since_epoch.as_millis()).unwrap_or(i64::MAX)
    }
}

/// A point on the monotonic clock, for measuring and for deadlines.
#[must_use]
#[expect(clippy::disallowed_methods, reason = "this is the one gate for time")]
pub fn monotonic() -> Instant {
    Instant::now()
}
