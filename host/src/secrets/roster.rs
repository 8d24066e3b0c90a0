//! The roster: which version of each secret is the newest, under a MAC of the key.
//!
//! A row that was put back from an older copy of the database opens: it is what was sealed. The roster sees it,
//! because it names another version. Who puts back the roster along with the rows, or the whole file, is not
//! seen: that takes a counter outside of the file, and `docs/security.md` says so.

use std::collections::BTreeMap;

use ring::hkdf::{HKDF_SHA256, Salt};
use ring::hmac;

use super::key::Key;
use crate::error::{Error, Result};
use crate::store::SealedRoster;

/// Separates this key from any other use of the key file.
const DOMAIN: &[u8] = b"remit/roster/v1";

/// The newest version of each secret.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Roster(pub(super) BTreeMap<String, u64>);

impl Roster {
    /// Opens a roster; `None` when this key did not make it, or it was changed since.
    pub(super) fn open(key: &Key, sealed: &SealedRoster) -> Option<Self> {
        hmac::verify(&mac_key(key).ok()?, sealed.newest.as_bytes(), &sealed.mac).ok()?;
        serde_json::from_str(&sealed.newest).ok().map(Self)
    }

    /// Seals it.
    pub(super) fn seal(&self, key: &Key) -> Result<SealedRoster> {
        let newest =
            serde_json::to_string(&self.0).map_err(|error| Error::internal("numbers are JSON").detail(error))?;
        let mac = hmac::sign(&mac_key(key)?, newest.as_bytes()).as_ref().to_vec();
        Ok(SealedRoster { kek_id: key.id(), newest, mac })
    }

    /// Whether this is the newest version of `name`.
    pub(super) fn lists(&self, name: &str, version: u64) -> bool {
        self.0.get(name) == Some(&version)
    }
}

fn mac_key(key: &Key) -> Result<hmac::Key> {
    let derived = Salt::new(HKDF_SHA256, &[]).extract(key.bytes());
    let derived =
        derived.expand(&[DOMAIN], hmac::HMAC_SHA256).map_err(|_| Error::internal("a key could not be derived"))?;
    Ok(hmac::Key::from(derived))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_its_own_key_opens_it_and_only_as_it_was() {
        let key = Key::for_test(1);
        let roster = Roster(BTreeMap::from([("A".to_owned(), 3), ("B".to_owned(), 7)]));
        let sealed = roster.seal(&key).unwrap();
        assert_eq!(Roster::open(&key, &sealed), Some(roster.clone()));
        assert!(roster.lists("A", 3) && !roster.lists("A", 2) && !roster.lists("A", 4) && !roster.lists("C", 3));
        assert_eq!(Roster::open(&Key::for_test(2), &sealed), None);
        let changed = SealedRoster { newest: sealed.newest.replace('3', "2"), ..sealed.clone() };
        assert_eq!(Roster::open(&key, &changed), None);
        assert_eq!(Roster::open(&key, &SealedRoster { mac: vec![0; 32], ..sealed }), None);
    }
}
