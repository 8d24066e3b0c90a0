//! Finds a Rust toolchain that builds WebAssembly, or brings one.
//!
//! Three ways, in order: the cargo at hand has the target's libraries; `rustup` can fetch them; the system's
//! own Rust, with its source, builds the libraries along with the guest. Each step that changes the machine
//! is announced before it is taken.

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::Options;
use super::program::{ask, program, run};
use crate::error::{Error, ErrorKind, Result};

/// What guests are compiled for: it knows no system, so that a guest imports nothing but its namespaces.
pub(super) const TARGET: &str = "wasm32-unknown-unknown";

/// Debian's Rust that can build WebAssembly, with the source of its standard library.
const SYSTEM_PACKAGES: &[&str] = &["rustc-web", "cargo-web", "rust-web-src"];
/// Debian's linker for WebAssembly, where rustup has left none.
const LINKER_PACKAGE: &str = "lld";

const SYSTEM_CARGO: &str = "/usr/bin/cargo";
const SYSTEM_RUSTC: &str = "/usr/bin/rustc";
const SYSTEM_LINKER: &str = "/usr/bin/wasm-ld";

/// A way that can be asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Choice {
    /// The cargo in PATH, with the target's libraries.
    Rustup,
    /// The system's Rust in /usr/bin, which builds the libraries from source.
    System,
}

/// A toolchain that is ready to build.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Toolchain {
    /// The cargo in PATH.
    Rustup,
    /// The system's Rust, with a linker.
    System {
        /// A linker for WebAssembly.
        linker: PathBuf,
        /// Where the source of the standard library is.
        source: PathBuf,
    },
}

impl fmt::Display for Toolchain {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rustup => write!(formatter, "cargo for {TARGET}"),
            Self::System { .. } => {
                write!(
                    formatter,
                    "{SYSTEM_CARGO} for {TARGET}, standard library from source (slow the first time)"
                )
            }
        }
    }
}

impl Toolchain {
    /// The cargo of this toolchain, about to run in `folder`.
    pub(super) fn cargo(&self, folder: &Path) -> Command {
        match self {
            Self::Rustup => program("cargo", folder),
            Self::System { linker, .. } => {
                let mut command = program(SYSTEM_CARGO, folder);
                command
                    .env("RUSTC", SYSTEM_RUSTC)
                    // Building the standard library is an unstable option, and this compiler is a stable one.
                    .env("RUSTC_BOOTSTRAP", "1")
                    .env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER", linker);
                command
            }
        }
    }

    /// What `cargo build` needs besides.
    pub(super) fn build_arguments(&self) -> &'static [&'static str] {
        match self {
            Self::Rustup => &[],
            Self::System { .. } => &["-Zbuild-std=std,panic_abort"],
        }
    }
}

/// Finds or brings a toolchain for the project in `folder`, whose own `rust-toolchain.toml` is obeyed.
pub(super) fn find(folder: &Path, options: &Options<'_>) -> Result<Toolchain> {
    let ways: &[fn(&Path, &Options<'_>) -> Option<Toolchain>] = match options.choice {
        Some(Choice::Rustup) => &[at_hand, by_rustup],
        Some(Choice::System) => &[from_system],
        None => &[at_hand, by_rustup, from_system],
    };
    ways.iter().find_map(|way| way(folder, options)).ok_or_else(none_found)
}

fn none_found() -> Error {
    let message = format!("no Rust toolchain that builds for `{TARGET}` was found, and none could be brought");
    let packages = SYSTEM_PACKAGES.join(" ");
    Error::new(ErrorKind::BuildToolchain, message).hint(format!(
        "rustup target add {TARGET}\nor, on Debian: sudo apt-get install {packages} {LINKER_PACKAGE}"
    ))
}

/// The cargo in PATH, when its compiler has the target's libraries.
fn at_hand(folder: &Path, _options: &Options<'_>) -> Option<Toolchain> {
    let libraries = ask(program("rustc", folder).args(["--print", "target-libdir", "--target", TARGET]))?;
    // The folder may be there, empty, after the target was removed.
    let has_libraries = std::fs::read_dir(libraries).ok()?.next().is_some();
    has_libraries.then_some(Toolchain::Rustup)
}

/// The same, after `rustup` fetched the libraries.
fn by_rustup(folder: &Path, options: &Options<'_>) -> Option<Toolchain> {
    if !options.may_install {
        return None;
    }
    ask(program("rustup", folder).arg("--version"))?;
    (options.say)(&format!("the target is missing: rustup target add {TARGET}"));
    let status = run(program("rustup", folder).args(["target", "add", TARGET])).ok()?;
    if !status.success() {
        (options.say)("rustup could not fetch it");
        return None;
    }
    at_hand(folder, options)
}

/// The system's own Rust, installed first where this may be done.
fn from_system(folder: &Path, options: &Options<'_>) -> Option<Toolchain> {
    if let Some(toolchain) = system_at_hand(folder) {
        return Some(toolchain);
    }
    if !options.may_install || !rustix::process::geteuid().is_root() {
        return None;
    }
    ask(program("apt-get", folder).arg("--version"))?;
    let mut packages = SYSTEM_PACKAGES.to_vec();
    if linker(folder).is_none() {
        packages.push(LINKER_PACKAGE);
    }
    (options.say)(&format!("installing the system's Rust: apt-get install {}", packages.join(" ")));
    if !apt_get_install(folder, &packages) {
        // The package lists of a fresh machine are empty or old.
        run(program("apt-get", folder).arg("update")).ok()?;
        if !apt_get_install(folder, &packages) {
            return None;
        }
    }
    system_at_hand(folder)
}

fn apt_get_install(folder: &Path, packages: &[&str]) -> bool {
    let mut command = program("apt-get", folder);
    command.env("DEBIAN_FRONTEND", "noninteractive");
    command.args(["install", "-y", "--no-install-recommends"]).args(packages);
    run(&mut command).is_ok_and(|status| status.success())
}

fn system_at_hand(folder: &Path) -> Option<Toolchain> {
    if !Path::new(SYSTEM_CARGO).exists() {
        return None;
    }
    let sysroot = ask(program(SYSTEM_RUSTC, folder).args(["--print", "sysroot"]))?;
    let source = Path::new(&sysroot).join("lib/rustlib/src/rust/library");
    if !source.join("std").exists() {
        return None;
    }
    Some(Toolchain::System { linker: linker(folder)?, source })
}

/// A linker for WebAssembly: the one that comes with rustup's compiler, or the system's.
fn linker(folder: &Path) -> Option<PathBuf> {
    let bundled = |rustc: &str| {
        let sysroot = ask(program(rustc, folder).args(["--print", "sysroot"]))?;
        let version = ask(program(rustc, folder).arg("-vV"))?;
        let host = version.lines().find_map(|line| line.strip_prefix("host: "))?;
        Some(Path::new(&sysroot).join("lib/rustlib").join(host).join("bin/rust-lld"))
    };
    let candidates = [bundled("rustc"), bundled(SYSTEM_RUSTC), Some(PathBuf::from(SYSTEM_LINKER))];
    candidates.into_iter().flatten().find(|linker| linker.exists())
}
