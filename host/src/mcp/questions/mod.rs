//! Questions of a call to the person or the model at the other end.
//!
//! A call that asks has ended (`crate::client`). This room asks in the way of the client's era and makes the call
//! again with the answers: a modern client gets the questions as the answer to its request, with a sealed state
//! that it brings back (`state.rs`); a legacy client is asked on its session (`live.rs`). What a question looks
//! like on the wire, and what counts as an answer, is `wire.rs`; a person's word for a change is `word.rs`. No
//! guest waits meanwhile, so a person's time is not taken from its budget.

mod live;
mod state;
mod wire;
mod word;

use std::collections::{BTreeMap, BTreeSet};

use rmcp::model::{
    ClientCapabilities, ErrorCode, InputRequests, InputRequiredResult, InputResponses, ProtocolVersion,
};
use rmcp::service::{Peer, RequestContext};
use rmcp::{ErrorData, RoleServer};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

pub(super) use self::state::{Binding, Seal};
use self::state::{Kind, Pending, State};
use self::word::Word;
use crate::call::Failure;
use crate::client::{Ability, Client, Confirmation, Conversation, News, Wants};
use crate::error::{Error, ErrorKind};

/// Rounds of questions of one request. Clients stop at ten by themselves.
const ROUNDS: u32 = 10;

/// Who made a request, as far as it can be asked, and what it brought of an earlier round.
pub(super) struct Asker<'a> {
    way: Way,
    abilities: BTreeSet<Ability>,
    seal: &'a Seal,
    binding: Binding,
    /// The capability that asks, as people know it.
    title: String,
    cancel: CancellationToken,
}

/// How a client is asked.
enum Way {
    /// Its request is answered with the questions, and it makes it again with the answers.
    Again { state: Option<String>, responses: Option<InputResponses> },
    /// On its session.
    Live(Peer<RoleServer>),
    /// Not at all.
    Never,
}

/// What became of a request.
pub(super) enum Outcome<T> {
    /// It was answered.
    Done(T),
    /// It failed.
    Failed(Box<Failure>),
    /// The client is to answer first.
    Questions(InputRequiredResult),
}

/// What the client brought with a request that is made again.
pub(super) struct Brought {
    /// The state that it was given.
    pub(super) state: Option<String>,
    /// Its answers.
    pub(super) responses: Option<InputResponses>,
}

impl<'a> Asker<'a> {
    /// Who made the request of `context`.
    pub(super) fn of(
        context: &RequestContext<RoleServer>,
        brought: Brought,
        seal: &'a Seal,
        binding: Binding,
        title: String,
    ) -> Self {
        let way = match context.meta.protocol_version() {
            Some(version) if is_modern(&version) => {
                Way::Again { state: brought.state, responses: brought.responses }
            }
            // It chose a version of before by request: it has no session, and no word for questions.
            Some(_) => Way::Never,
            None => Way::Live(context.peer.clone()),
        };
        let abilities = match way {
            Way::Never => BTreeSet::new(),
            _ => context.client_capabilities().map(|declared| abilities(&declared)).unwrap_or_default(),
        };
        Self { way, abilities, seal, binding, title, cancel: context.ct.clone() }
    }

    /// Makes a call, and again with answers, until it ends or the client is to answer first.
    pub(super) async fn run<T, F>(
        self,
        news: Option<mpsc::Sender<News>>,
        attempt: impl Fn(Client, Confirmation) -> F + Send,
    ) -> Result<Outcome<T>, ErrorData>
    where
        F: Future<Output = Result<T, Failure>> + Send,
    {
        let mut state = self.resume()?;
        loop {
            let confirmation = match state.word.take() {
                None => Confirmation::Missing,
                Some(Word::Agreed(token)) => Confirmation::Token(token),
                Some(Word::Refused(how)) => return Ok(Outcome::Failed(Box::new(word::refused(how)))),
            };
            let client = Client {
                features: self.abilities.clone(),
                answers: state.answers.clone(),
                rounds: state.rounds,
                news: news.clone(),
                conversation: Conversation::Own,
                parent: None,
            };
            let failure = match attempt(client, confirmation).await {
                Ok(done) => return Ok(Outcome::Done(done)),
                Err(failure) => failure,
            };
            state.rounds += 1;
            let Some(requests) = self.requests(&failure, &mut state) else {
                return self.failed(failure);
            };
            let requests = match requests {
                Ok(requests) if state.rounds <= ROUNDS => requests,
                Ok(_) => return Ok(Outcome::Failed(Box::new(unanswered(failure, "it asked too many times")))),
                Err(why) => return Ok(Outcome::Failed(Box::new(unanswered(failure, &why)))),
            };
            match &self.way {
                Way::Again { .. } => {
                    let Some(sealed) = self.seal.seal(&self.binding, &state) else {
                        return Ok(Outcome::Failed(Box::new(unanswered(
                            failure,
                            "the answers so far are too large",
                        ))));
                    };
                    return Ok(Outcome::Questions(InputRequiredResult::new(Some(requests), Some(sealed))));
                }
                Way::Live(peer) => match live::ask(peer, requests, &self.cancel).await {
                    Ok(responses) => state.take(&responses),
                    Err(why) => {
                        return Ok(Outcome::Failed(Box::new(if self.cancel.is_cancelled() {
                            let error = Error::new(ErrorKind::Cancelled, "the caller cancelled the call");
                            Failure { error, wants: Wants::Nothing, ..failure }
                        } else {
                            unanswered(failure, why)
                        })));
                    }
                },
                Way::Never => return self.failed(failure),
            }
        }
    }

    /// The state of the round before, with what the client answered; an empty one at the beginning.
    fn resume(&self) -> Result<State, ErrorData> {
        let Way::Again { state: Some(sealed), responses } = &self.way else { return Ok(State::default()) };
        let mut state = self.seal.open(&self.binding, sealed).ok_or_else(|| {
            let message =
                "`requestState` was not given for this request, or has ended; make the request without it";
            ErrorData::invalid_params(message, None)
        })?;
        state.take(responses.as_ref().unwrap_or(&InputResponses::new()));
        Ok(state)
    }

    /// What a failed call wants to have asked, noted as pending; nothing if it wants nothing that this client can
    /// be asked. An error says why it cannot be asked.
    fn requests(&self, failure: &Failure, state: &mut State) -> Option<Result<InputRequests, String>> {
        if matches!(self.way, Way::Never) {
            return None;
        }
        match &failure.wants {
            Wants::Answers(questions) => {
                let (mut requests, mut pending) = (InputRequests::new(), BTreeMap::new());
                for question in questions {
                    match wire::request(&self.title, &question.question) {
                        Ok(request) => drop(requests.insert(question.name.clone(), request)),
                        Err(why) => return Some(Err(why)),
                    }
                    pending.insert(question.name.clone(), Kind::of(&question.question));
                }
                state.pending = Pending::Answers(pending);
                Some(Ok(requests))
            }
            Wants::Confirmation(unconfirmed) if self.abilities.contains(&Ability::Form) => {
                state.pending = Pending::Word(unconfirmed.token.clone());
                Some(Ok(word::requests(&self.title, &unconfirmed.plan)))
            }
            _ => None,
        }
    }

    /// A failure that nobody can help by an answer. A modern client that lacks an ability hears it by a protocol
    /// error of its own.
    fn failed<T>(&self, failure: Failure) -> Result<Outcome<T>, ErrorData> {
        match (&self.way, &failure.wants) {
            (Way::Again { .. }, Wants::Abilities(lacking)) => {
                let message = format!("{}: {}", failure.error.kind.code(), failure.error.message);
                let data = json!({ "requiredCapabilities": required(lacking) });
                Err(ErrorData::new(ErrorCode::MISSING_REQUIRED_CLIENT_CAPABILITY, message, Some(data)))
            }
            _ => Ok(Outcome::Failed(Box::new(failure))),
        }
    }
}

/// Whether a version has `input_required`.
pub(super) fn is_modern(version: &ProtocolVersion) -> bool {
    // Versions are dates, so their texts are in their order.
    version.as_str() >= ProtocolVersion::V_2026_07_28.as_str()
}

/// What a client declared that it can be asked. Elicitation without a mode means forms.
fn abilities(declared: &ClientCapabilities) -> BTreeSet<Ability> {
    let mut abilities = BTreeSet::new();
    if let Some(elicitation) = &declared.elicitation {
        if elicitation.form.is_some() || elicitation.url.is_none() {
            abilities.insert(Ability::Form);
        }
        if elicitation.url.is_some() {
            abilities.insert(Ability::Link);
        }
    }
    if declared.sampling.is_some() {
        abilities.insert(Ability::Sample);
    }
    if declared.roots.is_some() {
        abilities.insert(Ability::Roots);
    }
    abilities
}

/// What a client would have to declare, as a client declares it.
fn required(lacking: &BTreeSet<Ability>) -> Value {
    let mut required = json!({});
    for ability in lacking {
        match ability {
            Ability::Form => required["elicitation"]["form"] = json!({}),
            Ability::Link => required["elicitation"]["url"] = json!({}),
            Ability::Sample => required["sampling"] = json!({}),
            Ability::Roots => required["roots"] = json!({}),
        }
    }
    required
}

fn unanswered(failure: Failure, why: &str) -> Failure {
    let error = Error::new(ErrorKind::ClientCannot, format!("the question of this call was not answered: {why}"));
    Failure { error, wants: Wants::Nothing, ..failure }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn abilities_are_what_was_declared() {
        let cases = [
            (json!({}), &[][..]),
            (json!({ "elicitation": {} }), &[Ability::Form]),
            (json!({ "elicitation": { "form": {} } }), &[Ability::Form]),
            (json!({ "elicitation": { "url": {} } }), &[Ability::Link]),
            (json!({ "elicitation": { "url": {}, "form": {} } }), &[Ability::Form, Ability::Link]),
            (json!({ "sampling": {}, "roots": {} }), &[Ability::Sample, Ability::Roots]),
            (json!({ "experimental": { "sampling": {} } }), &[]),
        ];
        for (declared, expected) in cases {
            let parsed: ClientCapabilities = serde_json::from_value(declared.clone()).unwrap();
            assert_eq!(abilities(&parsed), expected.iter().copied().collect(), "{declared}");
        }
    }

    #[test]
    fn what_is_lacking_is_said_as_it_would_be_declared() {
        for ability in [Ability::Form, Ability::Link, Ability::Sample, Ability::Roots] {
            let lacking = BTreeSet::from([ability]);
            let declared: ClientCapabilities = serde_json::from_value(required(&lacking)).unwrap();
            assert_eq!(abilities(&declared), lacking);
        }
        let both = BTreeSet::from([Ability::Form, Ability::Link]);
        assert_eq!(required(&both), json!({ "elicitation": { "form": {}, "url": {} } }));
    }
}
