//! The `loops` namespace: schedules of whoever calls, a capability or an agent.
//!
//! It decides, for one call, which loops there are for the maker, which of them it may change, and what a dry run
//! sees. Whether a definition is in order is decided in `scheduler/`, how loops are kept in the store.

mod diff;
pub(crate) mod host;
mod plan;
mod wire;

use std::sync::Arc;

use serde_json::Value;

pub use self::diff::Difference;
use self::diff::difference;
pub use self::plan::LoopChange;
use self::plan::Overlay;
use super::Access;
use crate::error::{Error, ErrorKind, Result};
use crate::policy::LoopsGrant;
use crate::registry::{CapabilityName, Catalog};
use crate::scheduler::next::Schedule;
use crate::scheduler::{self, Definition, Limits, Loop, Origin, Status};
use crate::store::{Store, Timed};

pub(super) use host::{INTERFACE, link};

/// Items of one list. A list that a person reads what is new of is shorter.
const ITEMS: usize = 1_000;

/// Bytes of one list, as JSON.
const ITEMS_BYTES: usize = 256 * 1024;

/// What a dry run says instead of a run's id.
const NO_RUN: &str = "dry-run";

/// Whose loops they are.
#[derive(Clone, Debug)]
pub struct Maker {
    /// The capability that they belong to.
    pub capability: CapabilityName,
    /// Who makes them: sees and changes only these, and presets if it is the capability itself.
    pub origin: Origin,
    /// The principal of the call.
    pub owner: String,
    /// What is granted; without it there is nothing.
    pub grant: Option<LoopsGrant>,
}

/// What one call holds of it.
pub struct Loops {
    store: Arc<Store>,
    catalog: Arc<Catalog>,
    maker: Maker,
    access: Access,
    /// The loop's run that the call is.
    run: Option<String>,
    overlay: Overlay,
    /// This call has changed a loop, or started a run.
    changed: bool,
}

/// Why nothing was done.
#[derive(Debug)]
pub enum Refusal {
    /// The tool is declared to change nothing.
    ReadOnly,
    /// Anything else.
    Because(Error),
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        Self::Because(error)
    }
}

impl Loops {
    /// For one call.
    #[must_use]
    pub fn new(
        store: Arc<Store>,
        catalog: Arc<Catalog>,
        maker: Maker,
        access: Access,
        run: Option<String>,
    ) -> Self {
        Self { store, catalog, maker, access, run, overlay: Overlay::default(), changed: false }
    }

    /// In a dry run: what was not done.
    #[must_use]
    pub fn plan(&self) -> &[LoopChange] {
        self.overlay.plan()
    }

    /// Whether this call has changed a loop, or started a run.
    #[must_use]
    pub fn has_changed(&self) -> bool {
        self.changed
    }

    /// The maker's loops, by name.
    pub fn list(&self) -> Result<Vec<Loop>> {
        self.granted()?;
        let mut loops = self.store.loops(Some(&self.maker.capability))?;
        loops.retain(|found| self.is_own(found));
        Ok(self.overlay.merge(loops))
    }

    /// One of the maker's loops.
    pub fn find(&self, name: &str) -> Result<Loop> {
        self.granted()?;
        self.own(name)
    }

    /// Whether the call is a run of a loop.
    #[must_use]
    pub fn is_in_run(&self) -> bool {
        self.run.is_some()
    }

    /// Makes a loop.
    pub fn create(&mut self, definition: Definition) -> Result<Loop, Refusal> {
        let (grant, now) = (self.granted()?, self.store.now_ms());
        let next_at = self.check(&definition, grant, now)?;
        let Maker { capability, origin, owner, .. } = &self.maker;
        let made = Loop::begun(capability.clone(), definition, (*origin, owner.clone()), next_at, now)?;
        match self.access {
            Access::Read => return Err(Refusal::ReadOnly),
            Access::Change => {
                self.store.create_loop(made.clone(), Some(grant.max))?;
                self.changed = true;
            }
            Access::Plan => self.plan_create(&made, grant.max)?,
        }
        Ok(made)
    }

    /// Replaces what the loop of this name does. What becomes of late and overlapping firings stays as it is.
    pub fn update(&mut self, definition: Definition) -> Result<Loop, Refusal> {
        let (grant, now) = (self.granted()?, self.store.now_ms());
        let there = self.own(&definition.name)?;
        refuse_preset(&there)?;
        let Definition { misfire, overlap, window, .. } = there.definition;
        let definition = Definition { misfire, overlap, window, ..definition };
        let next_at = self.check(&definition, grant, now)?;
        let timed = match there.next_at {
            // The same schedule goes on counting from where it counts.
            Some(next_at) if there.definition.timing == definition.timing => {
                Timed { anchor_at: there.anchor_at, next_at }
            }
            _ => Timed { anchor_at: now, next_at },
        };
        let is_paused = there.status == Status::Paused;
        let changed = Loop {
            definition,
            status: if is_paused { Status::Paused } else { Status::Active },
            reason: None,
            anchor_at: timed.anchor_at,
            next_at: (!is_paused).then_some(timed.next_at),
            changed_at: now,
            ..there
        };
        match self.access {
            Access::Read => return Err(Refusal::ReadOnly),
            Access::Change => {
                let is_there = self.store.update_loop(&changed.id, changed.definition.clone(), timed)?;
                expect(is_there, &changed.definition.name)?;
                self.changed = true;
            }
            Access::Plan => self.overlay.put("update", &changed),
        }
        Ok(changed)
    }

    /// Stops a loop, or lets it fire again.
    pub fn pause(&mut self, name: &str, is_paused: bool) -> Result<Loop, Refusal> {
        self.granted()?;
        let there = self.own(name)?;
        let changed = if is_paused {
            Loop { status: Status::Paused, reason: None, next_at: None, ..there.clone() }
        } else {
            let schedule = Schedule::new(&there.definition.timing, there.anchor_at).map_err(Error::from)?;
            let next_at = schedule.next(self.store.now_ms()).map_err(Error::from)?;
            Loop { status: Status::Active, reason: None, next_at: Some(next_at), ..there.clone() }
        };
        match self.access {
            Access::Read => return Err(Refusal::ReadOnly),
            // A loop that fires keeps a firing that is due.
            _ if there.status == changed.status => return Ok(there),
            Access::Plan => self.overlay.put(if is_paused { "pause" } else { "resume" }, &changed),
            Access::Change => {
                let is_there = match changed.next_at {
                    None => self.store.pause_loop(&changed.id)?,
                    Some(next_at) => self.store.resume_loop(&changed.id, next_at)?,
                };
                expect(is_there, name)?;
                self.changed = true;
            }
        }
        Ok(changed)
    }

    /// Removes a loop with its history.
    pub fn delete(&mut self, name: &str) -> Result<(), Refusal> {
        self.granted()?;
        let there = self.own(name)?;
        refuse_preset(&there)?;
        match self.access {
            Access::Read => Err(Refusal::ReadOnly),
            Access::Change => {
                expect(self.store.delete_loop(&there.id)?, name)?;
                self.changed = true;
                Ok(())
            }
            Access::Plan => {
                self.overlay.remove(name);
                Ok(())
            }
        }
    }

    /// Starts a run beside the schedule, and gives its id. Never from inside a run: loops that start each other
    /// would know no period.
    pub fn run(&mut self, name: &str) -> Result<String, Refusal> {
        self.granted()?;
        let there = self.own(name)?;
        if self.run.is_some() {
            return Err(Error::new(ErrorKind::LoopLimit, "a run cannot start a run").into());
        }
        match self.access {
            Access::Read => Err(Refusal::ReadOnly),
            Access::Plan => {
                self.overlay.run(name);
                Ok(NO_RUN.to_owned())
            }
            Access::Change => {
                let waits =
                    || Error::new(ErrorKind::LoopLimit, format!("a run of `{name}` waits to start already"));
                let run = self.store.queue_one_run(&there.id)?.ok_or_else(waits)?;
                self.changed = true;
                Ok(run)
            }
        }
    }

    /// Compares a list with that of the last run that ended well, and keeps it as this run's.
    pub fn diff_since_last_run(&self, items: &[String]) -> Result<Difference> {
        self.granted()?;
        let run = self.run.as_deref();
        let run = run.ok_or_else(|| Error::new(ErrorKind::LoopNotFound, "this call is not a run of a loop"))?;
        let items = read_items(items)?;
        let difference = compare(&self.store, run, &items)?;
        if self.access != Access::Plan {
            keep(&self.store, run, &items, &difference)?;
        }
        Ok(difference)
    }

    fn check(&self, definition: &Definition, grant: LoopsGrant, now: i64) -> Result<i64> {
        let limits = Limits { origin: self.maker.origin, min_period: grant.min_period };
        scheduler::check(definition, &self.maker.capability, limits, &*self.catalog.current()?, now)
    }

    fn plan_create(&mut self, made: &Loop, most: u32) -> Result<()> {
        let loops = self.overlay.merge(self.store.loops(Some(&self.maker.capability))?);
        let name = &made.definition.name;
        if loops.iter().any(|found| found.definition.name == *name) {
            let message = format!("`{}` has a loop `{name}` already", self.maker.capability);
            return Err(Error::new(ErrorKind::LoopExists, message));
        }
        if loops.iter().filter(|found| found.origin == self.maker.origin).count() >= most as usize {
            let message = format!("`{}` may have {most} loops, and has them", self.maker.capability);
            return Err(Error::new(ErrorKind::LoopLimit, message));
        }
        self.overlay.put("create", made);
        Ok(())
    }

    fn own(&self, name: &str) -> Result<Loop> {
        let found = match self.overlay.get(name) {
            Some(planned) => planned.clone(),
            None => self.store.find_loop(&self.maker.capability, name)?.filter(|found| self.is_own(found)),
        };
        found.ok_or_else(|| not_found(name))
    }

    fn is_own(&self, found: &Loop) -> bool {
        found.origin == self.maker.origin
            || (self.maker.origin == Origin::Capability && found.origin == Origin::Preset)
    }

    /// What is granted, or that nothing is.
    pub fn granted(&self) -> Result<LoopsGrant> {
        let capability = &self.maker.capability;
        self.maker.grant.ok_or_else(|| {
            Error::new(ErrorKind::NotAllowed, format!("`loops` is not granted to `{capability}`"))
                .hint(format!("remit grant {capability} loops"))
        })
    }
}

/// Reads a list of items, each a JSON text, and holds it against the limits.
pub(crate) fn read_items(items: &[String]) -> Result<Vec<Value>> {
    let bytes: usize = items.iter().map(String::len).sum();
    if items.len() > ITEMS || bytes > ITEMS_BYTES {
        let message = format!("a list has {ITEMS} items and {ITEMS_BYTES} bytes at most");
        return Err(Error::new(ErrorKind::LoopLimit, message));
    }
    let read = |(index, item): (usize, &String)| {
        serde_json::from_str(item)
            .map_err(|_| Error::new(ErrorKind::LoopDefinition, format!("item {index} is not JSON")))
    };
    items.iter().enumerate().map(read).collect()
}

/// What this list and the last one of the run's loop differ in.
pub(crate) fn compare(store: &Store, run: &str, items: &[Value]) -> Result<Difference> {
    let last = store.last_items(run)?;
    let last: Option<Vec<Value>> = last.and_then(|text| serde_json::from_str(&text).ok());
    Ok(difference(last.as_deref(), items))
}

/// Keeps a list as the run's. It is what the next one is compared with once the run ended well.
pub(crate) fn keep(store: &Store, run: &str, items: &[Value], difference: &Difference) -> Result<()> {
    let text = serde_json::to_string(items).map_err(|error| Error::internal("a list is JSON").detail(error))?;
    store.keep_items(run, text, difference.is_nothing())
}

fn refuse_preset(there: &Loop) -> Result<()> {
    if there.origin != Origin::Preset {
        return Ok(());
    }
    let (capability, name) = (&there.capability, &there.definition.name);
    Err(Error::new(ErrorKind::LoopPreset, format!("`{name}` comes with `{capability}`: it can only be paused")))
}

/// A loop that was there a moment ago may be gone.
fn expect(is_there: bool, name: &str) -> Result<()> {
    if is_there { Ok(()) } else { Err(not_found(name)) }
}

fn not_found(name: &str) -> Error {
    let name = &name[..name.floor_char_boundary(crate::manifest::MAX_NAME)];
    Error::new(ErrorKind::LoopNotFound, format!("there is no loop `{name}`"))
}
