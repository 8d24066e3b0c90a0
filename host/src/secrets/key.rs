//! Key files: 32 random bytes beside the database. One opens every stored value; another seals compiled
//! code, apart from the first so that it can be thrown away.

use std::io::Read;
use std::path::{Path, PathBuf};

use ring::digest::{SHA256, digest};
use ring::hmac;
use ring::rand::{SecureRandom, SystemRandom};
use zeroize::Zeroizing;

use crate::error::{Error, ErrorKind, Result};
use crate::store::{Existing, is_private, open_regular, write_whole};

/// The file's name in the data directory.
const FILE: &str = "key";

/// The name of the file whose key seals compiled code.
const SEAL_FILE: &str = "seal";

/// Bytes of the key: what AES-256 and HKDF-SHA256 are made for.
const LENGTH: usize = 32;

/// Fewer different bytes than this are no random key: it happens to one in 10^28.
const DIFFERENT_BYTES: usize = 8;

/// Bytes of the hash that names a key. It tells keys of one home apart; it protects nothing.
const ID_LENGTH: usize = 8;

/// Where the key is.
pub(super) struct KeyFile {
    path: PathBuf,
    remedy: &'static str,
}

/// The key. It has no `Debug`, and its memory is cleared.
pub(super) struct Key {
    bytes: Zeroizing<[u8; LENGTH]>,
}

impl KeyFile {
    pub(super) fn new(home: &Path) -> Self {
        Self { path: home.join(FILE), remedy: "restore `key` in the data directory from its backup" }
    }

    /// Reads the key; `None` when there is no file.
    pub(super) fn read(&self) -> Result<Option<Key>> {
        let unusable = |what: &str| {
            Error::new(ErrorKind::SecretKey, format!("the key file {what}"))
                .detail(self.path.display())
                .hint(self.remedy)
        };
        let file = open_regular(&self.path).map_err(|error| unusable("cannot be opened").detail(error))?;
        let Some(mut file) = file else { return Ok(None) };
        let metadata = file.metadata().map_err(|error| unusable("cannot be opened").detail(error))?;
        if !is_private(&metadata) {
            let hint =
                format!("chmod 600 '{}'; if others could read it, set the secrets anew", self.path.display());
            return Err(unusable("can be read by others").hint(hint));
        }
        let mut bytes = Zeroizing::new([0; LENGTH]);
        if metadata.len() != LENGTH as u64 || file.read_exact(bytes.as_mut_slice()).is_err() {
            return Err(unusable("does not have 32 bytes"));
        }
        let mut sorted = bytes.clone();
        sorted.sort_unstable();
        if sorted.chunk_by(|one, other| one == other).count() < DIFFERENT_BYTES {
            return Err(unusable("is not random"));
        }
        Ok(Some(Key { bytes }))
    }

    /// Makes a new key. When another process was faster, its key counts.
    pub(super) fn create(&self) -> Result<Key> {
        let mut bytes = Zeroizing::new([0; LENGTH]);
        SystemRandom::new()
            .fill(bytes.as_mut_slice())
            .map_err(|_| Error::internal("the system gives no random bytes"))?;
        if write_whole(&self.path, bytes.as_slice(), Existing::Keep)? {
            return Ok(Key { bytes });
        }
        self.read()?.ok_or_else(|| Error::internal("a key file that was there is gone"))
    }
}

/// The key that seals the compiled code of a home; the first use makes it.
pub fn sealing_key(home: &Path) -> Result<hmac::Key> {
    let remedy = "remove `seal` in the data directory: capabilities are then compiled once more";
    let file = KeyFile { path: home.join(SEAL_FILE), remedy };
    let key = match file.read()? {
        Some(key) => key,
        None => file.create()?,
    };
    Ok(hmac::Key::new(hmac::HMAC_SHA256, key.bytes()))
}

impl Key {
    /// Names the key without telling it.
    pub(super) fn id(&self) -> String {
        let named = [b"remit/kek-id/v1".as_slice(), self.bytes.as_slice()].concat();
        let named = Zeroizing::new(named);
        let hash = digest(&SHA256, &named);
        hash.as_ref()[..ID_LENGTH].iter().map(|byte| format!("{byte:02x}")).collect()
    }

    pub(super) fn bytes(&self) -> &[u8; LENGTH] {
        &self.bytes
    }
}

#[cfg(test)]
impl Key {
    pub(super) fn for_test(first: u8) -> Self {
        Self { bytes: Zeroizing::new(std::array::from_fn(|index| first.wrapping_add(index as u8))) }
    }
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn a_new_key_is_random_private_and_stays() {
        let home = tempfile::tempdir().unwrap();
        let file = KeyFile::new(home.path());
        assert!(file.read().unwrap().is_none());
        let key = file.create().unwrap();
        assert_eq!(std::fs::metadata(&file.path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(file.read().unwrap().unwrap().bytes, key.bytes);
        assert_eq!(file.create().unwrap().id(), key.id(), "a second one does not replace the first");
        let other = tempfile::tempdir().unwrap();
        assert_ne!(KeyFile::new(other.path()).create().unwrap().id(), key.id());
    }

    #[test]
    fn a_file_that_cannot_be_trusted_is_refused() {
        let good: Vec<u8> = (0..32).collect();
        let cases: [(&str, &[u8], u32); 7] = [
            ("group can read", &good, 0o640),
            ("others can read", &good, 0o604),
            ("others can write", &good, 0o602),
            ("short", &good[..31], 0o600),
            ("long", &[good.as_slice(), b"x"].concat(), 0o600),
            ("empty", b"", 0o600),
            ("not random", &[7; 32], 0o600),
        ];
        for (case, bytes, mode) in cases {
            let home = tempfile::tempdir().unwrap();
            let file = KeyFile::new(home.path());
            std::fs::write(&file.path, bytes).unwrap();
            std::fs::set_permissions(&file.path, Permissions::from_mode(mode)).unwrap();
            let error = file.read().err().unwrap();
            assert_eq!(error.kind, ErrorKind::SecretKey, "{case}");
            assert!(file.create().is_err(), "{case}: it is not replaced either");
            assert_eq!(std::fs::read(&file.path).unwrap(), bytes, "{case}");
        }
    }

    #[test]
    fn a_link_is_refused() {
        let home = tempfile::tempdir().unwrap();
        let file = KeyFile::new(home.path());
        let elsewhere = home.path().join("elsewhere");
        std::fs::write(&elsewhere, (0..32).collect::<Vec<u8>>()).unwrap();
        std::fs::set_permissions(&elsewhere, Permissions::from_mode(0o600)).unwrap();
        symlink(&elsewhere, &file.path).unwrap();
        assert_eq!(file.read().err().unwrap().kind, ErrorKind::SecretKey);
    }
}
