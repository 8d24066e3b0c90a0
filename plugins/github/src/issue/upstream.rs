//! What GitHub sends and takes, of which this capability reads and writes a part. Names and what may be
//! missing follow its public API description.

use remit_sdk::serde::{Deserialize, Serialize};

/// The answer to a search.
#[derive(Deserialize)]
#[serde(crate = "remit_sdk::serde")]
pub struct Found {
    pub total_count: u64,
    pub incomplete_results: bool,
    pub items: Vec<Issue>,
}

/// An issue, alone or in a list.
#[derive(Deserialize)]
#[serde(crate = "remit_sdk::serde")]
pub struct Issue {
    pub number: u64,
    pub title: String,
    pub state: String,
    pub state_reason: Option<String>,
    pub user: Option<User>,
    pub labels: Vec<Label>,
    pub assignees: Option<Vec<User>>,
    pub milestone: Option<Milestone>,
    #[serde(default)]
    pub locked: bool,
    pub comments: u64,
    pub pull_request: Option<PullRequest>,
    pub created_at: String,
    pub updated_at: String,
    pub closed_at: Option<String>,
    pub html_url: String,
    pub repository_url: String,
    pub body: Option<String>,
}

/// A comment of an issue.
#[derive(Deserialize)]
#[serde(crate = "remit_sdk::serde")]
pub struct Comment {
    pub user: Option<User>,
    pub created_at: String,
    pub updated_at: String,
    pub html_url: String,
    pub body: Option<String>,
}

/// A user.
#[derive(Deserialize)]
#[serde(crate = "remit_sdk::serde")]
pub struct User {
    pub login: String,
}

/// A milestone.
#[derive(Deserialize)]
#[serde(crate = "remit_sdk::serde")]
pub struct Milestone {
    pub title: String,
}

/// That an issue is a pull request.
#[derive(Deserialize)]
#[serde(crate = "remit_sdk::serde")]
pub struct PullRequest {}

/// A label: a name, or an object that has one.
#[derive(Deserialize)]
#[serde(crate = "remit_sdk::serde", untagged)]
pub enum Label {
    Name(String),
    Object { name: Option<String> },
}

impl Label {
    /// Its name.
    pub fn into_name(self) -> Option<String> {
        match self {
            Self::Name(name) => Some(name),
            Self::Object { name } => name,
        }
    }
}

/// What a new issue is made of.
#[derive(Serialize)]
#[serde(crate = "remit_sdk::serde")]
pub struct NewIssue<'a> {
    pub title: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub labels: Option<&'a [String]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub assignees: Option<&'a [String]>,
}
