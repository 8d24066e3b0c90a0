//! Why nothing was read or changed, in words for the agent.

use std::fmt;

use super::wit;

/// Why nothing was read or changed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// The entity is not declared, or not granted.
    NotAvailable(String),
    /// 1 to 512 bytes of text without control characters.
    InvalidKey(String),
    /// Not JSON, too long, or nested too deeply.
    InvalidValue(String),
    /// Something else was there than expected.
    Conflict {
        /// The entity.
        entity: String,
        /// The document's key.
        key: String,
        /// The version that is there; `None` for no document.
        actual: Option<u64>,
    },
    /// More documents or bytes than the capability may keep.
    Quota(String),
    /// The tool is declared to change nothing.
    ReadOnly,
    /// The cursor is not one of this list.
    InvalidCursor,
    /// The host cannot read or write now.
    Unavailable,
    /// JSON that does not fit the type. It comes from this SDK, not from the host.
    Json(String),
}

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotAvailable(entity) => {
                write!(formatter, "the entity `{entity}` is not available: a person has to grant it")
            }
            Self::InvalidKey(why) | Self::InvalidValue(why) | Self::Quota(why) => formatter.write_str(why),
            Self::Conflict { entity, key, .. } => {
                write!(formatter, "`{entity}` `{key}` was changed meanwhile: read it again and decide again")
            }
            Self::ReadOnly => formatter.write_str("the tool is declared to change nothing"),
            Self::InvalidCursor => {
                formatter.write_str("the cursor is not one of this list: begin again without one")
            }
            Self::Unavailable => formatter.write_str("documents cannot be read or written now"),
            Self::Json(why) => write!(formatter, "the JSON is not what was expected: {why}"),
        }
    }
}

impl std::error::Error for Error {}

impl From<wit::Error> for Error {
    fn from(error: wit::Error) -> Self {
        match error {
            wit::Error::NotAvailable(entity) => Self::NotAvailable(entity),
            wit::Error::InvalidKey(why) => Self::InvalidKey(why),
            wit::Error::InvalidValue(why) => Self::InvalidValue(why),
            wit::Error::Conflict(wit::Conflict { entity, key, actual }) => Self::Conflict { entity, key, actual },
            wit::Error::Quota(why) => Self::Quota(why),
            wit::Error::ReadOnly => Self::ReadOnly,
            wit::Error::InvalidCursor => Self::InvalidCursor,
            wit::Error::Unavailable => Self::Unavailable,
        }
    }
}
