//! Where credentials are kept.
//!
//! Decides which values can be secrets at all, and when the key file is made. It does not decide who may
//! use a secret (`policy/`) or where in a request (`egress/`). Values leave it in one way only: [`Vault::open`],
//! for what was granted.

mod check;

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use zeroize::Zeroizing;

use super::key::{Key, KeyFile};
use super::{SecretSet, SecretValue, seal};
use crate::error::{Error, ErrorKind, Result};
use crate::policy::Granted;
use crate::store::{Sealed, Store};

pub use check::KeyCheck;

/// Shorter values occur in answers by chance, and would be cut out of them.
const SHORTEST: usize = 8;

/// Longer ones are no credentials; header fields end at this size as well.
const LONGEST: usize = 8 * 1024;

/// A value of fewer different bytes occurs by chance, too: rulers, blanks, zeros.
const DIFFERENT_BYTES: usize = 4;

/// Letters of a name: as long as the placeholder's grammar allows.
const LONGEST_NAME: usize = 64;

/// Words that stand for a secret but are none. Compared without case.
const COMMON: [&str; 12] = [
    "12345678",
    "123456789",
    "1234567890",
    "changeme",
    "password",
    "password1",
    "passw0rd",
    "undefined",
    "your-api-key",
    "your_api_key",
    "<your-api-key>",
    "placeholder",
];

/// The stored secrets of one home.
pub struct Vault {
    store: Arc<Store>,
    key: KeyFile,
}

/// What people see of a stored secret: never its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredSecret {
    /// Its name.
    pub name: String,
    /// When it was first set, in milliseconds since 1970.
    pub created_at: i64,
    /// When its value was last set.
    pub changed_at: i64,
}

impl Vault {
    /// The secrets in `store`, and their key in `home`.
    #[must_use]
    pub fn new(home: &Path, store: Arc<Store>) -> Self {
        Self { store, key: KeyFile::new(home) }
    }

    /// Stores a value, encrypted. The first one makes the key file.
    pub fn set(&self, name: &str, value: &[u8]) -> Result<()> {
        check_name(name)?;
        check_value(value)?;
        let key = self.key_for_writing()?;
        let (row, value) = (name.to_owned(), Zeroizing::new(value.to_vec()));
        self.store.put_secret(name, move |version| seal::seal(&key, &row, version, &value))
    }

    /// Removes a value. Gives whether there was one.
    pub fn remove(&self, name: &str) -> Result<bool> {
        self.store.remove_secret(name)
    }

    /// Names and times.
    pub fn list(&self) -> Result<Vec<StoredSecret>> {
        self.store.list_secrets()
    }

    /// Opens every secret that is approved for somewhere, all of one moment. One that is not set is left out.
    pub fn open(&self, granted: &Granted) -> Result<SecretSet> {
        // One placeholder may stand for different values at different hosts.
        let approvals = granted.secrets().iter().flat_map(|secret| &secret.approvals);
        let wanted: BTreeSet<_> =
            approvals.map(|approval| (approval.secret.as_str(), approval.source.as_str())).collect();
        let sources: Vec<_> = wanted.iter().map(|(_, source)| *source).collect();
        let sealed = self.store.sealed(&sources)?;
        let set = wanted.into_iter().zip(sealed).filter_map(|(wanted, sealed)| Some((wanted, sealed?)));
        let mut set = set.peekable();
        if set.peek().is_none() {
            return Ok(SecretSet::new(Vec::new()));
        }
        let key = self.key.read()?.ok_or_else(missing_key)?;
        let values = set.map(|((name, source), sealed)| {
            let value = open(&key, source, sealed)?;
            Ok(SecretValue { name: name.to_owned(), source: source.to_owned(), value, is_usable: true })
        });
        Ok(SecretSet::new(values.collect::<Result<_>>()?))
    }

    /// The key that the stored values were sealed with; a new one only when there are none.
    fn key_for_writing(&self) -> Result<Key> {
        let ids = self.store.key_ids()?;
        match self.key.read()? {
            Some(key) if ids.iter().all(|id| *id == key.id()) => Ok(key),
            Some(_) => Err(other_key()),
            None if ids.is_empty() => self.key.create(),
            None => Err(missing_key()),
        }
    }
}

fn open(key: &Key, source: &str, sealed: Sealed) -> Result<Zeroizing<Vec<u8>>> {
    if sealed.kek_id != key.id() {
        return Err(other_key());
    }
    seal::open(key, source, sealed).ok_or_else(|| {
        Error::new(ErrorKind::SecretKey, format!("the stored value of `{source}` does not open"))
            .hint(format!("set it again: `remit secret set {source}`"))
    })
}

fn missing_key() -> Error {
    Error::new(ErrorKind::SecretKey, "the key file is missing, and stored secrets need it").hint(
        "restore `key` in the data directory from its backup, or remove all secrets (`remit secret remove`) \
         and set them again",
    )
}

fn other_key() -> Error {
    Error::new(ErrorKind::SecretKey, "the key file is not the one that sealed the stored secrets")
        .hint("restore `key` in the data directory from the backup that belongs to `remit.db`")
}

fn check_name(name: &str) -> Result<()> {
    let bytes = name.as_bytes();
    let legal = bytes.first().is_some_and(u8::is_ascii_uppercase)
        && bytes.len() <= LONGEST_NAME
        && bytes.iter().all(|byte| matches!(byte, b'A'..=b'Z' | b'0'..=b'9' | b'_'));
    if legal {
        return Ok(());
    }
    Err(Error::new(
        ErrorKind::SecretInvalid,
        "a secret's name has upper-case letters, digits and underscores, a letter first, 64 at most",
    ))
}

fn check_value(value: &[u8]) -> Result<()> {
    let mut sorted = Zeroizing::new(value.to_vec());
    sorted.sort_unstable();
    let different = sorted.chunk_by(|one, other| one == other).count();
    let reason = if value.len() < SHORTEST {
        "it is shorter than 8 bytes, so it could not be told from other text in answers"
    } else if value.len() > LONGEST {
        "it is longer than 8 KiB"
    } else if value.iter().any(|byte| matches!(byte, b'\0' | b'\r' | b'\n')) {
        "it holds a line break or a NUL, which no header field may"
    } else if different < DIFFERENT_BYTES
        || COMMON.iter().any(|common| value.eq_ignore_ascii_case(common.as_bytes()))
    {
        "it is too common to be one"
    } else {
        return Ok(());
    };
    Err(Error::new(ErrorKind::SecretInvalid, format!("this cannot be a secret: {reason}")))
}

#[cfg(test)]
mod tests;
