//! Files and their changes: the words that guests, agents, the store and people share.

use super::name::{FileName, InvalidName};
use crate::error::{Error, ErrorKind};
use crate::registry::CapabilityName;

/// One file, without its bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// Whose it is.
    pub owner: CapabilityName,
    /// Its name there.
    pub name: FileName,
    /// How many bytes it has.
    pub bytes: u64,
    /// When it was written, in milliseconds since 1970.
    pub written_at: i64,
}

impl File {
    /// Where agents read it.
    #[must_use]
    pub fn address(&self) -> String {
        self.name.address(&self.owner)
    }
}

/// One change of a file as it is recorded, or planned in a dry run. Never its bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileRecord {
    /// The file's name.
    pub name: String,
    /// `write` or `delete`.
    pub action: String,
    /// Bytes of it; 0 for a removal.
    pub bytes: u64,
}

impl FileRecord {
    /// A file is there with so many bytes.
    #[must_use]
    pub fn written(name: &FileName, bytes: u64) -> Self {
        Self { name: name.to_string(), action: "write".to_owned(), bytes }
    }

    /// A file is gone.
    #[must_use]
    pub fn deleted(name: &FileName) -> Self {
        Self { name: name.to_string(), action: "delete".to_owned(), bytes: 0 }
    }
}

/// A file that changed, for those in its conversation who listen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileNews {
    /// Whose conversation it is.
    pub principal: String,
    /// The conversation's key.
    pub conversation: String,
    /// The capability whose file it is.
    pub owner: CapabilityName,
    /// The file.
    pub name: FileName,
    /// It was not there before, or is not any more.
    pub comes_or_goes: bool,
}

/// Why nothing was read or changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The text is no name.
    #[error(transparent)]
    InvalidName(#[from] InvalidName),
    /// There is none, or it is not the asker's to read: one answer for both.
    #[error("there is no file `{0}`")]
    NotFound(String),
    /// Another file is in the way.
    #[error("the file `{0}` is in the way")]
    Collision(String),
    /// More than there may be.
    #[error("{0}")]
    Quota(String),
    /// The tool is declared to change nothing.
    #[error("the tool is declared to change nothing")]
    ReadOnly,
    /// The namespace is not granted, or not any more.
    #[error("files of the conversation are not granted")]
    NotAvailable,
    /// The disk is full, or broken.
    #[error("files cannot be read or written now")]
    Unavailable,
}

impl From<Refusal> for Error {
    /// For people: a guest gets the variant of the contract.
    fn from(refusal: Refusal) -> Self {
        let kind = match refusal {
            Refusal::InvalidName(_) | Refusal::Collision(_) => ErrorKind::SandboxInvalid,
            Refusal::NotFound(_) => ErrorKind::SandboxNotFound,
            Refusal::Quota(_) => ErrorKind::SandboxQuota,
            Refusal::ReadOnly | Refusal::NotAvailable => ErrorKind::NotAllowed,
            Refusal::Unavailable => ErrorKind::Store,
        };
        Self::new(kind, refusal.to_string())
    }
}
