//! Cases of outbound requests: whether a request may leave, where it goes, and what it did on the way.
//!
//! A file is a JSON list of cases. What a case says:
//!
//! | field | meaning |
//! |---|---|
//! | `group` | `allow_entry`: `allow_list` itself is judged, and nothing sent. Any other is for readers |
//! | `url_or_host` | the URL that the guest asks for |
//! | `allow_list` | what the manifest declares, and all of it is granted. Empty: declared, and nothing granted |
//! | `resolves_to` | what DNS answers, for every name or by name |
//! | `request` | `method`, `headers`, `body` or `body_bytes`. Its `{{NAME}}` are approved where they stand, for the first host only |
//! | `upstream` | what a connection does, or a list of such; a redirect is followed by an answer unless it leads back |
//! | `steps`, `environment` | what else happens: `plan.rs` |
//! | `verdict`, `error_kind` | what must be decided: `kinds.rs` |
//! | `assert_next_hop_headers` | the fields of the guest's that the second hop gets, and no other |
//! | `assert_guest_headers_absent` | fields that the guest does not see |
//!
//! Besides the verdict, every case is held to what the host promises of the way (`effects.rs`): a request that is
//! refused before its name is looked up costs no look-up, no connection and no read of a secret; one that is
//! refused for its address costs no connection and no secret; every attempt leaves one record with its outcome;
//! what is dialled is an address that was judged, for the name that was asked. The rooms are the host's own:
//! the gate of build and install, `policy`, `Egress`, `CallSecrets`, `Ledger`. Only DNS and the wire are scripted.
//!
//! Three forms need a word. **HTTP/2** is never offered, so a server that insists on it must see no `h2` in the
//! client's hello and get no request; the case's kind says how a client of HTTP/2 would be stopped, and is not
//! compared. **A line break in a `Location`** cannot be sent as a value: it is played twice, once as it is, where
//! what follows the break is another field that must lead nowhere, and once with tabs instead, which is judged.
//! **Variables** are set for a process of its own, over real TCP: `environment.rs`.

mod capability;
mod case;
mod effects;
mod environment;
mod judge;
mod kinds;
mod names;
mod plan;
mod server;
mod wires;
mod words;
mod world;

use std::path::Path;

use serde::Deserialize as _;
use serde_json::Value;

pub use crate::report::{Failed, Report};
pub use environment::play;

use case::Case;
use judge::{agrees, expected, judge};
use plan::Plan;
use wires::Wire;

/// Runs a file of cases. `program` is `remit-cases`, for cases that need a process of their own.
///
/// # Errors
/// When `cases` is no list of cases, or an empty one.
pub fn run(cases: &str, program: &Path) -> Result<Report, String> {
    let cases: Vec<Value> = serde_json::from_str(cases).map_err(|error| format!("no list of cases: {error}"))?;
    if cases.is_empty() {
        return Err("the list has no cases".to_owned());
    }
    let scratch = tempfile::tempdir().map_err(|error| error.to_string())?;
    let mut report = Report::default();
    for (index, value) in cases.iter().enumerate() {
        match run_one(value, program, scratch.path()) {
            Ok(()) => report.passed += 1,
            Err((expected, found)) => {
                let id = value["id"].as_str().map_or_else(|| format!("case {}", index + 1), str::to_owned);
                report.failed.push(Failed { id, expected, found });
            }
        }
    }
    Ok(report)
}

/// Runs one case. An error is what was expected, and what was found.
fn run_one(value: &Value, program: &Path, scratch: &Path) -> Result<(), (String, String)> {
    let stated = || format!("{} {}", value["verdict"], value["error_kind"]).replace('"', "");
    let not_played = |why: String| (stated(), format!("a case that cannot be played: {why}"));
    let case = Case::deserialize(value).map_err(|error| not_played(error.to_string()))?;
    let expected = expected(&case).map_err(not_played)?;
    let variables = Plan::of(&case).map_err(not_played)?.variables;
    let judged = if variables.is_empty() {
        judge(&case, Wire::Memory, scratch)
    } else {
        environment::judge_apart(value, &variables, program)
    };
    let judged = judged.map_err(not_played)?;
    if agrees(&case, &expected, &judged.found) && judged.wrong.is_empty() {
        return Ok(());
    }
    let found = std::iter::once(judged.found).chain(judged.wrong).collect::<Vec<_>>().join("; ");
    Err((expected, found))
}
