//! What a capability may do at this moment: the newest snapshot, judged by policy at the time of now.
//!
//! Asked when a call begins and again before each of its requests, so that a grant or an approval that was taken
//! back, or that ended, counts for the next request of a call that runs. A call belongs to the bytes that it began
//! with: when others are pinned meanwhile, or none, it may send nothing more.

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

    /// What it may do now. An error when its bytes are not the installed ones any more, or when the store cannot
    /// be read. Costs one look at a counter and the decision.
    pub fn again(&self, capability: &Capability) -> Result<Granted> {
        match self.catalog.current()?.entries.get(&capability.name) {
            Some(entry) if entry.capability.digest == capability.digest => Ok(self.of(entry)),
            _ => Err(Error::new(
                ErrorKind::HttpHostNotAllowed,
                format!("`{}` was replaced or removed while its call ran", capability.name),
            )),
        }
    }
}
