//! The kinds of questions, and how each reads its answer. What goes to the host is the contract's question; what
//! comes back is a Rust value of the question's own type.

use std::marker::PhantomData;

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{Decision, Error, wit};
use super::{Media, NamedQuestion, Root, Said, Sampled};
use crate::Schema;
use crate::schema;

/// A question with a name, and the type of its answer.
pub trait Question {
    /// What an answer is read as.
    type Answer;

    /// The question as the host takes it.
    fn named(&self) -> NamedQuestion;

    /// Reads the answer.
    fn read(&self, answer: wit::Answer) -> Result<Self::Answer, Error>;
}

/// What a person fills in: a `#[remit_sdk::data]` struct of texts, numbers, booleans and choices.
#[derive(Clone, Debug)]
pub struct Form<T> {
    name: String,
    message: String,
    schema: String,
    answer: PhantomData<fn() -> T>,
}

impl<T: Schema + DeserializeOwned> Form<T> {
    /// A form with a message for the person. The name is what its answer is kept under: unique in the call.
    #[must_use]
    pub fn new(name: impl Into<String>, message: impl Into<String>) -> Self {
        const {
            assert!(T::SCHEMA.is_form(), "a form has fields of texts, numbers, booleans and choices only");
        }
        Self { name: name.into(), message: message.into(), schema: schema::form(&T::SCHEMA), answer: PhantomData }
    }
}

impl Form<Value> {
    /// A form whose JSON Schema is written by hand, for titles of choices and for defaults.
    #[must_use]
    pub fn with_schema(name: impl Into<String>, message: impl Into<String>, schema: &Value) -> Self {
        Self { name: name.into(), message: message.into(), schema: schema.to_string(), answer: PhantomData }
    }
}

impl<T: DeserializeOwned> Question for Form<T> {
    type Answer = Decision<T>;

    fn named(&self) -> NamedQuestion {
        let form = wit::Form { message: self.message.clone(), schema: self.schema.clone() };
        NamedQuestion { name: self.name.clone(), question: wit::Question::Form(form) }
    }

    fn read(&self, answer: wit::Answer) -> Result<Decision<T>, Error> {
        let wit::Answer::Form(decision) = answer else { return Err(other_kind(&self.name)) };
        Ok(match decision {
            wit::Decision::Accepted(json) => Decision::Accepted(
                serde_json::from_str(&json).map_err(|error| Error::Unexpected(error.to_string()))?,
            ),
            wit::Decision::Declined => Decision::Declined,
            wit::Decision::Cancelled => Decision::Cancelled,
        })
    }
}

/// A page for the person to open: for what must not pass through a client, such as a sign-in.
#[derive(Clone, Debug)]
pub struct Link {
    /// What its answer is kept under: unique in the call.
    pub name: String,
    /// What it is about, for the person.
    pub message: String,
    /// An `https:` URL at a host that is granted.
    pub url: String,
}

impl Question for Link {
    type Answer = Decision<()>;

    fn named(&self) -> NamedQuestion {
        let link = wit::Link { message: self.message.clone(), url: self.url.clone() };
        NamedQuestion { name: self.name.clone(), question: wit::Question::Link(link) }
    }

    fn read(&self, answer: wit::Answer) -> Result<Decision<()>, Error> {
        match answer {
            wit::Answer::Link(wit::Decision::Accepted(_)) => Ok(Decision::Accepted(())),
            wit::Answer::Link(wit::Decision::Declined) => Ok(Decision::Declined),
            wit::Answer::Link(wit::Decision::Cancelled) => Ok(Decision::Cancelled),
            _ => Err(other_kind(&self.name)),
        }
    }
}

/// A question to the client's model.
#[derive(Clone, Debug)]
pub struct Sample {
    name: String,
    sample: wit::Sample,
}

/// Tokens of an answer, unless a question says otherwise.
const MAX_TOKENS: u32 = 1_000;

impl Sample {
    /// A question of one text. The name is what its answer is kept under: unique in the call.
    #[must_use]
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> Self {
        let sample = wit::Sample {
            turns: Vec::new(),
            system: None,
            max_tokens: MAX_TOKENS,
            temperature: None,
            stop: Vec::new(),
        };
        Self { name: name.into(), sample }.user(Said::Text(text.into()))
    }

    /// Adds what the user says.
    #[must_use]
    pub fn user(mut self, said: Said) -> Self {
        self.sample.turns.push(wit::Turn { role: wit::Role::User, said });
        self
    }

    /// Adds what the model said before.
    #[must_use]
    pub fn assistant(mut self, said: Said) -> Self {
        self.sample.turns.push(wit::Turn { role: wit::Role::Assistant, said });
        self
    }

    /// With these instructions for the model.
    #[must_use]
    pub fn system(mut self, system: impl Into<String>) -> Self {
        self.sample.system = Some(system.into());
        self
    }

    /// With an answer of at most so many tokens. Default: 1,000.
    #[must_use]
    pub const fn max_tokens(mut self, max_tokens: u32) -> Self {
        self.sample.max_tokens = max_tokens;
        self
    }

    /// With this temperature.
    #[must_use]
    pub const fn temperature(mut self, temperature: f64) -> Self {
        self.sample.temperature = Some(temperature);
        self
    }

    /// The answer ends where this text would begin.
    #[must_use]
    pub fn stop(mut self, text: impl Into<String>) -> Self {
        self.sample.stop.push(text.into());
        self
    }
}

impl Question for Sample {
    type Answer = Sampled;

    fn named(&self) -> NamedQuestion {
        NamedQuestion { name: self.name.clone(), question: wit::Question::Sample(self.sample.clone()) }
    }

    fn read(&self, answer: wit::Answer) -> Result<Sampled, Error> {
        if let wit::Answer::Sample(sampled) = answer { Ok(sampled) } else { Err(other_kind(&self.name)) }
    }
}

/// The folders that the client works in.
#[derive(Clone, Debug)]
pub struct Roots {
    name: String,
}

impl Roots {
    /// Asks for them. The name is what the answer is kept under: unique in the call.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into() }
    }
}

impl Question for Roots {
    type Answer = Vec<Root>;

    fn named(&self) -> NamedQuestion {
        NamedQuestion { name: self.name.clone(), question: wit::Question::Roots }
    }

    fn read(&self, answer: wit::Answer) -> Result<Vec<Root>, Error> {
        if let wit::Answer::Roots(roots) = answer { Ok(roots) } else { Err(other_kind(&self.name)) }
    }
}

impl Said {
    /// A text.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    /// An image, with its media type such as `image/png`.
    #[must_use]
    pub fn image(data: impl Into<Vec<u8>>, mime_type: impl Into<String>) -> Self {
        Self::Image(Media { data: data.into(), mime_type: mime_type.into() })
    }
}

impl Sampled {
    /// All text of it, lines joined.
    #[must_use]
    pub fn text(&self) -> String {
        let texts = self.said.iter().filter_map(|said| match said {
            Said::Text(text) => Some(text.as_str()),
            _ => None,
        });
        texts.collect::<Vec<_>>().join("\n")
    }
}

fn other_kind(name: &str) -> Error {
    Error::Unexpected(format!("`{name}` was answered as a question of another kind"))
}
