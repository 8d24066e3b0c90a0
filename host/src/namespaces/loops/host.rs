//! The functions of the interface. Each pays for what crosses, in both directions.

use wasmtime::StoreContextMut;
use wasmtime::component::Linker;

use super::{Refusal, wire};
use crate::error::Error;
use crate::namespaces::Services;
use crate::runtime::{State, charge, charge_many, link_waiting, loops};

/// The interface of the contract.
pub(in crate::namespaces) const INTERFACE: &str = "remit:capability/loops@0.1.0";

/// Calls that a change is worth: it waits for the disk.
const CHANGE: u64 = 10;

type Context<'a> = StoreContextMut<'a, State>;
type Answer<T> = wasmtime::Result<(Result<T, loops::Error>,)>;

/// Puts the namespace's functions into a linker.
pub(in crate::namespaces) fn link(linker: &mut Linker<State>) -> wasmtime::Result<()> {
    let mut interface = linker.instance(INTERFACE)?;
    link_waiting(&mut interface, "create", create)?;
    interface.func_wrap("list", list)?;
    link_waiting(&mut interface, "update", update)?;
    link_waiting(&mut interface, "pause", pause)?;
    link_waiting(&mut interface, "delete", delete)?;
    link_waiting(&mut interface, "run", run)?;
    link_waiting(&mut interface, "diff-since-last-run", diff_since_last_run)
}

pub(crate) fn create(mut store: Context<'_>, (definition,): (loops::Definition,)) -> Answer<loops::LoopInfo> {
    charge_many(&mut store, CHANGE, wire::size(&definition))?;
    let State { services: Services { loops, .. }, granted, .. } = store.data_mut();
    let definition = wire::read_definition(&granted.capability().name, definition);
    answer(definition.map_err(Refusal::from).and_then(|definition| loops.create(definition)).map(wire::loop_info))
}

pub(crate) fn update(mut store: Context<'_>, (definition,): (loops::Definition,)) -> Answer<loops::LoopInfo> {
    charge_many(&mut store, CHANGE, wire::size(&definition))?;
    let State { services: Services { loops, .. }, granted, .. } = store.data_mut();
    let definition = wire::read_definition(&granted.capability().name, definition);
    answer(definition.map_err(Refusal::from).and_then(|definition| loops.update(definition)).map(wire::loop_info))
}

pub(crate) fn list(mut store: Context<'_>, (): ()) -> Answer<Vec<loops::LoopInfo>> {
    charge(&mut store, 0)?;
    let listed = store.data().services.loops.list();
    let listed = listed.map(|loops| loops.into_iter().map(wire::loop_info).collect::<Vec<_>>());
    let size = listed.iter().flatten().map(|info| wire::size(&info.definition)).sum();
    charge_many(&mut store, 0, size)?;
    answer(listed.map_err(Refusal::from))
}

pub(crate) fn pause(mut store: Context<'_>, (name, paused): (String, bool)) -> Answer<loops::LoopInfo> {
    charge_many(&mut store, CHANGE, name.len() as u64)?;
    answer(store.data_mut().services.loops.pause(&name, paused).map(wire::loop_info))
}

pub(crate) fn delete(mut store: Context<'_>, (name,): (String,)) -> Answer<()> {
    charge_many(&mut store, CHANGE, name.len() as u64)?;
    answer(store.data_mut().services.loops.delete(&name))
}

pub(crate) fn run(mut store: Context<'_>, (name,): (String,)) -> Answer<String> {
    charge_many(&mut store, CHANGE, name.len() as u64)?;
    answer(store.data_mut().services.loops.run(&name))
}

pub(crate) fn diff_since_last_run(mut store: Context<'_>, (items,): (Vec<String>,)) -> Answer<loops::Difference> {
    let bytes: usize = items.iter().map(String::len).sum();
    charge_many(&mut store, CHANGE, bytes as u64)?;
    let found = store.data().services.loops.diff_since_last_run(&items).map(wire::difference);
    let size: usize =
        found.iter().flat_map(|found| found.added.iter().chain(&found.removed)).map(String::len).sum();
    charge_many(&mut store, 0, size as u64)?;
    answer(found.map_err(Refusal::from))
}

fn answer<T>(result: Result<T, Refusal>) -> Answer<T> {
    Ok((result.map_err(|refusal| match refusal {
        Refusal::ReadOnly => loops::Error::ReadOnly,
        Refusal::Because(error) => refused(error),
    }),))
}

/// What went wrong with the disk is the operator's business, not the guest's.
fn refused(error: Error) -> loops::Error {
    wire::error(error).unwrap_or_else(|error| {
        tracing::error!(code = error.kind.code(), detail = error.detail, "loops: {}", error.message);
        loops::Error::Unavailable
    })
}
