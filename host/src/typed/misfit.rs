//! Where a value has no counterpart on the other side.

use std::fmt;

use crate::error::ErrorKind;

/// On which way a value was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// From the agent to the guest.
    Input,
    /// From the guest to the agent.
    Output,
}

/// Where and why a value cannot be passed on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct Misfit {
    /// On which way it was.
    pub side: Side,
    /// JSON Pointer (RFC 6901) of the part.
    pub path: String,
    /// What is wrong with it.
    pub reason: String,
}

impl Misfit {
    pub(super) fn new(side: Side, reason: impl Into<String>) -> Self {
        Self { side, path: String::new(), reason: reason.into() }
    }

    /// The same, seen from the value around it. Names of WIT hold neither `/` nor `~`.
    pub(super) fn inside(mut self, part: impl fmt::Display) -> Self {
        self.path = format!("/{part}{}", self.path);
        self
    }

    /// Whose fault it is.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match self.side {
            Side::Input => ErrorKind::InvalidInput,
            Side::Output => ErrorKind::InvalidOutput,
        }
    }
}

impl fmt::Display for Misfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.side {
            Side::Input => "the arguments",
            Side::Output => "the answer",
        };
        match self.path.as_str() {
            "" => write!(f, "{what}: {}", self.reason),
            path => write!(f, "{what} at `{path}`: {}", self.reason),
        }
    }
}
