//! How a value is sealed: a key of its own for each write, and bound to the row it belongs to.
//!
//! HKDF-SHA256 makes the key of one write from the key file and a fresh salt, so that no nonce can be used
//! twice under one key. AES-256-GCM seals; what the row says of the value is its associated data, so that a
//! ciphertext opens nowhere but where it was written, and as what it was written. A home has one tenant, so the
//! key itself stands for it. Whether a row is the newest of its name no seal can tell: that is `roster.rs`.

use ring::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::hkdf::{HKDF_SHA256, Salt};
use ring::rand::{SecureRandom, SystemRandom};
use zeroize::Zeroizing;

use super::SecretKind;
use super::key::Key;
use crate::error::{Error, Result};
use crate::store::Sealed;

/// The first scheme: bound to name and version. Read only.
pub(super) const FIRST: u64 = 1;

/// The scheme of now: bound to kind, name, version and end; a row counts only when it is in the roster.
pub(super) const LISTED: u64 = 2;

/// Bytes of the salt: the length of the hash, as RFC 5869 advises.
const SALT_LENGTH: usize = 32;

/// What a value is stored as, besides the value.
#[derive(Clone, Copy)]
pub(super) struct Label<'a> {
    pub(super) name: &'a str,
    pub(super) version: u64,
    pub(super) kind: SecretKind,
    /// In milliseconds since 1970.
    pub(super) expires_at: Option<i64>,
}

/// Seals a value for the row that `label` says.
pub(super) fn seal(key: &Key, label: Label<'_>, value: &[u8]) -> Result<Sealed> {
    let mut salt = vec![0; SALT_LENGTH];
    let mut nonce = [0; NONCE_LEN];
    let random = SystemRandom::new();
    random
        .fill(&mut salt)
        .and_then(|()| random.fill(&mut nonce))
        .map_err(|_| Error::internal("the system gives no random bytes"))?;
    let Label { version, kind, expires_at, .. } = label;
    // Encrypted in place, in a buffer that need not grow, so that the plain value is not left behind in memory.
    let mut ciphertext = Vec::with_capacity(value.len() + AES_256_GCM.tag_len());
    ciphertext.extend_from_slice(value);
    write_key(key, LISTED, &salt)?
        .seal_in_place_append_tag(
            Nonce::assume_unique_for_key(nonce),
            Aad::from(associated(LISTED, label)),
            &mut ciphertext,
        )
        .map_err(|_| Error::internal("a value could not be sealed"))?;
    Ok(Sealed {
        version,
        kind,
        expires_at,
        scheme: LISTED,
        kek_id: key.id(),
        salt,
        nonce: nonce.to_vec(),
        ciphertext,
    })
}

/// Opens a value; `None` when it was not sealed by this key for the row `name`, or was changed since.
pub(super) fn open(key: &Key, name: &str, sealed: Sealed) -> Option<Zeroizing<Vec<u8>>> {
    let Sealed { version, kind, expires_at, scheme, salt, nonce, ciphertext, .. } = sealed;
    let nonce = Nonce::try_assume_unique_for_key(&nonce).ok()?;
    let associated = Aad::from(associated(scheme, Label { name, version, kind, expires_at }));
    let mut value = Zeroizing::new(ciphertext);
    let length = write_key(key, scheme, &salt).ok()?.open_in_place(nonce, associated, &mut value).ok()?.len();
    value.truncate(length);
    Some(value)
}

fn write_key(key: &Key, scheme: u64, salt: &[u8]) -> Result<LessSafeKey> {
    let derived = Salt::new(HKDF_SHA256, salt).extract(key.bytes());
    let info = [domain(scheme)];
    let derived =
        derived.expand(&info, &AES_256_GCM).map_err(|_| Error::internal("a key could not be derived"))?;
    Ok(LessSafeKey::new(UnboundKey::from(derived)))
}

/// Separates these keys and ciphertexts from any other use of the key file, and one scheme from the other.
fn domain(scheme: u64) -> &'static [u8] {
    if scheme == FIRST { b"remit/secret/v1" } else { b"remit/secret/v2" }
}

/// Each part with its length before it, so that no two rows give the same bytes.
fn associated(scheme: u64, label: Label<'_>) -> Vec<u8> {
    let version = label.version.to_be_bytes();
    let name = label.name.as_bytes();
    let end = label.expires_at.map(i64::to_be_bytes);
    let end = end.as_ref().map_or(&[][..], |end| end.as_slice());
    let mut bytes = Vec::new();
    let parts: &[&[u8]] = match scheme {
        // It knew neither kinds nor ends, so a row that claims more than it does not open.
        FIRST if label.kind == SecretKind::Value && end.is_empty() => &[domain(FIRST), name, &version],
        _ => &[domain(LISTED), label.kind.as_str().as_bytes(), name, &version, end],
    };
    for part in parts {
        bytes.extend((part.len() as u64).to_be_bytes());
        bytes.extend(*part);
    }
    bytes
}

#[cfg(test)]
/// What a program of the first scheme wrote.
pub(super) fn seal_first(key: &Key, name: &str, version: u64, value: &[u8]) -> Sealed {
    let label = Label { name, version, kind: SecretKind::Value, expires_at: None };
    let (salt, nonce) = (vec![7; SALT_LENGTH], [9; NONCE_LEN]);
    let mut ciphertext = value.to_vec();
    let aad = Aad::from(associated(FIRST, label));
    let write_key = write_key(key, FIRST, &salt).unwrap();
    write_key.seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), aad, &mut ciphertext).unwrap();
    let (kind, expires_at) = (label.kind, None);
    Sealed { version, kind, expires_at, scheme: FIRST, kek_id: key.id(), salt, nonce: nonce.to_vec(), ciphertext }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn label(name: &str, version: u64) -> Label<'_> {
        Label { name, version, kind: SecretKind::Value, expires_at: None }
    }

    #[test]
    fn a_value_opens_only_where_it_was_sealed() {
        let (key, value) = (Key::for_test(1), b"correct horse battery");
        let first = seal_first(&key, "NAME", 7, value);
        let now = seal(&key, Label { expires_at: Some(5), ..label("NAME", 7) }, value).unwrap();
        for sealed in [first, now] {
            assert_eq!(open(&key, "NAME", sealed.clone()).unwrap().as_slice(), value);
            assert!(open(&Key::for_test(2), "NAME", sealed.clone()).is_none(), "another key");
            assert!(open(&key, "OTHER", sealed.clone()).is_none(), "another row");
            let flip = |bytes: &[u8]| {
                let mut bytes = bytes.to_vec();
                bytes[0] ^= 1;
                bytes
            };
            let changed = [
                Sealed { version: 8, ..sealed.clone() },
                Sealed { kind: SecretKind::OAuth2, ..sealed.clone() },
                Sealed { expires_at: Some(6), ..sealed.clone() },
                Sealed { scheme: 3 - sealed.scheme, ..sealed.clone() },
                Sealed { salt: flip(&sealed.salt), ..sealed.clone() },
                Sealed { nonce: flip(&sealed.nonce), ..sealed.clone() },
                Sealed { nonce: Vec::new(), ..sealed.clone() },
                Sealed { ciphertext: flip(&sealed.ciphertext), ..sealed.clone() },
                Sealed { ciphertext: sealed.ciphertext[..5].to_vec(), ..sealed.clone() },
                Sealed { ciphertext: Vec::new(), ..sealed.clone() },
            ];
            for (case, changed) in changed.into_iter().enumerate() {
                assert!(open(&key, "NAME", changed).is_none(), "scheme {}, case {case}", sealed.scheme);
            }
        }
        let endless = seal(&key, label("NAME", 7), value).unwrap();
        assert!(open(&key, "NAME", Sealed { expires_at: Some(0), ..endless }).is_none());
    }

    #[test]
    fn the_same_value_never_looks_the_same() {
        let key = Key::for_test(1);
        let (one, other) = (
            seal(&key, label("NAME", 1), b"same value").unwrap(),
            seal(&key, label("NAME", 1), b"same value").unwrap(),
        );
        assert_ne!(one.salt, other.salt);
        assert_ne!(one.nonce, other.nonce);
        assert_ne!(one.ciphertext, other.ciphertext);
    }

    #[test]
    fn parts_do_not_run_into_each_other() {
        for scheme in [FIRST, LISTED] {
            assert_ne!(associated(scheme, label("A", 1)), associated(scheme, label("A\0", 1)));
            assert_ne!(associated(scheme, label("", 1)), associated(scheme, label("\0", 1)));
        }
        let ends = |at| associated(LISTED, Label { expires_at: at, ..label("A", 1) });
        assert_ne!(ends(None), ends(Some(0)));
    }
}
