//! Backups: everything that people decided and capabilities keep, in one file; the key stays where it is.

use std::path::Path;

use super::Admin;
use crate::error::Result;
use crate::registry::Artifacts;
use crate::store::{self, Contents, Progress};

impl Admin {
    /// Writes a backup to `file`, which must not exist. It is checked before this returns.
    pub fn back_up(&self, file: &Path, progress: Progress<'_>) -> Result<Contents> {
        self.store.back_up(file, |digest| self.artifacts.read(digest), progress)
    }
}

/// Restores a backup to a home that has nothing yet but, perhaps, its key and settings. All of it is checked first.
pub fn restore(home: &Path, file: &Path, progress: Progress<'_>) -> Result<Contents> {
    store::restore(home, file, |folder, bytes| Artifacts::new(folder).write(bytes), progress)
}
