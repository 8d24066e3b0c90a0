//! The functions of the interface.

use wasmtime::StoreContextMut;
use wasmtime::component::Linker;

use super::{Running, saving, wire};
use crate::egress::{Answer, Refusal, Sender};
use crate::namespaces::Services;
use crate::runtime::{State, Stop, charge, http, link_waiting};
use crate::secrets::Redacted;

/// The interface of the contract.
pub(in crate::namespaces) const INTERFACE: &str = "remit:capability/http@0.1.0";

/// Puts the namespace's functions into a linker.
pub(in crate::namespaces) fn link(linker: &mut Linker<State>) -> wasmtime::Result<()> {
    let mut interface = linker.instance(INTERFACE)?;
    link_waiting(&mut interface, "send", |store, (request,): (http::Request,)| {
        send(store, request).map(|answer| (answer,))
    })?;
    link_waiting(&mut interface, "save", |store, (request, saving): (http::Request, http::Saving)| {
        saving::save(store, request, &saving).map(|answer| (answer,))
    })
}

fn send(
    store: StoreContextMut<'_, State>,
    request: http::Request,
) -> wasmtime::Result<Result<http::Response, http::Error>> {
    Ok(exchange(store, request)?.map(wire::response).map_err(|refusal| wire::error(&refusal)))
}

/// Sends a request of a guest, or of a program that runs in the place of one.
pub(crate) fn exchange(
    mut store: StoreContextMut<'_, State>,
    request: http::Request,
) -> wasmtime::Result<Result<Redacted<Answer>, Refusal>> {
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
        Some(Err(Refusal::Budget(_))) => Err(Stop::Egress.into()),
        Some(sent) => Ok(sent),
    }
}
