//! Cases of schedules: a pattern, a zone and a local time go in; instants come out, or the kind of an error.

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZoneDatabase;
use remit::scheduler::next::{InvalidSchedule, Schedule, Timing};
use serde::Deserialize;
use serde_json::Value;

/// One case as a file says it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    cron: String,
    tz: String,
    /// On the clocks of the zone, as `2026-03-28T12:00:00`.
    after_local: String,
    /// The first firings after it, in order.
    expect_utc: Vec<String>,
    /// The kind of the error that comes instead of a first firing.
    error: Option<String>,
    id: String,
    /// For the reader.
    #[serde(rename = "why")]
    _why: Option<String>,
    /// For the reader: what other schedulers do.
    #[serde(rename = "other_anchors")]
    _other_anchors: Option<String>,
}

/// A case that failed.
#[derive(Debug, PartialEq, Eq)]
pub struct Failed {
    /// Its id, or its place in the file.
    pub id: String,
    /// What the case says.
    pub expected: String,
    /// What the host says.
    pub found: String,
}

/// Runs all cases of a file's text. Gives how many passed, and those that failed.
///
/// # Errors
/// When the text is not a JSON list.
pub fn run(text: &str) -> Result<(usize, Vec<Failed>), String> {
    let cases: Vec<Value> = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let count = cases.len();
    let failed: Vec<Failed> =
        cases.into_iter().enumerate().filter_map(|(index, case)| check(index, case).err()).collect();
    Ok((count - failed.len(), failed))
}

fn check(index: usize, value: Value) -> Result<(), Failed> {
    let id = value["id"].as_str().map_or_else(|| format!("#{index}"), str::to_owned);
    let case: Case = serde_json::from_value(value).map_err(|error| Failed {
        id: id.clone(),
        expected: "a case in a known form".to_owned(),
        found: error.to_string(),
    })?;
    let failed = |expected: String, found: String| Err(Failed { id: case.id.clone(), expected, found });
    let expected = match (&case.error, case.expect_utc.as_slice()) {
        (Some(error), []) => format!("error {error}"),
        (None, [_, ..]) => case.expect_utc.join(" "),
        _ => return failed("either firings or an error".to_owned(), "both or neither".to_owned()),
    };
    let found = match firings(&case) {
        Ok(found) => found.join(" "),
        Err(error) => format!("error {error}"),
    };
    if found == expected { Ok(()) } else { failed(expected, found) }
}

fn firings(case: &Case) -> Result<Vec<String>, String> {
    let timing = Timing::Cron { pattern: case.cron.clone(), timezone: case.tz.clone() };
    let schedule = Schedule::new(&timing, 0).map_err(|error| kind(&error))?;
    let local: DateTime = case.after_local.parse().map_err(|_| "after_local".to_owned())?;
    let zone = TimeZoneDatabase::bundled().get(&case.tz).map_err(|_| "tz".to_owned())?;
    // A local time that is there twice or never would make the case itself ambiguous.
    let after = zone.to_ambiguous_zoned(local).unambiguous().map_err(|_| "after_local".to_owned())?;
    let mut after = after.timestamp().as_millisecond();
    let mut firings = Vec::new();
    // A case of an error lists no firings, and is asked for one.
    for _ in 0..case.expect_utc.len().max(1) {
        after = schedule.next(after).map_err(|error| kind(&error))?;
        firings.push(Timestamp::from_millisecond(after).map_err(|error| error.to_string())?.to_string());
    }
    Ok(firings)
}

fn kind(error: &InvalidSchedule) -> String {
    let kind = match error {
        InvalidSchedule::Pattern(_) => "pattern",
        InvalidSchedule::Zone { .. } => "zone",
        InvalidSchedule::Interval(_) => "interval",
        // Both mean that no firing comes: one is known before a search, the other ends it.
        InvalidSchedule::NeverFires | InvalidSchedule::SearchEnded => "search_limit",
    };
    kind.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_case_passes() {
        let (passed, failed) = run(include_str!("../../data/schedules.json")).expect("a list");
        assert_eq!(failed, []);
        assert!(passed >= 20, "{passed}");
    }

    #[test]
    fn a_case_that_is_wrong_or_not_understood_fails() {
        let case = |change: &str| {
            let case = r#"{"id":"X","cron":"0 8 * * *","tz":"UTC","after_local":"2026-01-01T00:00:00","expect_utc":["2026-01-01T08:00:00Z"],"error":null,"why":""}"#;
            let (from, to) = change.split_once(" => ").unwrap_or(("", ""));
            assert!(case.contains(from), "{from}");
            let (passed, failed) = run(&format!("[{}]", case.replace(from, to))).expect("a list");
            (
                passed,
                failed.into_iter().map(|failed| format!("{}: {}", failed.id, failed.found)).collect::<Vec<_>>(),
            )
        };
        assert_eq!(case("\"X\" => \"X\""), (1, vec![]));
        for change in [
            "08:00:00Z => 08:00:01Z",
            r#""error":null => "error":"search_limit""#,
            r#"["2026-01-01T08:00:00Z"],"error":null => [],"error":"search_limit""#,
            r#"["2026-01-01T08:00:00Z"] => []"#,
            r#""why":"" => "why":"","seconds":true"#,
            r#""tz":"UTC", => "#,
            "UTC => Mars/Olympus",
            "0 8 * * * => 0 8 * * * *",
            "2026-01-01T00 => 2026-13-01T00",
        ] {
            let (passed, failed) = case(change);
            assert_eq!((passed, failed.len()), (0, 1), "{change}");
        }
        assert!(run("{}").is_err());
    }
}
