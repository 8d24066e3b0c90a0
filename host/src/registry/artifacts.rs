//! Components as files named by their digest.
//!
//! A name says what the bytes must be, and every read checks it. A file is there whole or not at all.
//! Whether a digest is still needed is not decided here but by the pins in the database.

use std::io::Read;
use std::path::{Path, PathBuf};

use super::Digest;
use crate::error::{Error, ErrorKind, Result};
use crate::store::{Existing, make_folder, open_regular, write_whole};

/// The folder `components/sha256` of a home.
#[derive(Clone, Debug)]
pub struct Artifacts {
    home: PathBuf,
}

impl Artifacts {
    /// The artifacts of the home at `home`.
    #[must_use]
    pub fn new(home: &Path) -> Self {
        Self { home: home.to_owned() }
    }

    /// Reads the component and checks that its bytes are the ones that were pinned.
    pub fn read(&self, digest: &Digest) -> Result<Vec<u8>> {
        let path = self.path(digest);
        let mut bytes = Vec::new();
        let found = open_regular(&path).and_then(|file| match file {
            Some(mut file) => file.read_to_end(&mut bytes).map(|_| true),
            None => Ok(false),
        });
        match found {
            Ok(true) if Digest::of(&bytes) == *digest => Ok(bytes),
            Ok(true) => Err(mismatch(digest, "are not the bytes that were installed")),
            Ok(false) => Err(mismatch(digest, "are missing")),
            Err(error) => Err(mismatch(digest, "cannot be read").detail(error)),
        }
    }

    /// Writes a component and gives its digest. One that is there already is checked, and replaced when it is
    /// damaged.
    pub fn write(&self, bytes: &[u8]) -> Result<Digest> {
        let digest = Digest::of(bytes);
        if self.read(&digest).is_ok() {
            return Ok(digest);
        }
        make_folder(&self.home, "components")?;
        make_folder(&self.home.join("components"), "sha256")?;
        write_whole(&self.path(&digest), bytes, Existing::Replace)?;
        Ok(digest)
    }

    /// Removes a component that no install pins.
    pub fn remove(&self, digest: &Digest) -> Result<()> {
        let path = self.path(digest);
        match std::fs::remove_file(&path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(Error::file(&path, &error)),
            _ => Ok(()),
        }
    }

    fn path(&self, digest: &Digest) -> PathBuf {
        self.home.join("components").join("sha256").join(format!("{}.wasm", digest.hex()))
    }
}

fn mismatch(digest: &Digest, what: &str) -> Error {
    Error::new(ErrorKind::DigestMismatch, format!("the stored bytes of `{digest}` {what}"))
        .hint("install the same file again: `remit install FILE`")
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    fn home() -> (tempfile::TempDir, Artifacts) {
        let home = tempfile::tempdir().unwrap();
        let artifacts = Artifacts::new(home.path());
        (home, artifacts)
    }

    fn names(artifacts: &Artifacts) -> Vec<String> {
        let folder = artifacts.home.join("components/sha256");
        let names = std::fs::read_dir(folder).unwrap();
        names.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }

    fn check_mismatch(artifacts: &Artifacts, digest: &Digest) {
        let error = artifacts.read(digest).unwrap_err();
        assert_eq!(error.kind, ErrorKind::DigestMismatch, "{error}");
        assert!(error.hint.is_some());
    }

    #[test]
    fn what_is_written_is_read() {
        let (_home, artifacts) = home();
        let digest = artifacts.write(b"bytes").unwrap();
        assert_eq!(digest, Digest::of(b"bytes"));
        assert_eq!(artifacts.read(&digest).unwrap(), b"bytes");
        assert_eq!(artifacts.write(b"bytes").unwrap(), digest);
        assert_eq!(names(&artifacts), [format!("{}.wasm", digest.hex())]);
        let mode = std::fs::metadata(artifacts.path(&digest)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);

        artifacts.remove(&digest).unwrap();
        artifacts.remove(&digest).unwrap();
        check_mismatch(&artifacts, &digest);
    }

    #[test]
    fn other_bytes_under_the_name_are_refused_and_repaired() {
        let (home, artifacts) = home();
        let digest = artifacts.write(b"bytes").unwrap();
        let path = artifacts.path(&digest);
        let elsewhere = home.path().join("elsewhere");
        std::fs::write(&elsewhere, b"bytes").unwrap();
        let attacks: [fn(&Path, &Path); 5] = [
            |path, _| std::fs::write(path, b"bytez").unwrap(),
            |path, _| std::fs::write(path, b"byte").unwrap(),
            |path, _| std::fs::write(path, b"").unwrap(),
            // Even a link to the right bytes: what it leads to can change after the check.
            |path, elsewhere| {
                std::fs::remove_file(path).unwrap();
                symlink(elsewhere, path).unwrap();
            },
            |path, _| {
                std::fs::remove_file(path).unwrap();
                symlink("/dev/zero", path).unwrap();
            },
        ];
        for attack in attacks {
            attack(&path, &elsewhere);
            check_mismatch(&artifacts, &digest);
            assert_eq!(artifacts.write(b"bytes").unwrap(), digest);
            assert_eq!(artifacts.read(&digest).unwrap(), b"bytes");
        }
        assert_eq!(std::fs::read(&elsewhere).unwrap(), b"bytes");
    }

    #[test]
    fn a_write_that_fails_leaves_nothing() {
        let (home, artifacts) = home();
        artifacts.write(b"first").unwrap();
        // The name is taken by a folder, so the last step fails.
        let digest = Digest::of(b"second");
        std::fs::create_dir(artifacts.path(&digest)).unwrap();
        let error = artifacts.write(b"second").unwrap_err();
        assert_eq!(error.kind, ErrorKind::Store);
        assert_eq!(names(&artifacts).len(), 2, "the first file and the folder");
        drop(home);
    }
}
