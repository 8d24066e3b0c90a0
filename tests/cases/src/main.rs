//! Runs a file of cases and says which fail: `remit-cases egress FILE`, `remit-cases schedules FILE`.
//!
//! Each case that fails is a line on stdout; the last line is `N passed, M failed`. The exit code is 0 when none
//! failed, 1 when one did, 2 when the file could not be run. `remit-cases egress-case` is for its own use: one
//! case from stdin, in a process with that case's environment.

use std::io::{Read as _, Write as _};
use std::path::Path;
use std::process::ExitCode;

use remit_cases::egress::{self, Report};
use remit_cases::schedules;

/// The file, or the command, is not as it should be.
const UNUSABLE: u8 = 2;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let outcome = match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["egress", file] => run(Path::new(file), egress_report),
        ["schedules", file] => run(Path::new(file), schedules::run),
        ["egress-case"] => one_case(),
        _ => Err("usage: remit-cases egress|schedules FILE".to_owned()),
    };
    outcome.unwrap_or_else(|message| {
        // A reader that went away needs no message.
        let _ = writeln!(std::io::stderr(), "error: {message}");
        ExitCode::from(UNUSABLE)
    })
}

/// How the cases of one kind are run: the text of a file in, what came of it out.
type Runner = fn(&str) -> Result<Report, String>;

fn egress_report(cases: &str) -> Result<Report, String> {
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    egress::run(cases, &program)
}

fn run(file: &Path, runner: Runner) -> Result<ExitCode, String> {
    let cases = std::fs::read_to_string(file).map_err(|error| format!("`{}`: {error}", file.display()))?;
    let report = runner(&cases).map_err(|why| format!("`{}`: {why}", file.display()))?;
    for failed in &report.failed {
        say(&failed.to_string())?;
    }
    say(&format!("{} passed, {} failed", report.passed, report.failed.len()))?;
    Ok(if report.failed.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn one_case() -> Result<ExitCode, String> {
    let mut task = String::new();
    std::io::stdin().read_to_string(&mut task).map_err(|error| error.to_string())?;
    say(&egress::play(&task)?)?;
    Ok(ExitCode::SUCCESS)
}

fn say(line: &str) -> Result<(), String> {
    writeln!(std::io::stdout(), "{line}").map_err(|error| error.to_string())
}
