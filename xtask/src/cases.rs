//! Runs a file of cases through the host. The last line is `N passed, M failed`, and nothing comes after it.

use std::process::ExitCode;

use crate::shell::{Result, program};

/// Runs the cases in `file`, which is where the caller says, not where cargo runs. Its exit code is passed on: 0
/// when none failed, 1 when one did, 2 when the file is none.
pub(crate) fn run(kind: &str, file: &str) -> Result<ExitCode> {
    let file = std::path::absolute(file)?;
    let run = ["run", "--quiet", "--locked", "--package", "remit-cases", "--", kind];
    let status = program("cargo").args(run).arg(file).status()?;
    Ok(ExitCode::from(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(u8::MAX)))
}
