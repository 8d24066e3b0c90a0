//! Where a release is between its publisher and everybody.
//!
//! A release that nobody sent to a registry is private: it is a file of its publisher's, and no registry knows of it.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::signing::{Verified, WithdrawalKind};

/// Where a release is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// It waits for a decision.
    InReview,
    /// A reviewer said no. Other bytes may come under the same version.
    Rejected,
    /// Everybody can install it.
    Published,
    /// Nobody should install it any more.
    Yanked,
    /// It must not run.
    Revoked,
    /// Its bytes are gone; its version stays taken.
    Removed,
}

impl State {
    /// The state of a release that was verified.
    #[must_use]
    pub fn of(verified: &Verified) -> Self {
        match verified.against {
            Some((WithdrawalKind::Revoke, ..)) => Self::Revoked,
            Some((WithdrawalKind::Remove, ..)) => Self::Removed,
            Some((WithdrawalKind::Yank, ..)) => Self::Yanked,
            None if verified.approved.is_some() => Self::Published,
            None if verified.rejected.is_some() => Self::Rejected,
            None => Self::InReview,
        }
    }

    /// Whether other bytes may still come under the version.
    #[must_use]
    pub fn is_open(self) -> bool {
        matches!(self, Self::InReview | Self::Rejected)
    }

    /// The word for it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::InReview => "in review",
            Self::Rejected => "rejected",
            Self::Published => "published",
            Self::Yanked => "yanked",
            Self::Revoked => "revoked",
            Self::Removed => "removed",
        }
    }
}

impl fmt::Display for State {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}
