//! The functions of the interface. Each pays for what crosses, in both directions.

use wasmtime::StoreContextMut;
use wasmtime::component::Linker;

use super::document::{Action, Change, Document, Made, Refusal};
use super::wire;
use crate::namespaces::Services;
use crate::runtime::{State, charge, charge_many, entities, link_waiting};

/// The interface of the contract.
pub(in crate::namespaces) const INTERFACE: &str = "remit:capability/entities@0.1.0";

type Context<'a> = StoreContextMut<'a, State>;
type Answer<T> = wasmtime::Result<(Result<T, entities::Error>,)>;

/// Puts the namespace's functions into a linker.
pub(in crate::namespaces) fn link(linker: &mut Linker<State>) -> wasmtime::Result<()> {
    let mut interface = linker.instance(INTERFACE)?;
    interface.func_wrap("get", get)?;
    interface.func_wrap("list", list)?;
    link_waiting(&mut interface, "put", put)?;
    link_waiting(&mut interface, "delete", delete)?;
    link_waiting(&mut interface, "transact", transact)
}

pub(crate) fn get(mut store: Context<'_>, (entity, key): (String, String)) -> Answer<Option<entities::Document>> {
    charge(&mut store, entity.len() + key.len())?;
    let State { services: Services { entities, .. }, granted, .. } = store.data();
    let found = entities.get(granted, &entity, &key);
    let size = found.as_ref().ok().and_then(Option::as_ref).map_or(0, Document::size);
    charge_many(&mut store, 0, size)?;
    answer(found.map(|document| document.map(wire::document)))
}

pub(crate) fn list(
    mut store: Context<'_>,
    (entity, prefix, cursor, limit): (String, String, Option<String>, u32),
) -> Answer<entities::Page> {
    charge(&mut store, entity.len() + prefix.len() + cursor.as_ref().map_or(0, String::len))?;
    let State { services: Services { entities, .. }, granted, .. } = store.data();
    let page = entities.list(granted, &entity, &prefix, cursor.as_deref(), limit);
    let size = page.as_ref().map_or(0, |page| page.documents.iter().map(Document::size).sum());
    charge_many(&mut store, 0, size)?;
    answer(page.map(wire::page))
}

pub(crate) fn put(
    mut store: Context<'_>,
    (entity, key, value, expected): (String, String, String, entities::Expected),
) -> Answer<u64> {
    charge(&mut store, entity.len() + key.len() + value.len())?;
    let change = Change { entity, key, expected: wire::expected(expected), action: Action::Put(value) };
    let made = make(&mut store, vec![change])?;
    answer(made.map(|made| made.first().copied().map_or(0, wire::version)))
}

pub(crate) fn delete(
    mut store: Context<'_>,
    (entity, key, expected): (String, String, entities::Expected),
) -> Answer<bool> {
    charge(&mut store, entity.len() + key.len())?;
    let change = Change { entity, key, expected: wire::expected(expected), action: Action::Delete };
    let made = make(&mut store, vec![change])?;
    answer(made.map(|made| matches!(made.first(), Some(Made::Removed(_)))))
}

pub(crate) fn transact(mut store: Context<'_>, (changes,): (Vec<entities::Change>,)) -> Answer<Vec<u64>> {
    // Each change counts as a call: what a call can write, and what its record can hold, is bounded with that.
    let bytes: usize = changes.iter().map(wire::size).sum();
    charge_many(&mut store, changes.len().max(1) as u64, bytes as u64)?;
    let made = make(&mut store, changes.into_iter().map(wire::change).collect())?;
    answer(made.map(|made| made.into_iter().map(wire::version).collect()))
}

fn make(store: &mut Context<'_>, changes: Vec<Change>) -> wasmtime::Result<Result<Vec<Made>, Refusal>> {
    let State { services: Services { entities, .. }, granted, lease, .. } = store.data_mut();
    Ok(entities.change(granted, lease, changes)?)
}

fn answer<T>(result: Result<T, Refusal>) -> Answer<T> {
    Ok((result.map_err(wire::error),))
}
