//! Ed25519 keys: how they are made, kept and written down.

use std::fmt;
use std::path::Path;
use std::str::FromStr;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::rand::SystemRandom;
use ring::signature::{ED25519, Ed25519KeyPair, KeyPair as _, UnparsedPublicKey};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use zeroize::Zeroizing;

use crate::error::{Error, ErrorKind, Result};
use crate::store::{Existing, is_private, open_regular, write_whole};

/// The file of a home's signing key.
const FILE: &str = "signing-key";

/// Bytes of a key file at most. A private key has 85 in PKCS #8.
const MAX_FILE_BYTES: u64 = 4096;

const PREFIX: &str = "ed25519:";

/// A public key, written `ed25519:` and 43 characters of base64 for URLs (RFC 4648, 5).
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PublicKey([u8; 32]);

/// A private key. What it holds is shown by nothing.
pub struct SigningKey(Ed25519KeyPair);

impl PublicKey {
    /// Whether this key's owner signed these bytes (RFC 8032).
    pub(super) fn has_signed(&self, bytes: &[u8], signature: &[u8]) -> bool {
        UnparsedPublicKey::new(&ED25519, self.0).verify(bytes, signature).is_ok()
    }
}

impl fmt::Display for PublicKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{PREFIX}{}", URL_SAFE_NO_PAD.encode(self.0))
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{self}")
    }
}

impl FromStr for PublicKey {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let bytes = text.strip_prefix(PREFIX).and_then(|text| URL_SAFE_NO_PAD.decode(text).ok());
        let bytes = bytes.and_then(|bytes| <[u8; 32]>::try_from(bytes).ok());
        bytes.map(Self).ok_or_else(|| {
            Error::new(ErrorKind::Usage, format!("`{text}` is no public key"))
                .hint("`remit key export` prints one: `ed25519:` and 43 characters")
        })
    }
}

impl Serialize for PublicKey {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for PublicKey {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(|error: Error| serde::de::Error::custom(error.message))
    }
}

impl SigningKey {
    /// Makes a key and keeps it in `home`, for its owner alone. One that is there already stays, and is an error.
    pub fn create(home: &Path) -> Result<Self> {
        let unusable = |_| Error::internal("the system gave no random bytes");
        let bytes = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).map_err(unusable)?;
        let key = Self::read(bytes.as_ref())?;
        if !write_whole(&home.join(FILE), bytes.as_ref(), Existing::Keep)? {
            return Err(Error::new(ErrorKind::Usage, "this home has a signing key already")
                .hint("`remit key export` prints it, `remit key rotate` replaces it"));
        }
        Ok(key)
    }

    /// Makes another key in the place of the one that is there, which is given beside it.
    pub fn replace(home: &Path) -> Result<(Self, Self)> {
        let old = Self::open(home)?;
        let unusable = |_| Error::internal("the system gave no random bytes");
        let bytes = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).map_err(unusable)?;
        let new = Self::read(bytes.as_ref())?;
        write_whole(&home.join(FILE), bytes.as_ref(), Existing::Replace)?;
        Ok((old, new))
    }

    /// The key of `home`.
    pub fn open(home: &Path) -> Result<Self> {
        use std::io::Read as _;
        let path = home.join(FILE);
        let file = open_regular(&path).map_err(|error| Error::file(&path, &error))?;
        let file = file.ok_or_else(|| {
            Error::new(ErrorKind::Usage, "this home has no signing key").hint("remit key new --owner NAME")
        })?;
        let metadata = file.metadata().map_err(|error| Error::file(&path, &error))?;
        if !is_private(&metadata) {
            return Err(Error::new(ErrorKind::Store, format!("`{}` can be used by others", path.display()))
                .hint(format!("chmod 600 '{}'", path.display())));
        }
        let mut bytes = Zeroizing::new(Vec::new());
        file.take(MAX_FILE_BYTES).read_to_end(&mut bytes).map_err(|error| Error::file(&path, &error))?;
        Self::read(&bytes)
    }

    fn read(bytes: &[u8]) -> Result<Self> {
        let pair = Ed25519KeyPair::from_pkcs8(bytes);
        pair.map(Self).map_err(|_| Error::new(ErrorKind::Store, format!("`{FILE}` is no Ed25519 key in PKCS #8")))
    }

    /// What others know it by.
    #[must_use]
    pub fn public(&self) -> PublicKey {
        let mut bytes = [0; 32];
        bytes.copy_from_slice(self.0.public_key().as_ref());
        PublicKey(bytes)
    }

    pub(super) fn sign(&self, bytes: &[u8]) -> Vec<u8> {
        self.0.sign(bytes).as_ref().to_vec()
    }
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "SigningKey({})", self.public())
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn a_key_is_made_once_kept_for_its_owner_and_replaced_on_purpose() {
        let home = tempfile::tempdir().expect("a folder");
        assert!(SigningKey::open(home.path()).expect_err("none yet").hint.is_some());
        let first = SigningKey::create(home.path()).expect("a key");
        assert_eq!(SigningKey::create(home.path()).expect_err("one is there").kind, ErrorKind::Usage);
        assert_eq!(SigningKey::open(home.path()).expect("the key").public(), first.public(), "the first one stays");
        let path = home.path().join(FILE);
        assert_eq!(std::fs::metadata(&path).expect("a file").permissions().mode() & 0o777, 0o600);
        let (old, new) = SigningKey::replace(home.path()).expect("another key");
        assert_eq!(old.public(), first.public());
        assert_ne!(new.public(), first.public());
        assert_eq!(SigningKey::open(home.path()).expect("the key").public(), new.public());

        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).expect("permissions");
        assert_eq!(SigningKey::open(home.path()).expect_err("others can read it").kind, ErrorKind::Store);
        std::fs::remove_file(&path).expect("removed");
        std::os::unix::fs::symlink("/dev/zero", &path).expect("a link");
        assert!(SigningKey::open(home.path()).is_err(), "a link is not followed");
    }

    #[test]
    fn a_public_key_is_written_in_one_way() {
        let home = tempfile::tempdir().expect("a folder");
        let key = SigningKey::create(home.path()).expect("a key").public();
        let text = key.to_string();
        assert_eq!(text.parse::<PublicKey>().expect("a key"), key);
        let digits = text.strip_prefix(PREFIX).expect("the prefix");
        let wrong = [
            digits.to_owned(),
            format!("ED25519:{digits}"),
            format!("{text}="),
            format!("{text}A"),
            format!(" {text}"),
            text[..text.len() - 1].to_owned(),
            "ed25519:".to_owned(),
            format!("rsa:{digits}"),
        ];
        for text in wrong {
            assert!(text.parse::<PublicKey>().is_err(), "{text}");
        }
        assert!(!format!("{:?}", SigningKey::open(home.path())).contains("seed"));
    }
}
