//! The other end of a call while it runs: what it can be asked, what it has answered, and what it is told.
//!
//! A call asks nobody by itself. It ends with [`Wants::Answers`], and whoever made it asks, in the way of its
//! door, and calls again with the answers. So no guest waits while a person thinks. The default is a client
//! that can be asked nothing and is told nothing.

use std::collections::{BTreeMap, BTreeSet};

use tokio::sync::mpsc;

use crate::answer::Plan;
pub use crate::runtime::ask::{Answer, Feature, NamedQuestion, Question};
use crate::telemetry::Parent;

/// What the client of a call is to it.
#[derive(Clone, Debug, Default)]
pub struct Client {
    /// What it can be asked.
    pub features: BTreeSet<Ability>,
    /// What it has answered in earlier rounds, by the names of the questions.
    pub answers: BTreeMap<String, Answer>,
    /// Rounds of questions so far.
    pub rounds: u32,
    /// Hears how far the call is. What it is too slow for is dropped.
    pub news: Option<mpsc::Sender<News>>,
    /// Its span, in which a trace shows the call. It goes to the operator's collector, and nowhere else.
    pub parent: Option<Parent>,
}

/// What a client can be asked, in an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Ability {
    /// A form for the person.
    Form,
    /// A page for the person to open.
    Link,
    /// Words of its model.
    Sample,
    /// The folders that it works in.
    Roots,
}

/// What a call says while it runs. Its texts are redacted.
#[derive(Clone, Debug, PartialEq)]
pub enum News {
    /// How far it is.
    Progress {
        /// What is done; it grows.
        done: f64,
        /// Where it ends.
        total: Option<f64>,
        /// What happens now.
        message: Option<String>,
    },
    /// A line of its log.
    Log {
        /// How much it matters.
        level: crate::runtime::log::Level,
        /// One line.
        text: String,
    },
}

/// What a call without an answer wants, so that it can be made again.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Wants {
    /// Nothing: it failed.
    #[default]
    Nothing,
    /// Answers to these questions, beside those that it had.
    Answers(Vec<NamedQuestion>),
    /// A client that can be asked this.
    Abilities(BTreeSet<Ability>),
    /// A person's word for what the plan says.
    Confirmation(Unconfirmed),
}

/// A call that waits for a person's word.
#[derive(Clone, Debug, PartialEq)]
pub struct Unconfirmed {
    /// What the call would do, as far as a dry run can tell.
    pub plan: Plan,
    /// Confirms this very call, once: a sealed text.
    pub token: String,
    /// When the token ends, in milliseconds since 1970.
    pub expires_at: i64,
}

/// Whether what a call would do was confirmed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Confirmation {
    /// Not yet.
    #[default]
    Missing,
    /// By whoever shows this token.
    Token(String),
    /// By a person beforehand, for every call of this kind: a schedule that a person made.
    Standing,
}

impl From<Feature> for Ability {
    fn from(feature: Feature) -> Self {
        match feature {
            Feature::Form => Self::Form,
            Feature::Link => Self::Link,
            Feature::Sample => Self::Sample,
            Feature::Roots => Self::Roots,
        }
    }
}

impl From<Ability> for Feature {
    fn from(ability: Ability) -> Self {
        match ability {
            Ability::Form => Self::Form,
            Ability::Link => Self::Link,
            Ability::Sample => Self::Sample,
            Ability::Roots => Self::Roots,
        }
    }
}
