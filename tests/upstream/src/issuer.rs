//! An issuer of access tokens (RFC 9068): metadata and keys that a test can change at any time, and keys that sign
//! whatever the test says, in order or not.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use ring::hmac;
use ring::rand::SystemRandom;
use ring::rsa::PublicKeyComponents;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair as _, RSA_PKCS1_SHA256, RSA_PSS_SHA256,
    RsaKeyPair,
};
use serde_json::{Value, json};

use crate::{Answer, Seen, Upstream};

/// The name it is reached by.
pub const HOST: &str = "login.example.com";
/// Its identifier.
pub const ISSUER: &str = "https://login.example.com";
/// Where its keys are.
pub const KEYS: &str = "/keys";
/// Where its metadata is.
pub const METADATA: &str = "/.well-known/oauth-authorization-server";

/// A private key of nobody: `ring` makes no RSA keys, so this one is always the same.
const RSA_KEY: &[u8] = include_bytes!("issuer_rsa.der");

/// A key that signs tokens.
pub struct SigningKey {
    kid: String,
    pair: Pair,
}

enum Pair {
    Rsa(Box<RsaKeyPair>),
    Es256(EcdsaKeyPair),
    Ed25519(Ed25519KeyPair),
}

impl SigningKey {
    /// The RSA key, under this name.
    ///
    /// # Panics
    /// When the key in this folder is damaged.
    #[must_use]
    pub fn rsa(kid: &str) -> Self {
        let pair = RsaKeyPair::from_der(RSA_KEY).expect("a key");
        Self { kid: kid.to_owned(), pair: Pair::Rsa(Box::new(pair)) }
    }

    /// A new key on P-256.
    ///
    /// # Panics
    /// When the system gives no random bytes; so do the others.
    #[must_use]
    pub fn es256(kid: &str) -> Self {
        let random = SystemRandom::new();
        let key = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random).expect("a key");
        let pair =
            EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, key.as_ref(), &random).expect("a key");
        Self { kid: kid.to_owned(), pair: Pair::Es256(pair) }
    }

    /// A new key of Ed25519.
    ///
    /// # Panics
    /// When the system gives no random bytes.
    #[must_use]
    pub fn ed25519(kid: &str) -> Self {
        let key = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).expect("a key");
        Self { kid: kid.to_owned(), pair: Pair::Ed25519(Ed25519KeyPair::from_pkcs8(key.as_ref()).expect("a key")) }
    }

    /// The algorithms that it can sign by.
    #[must_use]
    pub fn algorithms(&self) -> &'static [&'static str] {
        match self.pair {
            Pair::Rsa(_) => &["RS256", "PS256"],
            Pair::Es256(_) => &["ES256"],
            Pair::Ed25519(_) => &["EdDSA"],
        }
    }

    /// Its public half, as it is published.
    #[must_use]
    pub fn jwk(&self) -> Value {
        let encode = |bytes: &[u8]| BASE64_URL_SAFE_NO_PAD.encode(bytes);
        let mut key = match &self.pair {
            Pair::Rsa(pair) => {
                let PublicKeyComponents { n, e } = PublicKeyComponents::<Vec<u8>>::from(pair.public_key());
                json!({ "kty": "RSA", "n": encode(&n), "e": encode(&e) })
            }
            Pair::Es256(pair) => {
                let (x, y) = pair.public_key().as_ref()[1..].split_at(32);
                json!({ "kty": "EC", "crv": "P-256", "x": encode(x), "y": encode(y) })
            }
            Pair::Ed25519(pair) => {
                json!({ "kty": "OKP", "crv": "Ed25519", "x": encode(pair.public_key().as_ref()) })
            }
        };
        key["kid"] = json!(self.kid);
        key
    }

    /// Signs a message.
    ///
    /// # Panics
    /// By an algorithm that is not one of this key's.
    #[must_use]
    pub fn sign(&self, algorithm: &str, message: &[u8]) -> Vec<u8> {
        let random = SystemRandom::new();
        match (&self.pair, algorithm) {
            (Pair::Rsa(pair), "RS256" | "PS256") => {
                let mut signature = vec![0; pair.public().modulus_len()];
                let signed = if algorithm == "RS256" {
                    pair.sign(&RSA_PKCS1_SHA256, &random, message, &mut signature)
                } else {
                    pair.sign(&RSA_PSS_SHA256, &random, message, &mut signature)
                };
                signed.expect("a signature");
                signature
            }
            (Pair::Es256(pair), "ES256") => pair.sign(&random, message).expect("a signature").as_ref().to_vec(),
            (Pair::Ed25519(pair), "EdDSA") => pair.sign(message).as_ref().to_vec(),
            _ => panic!("this key does not sign by {algorithm}"),
        }
    }

    /// A token with these claims, as it should be.
    #[must_use]
    pub fn token(&self, algorithm: &str, claims: &Value) -> String {
        let header = json!({ "alg": algorithm, "typ": "at+jwt", "kid": self.kid });
        self.token_with(algorithm, &header.to_string(), &claims.to_string())
    }

    /// A token of these texts, signed by `algorithm` whatever they say.
    #[must_use]
    pub fn token_with(&self, algorithm: &str, header: &str, claims: &str) -> String {
        let signed = unsigned(header, claims);
        let signature = self.sign(algorithm, signed.as_bytes());
        format!("{signed}.{}", BASE64_URL_SAFE_NO_PAD.encode(signature))
    }
}

/// The first two parts of a token of these texts.
#[must_use]
pub fn unsigned(header: &str, claims: &str) -> String {
    [header, claims].map(|part| BASE64_URL_SAFE_NO_PAD.encode(part)).join(".")
}

/// A token that is authenticated with a shared secret.
#[must_use]
pub fn with_secret(secret: &[u8], header: &str, claims: &str) -> String {
    let signed = unsigned(header, claims);
    let tag = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, secret), signed.as_bytes());
    format!("{signed}.{}", BASE64_URL_SAFE_NO_PAD.encode(tag))
}

/// The issuer. Cheap to clone: all clones are one.
#[derive(Clone, Default)]
pub struct Issuer(Arc<Mutex<BTreeMap<String, Answer>>>);

impl Issuer {
    /// One that publishes metadata and these keys.
    #[must_use]
    pub fn publishing(keys: &[&SigningKey]) -> Self {
        let issuer = Self::default();
        issuer.put(METADATA, Answer::json(200, &metadata(ISSUER)));
        issuer.publish(keys);
        issuer
    }

    /// From now on, these are its keys.
    pub fn publish(&self, keys: &[&SigningKey]) {
        let keys: Vec<Value> = keys.iter().map(|key| key.jwk()).collect();
        self.put(KEYS, Answer::json(200, &json!({ "keys": keys })));
    }

    /// From now on, this is what is at `path`.
    pub fn put(&self, path: &str, answer: Answer) {
        self.documents().insert(path.to_owned(), answer);
    }

    /// From now on, nothing is at `path`.
    pub fn remove(&self, path: &str) {
        self.documents().remove(path);
    }

    /// What it answers to a request.
    #[must_use]
    pub fn answer(&self, seen: &Seen) -> Answer {
        let nothing = || Answer::new(404, "text/plain", "nothing here");
        self.documents().get(&seen.path).cloned().unwrap_or_else(nothing)
    }

    /// A server of it.
    #[must_use]
    pub fn serve(&self) -> Upstream {
        let issuer = self.clone();
        Upstream::start(&[HOST], move |seen| issuer.answer(seen))
    }

    fn documents(&self) -> MutexGuard<'_, BTreeMap<String, Answer>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Metadata of the issuer of this name, with its keys at [`KEYS`].
#[must_use]
pub fn metadata(issuer: &str) -> Value {
    json!({ "issuer": issuer, "jwks_uri": format!("{ISSUER}{KEYS}"), "token_endpoint": format!("{ISSUER}/token") })
}
