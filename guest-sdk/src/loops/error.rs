//! Why nothing was done, in words for the agent.

use std::fmt;

use super::wit;

/// Why nothing was done.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// There is no such loop, or this is not a run of one.
    NotFound(String),
    /// The pattern, zone or period cannot be used: why.
    InvalidSchedule(String),
    /// The name, tool, input or prompt cannot be used: why.
    InvalidDefinition(String),
    /// There is a loop of this name already.
    AlreadyExists(String),
    /// More loops, or a shorter period, than granted.
    Limit(String),
    /// The loop came with the manifest: it can be paused, not changed or deleted.
    Preset,
    /// The tool is declared to change nothing.
    ReadOnly,
    /// The host cannot do it now.
    Unavailable,
    /// JSON that does not fit the type. It comes from this SDK, not from the host.
    Json(String),
}

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotFound(why)
            | Self::InvalidSchedule(why)
            | Self::InvalidDefinition(why)
            | Self::AlreadyExists(why)
            | Self::Limit(why) => formatter.write_str(why),
            Self::Preset => {
                formatter.write_str("the loop came with the capability: it can be paused, not changed or deleted")
            }
            Self::ReadOnly => formatter.write_str("the tool is declared to change nothing"),
            Self::Unavailable => formatter.write_str("loops cannot be read or changed now"),
            Self::Json(why) => write!(formatter, "the JSON is not what was expected: {why}"),
        }
    }
}

impl std::error::Error for Error {}

impl From<wit::Error> for Error {
    fn from(error: wit::Error) -> Self {
        match error {
            wit::Error::NotFound(name) => Self::NotFound(name),
            wit::Error::InvalidSchedule(why) => Self::InvalidSchedule(why),
            wit::Error::InvalidDefinition(why) => Self::InvalidDefinition(why),
            wit::Error::AlreadyExists(name) => Self::AlreadyExists(name),
            wit::Error::Limit(why) => Self::Limit(why),
            wit::Error::Preset => Self::Preset,
            wit::Error::ReadOnly => Self::ReadOnly,
            wit::Error::Unavailable => Self::Unavailable,
        }
    }
}
