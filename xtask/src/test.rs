//! Everything that CI runs, in the order in which it fails soonest.

use std::path::{Path, PathBuf};

use crate::proxy::Proxy;
use crate::shell::{self, Failed, Result, output, program, works};
use crate::wasm;

/// For Python: the MCP client that people use, with both protocol eras; an upstream that echoes, and its server.
const PYTHON_PACKAGES: [&str; 3] = ["mcp==2.3.0", "httpbin==0.10.4", "werkzeug==3.1.9"];
/// The public description of GitHub's API, against which the tests' upstream is checked.
const GITHUB_DESCRIPTION: &str = "@octokit/openapi@23.0.2";
/// Packages in `Cargo.lock`: a dependency must earn its place.
const PACKAGES: usize = 440;

/// Runs it all.
pub(crate) fn run() -> Result<()> {
    shell::run(program("cargo").args(["fmt", "--all", "--check"]))?;
    for apart in ["fuzz/Cargo.toml", "plugins/engines/codemode/Cargo.toml"] {
        shell::run(program("cargo").args(["fmt", "--manifest-path", apart, "--check"]))?;
    }
    lock_is_small()?;
    fuzz_lock_is_current()?;
    let lints = ["clippy", "--locked", "--workspace", "--all-targets", "--", "--deny", "warnings"];
    shell::run(program("cargo").args(lints))?;
    let built = wasm::build()?;
    let target = built.capabilities.parent().map_or_else(PathBuf::new, Path::to_path_buf);
    let python = python(&target)?;
    let description = github_description(&target)?;
    let languages = crate::languages::bring(&target)?;
    tools()?;
    let tests = ["nextest", "run", "--locked", "--workspace"];
    // Cargo may need the network for this, by a proxy too; the tests that follow may not.
    shell::run(program("cargo").args(tests).arg("--no-run"))?;
    let proxy = Proxy::open()?;
    let mut run = program("cargo");
    run.args(tests)
        .env("REMIT_TEST_CAPABILITIES", &built.capabilities)
        .env("REMIT_TEST_PYTHON", &python)
        .env("REMIT_TEST_GITHUB_DESCRIPTION", &description)
        .env("REMIT_TEST_LANGUAGES", &languages);
    proxy.offer(&mut run);
    shell::run(&mut run)?;
    proxy.nobody_asked()?;
    crate::conformance::run()?;
    shell::run(
        program("cargo")
            .args(["doc", "--locked", "--workspace", "--no-deps", "--document-private-items"])
            .env("RUSTDOCFLAGS", "--deny warnings --allow rustdoc::private-intra-doc-links"),
    )?;
    shell::run(program("cargo").args(["deny", "--locked", "check", "bans", "licenses", "sources"]))
}

/// Writes the generated references again.
pub(crate) fn generate() -> Result<()> {
    shell::run(
        program("cargo")
            .args(["nextest", "run", "--locked", "--package", "remit", "--lib", "reference"])
            .env("UPDATE_REFERENCE", "1"),
    )
}

fn lock_is_small() -> Result<()> {
    let lock = std::fs::read_to_string(crate::shell::root().join("Cargo.lock"))?;
    let packages = lock.matches("[[package]]").count();
    if packages > PACKAGES {
        return Err(Failed(format!("Cargo.lock holds {packages} packages, {PACKAGES} are allowed")));
    }
    Ok(())
}

/// The fuzz target is a workspace of its own, so its lock does not follow the other by itself.
fn fuzz_lock_is_current() -> Result<()> {
    let metadata = ["metadata", "--format-version=1", "--locked", "--manifest-path", "fuzz/Cargo.toml"];
    match output(program("cargo").args(metadata)) {
        Ok(_) => Ok(()),
        Err(_) => Err(Failed("bring fuzz/Cargo.lock up to date: `cargo update --workspace` in fuzz/".to_owned())),
    }
}

/// The programs that cargo does not bring itself.
fn tools() -> Result<()> {
    for (subcommand, package) in [("nextest", "cargo-nextest"), ("deny", "cargo-deny")] {
        if !works(program("cargo").args([subcommand, "--version"])) {
            shell::run(program("cargo").args(["install", "--locked", package]))?;
        }
    }
    Ok(())
}

/// A Python with these packages, apart from the system's.
fn python(target: &Path) -> Result<PathBuf> {
    let folder = target.join("python");
    let python = folder.join("bin").join("python");
    let pins = PYTHON_PACKAGES.join(" ");
    let check = format!(
        "import importlib.metadata as m; assert all(m.version(p) == v for p, v in (x.split('==') for x in '{pins}'.split()))"
    );
    if !works(program(&python).args(["-c", &check])) {
        shell::run(program("python3").args(["-m", "venv"]).arg(&folder))?;
        shell::run(program(&python).args(["-m", "pip", "install", "--quiet"]).args(PYTHON_PACKAGES))?;
    }
    Ok(python)
}

/// The description's file.
fn github_description(target: &Path) -> Result<PathBuf> {
    let folder = target.join("npm");
    let file = folder.join("node_modules/@octokit/openapi/generated/api.github.com.json");
    if !file.exists() {
        std::fs::create_dir_all(&folder)?;
        let install = ["install", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix"];
        output(program("npm").args(install).arg(&folder).arg(GITHUB_DESCRIPTION))?;
    }
    Ok(file)
}
