//! Why nothing was read or changed, in words for the agent.

use std::fmt;

use super::wit;

/// Why nothing was read or changed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// The text is no name of a file: why.
    InvalidName(String),
    /// There is no such file, or it is not this capability's to read.
    NotFound(String),
    /// This file is in the way.
    Collision(String),
    /// More files or bytes than there may be.
    Quota(String),
    /// The tool is declared to change nothing.
    ReadOnly,
    /// The sandbox is not granted.
    NotAvailable,
    /// The host cannot read or write now.
    Unavailable,
}

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InvalidName(why) | Self::Quota(why) => formatter.write_str(why),
            Self::NotFound(file) => write!(formatter, "there is no file `{file}`"),
            Self::Collision(file) => write!(formatter, "the file `{file}` is in the way: choose another name"),
            Self::ReadOnly => formatter.write_str("the tool is declared to change nothing"),
            Self::NotAvailable => {
                formatter.write_str("files of the conversation are not available: a person has to grant `sandbox`")
            }
            Self::Unavailable => formatter.write_str("files cannot be read or written now"),
        }
    }
}

impl std::error::Error for Error {}

impl From<wit::Error> for Error {
    fn from(error: wit::Error) -> Self {
        match error {
            wit::Error::InvalidName(why) => Self::InvalidName(why),
            wit::Error::NotFound(file) => Self::NotFound(file),
            wit::Error::Collision(file) => Self::Collision(file),
            wit::Error::Quota(why) => Self::Quota(why),
            wit::Error::ReadOnly => Self::ReadOnly,
            wit::Error::NotAvailable => Self::NotAvailable,
            wit::Error::Unavailable => Self::Unavailable,
        }
    }
}
