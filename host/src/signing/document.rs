//! What people sign, and how.
//!
//! The signed bytes are a line that says what kind of document it is, and the document in canonical JSON. So a document
//! of one kind is never taken for another, and any program can make the bytes again from what it reads.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use semver::Version;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::{PublicKey, SigningKey};
use crate::canonical::canonical;
use crate::error::{Error, ErrorKind, Result};
use crate::manifest::{Manifest, grants_digest, tools_digest};
use crate::registry::{CapabilityName, Digest, Exact};

/// Bytes of one document as JSON at most: a reason is a few sentences.
pub(crate) const MAX_BYTES: usize = 16 * 1024;

/// Something that is signed.
pub trait Document: Serialize + DeserializeOwned {
    /// Its kind, in the signed bytes.
    const KIND: &'static str;
}

/// A publisher's: these bytes are this release.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Statement {
    /// Whose capability.
    pub publisher: String,
    /// Which one.
    pub slug: String,
    /// Which version.
    pub version: Version,
    /// Of the component's bytes.
    pub component_sha256: Digest,
    /// Of what it says of its tools.
    pub tools_sha256: Digest,
    /// Of what it asks.
    pub grants_sha256: Digest,
    /// When it was signed, in milliseconds since 1970 by the clock of whoever signed.
    pub signed_at: i64,
}

/// A reviewer's: yes or no to the bytes of a release.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Decision {
    /// The release, as `publisher/slug@version`.
    pub release: String,
    /// The bytes that were looked at.
    pub component_sha256: Digest,
    /// Whether it is a yes.
    pub approved: bool,
    /// Why, for the publisher.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// When, in milliseconds since 1970.
    pub signed_at: i64,
}

/// A publisher's or a reviewer's: the release is no longer what it was.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Withdrawal {
    /// The release, as `publisher/slug@version`.
    pub release: String,
    /// How far it goes.
    pub kind: WithdrawalKind,
    /// Why, for whoever has it.
    pub reason: String,
    /// When, in milliseconds since 1970.
    pub signed_at: i64,
}

/// How far a withdrawal goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WithdrawalKind {
    /// Nobody should install it any more; who has it keeps it.
    Yank,
    /// Its bytes are gone as well. The version stays taken.
    Remove,
    /// It must not run, nowhere.
    Revoke,
}

/// An owner's: from now on another key speaks for me. Signed with the old one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Rotation {
    /// The new key.
    pub key: PublicKey,
    /// When, in milliseconds since 1970. The old key counts until then.
    pub signed_at: i64,
}

impl Document for Statement {
    const KIND: &'static str = "statement";
}

impl Document for Decision {
    const KIND: &'static str = "decision";
}

impl Document for Withdrawal {
    const KIND: &'static str = "withdrawal";
}

impl Document for Rotation {
    const KIND: &'static str = "rotation";
}

/// A document with the key and the signature of whoever signed it. What is in it is given only with the key that
/// signed it: whether that key may say so is asked of [`super::Owners`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Signed<T> {
    document: T,
    key: PublicKey,
    signature: String,
}

impl<T: Document> Signed<T> {
    /// Signs a document.
    pub fn new(document: T, key: &SigningKey) -> Result<Self> {
        let signature = STANDARD.encode(key.sign(&signed_bytes(&document)?));
        Ok(Self { document, key: key.public(), signature })
    }

    /// The document and the key that signed it. Whoever else changed a byte of it, this is an error.
    pub fn open(&self) -> Result<(&T, PublicKey)> {
        let signature = STANDARD.decode(&self.signature).unwrap_or_default();
        if self.key.has_signed(&signed_bytes(&self.document)?, &signature) {
            Ok((&self.document, self.key))
        } else {
            let message = format!("the signature of the {} is not that of its key", T::KIND);
            Err(Error::new(ErrorKind::SignatureInvalid, message)
                .hint("fetch it again; if it stays so, somebody changed it"))
        }
    }

    /// Reads a document that was written as JSON. Nothing is verified yet.
    pub fn from_json(json: &[u8]) -> Result<Self> {
        if json.len() > MAX_BYTES {
            let message = format!("a {} of more than {MAX_BYTES} bytes is none", T::KIND);
            return Err(Error::new(ErrorKind::SignatureInvalid, message));
        }
        serde_json::from_slice(json).map_err(|error| {
            Error::new(ErrorKind::SignatureInvalid, format!("this is no signed {}", T::KIND)).detail(error)
        })
    }

    /// As JSON.
    pub fn to_json(&self) -> Result<Vec<u8>> {
        serde_json::to_vec_pretty(self).map_err(|error| Error::internal("a document is not JSON").detail(error))
    }
}

fn signed_bytes<T: Document>(document: &T) -> Result<Vec<u8>> {
    let value =
        serde_json::to_value(document).map_err(|error| Error::internal("a document is not JSON").detail(error))?;
    Ok(format!("remit {} 1\n{}", T::KIND, canonical(&value)).into_bytes())
}

impl Statement {
    /// What its publisher says of a component with this manifest.
    #[must_use]
    pub fn of(manifest: &Manifest, component: Digest, signed_at: i64) -> Self {
        Self {
            publisher: manifest.publisher.clone(),
            slug: manifest.slug.clone(),
            version: manifest.version.clone(),
            component_sha256: component,
            tools_sha256: tools_digest(manifest),
            grants_sha256: grants_digest(manifest),
            signed_at,
        }
    }

    /// The release that it is about.
    pub fn release(&self) -> Result<Exact> {
        let name: CapabilityName = format!("{}/{}", self.publisher, self.slug).parse().map_err(|_| {
            Error::new(ErrorKind::SignatureInvalid, "the statement is about no capability's name")
        })?;
        Ok(Exact { name, version: self.version.clone() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn withdrawal() -> Withdrawal {
        Withdrawal {
            release: "acme/weather@1.0.0".to_owned(),
            kind: WithdrawalKind::Yank,
            reason: "it rains".to_owned(),
            signed_at: 1,
        }
    }

    #[test]
    fn one_flipped_bit_anywhere_is_seen() {
        let home = tempfile::tempdir().expect("a folder");
        let key = SigningKey::create(home.path()).expect("a key");
        let signed = Signed::new(withdrawal(), &key).expect("signed");
        let json = serde_json::to_vec(&signed).expect("JSON");
        assert_eq!(Signed::<Withdrawal>::from_json(&json).expect("read").open().expect("whole").1, key.public());
        for at in 0..json.len() {
            let mut other = json.clone();
            other[at] ^= 1;
            let opened = Signed::<Withdrawal>::from_json(&other).and_then(|signed| {
                signed.open().map(|(document, key)| (document.clone(), key))
            });
            // Base64 has bits that mean nothing only where this decoder refuses them.
            let error = opened.expect_err(&String::from_utf8_lossy(&other));
            assert_eq!(error.kind, ErrorKind::SignatureInvalid, "{at}");
        }
    }

    #[test]
    fn a_document_is_of_one_kind_and_has_no_other_fields() {
        let home = tempfile::tempdir().expect("a folder");
        let key = SigningKey::create(home.path()).expect("a key");
        let signed = Signed::new(withdrawal(), &key).expect("signed");
        let json = String::from_utf8(serde_json::to_vec(&signed).expect("JSON")).expect("text");
        assert!(Signed::<Decision>::from_json(json.as_bytes()).is_err());
        assert!(Signed::<Withdrawal>::from_json(json.replace("\"reason\"", "\"more\":1,\"reason\"").as_bytes()).is_err());
        // The same text under the name of another kind has another signature.
        let of_kind = signed_bytes(&withdrawal()).expect("bytes");
        assert!(of_kind.starts_with(b"remit withdrawal 1\n{"));
    }

    #[test]
    fn how_the_json_is_written_means_nothing() {
        let home = tempfile::tempdir().expect("a folder");
        let key = SigningKey::create(home.path()).expect("a key");
        let pretty = Signed::new(withdrawal(), &key).expect("signed").to_json().expect("JSON");
        let read = Signed::<Withdrawal>::from_json(&pretty).expect("read");
        assert_eq!(read.open().expect("whole").0, &withdrawal());
    }
}
