//! A request whose answer becomes a file: asked of the sandbox before anything is sent, written by it afterwards.

use wasmtime::StoreContextMut;

use super::{Running, wire};
use crate::egress::{Method, Refusal, Saving, Sender, Standing as _, Template};
use crate::namespaces::Services;
use crate::namespaces::sandbox::{self, Sandbox};
use crate::policy::Granted;
use crate::runtime::{State, Stop, charge, http};

type Answer = wasmtime::Result<Result<http::Saved, http::SaveError>>;

/// What `save` does.
pub(super) fn save(
    mut store: StoreContextMut<'_, State>,
    request: http::Request,
    saving: &http::Saving,
) -> Answer {
    let place = saving.to.len() + saving.base64_field.as_ref().map_or(0, String::len);
    charge(&mut store, wire::size(&request) + place)?;
    let State { granted, lease, dry_run, services: Services { http, sandbox, .. }, .. } = store.data_mut();
    let running = Running { granted, standings: &http.standings };
    let template = wire::template(request);
    let kept = match prepare(&running, sandbox, &template, saving) {
        Ok(kept) => kept,
        Err(error) => return Ok(Err(error)),
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
        Some(Err(refusal)) => return Ok(Err(http::SaveError::Request(wire::error(&refusal)))),
        Some(Ok(answer)) => answer,
    };
    if !answer.as_ref().is_success() {
        return Ok(Ok(wire::saved(wire::response(answer), None)));
    }
    let mut response = wire::response(answer);
    let bytes = std::mem::take(&mut response.body);
    let written = sandbox.write(lease, &saving.to, bytes)?;
    Ok(written.map(|file| wire::saved(response, Some(&file))).map_err(refused))
}

/// Everything that can say no before a name is looked up.
fn prepare(
    running: &Running<'_>,
    sandbox: &Sandbox,
    template: &Template,
    saving: &http::Saving,
) -> Result<Saving, http::SaveError> {
    let is_granted = running.now().is_ok_and(|now: Granted| now.sandbox().is_some());
    let file_bytes = sandbox.file_bytes().filter(|_| is_granted).ok_or(http::SaveError::NotAvailable)?;
    if template.method == Method::Head {
        let why = "the answer to `HEAD` has no body to save".to_owned();
        return Err(http::SaveError::Request(http::Error::ResponseInvalid(why)));
    }
    sandbox.check(&saving.to).map_err(refused)?;
    let most = usize::try_from(file_bytes).unwrap_or(usize::MAX);
    Saving::new(saving.base64_field.as_deref(), most)
        .map_err(|refusal| http::SaveError::Request(wire::error(&refusal)))
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
