//! Cases of schedules: a pattern, a zone and a local time go in; instants come out, or the kind of an error.

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZoneDatabase;
use remit::scheduler::next::{InvalidSchedule, Schedule, Timing};
use serde::Deserialize;
use serde_json::Value;

use crate::report::{Failed, Report};

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

/// Runs all cases of a file's text.
///
/// # Errors
/// When the text is no list of cases, or an empty one.
pub fn run(cases: &str) -> Result<Report, String> {
    let cases: Vec<Value> = serde_json::from_str(cases).map_err(|error| format!("no list of cases: {error}"))?;
    if cases.is_empty() {
        return Err("the list has no cases".to_owned());
    }
    let count = cases.len();
    let failed: Vec<Failed> =
        cases.into_iter().enumerate().filter_map(|(index, case)| check(index, case).err()).collect();
    Ok(Report { passed: count - failed.len(), failed })
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
        let report = run(include_str!("../../data/schedules.json")).expect("a list");
        let failed: Vec<String> = report.failed.iter().map(Failed::to_string).collect();
        assert_eq!(failed, [""; 0]);
        assert!(report.passed >= 20, "{}", report.passed);
    }

    #[test]
    fn a_case_that_is_wrong_or_not_understood_fails() {
        let case = |change: &str| {
            let case = r#"{"id":"X","cron":"0 8 * * *","tz":"UTC","after_local":"2026-01-01T00:00:00","expect_utc":["2026-01-01T08:00:00Z"],"error":null,"why":""}"#;
            let (from, to) = change.split_once(" => ").unwrap_or(("", ""));
            assert!(case.contains(from), "{from}");
            let report = run(&format!("[{}]", case.replace(from, to))).expect("a list");
            (report.passed, report.failed.len())
        };
        assert_eq!(case("\"X\" => \"X\""), (1, 0));
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
            assert_eq!(case(change), (0, 1), "{change}");
        }
        assert!(run("{}").is_err() && run("[]").is_err());
    }
}
