//! Running programs, and saying so.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Why a step did not work, in words for a person.
#[derive(Debug)]
pub(crate) struct Failed(pub(crate) String);

pub(crate) type Result<T> = std::result::Result<T, Failed>;

impl From<std::io::Error> for Failed {
    fn from(error: std::io::Error) -> Self {
        Self(error.to_string())
    }
}

/// Prints a line for the person who watches.
#[expect(clippy::print_stderr, reason = "the one place that prints")]
pub(crate) fn say(line: &str) {
    eprintln!("{line}");
}

/// A program to run in the repository's root.
pub(crate) fn program(name: impl AsRef<std::ffi::OsStr>) -> Command {
    #[expect(clippy::disallowed_methods, reason = "running programs is what xtask is for")]
    let mut command = Command::new(name);
    command.current_dir(root());
    command
}

/// The repository's root.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().map_or_else(PathBuf::new, Path::to_path_buf)
}

/// The folder that cargo builds into.
pub(crate) fn target() -> Result<PathBuf> {
    let mut command = program("cargo");
    command.args(["metadata", "--format-version=1", "--no-deps", "--locked"]);
    let metadata: serde_json::Value = serde_json::from_str(&output(&mut command)?)
        .map_err(|error| Failed(format!("cargo metadata is no JSON: {error}")))?;
    metadata["target_directory"]
        .as_str()
        .map(PathBuf::from)
        .ok_or_else(|| Failed("cargo metadata names no target directory".to_owned()))
}

/// Runs a program whose output passes through.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    say(&format!("+ {}", line(command)));
    let status = command.status().map_err(|error| Failed(format!("`{}`: {error}", line(command))))?;
    if status.success() {
        return Ok(());
    }
    Err(Failed(format!("`{}` failed: {status}", line(command))))
}

/// Runs a program and gives its output.
pub(crate) fn output(command: &mut Command) -> Result<String> {
    let output = command
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| Failed(format!("`{}`: {error}", line(command))))?;
    if !output.status.success() {
        return Err(Failed(format!("`{}` failed: {}", line(command), output.status)));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Whether a program can be started and says that all is well.
pub(crate) fn works(command: &mut Command) -> bool {
    command.stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
}

/// The command as a person would type it, with the program's name only.
fn line(command: &Command) -> String {
    let name = Path::new(command.get_program()).file_name().unwrap_or_default().to_string_lossy().into_owned();
    let arguments = command.get_args().map(|argument| argument.to_string_lossy().into_owned());
    std::iter::once(name).chain(arguments).collect::<Vec<_>>().join(" ")
}
