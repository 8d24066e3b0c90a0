//! A download that is under way: kept on disk until it is whole, so that the next try goes on where this one ended.
//!
//! It lies under a name that nothing but a download reads, and is believed only when its digest is the one that was
//! asked for.

use std::fs::{File, TryLockError};
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};

use crate::component::MAX_COMPONENT_BYTES;
use crate::error::{Error, ErrorKind, Result};
use crate::registry::Digest;
use crate::store::make_folder;

/// The folder of a home for downloads that are under way.
const FOLDER: &str = "downloads";

/// What came of a component so far.
#[derive(Debug)]
pub(super) struct Part {
    digest: Digest,
    bytes: Vec<u8>,
    /// Nothing while another process downloads the same: then what comes is kept in memory alone.
    file: Option<(File, PathBuf)>,
}

impl Part {
    /// Goes on with what an earlier download left, if it left anything.
    pub(super) fn open(home: &Path, digest: Digest) -> Result<Self> {
        make_folder(home, FOLDER)?;
        let path = home.join(FOLDER).join(format!("{}.part", digest.hex()));
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::APPEND | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let opened = rustix::fs::open(&path, flags, Mode::RUSR | Mode::WUSR).map_err(std::io::Error::from);
        let file = opened.map(File::from).map_err(|error| Error::file(&path, &error))?;
        let is_file = file.metadata().map_err(|error| Error::file(&path, &error))?.is_file();
        if !is_file {
            return Err(Error::new(ErrorKind::Store, format!("`{}` is not a regular file", path.display())));
        }
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(Self { digest, bytes: Vec::new(), file: None }),
            Err(TryLockError::Error(error)) => return Err(Error::file(&path, &error)),
        }
        let mut bytes = Vec::new();
        let read = (&file).take(MAX_COMPONENT_BYTES).read_to_end(&mut bytes);
        read.map_err(|error| Error::file(&path, &error))?;
        Ok(Self { digest, bytes, file: Some((file, path)) })
    }

    /// Bytes so far.
    pub(super) fn len(&self) -> u64 {
        self.bytes.len() as u64
    }

    /// Adds what came next.
    pub(super) fn push(&mut self, piece: &[u8]) -> Result<()> {
        if let Some((file, path)) = &mut self.file {
            file.write_all(piece).map_err(|error| Error::file(path, &error))?;
        }
        self.bytes.extend_from_slice(piece);
        Ok(())
    }

    /// Forgets what came, to begin anew.
    pub(super) fn begin_again(&mut self) -> Result<()> {
        self.bytes.clear();
        match &self.file {
            Some((file, path)) => file.set_len(0).map_err(|error| Error::file(path, &error)),
            None => Ok(()),
        }
    }

    /// Whether what came is what was asked for.
    pub(super) fn is_whole(&self) -> bool {
        Digest::of(&self.bytes) == self.digest
    }

    /// The bytes. The file is no longer needed, whatever they are.
    pub(super) fn finish(self) -> Result<Vec<u8>> {
        let whole = self.is_whole();
        if let Some((_, path)) = &self.file {
            std::fs::remove_file(path).map_err(|error| Error::file(path, &error))?;
        }
        if whole {
            return Ok(self.bytes);
        }
        let message = format!("what came is not `{}`", self.digest);
        Err(Error::new(ErrorKind::DigestMismatch, message)
            .hint("fetch it again; if it stays so, the registry or somebody on the way changed it"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(home: &Path) -> usize {
        std::fs::read_dir(home.join(FOLDER)).unwrap().count()
    }

    #[test]
    fn c_05_what_was_interrupted_goes_on_and_is_believed_only_whole() {
        let home = tempfile::tempdir().unwrap();
        let digest = Digest::of(b"a component");
        let mut part = Part::open(home.path(), digest).unwrap();
        part.push(b"a comp").unwrap();
        drop(part);
        let mut part = Part::open(home.path(), digest).unwrap();
        assert_eq!(part.len(), 6);
        assert!(!part.is_whole());
        part.push(b"onent").unwrap();
        assert_eq!(part.finish().unwrap(), b"a component");
        assert_eq!(files(home.path()), 0);
    }

    #[test]
    fn c_04_a_wrong_body_is_removed_and_never_given() {
        let home = tempfile::tempdir().unwrap();
        let digest = Digest::of(b"a component");
        let mut part = Part::open(home.path(), digest).unwrap();
        part.push(b"a cOmponent").unwrap();
        assert_eq!(part.finish().unwrap_err().kind, ErrorKind::DigestMismatch);
        assert_eq!(files(home.path()), 0, "nothing is left that another try would read");
    }

    #[test]
    fn c_03_a_link_is_not_followed_and_a_second_process_does_not_write() {
        let home = tempfile::tempdir().unwrap();
        let digest = Digest::of(b"a component");
        let first = Part::open(home.path(), digest).unwrap();
        let mut second = Part::open(home.path(), digest).unwrap();
        second.push(b"other").unwrap();
        assert!(second.finish().is_err());
        assert_eq!((first.len(), files(home.path())), (0, 1), "the first one's file is untouched");
        drop(first);

        let path = home.path().join(FOLDER).join(format!("{}.part", digest.hex()));
        std::fs::remove_file(&path).unwrap();
        let elsewhere = home.path().join("elsewhere");
        std::fs::write(&elsewhere, b"mine").unwrap();
        std::os::unix::fs::symlink(&elsewhere, &path).unwrap();
        assert_eq!(Part::open(home.path(), digest).unwrap_err().kind, ErrorKind::Store);
        assert_eq!(std::fs::read(&elsewhere).unwrap(), b"mine");
    }
}
