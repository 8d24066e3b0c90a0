//! Starts the author's tools. The only place that does.

use std::ffi::OsStr;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};

/// A program that is about to be started, with nothing on its stdin and its stderr passed through.
#[expect(clippy::disallowed_methods, reason = "this is the place where `build/` starts processes")]
pub(super) fn program(name: impl AsRef<OsStr>, folder: &Path) -> Command {
    let mut command = Command::new(name);
    command.current_dir(folder).stdin(Stdio::null());
    command
}

/// What a program prints on stdout, trimmed. `None` when it is missing, fails, or prints something else than
/// text: it was only asked.
pub(super) fn ask(command: &mut Command) -> Option<String> {
    let output = command.stderr(Stdio::null()).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}

/// Runs a program to its end, with its stdout shown on stderr: stdout is for results.
pub(super) fn run(command: &mut Command) -> std::io::Result<ExitStatus> {
    command.stdout(std::io::stderr()).status()
}
