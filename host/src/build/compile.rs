//! Compiles a project to a core module, small and the same on every machine.
//!
//! Settings come through the environment, so that a project needs none of its own; paths of this machine
//! are replaced, so that they neither show in a capability's panic messages nor change its digest.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde::Deserialize;

use super::program::{program, run};
use super::project::no_cargo;
use super::toolchain::TARGET;
use super::{Project, Toolchain};
use crate::component;
use crate::error::{Error, ErrorKind, Result};

/// Small code loads and compiles fast. The names of functions and our own sections are taken out later, so
/// the linker must leave custom sections alone: it would drop ours too.
const PROFILE: &[(&str, &str)] = &[
    ("CARGO_PROFILE_RELEASE_OPT_LEVEL", "s"),
    ("CARGO_PROFILE_RELEASE_LTO", "fat"),
    ("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "1"),
    ("CARGO_PROFILE_RELEASE_PANIC", "abort"),
    ("CARGO_PROFILE_RELEASE_DEBUG", "false"),
    ("CARGO_PROFILE_RELEASE_STRIP", "debuginfo"),
    ("CARGO_PROFILE_RELEASE_INCREMENTAL", "false"),
];

/// They would override the flags set here.
const OTHER_FLAGS: &[&str] = &["RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS"];

/// A message of `cargo build --message-format=json`.
#[derive(Deserialize)]
struct Message {
    reason: String,
    #[serde(default)]
    manifest_path: PathBuf,
    #[serde(default)]
    filenames: Vec<PathBuf>,
}

/// Compiles the project's library and reads the module.
pub(super) fn compile(project: &Project, toolchain: &Toolchain) -> Result<Vec<u8>> {
    let mut command = toolchain.cargo(&project.folder);
    command.args(["build", "--release", "--lib", "--target", TARGET, "--message-format=json-render-diagnostics"]);
    command.args(toolchain.build_arguments());
    command.arg("--manifest-path").arg(project.folder.join("Cargo.toml"));
    command.arg("--config").arg(rustflags(project, toolchain)?);
    set_profile(&mut command);
    let output = command.stderr(Stdio::inherit()).output().map_err(|error| no_cargo(&error))?;
    if !output.status.success() {
        return Err(Error::new(
            ErrorKind::BuildFailed,
            "the source does not compile: see the compiler's output above",
        ));
    }
    let module = module_path(&output.stdout, &project.folder).ok_or_else(|| {
        Error::new(
            ErrorKind::BuildFailed,
            format!("cargo built `{}` and no WebAssembly module of it", project.library),
        )
    })?;
    component::read(&module)
}

/// Runs the project's own tests, natively.
pub(super) fn run_unit_tests(folder: &Path) -> Result<()> {
    // The cargo at hand: what runs here needs no WebAssembly.
    let status = run(program("cargo", folder).arg("test")).map_err(|error| no_cargo(&error))?;
    if status.success() {
        return Ok(());
    }
    Err(Error::new(ErrorKind::TestFailed, "the project's own tests fail: see their output above"))
}

fn set_profile(command: &mut Command) {
    command.envs(PROFILE.iter().copied());
    for name in OTHER_FLAGS {
        command.env_remove(name);
    }
}

/// The compiler's flags as a cargo setting: each source folder under a name that is the same everywhere.
fn rustflags(project: &Project, toolchain: &Toolchain) -> Result<OsString> {
    // Where several prefixes fit, the compiler takes the last.
    let mut renamed: Vec<_> = project.sources.iter().map(|source| (source.as_path(), "/dependencies")).collect();
    if let Toolchain::System { source, .. } = toolchain {
        renamed.push((source, "/rust"));
    }
    renamed.push((&project.workspace, "/source"));
    let mut flags = Vec::new();
    for (from, to) in renamed {
        let from = from.to_str().ok_or_else(|| {
            Error::new(ErrorKind::BuildFailed, format!("the path `{}` is not UTF-8", from.display()))
        })?;
        flags.push(serde_json::Value::String(format!("--remap-path-prefix={from}={to}")));
    }
    // JSON's strings and lists are TOML's.
    let flags = serde_json::Value::Array(flags);
    Ok(format!("target.{TARGET}.rustflags={flags}").into())
}

/// The module that cargo says it made of the package in `folder`.
fn module_path(messages: &[u8], folder: &Path) -> Option<PathBuf> {
    let is_module = |file: &PathBuf| file.extension().is_some_and(|extension| extension == "wasm");
    messages
        .split(|byte| *byte == b'\n')
        .filter_map(|line| serde_json::from_slice::<Message>(line).ok())
        .filter(|message| message.reason == "compiler-artifact")
        .filter(|message| message.manifest_path.parent() == Some(folder))
        .flat_map(|message| message.filenames)
        .find(is_module)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_module_of_the_package_is_found_in_cargos_messages() {
        let messages = br#"
{"reason":"compiler-artifact","manifest_path":"/w/other/Cargo.toml","filenames":["/t/other.wasm"]}
not json
{"reason":"compiler-message","manifest_path":"/w/weather/Cargo.toml"}
{"reason":"compiler-artifact","manifest_path":"/w/weather/Cargo.toml","filenames":["/t/libweather.rlib","/t/weather.wasm"]}
{"reason":"build-finished","success":true}"#;
        assert_eq!(module_path(messages, Path::new("/w/weather")), Some(PathBuf::from("/t/weather.wasm")));
        assert_eq!(module_path(messages, Path::new("/w/none")), None);
    }
}
