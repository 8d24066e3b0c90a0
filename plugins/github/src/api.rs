//! Requests to GitHub's REST API, and its refusals in words for the agent.

use remit_sdk::serde::Deserialize;
use remit_sdk::{Failure, http};

/// The description that the shapes in `issue.rs` follow.
const API_VERSION: &str = "2022-11-28";

/// A GET request for a path.
pub fn get(path: &str) -> http::Request {
    with_headers(http::get(url(path)))
}

/// A POST request for a path.
pub fn post(path: &str) -> http::Request {
    with_headers(http::post(url(path)))
}

fn url(path: &str) -> String {
    format!("https://api.github.com{path}")
}

fn with_headers(request: http::Request) -> http::Request {
    request
        .header("accept", "application/vnd.github+json")
        .header("authorization", "Bearer {{GITHUB_TOKEN}}")
        .header("x-github-api-version", API_VERSION)
}

/// Sends a request. `what` names what it is about, for failures.
pub fn send(request: http::Request, what: &str) -> Result<http::Response, Failure> {
    let response = request.send()?;
    if response.is_success() { Ok(response) } else { Err(failure(&response, what)) }
}

fn failure(response: &http::Response, what: &str) -> Failure {
    // An answer without the usual body still has its status.
    let said: Refusal = response.json().unwrap_or_default();
    let message = said.message.as_deref().unwrap_or("no reason given");
    match response.status {
        401 => Failure::Failed(
            "GitHub does not accept the token: it is wrong, revoked or expired, and a person has to set another"
                .to_owned(),
        ),
        403 | 429 => Failure::Failed(limit(response).unwrap_or_else(|| {
            format!("GitHub refuses this ({message}): the token may lack a permission for {what}")
        })),
        404 => Failure::NotFound(format!("there is no {what}, or the token may not see it")),
        410 => Failure::NotFound(format!("{what}: it was deleted, or issues are switched off there")),
        400 | 422 => Failure::InvalidInput(said.describe()),
        status @ 500.. => Failure::Failed(format!("GitHub has a fault (status {status}): try again later")),
        status => Failure::Failed(format!("GitHub answered with status {status} ({message})")),
    }
}

/// What to do when a rate limit was reached. `None` when that is not why it was refused.
fn limit(response: &http::Response) -> Option<String> {
    if let Some(seconds) = response.header("retry-after") {
        return Some(format!("GitHub's rate limit is reached: try again in {seconds} seconds"));
    }
    if response.header("x-ratelimit-remaining") == Some("0") {
        let reset = response.header("x-ratelimit-reset")?.parse().ok()?;
        return Some(format!("GitHub's rate limit is reached: try again after {}", utc(reset)));
    }
    (response.status == 429).then(|| "GitHub's rate limit is reached: try again in a minute".to_owned())
}

/// A time in seconds since 1970 as people read it.
fn utc(seconds: u64) -> String {
    let (days, time) = (seconds / 86_400, seconds % 86_400);
    let (year, month, day) = date(days);
    format!("{year}-{month:02}-{day:02} {:02}:{:02}:{:02} UTC", time / 3600, time / 60 % 60, time % 60)
}

/// The date, so many days after 1970-01-01.
///
/// Years are counted from March, so that a leap day is the last of its year, and in cycles of 400 years,
/// which all have the same number of days.
fn date(days: u64) -> (u64, u64, u64) {
    const CYCLE: u64 = 146_097;
    let days = days + 719_468;
    let (cycle, day_of_cycle) = (days / CYCLE, days % CYCLE);
    let year_of_cycle =
        (day_of_cycle - day_of_cycle / 1460 + day_of_cycle / 36_524 - day_of_cycle / (CYCLE - 1)) / 365;
    let day_of_year = day_of_cycle - (365 * year_of_cycle + year_of_cycle / 4 - year_of_cycle / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    (cycle * 400 + year_of_cycle + u64::from(month <= 2), month, day)
}

/// The body of a refusal.
#[derive(Default, Deserialize)]
#[serde(crate = "remit_sdk::serde")]
struct Refusal {
    message: Option<String>,
    #[serde(default)]
    errors: Vec<FieldError>,
}

/// What is wrong with one field.
#[derive(Deserialize)]
#[serde(crate = "remit_sdk::serde")]
struct FieldError {
    field: Option<String>,
    code: Option<String>,
    message: Option<String>,
}

impl Refusal {
    fn describe(&self) -> String {
        let errors: Vec<String> = self.errors.iter().map(FieldError::describe).collect();
        let message = self.message.as_deref().unwrap_or("invalid");
        if errors.is_empty() {
            return format!("GitHub cannot use this: {message}");
        }
        format!("GitHub cannot use this: {message}: {}", errors.join("; "))
    }
}

impl FieldError {
    fn describe(&self) -> String {
        let reason = self.message.as_deref().or(self.code.as_deref()).unwrap_or("invalid");
        match &self.field {
            Some(field) => format!("`{field}`: {reason}"),
            None => reason.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use remit_sdk::serde_json::{Value, json};
    use remit_sdk::testing;

    fn check(status: u16, headers: &[(&str, &str)], body: &Value, expected: &Failure) {
        let mut response = testing::json(status, body);
        for (name, value) in headers {
            response.headers.push(((*name).to_owned(), value.as_bytes().to_vec()));
        }
        assert_eq!(failure(&response, "issue 7 of `a/b`"), *expected);
    }

    #[test]
    fn refusals() {
        let failed = |message: &str| Failure::Failed(message.to_owned());
        let not_found = |message: &str| Failure::NotFound(message.to_owned());
        let invalid = |message: &str| Failure::InvalidInput(message.to_owned());
        let said = json!({ "message": "Said", "documentation_url": "https://docs.example/" });

        check(
            401,
            &[],
            &said,
            &failed(
                "GitHub does not accept the token: it is wrong, revoked or expired, and a person has to set another",
            ),
        );
        check(
            403,
            &[],
            &said,
            &failed("GitHub refuses this (Said): the token may lack a permission for issue 7 of `a/b`"),
        );
        check(
            403,
            &[("x-ratelimit-remaining", "12")],
            &json!(null),
            &failed("GitHub refuses this (no reason given): the token may lack a permission for issue 7 of `a/b`"),
        );
        check(
            403,
            &[("X-RateLimit-Remaining", "0"), ("X-RateLimit-Reset", "1709210096")],
            &said,
            &failed("GitHub's rate limit is reached: try again after 2024-02-29 12:34:56 UTC"),
        );
        check(
            403,
            &[("retry-after", "60")],
            &said,
            &failed("GitHub's rate limit is reached: try again in 60 seconds"),
        );
        check(429, &[], &said, &failed("GitHub's rate limit is reached: try again in a minute"));
        check(404, &[], &said, &not_found("there is no issue 7 of `a/b`, or the token may not see it"));
        check(410, &[], &said, &not_found("issue 7 of `a/b`: it was deleted, or issues are switched off there"));
        check(422, &[], &said, &invalid("GitHub cannot use this: Said"));
        check(
            422,
            &[],
            &json!({ "message": "Validation Failed", "errors": [
                { "resource": "Issue", "field": "title", "code": "missing_field" },
                { "resource": "Search", "field": "q", "code": "invalid", "message": "None of the users can be searched" },
                { "code": "custom" },
            ] }),
            &invalid(
                "GitHub cannot use this: Validation Failed: `title`: missing_field; `q`: None of the users can be searched; custom",
            ),
        );
        check(503, &[], &said, &failed("GitHub has a fault (status 503): try again later"));
        check(304, &[], &json!([]), &failed("GitHub answered with status 304 (no reason given)"));
    }

    #[test]
    fn times() {
        for (seconds, expected) in [
            (0, "1970-01-01 00:00:00 UTC"),
            (951_782_399, "2000-02-28 23:59:59 UTC"),
            (951_782_400, "2000-02-29 00:00:00 UTC"),
            (1_735_689_599, "2024-12-31 23:59:59 UTC"),
            (4_107_542_400, "2100-03-01 00:00:00 UTC"),
        ] {
            assert_eq!(utc(seconds), expected);
        }
    }
}
