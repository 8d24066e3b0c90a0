//! The `http` namespace: the guest's side of a request.
//!
//! It carries what the guest wrote to `egress` and what came back to the guest. Whether a request may leave,
//! where a secret may stand and what is kept of an answer is decided there. An answer that becomes a file goes to the
//! `sandbox` namespace instead, which says first whether it may (`saving.rs`).

mod host;
mod saving;
mod wire;

use std::sync::Arc;

use crate::egress::{Egress, Ledger, Standing};
use crate::error::Result;
use crate::policy::Granted;
use crate::registry::Capability;
use crate::secrets::{CallSecrets, Redactor, Vault};
use crate::standing::Standings;

pub(super) use host::{INTERFACE, link};

/// What one call holds of it.
pub struct Http {
    egress: Arc<Egress>,
    secrets: CallSecrets,
    ledger: Ledger,
    standings: Arc<Standings>,
    /// Where requests wait for the network; the guest's own thread waits for them.
    io: tokio::runtime::Handle,
}

impl Http {
    /// For one call. Must be made on a thread of the I/O runtime.
    #[must_use]
    pub fn new(egress: Arc<Egress>, vault: &Arc<Vault>, standings: Arc<Standings>, granted: &Granted) -> Self {
        Self {
            egress,
            secrets: CallSecrets::from_vault(vault),
            ledger: Ledger::new(granted.budget().http_requests),
            standings,
            io: tokio::runtime::Handle::current(),
        }
    }

    /// Searches for the secrets that this call had in its hands, if it had any.
    #[must_use]
    pub fn redactor(&self) -> Option<&Redactor> {
        self.secrets.redactor()
    }

    /// What it sent, tried to send, or would have sent.
    #[must_use]
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }
}

/// What the capability of a call that runs may do now.
struct Running<'a> {
    /// What it might do when the call began.
    granted: &'a Granted,
    standings: &'a Standings,
}

impl Standing for Running<'_> {
    fn capability(&self) -> &Arc<Capability> {
        self.granted.capability()
    }

    fn now(&self) -> Result<Granted> {
        self.standings.again(self.granted.capability())
    }
}
