//! What a capability may do at this moment: the newest snapshot, judged by policy at the time of now.
//!
//! Asked when a call begins and again before each of its requests, so that a grant or an approval that was taken
//! back, or that ended, counts for the next request of a call that runs. A call belongs to the bytes that it began
//! with: when others take their place it goes on with what was decided about its own, less what is taken back
//! meanwhile; when the capability is removed, or its release revoked, it may send nothing more.

use std::sync::Arc;

use crate::clock::Clock;
use crate::config::Config;
use crate::error::{Error, ErrorKind, Result};
use crate::policy::{self, Granted, Permitted};
use crate::registry::{Capability, Catalog, Entry};

/// Where it is asked what a capability may do.
pub struct Standings {
    catalog: Arc<Catalog>,
    config: Config,
    clock: Arc<Clock>,
}

impl Standings {
    /// By the installs of `catalog`, under the ceilings of `config`.
    #[must_use]
    pub fn new(catalog: Arc<Catalog>, config: Config, clock: Arc<Clock>) -> Self {
        Self { catalog, config, clock }
    }

    /// What a capability may do in a call that was permitted.
    #[must_use]
    pub fn begin(&self, _permitted: &Permitted, entry: &Entry) -> Granted {
        self.of(entry)
    }

    fn of(&self, entry: &Entry) -> Granted {
        let Entry { capability, grants, approvals, .. } = entry;
        policy::decide(capability, grants, approvals, self.clock.now_ms(), &self.config)
    }

    /// What it may do now. An error when it was removed or its release revoked, or when the store cannot be read.
    /// Costs one look at a counter and the decision; after an upgrade, one look at what was decided before it.
    pub fn again(&self, capability: &Arc<Capability>) -> Result<Granted> {
        let refused = |what: &str| {
            let message = format!("`{}` was {what} while its call ran", capability.name);
            Err(Error::new(ErrorKind::HttpHostNotAllowed, message))
        };
        match self.catalog.current()?.entries.get(&capability.name) {
            None => refused("removed"),
            Some(entry) if entry.capability.digest == capability.digest => match entry.revoked() {
                None => Ok(self.of(entry)),
                Some(_) => refused("revoked"),
            },
            Some(_) => match self.catalog.decided_before(capability)? {
                None => refused("revoked or replaced"),
                Some((grants, approvals)) => {
                    Ok(policy::decide(capability, &grants, &approvals, self.clock.now_ms(), &self.config))
                }
            },
        }
    }
}
