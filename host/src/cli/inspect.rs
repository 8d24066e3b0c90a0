//! `remit inspect`: what a component's bytes say, without running them.

use std::path::PathBuf;

use clap::Args;

use super::{Context, report};
use crate::component;
use crate::error::Result;

/// Say what a component is and asks, without running it
///
/// Checks everything that is checked at install. A file that is no valid capability is named for what it
/// is, with the reasons, and the exit code is 1.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  remit inspect weather.wasm
  remit inspect weather.wasm --json")]
pub(super) struct InspectArgs {
    /// The component
    file: PathBuf,
}

/// Runs it.
#[expect(clippy::needless_pass_by_value, reason = "every command takes its arguments")]
pub(super) fn run(args: InspectArgs, context: &Context) -> Result<()> {
    let output = context.output;
    let bytes = component::read(&args.file)?;
    let error = match component::inspect(&bytes) {
        Ok(report) if output.is_json() => return output.value(&report::value(&args.file, &report)),
        Ok(report) => {
            output.text(&report::text(&args.file, &report))?;
            report.warnings.iter().for_each(|warning| output.warn(warning));
            return Ok(());
        }
        Err(error) => error,
    };
    // The facts help to find out why, and a program gets them with the reason.
    let scan = component::scan(&bytes).ok();
    if output.is_json() {
        output.value(&report::partial_value(&args.file, scan.as_ref(), &error))?;
    } else if let Some(scan) = &scan {
        output.text(&report::partial_text(&args.file, scan))?;
    }
    Err(error)
}
