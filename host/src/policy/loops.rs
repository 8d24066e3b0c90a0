//! What the `loops` namespace may do for one capability: how many loops it may make, and how often they fire.

use std::time::Duration;

use super::Grant;
use crate::config::LoopsConfig;
use crate::error::{Error, ErrorKind, Result};
use crate::manifest::NamespaceName;
use crate::scheduler::next::{MAX_PERIOD, MIN_PERIOD, Timing};

/// What `loops` may do for one capability.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoopsGrant {
    /// Loops that it may make, presets not counted.
    pub max: u32,
    /// The least time between two firings of one loop.
    pub min_period: Duration,
}

/// One entry of a grant.
enum Limit {
    Max(u32),
    Every(Duration),
}

/// The limits of the grant, or else those of the operator.
pub(super) fn decide(grants: &[Grant], config: &LoopsConfig) -> LoopsGrant {
    let min_period = Duration::from_secs(config.min_period_s).max(MIN_PERIOD);
    let mut granted = LoopsGrant { max: config.per_capability, min_period };
    let entries = grants.iter().filter(|grant| grant.namespace == NamespaceName::Loops);
    for limit in entries.filter_map(|grant| read(grant.entry.as_deref()?)) {
        match limit {
            Limit::Max(max) => granted.max = max,
            Limit::Every(period) => granted.min_period = period,
        }
    }
    granted
}

/// Checks an entry that is to be granted.
pub(super) fn check_entry(entry: &str) -> Result<()> {
    read(entry).map(drop).ok_or_else(|| {
        Error::new(ErrorKind::Usage, format!("`{entry}` is no entry of `loops`"))
            .hint("for example max=50, or every=5m; never below every=1m")
    })
}

fn read(entry: &str) -> Option<Limit> {
    let (key, value) = entry.split_once('=')?;
    match key {
        "max" => value.bytes().all(|byte| byte.is_ascii_digit()).then(|| value.parse().ok())?.map(Limit::Max),
        "every" => match Timing::interval(value).ok()? {
            Timing::Interval { seconds } => {
                let period = Duration::from_secs(seconds);
                (MIN_PERIOD..=MAX_PERIOD).contains(&period).then_some(Limit::Every(period))
            }
            Timing::Cron { .. } => None,
        },
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grant(entry: Option<&str>) -> Grant {
        Grant { namespace: NamespaceName::Loops, entry: entry.map(str::to_owned) }
    }

    #[test]
    fn the_grant_says_more_or_less_than_the_operators_default() {
        let config = LoopsConfig { per_capability: 20, min_period_s: 300, ..LoopsConfig::default() };
        let cases: &[(&[&str], u32, u64)] = &[
            (&[], 20, 300),
            (&["max=0"], 0, 300),
            (&["max=500", "every=1m"], 500, 60),
            (&["every=2h"], 20, 7200),
            // What cannot be granted counts for nothing.
            (&["every=59s", "max=-1", "max=", "every=", "forever", "max=99999999999"], 20, 300),
        ];
        for (entries, max, seconds) in cases {
            let grants: Vec<Grant> = entries.iter().map(|entry| grant(Some(entry))).chain([grant(None)]).collect();
            let expected = LoopsGrant { max: *max, min_period: Duration::from_secs(*seconds) };
            assert_eq!(decide(&grants, &config), expected, "{entries:?}");
        }
    }

    #[test]
    fn an_entry_is_checked_before_it_is_granted() {
        for good in ["max=1", "max=0", "every=60s", "every=1d"] {
            assert!(check_entry(good).is_ok(), "{good}");
        }
        for bad in [
            "",
            "max",
            "max=",
            "max=x",
            "max=+1",
            "every=1s",
            "every=1000d",
            "every=1",
            "Max=1",
            "a=b",
            "api.example.com",
        ] {
            assert!(check_entry(bad).is_err(), "{bad}");
        }
    }
}
