//! The functions of `bindings`. Each pays for what crosses; a call pays for what was spent on it, too.

use wasmtime::component::Linker;
use wasmtime::{AsContextMut, StoreContextMut};

use super::{Bindings, granted};
use crate::audit::Usage;
use crate::component::BINDINGS;
use crate::runtime::{State, Stop, bound, charge, charge_many, link_waiting, spend};

type Context<'a> = StoreContextMut<'a, State>;

/// Host calls that a call of a tool is worth.
const CALL: u64 = 10;

/// Puts the functions into a linker.
pub(crate) fn link(linker: &mut Linker<State>) -> wasmtime::Result<()> {
    let mut interface = linker.instance(BINDINGS)?;
    interface.func_wrap("list", list)?;
    // What is started for a capability without code is done at once.
    link_waiting(&mut interface, "start", start)?;
    link_waiting(&mut interface, "wait", wait)
}

fn list(mut store: Context<'_>, (path,): (Vec<String>,)) -> wasmtime::Result<(Vec<bound::Binding>,)> {
    charge(&mut store, size(&path))?;
    let names = match &store.data().services.bindings {
        Bindings::Nothing => Vec::new(),
        Bindings::Tools(calls) => calls.list(&path),
        Bindings::Namespaces(_) => granted::list(&store.data().granted, &path),
    };
    charge_many(&mut store, 0, names.iter().map(|named| named.name.len() as u64).sum())?;
    let binding = |named: super::names::Named| bound::Binding { name: named.name, callable: named.is_tool };
    Ok((names.into_iter().map(binding).collect(),))
}

fn start(mut store: Context<'_>, (path, input): (Vec<String>, String)) -> wasmtime::Result<(u32,)> {
    charge_many(&mut store, CALL, (size(&path) + input.len()) as u64)?;
    match &store.data().services.bindings {
        Bindings::Nothing => return Err(Stop::HostCalls.into()),
        Bindings::Tools(calls) => return Ok((calls.start(path, input)?,)),
        Bindings::Namespaces(_) => {}
    }
    let outcome = granted::call(store.as_context_mut(), &path, &input)?;
    match &mut store.data_mut().services.bindings {
        Bindings::Namespaces(namespaces) => Ok((namespaces.keep(outcome),)),
        Bindings::Nothing | Bindings::Tools(_) => Err(Stop::HostCalls.into()),
    }
}

fn wait(mut store: Context<'_>, (): ()) -> wasmtime::Result<(Option<bound::Ended>,)> {
    charge(&mut store, 0)?;
    let (ended, usage) = match &mut store.data_mut().services.bindings {
        Bindings::Nothing => (None, Usage::default()),
        Bindings::Namespaces(namespaces) => (namespaces.next(), Usage::default()),
        Bindings::Tools(calls) => match calls.wait()? {
            Some(heard) => (Some(heard.ended), heard.usage),
            None => (None, Usage::default()),
        },
    };
    spend(&mut store, usage.fuel, usage.requests)?;
    let answer = ended.as_ref().and_then(|ended| ended.outcome.as_ref().ok());
    charge_many(&mut store, 0, answer.map_or(0, String::len) as u64)?;
    Ok((ended,))
}

fn size(path: &[String]) -> usize {
    path.iter().map(String::len).sum()
}
