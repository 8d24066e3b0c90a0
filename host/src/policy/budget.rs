//! What one call may spend: what the manifest asks, or the operator's default, under the operator's ceiling.

use std::time::Duration;

use crate::config::{Config, Limits as Configured};
use crate::manifest::Limits as Asked;

/// What a call gets when nobody says anything.
pub const DEFAULT_BUDGET: Budget = Budget {
    // About a second of computing on the reference machine: ample for a tool that answers an agent.
    fuel: 500_000_000,
    // Parses a response of the largest size (5 MiB) in any language with a garbage collector.
    memory_bytes: 64 * MIB,
    // The longest that agents' clients commonly wait for an answer.
    time: Duration::from_secs(30),
    // A few pages of a paged API, with their redirects.
    http_requests: 20,
};

/// What a manifest can ask for while the operator says nothing.
pub const BUDGET_CEILING: Budget = Budget {
    // Twenty times the default: heavy work, which still cannot hold a core for long.
    fuel: 10_000_000_000,
    // With 64 calls at once, the default concurrency, 16 GiB of address space at the very worst.
    memory_bytes: 256 * MIB,
    // Clients give up earlier; what goes on after that is of no use to anybody.
    time: Duration::from_secs(120),
    // Beyond this a tool crawls, and should page through its caller.
    http_requests: 100,
};

const MIB: usize = 1024 * 1024;

/// What one call may spend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// Units of work.
    pub fuel: u64,
    /// Bytes of linear memory and tables, all together.
    pub memory_bytes: usize,
    /// Wall-clock time, waiting included.
    pub time: Duration,
    /// Outbound requests, redirects included.
    pub http_requests: u32,
}

/// The budget of one call.
pub(super) fn budget(asked: Option<Asked>, config: &Config) -> Budget {
    let asked = with_asked(asked.unwrap_or_default(), with(config.defaults, DEFAULT_BUDGET));
    let ceiling = with(config.ceilings, BUDGET_CEILING);
    Budget {
        fuel: asked.fuel.min(ceiling.fuel),
        memory_bytes: asked.memory_bytes.min(ceiling.memory_bytes),
        time: asked.time.min(ceiling.time),
        http_requests: asked.http_requests.min(ceiling.http_requests),
    }
}

/// The most memory that any call can have, in bytes: what a place in the pool of instances is made for.
#[must_use]
pub fn memory_ceiling(config: &Config) -> usize {
    with(config.ceilings, BUDGET_CEILING).memory_bytes
}

/// `budget` with what the operator configured in its place.
fn with(configured: Configured, budget: Budget) -> Budget {
    let Configured { fuel, memory_mib, time_ms, http_requests } = configured;
    with_asked(Asked { fuel, memory_mib, time_ms, http_requests }, budget)
}

fn with_asked(asked: Asked, budget: Budget) -> Budget {
    let bytes = |mib: u32| usize::try_from(mib).unwrap_or(usize::MAX).saturating_mul(MIB);
    Budget {
        fuel: asked.fuel.unwrap_or(budget.fuel),
        memory_bytes: asked.memory_mib.map_or(budget.memory_bytes, bytes),
        time: asked.time_ms.map_or(budget.time, |ms| Duration::from_millis(ms.into())),
        http_requests: asked.http_requests.unwrap_or(budget.http_requests),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fuel_of(asked: Option<u64>, default: Option<u64>, ceiling: Option<u64>) -> u64 {
        let config = Config {
            defaults: Configured { fuel: default, ..Configured::default() },
            ceilings: Configured { fuel: ceiling, ..Configured::default() },
            ..Config::default()
        };
        budget(asked.map(|fuel| Asked { fuel: Some(fuel), ..Asked::default() }), &config).fuel
    }

    #[test]
    fn asked_or_default_under_the_ceiling() {
        let cases = [
            (None, None, None, DEFAULT_BUDGET.fuel),
            (None, Some(7), None, 7),
            (Some(9), Some(7), None, 9),
            (Some(9), Some(7), Some(8), 8),
            (None, Some(7), Some(3), 3),
            (None, None, Some(3), 3),
            (Some(u64::MAX), None, None, BUDGET_CEILING.fuel),
            (Some(u64::MAX), None, Some(u64::MAX), u64::MAX),
            (Some(0), None, None, 0),
        ];
        for (asked, default, ceiling, expected) in cases {
            assert_eq!(fuel_of(asked, default, ceiling), expected, "{asked:?} {default:?} {ceiling:?}");
        }
    }

    #[test]
    fn every_part_has_its_ceiling() {
        let all = Asked {
            fuel: Some(u64::MAX),
            memory_mib: Some(u32::MAX),
            time_ms: Some(u32::MAX),
            http_requests: Some(u32::MAX),
        };
        assert_eq!(budget(Some(all), &Config::default()), BUDGET_CEILING);
        assert_eq!(budget(None, &Config::default()), DEFAULT_BUDGET);
    }
}
