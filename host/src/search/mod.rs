//! What is found when an agent says what it wants to do.
//!
//! One index for the process, shared by all sessions. Whether a caller may use a thing is asked of `policy` at each
//! search, before anything is counted or ranked: what a caller may not use changes no score, no order and no word
//! of an answer. A search proves nothing; the check that counts is made at the call.
//!
//! | file | what it decides |
//! |---|---|
//! | `words`, `synonyms`, `near` | which words count as the same |
//! | `fields` | how much a word counts where it stands |
//! | `postings`, `index` | what has a word, and how the index follows what is installed |
//! | `question` | what is taken for the words of a question |
//! | `rank` | which answer is the better one |
//! | `kinds/` | what can be found |

mod fields;
mod index;
mod kinds;
mod near;
mod postings;
mod question;
mod rank;
mod synonyms;
#[cfg(test)]
mod tests;
mod words;

use std::collections::HashSet;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};

use serde_json::{Map, Value};

use self::index::Index;
use self::kinds::{Kind, OVERVIEW, View, line};
use self::postings::Number;
use self::question::{Reader, Wanted};
use self::words::Stems;
use crate::policy::{Caller, Identity};
use crate::registry::{Entry, Snapshot};

/// Characters of a question that are read.
const MAX_QUESTION: usize = 1_000;

/// Matches that are told of one thing.
const MAX_WHY: usize = 6;

/// What can be found in one home.
#[derive(Default)]
pub struct Search {
    index: RwLock<Index>,
}

/// One thing that was found.
#[derive(Clone, Debug)]
pub struct Found {
    /// Its kind and its name, such as `tool:acme/weather.get_forecast`.
    pub id: String,
    /// Its title, or its name, for reading.
    pub name: String,
    /// What it is, in one clean line of at most 200 characters.
    pub line: String,
    /// The fields and words that matched, such as `name: forecast`.
    pub why: Vec<String>,
    /// Of a tool: whose it is, and its position in the manifest.
    pub tool: Option<(Arc<Entry>, usize)>,
}

impl Search {
    /// What `caller` may use of `snapshot`, the best answer first. Of an empty question: domains, then capabilities.
    #[must_use]
    pub fn find(&self, snapshot: &Arc<Snapshot>, caller: &Identity, question: &str, limit: usize) -> Vec<Found> {
        let index = self.at(snapshot);
        let view = View { caller: Caller::of(caller, &index.snapshot.directory), snapshot: &index.snapshot };
        let question: String = question.chars().take(MAX_QUESTION).collect();
        if question.trim().is_empty() {
            return overview(&index, &view, OVERVIEW, limit);
        }
        let seen = index.seen(&view);
        let mut stems = Stems::default();
        let is_seen = |number: Number| seen.get(number as usize).copied().unwrap_or(false);
        let wanted = Reader { postings: &index.postings, is_seen, stems: &mut stems }.read(&question);
        let mut ranked = rank::rank(&wanted, &index.postings, &seen);
        for (number, score) in &mut ranked {
            *score *= index.thing(*number).map_or(0.0, |(kind, ..)| kind.worth());
        }
        ranked.sort_by(|left, right| right.1.total_cmp(&left.1).then(left.0.cmp(&right.0)));
        let numbers = ranked.into_iter().map(|(number, _)| number);
        let mut found = distinct(&index, &view, numbers, limit);
        for (found, number) in &mut found {
            found.why = why(&index, *number, &wanted, &mut stems);
        }
        found.into_iter().map(|(found, _)| found).collect()
    }

    /// All of one thing that `caller` may see, if it may use it.
    #[must_use]
    pub fn look_up(&self, snapshot: &Arc<Snapshot>, caller: &Identity, id: &str) -> Option<(Found, Value)> {
        let index = self.at(snapshot);
        let view = View { caller: Caller::of(caller, &index.snapshot.directory), snapshot: &index.snapshot };
        let (prefix, rest) = id.split_once(':')?;
        index.numbers().find_map(|number| {
            let (kind, entry, at) = index.thing(number)?;
            let is_it = kind.prefix() == prefix && kind.id(&entry.capability, at) == rest;
            if !is_it || !entry.is_ready() || !kind.may(&view.caller, entry, at) {
                return None;
            }
            let found = found(kind, &view, entry, at);
            let mut whole: Map<String, Value> = [("id", &found.id), ("name", &found.name)]
                .into_iter()
                .map(|(key, value)| (key.to_owned(), value.as_str().into()))
                .collect();
            whole.extend(kind.show(&view, entry, at));
            Some((found, Value::Object(whole)))
        })
    }

    /// The domains of which `caller` may use something, with a line for each, in the order of names.
    #[must_use]
    pub fn domains(&self, snapshot: &Arc<Snapshot>, caller: &Identity) -> Vec<(String, String)> {
        let index = self.at(snapshot);
        let view = View { caller: Caller::of(caller, &index.snapshot.directory), snapshot: &index.snapshot };
        let found = overview(&index, &view, &OVERVIEW[..1], usize::MAX);
        found.into_iter().map(|found| (found.name, found.line)).collect()
    }

    /// The index of `snapshot`, or of a newer one.
    fn at(&self, snapshot: &Arc<Snapshot>) -> RwLockReadGuard<'_, Index> {
        let index = self.index.read().unwrap_or_else(PoisonError::into_inner);
        if index.is_of(snapshot) {
            return index;
        }
        drop(index);
        self.index.write().unwrap_or_else(PoisonError::into_inner).follow(snapshot);
        self.index.read().unwrap_or_else(PoisonError::into_inner)
    }
}

/// All things of some kinds, kind by kind, in the order of names.
fn overview(index: &Index, view: &View<'_>, kinds: &[&'static dyn Kind], limit: usize) -> Vec<Found> {
    let seen = index.seen(view);
    let is_seen = |number: &Number| seen.get(*number as usize).copied().unwrap_or(false);
    let numbers: Vec<Number> = index.numbers().filter(is_seen).collect();
    let of_kind = kinds.iter().flat_map(|kind| {
        let of_kind = numbers.iter().filter_map(|&number| {
            let (other, entry, at) = index.thing(number)?;
            (other.prefix() == kind.prefix()).then(|| (other.id(&entry.capability, at), number))
        });
        let mut of_kind: Vec<(String, Number)> = of_kind.collect();
        of_kind.sort();
        of_kind.into_iter().map(|(_, number)| number)
    });
    distinct(index, view, of_kind, limit).into_iter().map(|(found, _)| found).collect()
}

/// The first things, each once: capabilities of one domain bring it each.
fn distinct(
    index: &Index,
    view: &View<'_>,
    numbers: impl Iterator<Item = Number>,
    limit: usize,
) -> Vec<(Found, Number)> {
    let mut known = HashSet::new();
    let mut kept = Vec::new();
    for number in numbers {
        if kept.len() >= limit {
            break;
        }
        let Some((kind, entry, at)) = index.thing(number) else { continue };
        if known.insert((kind.prefix(), kind.id(&entry.capability, at))) {
            kept.push((found(kind, view, entry, at), number));
        }
    }
    kept
}

fn found(kind: &dyn Kind, view: &View<'_>, entry: &Arc<Entry>, at: usize) -> Found {
    let capability = &entry.capability;
    Found {
        id: format!("{}:{}", kind.prefix(), kind.id(capability, at)),
        name: line(&kind.name(capability, at)),
        line: line(&kind.about(view, entry, at)),
        why: Vec::new(),
        tool: (kind.prefix() == "tool").then(|| (Arc::clone(entry), at)),
    }
}

/// Where the words of the question stand in what was found, as they are written there.
fn why(index: &Index, number: Number, wanted: &[Wanted<'_>], stems: &mut Stems) -> Vec<String> {
    let Some((kind, entry, at)) = index.thing(number) else { return Vec::new() };
    let text = kind.text(&entry.capability, at);
    let mut why = Vec::new();
    for Wanted { forms, .. } in wanted.iter().filter(|wanted| wanted.is_said) {
        let first = forms.iter().find_map(|form| text.first(stems, |stem| stem == form.stem));
        if let Some((field, word)) = first {
            let said = line(&format!("{}: {word}", field.as_str()));
            if why.len() < MAX_WHY && !why.contains(&said) {
                why.push(said);
            }
        }
    }
    why
}
