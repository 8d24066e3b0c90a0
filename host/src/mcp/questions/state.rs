//! What is remembered between two rounds of a modern client's request, in the client's hands: sealed.
//!
//! AES-256-GCM under a key of this home's, with the request as associated data: principal, surface, method,
//! target, arguments and the digest of the capability. So a state opens only for the request that it was given
//! for, by whom it was given to, until it ends. It may be brought more than once: the request is then made again
//! as it could be made anew, and what counts once (a confirmation) is counted behind the host's door.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::rand::{SecureRandom as _, SystemRandom};
use rmcp::model::InputResponses;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::wire;
use super::word::{self, Word};
use crate::client::{Answer, Question};
use crate::clock::Clock;
use crate::error::{Error, Result};
use crate::registry::{CapabilityName, Digest};

/// How long a state may be brought back: longer than people think about a form.
const LIFE_MS: i64 = 30 * 60 * 1000;

/// Bytes of a sealed state: room for answers with a picture, and well below the size of a request.
const MAX_SEALED: usize = 1024 * 1024;

/// Tells a state from anything else that may be sealed with this key, and this form of it from a later one.
const DOMAIN: &[u8] = b"remit/request-state/1";

/// Seals and opens states.
pub(in crate::mcp) struct Seal(LessSafeKey);

/// The request that a state belongs to.
pub(in crate::mcp) struct Binding(Digest);

/// What is known when a round begins.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct State {
    /// The answers so far, by the names of their questions.
    pub(super) answers: BTreeMap<String, Answer>,
    /// What a person said to the plan, just now.
    pub(super) word: Option<Word>,
    /// Rounds so far.
    pub(super) rounds: u32,
    /// What was asked in the last one.
    pub(super) pending: Pending,
    /// The answers as they came, with what kind of answer each is.
    kept: BTreeMap<String, (Kind, Value)>,
}

/// What was asked.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) enum Pending {
    /// Nothing.
    #[default]
    Nothing,
    /// These questions.
    Answers(BTreeMap<String, Kind>),
    /// A word on a plan, which this token then confirms.
    Word(String),
}

/// What counts as an answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) enum Kind {
    /// A decision, with what was filled in if it is yes.
    Form,
    /// A decision.
    Link,
    /// What a model said.
    Sample,
    /// Folders.
    Roots,
}

/// What is sealed.
#[derive(Serialize, Deserialize)]
struct Sealed {
    kept: BTreeMap<String, (Kind, Value)>,
    rounds: u32,
    pending: Pending,
    /// In milliseconds since 1970.
    ends_at: i64,
}

impl Kind {
    /// What counts as an answer to a question.
    pub(super) fn of(question: &Question) -> Self {
        match question {
            Question::Form(_) => Self::Form,
            Question::Link(_) => Self::Link,
            Question::Sample(_) => Self::Sample,
            Question::Roots => Self::Roots,
        }
    }
}

impl State {
    /// Takes the answers to what was asked. One that is missing or none is asked for again; what was not asked is
    /// passed over.
    pub(super) fn take(&mut self, responses: &InputResponses) {
        match std::mem::take(&mut self.pending) {
            Pending::Nothing => {}
            Pending::Word(token) => {
                self.word = responses.get(word::NAME).and_then(|said| word::read(said, &token))
            }
            Pending::Answers(pending) => {
                for (name, kind) in pending {
                    let Some(response) = responses.get(&name) else { continue };
                    self.keep(name, kind, response.clone());
                }
            }
        }
    }

    fn keep(&mut self, name: String, kind: Kind, response: Value) {
        if let Some(answer) = wire::answer(&kind, &response) {
            self.answers.insert(name.clone(), answer);
            self.kept.insert(name, (kind, response));
        }
    }
}

impl Binding {
    /// The request of `method` for `target` with these arguments, by a principal on a surface, to these bytes.
    pub(in crate::mcp) fn new(
        principal: &str,
        surface: &super::super::Surface,
        method: &str,
        (capability, digest): (&CapabilityName, &Digest),
        target: &str,
        arguments: &Map<String, Value>,
    ) -> Self {
        let arguments = sorted(&Value::Object(arguments.clone()));
        let parts = json!([
            principal,
            surface.to_string(),
            method,
            capability.to_string(),
            digest.to_string(),
            target,
            arguments,
        ]);
        Self(Digest::of(parts.to_string().as_bytes()))
    }

    fn associated(&self) -> Vec<u8> {
        [DOMAIN, self.0.as_bytes()].concat()
    }
}

impl Seal {
    /// Seals with this key.
    pub(in crate::mcp) fn new(key: &[u8; 32]) -> Result<Self> {
        let key = UnboundKey::new(&AES_256_GCM, key).map_err(|_| Error::internal("a key could not be made"))?;
        Ok(Self(LessSafeKey::new(key)))
    }

    /// Seals a state for a request; nothing when it is too large.
    pub(super) fn seal(&self, binding: &Binding, state: &State) -> Option<String> {
        self.seal_at(binding, state, Clock::system().now_ms())
    }

    /// Opens what was sealed for this request and has not ended.
    pub(super) fn open(&self, binding: &Binding, sealed: &str) -> Option<State> {
        self.open_at(binding, sealed, Clock::system().now_ms())
    }

    fn seal_at(&self, binding: &Binding, state: &State, now_ms: i64) -> Option<String> {
        let State { kept, rounds, pending, .. } = state.clone();
        let ends_at = now_ms.saturating_add(LIFE_MS);
        let mut bytes = serde_json::to_vec(&Sealed { kept, rounds, pending, ends_at }).ok()?;
        // A nonce is random: at a thousand states a second the same one comes twice in a hundred years with a
        // chance of one in ten thousand million.
        let mut nonce = [0; NONCE_LEN];
        SystemRandom::new().fill(&mut nonce).ok()?;
        let associated = Aad::from(binding.associated());
        self.0.seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), associated, &mut bytes).ok()?;
        let sealed = URL_SAFE_NO_PAD.encode([nonce.as_slice(), &bytes].concat());
        (sealed.len() <= MAX_SEALED).then_some(sealed)
    }

    fn open_at(&self, binding: &Binding, sealed: &str, now_ms: i64) -> Option<State> {
        if sealed.len() > MAX_SEALED {
            return None;
        }
        let bytes = URL_SAFE_NO_PAD.decode(sealed).ok()?;
        let (nonce, bytes) = bytes.split_at_checked(NONCE_LEN)?;
        let (nonce, mut bytes) = (Nonce::try_assume_unique_for_key(nonce).ok()?, bytes.to_vec());
        let opened = self.0.open_in_place(nonce, Aad::from(binding.associated()), &mut bytes).ok()?;
        let Sealed { kept, rounds, pending, ends_at } = serde_json::from_slice(opened).ok()?;
        if ends_at <= now_ms {
            return None;
        }
        let mut state = State { rounds, pending, ..State::default() };
        for (name, (kind, response)) in kept {
            state.keep(name, kind, response);
        }
        Some(state)
    }
}

/// The same value with the keys of all objects in order: a client may write them in another.
fn sorted(value: &Value) -> Value {
    match value {
        Value::Object(entries) => {
            let entries: BTreeMap<&String, Value> =
                entries.iter().map(|(key, value)| (key, sorted(value))).collect();
            entries.into_iter().map(|(key, value)| (key.clone(), value)).collect()
        }
        Value::Array(items) => items.iter().map(sorted).collect(),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::Surface;
    use super::*;

    const NOW: i64 = 1_000_000;

    fn name(text: &str) -> CapabilityName {
        text.parse().unwrap()
    }

    fn arguments(value: &Value) -> Map<String, Value> {
        value.as_object().unwrap().clone()
    }

    fn binding() -> Binding {
        let capability = name("acme/notes");
        let arguments = arguments(&json!({ "a": 1, "b": { "c": 2, "d": 3 } }));
        Binding::new("http", &Surface::Joint, "tools/call", (&capability, &Digest::of(b"1")), "add", &arguments)
    }

    fn seal() -> Seal {
        Seal::new(&[7; 32]).unwrap()
    }

    fn state() -> State {
        let mut state = State { rounds: 2, ..State::default() };
        let pending = BTreeMap::from([("q".to_owned(), Kind::Form)]);
        state.pending = Pending::Answers(pending);
        state.take(&BTreeMap::from([("q".to_owned(), json!({ "action": "accept", "content": { "x": "y" } }))]));
        state.pending = Pending::Word("token".to_owned());
        assert_eq!(state.answers.len(), 1);
        state
    }

    #[test]
    fn a_state_comes_back_as_it_went() {
        let sealed = seal().seal_at(&binding(), &state(), NOW).unwrap();
        assert_eq!(seal().open_at(&binding(), &sealed, NOW + LIFE_MS - 1), Some(state()));
        assert_eq!(seal().open_at(&binding(), &sealed, NOW + LIFE_MS), None, "it has ended");
        assert_eq!(Seal::new(&[8; 32]).unwrap().open_at(&binding(), &sealed, NOW), None, "another home");
        assert_ne!(seal().seal_at(&binding(), &state(), NOW).unwrap(), sealed, "each has a nonce of its own");
    }

    #[test]
    fn a_state_opens_for_its_request_only() {
        let sealed = seal().seal_at(&binding(), &state(), NOW).unwrap();
        let (capability, digest) = (name("acme/notes"), Digest::of(b"1"));
        let given = arguments(&json!({ "b": { "d": 3, "c": 2 }, "a": 1 }));
        let same = |principal: &str, surface: Surface, method: &str, target: &str| {
            Binding::new(principal, &surface, method, (&capability, &digest), target, &given)
        };
        let joint = Surface::Joint;
        let opens = |binding: &Binding| seal().open_at(binding, &sealed, NOW).is_some();
        assert!(opens(&same("http", joint.clone(), "tools/call", "add")), "in another order of keys");
        assert!(!opens(&same("other", joint.clone(), "tools/call", "add")));
        assert!(!opens(&same("http", Surface::One(name("acme/notes")), "tools/call", "add")));
        assert!(!opens(&same("http", joint.clone(), "prompts/get", "add")));
        assert!(!opens(&same("http", joint.clone(), "tools/call", "remove")));
        for other in [json!({}), json!({ "a": 1 }), json!({ "a": 2, "b": { "c": 2, "d": 3 } })] {
            let other = arguments(&other);
            assert!(!opens(&Binding::new("http", &joint, "tools/call", (&capability, &digest), "add", &other)));
        }
        let upgraded = (&capability, &Digest::of(b"2"));
        assert!(!opens(&Binding::new("http", &joint, "tools/call", upgraded, "add", &given)));
        let renamed = name("acme/other");
        assert!(!opens(&Binding::new("http", &joint, "tools/call", (&renamed, &digest), "add", &given)));
    }

    #[test]
    fn a_changed_state_does_not_open() {
        let sealed = seal().seal_at(&binding(), &state(), NOW).unwrap();
        let bytes = URL_SAFE_NO_PAD.decode(&sealed).unwrap();
        for at in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] ^= 1;
            let changed = URL_SAFE_NO_PAD.encode(changed);
            assert_eq!(seal().open_at(&binding(), &changed, NOW), None, "byte {at}");
        }
        for garbage in
            ["", "a", "====", &sealed[1..], &sealed[..sealed.len() - 4], &format!("{sealed}AAAA"), "\u{0}"]
        {
            assert_eq!(seal().open_at(&binding(), garbage, NOW), None, "{garbage}");
        }
        assert_eq!(seal().open_at(&binding(), &"A".repeat(MAX_SEALED + 1), NOW), None);
    }

    #[test]
    fn a_state_that_is_too_large_is_not_made() {
        let mut state = State::default();
        state.kept.insert("q".to_owned(), (Kind::Sample, Value::String("x".repeat(MAX_SEALED))));
        assert_eq!(seal().seal_at(&binding(), &state, NOW), None);
    }

    #[test]
    fn only_what_was_asked_is_taken() {
        let accepted = json!({ "action": "accept" });
        let mut state = State {
            pending: Pending::Answers(BTreeMap::from([("q".to_owned(), Kind::Link)])),
            ..State::default()
        };
        state.take(&BTreeMap::from([("other".to_owned(), accepted.clone())]));
        assert_eq!(state, State::default());
        state.take(&BTreeMap::from([("q".to_owned(), accepted.clone())]));
        assert_eq!(state, State::default(), "nothing is pending any more");
        state.take(&BTreeMap::from([(
            word::NAME.to_owned(),
            json!({ "action": "accept", "content": { "agree": true } }),
        )]));
        assert_eq!(state.word, None, "a word that was not asked for is none");
    }
}
