//! What people do with loops: make, pause, look at, remove them. Part of the people's door.

use std::collections::BTreeMap;
use std::time::Duration;

use super::Admin;
use crate::error::{Error, ErrorKind, Result};
use crate::registry::CapabilityName;
use crate::scheduler::next::Schedule;
use crate::scheduler::{self, Definition, Limits, Loop, Origin, Run, official};

/// The owner of what is made at the command line.
const OWNER: &str = "cli";

impl Admin {
    /// All loops, or those of one capability, by name.
    pub fn loops(&self, capability: Option<&CapabilityName>) -> Result<Vec<Loop>> {
        self.store.loops(capability)
    }

    /// One loop by its name.
    pub fn find_loop(&self, capability: &CapabilityName, name: &str) -> Result<Loop> {
        self.store.find_loop(capability, name)?.ok_or_else(|| no_loop(capability, name))
    }

    /// Makes a loop of the person's own: it may call any tool that is installed.
    pub fn create_loop(&self, definition: Definition) -> Result<Loop> {
        let now = self.store.now_ms();
        let capability = official();
        let min_period = Duration::from_secs(self.loops.min_period_s);
        let limits = Limits { origin: Origin::Person, min_period };
        let next_at = scheduler::check(&definition, &capability, limits, &*self.catalog.current()?, now)?;
        let made = Loop::begun(capability, definition, (Origin::Person, OWNER.to_owned()), next_at, now)?;
        self.store.create_loop(made.clone(), None)?;
        Ok(made)
    }

    /// Stops a loop. Runs that have not started do not start.
    pub fn pause_loop(&self, found: &Loop) -> Result<()> {
        expect(self.store.pause_loop(&found.id)?, found)
    }

    /// Lets a loop fire again, at its next time from now on. Gives that time.
    pub fn resume_loop(&self, found: &Loop) -> Result<i64> {
        let next_at = Schedule::new(&found.definition.timing, found.anchor_at)
            .and_then(|schedule| schedule.next(self.store.now_ms()))?;
        expect(self.store.resume_loop(&found.id, next_at)?, found)?;
        Ok(next_at)
    }

    /// Removes a loop with its history. A preset comes and goes with its capability.
    pub fn delete_loop(&self, found: &Loop) -> Result<()> {
        if found.origin == Origin::Preset {
            let (capability, name) = (&found.capability, &found.definition.name);
            return Err(Error::new(
                ErrorKind::LoopPreset,
                format!("`{name}` comes with `{capability}`, and goes with it"),
            )
            .hint(format!("remit loops pause {capability} {name}")));
        }
        expect(self.store.delete_loop(&found.id)?, found)
    }

    /// Queues a run of a loop, beside its schedule. Gives the run's id.
    pub fn queue_run(&self, found: &Loop) -> Result<String> {
        self.store.queue_run(&found.id)
    }

    /// One run by its id.
    pub fn find_run(&self, id: &str) -> Result<Run> {
        let found = self.store.find_run(id)?;
        found
            .map(|(run, _)| run)
            .ok_or_else(|| Error::new(ErrorKind::LoopNotFound, format!("there is no run `{id}`")))
    }

    /// The last runs of a loop, newest first.
    pub fn runs(&self, found: &Loop, limit: usize) -> Result<Vec<Run>> {
        self.store.history(&found.id, limit)
    }

    /// Why runs of a loop could not be delivered, by run.
    pub fn failed_deliveries(&self, found: &Loop) -> Result<BTreeMap<String, String>> {
        self.store.failed_deliveries(&found.id)
    }
}

/// A loop that was there a moment ago may be gone.
fn expect(is_there: bool, found: &Loop) -> Result<()> {
    if is_there { Ok(()) } else { Err(no_loop(&found.capability, &found.definition.name)) }
}

fn no_loop(capability: &CapabilityName, name: &str) -> Error {
    Error::new(ErrorKind::LoopNotFound, format!("`{capability}` has no loop `{name}`")).hint("remit loops list")
}
