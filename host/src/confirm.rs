//! Whether a call needs the word of a person, whether it has it, and what is asked when it has not.
//!
//! Decides from what the tool says of itself, what the installer asks and what the call brings. A call without the
//! word that it needs is tried out in a dry run, and what that came to is the plan that a person is shown. What is
//! confirmed is the call: this principal, these bytes, this tool, these arguments. It is not the plan: the guest runs
//! anew, and may do other things within its grants. How a person is asked is the door's.

mod token;

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use serde_json::{Map, Value};

use crate::answer::{Answer, Plan};
use crate::client::{Answer as Answered, Confirmation, Unconfirmed};
use crate::error::{Error, ErrorKind, Result};
use crate::manifest::Tool;
use crate::policy::{self, Restriction};
use crate::registry::{Capability, ToolName};
use crate::store::{Spend, Store};
pub(crate) use token::NONCE_BYTES;
pub(crate) use token::end_of;
use token::{Key, Subject};

/// How a call stands with the word of a person.
#[derive(Debug)]
pub(crate) enum Word {
    /// It needs none, or has a standing one.
    Enough,
    /// It shows a token, which it uses up when it begins.
    Given(Spend),
    /// It needs one and has none: it is tried out.
    Missing,
}

/// The call of a tool, as far as a person agrees to it.
pub(crate) struct Case<'a> {
    pub(crate) principal: &'a str,
    pub(crate) capability: &'a Capability,
    pub(crate) restrictions: &'a [Restriction],
    pub(crate) tool: &'a Tool,
    pub(crate) arguments: &'a Map<String, Value>,
    pub(crate) answers: &'a BTreeMap<String, Answered>,
    pub(crate) dry_run: bool,
    pub(crate) confirmation: &'a Confirmation,
}

/// Where tokens are made and read.
pub(crate) struct Confirmations {
    store: Arc<Store>,
    key: OnceLock<Key>,
}

impl Confirmations {
    /// Of the home that `store` keeps.
    pub(crate) fn new(store: Arc<Store>) -> Self {
        Self { store, key: OnceLock::new() }
    }

    /// Whether a call has the word that it needs. A token that is shown must be good, also where none is needed
    /// any more.
    pub(crate) fn word(&self, case: &Case<'_>) -> Result<Word> {
        if case.tool.read_only || case.dry_run {
            return Ok(Word::Enough);
        }
        match case.confirmation {
            Confirmation::Token(token) => {
                let opened = self.key()?.open(&Subject::of(case), token, self.store.now_ms());
                opened.map(Word::Given).map_err(|why| invalid(why.as_str()))
            }
            Confirmation::Missing if policy::needs_word(case.tool, case.restrictions) => Ok(Word::Missing),
            Confirmation::Missing | Confirmation::Standing => Ok(Word::Enough),
        }
    }

    /// What becomes of a call that was tried out. When the trial failed there is nothing to confirm, with one
    /// exception: a tool that goes on from what a change answered fails in every dry run after it, and its plan up
    /// to there can be confirmed.
    pub(crate) fn after_trial(
        &self,
        case: &Case<'_>,
        answer: Result<Answer>,
        plan: Plan,
    ) -> (Result<Answer>, Option<Unconfirmed>) {
        let mut message = {
            let name = ToolName { capability: case.capability.name.clone(), tool: case.tool.name.clone() };
            format!("`{name}` needs the word of a person first; nothing was changed")
        };
        match answer {
            Ok(_) => {}
            Err(error) if error.kind == ErrorKind::Failed && !plan.is_empty() => {
                message.push_str(&format!(
                    ". Tried out, it failed after its plan, so it may do more than that: {}",
                    error.message
                ));
            }
            Err(error) => return (Err(error), None),
        }
        let now = self.store.now_ms();
        match self.key().and_then(|key| key.seal(&Subject::of(case), now)) {
            Ok(token) => {
                let unconfirmed = Unconfirmed { plan, token, expires_at: token::end_of(now) };
                let error = Error::new(ErrorKind::ConfirmationRequired, message);
                (Err(error), Some(unconfirmed))
            }
            Err(error) => (Err(error), None),
        }
    }

    fn key(&self) -> Result<&Key> {
        match self.key.get() {
            Some(key) => Ok(key),
            None => {
                let key = Key::new(&self.store.key_for(token::DOMAIN)?)?;
                Ok(self.key.get_or_init(|| key))
            }
        }
    }
}

/// The refusal of a token that another call has used.
pub(crate) fn used() -> Error {
    invalid("it was used before")
}

/// One sentence for every reason: whoever shows a token learns nothing about it.
pub(crate) fn invalid(why: &str) -> Error {
    let message = "the confirmation is for another call, was used, or has ended; call without it for another one";
    Error::new(ErrorKind::ConfirmationInvalid, message).detail(why)
}
