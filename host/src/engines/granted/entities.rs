//! `remit.entities.get`, `put`, `delete`, `list` and `transact`, with documents as JSON values.

use serde::Deserialize;
use serde_json::{Value, json};

use super::{Context, Outcome, Row, read};
use crate::error::{Error, ErrorKind};
use crate::namespaces::entities::host;
use crate::runtime::entities::{self as wire, Action, Change, Document, Expected};

pub(super) const FUNCTIONS: &[Row] =
    &[("delete", delete), ("get", get), ("list", list), ("put", put), ("transact", transact)];

/// Documents of one part of a list, when nothing else is asked.
const PAGE: u32 = 100;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Get {
    entity: String,
    key: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct List {
    entity: String,
    #[serde(default)]
    prefix: String,
    #[serde(default)]
    cursor: Option<String>,
    #[serde(default)]
    limit: Option<u32>,
}

/// A change: of a document to `value`, or its removal where there is none. `expected` is a version, or `"absent"`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Wish {
    entity: String,
    key: String,
    #[serde(default, deserialize_with = "present")]
    value: Option<Value>,
    #[serde(default)]
    expected: Option<Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Transact {
    changes: Vec<Wish>,
}

/// `null` is a value.
fn present<'de, D: serde::Deserializer<'de>>(value: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(value).map(Some)
}

fn get(store: Context<'_>, input: Value) -> wasmtime::Result<Outcome> {
    let Get { entity, key } = match read(input) {
        Ok(get) => get,
        Err(error) => return Ok(Err(error)),
    };
    let (found,) = host::get(store, (entity, key))?;
    Ok(found.map(|document| document.map_or(Value::Null, shown)).map_err(thrown))
}

fn put(store: Context<'_>, input: Value) -> wasmtime::Result<Outcome> {
    let (wish, expected) = match wish(input) {
        Ok(wish) => wish,
        Err(error) => return Ok(Err(error)),
    };
    let Some(value) = wish.value else { return Ok(Err(invalid("a document has a `value`"))) };
    let (version,) = host::put(store, (wish.entity, wish.key, value.to_string(), expected))?;
    Ok(version.map(Value::from).map_err(thrown))
}

fn delete(store: Context<'_>, input: Value) -> wasmtime::Result<Outcome> {
    let (wish, expected) = match wish(input) {
        Ok(wish) => wish,
        Err(error) => return Ok(Err(error)),
    };
    if wish.value.is_some() {
        return Ok(Err(invalid("what is removed has no `value`")));
    }
    let (was_there,) = host::delete(store, (wish.entity, wish.key, expected))?;
    Ok(was_there.map(Value::from).map_err(thrown))
}

fn list(store: Context<'_>, input: Value) -> wasmtime::Result<Outcome> {
    let List { entity, prefix, cursor, limit } = match read(input) {
        Ok(list) => list,
        Err(error) => return Ok(Err(error)),
    };
    let (page,) = host::list(store, (entity, prefix, cursor, limit.unwrap_or(PAGE)))?;
    let shown = |page: wire::Page| {
        let documents: Value = page.documents.into_iter().map(shown).collect();
        json!({ "documents": documents, "next": page.next })
    };
    Ok(page.map(shown).map_err(thrown))
}

fn transact(store: Context<'_>, input: Value) -> wasmtime::Result<Outcome> {
    let changes = read(input).and_then(|Transact { changes }| changes.into_iter().map(change).collect());
    let changes: Vec<Change> = match changes {
        Ok(changes) => changes,
        Err(error) => return Ok(Err(error)),
    };
    let (versions,) = host::transact(store, (changes,))?;
    Ok(versions.map(Value::from).map_err(thrown))
}

fn wish(input: Value) -> Result<(Wish, Expected), Error> {
    let mut wish: Wish = read(input)?;
    let expected = expected(wish.expected.take())?;
    Ok((wish, expected))
}

fn change(wish: Wish) -> Result<Change, Error> {
    let Wish { entity, key, value, expected: asked } = wish;
    let action = value.map_or(Action::Delete, |value| Action::Put(value.to_string()));
    Ok(Change { entity, key, expected: expected(asked)?, action })
}

fn expected(asked: Option<Value>) -> Result<Expected, Error> {
    match asked {
        None => Ok(Expected::Any),
        Some(Value::String(word)) if word == "absent" => Ok(Expected::Absent),
        Some(version) => match version.as_u64() {
            Some(version) => Ok(Expected::Version(version)),
            None => Err(invalid("`expected` is a version, or \"absent\"")),
        },
    }
}

fn shown(document: Document) -> Value {
    let Document { key, value, version, changed_at } = document;
    // Only JSON is ever stored.
    let value: Value = serde_json::from_str(&value).unwrap_or_default();
    json!({ "key": key, "value": value, "version": version, "changedAt": changed_at })
}

fn invalid(what: &str) -> Error {
    Error::new(ErrorKind::InvalidInput, what)
}

fn thrown(error: wire::Error) -> Error {
    let (kind, message) = match error {
        wire::Error::NotAvailable(entity) => {
            (ErrorKind::NotAllowed, format!("the capability may not use the entity `{entity}`"))
        }
        wire::Error::InvalidKey(why) | wire::Error::InvalidValue(why) => (ErrorKind::EntityInvalid, why),
        wire::Error::Conflict(found) => {
            let there = found.actual.map_or_else(|| "nothing".to_owned(), |version| format!("version {version}"));
            (ErrorKind::EntityConflict, format!("`{}` of `{}` is {there} now", found.key, found.entity))
        }
        wire::Error::Quota(why) => (ErrorKind::EntityQuota, why),
        wire::Error::ReadOnly => (ErrorKind::NotAllowed, "the tool is declared to change nothing".to_owned()),
        wire::Error::InvalidCursor => (ErrorKind::InvalidInput, "the cursor is none of this list".to_owned()),
        wire::Error::Unavailable => (ErrorKind::Store, "documents cannot be read or written now".to_owned()),
    };
    Error::new(kind, message)
}
