//! Compiles into the program what `remit new` writes beside a project: the SDK's sources.
//!
//! A list that is made here, rather than a crate that embeds folders: cargo runs it again when a file comes
//! or goes, and build products and tests that lie beside the sources stay out.

use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The extensions of source files.
const SOURCES: &[&str] = &["md", "rs", "toml", "wit"];

/// From the package's folder, where cargo runs this.
const SDK: &str = "../guest-sdk";

#[expect(clippy::disallowed_methods, reason = "cargo tells a build script by the environment where to write")]
fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed={SDK}");
    // Worktrees that share a target folder share what was built there, too.
    println!("cargo::rerun-if-env-changed=CARGO_MANIFEST_DIR");
    let out = std::env::var_os("OUT_DIR").ok_or_else(|| io::Error::other("cargo sets OUT_DIR"))?;
    fs::write(Path::new(&out).join("embedded.rs"), constant(&Path::new(SDK).canonicalize()?)?)
}

/// The code of a constant with the path and text of every source file under `folder`.
fn constant(folder: &Path) -> io::Result<String> {
    let mut files = Vec::new();
    collect(folder, &mut files)?;
    files.sort();
    let mut code = "/// The SDK's sources.\nconst SDK: &[(&str, &str)] = &[\n".to_owned();
    for file in files {
        let path = file.strip_prefix(folder).map_err(io::Error::other)?;
        let _ = writeln!(code, "    ({:?}, include_str!({file:?})),", path.display().to_string());
    }
    code.push_str("];\n");
    Ok(code)
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
        let name = path.file_name().unwrap_or_default();
        if path.is_dir() && name != "target" && name != "tests" {
            collect(&path, files)?;
        } else if path.is_file() && SOURCES.contains(&extension) {
            files.push(path);
        }
    }
    Ok(())
}
