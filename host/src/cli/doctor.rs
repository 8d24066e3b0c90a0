//! `remit doctor`: whether the data directory is in order, and what to do where it is not.

use clap::Args;
use serde_json::{Value, json};

use super::{Context, figures};
use crate::doctor::{State, examine};
use crate::error::{Error, ErrorKind, Result};

/// Check the data directory, and say what to do about what is wrong
///
/// It looks at the directory, its files and the disk, at the database, its records and documents, at each component
/// against its digest, and at whether the key opens every secret. Nothing is repaired.
#[derive(Debug, Args)]
pub(super) struct DoctorArgs {}

/// Runs it.
pub(super) fn run(_args: DoctorArgs, context: &Context) -> Result<()> {
    let output = context.output;
    let home = context.home()?;
    let findings = output.during("looking", || examine(&home));
    if output.is_json() {
        let values = findings.iter().map(|finding| {
            json!({
                "check": finding.check, "state": finding.state.as_str(), "what": finding.what,
                "remedy": finding.remedy,
            })
        });
        output.value(&Value::Array(values.collect()))?;
    } else {
        let rows: Vec<_> = findings
            .iter()
            .map(|finding| {
                let remedy = finding.remedy.clone().unwrap_or_default();
                vec![finding.check.to_owned(), finding.state.as_str().to_owned(), finding.what.clone(), remedy]
            })
            .collect();
        output.table(&["CHECK", "STATE", "WHAT", "TO DO"], &rows)?;
    }
    match findings.iter().filter(|finding| finding.state == State::Fail).count() {
        0 => Ok(()),
        failed => Err(Error::new(ErrorKind::Unsound, format!("{} failed", figures::plural(failed, "check")))),
    }
}
