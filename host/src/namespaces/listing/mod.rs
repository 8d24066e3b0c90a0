//! The `listing` namespace: what a capability shows to agents at the moment.
//!
//! It decides, for one call, what the capability may offer and withdraw: only what its manifest declares, so that
//! nothing is widened by it. What agents are shown of that, and told when it changes, is `mcp/`'s business.

mod host;

use std::collections::BTreeMap;
use std::sync::Arc;

use tokio::sync::broadcast;

use super::Access;
use crate::manifest::{Manifest, declares_document, visible};
use crate::registry::{Capability, CapabilityName, Item, Withdrawn};
use crate::runtime::listing::Error;
use crate::store::Store;

pub(super) use host::{INTERFACE, link};

/// Changes of one call. Each makes every client fetch lists anew.
const CHANGES: u32 = 16;

/// Updates that one call tells. Each can make clients read a document.
const UPDATES: u32 = 64;

/// Characters of a name or an address that a refusal repeats.
const SHOWN: usize = 100;

/// What is at an address changed: a capability says so, to whoever listens in this process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Updated {
    /// Whose document it is.
    pub capability: CapabilityName,
    /// Its address inside the capability.
    pub uri: String,
}

/// What a dry run would offer or withdraw.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offer {
    /// The item.
    pub item: Item,
    /// Whether agents would see it.
    pub offered: bool,
}

/// What one call holds of it.
pub struct Listing {
    store: Arc<Store>,
    capability: Arc<Capability>,
    /// What was withdrawn when the call began.
    withdrawn: Withdrawn,
    access: Access,
    /// What this call made of it, or planned.
    changes: BTreeMap<Item, bool>,
    made: u32,
    plan: Vec<Offer>,
    updates: broadcast::Sender<Updated>,
    told: u32,
}

impl Listing {
    /// For one call.
    #[must_use]
    pub fn new(
        store: Arc<Store>,
        capability: Arc<Capability>,
        withdrawn: Withdrawn,
        access: Access,
        updates: broadcast::Sender<Updated>,
    ) -> Self {
        Self {
            store,
            capability,
            withdrawn,
            access,
            changes: BTreeMap::new(),
            made: 0,
            plan: Vec::new(),
            updates,
            told: 0,
        }
    }

    /// In a dry run: what was not offered or withdrawn.
    #[must_use]
    pub fn plan(&self) -> &[Offer] {
        &self.plan
    }

    /// Whether this call has offered or withdrawn something.
    #[must_use]
    pub fn has_changed(&self) -> bool {
        self.access == Access::Change && self.made > 0
    }

    fn offer(&mut self, item: Item, offered: bool) -> Result<(), Error> {
        if !declares(&self.capability.manifest, &item) {
            return Err(Error::NotFound(visible(item.name(), SHOWN)));
        }
        if self.access == Access::Read {
            return Err(Error::ReadOnly);
        }
        let is_offered = self.changes.get(&item).copied().unwrap_or_else(|| !self.withdrawn.contains(&item));
        if is_offered == offered {
            return Ok(());
        }
        if self.made >= CHANGES {
            return Err(Error::Limit);
        }
        if self.access == Access::Change {
            let Capability { name, digest, .. } = &*self.capability;
            self.store.set_offered(name, digest, &item, offered).map_err(|error| {
                tracing::error!(code = error.kind.code(), detail = error.detail, "listing: {}", error.message);
                Error::Unavailable
            })?;
        } else {
            self.plan.push(Offer { item: item.clone(), offered });
        }
        self.made += 1;
        self.changes.insert(item, offered);
        Ok(())
    }

    fn updated(&mut self, uri: String) -> Result<(), Error> {
        if !declares_document(&self.capability.manifest, &uri) {
            return Err(Error::NotFound(visible(&uri, SHOWN)));
        }
        if self.told >= UPDATES {
            return Err(Error::Limit);
        }
        self.told += 1;
        if self.access != Access::Plan {
            // Nobody has to listen.
            let _ = self.updates.send(Updated { capability: self.capability.name.clone(), uri });
        }
        Ok(())
    }
}

/// Whether a manifest declares an item under exactly this name.
fn declares(manifest: &Manifest, item: &Item) -> bool {
    match item {
        Item::Tool(name) => manifest.tools.iter().any(|tool| tool.name == *name),
        Item::Prompt(name) => manifest.prompts.iter().any(|prompt| prompt.name == *name),
        Item::Resource(name) => {
            manifest.resources.iter().any(|resource| resource.uri == *name)
                || manifest.resource_templates.iter().any(|template| template.uri_template == *name)
        }
    }
}
