//! What is installed, as numbered things with their words; brought up to date when it changes.
//!
//! A capability is read when its pin is new. What else changes of it (grants, restrictions, what is withdrawn) is no
//! text: it is asked of policy at each search. A capability that goes leaves its numbers unused until they are
//! more than those in use; then all is numbered anew.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::kinds::{KINDS, Kind, View};
use super::postings::{Number, Postings};
use super::words::Stems;
use crate::registry::{Capability, CapabilityName, Entry, Snapshot};

/// All that can be found at one moment.
#[derive(Default)]
pub(super) struct Index {
    /// What it was made from last.
    pub(super) snapshot: Arc<Snapshot>,
    pub(super) postings: Postings,
    things: Vec<Thing>,
    owners: Vec<Option<Arc<Entry>>>,
    numbers: BTreeMap<CapabilityName, usize>,
    unused: usize,
    /// Capabilities whose text was read since the program began.
    #[cfg(test)]
    pub(super) read: usize,
}

/// One thing that can be found.
struct Thing {
    owner: usize,
    kind: &'static dyn Kind,
    at: usize,
}

impl Index {
    /// Takes in what is new in `snapshot`. One that is older than the last changes nothing.
    pub(super) fn follow(&mut self, snapshot: &Arc<Snapshot>) {
        if self.is_of(snapshot) {
            return;
        }
        let mut stems = Stems::default();
        let gone: Vec<CapabilityName> =
            self.numbers.keys().filter(|name| !snapshot.entries.contains_key(*name)).cloned().collect();
        gone.iter().for_each(|name| self.leave(name));
        for (name, entry) in &snapshot.entries {
            match self.numbers.get(name).and_then(|&owner| self.owners[owner].as_mut()) {
                Some(known) if is_same_text(&known.capability, &entry.capability) => *known = Arc::clone(entry),
                _ => {
                    self.leave(name);
                    self.take(entry, &mut stems);
                }
            }
        }
        if self.unused * 2 > self.things.len() {
            *self = Self {
                #[cfg(test)]
                read: self.read,
                ..Self::default()
            };
            snapshot.entries.values().for_each(|entry| self.take(entry, &mut stems));
        }
        self.snapshot = Arc::clone(snapshot);
    }

    /// Whether nothing in `snapshot` is newer.
    pub(super) fn is_of(&self, snapshot: &Snapshot) -> bool {
        self.snapshot.generation >= snapshot.generation
    }

    /// Which things a caller may use, by their numbers.
    pub(super) fn seen(&self, view: &View<'_>) -> Vec<bool> {
        let ready: Vec<Option<&Arc<Entry>>> =
            self.owners.iter().map(|owner| owner.as_ref().filter(|entry| entry.is_ready())).collect();
        let is_seen =
            |thing: &Thing| ready[thing.owner].is_some_and(|entry| thing.kind.may(&view.caller, entry, thing.at));
        self.things.iter().map(is_seen).collect()
    }

    /// The thing of a number in use: its kind, whose it is, and where it is there.
    pub(super) fn thing(&self, number: Number) -> Option<(&'static dyn Kind, &Arc<Entry>, usize)> {
        let thing = self.things.get(number as usize)?;
        self.owners[thing.owner].as_ref().map(|entry| (thing.kind, entry, thing.at))
    }

    /// All numbers that were given.
    pub(super) fn numbers(&self) -> impl Iterator<Item = Number> {
        (0..self.things.len()).filter_map(|at| Number::try_from(at).ok())
    }

    fn leave(&mut self, name: &CapabilityName) {
        if let Some(owner) = self.numbers.remove(name) {
            self.owners[owner] = None;
            self.unused += self.things.iter().filter(|thing| thing.owner == owner).count();
        }
    }

    fn take(&mut self, entry: &Arc<Entry>, stems: &mut Stems) {
        #[cfg(test)]
        {
            self.read += 1;
        }
        let (owner, capability) = (self.owners.len(), &entry.capability);
        for kind in KINDS.iter().copied() {
            for at in 0..kind.count(capability) {
                let Ok(number) = Number::try_from(self.things.len()) else { return };
                self.postings.add(number, kind.text(capability, at).weigh(stems));
                self.things.push(Thing { owner, kind, at });
            }
        }
        self.numbers.insert(capability.name.clone(), owner);
        self.owners.push(Some(Arc::clone(entry)));
    }
}

/// A snapshot shares what did not change with the one before it.
fn is_same_text(known: &Arc<Capability>, now: &Arc<Capability>) -> bool {
    Arc::ptr_eq(known, now) || known.digest == now.digest && known.installed_at == now.installed_at
}
