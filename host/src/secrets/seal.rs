//! How a value is sealed: a key of its own for each write, and bound to the row it belongs to.
//!
//! HKDF-SHA256 makes the key of one write from the key file and a fresh salt, so that no nonce can be used
//! twice under one key. AES-256-GCM seals; the row's name and version are its associated data, so that a
//! ciphertext opens nowhere but where it was written.

use ring::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::hkdf::{HKDF_SHA256, Salt};
use ring::rand::{SecureRandom, SystemRandom};
use zeroize::Zeroizing;

use super::key::Key;
use crate::error::{Error, Result};
use crate::store::Sealed;

/// Separates these keys and ciphertexts from any other use of the key file, and this scheme from the next.
const DOMAIN: &[u8] = b"remit/secret/v1";

/// Bytes of the salt: the length of the hash, as RFC 5869 advises.
const SALT_LENGTH: usize = 32;

/// Seals a value for the row `name` at `version`.
pub(super) fn seal(key: &Key, name: &str, version: u64, value: &[u8]) -> Result<Sealed> {
    let mut salt = vec![0; SALT_LENGTH];
    let mut nonce = [0; NONCE_LEN];
    let random = SystemRandom::new();
    random
        .fill(&mut salt)
        .and_then(|()| random.fill(&mut nonce))
        .map_err(|_| Error::internal("the system gives no random bytes"))?;
    // Encrypted in place, so that the plain value is not left behind in memory.
    let mut ciphertext = value.to_vec();
    write_key(key, &salt)?
        .seal_in_place_append_tag(
            Nonce::assume_unique_for_key(nonce),
            Aad::from(associated(name, version)),
            &mut ciphertext,
        )
        .map_err(|_| Error::internal("a value could not be sealed"))?;
    Ok(Sealed { version, kek_id: key.id(), salt, nonce: nonce.to_vec(), ciphertext })
}

/// Opens a value; `None` when it was not sealed by this key for the row `name`, or was changed since.
pub(super) fn open(key: &Key, name: &str, sealed: Sealed) -> Option<Zeroizing<Vec<u8>>> {
    let nonce = Nonce::try_assume_unique_for_key(&sealed.nonce).ok()?;
    let associated = Aad::from(associated(name, sealed.version));
    let mut value = Zeroizing::new(sealed.ciphertext);
    let length = write_key(key, &sealed.salt).ok()?.open_in_place(nonce, associated, &mut value).ok()?.len();
    value.truncate(length);
    Some(value)
}

fn write_key(key: &Key, salt: &[u8]) -> Result<LessSafeKey> {
    let derived = Salt::new(HKDF_SHA256, salt).extract(key.bytes());
    let derived =
        derived.expand(&[DOMAIN], &AES_256_GCM).map_err(|_| Error::internal("a key could not be derived"))?;
    Ok(LessSafeKey::new(UnboundKey::from(derived)))
}

/// Each part with its length before it, so that no two rows give the same bytes.
fn associated(name: &str, version: u64) -> Vec<u8> {
    let version = version.to_be_bytes();
    let mut bytes = Vec::new();
    for part in [DOMAIN, name.as_bytes(), &version] {
        bytes.extend((part.len() as u64).to_be_bytes());
        bytes.extend(part);
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_opens_only_where_it_was_sealed() {
        let (key, value) = (Key::for_test(1), b"correct horse battery");
        let sealed = seal(&key, "NAME", 7, value).unwrap();
        assert_eq!(open(&key, "NAME", sealed.clone()).unwrap().as_slice(), value);

        assert!(open(&Key::for_test(2), "NAME", sealed.clone()).is_none(), "another key");
        assert!(open(&key, "OTHER", sealed.clone()).is_none(), "another row");
        assert!(open(&key, "NAME", Sealed { version: 8, ..sealed.clone() }).is_none(), "another version");
        let flip = |bytes: &[u8]| {
            let mut bytes = bytes.to_vec();
            bytes[0] ^= 1;
            bytes
        };
        let changed = [
            Sealed { salt: flip(&sealed.salt), ..sealed.clone() },
            Sealed { nonce: flip(&sealed.nonce), ..sealed.clone() },
            Sealed { nonce: Vec::new(), ..sealed.clone() },
            Sealed { ciphertext: flip(&sealed.ciphertext), ..sealed.clone() },
            Sealed { ciphertext: sealed.ciphertext[..5].to_vec(), ..sealed.clone() },
            Sealed { ciphertext: Vec::new(), ..sealed },
        ];
        for (case, sealed) in changed.into_iter().enumerate() {
            assert!(open(&key, "NAME", sealed).is_none(), "case {case}");
        }
    }

    #[test]
    fn the_same_value_never_looks_the_same() {
        let key = Key::for_test(1);
        let (one, other) =
            (seal(&key, "NAME", 1, b"same value").unwrap(), seal(&key, "NAME", 1, b"same value").unwrap());
        assert_ne!(one.salt, other.salt);
        assert_ne!(one.nonce, other.nonce);
        assert_ne!(one.ciphertext, other.ciphertext);
    }

    #[test]
    fn parts_do_not_run_into_each_other() {
        assert_ne!(associated("A", 1), associated("A\0", 1));
        assert_ne!(associated("", 1), associated("\0", 1));
    }
}
