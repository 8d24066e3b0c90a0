//! How the end of something is said: `--for 30d`, `--until 2027-01-31`.

use clap::Args;
use jiff::tz::TimeZone;
use jiff::{Span, Timestamp, civil};

use crate::clock::Clock;
use crate::error::{Error, ErrorKind, Result};

/// When something ends.
#[derive(Debug, Args)]
pub(super) struct EndArgs {
    /// End it after so long: `12h`, `30d`, `1y`
    #[arg(long = "for", value_name = "SPAN", conflicts_with = "until")]
    span: Option<String>,
    /// End it then: at a time, or at the first moment of a date
    #[arg(long, value_name = "WHEN")]
    until: Option<String>,
}

impl EndArgs {
    /// The end, in milliseconds since 1970; `None` when none was said.
    pub(super) fn end(&self) -> Result<Option<i64>> {
        let (now_ms, zone) = (Clock::system().now_ms(), TimeZone::system());
        match (&self.span, &self.until) {
            (Some(span), _) => after(span, now_ms, &zone).map(Some),
            (None, Some(moment)) => at(moment, now_ms, &zone).map(Some),
            (None, None) => Ok(None),
        }
    }
}

/// The moment that is `span` after now. Days, months and years are those of the calendar.
fn after(span: &str, now_ms: i64, zone: &TimeZone) -> Result<i64> {
    let end = Timestamp::from_millisecond(now_ms).ok().and_then(|now| {
        let span = span.parse::<Span>().ok().filter(|span| span.is_positive())?;
        Some(now.to_zoned(zone.clone()).checked_add(span).ok()?.timestamp().as_millisecond())
    });
    end.ok_or_else(|| {
        Error::new(ErrorKind::Usage, format!("`{span}` is no span of time that could pass"))
            .hint("for example 12h, 30d, 26w, 1y")
    })
}

fn at(text: &str, now_ms: i64, zone: &TimeZone) -> Result<i64> {
    let timestamp = text.parse::<Timestamp>().ok();
    let moment =
        timestamp.or_else(|| Some(text.parse::<civil::DateTime>().ok()?.to_zoned(zone.clone()).ok()?.timestamp()));
    match moment.map(Timestamp::as_millisecond) {
        Some(moment) if moment > now_ms => Ok(moment),
        Some(_) => Err(Error::new(ErrorKind::Usage, format!("`{text}` is over already"))),
        None => Err(Error::new(ErrorKind::Usage, format!("`{text}` is no time"))
            .hint("for example 2027-01-31, or 2027-01-31T18:00")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2026-01-01T00:00:00Z.
    const NOW: i64 = 1_767_225_600_000;
    const HOUR: i64 = 3_600_000;

    fn zone() -> TimeZone {
        TimeZone::fixed(jiff::tz::offset(1))
    }

    #[test]
    fn a_span_ends_later() {
        for (text, hours) in
            [("12h", 12), ("30d", 720), ("2w", 336), ("1y", 8760), ("1 month", 744), ("1d 1h", 25)]
        {
            assert_eq!(after(text, NOW, &zone()).ok(), Some(NOW + hours * HOUR), "{text}");
        }
        for text in ["", "0d", "-1d", "30", "soon", "9000y", "2027-01-31"] {
            let message = after(text, NOW, &zone()).err().map(|error| error.message);
            assert_eq!(message, Some(format!("`{text}` is no span of time that could pass")));
        }
    }

    #[test]
    fn a_moment_is_one_that_comes() {
        for (text, moment) in [
            ("2026-01-02", NOW + 23 * HOUR),
            ("2026-01-01T18:00", NOW + 17 * HOUR),
            ("2026-01-01T18:00:00Z", NOW + 18 * HOUR),
        ] {
            assert_eq!(at(text, NOW, &zone()).ok(), Some(moment), "{text}");
        }
        for (text, message) in [
            ("2026-01-01", "`2026-01-01` is over already"),
            ("1999-12-31", "`1999-12-31` is over already"),
            ("30d", "`30d` is no time"),
            ("2027-02-30", "`2027-02-30` is no time"),
            ("", "`` is no time"),
        ] {
            assert_eq!(at(text, NOW, &zone()).err().map(|error| error.message).as_deref(), Some(message));
        }
    }
}
