//! The contract's types and those of files, one for one.

use super::file::{File, Refusal};
use crate::runtime::sandbox;

pub(super) fn file(file: &File) -> sandbox::File {
    sandbox::File {
        name: file.name.to_string(),
        uri: file.address(),
        bytes: file.bytes,
        media_type: file.name.media_type().to_owned(),
        written_at: u64::try_from(file.written_at).unwrap_or_default(),
    }
}

/// Bytes of a file's description.
pub(super) fn size(file: &File) -> u64 {
    (file.name.as_str().len() * 2) as u64
}

pub(super) fn error(refusal: Refusal) -> sandbox::Error {
    match refusal {
        Refusal::InvalidName(why) => sandbox::Error::InvalidName(why.to_string()),
        Refusal::NotFound(file) => sandbox::Error::NotFound(file),
        Refusal::Collision(file) => sandbox::Error::Collision(file),
        Refusal::Quota(why) => sandbox::Error::Quota(why),
        Refusal::ReadOnly => sandbox::Error::ReadOnly,
        Refusal::NotAvailable => sandbox::Error::NotAvailable,
        Refusal::Unavailable => sandbox::Error::Unavailable,
    }
}
