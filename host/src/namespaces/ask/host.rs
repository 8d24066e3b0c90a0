//! The functions of the interface. Each pays for what crosses, in both directions.

use wasmtime::StoreContextMut;
use wasmtime::component::Linker;

use super::{Terms, wire};
use crate::namespaces::Services;
use crate::policy::HttpGrant;
use crate::runtime::{State, ask, charge, charge_many};

/// The interface of the contract.
pub(in crate::namespaces) const INTERFACE: &str = "remit:capability/ask@0.1.0";

type Context<'a> = StoreContextMut<'a, State>;
type Answers = Result<Vec<ask::Answer>, ask::Error>;

/// Puts the namespace's functions into a linker.
pub(in crate::namespaces) fn link(linker: &mut Linker<State>) -> wasmtime::Result<()> {
    let mut interface = linker.instance(INTERFACE)?;
    interface.func_wrap("available", available)?;
    interface.func_wrap("ask", ask)
}

fn available(mut store: Context<'_>, (): ()) -> wasmtime::Result<(Vec<ask::Feature>,)> {
    charge(&mut store, 0)?;
    Ok((store.data().services.ask.available(),))
}

fn ask(mut store: Context<'_>, (questions,): (Vec<ask::NamedQuestion>,)) -> wasmtime::Result<(Answers,)> {
    charge(&mut store, questions.iter().map(wire::question_size).sum())?;
    let State { services, granted, .. } = store.data_mut();
    let has_changed = services.has_changed();
    let Services { ask, http, .. } = services;
    let hosts = granted.http().map_or(&[][..], |HttpGrant { allow, .. }| allow);
    let answers = ask.ask(questions, has_changed, &Terms { hosts, redactor: http.redactor() })?;
    let size: usize = answers.iter().flatten().map(wire::answer_size).sum();
    charge_many(&mut store, 0, size as u64)?;
    Ok((answers,))
}
