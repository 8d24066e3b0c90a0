//! Which processes of this home are alive.
//!
//! A process that runs calls holds a lock (`flock(2)`) on a file of its own for as long as it lives; the
//! kernel lets go of it however the process ends. Process ids would be reused, and heartbeats would need a
//! clock that all agree on.

use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};

use super::files::{make_folder, open_regular};
use crate::error::{Error, Result};

/// The folder of the lock files.
const FOLDER: &str = "running";

/// This process, as long as the value lives.
pub(super) struct Process {
    /// Its name in the records it has not ended yet.
    pub(super) token: String,
    path: PathBuf,
    _lock: File,
}

impl Process {
    /// Takes the lock. `token` must be new.
    pub(super) fn start(home: &Path, token: String) -> Result<Self> {
        make_folder(home, FOLDER)?;
        remove_dead(home)?;
        let path = home.join(FOLDER).join(&token);
        // Locked before it has its name, so that nobody can see it without its lock.
        let lock = tempfile::Builder::new()
            .prefix(".new-")
            .tempfile_in(home.join(FOLDER))
            .and_then(|file| {
                file.as_file().lock()?;
                Ok(file.persist_noclobber(&path)?)
            })
            .map_err(|error| Error::file(&path, &error))?;
        Ok(Self { token, path, _lock: lock })
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Should it stay, the next process finds it without a lock and removes it.
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Whether the process of this token still lives. The file of a dead one is removed.
pub(super) fn is_alive(home: &Path, token: &str) -> Result<bool> {
    // Read from the database, so it is not trusted to be a mere name.
    if !token.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        return Ok(false);
    }
    let path = home.join(FOLDER).join(token);
    let Some(file) = open_regular(&path).map_err(|error| Error::file(&path, &error))? else {
        return Ok(false);
    };
    match file.try_lock() {
        Ok(()) => {
            let _ = std::fs::remove_file(&path);
            Ok(false)
        }
        Err(TryLockError::WouldBlock) => Ok(true),
        Err(TryLockError::Error(error)) => Err(Error::file(&path, &error)),
    }
}

/// Removes the files of processes that were killed. Their records need no file to be told from living ones.
fn remove_dead(home: &Path) -> Result<()> {
    let folder = home.join(FOLDER);
    let entries = std::fs::read_dir(&folder).map_err(|error| Error::file(&folder, &error))?;
    for name in entries.flatten().filter_map(|entry| entry.file_name().into_string().ok()) {
        is_alive(home, &name)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_lives_as_long_as_it_holds_its_lock() {
        let home = tempfile::tempdir().unwrap();
        let start = |token: &str| Process::start(home.path(), token.to_owned()).unwrap();
        let alive = |token: &str| is_alive(home.path(), token).unwrap();
        assert!(!alive("one"));
        let one = start("one");
        assert!(alive("one"));

        // As a killed process leaves it: the file without its lock.
        std::fs::write(home.path().join(FOLDER).join("dead"), b"").unwrap();
        let two = start("two");
        assert!(!home.path().join(FOLDER).join("dead").exists());
        assert!(alive("one") && alive("two"));

        drop((one, two));
        assert!(!alive("one") && !alive("two"));
        std::fs::write(home.path().join("remit"), b"").unwrap();
        assert!(!alive("../remit"), "a token is a name, not a path");
        assert!(home.path().join("remit").exists());
    }
}
