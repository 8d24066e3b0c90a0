//! Documents in memory, with the semantics of the contract: versions, conflicts, the order of keys, pages,
//! tools that only read. Quotas are the operator's and not played.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::bindings::remit::capability::entities::{Action, Change, Conflict, Document, Error, Expected, Page};

/// Bytes of a key, by the contract.
const KEY_BYTES: usize = 512;

/// Bytes of a value, by the host's default.
const VALUE_BYTES: usize = 256 * 1024;

/// Arrays and objects in one another, by the host's default.
const DEPTH: usize = 32;

/// Documents and bytes of a page, by the contract.
const PAGE_DOCUMENTS: usize = 1_000;
const PAGE_BYTES: usize = 1024 * 1024;

/// Changes of a transaction, by the contract.
const TRANSACTION_CHANGES: usize = 128;

/// When the first change is made, in milliseconds since 1970; each further one is made a second later.
const FIRST_CHANGE_MS: u64 = 1_767_225_600_000;

#[derive(Clone, Default)]
struct Memory {
    names: BTreeSet<String>,
    documents: BTreeMap<(String, String), Document>,
    version: u64,
}

thread_local! {
    static MEMORY: RefCell<Memory> = RefCell::default();
    static READ_ONLY: Cell<bool> = const { Cell::new(false) };
}

/// This thread's documents from now on: none, in these entities.
pub fn entities(names: &[&str]) {
    let names = names.iter().map(|name| (*name).to_owned()).collect();
    MEMORY.set(Memory { names, ..Memory::default() });
}

pub(super) fn is_read_only() -> bool {
    READ_ONLY.get()
}

/// Does this as a tool that only reads, or as one that changes.
pub(super) fn as_tool<T>(read_only: bool, work: impl FnOnce() -> T) -> T {
    /// Puts back what was there, also when a question ends the work.
    struct Before(bool);
    impl Drop for Before {
        fn drop(&mut self) {
            READ_ONLY.set(self.0);
        }
    }
    let _before = Before(READ_ONLY.replace(read_only));
    work()
}

/// Does this and forgets what it changed.
pub(super) fn rehearsed<T>(work: impl FnOnce() -> T) -> T {
    let before = MEMORY.with_borrow(Memory::clone);
    let result = work();
    MEMORY.set(before);
    result
}

pub(crate) fn get(entity: &str, key: &str) -> Result<Option<Document>, Error> {
    check_key(key)?;
    MEMORY.with_borrow(|memory| {
        memory.check_available(entity)?;
        Ok(memory.documents.get(&(entity.to_owned(), key.to_owned())).cloned())
    })
}

pub(crate) fn put(entity: &str, key: &str, value: &str, expected: Expected) -> Result<u64, Error> {
    let versions = transact(&[change(entity, key, expected, Action::Put(value.to_owned()))])?;
    Ok(versions[0])
}

pub(crate) fn delete(entity: &str, key: &str, expected: Expected) -> Result<bool, Error> {
    let there = get(entity, key)?.is_some();
    transact(&[change(entity, key, expected, Action::Delete)])?;
    Ok(there)
}

pub(crate) fn list(entity: &str, prefix: &str, cursor: Option<&str>, limit: u32) -> Result<Page, Error> {
    check_prefix(prefix)?;
    let after = match cursor.map(serde_json::from_str::<[String; 3]>) {
        None => None,
        Some(Ok([of, under, key])) if of == entity && under == prefix => Some(key),
        Some(_) => return Err(Error::InvalidCursor),
    };
    let limit = (limit as usize).clamp(1, PAGE_DOCUMENTS);
    MEMORY.with_borrow(|memory| {
        memory.check_available(entity)?;
        let mut page = Page { documents: Vec::new(), next: None };
        let mut bytes = 0;
        let from = (entity.to_owned(), after.clone().unwrap_or_else(|| prefix.to_owned()));
        let found = memory.documents.range(from..);
        let found = found.take_while(|((of, key), _)| of == entity && key.starts_with(prefix));
        for ((_, key), document) in found {
            if after.as_ref() == Some(key) {
                continue;
            }
            bytes += document.key.len() + document.value.len();
            if page.documents.len() == limit || bytes > PAGE_BYTES {
                let last = page.documents.last().map_or("", |document| &document.key);
                page.next = serde_json::to_string(&[entity, prefix, last]).ok();
                break;
            }
            page.documents.push(document.clone());
        }
        Ok(page)
    })
}

pub(crate) fn transact(changes: &[Change]) -> Result<Vec<u64>, Error> {
    MEMORY.with_borrow_mut(|memory| {
        for change in changes {
            memory.check_available(&change.entity)?;
            check_key(&change.key)?;
            if let Action::Put(value) = &change.action {
                check_value(value)?;
            }
        }
        if changes.len() > TRANSACTION_CHANGES {
            return Err(Error::Quota(format!("a transaction has at most {TRANSACTION_CHANGES} changes")));
        }
        let mut seen = BTreeSet::new();
        if let Some(twice) = changes.iter().find(|change| !seen.insert((&change.entity, &change.key))) {
            return Err(Error::InvalidKey(format!("`{}` `{}` is changed twice", twice.entity, twice.key)));
        }
        if READ_ONLY.get() {
            return Err(Error::ReadOnly);
        }
        changes.iter().try_for_each(|change| memory.check_expected(change))?;
        super::client::changed_if(!changes.is_empty());
        Ok(changes.iter().map(|change| memory.make(change)).collect())
    })
}

impl Memory {
    fn check_available(&self, entity: &str) -> Result<(), Error> {
        if self.names.contains(entity) { Ok(()) } else { Err(Error::NotAvailable(entity.to_owned())) }
    }

    fn check_expected(&self, change: &Change) -> Result<(), Error> {
        let place = (change.entity.clone(), change.key.clone());
        let actual = self.documents.get(&place).map(|document| document.version);
        let fits = match change.expected {
            Expected::Any => true,
            Expected::Absent => actual.is_none(),
            Expected::Version(version) => actual == Some(version),
        };
        if fits { Ok(()) } else { Err(Error::Conflict(Conflict { entity: place.0, key: place.1, actual })) }
    }

    /// The version after the change; 0 for what was removed.
    fn make(&mut self, change: &Change) -> u64 {
        let place = (change.entity.clone(), change.key.clone());
        match &change.action {
            Action::Delete => {
                if self.documents.remove(&place).is_some() {
                    self.version += 1;
                }
                0
            }
            Action::Put(value) => {
                self.version += 1;
                let (key, version) = (change.key.clone(), self.version);
                let changed_at = FIRST_CHANGE_MS + version * 1_000;
                self.documents.insert(place, Document { key, value: value.clone(), version, changed_at });
                version
            }
        }
    }
}

fn change(entity: &str, key: &str, expected: Expected, action: Action) -> Change {
    Change { entity: entity.to_owned(), key: key.to_owned(), expected, action }
}

fn check_key(key: &str) -> Result<(), Error> {
    if key.is_empty() {
        return Err(Error::InvalidKey("a key has at least one character".to_owned()));
    }
    check_prefix(key)
}

fn check_prefix(key: &str) -> Result<(), Error> {
    if key.len() > KEY_BYTES {
        return Err(Error::InvalidKey(format!("a key has at most {KEY_BYTES} bytes, not {}", key.len())));
    }
    if key.chars().any(char::is_control) {
        return Err(Error::InvalidKey("a key has no control characters".to_owned()));
    }
    Ok(())
}

fn check_value(value: &str) -> Result<(), Error> {
    if value.len() > VALUE_BYTES {
        let length = value.len();
        return Err(Error::InvalidValue(format!("a value has at most {VALUE_BYTES} bytes, not {length}")));
    }
    let parsed: Value = serde_json::from_str(value)
        .map_err(|error| Error::InvalidValue(format!("the value is not JSON that can be stored: {error}")))?;
    if depth(&parsed) > DEPTH {
        return Err(Error::InvalidValue(format!("a value has at most {DEPTH} levels")));
    }
    Ok(())
}

fn depth(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or_default(),
        Value::Object(members) => 1 + members.values().map(depth).max().unwrap_or_default(),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_come_in_the_order_of_their_bytes() {
        entities(&["a", "b"]);
        for key in ["k\u{ffff}", "k\u{10000}", "K", "k", "k%", "k_", "é"] {
            put("a", key, "1", Expected::Any).expect("stored");
        }
        put("b", "k", "1", Expected::Any).expect("stored");
        let keys = |page: Page| page.documents.into_iter().map(|document| document.key).collect::<Vec<_>>();
        let page = list("a", "k", None, 2).expect("a page");
        let next = page.next.clone().expect("more");
        assert_eq!(keys(page), ["k", "k%"]);
        let rest = list("a", "k", Some(&next), 10).expect("a page");
        assert_eq!(rest.next, None);
        assert_eq!(keys(rest), ["k_", "k\u{ffff}", "k\u{10000}"]);
        assert_eq!(list("b", "k", Some(&next), 10), Err(Error::InvalidCursor));
        assert_eq!(list("a", "k", Some("k%"), 10), Err(Error::InvalidCursor));
        assert_eq!(keys(list("a", "", None, 10).expect("a page")).len(), 7);
    }

    #[test]
    fn versions_never_repeat() {
        entities(&["a"]);
        let first = put("a", "k", "1", Expected::Absent).expect("stored");
        assert_eq!(delete("a", "k", Expected::Version(first)), Ok(true));
        let second = put("a", "k", "1", Expected::Absent).expect("stored");
        assert!(second > first + 1, "removing it was a change too");
        assert!(matches!(put("a", "k", "1", Expected::Version(first)), Err(Error::Conflict(_))));
    }

    #[test]
    fn what_the_host_refuses_is_refused() {
        entities(&["a"]);
        let deep = "[".repeat(33) + &"]".repeat(33);
        let long = "k".repeat(513);
        let large = format!("\"{}\"", "x".repeat(VALUE_BYTES));
        for (key, value) in [("", "1"), ("k\n", "1"), (&long, "1"), ("k", ""), ("k", &deep), ("k", &large)] {
            let refused = put("a", key, value, Expected::Any);
            assert!(matches!(refused, Err(Error::InvalidKey(_) | Error::InvalidValue(_))), "{key}: {refused:?}");
        }
        let twice =
            [change("a", "k", Expected::Any, Action::Delete), change("a", "k", Expected::Any, Action::Delete)];
        assert!(matches!(transact(&twice), Err(Error::InvalidKey(_))));
        let many: Vec<Change> =
            (0..129).map(|key| change("a", &key.to_string(), Expected::Any, Action::Delete)).collect();
        assert!(matches!(transact(&many), Err(Error::Quota(_))));
        assert_eq!(as_tool(true, || put("a", "k", "1", Expected::Any)), Err(Error::ReadOnly));
        assert_eq!(list("a", "", None, 10), Ok(Page { documents: Vec::new(), next: None }));
    }

    #[test]
    fn pages_are_bounded_in_bytes() {
        entities(&["a"]);
        let large = format!("\"{}\"", "x".repeat(200 * 1024));
        for key in 0..8 {
            put("a", &key.to_string(), &large, Expected::Any).expect("stored");
        }
        assert_eq!(list("a", "", None, 1_000).map(|page| page.documents.len()), Ok(5));
    }
}
