//! The token by which a call is confirmed: a sealed text that is good for this very call, for ten minutes.
//!
//! It is the time of its making under AES-256-GCM. What it confirms is the associated data, so it opens beside the
//! same call only, and says nothing to whoever carries it. That it is used once is not decided here: its nonce is
//! what the database remembers.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::rand::{SecureRandom, SystemRandom};
use serde_json::Value;

use super::Case;
use crate::error::{Error, Result};
use crate::store::Spend;

/// Bytes of what makes a token another one than all others.
pub(crate) const NONCE_BYTES: usize = NONCE_LEN;

/// How long a token is good, in milliseconds: as long as a person thinks about one question.
const LIFE_MS: i64 = 10 * 60 * 1000;

/// Separates this key and these texts from any other use of the home's key.
pub(super) const DOMAIN: &[u8] = b"remit/confirmation/v1";

/// The key of one home.
pub(super) struct Key(LessSafeKey);

/// What a token confirms, as bytes that no other call gives.
pub(super) struct Subject(Vec<u8>);

/// Why a token does not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Invalid {
    /// It was not made here, not for this call, or was changed.
    Foreign,
    /// Its time is over, or has not come: a clock was set back.
    Ended,
}

impl Invalid {
    /// For the operator.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Foreign => "it is not of this call",
            Self::Ended => "its time is over",
        }
    }
}

/// When a token that is made now ends, in milliseconds since 1970.
pub(crate) fn end_of(now_ms: i64) -> i64 {
    now_ms.saturating_add(LIFE_MS)
}

impl Subject {
    /// The call of a request: who, which bytes, which tool, with which arguments and answers. Keys in any order are
    /// the same arguments.
    pub(super) fn of(case: &Case<'_>) -> Self {
        let mut arguments = Value::Object(case.arguments.clone());
        arguments.sort_all_objects();
        // Answers have no form of their own on any wire; two that differ are written differently here.
        let answers = format!("{:?}", case.answers);
        let parts = [
            case.principal,
            &case.capability.name.to_string(),
            &case.capability.digest.to_string(),
            &case.tool.name,
            &arguments.to_string(),
            &answers,
        ];
        let mut bytes = DOMAIN.to_vec();
        for part in parts {
            bytes.extend((part.len() as u64).to_be_bytes());
            bytes.extend(part.as_bytes());
        }
        Self(bytes)
    }
}

impl Key {
    /// The key of this home for confirmations.
    pub(super) fn new(key: &[u8; 32]) -> Result<Self> {
        let key = UnboundKey::new(&AES_256_GCM, key).map_err(|_| Error::internal("a key has the wrong length"))?;
        Ok(Self(LessSafeKey::new(key)))
    }

    /// A token for a call, made now.
    pub(super) fn seal(&self, subject: &Subject, now_ms: i64) -> Result<String> {
        let mut nonce = [0; NONCE_BYTES];
        SystemRandom::new().fill(&mut nonce).map_err(|_| Error::internal("the system gives no random bytes"))?;
        let mut sealed = now_ms.to_be_bytes().to_vec();
        self.0
            .seal_in_place_append_tag(
                Nonce::assume_unique_for_key(nonce),
                Aad::from(subject.0.as_slice()),
                &mut sealed,
            )
            .map_err(|_| Error::internal("a confirmation could not be sealed"))?;
        Ok(URL_SAFE_NO_PAD.encode([&nonce[..], &sealed].concat()))
    }

    /// What using a token means, when it is one of this call and its time is not over.
    pub(super) fn open(&self, subject: &Subject, token: &str, now_ms: i64) -> Result<Spend, Invalid> {
        let bytes = URL_SAFE_NO_PAD.decode(token).map_err(|_| Invalid::Foreign)?;
        let (nonce, sealed) = bytes.split_first_chunk::<NONCE_BYTES>().ok_or(Invalid::Foreign)?;
        let mut sealed = sealed.to_vec();
        let opened = self
            .0
            .open_in_place(Nonce::assume_unique_for_key(*nonce), Aad::from(subject.0.as_slice()), &mut sealed)
            .map_err(|_| Invalid::Foreign)?;
        let made_at = opened.try_into().map(i64::from_be_bytes).map_err(|_| Invalid::Foreign)?;
        let ends_at = end_of(made_at);
        if now_ms < made_at || now_ms >= ends_at {
            return Err(Invalid::Ended);
        }
        Ok(Spend { nonce: *nonce, ends_at })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::json;

    use super::*;
    use crate::client::Confirmation;
    use crate::registry::{Capability, Digest};
    use crate::runtime::ask;

    const NOW: i64 = 1_700_000_000_000;

    fn key() -> Key {
        Key::new(&[7; 32]).unwrap()
    }

    fn capability(name: &str, tool: &str, bytes: &[u8]) -> Capability {
        let manifest = json!({
            "publisher": "acme", "slug": "notes", "version": "1.0.0", "title": "T", "description": "D.",
            "tools": [{ "name": tool, "description": "D.", "inputSchema": {} }],
        });
        Capability {
            name: name.parse().unwrap(),
            digest: Digest::of(bytes),
            manifest: serde_json::from_value(manifest).unwrap(),
            installed_at: 0,
            size: 1,
        }
    }

    fn of(principal: &str, tool: &str, bytes: &[u8], arguments: &Value) -> Subject {
        answered(principal, tool, bytes, arguments, &BTreeMap::new())
    }

    fn answered(
        principal: &str,
        tool: &str,
        bytes: &[u8],
        arguments: &Value,
        answers: &BTreeMap<String, ask::Answer>,
    ) -> Subject {
        let (name, tool) = tool.split_once('.').unwrap();
        let capability = capability(name, tool, bytes);
        Subject::of(&Case {
            principal,
            capability: &capability,
            restrictions: &[],
            tool: &capability.manifest.tools[0],
            arguments: arguments.as_object().unwrap(),
            answers,
            dry_run: false,
            confirmation: &Confirmation::Missing,
        })
    }

    fn delete() -> Subject {
        of("stdio", "acme/notes.delete", b"1", &json!({ "key": "a", "more": { "x": [1, 2], "y": null } }))
    }

    #[test]
    fn a_token_is_good_for_its_call_until_its_time_is_over() {
        let token = key().seal(&delete(), NOW).unwrap();
        assert_eq!(token.len(), 48);
        let spend = key().open(&delete(), &token, NOW).unwrap();
        assert_eq!(spend.ends_at, NOW + 600_000);
        assert_eq!(key().open(&delete(), &token, NOW + 599_999), Ok(spend));
        assert_eq!(key().open(&delete(), &token, NOW + 600_000), Err(Invalid::Ended));
        assert_eq!(key().open(&delete(), &token, NOW - 1), Err(Invalid::Ended));
    }

    #[test]
    fn two_tokens_of_one_call_are_two() {
        let nonce = |token: String| key().open(&delete(), &token, NOW).unwrap().nonce;
        assert_ne!(nonce(key().seal(&delete(), NOW).unwrap()), nonce(key().seal(&delete(), NOW).unwrap()));
    }

    #[test]
    fn the_order_of_keys_makes_no_other_call() {
        let turned = json!({ "more": { "y": null, "x": [1, 2] }, "key": "a" });
        let token = key().seal(&delete(), NOW).unwrap();
        assert!(key().open(&of("stdio", "acme/notes.delete", b"1", &turned), &token, NOW).is_ok());
    }

    #[test]
    fn a_token_opens_beside_no_other_call() {
        let arguments = json!({ "key": "a", "more": { "x": [1, 2], "y": null } });
        let token = key().seal(&delete(), NOW).unwrap();
        let same = |principal: &str, tool: &str, bytes: &[u8]| of(principal, tool, bytes, &arguments);
        let with = |arguments: Value| of("stdio", "acme/notes.delete", b"1", &arguments);
        let answered = {
            let yes = ask::Answer::Form(ask::Decision::Accepted("{}".to_owned()));
            let answers = [("sure".to_owned(), yes)].into();
            answered("stdio", "acme/notes.delete", b"1", &arguments, &answers)
        };
        let others = [
            same("http", "acme/notes.delete", b"1"),
            same("stdio", "acme/notes.delete_all", b"1"),
            same("stdio", "acme/other.delete", b"1"),
            same("stdio", "evil/notes.delete", b"1"),
            same("stdio", "acme/notes.delete", b"2"),
            with(json!({})),
            with(json!({ "key": "b", "more": { "x": [1, 2], "y": null } })),
            with(json!({ "key": "a", "more": { "x": [2, 1], "y": null } })),
            with(json!({ "key": "a", "more": { "x": [1, 2] } })),
            with(json!({ "key": "a", "more": { "x": [1, "2"], "y": null } })),
            answered,
        ];
        assert!(key().open(&same("stdio", "acme/notes.delete", b"1"), &token, NOW).is_ok());
        for (case, other) in others.iter().enumerate() {
            assert_eq!(key().open(other, &token, NOW), Err(Invalid::Foreign), "case {case}");
        }
        assert_eq!(Key::new(&[8; 32]).unwrap().open(&delete(), &token, NOW), Err(Invalid::Foreign));
    }

    #[test]
    fn a_changed_or_foreign_text_is_no_token() {
        let token = key().seal(&delete(), NOW).unwrap();
        let bytes = URL_SAFE_NO_PAD.decode(&token).unwrap();
        for at in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] ^= 1;
            let changed = URL_SAFE_NO_PAD.encode(changed);
            assert_eq!(key().open(&delete(), &changed, NOW), Err(Invalid::Foreign), "byte {at}");
            let cut = URL_SAFE_NO_PAD.encode(&bytes[..at]);
            assert_eq!(key().open(&delete(), &cut, NOW), Err(Invalid::Foreign), "{at} bytes");
        }
        let longer = [token.as_str(), "AAAA"].concat();
        let spaced = format!(" {token}");
        let padded = format!("{token}=");
        for text in ["", "yes", "true", "\u{0}", longer.as_str(), &spaced, &padded, &"A".repeat(100_000)] {
            assert_eq!(key().open(&delete(), text, NOW), Err(Invalid::Foreign), "{text:.20}");
        }
    }

    #[test]
    fn parts_do_not_run_into_each_other() {
        let arguments = json!({});
        let token = key().seal(&of("a", "b/c.d", b"1", &arguments), NOW).unwrap();
        assert!(key().open(&of("ab", "b/c.d", b"1", &arguments), &token, NOW).is_err());
        assert_ne!(of("a", "b/cd.e", b"1", &arguments).0, of("a", "b/c.de", b"1", &arguments).0);
    }
}
