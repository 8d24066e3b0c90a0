//! The functions of the interface.

use wasmtime::StoreContextMut;
use wasmtime::component::Linker;

use super::{Running, saving, wire};
use crate::egress::{Refusal, Sender};
use crate::namespaces::Services;
use crate::runtime::{State, Stop, charge, http};

/// The interface of the contract.
pub(in crate::namespaces) const INTERFACE: &str = "remit:capability/http@0.1.0";

/// Puts the namespace's functions into a linker.
pub(in crate::namespaces) fn link(linker: &mut Linker<State>) -> wasmtime::Result<()> {
    let mut interface = linker.instance(INTERFACE)?;
    interface.func_wrap("send", |store: StoreContextMut<'_, State>, (request,): (http::Request,)| {
        send(store, request).map(|answer| (answer,))
    })?;
    interface.func_wrap(
        "save",
        |store: StoreContextMut<'_, State>, (request, saving): (http::Request, http::Saving)| {
            saving::save(store, request, &saving).map(|answer| (answer,))
        },
    )
}

fn send(
    mut store: StoreContextMut<'_, State>,
    request: http::Request,
) -> wasmtime::Result<Result<http::Response, http::Error>> {
    charge(&mut store, wire::size(&request))?;
    let State { granted, lease, dry_run, services: Services { http, .. }, .. } = store.data_mut();
    let running = Running { granted, standings: &http.standings };
    let sender = Sender { granted: &running, secrets: &http.secrets, deadline: lease.deadline, dry_run: *dry_run };
    let sent = http.io.block_on(async {
        tokio::select! {
            () = lease.cancel.cancelled() => None,
            sent = http.egress.send(&sender, wire::template(request), &mut http.ledger) => Some(sent),
        }
    });
    match sent {
        None => Err(Stop::Cancelled.into()),
        Some(Ok(answer)) => Ok(Ok(wire::response(answer))),
        Some(Err(Refusal::Budget(_))) => Err(Stop::Egress.into()),
        Some(Err(refusal)) => Ok(Err(wire::error(&refusal))),
    }
}
