//! What an agent finds by words: one index in memory, which all sessions share.
//!
//! It is made from the snapshot of what is installed and kept by change: a capability whose bytes are the same keeps its
//! words. Who may see what is asked of policy at each search, of the snapshot of that moment, so what is found is what
//! may be called; the check that counts is made behind `Host::call` all the same.
//!
//! | file | what it decides |
//! |---|---|
//! | `words` | what a word is, and which mean the same |
//! | `index` | which texts hold a word, and how well a query fits |
//! | `kinds/` | what can be found: one file a kind |

mod index;
mod kinds;
mod words;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Range;
use std::sync::{Arc, PoisonError, RwLock};

use serde_json::Value;

use self::index::Index;
use self::kinds::KINDS;
use crate::manifest::Tool;
use crate::policy::{Caller, Identity};
use crate::registry::{CapabilityName, Digest, Entry, Snapshot, ToolName};

/// Slots of things that are gone, before all is made anew.
const MOST_GONE: usize = 1_000;

/// What was found.
#[derive(Clone, Debug)]
pub struct Hit {
    /// Its kind and its name, such as `tool:acme/weather.get_forecast`.
    pub id: String,
    /// What people call it. A publisher's word.
    pub name: String,
    /// What it is. A publisher's words.
    pub line: String,
    /// Which words of it were asked for, and where they stand.
    pub why: Vec<String>,
    /// Of a tool: whose it is, and where it is in the manifest.
    tool: Option<(Arc<Entry>, usize)>,
}

/// The index of one process.
#[derive(Debug, Default)]
pub struct Search {
    state: RwLock<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Of the snapshot that it was made from; 0 before the first.
    generation: u64,
    index: Index,
    /// By number; nothing for what is gone.
    things: Vec<Option<Thing>>,
    ids: HashMap<String, Vec<usize>>,
    parts: BTreeMap<CapabilityName, Part>,
}

/// What a capability has in it.
#[derive(Debug)]
struct Part {
    digest: Digest,
    installed_at: i64,
    numbers: Range<usize>,
}

#[derive(Debug)]
struct Thing {
    /// Where its kind is in the table.
    kind: usize,
    /// Where it is among what its capability has of the kind.
    position: usize,
    id: String,
    name: String,
    line: String,
}

impl Hit {
    /// The tool that it is.
    #[must_use]
    pub fn tool(&self) -> Option<(ToolName, &Tool)> {
        let (entry, position) = self.tool.as_ref()?;
        let tool = &entry.capability.manifest.tools[*position];
        Some((ToolName { capability: entry.capability.name.clone(), tool: tool.name.clone() }, tool))
    }
}

impl Search {
    /// What fits a query, of what `caller` may use: the best `limit`. Without words in it, an overview.
    #[must_use]
    pub fn find(&self, snapshot: &Snapshot, caller: &Identity, query: &str, limit: usize) -> Vec<Hit> {
        self.keep(snapshot);
        let state = self.state.read().unwrap_or_else(PoisonError::into_inner);
        let caller = Caller::of(caller, &snapshot.directory);
        if words::words(query).is_empty() {
            return state.overview(snapshot, &caller, limit);
        }
        let visible = state.visible(snapshot, &caller);
        let mut fits = state.index.find(query, &visible);
        for fit in &mut fits {
            fit.score *= state.things[fit.text as usize].as_ref().map_or(0.0, |thing| KINDS[thing.kind].share());
        }
        fits.sort_by(|one, other| other.score.total_cmp(&one.score));
        let mut seen = BTreeSet::new();
        let mut found = Vec::new();
        for fit in fits {
            let number = fit.text as usize;
            let Some(thing) = &state.things[number] else { continue };
            if !seen.insert(&thing.id) {
                continue;
            }
            let why = fit.why.iter().map(|(field, word)| format!("{}: {word}", field.word())).collect();
            found.extend(state.found(snapshot, number, why));
            if found.len() == limit {
                break;
            }
        }
        found
    }

    /// One thing in full, if `caller` may use it.
    #[must_use]
    pub fn look_up(&self, snapshot: &Snapshot, caller: &Identity, id: &str) -> Option<(Hit, Value)> {
        self.keep(snapshot);
        let state = self.state.read().unwrap_or_else(PoisonError::into_inner);
        let caller = Caller::of(caller, &snapshot.directory);
        state.ids.get(id)?.iter().find_map(|&number| {
            let thing = state.things[number].as_ref()?;
            let entry = state.entry(snapshot, number)?;
            let kind = KINDS[thing.kind];
            if !kind.is_for(entry, thing.position, &caller) {
                return None;
            }
            let details = kind.describe(snapshot, entry, thing.position, &caller);
            Some((state.found(snapshot, number, Vec::new())?, details))
        })
    }

    /// Makes the index one of this snapshot, if it is of an older one.
    fn keep(&self, snapshot: &Snapshot) {
        let is_current = |state: &State| state.generation >= snapshot.generation && state.generation > 0;
        if is_current(&self.state.read().unwrap_or_else(PoisonError::into_inner)) {
            return;
        }
        let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
        if !is_current(&state) {
            state.keep(snapshot);
        }
    }
}

impl State {
    fn keep(&mut self, snapshot: &Snapshot) {
        self.generation = snapshot.generation;
        let is_same = |name: &CapabilityName, part: &Part| {
            snapshot.entries.get(name).is_some_and(|entry| {
                entry.capability.digest == part.digest && entry.capability.installed_at == part.installed_at
            })
        };
        let gone: Vec<CapabilityName> =
            self.parts.iter().filter(|(name, part)| !is_same(name, part)).map(|(name, _)| name.clone()).collect();
        for part in gone.iter().filter_map(|name| self.parts.remove(name)) {
            for number in part.numbers {
                let Some(thing) = self.things[number].take() else { continue };
                if let Some(numbers) = self.ids.get_mut(&thing.id) {
                    numbers.retain(|other| *other != number);
                }
            }
        }
        let left = self.things.iter().filter(|thing| thing.is_some()).count();
        if self.things.len() > 2 * left + MOST_GONE {
            *self = Self { generation: snapshot.generation, ..Self::default() };
        } else if !gone.is_empty() {
            let things = &self.things;
            self.index.retain(|text| things[text as usize].is_some());
            self.ids.retain(|_, numbers| !numbers.is_empty());
        }
        for (name, entry) in &snapshot.entries {
            if !self.parts.contains_key(name) {
                self.add(name, entry);
            }
        }
    }

    fn add(&mut self, name: &CapabilityName, entry: &Entry) {
        let begin = self.things.len();
        for (kind, row) in KINDS.iter().enumerate() {
            for (position, item) in row.items(entry).into_iter().enumerate() {
                let number = self.index.add(&item.text) as usize;
                let id = format!("{}:{}", row.word(), item.id);
                self.ids.entry(id.clone()).or_default().push(number);
                self.things.push(Some(Thing { kind, position, id, name: item.name, line: item.line }));
            }
        }
        let (digest, installed_at) = (entry.capability.digest.clone(), entry.capability.installed_at);
        self.parts.insert(name.clone(), Part { digest, installed_at, numbers: begin..self.things.len() });
    }

    /// What a caller may use now, by number.
    fn visible(&self, snapshot: &Snapshot, caller: &Caller<'_>) -> Vec<bool> {
        let mut visible = vec![false; self.things.len()];
        for (name, part) in &self.parts {
            let Some(entry) = snapshot.entries.get(name) else { continue };
            for number in part.numbers.clone() {
                visible[number] = self.things[number]
                    .as_ref()
                    .is_some_and(|thing| KINDS[thing.kind].is_for(entry, thing.position, caller));
            }
        }
        visible
    }

    /// What there is, from afar: domains, then capabilities.
    fn overview(&self, snapshot: &Snapshot, caller: &Caller<'_>, limit: usize) -> Vec<Hit> {
        let visible = self.visible(snapshot, caller);
        let of = |word: &'static str| {
            let things = self.things.iter().enumerate().filter(|(number, _)| visible[*number]);
            things.filter_map(move |(number, thing)| {
                thing.as_ref().filter(|thing| KINDS[thing.kind].word() == word).map(|thing| (&thing.id, number))
            })
        };
        let (domains, capabilities): (BTreeMap<_, _>, BTreeMap<_, _>) =
            (of("domain").collect(), of("capability").chain(of("mcp-server")).collect());
        let numbers = domains.into_values().chain(capabilities.into_values());
        numbers.filter_map(|number| self.found(snapshot, number, Vec::new())).take(limit).collect()
    }

    fn found(&self, snapshot: &Snapshot, number: usize, why: Vec<String>) -> Option<Hit> {
        let Thing { kind, position, id, name, line } = self.things[number].as_ref()?;
        let is_tool = KINDS[*kind].word() == "tool";
        let tool = self.entry(snapshot, number).filter(|_| is_tool).map(|entry| (Arc::clone(entry), *position));
        Some(Hit { id: id.clone(), name: name.clone(), line: line.clone(), why, tool })
    }

    fn entry<'a>(&self, snapshot: &'a Snapshot, number: usize) -> Option<&'a Arc<Entry>> {
        let (name, _) = self.parts.iter().find(|(_, part)| part.numbers.contains(&number))?;
        snapshot.entries.get(name)
    }
}

#[cfg(test)]
mod tests;
