//! The `ask` namespace: questions to the person or the model at the other end of a call.
//!
//! It decides which questions may be asked, and whether an answer is one. It asks nobody: a question that has no
//! answer yet ends the run, and whoever made the call asks and calls again ([0017](../../../docs/design)). Whose
//! word an answer is, the door knows that brought it.

mod form;
mod host;
mod question;
mod wire;

use std::collections::{BTreeMap, BTreeSet};

use crate::client::{Ability, Client};
use crate::runtime::Stop;
use crate::runtime::ask::{Answer, Decision, Error, Feature, NamedQuestion, Question};

pub use self::question::Terms;
pub(super) use host::{INTERFACE, link};

/// Questions that are asked at once: more is a form that nobody fills in.
const QUESTIONS: usize = 10;

/// Rounds of questions of one call. Each runs the guest once more.
const ROUNDS: u32 = 8;

/// Characters of a question's name.
const NAME_CHARS: usize = 64;

/// Folders of one answer.
const ROOTS: usize = 1_000;

/// What one call holds of it. The default belongs to a call that can ask nobody.
#[derive(Debug, Default)]
pub struct Ask {
    abilities: BTreeSet<Ability>,
    answers: BTreeMap<String, Answer>,
    rounds: u32,
    /// What the run ended for.
    open: Vec<NamedQuestion>,
    /// What the guest wanted to ask and the client cannot be asked.
    lacking: BTreeSet<Ability>,
}

impl Ask {
    /// For one call of this client's.
    #[must_use]
    pub fn new(client: &Client) -> Self {
        Self {
            abilities: client.features.clone(),
            answers: client.answers.clone(),
            rounds: client.rounds,
            ..Self::default()
        }
    }

    /// The questions that the run ended for. Their texts are clean.
    #[must_use]
    pub fn into_open(self) -> Vec<NamedQuestion> {
        self.open
    }

    /// What the guest wanted to ask and the client cannot be asked.
    #[must_use]
    pub fn lacking(&self) -> &BTreeSet<Ability> {
        &self.lacking
    }

    fn available(&self) -> Vec<Feature> {
        self.abilities.iter().map(|ability| Feature::from(*ability)).collect()
    }

    /// Gives the answers, in the order of the questions. An outer error ends the run: somebody has to be asked.
    fn ask(
        &mut self,
        questions: Vec<NamedQuestion>,
        has_changed: bool,
        terms: &Terms<'_>,
    ) -> Result<Result<Vec<Answer>, Error>, Stop> {
        let questions = match self.check(questions, has_changed, terms) {
            Ok(questions) => questions,
            Err(error) => return Ok(Err(error)),
        };
        let answer = |asked: &NamedQuestion| {
            self.answers.get(&asked.name).filter(|answer| answers(&asked.question, answer)).cloned()
        };
        let (open, answered): (Vec<_>, Vec<_>) =
            questions.into_iter().map(|asked| (answer(&asked), asked)).partition(|(answer, _)| answer.is_none());
        if open.is_empty() {
            return Ok(Ok(answered.into_iter().filter_map(|(answer, _)| answer).collect()));
        }
        if self.rounds >= ROUNDS {
            return Ok(Err(Error::Limit));
        }
        self.open = open.into_iter().map(|(_, asked)| asked).collect();
        Err(Stop::Asks)
    }

    /// The questions as they may leave, or why they may not.
    fn check(
        &mut self,
        questions: Vec<NamedQuestion>,
        has_changed: bool,
        terms: &Terms<'_>,
    ) -> Result<Vec<NamedQuestion>, Error> {
        if questions.len() > QUESTIONS {
            return Err(Error::Limit);
        }
        if has_changed {
            return Err(Error::TooLate);
        }
        let mut names = BTreeSet::new();
        for NamedQuestion { name, question } in &questions {
            check_name(name)?;
            if !names.insert(name) {
                return Err(Error::Invalid(format!("two questions are named `{name}`")));
            }
            let feature = feature(question);
            if !self.abilities.contains(&feature.into()) {
                self.lacking.insert(feature.into());
                return Err(Error::NotAvailable(feature));
            }
        }
        let clean = |NamedQuestion { name, question }| {
            let question = question::clean(question, terms)
                .map_err(|why| Error::Invalid(format!("`{name}`: {why}")))?;
            Ok(NamedQuestion { name, question })
        };
        questions.into_iter().map(clean).collect()
    }
}

fn check_name(name: &str) -> Result<(), Error> {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    if !name.is_empty() && name.len() <= NAME_CHARS && name.bytes().all(fits) {
        return Ok(());
    }
    Err(Error::Invalid(format!("a question's name is up to {NAME_CHARS} letters, digits, `-`, `_` and `.`")))
}

/// What a client needs to be able to be asked.
fn feature(question: &Question) -> Feature {
    match question {
        Question::Form(_) => Feature::Form,
        Question::Link(_) => Feature::Link,
        Question::Sample(_) => Feature::Sample,
        Question::Roots => Feature::Roots,
    }
}

/// Whether an answer answers this question. One that does not is as good as none: it is asked again.
fn answers(question: &Question, answer: &Answer) -> bool {
    match (question, answer) {
        (Question::Form(form), Answer::Form(Decision::Accepted(filled))) => form::accepts(&form.schema, filled),
        (Question::Link(_), Answer::Link(Decision::Accepted(filled))) => filled == form::NOTHING,
        (Question::Form(_), Answer::Form(_)) | (Question::Link(_), Answer::Link(_)) => true,
        (Question::Sample(_), Answer::Sample(sampled)) => !sampled.said.is_empty(),
        (Question::Roots, Answer::Roots(roots)) => {
            roots.len() <= ROOTS && roots.iter().all(|root| root.uri.starts_with("file://"))
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests;
