//! A client at the other end: it answers what is asked, and hears how far a call is.
//!
//! In a call of [`super::call`] a question without an answer ends the run, and the run begins anew once the client has
//! answered, as on the host: a capability that does something before it asks does it twice, in a test too. A
//! function that a test calls itself is answered at once.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::rc::Rc;

use serde::Serialize;

use crate::bindings::remit::capability::ask::{
    Answer, Decision, Error, Feature, NamedQuestion, Question, Root, Said, Sampled,
};
use crate::progress::Report;

/// Rounds of questions in one call: the host's bound.
const ROUNDS: usize = 8;

/// What a client will answer, by the names of the questions.
#[derive(Default)]
struct Script {
    answers: BTreeMap<String, Answer>,
    features: Vec<Feature>,
    asked: Vec<NamedQuestion>,
}

/// A client that is played. It can be asked everything; each question needs an answer.
#[derive(Clone)]
pub struct Client(Rc<RefCell<Script>>);

/// What ends a run.
struct Round;

thread_local! {
    static CLIENT: RefCell<Option<Client>> = const { RefCell::new(None) };
    /// Answers of earlier rounds of the call that goes on. `None` outside one.
    static ANSWERED: RefCell<Option<BTreeMap<String, Answer>>> = const { RefCell::new(None) };
    static CHANGED: Cell<bool> = const { Cell::new(false) };
    static PROGRESS: RefCell<Vec<Report>> = const { RefCell::new(Vec::new()) };
}

/// A client for this thread from now on. Without one, the thread's client can be asked nothing.
#[must_use]
pub fn client() -> Client {
    let features = vec![Feature::Form, Feature::Link, Feature::Sample, Feature::Roots];
    let client = Client(Rc::new(RefCell::new(Script { features, ..Script::default() })));
    CLIENT.set(Some(client.clone()));
    client
}

/// The reports of this thread since this was last asked.
#[must_use]
pub fn progress() -> Vec<Report> {
    PROGRESS.take()
}

impl Client {
    /// It fills in a form with this, or opens a page.
    ///
    /// # Panics
    ///
    /// When the value cannot be written as JSON.
    #[must_use]
    pub fn accepts(self, name: &str, content: &impl Serialize) -> Self {
        let json = serde_json::to_string(content).unwrap_or_else(|error| panic!("not JSON: {error}"));
        self.answers(name, Answer::Form(Decision::Accepted(json)))
    }

    /// It says no to a form or a page.
    #[must_use]
    pub fn declines(self, name: &str) -> Self {
        self.answers(name, Answer::Form(Decision::Declined))
    }

    /// It closes a form or a page without a decision.
    #[must_use]
    pub fn cancels(self, name: &str) -> Self {
        self.answers(name, Answer::Form(Decision::Cancelled))
    }

    /// Its model says this.
    #[must_use]
    pub fn says(self, name: &str, text: &str) -> Self {
        let said = vec![Said::Text(text.to_owned())];
        let sampled = Sampled { said, model: "test".to_owned(), stop_reason: Some("endTurn".to_owned()) };
        self.answers(name, Answer::Sample(sampled))
    }

    /// It works in these folders.
    #[must_use]
    pub fn roots(self, name: &str, uris: &[&str]) -> Self {
        let roots = uris.iter().map(|uri| Root { uri: (*uri).to_owned(), name: None }).collect();
        self.answers(name, Answer::Roots(roots))
    }

    /// It cannot be asked this.
    #[must_use]
    pub fn without(self, feature: Feature) -> Self {
        self.0.borrow_mut().features.retain(|available| *available != feature);
        self
    }

    /// What it was asked, in order.
    #[must_use]
    pub fn asked(&self) -> Vec<NamedQuestion> {
        self.0.borrow().asked.clone()
    }

    fn answers(self, name: &str, answer: Answer) -> Self {
        self.0.borrow_mut().answers.insert(name.to_owned(), answer);
        self
    }

    fn answer(&self, question: &NamedQuestion) -> Answer {
        let mut script = self.0.borrow_mut();
        script.asked.push(question.clone());
        let answer = script.answers.get(&question.name).cloned();
        match (answer, &question.question) {
            // A decision fits a form and a page alike.
            (Some(Answer::Form(decision)), Question::Link(_)) => Answer::Link(decision),
            (Some(answer), _) => answer,
            (None, _) => panic!("no answer to `{}`: give one to `remit_sdk::testing::client()`", question.name),
        }
    }
}

/// Runs a call, anew after each round of questions.
pub(super) fn in_rounds<T>(run: impl Fn() -> T) -> T {
    ANSWERED.set(Some(BTreeMap::new()));
    for _ in 0..=ROUNDS {
        CHANGED.set(false);
        let ended = catch_unwind(AssertUnwindSafe(&run));
        match ended {
            Ok(result) => {
                ANSWERED.set(None);
                CHANGED.set(false);
                return result;
            }
            Err(panic) if panic.is::<Round>() => {}
            Err(panic) => {
                ANSWERED.set(None);
                resume_unwind(panic);
            }
        }
    }
    ANSWERED.set(None);
    panic!("the call asks in more than {ROUNDS} rounds");
}

/// Something was changed, so nothing can be asked any more.
pub(super) fn changed_if(changed: bool) {
    if changed {
        CHANGED.set(true);
    }
}

pub(crate) fn progress_report(report: Report) {
    PROGRESS.with_borrow_mut(|progress| progress.push(report));
}

pub(crate) fn available() -> Vec<Feature> {
    CLIENT
        .with_borrow(|client| client.as_ref().map(|client| client.0.borrow().features.clone()).unwrap_or_default())
}

pub(crate) fn ask(questions: &[NamedQuestion]) -> Result<Vec<Answer>, Error> {
    let available = available();
    let missing =
        questions.iter().map(|question| feature(&question.question)).find(|need| !available.contains(need));
    if let Some(feature) = missing {
        return Err(Error::NotAvailable(feature));
    }
    let client = CLIENT.with_borrow(Clone::clone).unwrap_or_else(client);
    let Some(mut answered) = ANSWERED.with_borrow(Clone::clone) else {
        return Ok(questions.iter().map(|question| client.answer(question)).collect());
    };
    if CHANGED.get() {
        return Err(Error::TooLate);
    }
    let known = |question: &NamedQuestion| answered.get(&question.name).cloned();
    if let Some(answers) = questions.iter().map(known).collect::<Option<Vec<_>>>() {
        return Ok(answers);
    }
    for question in questions {
        if !answered.contains_key(&question.name) {
            answered.insert(question.name.clone(), client.answer(question));
        }
    }
    ANSWERED.set(Some(answered));
    // No message: the run ends here on purpose.
    resume_unwind(Box::new(Round))
}

const fn feature(question: &Question) -> Feature {
    match question {
        Question::Form(_) => Feature::Form,
        Question::Link(_) => Feature::Link,
        Question::Sample(_) => Feature::Sample,
        Question::Roots => Feature::Roots,
    }
}
