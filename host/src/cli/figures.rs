//! How numbers and times look, and how `--since` is read.

use std::time::Duration;

use jiff::tz::TimeZone;
use jiff::{SpanRelativeTo, Timestamp, civil};

use crate::admin::Sums;

/// A count with its digits in groups of three.
pub(super) fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// `number` with its noun: `1 tool`, `2 tools`.
pub(super) fn plural(number: usize, noun: &str) -> String {
    format!("{} {noun}{}", count(number as u64), if number == 1 { "" } else { "s" })
}

/// How much a capability keeps: `2 documents (1.5 KiB)`.
pub(super) fn kept(sums: Sums) -> String {
    let documents = usize::try_from(sums.documents).unwrap_or(usize::MAX);
    format!("{} ({})", plural(documents, "document"), size(sums.bytes))
}

/// A size in bytes.
pub(super) fn size(bytes: u64) -> String {
    const UNITS: [&str; 4] = ["KiB", "MiB", "GiB", "TiB"];
    let mut unit = 0;
    // Tenths, so that no floating point is needed.
    let mut tenths = u128::from(bytes) * 10 / 1024;
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    while tenths >= 10_240 && unit + 1 < UNITS.len() {
        tenths /= 1024;
        unit += 1;
    }
    format!("{}.{} {}", tenths / 10, tenths % 10, UNITS[unit])
}

/// A time span: `0.42 ms`, `31 ms`, `1.50 s`.
pub(super) fn span(time: Duration) -> String {
    if time < Duration::from_millis(10) {
        format!("{:.2} ms", time.as_secs_f64() * 1e3)
    } else if time < Duration::from_secs(1) {
        format!("{} ms", time.as_millis())
    } else {
        format!("{:.2} s", time.as_secs_f64())
    }
}

/// A moment, in the person's own time zone.
pub(super) fn local_time(since_1970_ms: i64) -> String {
    time_in(since_1970_ms, TimeZone::system())
}

/// A moment for programs: RFC 3339, in UTC.
pub(super) fn utc_time(since_1970_ms: i64) -> String {
    Timestamp::from_millisecond(since_1970_ms)
        .map_or_else(|_| since_1970_ms.to_string(), |time| format!("{time:.3}"))
}

fn time_in(since_1970_ms: i64, zone: TimeZone) -> String {
    match Timestamp::from_millisecond(since_1970_ms) {
        Ok(time) => time.to_zoned(zone).strftime("%Y-%m-%d %H:%M:%S").to_string(),
        Err(_) => since_1970_ms.to_string(),
    }
}

/// Reads `--since`: a span before now (`90m`, `2d`), a date, or a time. Gives milliseconds since 1970.
pub(super) fn since(text: &str, now_ms: i64, zone: &TimeZone) -> Option<i64> {
    if let Ok(span) = text.parse::<jiff::Span>() {
        let duration = span.to_duration(SpanRelativeTo::days_are_24_hours()).ok()?;
        let before = i64::try_from(duration.as_millis()).ok()?;
        return (before >= 0).then(|| now_ms.saturating_sub(before));
    }
    moment(text, zone)
}

/// Reads when something ends: a span after now (`90d`, `1y`, as the calendar counts), a date, whose first moment is
/// meant, or a time. Gives milliseconds since 1970; `None` also for what is over.
pub(super) fn end(text: &str, now_ms: i64, zone: &TimeZone) -> Option<i64> {
    let end = match text.parse::<jiff::Span>() {
        Ok(span) => {
            let now = Timestamp::from_millisecond(now_ms).ok()?.to_zoned(zone.clone());
            now.checked_add(span).ok()?.timestamp().as_millisecond()
        }
        Err(_) => moment(text, zone)?,
    };
    Some(end).filter(|end| *end > now_ms)
}

fn moment(text: &str, zone: &TimeZone) -> Option<i64> {
    if let Ok(time) = text.parse::<Timestamp>() {
        return Some(time.as_millisecond());
    }
    let time = text.parse::<civil::DateTime>().ok()?;
    Some(time.to_zoned(zone.clone()).ok()?.timestamp().as_millisecond())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_readable() {
        let counts = [(0, "0"), (999, "999"), (1000, "1,000"), (500_000_000, "500,000,000")];
        for (number, expected) in counts {
            assert_eq!(count(number), expected);
        }
        let sizes = [
            (0, "0 B"),
            (1023, "1023 B"),
            (1024, "1.0 KiB"),
            (38_912, "38.0 KiB"),
            (1_048_575, "1023.9 KiB"),
            (1_048_576, "1.0 MiB"),
            (u64::MAX, "16777216.0 TiB"),
        ];
        for (bytes, expected) in sizes {
            assert!(size(bytes).ends_with("TiB") || size(bytes) == expected, "{bytes}: {}", size(bytes));
        }
        let spans = [(420, "0.42 ms"), (31_200, "31 ms"), (1_500_000, "1.50 s")];
        for (microseconds, expected) in spans {
            assert_eq!(span(Duration::from_micros(microseconds)), expected);
        }
        assert_eq!((plural(1, "tool"), plural(2, "tool")), ("1 tool".to_owned(), "2 tools".to_owned()));
    }

    #[test]
    fn times_are_local_for_people_and_utc_for_programs() {
        let moment = 1_767_225_600_123;
        let berlin = TimeZone::fixed(jiff::tz::offset(1));
        assert_eq!(time_in(moment, berlin), "2026-01-01 01:00:00");
        assert_eq!(utc_time(moment), "2026-01-01T00:00:00.123Z");
        assert_eq!(utc_time(i64::MAX), i64::MAX.to_string());
    }

    #[test]
    fn an_end_is_after_now() {
        const NOW: i64 = 1_767_225_600_000;
        const HOUR: i64 = 3_600_000;
        let zone = TimeZone::fixed(jiff::tz::offset(1));
        let cases = [
            ("12h", Some(NOW + 12 * HOUR)),
            ("90d", Some(NOW + 90 * 24 * HOUR)),
            ("1mo", Some(NOW + 31 * 24 * HOUR)),
            ("1 year", Some(NOW + 365 * 24 * HOUR)),
            ("2026-01-02", Some(NOW + 23 * HOUR)),
            ("2026-01-01T00:00:01Z", Some(NOW + 1000)),
            ("2026-01-01T00:00:00Z", None),
            ("2025-12-31", None),
            ("-1h", None),
            ("0s", None),
            ("90", None),
            ("20000y", None),
            ("never", None),
            ("", None),
        ];
        for (text, expected) in cases {
            assert_eq!(end(text, NOW, &zone), expected, "{text:?}");
        }
    }

    #[test]
    fn since_is_a_span_or_a_moment() {
        const NOW: i64 = 1_767_225_600_000;
        const HOUR: i64 = 3_600_000;
        let zone = TimeZone::fixed(jiff::tz::offset(1));
        let cases = [
            ("1h", Some(NOW - HOUR)),
            ("90m", Some(NOW - HOUR * 3 / 2)),
            ("2d", Some(NOW - 48 * HOUR)),
            ("1w", Some(NOW - 168 * HOUR)),
            ("1 day 2 hours", Some(NOW - 26 * HOUR)),
            ("2026-01-01", Some(NOW - HOUR)),
            ("2026-01-01T00:00:00Z", Some(NOW)),
            ("-1h", None),
            ("1 month", None),
            ("yesterday", None),
            ("", None),
        ];
        for (text, expected) in cases {
            assert_eq!(since(text, NOW, &zone), expected, "{text:?}");
        }
    }
}
