//! A request whose answer becomes a file: asked of the sandbox before anything is sent, written by it afterwards.

use wasmtime::StoreContextMut;

use super::{Running, wire};
use crate::egress::{Answer, Method, Refusal, Saving, Sender, Standing as _, Template};
use crate::namespaces::Services;
use crate::namespaces::sandbox::{self, File, Sandbox};
use crate::policy::Granted;
use crate::runtime::{State, Stop, charge, http};

/// What came back, without the body that became a file.
pub(crate) struct Saved {
    pub(crate) answer: Answer,
    /// The file, when the status says success.
    pub(crate) file: Option<File>,
}

/// Why nothing was saved.
pub(crate) enum Unsaved {
    /// The request has no answer, or none that holds what was asked for.
    Request(Refusal),
    /// The sandbox takes no such file.
    File(sandbox::Refusal),
}

/// What `save` does for a guest.
pub(super) fn save(
    store: StoreContextMut<'_, State>,
    request: http::Request,
    saving: &http::Saving,
) -> wasmtime::Result<Result<http::Saved, http::SaveError>> {
    let saved = keep(store, request, saving)?;
    Ok(saved.map(wire::saved).map_err(|unsaved| match unsaved {
        Unsaved::Request(refusal) => http::SaveError::Request(wire::error(&refusal)),
        Unsaved::File(refusal) => refused(refusal),
    }))
}

/// Sends a request of a guest, or of a program that runs in the place of one, and keeps what comes back as a file.
pub(crate) fn keep(
    mut store: StoreContextMut<'_, State>,
    request: http::Request,
    saving: &http::Saving,
) -> wasmtime::Result<Result<Saved, Unsaved>> {
    let place = saving.to.len() + saving.base64_field.as_ref().map_or(0, String::len);
    charge(&mut store, wire::size(&request) + place)?;
    let State { granted, lease, dry_run, services: Services { http, sandbox, .. }, .. } = store.data_mut();
    let running = Running { granted, standings: &http.standings };
    let template = wire::template(request);
    let kept = match prepare(&running, sandbox, &template, saving) {
        Ok(kept) => kept,
        Err(unsaved) => return Ok(Err(unsaved)),
    };
    let sender = Sender { granted: &running, secrets: &http.secrets, deadline: lease.deadline, dry_run: *dry_run };
    let sent = http.io.block_on(async {
        tokio::select! {
            () = lease.cancel.cancelled() => None,
            sent = http.egress.save(&sender, template, &kept, &mut http.ledger) => Some(sent),
        }
    });
    let answer = match sent {
        None => return Err(Stop::Cancelled.into()),
        Some(Err(Refusal::Budget(_))) => return Err(Stop::Egress.into()),
        Some(Err(refusal)) => return Ok(Err(Unsaved::Request(refusal))),
        Some(Ok(answer)) => answer,
    };
    let is_success = answer.as_ref().is_success();
    let mut answer = answer.into_inner();
    if !is_success {
        return Ok(Ok(Saved { answer, file: None }));
    }
    let bytes = std::mem::take(&mut answer.body);
    let written = sandbox.write(lease, &saving.to, bytes)?;
    Ok(written.map(|file| Saved { answer, file: Some(file) }).map_err(Unsaved::File))
}

/// Everything that can say no before a name is looked up.
fn prepare(
    running: &Running<'_>,
    sandbox: &Sandbox,
    template: &Template,
    saving: &http::Saving,
) -> Result<Saving, Unsaved> {
    let is_granted = running.now().is_ok_and(|now: Granted| now.sandbox().is_some());
    let granted = sandbox.file_bytes().filter(|_| is_granted);
    let file_bytes = granted.ok_or(Unsaved::File(sandbox::Refusal::NotAvailable))?;
    if template.method == Method::Head {
        let why = "the answer to `HEAD` has no body to save".to_owned();
        return Err(Unsaved::Request(Refusal::ResponseInvalid(why)));
    }
    sandbox.check(&saving.to).map_err(Unsaved::File)?;
    let most = usize::try_from(file_bytes).unwrap_or(usize::MAX);
    Saving::new(saving.base64_field.as_deref(), most).map_err(Unsaved::Request)
}

fn refused(refusal: sandbox::Refusal) -> http::SaveError {
    match refusal {
        sandbox::Refusal::NotAvailable => http::SaveError::NotAvailable,
        sandbox::Refusal::InvalidName(why) => http::SaveError::InvalidName(why.to_string()),
        sandbox::Refusal::Collision(file) => http::SaveError::Collision(file),
        sandbox::Refusal::Quota(why) => http::SaveError::Quota(why),
        sandbox::Refusal::ReadOnly => http::SaveError::ReadOnly,
        sandbox::Refusal::NotFound(_) | sandbox::Refusal::Unavailable => http::SaveError::Unavailable,
    }
}
