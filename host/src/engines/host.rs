//! The functions of `bindings`. Each pays for what crosses; a call pays for what was spent on it, too.

use wasmtime::StoreContextMut;
use wasmtime::component::Linker;

use super::Bindings;
use crate::audit::Usage;
use crate::component::BINDINGS;
use crate::runtime::{State, Stop, bound, charge, charge_many, spend};

type Context<'a> = StoreContextMut<'a, State>;

/// Host calls that a call of a tool is worth.
const CALL: u64 = 10;

/// Puts the functions into a linker.
pub(crate) fn link(linker: &mut Linker<State>) -> wasmtime::Result<()> {
    let mut interface = linker.instance(BINDINGS)?;
    interface.func_wrap("list", list)?;
    interface.func_wrap("start", start)?;
    interface.func_wrap("wait", wait)
}

fn list(mut store: Context<'_>, (path,): (Vec<String>,)) -> wasmtime::Result<(Vec<bound::Binding>,)> {
    charge(&mut store, size(&path))?;
    let names = match &store.data().services.bindings {
        Bindings::Nothing => Vec::new(),
        Bindings::Tools(calls) => calls.list(&path),
    };
    charge_many(&mut store, 0, names.iter().map(|named| named.name.len() as u64).sum())?;
    let binding = |named: super::names::Named| bound::Binding { name: named.name, callable: named.is_tool };
    Ok((names.into_iter().map(binding).collect(),))
}

fn start(mut store: Context<'_>, (path, input): (Vec<String>, String)) -> wasmtime::Result<(u32,)> {
    charge_many(&mut store, CALL, (size(&path) + input.len()) as u64)?;
    match &store.data().services.bindings {
        Bindings::Nothing => Err(Stop::HostCalls.into()),
        Bindings::Tools(calls) => Ok((calls.start(path, input)?,)),
    }
}

fn wait(mut store: Context<'_>, (): ()) -> wasmtime::Result<(Option<bound::Ended>,)> {
    charge(&mut store, 0)?;
    let heard = match &store.data().services.bindings {
        Bindings::Nothing => None,
        Bindings::Tools(calls) => calls.wait()?,
    };
    let Some(heard) = heard else { return Ok((None,)) };
    let Usage { fuel, requests, .. } = heard.usage;
    spend(&mut store, fuel, requests)?;
    charge_many(&mut store, 0, heard.ended.outcome.as_ref().map_or(0, String::len) as u64)?;
    Ok((Some(heard.ended),))
}

fn size(path: &[String]) -> usize {
    path.iter().map(String::len).sum()
}
