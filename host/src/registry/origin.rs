//! Where installed bytes came from, and what was said against their release since. Remembered here; whether a
//! signature holds, and what a registry may say, is decided where they are verified.

use semver::Version;

use super::CapabilityName;
use crate::error::{Error, ErrorKind};

/// Who vouched for bytes that came from a registry, as it was verified when they were pinned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// The registry, by its name in the settings.
    pub registry: String,
    /// The id of the key that signed them.
    pub key: String,
    /// Who reviewed them.
    pub reviewer: String,
    /// When, in milliseconds since 1970.
    pub reviewed_at: i64,
}

/// What was said against a release. The worst first: where several spoke, the first counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Against {
    /// It must not run, nowhere.
    Revoked,
    /// Nobody should install it any more; who has it keeps it.
    Yanked,
}

impl Against {
    /// The one word for it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Revoked => "revoked",
            Self::Yanked => "yanked",
        }
    }

    /// The one of this word.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        [Self::Revoked, Self::Yanked].into_iter().find(|known| known.as_str() == word)
    }
}

/// A release that was withdrawn: by its publisher, by a registry's owner, or for this home alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recall {
    /// What was said.
    pub against: Against,
    /// Why, in the words of whoever said it.
    pub reason: Option<String>,
    /// The registry that said it; `None` for the person of this home.
    pub source: Option<String>,
    /// When, in milliseconds since 1970.
    pub at: i64,
}

impl Recall {
    /// What is said to whoever would install or run the release. Who said it and why is for people alone: it is
    /// somebody else's text.
    #[must_use]
    pub fn refusal(&self, name: &CapabilityName, version: &Version) -> Error {
        let (kind, then) = match self.against {
            Against::Revoked => {
                (ErrorKind::Revoked, format!("remit upgrade {name}@VERSION, or remit uninstall {name}"))
            }
            Against::Yanked => (ErrorKind::Yanked, format!("choose another version of {name}")),
        };
        Error::new(kind, format!("version {version} of `{name}` was {}", self.against.as_str()))
            .hint(format!("{}\n{then}", self.account()))
    }

    /// By whom, and why: `revoked by the registry \`main\`: it leaks`.
    #[must_use]
    pub fn account(&self) -> String {
        let by = match &self.source {
            Some(registry) => format!("by the registry `{registry}`"),
            None => "here".to_owned(),
        };
        let reason = self.reason.as_ref().map_or(String::new(), |reason| format!(": {reason}"));
        format!("{} {by}{reason}", self.against.as_str())
    }
}
