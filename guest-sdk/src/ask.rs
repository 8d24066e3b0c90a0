//! Questions to the person or the model at the other end of a call, over `wit/ask.wit`.
//!
//! A call that asks ends there, and runs again from its beginning once the answers are in; asked for the same names
//! again it gets them. So ask before you change anything: after a change asking is refused.
//!
//! ```
//! use remit_sdk::ask::{self, Decision, Form, Sample};
//! # use remit_sdk::serde_json::json;
//!
//! /// Whom to invite.
//! #[remit_sdk::data]
//! struct Guest {
//!     /// Their name.
//!     name: String,
//!     vegetarian: bool,
//! }
//!
//! # fn main() -> Result<(), remit_sdk::Failure> {
//! # let answers = remit_sdk::testing::client().accepts("guest", &json!({ "name": "Ada", "vegetarian": true }));
//! # let _client = answers.says("dish", "Ratatouille").says("greeting", "Welcome!");
//! let Decision::Accepted(guest) = ask::form::<Guest>("guest", "Who is coming?")? else {
//!     return Err("nobody was invited".into());
//! };
//! let dish = ask::sample(&Sample::new("dish", "Name one dish."))?.text();
//! // Several at once save the person a round:
//! let (again, greeting) = ask::all((
//!     Form::<Guest>::new("guest", "Who is coming?"),
//!     Sample::new("greeting", "Greet a guest in one line.").max_tokens(50),
//! ))?;
//! # assert_eq!((guest.name.as_str(), guest.vegetarian, dish.as_str()), ("Ada", true, "Ratatouille"));
//! # assert!(again.accepted().is_some() && greeting.text() == "Welcome!");
//! # Ok(()) }
//! ```

mod error;
mod question;

use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::Schema;
use crate::bindings::remit::capability::ask as wit;
pub use crate::bindings::remit::capability::ask::{Feature, Media, NamedQuestion, Root, Said, Sampled};
#[cfg(not(target_arch = "wasm32"))]
use crate::testing::client as host;
#[cfg(target_arch = "wasm32")]
use wit as host;

pub use error::Error;
pub use question::{Form, Link, Question, Roots, Sample};

/// What a person decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision<T> {
    /// They filled it in, or opened it.
    Accepted(T),
    /// They said no.
    Declined,
    /// They closed it without a decision.
    Cancelled,
}

impl<T> Decision<T> {
    /// What was accepted, if anything.
    pub fn accepted(self) -> Option<T> {
        if let Self::Accepted(value) = self { Some(value) } else { None }
    }
}

/// Shows a form to the person. The name is what its answer is kept under: unique in the call.
pub fn form<T: Schema + DeserializeOwned>(name: &str, message: &str) -> Result<Decision<T>, Error> {
    one(&Form::<T>::new(name, message))
}

/// Shows a form whose JSON Schema is written by hand, for titles of choices and for defaults.
pub fn form_with_schema(name: &str, message: &str, schema: &Value) -> Result<Decision<Value>, Error> {
    one(&Form::with_schema(name, message, schema))
}

/// Shows a page to the person: an `https:` URL at a host that is granted.
pub fn link(name: &str, message: &str, url: &str) -> Result<Decision<()>, Error> {
    one(&Link { name: name.to_owned(), message: message.to_owned(), url: url.to_owned() })
}

/// Asks the client's model.
pub fn sample(sample: &Sample) -> Result<Sampled, Error> {
    one(sample)
}

/// Asks for the folders that the client works in.
pub fn roots(name: &str) -> Result<Vec<Root>, Error> {
    one(&Roots::new(name))
}

/// What the client of this call can be asked.
#[must_use]
pub fn available() -> Vec<Feature> {
    host::available()
}

/// Whether the client of this call can be asked this.
#[must_use]
pub fn can(feature: Feature) -> bool {
    available().contains(&feature)
}

/// Asks two, three or four questions at once.
pub fn all<Q: Questions>(questions: Q) -> Result<Q::Answers, Error> {
    questions.ask()
}

/// Questions that are asked at once: a tuple of them.
pub trait Questions {
    /// The answers, in the order of the questions.
    type Answers;

    /// Asks them.
    fn ask(self) -> Result<Self::Answers, Error>;
}

macro_rules! tuples {
    ($(($($question:ident: $index:tt),*);)*) => {
        $(impl<$($question: Question),*> Questions for ($($question,)*) {
            type Answers = ($($question::Answer,)*);

            fn ask(self) -> Result<Self::Answers, Error> {
                let mut answers = host::ask(&[$(self.$index.named()),*])?.into_iter();
                Ok(($(self.$index.read(answers.next().ok_or_else(missing)?)?,)*))
            }
        })*
    };
}

tuples! {
    (A: 0, B: 1);
    (A: 0, B: 1, C: 2);
    (A: 0, B: 1, C: 2, D: 3);
}

fn one<Q: Question>(question: &Q) -> Result<Q::Answer, Error> {
    let answer = host::ask(&[question.named()])?.into_iter().next();
    question.read(answer.ok_or_else(missing)?)
}

fn missing() -> Error {
    Error::Unexpected("it is missing".to_owned())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::testing;

    #[test]
    fn a_client_that_was_not_played_can_be_asked_nothing() {
        assert_eq!(available(), []);
        let refused = form_with_schema("a", "A?", &json!({ "type": "object", "properties": {} }));
        assert_eq!(refused, Err(Error::NotAvailable(Feature::Form)));
        assert_eq!(roots("a"), Err(Error::NotAvailable(Feature::Roots)));
        assert!(!can(Feature::Sample));
    }

    #[test]
    fn each_kind_of_question_has_its_own_answer() {
        let client =
            testing::client().declines("page").cancels("form").says("model", "42").roots("roots", &["file:///a"]);
        assert_eq!(link("page", "Sign in", "https://example.com/"), Ok(Decision::Declined));
        let form = form_with_schema("form", "A?", &json!({ "type": "object", "properties": {} }));
        assert_eq!(form, Ok(Decision::Cancelled));
        let asked = Sample::new("model", "What?").system("Be short.").max_tokens(5).temperature(0.5).stop("\n");
        assert_eq!(sample(&asked).map(|sampled| sampled.text()), Ok("42".to_owned()));
        let (folders, again) = all((Roots::new("roots"), asked)).expect("answers");
        assert_eq!((folders[0].uri.as_str(), again.text().as_str()), ("file:///a", "42"));
        let names: Vec<String> = client.asked().into_iter().map(|question| question.name).collect();
        assert_eq!(names, ["page", "form", "model", "roots", "model"]);
    }

    #[test]
    fn an_answer_of_another_shape_is_an_error() {
        let _client = testing::client().accepts("a", &json!({ "b": 1 })).says("c", "text");
        let refused = form_with_schema("c", "?", &json!({}));
        assert!(matches!(refused, Err(Error::Unexpected(_))), "{refused:?}");
    }
}
