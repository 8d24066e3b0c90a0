//! The author's project: where its parts are, as cargo sees them.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde::Deserialize;

use super::Toolchain;
use crate::error::{Error, ErrorKind, Result};

/// The manifest in a project's folder.
pub const MANIFEST_FILE: &str = "capability.json";

/// A manifest larger than this is not one.
const MAX_MANIFEST_BYTES: u64 = 1024 * 1024;

/// One cargo package that becomes a capability.
#[derive(Debug)]
pub struct Project {
    /// The folder of the package.
    pub folder: PathBuf,
    /// The name of its library.
    pub(super) library: String,
    /// The root of its workspace.
    pub(super) workspace: PathBuf,
    /// Folders that hold the packages it depends on, as they would show up in panic messages.
    pub(super) sources: Vec<PathBuf>,
    target: PathBuf,
}

/// What is read of `cargo metadata`.
#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
    target_directory: PathBuf,
    workspace_root: PathBuf,
}

#[derive(Deserialize)]
struct Package {
    manifest_path: PathBuf,
    targets: Vec<Target>,
}

#[derive(Deserialize)]
struct Target {
    name: String,
    crate_types: Vec<String>,
}

impl Project {
    /// Asks cargo about the package in `folder`.
    pub(super) fn find(folder: &Path, toolchain: &Toolchain) -> Result<Self> {
        let folder = folder.canonicalize().map_err(|error| Error::file(folder, &error))?;
        let cargo_toml = folder.join("Cargo.toml");
        if !cargo_toml.exists() {
            let message = format!("`{}` is no cargo project", folder.display());
            return Err(Error::new(ErrorKind::BuildFailed, message).hint(
                "build it with the tools of its language, and then: remit build FILE.wasm --manifest capability.json",
            ));
        }
        let output = toolchain
            .cargo(&folder)
            .args(["metadata", "--format-version", "1", "--manifest-path"])
            .arg(&cargo_toml)
            .stderr(Stdio::inherit())
            .output()
            .map_err(|error| no_cargo(&error))?;
        if !output.status.success() {
            return Err(Error::new(ErrorKind::BuildFailed, "cargo cannot read the project: see its output above"));
        }
        let metadata: Metadata = serde_json::from_slice(&output.stdout).map_err(|error| {
            Error::new(ErrorKind::BuildFailed, "cargo's answer is not understood").detail(error)
        })?;
        Self::of(metadata, folder, &cargo_toml)
    }

    fn of(metadata: Metadata, folder: PathBuf, cargo_toml: &Path) -> Result<Self> {
        let package = metadata.packages.iter().find(|package| package.manifest_path == cargo_toml);
        let package = package.ok_or_else(|| {
            Error::new(ErrorKind::BuildFailed, format!("`{}` is no package, only a workspace", folder.display()))
                .hint("name the folder of the package: remit build DIR")
        })?;
        let library = package.targets.iter().find(|target| target.crate_types.iter().any(|kind| kind == "cdylib"));
        let library = library.ok_or_else(|| {
            Error::new(ErrorKind::BuildFailed, "the package has no library that compiles to WebAssembly")
                .hint("add to Cargo.toml:\n[lib]\ncrate-type = [\"cdylib\", \"rlib\"]")
        })?;
        let mut sources: Vec<_> = metadata
            .packages
            .iter()
            .filter_map(|package| package.manifest_path.parent()?.parent())
            .filter(|source| {
                !source.starts_with(&metadata.workspace_root) && !metadata.workspace_root.starts_with(source)
            })
            .map(Path::to_owned)
            .collect();
        sources.sort();
        sources.dedup();
        Ok(Self {
            library: library.name.clone(),
            workspace: metadata.workspace_root,
            target: metadata.target_directory,
            sources,
            folder,
        })
    }

    /// Where built capabilities go.
    #[must_use]
    pub fn output_folder(&self) -> PathBuf {
        self.target.join("remit")
    }
}

/// Reads the text of a manifest.
pub(super) fn read_manifest_text(path: &Path) -> Result<String> {
    let unreadable = |error: std::io::Error| {
        let message = format!("cannot read `{}`: {}", path.display(), error.kind());
        Error::new(ErrorKind::ManifestMissing, message).detail(error).hint("start a project: remit new NAME")
    };
    let size = std::fs::metadata(path).map_err(unreadable)?.len();
    if size > MAX_MANIFEST_BYTES {
        return Err(Error::new(ErrorKind::ManifestInvalid, format!("`{}` is larger than 1 MiB", path.display())));
    }
    std::fs::read_to_string(path).map_err(unreadable)
}

/// Cargo could not be started.
pub(super) fn no_cargo(error: &std::io::Error) -> Error {
    Error::new(ErrorKind::BuildToolchain, "cannot start cargo")
        .detail(error)
        .hint("install Rust, and see that `cargo` is in PATH")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn project(packages: &serde_json::Value) -> Result<Project> {
        let metadata = json!({ "packages": packages, "target_directory": "/w/target", "workspace_root": "/w" });
        let metadata = serde_json::from_value(metadata).unwrap();
        Project::of(metadata, PathBuf::from("/w/weather"), Path::new("/w/weather/Cargo.toml"))
    }

    fn package(path: &str, kind: &str) -> serde_json::Value {
        json!({ "manifest_path": path, "targets": [{ "name": "the_library", "crate_types": [kind] }] })
    }

    #[test]
    fn the_package_of_the_folder_is_found_among_others() {
        let project = project(&json!([
            package("/w/other/Cargo.toml", "bin"),
            package("/w/weather/Cargo.toml", "cdylib"),
            package("/registry/src/serde-1.0.0/Cargo.toml", "lib"),
            package("/registry/src/syn-2.0.0/Cargo.toml", "lib"),
        ]))
        .unwrap();
        assert_eq!(project.library, "the_library");
        assert_eq!(project.sources, [PathBuf::from("/registry/src")]);
        assert_eq!(project.output_folder(), PathBuf::from("/w/target/remit"));
    }

    #[test]
    fn a_project_of_another_language_is_told_how_it_goes_on() {
        let folder = tempfile::tempdir().unwrap();
        let error = Project::find(folder.path(), &Toolchain::Rustup).unwrap_err();
        assert!(error.message.ends_with("is no cargo project"), "{error}");
        assert!(error.hint.unwrap().contains("--manifest capability.json"));
    }

    #[test]
    fn a_project_that_makes_no_module_is_told_so() {
        let message = |packages: serde_json::Value| project(&packages).unwrap_err().message;
        assert_eq!(message(json!([])), "`/w/weather` is no package, only a workspace");
        assert_eq!(
            message(json!([package("/w/weather/Cargo.toml", "lib")])),
            "the package has no library that compiles to WebAssembly"
        );
    }
}
