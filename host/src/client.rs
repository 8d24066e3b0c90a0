//! The other end of a call while it runs: what it can be asked, what it has answered, and what it is told.
//!
//! A call asks nobody by itself. It ends with [`Wants::Answers`], and whoever made it asks, in the way of its
//! door, and calls again with the answers. So no guest waits while a person thinks. The default is a client
//! that can be asked nothing and is told nothing.

use std::collections::{BTreeMap, BTreeSet};

use ring::digest::{Context, SHA256};
use tokio::sync::mpsc;

use crate::answer::Plan;
pub use crate::runtime::ask::{Answer, Feature, NamedQuestion, Question};
use crate::telemetry::Parent;

/// Bytes of a conversation's key: two share one with a chance of one in 2^128.
const KEY_BYTES: usize = 16;

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
    /// The conversation that it is in: files are kept for it.
    pub conversation: Conversation,
    /// Its span, in which a trace shows the call. It goes to the operator's collector, and nowhere else.
    pub parent: Option<Parent>,
}

/// Which conversation of its principal a call belongs to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Conversation {
    /// None that anybody named: all such calls of a principal share one.
    #[default]
    Own,
    /// The session of a legacy client, by its id.
    Session(String),
    /// One that the client gave a name.
    Named(String),
}

impl Conversation {
    /// The word for its kind.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Own => "own",
            Self::Session(_) => "session",
            Self::Named(_) => "named",
        }
    }

    /// What it is kept under: 32 characters that no other conversation has, of this principal or another, and that
    /// tell neither an id of a session nor a client's word.
    #[must_use]
    pub fn key(&self, principal: &str) -> String {
        let word = match self {
            Self::Own => "",
            Self::Session(id) | Self::Named(id) => id,
        };
        let mut context = Context::new(&SHA256);
        for part in [self.kind(), principal, word] {
            // With their lengths, so that no two lists of parts are the same bytes.
            context.update(&(part.len() as u64).to_be_bytes());
            context.update(part.as_bytes());
        }
        context.finish().as_ref()[..KEY_BYTES].iter().map(|byte| format!("{byte:02x}")).collect()
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn db_15_no_two_conversations_have_one_key() {
        let word = |text: &str| text.to_owned();
        let all = [
            (Conversation::Own, "a"),
            (Conversation::Own, "b"),
            (Conversation::Own, "ab"),
            (Conversation::Session(word("")), "a"),
            (Conversation::Session(word("b")), "a"),
            (Conversation::Named(word("b")), "a"),
            (Conversation::Named(word("")), "ab"),
            (Conversation::Named(word("a")), "b"),
            (Conversation::Named(word("own")), "a"),
        ];
        let keys: BTreeSet<String> =
            all.iter().map(|(conversation, principal)| conversation.key(principal)).collect();
        assert_eq!(keys.len(), all.len());
        assert!(keys.iter().all(|key| key.len() == 32 && key.bytes().all(|byte| byte.is_ascii_hexdigit())));
        assert_eq!(Conversation::Own.key("a"), Conversation::default().key("a"));
    }
}
