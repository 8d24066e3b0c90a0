//! The files of a home: opened without following links, written whole or not at all.

use std::fs::{DirBuilder, File, Metadata, TryLockError};
use std::io::{ErrorKind as IoErrorKind, Read, Seek, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

use rustix::fs::{Mode, OFlags};

use crate::error::{Error, ErrorKind, Result};

/// What to do with a file that is there already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Existing {
    /// Leave it; nothing is written.
    Keep,
    /// Put the new one in its place.
    Replace,
}

/// Opens the regular file at `path`; `None` when there is nothing. A link, a pipe or a folder is an error.
pub(crate) fn open_regular(path: &Path) -> std::io::Result<Option<File>> {
    // Without NONBLOCK, opening a pipe would wait for a writer before it can be refused.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = match rustix::fs::open(path, flags, Mode::empty()) {
        Ok(file) => File::from(file),
        Err(rustix::io::Errno::NOENT) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    if file.metadata()?.is_file() {
        Ok(Some(file))
    } else {
        Err(std::io::Error::new(IoErrorKind::InvalidInput, "not a regular file"))
    }
}

/// Whether only the owner can read and write it.
pub(crate) fn is_private(metadata: &Metadata) -> bool {
    metadata.permissions().mode() & 0o077 == 0
}

/// Writes `bytes` so that at every moment `path` is what it was or the whole: temporary file, sync, read
/// back, rename, sync of the folder. Gives whether it was written. A failure leaves nothing behind.
pub(crate) fn write_whole(path: &Path, bytes: &[u8], existing: Existing) -> Result<bool> {
    let folder = path.parent().ok_or_else(|| Error::internal("a file of a home has a folder"))?;
    put(folder, path, bytes, existing).map_err(|error| Error::file(path, &error))
}

fn put(folder: &Path, path: &Path, bytes: &[u8], existing: Existing) -> std::io::Result<bool> {
    // Created with mode 0600, and removed when it is dropped before `persist`.
    let mut file = tempfile::Builder::new().prefix(".new-").tempfile_in(folder)?;
    file.write_all(bytes)?;
    file.as_file().sync_all()?;
    file.rewind()?;
    let mut written = Vec::with_capacity(bytes.len());
    file.read_to_end(&mut written)?;
    let same = written == bytes;
    zeroize::Zeroize::zeroize(&mut written);
    if !same {
        return Err(std::io::Error::new(IoErrorKind::InvalidData, "the disk gave back other bytes"));
    }
    match existing {
        Existing::Replace => drop(file.persist(path)?),
        Existing::Keep => match file.persist_noclobber(path) {
            Ok(file) => drop(file),
            Err(error) if error.error.kind() == IoErrorKind::AlreadyExists => return Ok(false),
            Err(error) => return Err(error.error),
        },
    }
    File::open(folder)?.sync_all()?;
    Ok(true)
}

/// Puts the file `from` in the place of `to`, in the same folder: at every moment `to` is one of the two.
pub(crate) fn put_over(from: &Path, to: &Path) -> Result<()> {
    let folder = to.parent().ok_or_else(|| Error::internal("a file of a home has a folder"))?;
    std::fs::rename(from, to)
        .and_then(|()| File::open(folder)?.sync_all())
        .map_err(|error| Error::file(to, &error))
}

/// Waits until nobody else holds the lock of this name in the home, and holds it while the file lives.
pub(crate) fn hold_lock(home: &Path, name: &str) -> Result<File> {
    let path = home.join(name);
    let lock = open_lock(&path);
    lock.and_then(|lock| lock.lock().map(|()| lock)).map_err(|error| Error::file(&path, &error))
}

/// Holds the lock as well; `None` when somebody else does.
pub(super) fn try_lock(home: &Path, name: &str) -> Result<Option<File>> {
    let path = home.join(name);
    let lock = open_lock(&path).map_err(|error| Error::file(&path, &error))?;
    match lock.try_lock() {
        Ok(()) => Ok(Some(lock)),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) => Err(Error::file(&path, &error)),
    }
}

fn open_lock(path: &Path) -> std::io::Result<File> {
    File::options().create(true).truncate(false).write(true).mode(0o600).open(path)
}

/// Makes the folder `name` in `parent`, for the owner alone, when it is not there.
pub(crate) fn make_folder(parent: &Path, name: &str) -> Result<()> {
    let path = parent.join(name);
    match DirBuilder::new().mode(0o700).create(&path) {
        Ok(()) => {
            File::open(parent).and_then(|folder| folder.sync_all()).map_err(|error| Error::file(parent, &error))
        }
        Err(error) if error.kind() == IoErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(Error::file(&path, &error)),
    }
}

/// Makes an empty file for the owner alone when there is none; refuses one that others can use.
///
/// A file that is there is looked at by its name and not opened: closing any descriptor of a database would
/// drop the locks that SQLite holds on it elsewhere in this process.
pub(super) fn make_private_file(path: &Path) -> Result<()> {
    let create = || match File::options().write(true).create_new(true).mode(0o600).open(path) {
        Err(error) if error.kind() != IoErrorKind::AlreadyExists => Err(error),
        _ => std::fs::symlink_metadata(path),
    };
    let metadata = match std::fs::symlink_metadata(path) {
        Err(error) if error.kind() == IoErrorKind::NotFound => create(),
        result => result,
    };
    let metadata = metadata.map_err(|error| Error::file(path, &error))?;
    if !metadata.is_file() {
        return Err(Error::new(ErrorKind::Store, format!("`{}` is not a regular file", path.display())));
    }
    if !is_private(&metadata) {
        return Err(Error::new(ErrorKind::Store, format!("`{}` can be used by others", path.display()))
            .hint(format!("chmod 600 '{}'", path.display())));
    }
    Ok(())
}
