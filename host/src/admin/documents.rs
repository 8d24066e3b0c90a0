//! What people may do with the documents of a capability, installed or not: look, change, copy, remove.
//!
//! A person's change keeps the same rules as a guest's, and is recorded like a call of `entities.…`.

use std::collections::BTreeMap;

use super::{Admin, EntitySums, Holding, OldDocument, Sums};
use crate::audit::{self, Record, Usage};
use crate::error::{Error, ErrorKind, Result};
use crate::manifest::check_entity;
use crate::namespaces::entities::document::{Action, Change, Document, Expected, Made, Page, Refusal};
use crate::namespaces::entities::rules::{check_key, check_once, check_value, decide};
use crate::registry::{CapabilityName, Digest};
use crate::store::Scope;

/// Who changes documents by this door, as it is recorded.
const PRINCIPAL: &str = "cli";

/// What an import did, or would do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Imported {
    /// Documents that were not there.
    pub added: usize,
    /// Documents that had another value.
    pub replaced: usize,
    /// Documents that were there already, with the same value.
    pub unchanged: usize,
}

impl Admin {
    /// Every capability that keeps documents, or kept some that are remembered.
    pub fn holdings(&self) -> Result<Vec<Holding>> {
        self.store.holdings()
    }

    /// How much one capability keeps.
    pub fn kept(&self, name: &CapabilityName) -> Result<Sums> {
        Ok(self.store.sums(&Scope::of(name))?.0)
    }

    /// The entities of a capability in which something is.
    pub fn entities(&self, name: &CapabilityName) -> Result<Vec<EntitySums>> {
        self.store.entities(&Scope::of(name))
    }

    /// Documents whose keys begin with `prefix`, at most `limit`, in the order of their keys.
    pub fn documents(&self, name: &CapabilityName, entity: &str, prefix: &str, limit: usize) -> Result<Page> {
        self.store.documents(&Scope::of(name), entity, prefix, None, limit, usize::MAX)
    }

    /// The document under a key.
    pub fn document(&self, name: &CapabilityName, entity: &str, key: &str) -> Result<Document> {
        let document = self.store.document(&Scope::of(name), entity, key)?;
        document.ok_or_else(|| {
            Error::new(ErrorKind::EntityNotFound, format!("`{name}` keeps no `{entity}` `{key}`"))
                .hint(format!("remit entities list {name}"))
        })
    }

    /// What a document is and was, the newest first.
    pub fn history(&self, name: &CapabilityName, entity: &str, key: &str) -> Result<Vec<OldDocument>> {
        let scope = Scope::of(name);
        let now = self.store.document(&scope, entity, key)?.map(|document| OldDocument {
            version: document.version,
            changed_at: document.changed_at,
            value: Some(document.value),
        });
        let mut versions: Vec<_> = now.into_iter().collect();
        versions.extend(self.store.old_documents(&scope, entity, key)?);
        Ok(versions)
    }

    /// Gives a document the value of one of its versions. The new version comes back.
    pub fn restore(&self, name: &CapabilityName, entity: &str, key: &str, version: u64) -> Result<u64> {
        let found = self.history(name, entity, key)?.into_iter().find(|old| old.version == version);
        let Some(value) = found.and_then(|old| old.value) else {
            let message = format!("`{entity}` `{key}` has no value of version {version}");
            let hint = format!("remit entities history {name} {entity} KEY");
            return Err(Error::new(ErrorKind::EntityNotFound, message).hint(hint));
        };
        let change = change(entity, key, Expected::Any, Action::Put(value));
        match self.change_documents(name, "restore", vec![change])?.as_slice() {
            [Made::Put(version)] => Ok(*version),
            made => Err(Error::internal(format!("one value was put: {made:?}"))),
        }
    }

    /// Removes a document.
    pub fn delete_document(&self, name: &CapabilityName, entity: &str, key: &str) -> Result<()> {
        let there = self.document(name, entity, key)?;
        let change = change(entity, key, Expected::Version(there.version), Action::Delete);
        self.change_documents(name, "delete", vec![change]).map(drop)
    }

    /// Every document of a capability with its entity, of one moment.
    pub fn export(&self, name: &CapabilityName) -> Result<Vec<(String, Document)>> {
        self.store.all_documents(&Scope::of(name))
    }

    /// Puts documents, given as entity, key and value, all or none. What is there and not among them stays.
    pub fn import(
        &self,
        name: &CapabilityName,
        documents: Vec<(String, String, String)>,
        dry_run: bool,
    ) -> Result<Imported> {
        let there: BTreeMap<(String, String), Document> = self
            .export(name)?
            .into_iter()
            .map(|(entity, document)| ((entity, document.key.clone()), document))
            .collect();
        let mut imported = Imported::default();
        let (mut changes, mut present) = (Vec::new(), Vec::new());
        for (number, (entity, key, value)) in (1..).zip(documents) {
            if let Some(problem) = check_entity(&entity) {
                let message = format!("document {number}: `{entity}` is no entity: {problem}");
                return Err(Error::new(ErrorKind::EntityInvalid, message));
            }
            let numbered = |refusal: Refusal| {
                let error = Error::from(refusal);
                Error { message: format!("document {number}: {}", error.message), ..error }
            };
            check_key(&key).and_then(|()| check_value(&value, &self.entities)).map_err(numbered)?;
            let place = (entity, key);
            let expected = match there.get(&place) {
                Some(document) if document.value == value => {
                    imported.unchanged += 1;
                    continue;
                }
                Some(document) => {
                    imported.replaced += 1;
                    Expected::Version(document.version)
                }
                None => {
                    imported.added += 1;
                    Expected::Absent
                }
            };
            present.push(there.get(&place).map(Document::present));
            changes.push(change(&place.0, &place.1, expected, Action::Put(value)));
        }
        check_once(&changes)?;
        if dry_run {
            decide(&changes, &present, self.kept(name)?, &self.entities)?;
        } else if !changes.is_empty() {
            self.change_documents(name, "import", changes)?;
        }
        Ok(imported)
    }

    /// Removes an install, if there is one, all documents with their history, and all loops. Gives the digest it
    /// was pinned to, what was kept, and how many loops there were.
    pub fn purge(&self, name: &CapabilityName) -> Result<(Option<Digest>, Sums, usize)> {
        let kept = self.kept(name)?;
        let detail =
            format!("removed {} documents, {} bytes, their history, and all loops", kept.documents, kept.bytes);
        let record = Record { detail: Some(detail), ..self.record(name, "purge")? };
        let (digests, removed, loops) = self.store.purge(name, record)?;
        if digests.is_empty() && removed == Sums::default() && loops == 0 {
            return Err(self.not_found(name)?);
        }
        let digests = self.remove_all_unpinned(digests)?;
        Ok((digests.first().copied(), removed, loops))
    }

    fn change_documents(&self, name: &CapabilityName, verb: &str, changes: Vec<Change>) -> Result<Vec<Made>> {
        let record = self.record(name, verb)?;
        let made = self.store.change_documents_by_hand(Scope::of(name), record, changes, self.entities)?;
        made.map_err(Error::from)
    }

    /// What is recorded of a person's change.
    fn record(&self, name: &CapabilityName, verb: &str) -> Result<Record> {
        Ok(Record { capability: name.to_string(), ..self.record_of(format!("entities.{verb}"))? })
    }

    /// What is recorded of anything that a person changes by hand, but for what it is about.
    pub(super) fn record_of(&self, tool: String) -> Result<Record> {
        let started_at = self.store.now_ms();
        Ok(Record {
            id: audit::id::new(started_at)?,
            parent: None,
            started_at,
            principal: PRINCIPAL.to_owned(),
            capability: String::new(),
            tool,
            digest: None,
            dry_run: false,
            outcome: audit::OK.to_owned(),
            detail: None,
            usage: Usage::default(),
            requests: Vec::new(),
            changes: Vec::new(),
            files: Vec::new(),
            log: Vec::new(),
        })
    }
}

fn change(entity: &str, key: &str, expected: Expected, action: Action) -> Change {
    Change { entity: entity.to_owned(), key: key.to_owned(), expected, action }
}
