//! How source becomes a capability: find a toolchain, compile, make a component, complete the manifest with
//! what the source says, check every rule, embed it.
//!
//! The only room that starts other programs, and they are the author's own: cargo, rustup, and the system's
//! package manager. What comes out passes the same gate as a stranger's file.

mod adopt;
mod compile;
mod examples;
mod language;
mod merge;
mod program;
mod project;
mod scaffold;
mod toolchain;

use std::path::{Path, PathBuf};

pub use adopt::{Adopted, Adoption, adopt, manifest_text};
pub use examples::{Example, Expected, read_examples};
pub use language::Language;
pub use project::{MANIFEST_FILE, Project};
pub use scaffold::scaffold;
pub use toolchain::{Choice, Toolchain};

use crate::component::{self, Report};
use crate::error::{Error, Result};

/// How to build.
pub struct Options<'a> {
    /// The toolchain to use; the first that works when nothing is forced.
    pub choice: Option<Choice>,
    /// Whether a missing toolchain may be brought with `rustup` or the system's package manager.
    pub may_install: bool,
    /// Whether function names stay in, for readable traps.
    pub keep_names: bool,
    /// Says to the person what is being done.
    pub say: &'a dyn Fn(&str),
}

/// A capability that was built.
#[derive(Debug)]
pub struct Built {
    /// The component with its manifest.
    pub bytes: Vec<u8>,
    /// What it says.
    pub report: Report,
    /// Where `remit build` writes it unless told otherwise.
    pub path: PathBuf,
}

/// Runs the project's own tests, natively.
pub fn run_unit_tests(folder: &Path, options: &Options<'_>) -> Result<()> {
    (options.say)("running the project's own tests");
    compile::run_unit_tests(folder)
}

/// Builds the cargo project in `folder`.
pub fn build_project(folder: &Path, options: &Options<'_>) -> Result<Built> {
    let manifest_text = project::read_manifest_text(&folder.join(MANIFEST_FILE))?;
    let toolchain = toolchain::find(folder, options)?;
    (options.say)(&format!("building with {toolchain}"));
    let project = Project::find(folder, &toolchain)?;
    let module = compile::compile(&project, &toolchain)?;
    let (bytes, report) = assemble(&module, &manifest_text, options.keep_names)?;
    let path = project.output_folder().join(format!("{}.wasm", report.manifest.slug));
    Ok(Built { bytes, report, path })
}

/// Makes a capability of a core module or a component that another toolchain built.
pub fn build_prebuilt(file: &Path, manifest: &Path, keep_names: bool) -> Result<Built> {
    let manifest_text = project::read_manifest_text(manifest)?;
    let bytes = component::read(file)?;
    let (bytes, report) = assemble(&bytes, &manifest_text, keep_names)?;
    let path = file.with_file_name(format!("{}.wasm", report.manifest.slug));
    Ok(Built { bytes, report, path })
}

/// Joins code and manifest, and checks what comes out.
fn assemble(bytes: &[u8], manifest_text: &str, keep_names: bool) -> Result<(Vec<u8>, Report)> {
    let manifest = merge::merge(manifest_text, bytes)?;
    // All rules are told before anything else is found wrong: the manifest is what authors write by hand.
    crate::manifest::verify(&manifest)?;
    let component = if component::is_component(bytes)? { bytes.to_vec() } else { component::encode(bytes)? };
    let component = component::strip(&component, keep_names)?;
    let component = component::embed(&component, &manifest)?;
    let report = component::inspect(&component)?;
    Ok((component, report))
}

/// Writes the component, whole or not at all.
pub fn write(bytes: &[u8], path: &Path) -> Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let failed = |error: std::io::Error| Error::file(path, &error);
    std::fs::create_dir_all(folder).map_err(failed)?;
    let mut file = tempfile::Builder::new().permissions(readable()).tempfile_in(folder).map_err(failed)?;
    std::io::Write::write_all(&mut file, bytes).map_err(failed)?;
    file.as_file().sync_all().map_err(failed)?;
    file.persist(path).map_err(|error| failed(error.error))?;
    Ok(())
}

/// A capability is made to be shared; temporary files are private otherwise.
fn readable() -> std::fs::Permissions {
    std::os::unix::fs::PermissionsExt::from_mode(0o644)
}
