//! What a capability is asked for beside its tools: documents, prompts, and proposals for what a person types.

use std::collections::BTreeMap;

use crate::client::Client;
use crate::policy::Identity;
use crate::registry::CapabilityName;

/// Who asks one capability for what is no tool. Nothing can be changed by it.
#[derive(Clone, Debug)]
pub struct Visit {
    /// Who asks.
    pub caller: Identity,
    /// What is asked.
    pub capability: CapabilityName,
    /// The other end.
    pub client: Client,
    /// The caller's language, as a BCP 47 tag.
    pub locale: Option<String>,
}

/// What a person is typing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Draft {
    /// What it is for.
    pub subject: Subject,
    /// The name of the argument or variable that is being typed.
    pub name: String,
    /// What there is of it.
    pub value: String,
    /// What is known of the others, by their names.
    pub others: BTreeMap<String, String>,
}

/// What a draft is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Subject {
    /// The prompt of this name.
    Prompt(String),
    /// The resource template of this form, as the manifest has it.
    Template(String),
}
