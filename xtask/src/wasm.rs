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
];

/// Builds the host as tests use it, and every plugin with it.
pub(crate) fn build() -> Result<Built> {
    run(program("cargo").args(["build", "--locked", "--package", "remit"]))?;
    let target = target()?;
    capabilities(&target.join("debug").join("remit"), &target)
}

/// Builds every capability with `remit`.
pub(crate) fn capabilities(remit: &Path, target: &Path) -> Result<Built> {
    let capabilities = target.join("capabilities");
    std::fs::create_dir_all(&capabilities)?;
    for source in SOURCES {
        let slug = source.rsplit('/').next().unwrap_or(source);
        let mut command = program(remit);
        command.arg("--quiet").arg("build").arg(root().join(source));
        command.arg("--output").arg(capabilities.join(format!("{slug}.wasm")));
        say(&format!("+ remit build {source}"));
        output(&mut command)?;
    }
    Ok(Built { remit: remit.to_owned(), capabilities })
}
