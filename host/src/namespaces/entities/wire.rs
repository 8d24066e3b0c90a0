//! The contract's types and those of documents, one for one.

use super::document::{Action, Change, Document, Expected, Made, Page, Refusal};
use crate::runtime::entities;

/// Bytes of one change that crossed from the guest.
pub(super) fn size(change: &entities::Change) -> usize {
    let value = match &change.action {
        entities::Action::Put(value) => value.len(),
        entities::Action::Delete => 0,
    };
    change.entity.len() + change.key.len() + value
}

pub(super) fn change(change: entities::Change) -> Change {
    Change {
        entity: change.entity,
        key: change.key,
        expected: expected(change.expected),
        action: match change.action {
            entities::Action::Put(value) => Action::Put(value),
            entities::Action::Delete => Action::Delete,
        },
    }
}

pub(super) fn expected(expected: entities::Expected) -> Expected {
    match expected {
        entities::Expected::Any => Expected::Any,
        entities::Expected::Absent => Expected::Absent,
        entities::Expected::Version(version) => Expected::Version(version),
    }
}

pub(super) fn document(document: Document) -> entities::Document {
    let Document { key, value, version, changed_at } = document;
    entities::Document { key, value, version, changed_at: u64::try_from(changed_at).unwrap_or_default() }
}

pub(super) fn page(page: Page) -> entities::Page {
    entities::Page { documents: page.documents.into_iter().map(document).collect(), next: page.next }
}

/// The version that a document has now; 0 for one that is not there.
pub(super) fn version(made: Made) -> u64 {
    match made {
        Made::Put(version) => version,
        Made::Removed(_) | Made::Nothing => 0,
    }
}

pub(super) fn error(refusal: Refusal) -> entities::Error {
    match refusal {
        Refusal::NotAvailable(entity) => entities::Error::NotAvailable(entity),
        Refusal::InvalidKey(why) => entities::Error::InvalidKey(why),
        Refusal::InvalidValue(why) => entities::Error::InvalidValue(why),
        Refusal::Conflict { entity, key, actual } => {
            entities::Error::Conflict(entities::Conflict { entity, key, actual })
        }
        Refusal::Quota(why) => entities::Error::Quota(why),
        Refusal::ReadOnly => entities::Error::ReadOnly,
        Refusal::InvalidCursor => entities::Error::InvalidCursor,
        Refusal::Unavailable => entities::Error::Unavailable,
    }
}
