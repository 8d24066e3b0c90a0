//! What still keeps an installed capability from working, and the command that changes it. Pure.

use crate::admin::StoredSecret;
use crate::policy::{Approval, asks};
use crate::registry::Entry;

/// One thing that is missing.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Missing {
    /// A phrase.
    pub(super) what: String,
    /// The command to run.
    pub(super) fix: String,
}

/// What is missing at `now`, in milliseconds since 1970, in the order in which to fix it.
pub(super) fn missing(entry: &Entry, stored: &[StoredSecret], now: i64) -> Vec<Missing> {
    let name = &entry.capability.name;
    let manifest = &entry.capability.manifest;
    let mut missing = Vec::new();
    for ask in asks(manifest).iter().filter(|ask| ask.entry.is_none() && !entry.grants.contains(ask)) {
        let namespace = ask.namespace.as_str();
        missing.push(Missing {
            what: format!("`{namespace}` is not granted"),
            fix: format!("remit grant {name} {namespace}"),
        });
    }
    for secret in &manifest.secrets {
        let optional = if secret.required { "" } else { " (optional)" };
        let counts = |approval: &&Approval| approval.secret == secret.name && !approval.is_over(now);
        let approvals: Vec<_> = entry.approvals.iter().filter(counts).collect();
        let mut sources: Vec<&str> = approvals.iter().map(|approval| approval.source.as_str()).collect();
        if sources.is_empty() {
            sources.push(&secret.name);
        }
        sources.dedup();
        for source in sources.into_iter().filter(|&source| !stored.iter().any(|stored| stored.name == source)) {
            missing.push(Missing {
                what: format!("no value is stored for the secret `{source}`{optional}"),
                fix: format!("remit secret set {source}"),
            });
        }
        if approvals.is_empty() {
            missing.push(Missing {
                what: format!("the secret `{}` may go nowhere yet{optional}", secret.name),
                fix: format!("remit approve {name} {}", secret.name),
            });
        }
    }
    missing
}
