//! The functions of the interface. Each pays for what crosses, in both directions.

use wasmtime::StoreContextMut;
use wasmtime::component::Linker;

use super::wire;
use super::{Refusal, rules};
use crate::namespaces::Services;
use crate::runtime::{State, charge, charge_many, link_waiting, sandbox};

/// The interface of the contract.
pub(in crate::namespaces) const INTERFACE: &str = "remit:capability/sandbox@0.1.0";

type Context<'a> = StoreContextMut<'a, State>;
type Answer<T> = wasmtime::Result<(Result<T, sandbox::Error>,)>;

/// Puts the namespace's functions into a linker.
pub(in crate::namespaces) fn link(linker: &mut Linker<State>) -> wasmtime::Result<()> {
    let mut interface = linker.instance(INTERFACE)?;
    interface.func_wrap("find", find)?;
    interface.func_wrap("list", list)?;
    // A file is megabytes, perhaps.
    link_waiting(&mut interface, "read", read)?;
    link_waiting(&mut interface, "write", write)?;
    link_waiting(&mut interface, "delete", delete)
}

pub(crate) fn write(mut store: Context<'_>, (name, bytes): (String, Vec<u8>)) -> Answer<sandbox::File> {
    charge(&mut store, name.len() + bytes.len())?;
    let State { services: Services { sandbox, http, .. }, lease, .. } = store.data_mut();
    // What a guest writes is an answer on a longer way.
    let bytes = match http.redactor() {
        Some(redactor) => redactor.redact(bytes).into_inner(),
        None => bytes,
    };
    answer(sandbox.write(lease, &name, bytes)?.map(|file| wire::file(&file)))
}

pub(crate) fn read(mut store: Context<'_>, (file, offset, length): (String, u64, u32)) -> Answer<Vec<u8>> {
    charge(&mut store, file.len())?;
    let sandbox = &store.data().services.sandbox;
    let bytes = sandbox.read(&file, offset, u64::from(length).min(rules::READ_BYTES));
    charge_many(&mut store, 0, bytes.as_ref().map_or(0, Vec::len) as u64)?;
    answer(bytes)
}

pub(crate) fn find(mut store: Context<'_>, (file,): (String,)) -> Answer<Option<sandbox::File>> {
    charge(&mut store, file.len())?;
    let found = store.data().services.sandbox.find(&file);
    answer(found.map(|found| found.as_ref().map(wire::file)))
}

pub(crate) fn list(mut store: Context<'_>, (prefix,): (String,)) -> Answer<Vec<sandbox::File>> {
    charge(&mut store, prefix.len())?;
    let files = store.data().services.sandbox.list(&prefix);
    let size = files.as_ref().map_or(0, |files| files.iter().map(wire::size).sum());
    charge_many(&mut store, 0, size)?;
    answer(files.map(|files| files.iter().map(wire::file).collect()))
}

pub(crate) fn delete(mut store: Context<'_>, (name,): (String,)) -> Answer<bool> {
    charge(&mut store, name.len())?;
    let State { services: Services { sandbox, .. }, lease, .. } = store.data_mut();
    answer(sandbox.delete(lease, &name)?)
}

/// What a guest would be told of a refusal.
pub(crate) fn wire_error(refusal: Refusal) -> sandbox::Error {
    wire::error(refusal)
}

fn answer<T>(result: Result<T, Refusal>) -> Answer<T> {
    Ok((result.map_err(wire::error),))
}
