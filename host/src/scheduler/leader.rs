//! Which process of a home runs its schedules: the one that holds a lock.
//!
//! The kernel lets go of the lock (`flock(2)`) however the process ends, so another takes over within the time
//! that it takes to try again. Claims do not depend on it: they are safe whoever makes them.

use std::fs::{File, TryLockError};
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use crate::error::{Error, Result};

/// The file whose lock is held. It holds the leader's process id, for people.
const FILE: &str = "scheduler.lock";

/// The lead, as long as the value lives.
#[derive(Debug)]
pub(super) struct Leader {
    _lock: File,
}

impl Leader {
    /// Takes the lead if nobody has it.
    pub(super) fn take(home: &Path) -> Result<Option<Self>> {
        let path = home.join(FILE);
        let failed = |error: &std::io::Error| Error::file(&path, error);
        let mut options = File::options();
        let opened = options.create(true).truncate(false).write(true).mode(0o600).open(&path);
        let mut lock = opened.map_err(|error| failed(&error))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(None),
            Err(TryLockError::Error(error)) => return Err(failed(&error)),
        }
        lock.set_len(0).and_then(|()| writeln!(lock, "{}", std::process::id())).map_err(|error| failed(&error))?;
        Ok(Some(Self { _lock: lock }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_leads_until_it_ends() {
        let home = tempfile::tempdir().unwrap();
        let take = || Leader::take(home.path()).unwrap();
        let first = take();
        assert!(first.is_some());
        assert!(take().is_none() && take().is_none());
        drop(first);
        let second = take();
        assert!(second.is_some() && take().is_none());
        let text = std::fs::read_to_string(home.path().join(FILE)).unwrap();
        assert_eq!(text, format!("{}\n", std::process::id()));
    }

    #[test]
    fn a_home_that_is_gone_is_an_error() {
        let home = tempfile::tempdir().unwrap();
        assert!(Leader::take(&home.path().join("gone")).is_err());
    }
}
