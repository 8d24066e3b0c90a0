//! How many requests one client may send: a bucket of tokens for each address, filled at the configured
//! rate and as deep as one second.
//!
//! The address is that of the connection. Behind a proxy all clients are one, and the proxy has to limit.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::http::StatusCode;
use axum::http::header::RETRY_AFTER;
use axum::response::{IntoResponse as _, Response};

use crate::clock;

/// Buckets that are kept: far more than connections at once. A full one is as good as none and is dropped.
const MAX_BUCKETS: usize = 4096;

/// The buckets of one door.
pub(super) struct Rate {
    per_second: f64,
    buckets: Mutex<HashMap<IpAddr, Bucket>>,
}

struct Bucket {
    tokens: f64,
    filled_at: Instant,
}

impl Rate {
    /// Buckets that fill at `per_second`, which must not be 0.
    pub(super) fn new(per_second: u32) -> Self {
        Self { per_second: f64::from(per_second), buckets: Mutex::default() }
    }

    /// Lets a request of `client` in, or answers 429.
    pub(super) fn admit(&self, client: IpAddr) -> Result<(), Response> {
        self.take(client, clock::monotonic()).map_err(|wait| {
            // The header counts whole seconds, and 0 would invite to try at once.
            let seconds = wait.as_secs() + 1;
            let message = "host/busy: too many requests from this address; try again";
            (StatusCode::TOO_MANY_REQUESTS, [(RETRY_AFTER, seconds.to_string())], message).into_response()
        })
    }

    /// Takes one token of `client`, or tells how long until there is one.
    fn take(&self, client: IpAddr, now: Instant) -> Result<(), Duration> {
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        let client = network(client);
        if buckets.len() >= MAX_BUCKETS && !buckets.contains_key(&client) {
            buckets.retain(|_, bucket| self.tokens(bucket, now) < self.per_second);
            if buckets.len() >= MAX_BUCKETS {
                return Err(Duration::from_secs(1));
            }
        }
        let bucket = buckets.entry(client).or_insert(Bucket { tokens: self.per_second, filled_at: now });
        let tokens = self.tokens(bucket, now);
        *bucket = Bucket { tokens, filled_at: now };
        if tokens < 1.0 {
            return Err(Duration::from_secs_f64((1.0 - tokens) / self.per_second));
        }
        bucket.tokens -= 1.0;
        Ok(())
    }

    fn tokens(&self, bucket: &Bucket, now: Instant) -> f64 {
        let gained = now.saturating_duration_since(bucket.filled_at).as_secs_f64() * self.per_second;
        (bucket.tokens + gained).min(self.per_second)
    }
}

/// What counts as one client: an IPv4 address, or the 64 bits of an IPv6 network, of which one client has
/// all the addresses.
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & !u128::from(u64::MAX))),
        address @ IpAddr::V4(_) => address,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn a_bucket_is_as_deep_as_a_second_and_fills_steadily() {
        let rate = Rate::new(4);
        let start = clock::monotonic();
        let at = |ms| start + Duration::from_millis(ms);
        for _ in 0..4 {
            assert_eq!(rate.take(ip("192.0.2.1"), start), Ok(()));
        }
        assert_eq!(rate.take(ip("192.0.2.1"), start), Err(Duration::from_millis(250)));
        assert_eq!(rate.take(ip("192.0.2.1"), at(100)), Err(Duration::from_millis(150)));
        assert_eq!(rate.take(ip("192.0.2.1"), at(250)), Ok(()));
        assert!(rate.take(ip("192.0.2.1"), at(250)).is_err());
        assert_eq!(rate.take(ip("192.0.2.2"), start), Ok(()), "another client has its own");
        for _ in 0..4 {
            assert_eq!(rate.take(ip("192.0.2.1"), at(3_600_000)), Ok(()));
        }
        assert!(rate.take(ip("192.0.2.1"), at(3_600_000)).is_err(), "an idle hour saves up one second");
    }

    #[test]
    fn time_that_runs_back_gives_nothing() {
        let rate = Rate::new(1);
        let later = clock::monotonic() + Duration::from_secs(10);
        assert_eq!(rate.take(ip("192.0.2.1"), later), Ok(()));
        assert!(rate.take(ip("192.0.2.1"), later - Duration::from_secs(5)).is_err());
    }

    #[test]
    fn one_client_is_one_network() {
        let same = [
            ("192.0.2.1", "192.0.2.1"),
            ("::ffff:192.0.2.1", "192.0.2.1"),
            ("2001:db8:0:1::1", "2001:db8:0:1:ffff:ffff:ffff:ffff"),
        ];
        for (left, right) in same {
            assert_eq!(network(ip(left)), network(ip(right)));
        }
        assert_ne!(network(ip("2001:db8:0:1::1")), network(ip("2001:db8:0:2::1")));
        assert_ne!(network(ip("192.0.2.1")), network(ip("192.0.2.2")));
    }

    #[test]
    fn a_flood_of_addresses_is_bounded_and_passes() {
        let rate = Rate::new(10);
        let start = clock::monotonic();
        for client in 0..10_000_u32 {
            let _ = rate.take(IpAddr::V4(client.into()), start);
        }
        assert_eq!(rate.buckets.lock().unwrap().len(), MAX_BUCKETS);
        assert!(rate.take(ip("198.51.100.1"), start).is_err());
        assert_eq!(rate.take(ip("198.51.100.1"), start + Duration::from_secs(1)), Ok(()));
        assert_eq!(rate.buckets.lock().unwrap().len(), 1);
    }
}
