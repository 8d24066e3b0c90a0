//! `remit inspect`: what a component's bytes say, without running them.

use std::path::{Path, PathBuf};

use clap::Args;
use serde::Serialize;
use serde_json::Value;

use super::{Context, known, report, reviewed};
use crate::component;
use crate::error::{Error, Result};
use crate::review::compatible::verify;
use crate::review::{Compared, Report, require_same_name};

/// Say what a component is and asks, without running it
///
/// Checks everything that is checked at install, and shows what a reviewer should look at: hosts in its bytes that it
/// does not ask for, text that does not show, words that steer a model, names that look like others. A file that is no
/// valid capability is named for what it is, with the reasons, and the exit code is 1. With `--against`, the exit code
/// is 1 as well when the file breaks what the other version promised to its callers and its number does not say so.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  remit inspect weather.wasm
  remit inspect weather.wasm --against weather-1.0.0.wasm
  remit inspect weather.wasm --json")]
pub(super) struct InspectArgs {
    /// The component
    file: PathBuf,
    /// Compare it with an earlier version: what differs, and whether callers go on working
    #[arg(long, value_name = "FILE")]
    against: Option<PathBuf>,
}

/// Runs it.
#[expect(clippy::needless_pass_by_value, reason = "every command takes its arguments")]
pub(super) fn run(args: InspectArgs, context: &Context) -> Result<()> {
    let output = context.output;
    let bytes = component::read(&args.file)?;
    let seen = match component::inspect(&bytes) {
        Ok(seen) => seen,
        Err(error) => return refused(&args.file, &bytes, context, error),
    };
    let review = Report::of(&bytes, &known::neighbours(context)?)?;
    let before = args.against.as_deref().map(earlier).transpose()?;
    before.as_ref().map_or(Ok(()), |before| require_same_name(before, &review))?;
    let compared = before.as_ref().map(|before| Compared::between(before, &review));
    if output.is_json() {
        let mut value = report::value(&args.file, &seen);
        value["review"] = as_json(&review)?;
        if let Some(compared) = &compared {
            value["against"] = as_json(compared)?;
        }
        output.value(&value)?;
    } else {
        let mut parts = vec![report::text(&args.file, &seen), reviewed::report(&review)];
        parts.extend(compared.as_ref().map(reviewed::compared));
        output.styled(&parts.join("\n"))?;
    }
    before.map_or(Ok(()), |before| verify(&before.manifest, &review.manifest))
}

fn earlier(file: &Path) -> Result<Report> {
    Report::of(&component::read(file)?, &[])
}

/// The facts help to find out why, and a program gets them with the reason.
fn refused(file: &Path, bytes: &[u8], context: &Context, error: Error) -> Result<()> {
    let output = context.output;
    let scan = component::scan(bytes).ok();
    let review = Report::of(bytes, &[]).ok();
    if output.is_json() {
        let mut value = report::partial_value(file, scan.as_ref(), &error);
        if let Some(review) = &review {
            value["review"] = as_json(review)?;
        }
        output.value(&value)?;
    } else if let Some(scan) = &scan {
        let mut parts = vec![report::partial_text(file, scan)];
        parts.extend(review.as_ref().map(reviewed::report));
        output.styled(&parts.join("\n"))?;
    }
    Err(error)
}

/// A typed value for programs.
pub(super) fn as_json(value: &impl Serialize) -> Result<Value> {
    serde_json::to_value(value).map_err(|error| Error::internal("a report is not JSON").detail(error))
}
