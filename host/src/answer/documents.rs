//! The answers of a capability that are no tool's: documents, prompts and proposals.

use super::{Content, Contents};

/// One document, or one of several at one address. Redacted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Document {
    /// Its address.
    pub uri: String,
    /// Its media type.
    pub mime_type: Option<String>,
    /// What is in it.
    pub contents: Contents,
}

/// Prepared messages. Redacted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prompt {
    /// What they are good for.
    pub description: Option<String>,
    /// In order.
    pub messages: Vec<Message>,
}

/// One prepared message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Whose it is.
    pub role: Role,
    /// What it says.
    pub content: Content,
}

/// Whose a message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The person's.
    User,
    /// The model's.
    Assistant,
}

/// Proposals for what a person is typing, the best first. Redacted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Proposals {
    /// At most 100.
    pub values: Vec<String>,
    /// How many there are in all, where that is known.
    pub total: Option<u32>,
    /// Whether there are more than these.
    pub more: bool,
}
