//! The keys that an issuer publishes (RFC 7517), and which of them are used.
//!
//! A key that cannot be used rightly is left out: a shared secret, one for encryption, one whose private half is
//! published beside it, one whose name stands for another too. The rest stays usable.

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ED25519, RSA_PKCS1_2048_8192_SHA256, RSA_PSS_2048_8192_SHA256,
    RsaPublicKeyComponents, UnparsedPublicKey,
};
use serde::Deserialize;

use super::object::Object;
use super::token::Algorithm;

/// Keys of one issuer. Those that rotate daily publish a handful.
const MAX_KEYS: usize = 100;

/// Bytes of a coordinate on P-256, and of a point of Ed25519.
const COORDINATE: usize = 32;

/// What is private in a key of any kind (RFC 7518, section 6; RFC 8037).
const PRIVATE: [&str; 7] = ["d", "p", "q", "dp", "dq", "qi", "oth"];

/// The usable keys of one issuer.
#[derive(Debug)]
pub(super) struct KeySet {
    keys: Vec<Key>,
}

/// One public key.
#[derive(Debug)]
pub(super) struct Key {
    kid: Option<String>,
    /// The only algorithm that it is for, when its issuer says so.
    only: Option<Algorithm>,
    point: Point,
}

#[derive(Debug)]
enum Point {
    Rsa {
        n: Vec<u8>,
        e: Vec<u8>,
    },
    /// Uncompressed.
    P256(Vec<u8>),
    Ed25519(Vec<u8>),
}

/// Why there is no key for a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Missing {
    /// None of this name. There may be one by now.
    Unknown,
    /// The token names none, and there are several.
    Ambiguous,
}

#[derive(Deserialize)]
struct Document {
    keys: Vec<Object>,
}

impl KeySet {
    /// Reads a JWK set. `None` when it is none, or nothing in it can be used.
    pub(super) fn read(json: &[u8]) -> Option<Self> {
        let Document { keys } = serde_json::from_slice(json).ok()?;
        if keys.len() > MAX_KEYS {
            return None;
        }
        let mut keys: Vec<Key> = keys.iter().filter_map(Key::read).collect();
        let kids: Vec<Option<String>> = keys.iter().map(|key| key.kid.clone()).collect();
        let is_alone =
            |kid: &Option<String>| kid.is_none() || kids.iter().filter(|other| *other == kid).count() == 1;
        keys.retain(|key| is_alone(&key.kid));
        (!keys.is_empty()).then_some(Self { keys })
    }

    /// The key of this name; without a name, the only one.
    pub(super) fn find(&self, kid: Option<&str>) -> Result<&Key, Missing> {
        match (kid, &self.keys[..]) {
            (Some(kid), keys) => keys.iter().find(|key| key.kid.as_deref() == Some(kid)).ok_or(Missing::Unknown),
            (None, [only]) => Ok(only),
            (None, _) => Err(Missing::Ambiguous),
        }
    }
}

impl Key {
    /// Whether this key made `signature` over `message` by `algorithm`, and is for that.
    pub(super) fn verifies(&self, algorithm: Algorithm, message: &[u8], signature: &[u8]) -> bool {
        if self.only.is_some_and(|only| only != algorithm) {
            return false;
        }
        match (&self.point, algorithm) {
            (Point::Rsa { n, e }, Algorithm::Rs256) => {
                RsaPublicKeyComponents { n, e }.verify(&RSA_PKCS1_2048_8192_SHA256, message, signature).is_ok()
            }
            (Point::Rsa { n, e }, Algorithm::Ps256) => {
                RsaPublicKeyComponents { n, e }.verify(&RSA_PSS_2048_8192_SHA256, message, signature).is_ok()
            }
            (Point::P256(point), Algorithm::Es256) => {
                UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, point).verify(message, signature).is_ok()
            }
            (Point::Ed25519(point), Algorithm::EdDsa) => {
                UnparsedPublicKey::new(&ED25519, point).verify(message, signature).is_ok()
            }
            (Point::Rsa { .. } | Point::P256(_) | Point::Ed25519(_), _) => false,
        }
    }

    fn read(key: &Object) -> Option<Self> {
        let is_for_signatures = match (key.get("use"), key.get("key_ops")) {
            (Some(purpose), _) if purpose != "sig" => false,
            (_, Some(operations)) => operations.as_array()?.iter().any(|operation| operation == "verify"),
            _ => true,
        };
        if !is_for_signatures || PRIVATE.iter().any(|name| key.get(name).is_some()) {
            return None;
        }
        let only = match key.get("alg") {
            None => None,
            Some(name) => Some(Algorithm::named(name.as_str()?)?),
        };
        let kid = match key.get("kid") {
            None => None,
            Some(kid) => Some(kid.as_str()?.to_owned()),
        };
        let bytes = |name: &str| BASE64_URL_SAFE_NO_PAD.decode(key.text(name)?).ok();
        let coordinate = |name: &str| bytes(name).filter(|bytes| bytes.len() == COORDINATE);
        let point = match (key.text("kty")?, key.text("crv")) {
            ("RSA", _) => Point::Rsa { n: number(bytes("n")?), e: number(bytes("e")?) },
            ("EC", Some("P-256")) => Point::P256([vec![4], coordinate("x")?, coordinate("y")?].concat()),
            ("OKP", Some("Ed25519")) => Point::Ed25519(coordinate("x")?),
            _ => return None,
        };
        Some(Self { kid, only, point })
    }
}

/// Without the zeros that some issuers write in front.
fn number(mut bytes: Vec<u8>) -> Vec<u8> {
    let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
    bytes.drain(..zeros);
    bytes
}

#[cfg(test)]
mod tests {
    use remit_upstream::issuer::SigningKey;
    use serde_json::{Value, json};

    use super::*;

    fn set(keys: &[Value]) -> Option<KeySet> {
        KeySet::read(json!({ "keys": keys }).to_string().as_bytes())
    }

    fn with(mut key: Value, name: &str, value: Value) -> Value {
        key[name] = value;
        key
    }

    #[test]
    fn keys_are_found_by_name_and_without_one_only_where_there_is_one() {
        let (a, b) = (SigningKey::es256("a"), SigningKey::ed25519("b"));
        let two = set(&[a.jwk(), b.jwk()]).unwrap();
        assert!(two.find(Some("a")).is_ok() && two.find(Some("b")).is_ok());
        for unknown in ["c", "A", "", "a\0", "../a", "a' OR '1'='1", "https://evil.test/keys"] {
            assert_eq!(two.find(Some(unknown)).unwrap_err(), Missing::Unknown, "{unknown}");
        }
        assert_eq!(two.find(None).unwrap_err(), Missing::Ambiguous);
        let one = set(&[a.jwk()]).unwrap();
        assert!(one.find(None).is_ok());
        assert_eq!(one.find(Some("b")).unwrap_err(), Missing::Unknown);
    }

    #[test]
    fn keys_that_cannot_be_used_rightly_are_left_out() {
        let good = SigningKey::es256("good").jwk();
        let rsa = SigningKey::rsa("bad").jwk();
        let ec = SigningKey::es256("bad").jwk();
        let ed = SigningKey::ed25519("bad").jwk();
        for bad in [
            json!({ "kty": "oct", "kid": "bad", "k": "c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0" }),
            json!({ "kty": "oct", "kid": "bad", "alg": "RS256", "k": "c2VjcmV0", "n": rsa["n"], "e": rsa["e"] }),
            json!({ "kid": "bad" }),
            with(rsa.clone(), "use", json!("enc")),
            with(rsa.clone(), "use", json!(null)),
            with(rsa.clone(), "key_ops", json!(["encrypt"])),
            with(rsa.clone(), "alg", json!("HS256")),
            with(rsa.clone(), "alg", json!("RSA-OAEP")),
            with(rsa.clone(), "d", json!("AQAB")),
            with(rsa.clone(), "n", json!("not base64!")),
            with(rsa, "kid", json!(7)),
            with(ec.clone(), "crv", json!("P-384")),
            with(ec.clone(), "x", json!("AQAB")),
            with(ec, "d", json!("AQAB")),
            with(ed.clone(), "crv", json!("Ed448")),
            with(ed, "x", json!("")),
        ] {
            let keys = set(&[bad.clone(), good.clone()]).unwrap();
            assert_eq!(keys.find(Some("bad")).unwrap_err(), Missing::Unknown, "{bad}");
            assert!(keys.find(Some("good")).is_ok());
            assert!(set(std::slice::from_ref(&bad)).is_none(), "{bad}");
        }
    }

    #[test]
    fn a_name_that_stands_for_two_keys_stands_for_none() {
        let (first, second, good) = (SigningKey::es256("a"), SigningKey::ed25519("a"), SigningKey::es256("good"));
        let keys = set(&[first.jwk(), good.jwk(), second.jwk()]).unwrap();
        assert_eq!(keys.find(Some("a")).unwrap_err(), Missing::Unknown);
        assert!(keys.find(Some("good")).is_ok());
        assert!(set(&[first.jwk(), first.jwk()]).is_none());
        // One that is left out anyway takes no other along.
        let secret = json!({ "kty": "oct", "kid": "a", "k": "c2VjcmV0" });
        assert!(set(&[first.jwk(), secret]).unwrap().find(Some("a")).is_ok());
    }

    #[test]
    fn a_document_is_a_set_of_keys() {
        let key = SigningKey::es256("a").jwk();
        let twice = format!("{{\"keys\":[{}]}}", key.to_string().replacen('{', "{\"kid\":\"b\",", 1));
        let many: Vec<Value> = (0..101).map(|kid| with(key.clone(), "kid", json!(kid.to_string()))).collect();
        assert!(set(&many[..100]).is_some());
        for not in [
            "",
            "[]",
            "{}",
            "null",
            r#"{"keys":{}}"#,
            r#"{"keys":[]}"#,
            r#"{"keys":[1]}"#,
            "<html>",
            &key.to_string(),
            &twice,
            &json!({ "keys": many }).to_string(),
        ] {
            assert!(KeySet::read(not.as_bytes()).is_none(), "{not:.80}");
        }
    }

    #[test]
    fn a_key_verifies_by_its_own_algorithm_alone() {
        let keys = [SigningKey::rsa("k"), SigningKey::es256("k"), SigningKey::ed25519("k")];
        let algorithms = [Algorithm::Rs256, Algorithm::Ps256, Algorithm::Es256, Algorithm::EdDsa];
        let names = ["RS256", "PS256", "ES256", "EdDSA"];
        for signer in &keys {
            for by in signer.algorithms() {
                let signature = signer.sign(by, b"message");
                for other in &keys {
                    let keys = set(&[other.jwk()]).unwrap();
                    let key = keys.find(Some("k")).unwrap();
                    for (algorithm, name) in algorithms.into_iter().zip(names) {
                        let is_right = std::ptr::eq(signer, other) && name == *by;
                        assert_eq!(key.verifies(algorithm, b"message", &signature), is_right, "{by} as {name}");
                        assert!(!key.verifies(algorithm, b"another", &signature));
                        assert!(!key.verifies(algorithm, b"message", b""));
                    }
                }
            }
        }
        // A key for one of the two algorithms of RSA is not for the other.
        let only = set(&[with(keys[0].jwk(), "alg", json!("PS256"))]).unwrap();
        let key = only.find(None).unwrap();
        assert!(key.verifies(Algorithm::Ps256, b"m", &keys[0].sign("PS256", b"m")));
        assert!(!key.verifies(Algorithm::Rs256, b"m", &keys[0].sign("RS256", b"m")));
    }
}
