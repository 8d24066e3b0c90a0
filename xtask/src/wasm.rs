//! The host and the capabilities that the demo, the tests and the bench use.

use std::path::{Path, PathBuf};

use crate::shell::{Result, output, program, root, run, say, target};

/// What was built.
pub(crate) struct Built {
    /// The `remit` program.
    pub(crate) remit: PathBuf,
    /// The folder with one `SLUG.wasm` each.
    pub(crate) capabilities: PathBuf,
}

/// Where the capabilities are that are built from source.
const SOURCES: &[&str] = &[
    "plugins/text",
    "plugins/github",
    "plugins/notes",
    "plugins/digest",
    "tests/fixtures/conformance",
    "tests/fixtures/echo",
    "tests/fixtures/keeper",
    "tests/fixtures/planner",
    "tests/fixtures/probe",
    "tests/fixtures/scribe",
];

/// Builds the host as tests use it, and every plugin with it.
pub(crate) fn build() -> Result<Built> {
    capabilities(&remit()?, &target()?)
}

/// Builds the host as tests use it.
pub(crate) fn remit() -> Result<PathBuf> {
    run(program("cargo").args(["build", "--locked", "--package", "remit"]))?;
    Ok(target()?.join("debug").join("remit"))
}

/// Builds every capability with `remit`.
pub(crate) fn capabilities(remit: &Path, target: &Path) -> Result<Built> {
    for source in SOURCES {
        capability(remit, target, source)?;
    }
    Ok(Built { remit: remit.to_owned(), capabilities: target.join("capabilities") })
}

/// Builds one capability with `remit`, and gives its file.
pub(crate) fn capability(remit: &Path, target: &Path, source: &str) -> Result<PathBuf> {
    let capabilities = target.join("capabilities");
    std::fs::create_dir_all(&capabilities)?;
    let slug = source.rsplit('/').next().unwrap_or(source);
    let file = capabilities.join(format!("{slug}.wasm"));
    let mut command = program(remit);
    command.arg("--quiet").arg("build").arg(root().join(source)).arg("--output").arg(&file);
    say(&format!("+ remit build {source}"));
    output(&mut command)?;
    Ok(file)
}
