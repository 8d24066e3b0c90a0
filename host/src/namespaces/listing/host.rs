//! The functions of the interface.

use wasmtime::StoreContextMut;
use wasmtime::component::Linker;

use crate::registry::Item;
use crate::runtime::{State, charge, charge_many, link_waiting, listing};

/// The interface of the contract.
pub(in crate::namespaces) const INTERFACE: &str = "remit:capability/listing@0.1.0";

/// Calls that a change is worth: it waits for the disk, and clients fetch lists anew.
const CHANGE: u64 = 10;

type Context<'a> = StoreContextMut<'a, State>;
type Answer = wasmtime::Result<(Result<(), listing::Error>,)>;

/// Puts the namespace's functions into a linker.
pub(in crate::namespaces) fn link(linker: &mut Linker<State>) -> wasmtime::Result<()> {
    let mut interface = linker.instance(INTERFACE)?;
    interface.func_wrap("updated", updated)?;
    link_waiting(&mut interface, "offer", offer)
}

fn offer(mut store: Context<'_>, (item, offered): (listing::Item, bool)) -> Answer {
    let item = match item {
        listing::Item::Tool(name) => Item::Tool(name),
        listing::Item::Prompt(name) => Item::Prompt(name),
        listing::Item::Resource(name) => Item::Resource(name),
    };
    charge_many(&mut store, CHANGE, item.name().len() as u64)?;
    Ok((store.data_mut().services.listing.offer(item, offered),))
}

fn updated(mut store: Context<'_>, (uri,): (String,)) -> Answer {
    charge(&mut store, uri.len())?;
    Ok((store.data_mut().services.listing.updated(uri),))
}
