//! Compiled code on disk, by digest and engine, believed only when its seal fits.
//!
//! Loading compiled code is running it with the host's rights, so a file that somebody else could have
//! written must never be loaded. Each file ends in an HMAC-SHA256, under a key of this home, over what
//! it was compiled from and for, and over the code.

use std::fs;
use std::path::{Path, PathBuf};

use ring::hmac;

use crate::error::Result;
use crate::registry::Digest;
use crate::store::{Existing, make_folder, write_whole};

/// The folder's name in the data directory.
const FOLDER: &str = "compiled";

/// Bytes of the seal at a file's end.
const SEAL_BYTES: usize = 32;

/// The folder `compiled` of a home.
pub struct CompiledCache {
    home: PathBuf,
    key: hmac::Key,
}

/// Code that this home compiled from the component of this digest: only the cache makes one.
pub struct Sealed {
    code: Vec<u8>,
}

impl Sealed {
    /// The code.
    pub(super) fn code(&self) -> &[u8] {
        &self.code
    }
}

impl CompiledCache {
    /// The cache of the home at `home`, sealed with `key`.
    #[must_use]
    pub fn new(home: &Path, key: hmac::Key) -> Self {
        Self { home: home.to_owned(), key }
    }

    /// The code for `digest`, if it is there and its seal fits. What does not fit is removed.
    #[must_use]
    pub fn get(&self, digest: &Digest, compatibility: &str) -> Option<Sealed> {
        let path = self.path(digest, compatibility);
        let mut file = fs::read(&path).ok()?;
        let code_bytes = file.len().checked_sub(SEAL_BYTES)?;
        let seal = file.split_off(code_bytes);
        if hmac::verify(&self.key, &message(digest, compatibility, &file), &seal).is_err() {
            tracing::warn!("compiled code of {digest} was changed on disk and is compiled again");
            let _ = fs::remove_file(&path);
            return None;
        }
        Some(Sealed { code: file })
    }

    /// Keeps `code`, as one whole file or not at all, and gives it back sealed. A full disk costs the next
    /// start a compilation and is no error.
    pub fn put(&self, digest: &Digest, compatibility: &str, code: Vec<u8>) -> Sealed {
        if let Err(error) = self.write(digest, compatibility, &code) {
            tracing::warn!("compiled code of {digest} is not kept: {error}");
        }
        Sealed { code }
    }

    /// Removes all code of `digest`.
    pub fn remove(&self, digest: &Digest) {
        let Ok(files) = fs::read_dir(self.home.join(FOLDER)) else { return };
        for file in files.flatten() {
            if file.file_name().to_string_lossy().starts_with(&digest.hex()) {
                let _ = fs::remove_file(file.path());
            }
        }
    }

    fn write(&self, digest: &Digest, compatibility: &str, code: &[u8]) -> Result<()> {
        make_folder(&self.home, FOLDER)?;
        let seal = hmac::sign(&self.key, &message(digest, compatibility, code));
        let sealed = [code, seal.as_ref()].concat();
        write_whole(&self.path(digest, compatibility), &sealed, Existing::Replace).map(drop)
    }

    fn path(&self, digest: &Digest, compatibility: &str) -> PathBuf {
        self.home.join(FOLDER).join(format!("{}-{compatibility}", digest.hex()))
    }
}

/// What the seal covers: the parts have fixed lengths but the last, so no two meanings share bytes.
fn message(digest: &Digest, compatibility: &str, code: &[u8]) -> Vec<u8> {
    let mut message = Vec::with_capacity(digest.as_bytes().len() + compatibility.len() + code.len());
    message.extend_from_slice(digest.as_bytes());
    message.extend_from_slice(compatibility.as_bytes());
    message.extend_from_slice(code);
    message
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cache(home: &Path, key: &[u8]) -> CompiledCache {
        CompiledCache::new(home, hmac::Key::new(hmac::HMAC_SHA256, key))
    }

    #[test]
    fn only_what_this_home_sealed_for_this_digest_and_engine_is_believed() {
        let home = tempfile::tempdir().expect("a folder");
        let digest = Digest::of(b"component");
        let cache = cache(home.path(), b"key");
        cache.put(&digest, "0123456789abcdef", b"code".to_vec());
        let found = cache.get(&digest, "0123456789abcdef").expect("it was just put there");
        assert_eq!(found.code(), b"code");

        let other = Digest::of(b"other");
        let path = cache.path(&digest, "0123456789abcdef");
        fs::copy(&path, cache.path(&other, "0123456789abcdef")).expect("copied");
        assert!(cache.get(&other, "0123456789abcdef").is_none(), "another digest");
        fs::copy(&path, cache.path(&digest, "fedcba9876543210")).expect("copied");
        assert!(cache.get(&digest, "fedcba9876543210").is_none(), "another engine");
        assert!(self::cache(home.path(), b"another key").get(&digest, "0123456789abcdef").is_none());
        assert!(!path.exists(), "what does not fit is removed");

        for damage in [&b""[..], b"short", &[0; 100]] {
            fs::write(&path, damage).expect("written");
            assert!(cache.get(&digest, "0123456789abcdef").is_none());
        }
    }
}
