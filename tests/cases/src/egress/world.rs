//! The host as a case finds it: its `Egress` with the case's names and connections, secrets that count how
//! often they are read, and calls with a ledger each.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use remit::audit::RequestRecord;
use remit::clock;
use remit::config::{HttpConfig, HttpExceptions};
use remit::egress::{Answer, Egress, Exceptions, Ledger, Refusal, Sender, Template};
use remit::policy::Granted;
use remit::secrets::{CallSecrets, Redacted, SecretSet, SecretValue};
use zeroize::Zeroizing;

use super::capability::{Installed, NAME};
use super::names::Names;
use super::wires::Wires;

/// Longer than any limit of a request.
const CALL: Duration = Duration::from_secs(3600);

/// One host.
pub(super) struct World {
    pub(super) names: Arc<Names>,
    pub(super) wires: Arc<Wires>,
    pub(super) limits: HttpConfig,
    egress: Egress,
    /// The secrets, each with the authority that it is approved for.
    secrets: Vec<(String, String)>,
    reads: Arc<AtomicUsize>,
}

/// What one call left behind.
pub(super) struct Left {
    pub(super) result: Result<Answer, Refusal>,
    pub(super) records: Vec<RequestRecord>,
}

impl World {
    /// A host with the operator's default limits, that believes the authority in the PEM file `authority` besides
    /// those of the web.
    pub(super) fn new(
        installed: &Installed,
        names: Names,
        wires: Wires,
        authority: &Path,
    ) -> Result<Self, String> {
        let (names, wires, limits) = (Arc::new(names), Arc::new(wires), HttpConfig::default());
        let exceptions = HttpExceptions { ca: vec![authority.to_owned()], ..HttpExceptions::default() };
        let exceptions = Exceptions::read(NAME, &exceptions).map_err(|error| error.to_string())?;
        let exceptions = BTreeMap::from([(NAME.parse().map_err(|why| format!("{why}"))?, exceptions)]);
        let egress = Egress::new(Arc::<Names>::clone(&names), Arc::<Wires>::clone(&wires), limits, exceptions);
        let egress = egress.map_err(|error| error.to_string())?;
        Ok(Self { names, wires, limits, egress, secrets: installed.secrets(), reads: Arc::default() })
    }

    /// The names of its secrets, each with the one `Host` that may get it.
    pub(super) fn secrets(&self) -> impl Iterator<Item = (&str, &str)> {
        self.secrets.iter().map(|(name, authority)| (name.as_str(), authority.as_str()))
    }

    /// Whether any secret is there.
    pub(super) fn has_secrets(&self) -> bool {
        !self.secrets.is_empty()
    }

    /// How often secrets were read.
    pub(super) fn secret_reads(&self) -> usize {
        self.reads.load(Ordering::Relaxed)
    }

    /// One call that sends one request.
    pub(super) async fn call(&self, granted: &Granted, template: Template) -> Left {
        let reads = Arc::clone(&self.reads);
        let names: Vec<_> = self.secrets().map(|(name, _)| name.to_owned()).collect();
        let secrets = CallSecrets::new(granted, move || {
            reads.fetch_add(1, Ordering::Relaxed);
            let value = |name: &String| SecretValue {
                name: name.clone(),
                source: name.clone(),
                value: Zeroizing::new(value_of(name).into_bytes()),
                is_usable: true,
            };
            Ok(SecretSet::new(names.iter().map(value).collect()))
        });
        let sender = Sender { granted, secrets: &secrets, deadline: clock::monotonic() + CALL, dry_run: false };
        let mut ledger = Ledger::new(granted.budget().http_requests);
        let result = self.egress.send(&sender, template, &mut ledger).await;
        Left { result: result.map(Redacted::into_inner), records: ledger.into_requests() }
    }
}

/// The value of a secret.
pub(super) fn value_of(name: &str) -> String {
    format!("sk-0123456789abcdef-{}", name.to_lowercase())
}
