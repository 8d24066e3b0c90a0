//! Why nothing was asked, in words for the agent.

use std::fmt;

use super::{Feature, wit};

/// Why nothing was asked.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// The client cannot be asked this.
    NotAvailable(Feature),
    /// The question cannot be asked as it is: why.
    Invalid(String),
    /// The call has changed something already: ask first.
    TooLate,
    /// Too many questions, or too many rounds of them.
    Limit,
    /// An answer that does not fit its type. It comes from this SDK, not from the host.
    Unexpected(String),
}

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotAvailable(feature) => {
                let what = match feature {
                    Feature::Form => "show a form to the person",
                    Feature::Link => "show a page to the person",
                    Feature::Sample => "ask its model",
                    Feature::Roots => "name its folders",
                };
                write!(formatter, "the client cannot {what}")
            }
            Self::Invalid(why) => write!(formatter, "the question cannot be asked: {why}"),
            Self::TooLate => formatter.write_str("after a change nothing can be asked"),
            Self::Limit => formatter.write_str("the call asks too much"),
            Self::Unexpected(why) => write!(formatter, "the answer is not what was asked for: {why}"),
        }
    }
}

impl std::error::Error for Error {}

impl From<wit::Error> for Error {
    fn from(error: wit::Error) -> Self {
        match error {
            wit::Error::NotAvailable(feature) => Self::NotAvailable(feature),
            wit::Error::Invalid(why) => Self::Invalid(why),
            wit::Error::TooLate => Self::TooLate,
            wit::Error::Limit => Self::Limit,
        }
    }
}
