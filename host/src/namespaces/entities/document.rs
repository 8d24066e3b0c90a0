//! Documents and their changes: the words that guests, the store and people share.

use crate::error::{Error, ErrorKind};

/// One document as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Document {
    /// Its key inside the entity.
    pub key: String,
    /// JSON text.
    pub value: String,
    /// Grows with each change of the capability's documents, and never repeats.
    pub version: u64,
    /// When it was changed, in milliseconds since 1970.
    pub changed_at: i64,
}

impl Document {
    /// The bytes that it counts for.
    #[must_use]
    pub fn size(&self) -> u64 {
        (self.key.len() + self.value.len()) as u64
    }
}

/// A part of a list, in the order of the keys' bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Page {
    /// The documents.
    pub documents: Vec<Document>,
    /// The key after which the next part begins; `None` at the end.
    pub next: Option<String>,
}

/// What must be there for a change to be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expected {
    /// Anything, or nothing.
    Any,
    /// No document.
    Absent,
    /// A document of this version.
    Version(u64),
}

/// What becomes of a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// It gets this value: JSON text.
    Put(String),
    /// It is removed. Removing what is not there changes nothing.
    Delete,
}

impl Action {
    /// The word in records.
    #[must_use]
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Put(_) => "put",
            Self::Delete => "delete",
        }
    }
}

/// One change of one document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The collection.
    pub entity: String,
    /// The document.
    pub key: String,
    /// What must be there.
    pub expected: Expected,
    /// What becomes of it.
    pub action: Action,
}

/// What came of one change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Made {
    /// The document has this version.
    Put(u64),
    /// It is gone since this version.
    Removed(u64),
    /// There was nothing to remove.
    Nothing,
}

/// Why nothing was read or changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The entity is not declared, or not granted.
    #[error("the entity `{0}` is not declared, or not granted")]
    NotAvailable(String),
    /// The key cannot be one.
    #[error("{0}")]
    InvalidKey(String),
    /// The value cannot be stored.
    #[error("{0}")]
    InvalidValue(String),
    /// Something else was there than expected.
    #[error("`{entity}` `{key}` was changed meanwhile")]
    Conflict {
        /// The collection.
        entity: String,
        /// The document.
        key: String,
        /// The version that is there; `None` for no document.
        actual: Option<u64>,
    },
    /// More than the capability may keep.
    #[error("{0}")]
    Quota(String),
    /// The tool is declared to change nothing.
    #[error("the tool is declared to change nothing")]
    ReadOnly,
    /// Not a cursor of this list.
    #[error("the cursor is not one of this list")]
    InvalidCursor,
    /// The disk is full, or broken.
    #[error("documents cannot be read or written now")]
    Unavailable,
}

impl From<Refusal> for Error {
    /// For people: a guest gets the variant of the contract.
    fn from(refusal: Refusal) -> Self {
        let kind = match refusal {
            Refusal::NotAvailable(_) | Refusal::ReadOnly => ErrorKind::NotAllowed,
            Refusal::InvalidKey(_) | Refusal::InvalidValue(_) | Refusal::InvalidCursor => ErrorKind::EntityInvalid,
            Refusal::Conflict { .. } => ErrorKind::EntityConflict,
            Refusal::Quota(_) => ErrorKind::EntityQuota,
            Refusal::Unavailable => ErrorKind::Store,
        };
        let error = Self::new(kind, refusal.to_string());
        match refusal {
            Refusal::Quota(_) => {
                error.hint("remove documents, or raise the limit under `[entities]` in `remit.toml`")
            }
            Refusal::Conflict { .. } => error.hint("look at what is there now, then decide again"),
            _ => error,
        }
    }
}
