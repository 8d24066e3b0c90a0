//! What is installed, as numbered things with their words; brought up to date when it changes.
//!
//! A capability is read when its pin is new. What else changes of it (grants, restrictions, what is withdrawn) is no
//! text: it is asked of policy at each search. A capability that goes leaves its numbers unused until they are
//! more than those in use; then all is numbered anew.
//!
//! Each thing has a place for what it means, which somebody else fills, at any time or never (`meaning/catch_up.rs`).

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use super::kinds::{KINDS, Kind, View};
use super::meaning::Vector;
use super::postings::{Number, Postings};
use super::words::Stems;
use crate::registry::{Capability, CapabilityName, Entry, Snapshot};

/// The place for what a thing means.
pub(super) type Slot = Arc<OnceLock<Vector>>;

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
    meaning: Slot,
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

    /// What a thing means, once that is known.
    pub(super) fn meaning(&self, number: Number) -> Option<&Vector> {
        self.things.get(number as usize)?.meaning.get()
    }

    /// Of so many things from the one at `from` those that are in use and have no meaning yet, with what they say; and
    /// where to go on.
    pub(super) fn blanks(&self, from: usize, most: usize) -> (Vec<(Slot, String)>, Option<usize>) {
        let to = from.saturating_add(most).min(self.things.len());
        let things = self.things.get(from..to).unwrap_or_default().iter();
        let blanks = things.filter(|thing| thing.meaning.get().is_none()).filter_map(|thing| {
            let said = self.said(thing)?;
            Some((Arc::clone(&thing.meaning), said))
        });
        (blanks.collect(), (to < self.things.len()).then_some(to))
    }

    /// What all things say that are in use.
    pub(super) fn texts(&self) -> Vec<String> {
        self.things.iter().filter_map(|thing| self.said(thing)).collect()
    }

    fn said(&self, thing: &Thing) -> Option<String> {
        let entry = self.owners[thing.owner].as_ref()?;
        Some(thing.kind.text(&entry.capability, thing.at).said())
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
                self.things.push(Thing { owner, kind, at, meaning: Slot::default() });
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
