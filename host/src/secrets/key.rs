//! Key files: 32 random bytes, beside the database or where the settings say. One opens every stored value;
//! another seals compiled code, apart from the first so that it can be thrown away.
//!
//! While the key changes there are two files, and the id at each row says which one opens it. Which key a row
//! should have is decided in `rotate.rs`.

use std::io::Read;
use std::path::{Path, PathBuf};

use ring::digest::{SHA256, digest};
use ring::hmac;
use ring::rand::{SecureRandom, SystemRandom};
use zeroize::Zeroizing;

use crate::error::{Error, ErrorKind, Result};
use crate::store::{Existing, is_private, open_regular, put_over, write_whole};

/// The file's name in the data directory.
const FILE: &str = "key";

/// What the name of the next key's file ends in, until it takes the place of the first.
const NEXT: &str = ".next";

/// The name of the file whose key seals compiled code.
const SEAL_FILE: &str = "seal";

/// Bytes of the key: what AES-256 and HKDF-SHA256 are made for.
const LENGTH: usize = 32;

/// Fewer different bytes than this are no random key: it happens to one in 10^28.
const DIFFERENT_BYTES: usize = 8;

/// Bytes of the hash that names a key. It tells keys of one home apart; it protects nothing.
const ID_LENGTH: usize = 8;

/// Where the key is.
#[derive(Clone)]
pub(super) struct KeyFile {
    path: PathBuf,
    /// Where a person finds it.
    place: String,
    /// What a person does when it cannot be used.
    remedy: String,
}

/// The key. It has no `Debug`, and its memory is cleared.
pub(super) struct Key {
    bytes: Zeroizing<[u8; LENGTH]>,
}

impl KeyFile {
    /// The key file of a home: in it, or at `elsewhere`.
    pub(super) fn new(home: &Path, elsewhere: Option<&Path>) -> Self {
        let (path, place) = match elsewhere {
            None => (home.join(FILE), format!("`{FILE}` in the data directory")),
            Some(path) => (path.to_owned(), format!("`{}`", path.display())),
        };
        Self { path, remedy: format!("restore {place} from its backup"), place }
    }

    /// Reads the key; `None` when there is no file.
    pub(super) fn read(&self) -> Result<Option<Key>> {
        self.read_at(&self.path)
    }

    /// The key of this id, whether it is the one of now or the next one.
    pub(super) fn find(&self, id: &str) -> Result<Option<Key>> {
        // In this order: when the next key takes the place of the first in between, it was not missed but is gone
        // from both, and whoever asked reads the rows again.
        for path in [&self.path, &self.next()] {
            if let Some(key) = self.read_at(path)?
                && key.id() == id
            {
                return Ok(Some(key));
            }
        }
        Ok(None)
    }

    /// The key that is to take the place of the one of now, if there is one.
    pub(super) fn read_next(&self) -> Result<Option<Key>> {
        self.read_at(&self.next())
    }

    /// Whether a next key waits to take the place of the one of now.
    pub(super) fn has_next(&self) -> bool {
        self.next().symlink_metadata().is_ok()
    }

    /// Makes the next key, in the place of one that nothing was sealed with. What comes back is what the file says.
    pub(super) fn create_next(&self) -> Result<Key> {
        write_whole(&self.next(), random_bytes()?.as_slice(), Existing::Replace)?;
        self.read_next()?.ok_or_else(|| Error::internal("a key file that was there is gone"))
    }

    /// Puts the next key in the place of the one of now, which is then gone.
    pub(super) fn promote_next(&self) -> Result<()> {
        put_over(&self.next(), &self.path)
    }

    /// Why there is no key for what is stored.
    pub(super) fn unfound(&self) -> Result<Error> {
        Ok(if self.read()?.is_some() { self.other_key() } else { self.missing_key() })
    }

    fn missing_key(&self) -> Error {
        Error::new(ErrorKind::SecretKey, "the key file is missing, and stored secrets need it").hint(format!(
            "restore {} from its backup, or remove all secrets (`remit secret remove`) and set them again",
            self.place
        ))
    }

    /// The file holds a sound key, but not of what is stored.
    pub(super) fn other_key(&self) -> Error {
        Error::new(ErrorKind::SecretKey, "the key file is not the one that sealed the stored secrets")
            .hint(format!("restore {} from the backup that belongs to `remit.db`", self.place))
    }

    fn next(&self) -> PathBuf {
        let mut path = self.path.clone().into_os_string();
        path.push(NEXT);
        path.into()
    }

    fn read_at(&self, path: &Path) -> Result<Option<Key>> {
        let unusable = |what: &str| {
            Error::new(ErrorKind::SecretKey, format!("the key file {what}"))
                .detail(path.display())
                .hint(&self.remedy)
        };
        let file = open_regular(path).map_err(|error| unusable("cannot be opened").detail(error))?;
        let Some(mut file) = file else { return Ok(None) };
        let metadata = file.metadata().map_err(|error| unusable("cannot be opened").detail(error))?;
        if !is_private(&metadata) {
            let hint = format!("chmod 600 '{}'; if others could read it, set the secrets anew", path.display());
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
        let bytes = random_bytes()?;
        if write_whole(&self.path, bytes.as_slice(), Existing::Keep)? {
            return Ok(Key { bytes });
        }
        self.read()?.ok_or_else(|| Error::internal("a key file that was there is gone"))
    }
}

fn random_bytes() -> Result<Zeroizing<[u8; LENGTH]>> {
    let mut bytes = Zeroizing::new([0; LENGTH]);
    SystemRandom::new()
        .fill(bytes.as_mut_slice())
        .map_err(|_| Error::internal("the system gives no random bytes"))?;
    Ok(bytes)
}

/// The key that seals the compiled code of a home; the first use makes it.
pub fn sealing_key(home: &Path) -> Result<hmac::Key> {
    let place = format!("`{SEAL_FILE}` in the data directory");
    let remedy = format!("remove {place}: capabilities are then compiled once more");
    let file = KeyFile { path: home.join(SEAL_FILE), place, remedy };
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
        let file = KeyFile::new(home.path(), None);
        assert!(file.read().unwrap().is_none());
        let key = file.create().unwrap();
        assert_eq!(std::fs::metadata(&file.path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(file.read().unwrap().unwrap().bytes, key.bytes);
        assert_eq!(file.create().unwrap().id(), key.id(), "a second one does not replace the first");
        let other = tempfile::tempdir().unwrap();
        assert_ne!(KeyFile::new(other.path(), None).create().unwrap().id(), key.id());
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
            let file = KeyFile::new(home.path(), None);
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
        let file = KeyFile::new(home.path(), None);
        let elsewhere = home.path().join("elsewhere");
        std::fs::write(&elsewhere, (0..32).collect::<Vec<u8>>()).unwrap();
        std::fs::set_permissions(&elsewhere, Permissions::from_mode(0o600)).unwrap();
        symlink(&elsewhere, &file.path).unwrap();
        assert_eq!(file.read().err().unwrap().kind, ErrorKind::SecretKey);
    }
}
