//! Who a key belongs to, and what its owner may say: for a home what its person trusts, for a registry what whoever
//! runs it wrote down.

use serde::{Deserialize, Serialize};

use super::{Document, PublicKey, Rotation, Signed};
use crate::error::{Error, ErrorKind, Result};

/// One key, as it is known.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct KnownKey {
    /// The key.
    pub key: PublicKey,
    /// The person or the machine whose it is. Two keys of one owner are one voice.
    pub owner: String,
    /// The publishers that it speaks for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub publishers: Vec<String>,
    /// Whether its owner decides about releases of others.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub reviewer: bool,
    /// From when on it counts no more, in milliseconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revoked_at: Option<i64>,
}

/// All keys that are known here.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Owners {
    /// One table each.
    #[serde(default, rename = "key")]
    pub keys: Vec<KnownKey>,
}

impl Owners {
    /// A key as it is known here.
    #[must_use]
    pub fn find(&self, key: PublicKey) -> Option<&KnownKey> {
        self.keys.iter().find(|known| known.key == key)
    }

    /// Who signed a document, if the key counted at `signed_at`. Whoever has a stolen key can write any time, so a
    /// key that was revoked because somebody has it is revoked from before that.
    ///
    /// `role` is what `remit key trust` would have to say of it.
    pub(super) fn signer<T: Document>(&self, key: PublicKey, signed_at: i64, role: &str) -> Result<&KnownKey> {
        let known = self.find(key).ok_or_else(|| unknown(T::KIND, key, role))?;
        match known.revoked_at {
            Some(revoked_at) if signed_at >= revoked_at => {
                let message =
                    format!("the {} was signed with a key of `{}` that was revoked", T::KIND, known.owner);
                Err(Error::new(ErrorKind::KeyRevoked, message)
                    .hint("ask its owner to sign it with a key that counts"))
            }
            _ => Ok(known),
        }
    }

    /// The one who may say something for `publisher`.
    pub(super) fn publisher<T: Document>(
        &self,
        key: PublicKey,
        signed_at: i64,
        publisher: &str,
    ) -> Result<&KnownKey> {
        let known = self.signer::<T>(key, signed_at, &format!("--publisher {publisher}"))?;
        if known.publishers.iter().any(|name| name == publisher) {
            return Ok(known);
        }
        let message = format!("the key of `{}` does not speak for the publisher `{publisher}`", known.owner);
        Err(Error::new(ErrorKind::KeyNotAllowed, message).hint(format!(
            "if it should: `remit key trust {key} --owner {} --publisher {publisher}`",
            known.owner
        )))
    }

    /// The one who may decide about releases.
    pub(super) fn reviewer<T: Document>(&self, key: PublicKey, signed_at: i64) -> Result<&KnownKey> {
        let known = self.signer::<T>(key, signed_at, "--reviewer")?;
        if known.reviewer {
            return Ok(known);
        }
        let message = format!("the key of `{}` is not that of a reviewer", known.owner);
        Err(Error::new(ErrorKind::KeyNotAllowed, message)
            .hint(format!("if it should be: `remit key trust {key} --owner {} --reviewer`", known.owner)))
    }

    /// Adds what is said of a key to what is known of it.
    pub fn trust(&mut self, said: KnownKey) -> Result<()> {
        let Some(known) = self.keys.iter_mut().find(|known| known.key == said.key) else {
            self.keys.push(said);
            return Ok(());
        };
        if known.owner != said.owner {
            let message = format!("this key is known as that of `{}`, not of `{}`", known.owner, said.owner);
            return Err(Error::new(ErrorKind::KeyNotAllowed, message).hint("a key has one owner"));
        }
        for publisher in said.publishers {
            if !known.publishers.contains(&publisher) {
                known.publishers.push(publisher);
            }
        }
        known.reviewer |= said.reviewer;
        Ok(())
    }

    /// Takes a key back from `at` on; an earlier end stays.
    pub fn revoke(&mut self, key: PublicKey, at: i64) -> Result<()> {
        let known = self.keys.iter_mut().find(|known| known.key == key).ok_or_else(|| {
            Error::new(ErrorKind::KeyUnknown, format!("the key `{key}` is not known here")).hint("remit key list")
        })?;
        known.revoked_at = Some(known.revoked_at.map_or(at, |earlier| earlier.min(at)));
        Ok(())
    }

    /// Lets a new key take the place of the one that signed the rotation, with all that it may.
    pub fn rotate(&mut self, rotation: &Signed<Rotation>) -> Result<KnownKey> {
        let (Rotation { key, signed_at }, old) = rotation.open()?;
        let known = self.signer::<Rotation>(old, *signed_at, "--publisher PUBLISHER")?.clone();
        let new = KnownKey { key: *key, revoked_at: None, ..known };
        self.trust(new.clone())?;
        self.revoke(old, *signed_at)?;
        Ok(new)
    }
}

fn unknown(kind: &str, key: PublicKey, role: &str) -> Error {
    Error::new(ErrorKind::KeyUnknown, format!("the {kind} was signed with a key that is not known here: `{key}`"))
        .hint(format!("ask its owner whether it is theirs, then: `remit key trust {key} --owner NAME {role}`"))
}

#[cfg(test)]
mod tests {
    use super::super::{Rotation, SigningKey};
    use super::*;

    fn key() -> SigningKey {
        SigningKey::create(tempfile::tempdir().expect("a folder").path()).expect("a key")
    }

    fn known(key: &SigningKey, owner: &str) -> KnownKey {
        let publishers = vec!["acme".to_owned()];
        KnownKey { key: key.public(), owner: owner.to_owned(), publishers, reviewer: false, revoked_at: None }
    }

    #[test]
    fn a_new_key_has_the_rights_of_the_one_that_signed_for_it() {
        let (old, new, other) = (key(), key(), key());
        let mut owners = Owners::default();
        owners.trust(known(&old, "ann")).expect("trusted");
        let rotation = |by: &SigningKey, signed_at| {
            Signed::new(Rotation { key: new.public(), signed_at }, by).expect("signed")
        };
        let before = owners.clone();
        assert_eq!(owners.rotate(&rotation(&other, 5)).expect_err("of nobody").kind, ErrorKind::KeyUnknown);
        assert_eq!(owners, before, "nothing came of it");
        owners.rotate(&rotation(&old, 5)).expect("rotated");
        assert_eq!(owners.find(new.public()).expect("known").publishers, ["acme"]);
        assert_eq!(owners.find(old.public()).expect("known").revoked_at, Some(5));
        // Whoever has the old key cannot go on with it.
        assert_eq!(owners.rotate(&rotation(&old, 6)).expect_err("it ended").kind, ErrorKind::KeyRevoked);
    }

    #[test]
    fn a_key_has_one_owner_and_an_end_stays() {
        let (one, mut owners) = (key(), Owners::default());
        owners.trust(known(&one, "ann")).expect("trusted");
        assert_eq!(owners.trust(known(&one, "ben")).expect_err("it is ann's").kind, ErrorKind::KeyNotAllowed);
        owners.revoke(one.public(), 9).expect("revoked");
        owners.revoke(one.public(), 20).expect("again");
        owners.trust(known(&one, "ann")).expect("trusted again");
        assert_eq!(owners.find(one.public()).expect("known").revoked_at, Some(9));
        assert_eq!(owners.revoke(key().public(), 1).expect_err("nobody's").kind, ErrorKind::KeyUnknown);
    }
}
