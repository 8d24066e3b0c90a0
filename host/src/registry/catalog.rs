//! What is installed, as one immutable snapshot, read again when any process changed it.
//!
//! Decides how fresh a call's view is: each call asks the database's change counter. An install whose stored
//! manifest this program cannot read is left out, loudly: it must not run, and must not keep the others
//! from running.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use super::{Against, Capability, CapabilityName, Digest, Origin, Recall, Withdrawn};
use crate::error::Result;
use crate::manifest::{Manifest, Runtime};
use crate::policy::{self, Approval, Directory, Grant, Restriction};
use crate::store::{Install, Store};
use crate::tokens::{StoredToken, TokenHash};
use crate::validate::ToolSchemas;

/// The installs of one home, kept fresh.
pub struct Catalog {
    store: Arc<Store>,
    current: Mutex<Arc<Snapshot>>,
}

/// All installs at one moment.
#[derive(Debug, Default)]
pub struct Snapshot {
    /// Grows with every change of installs, grants, approvals, secrets or principals.
    pub generation: u64,
    /// By name, in order.
    pub entries: BTreeMap<CapabilityName, Arc<Entry>>,
    /// Principals, roles and flags. Shared by snapshots between which they did not change.
    pub directory: Arc<Directory>,
    /// The tokens of principals, by their hashes.
    pub tokens: HashMap<TokenHash, StoredToken>,
}

/// One installed capability with what people decided about its digest.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The pin and the manifest.
    pub capability: Arc<Capability>,
    /// What the installer allowed.
    pub grants: Vec<Grant>,
    /// Where its secrets may go.
    pub approvals: Vec<Approval>,
    /// What the installer asks beyond what the publisher asks.
    pub restrictions: Vec<Restriction>,
    /// What the capability itself has withdrawn for now: neither listed nor called.
    pub withdrawn: Withdrawn,
    /// What was said against its release.
    pub recall: Option<Recall>,
    /// Who vouched for its bytes, when they came from a registry.
    pub origin: Option<Origin>,
    /// Compiled schemas, in the order of the manifest's tools. Shared by snapshots of one digest.
    pub schemas: Arc<Vec<ToolSchemas>>,
}

impl Entry {
    /// Whether it has something to call now: its release may run, and it has all that it needs.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.revoked().is_none() && self.is_complete()
    }

    /// What was said against its release, when it must not run.
    #[must_use]
    pub fn revoked(&self) -> Option<&Recall> {
        self.recall.as_ref().filter(|recall| recall.against == Against::Revoked)
    }

    /// Whether it has all that it needs to be called: every namespace that it imports is granted, without one it
    /// cannot be instantiated. An engine is called by nobody.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        let manifest = &self.capability.manifest;
        matches!(manifest.runtime, Runtime::Component | Runtime::Codemode | Runtime::Builtin | Runtime::Mcp)
            && manifest.uses.iter().all(|&namespace| policy::is_granted(namespace, &self.grants))
    }
}

impl Catalog {
    /// The installs of `store`.
    #[must_use]
    pub fn new(store: Arc<Store>) -> Self {
        // A database's generation is never 0, so the first look reads it.
        Self { store, current: Mutex::default() }
    }

    /// The newest snapshot. Costs one counter read when nothing changed.
    pub fn current(&self) -> Result<Arc<Snapshot>> {
        let generation = self.store.generation()?;
        // Held while reading, so that one change is read once and not by every call that waits for it.
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        if current.generation < generation {
            *current = Arc::new(self.load(&current)?);
        }
        Ok(Arc::clone(&current))
    }

    /// What was decided about bytes that a name was pinned to before, while they may still run.
    pub(crate) fn decided_before(&self, capability: &Capability) -> Result<Option<(Vec<Grant>, Vec<Approval>)>> {
        self.store.decided_before(&capability.name, &capability.digest)
    }

    fn load(&self, last: &Snapshot) -> Result<Snapshot> {
        let same_pin = |name: &CapabilityName, digest: &Digest, installed_at: i64| {
            last.entries.get(name).filter(|entry| {
                entry.capability.digest == *digest && entry.capability.installed_at == installed_at
            })
        };
        let installs = self.store.installs(|name, digest, at| same_pin(name, digest, at).is_some())?;
        let entries = installs.by_name.into_iter().filter_map(|(name, install)| {
            let entry = match same_pin(&name, &install.digest, install.installed_at) {
                Some(known) => renew(known, install),
                None => Arc::new(read(&name, install)?),
            };
            Some((name, entry))
        });
        let directory = if *last.directory == installs.directory {
            Arc::clone(&last.directory)
        } else {
            Arc::new(installs.directory)
        };
        let tokens = installs.tokens;
        Ok(Snapshot { generation: installs.generation, entries: entries.collect(), directory, tokens })
    }
}

/// The entry of the same pin with the grants and approvals of now.
fn renew(known: &Arc<Entry>, install: Install) -> Arc<Entry> {
    if known.grants == install.grants
        && known.approvals == install.approvals
        && known.restrictions == install.restrictions
        && known.withdrawn == install.withdrawn
        && known.recall == install.recall
        && known.origin == install.origin
    {
        return Arc::clone(known);
    }
    Arc::new(Entry {
        capability: Arc::clone(&known.capability),
        grants: install.grants,
        approvals: install.approvals,
        restrictions: install.restrictions,
        withdrawn: install.withdrawn,
        recall: install.recall,
        origin: install.origin,
        schemas: Arc::clone(&known.schemas),
    })
}

fn read(name: &CapabilityName, install: Install) -> Option<Entry> {
    let manifest: Manifest = match serde_json::from_str(install.manifest.as_deref().unwrap_or_default()) {
        Ok(manifest) => manifest,
        Err(error) => {
            tracing::error!(capability = %name, %error, "left out: its stored manifest cannot be read; install it again");
            return None;
        }
    };
    Some(Entry {
        schemas: Arc::new(manifest.tools.iter().map(ToolSchemas::new).collect()),
        capability: Arc::new(Capability {
            name: name.clone(),
            digest: install.digest,
            manifest,
            installed_at: install.installed_at,
            size: install.size,
        }),
        grants: install.grants,
        approvals: install.approvals,
        restrictions: install.restrictions,
        withdrawn: install.withdrawn,
        recall: install.recall,
        origin: install.origin,
    })
}

#[cfg(test)]
mod tests;
