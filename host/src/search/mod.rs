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
//! | `rank` | which answer is the better one, by its words |
//! | `meaning/` | what texts mean, where the operator named something that knows it |
//! | `fuse` | how words and meaning come to one order |
//! | `kinds/` | what can be found |

mod fields;
mod fuse;
mod index;
mod kinds;
mod meaning;
mod near;
mod postings;
mod question;
mod rank;
mod synonyms;
#[cfg(test)]
mod tests;
mod words;

use std::collections::{BinaryHeap, HashSet};
use std::sync::{Arc, OnceLock, PoisonError, RwLock, RwLockReadGuard};

use serde_json::{Map, Value};

use self::fuse::{Ranked, fuse, meant_alike};
use self::index::{Index, Slot};
use self::kinds::{Kind, OVERVIEW, View, line};
pub(crate) use self::meaning::{CatchUp, Meaning, Pauses, Vector};
use self::postings::Number;
use self::question::{Reader, Wanted};
use self::words::Stems;
use crate::policy::{Caller, Identity};
use crate::registry::{Entry, Snapshot};

/// Characters of a question that are read.
const MAX_QUESTION: usize = 1_000;

/// Matches that are told of one thing.
const MAX_WHY: usize = 6;

/// Told of a thing that means what the question means.
const MEANING: &str = "meaning";

/// What can be found in one home.
#[derive(Default)]
pub struct Search {
    index: RwLock<Index>,
    /// What knows the meaning of texts, once it was named.
    meaning: OnceLock<Arc<Meaning>>,
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
    /// Words alone count.
    #[must_use]
    pub fn find(&self, snapshot: &Arc<Snapshot>, caller: &Identity, question: &str, limit: usize) -> Vec<Found> {
        self.find_with(snapshot, caller, question, None, limit)
    }

    /// The same with what the question means, where that is known in time.
    pub(crate) async fn find_meant(
        &self,
        snapshot: &Arc<Snapshot>,
        caller: &Identity,
        question: &str,
        limit: usize,
    ) -> Vec<Found> {
        let asked = read_part(question);
        let meant = match self.meaning.get() {
            Some(meaning) if !asked.is_empty() => meaning.of_question(asked).await,
            _ => None,
        };
        self.find_with(snapshot, caller, question, meant.as_deref(), limit)
    }

    /// From now on questions and things have a meaning, which this knows. What was named first stays.
    pub(crate) fn know(&self, meaning: Arc<Meaning>) {
        // Whoever is second says the same: both read the one configuration.
        let _ = self.meaning.set(meaning);
    }

    /// Of so many things those without a meaning, with what they say; and where to go on.
    pub(crate) fn blanks(
        &self,
        snapshot: &Arc<Snapshot>,
        from: usize,
        most: usize,
    ) -> (Vec<(Slot, String)>, Option<usize>) {
        self.at(snapshot).blanks(from, most)
    }

    /// What everything of `snapshot` says that can be found.
    pub(crate) fn texts(&self, snapshot: &Arc<Snapshot>) -> Vec<String> {
        self.at(snapshot).texts()
    }

    fn find_with(
        &self,
        snapshot: &Arc<Snapshot>,
        caller: &Identity,
        question: &str,
        meant: Option<&Vector>,
        limit: usize,
    ) -> Vec<Found> {
        let index = self.at(snapshot);
        let view = View { caller: Caller::of(caller, &index.snapshot.directory), snapshot: &index.snapshot };
        let question = read_part(question);
        if question.is_empty() {
            return overview(&index, &view, OVERVIEW, limit);
        }
        let seen = index.seen(&view);
        let mut stems = Stems::default();
        let is_seen = |number: Number| seen.get(number as usize).copied().unwrap_or(false);
        let wanted = Reader { postings: &index.postings, is_seen, stems: &mut stems }.read(question);
        let worth = |number| index.thing(number).map_or(0.0, |(kind, ..)| kind.worth());
        let ranked = rank::rank(&wanted, &index.postings, &seen);
        let ranked = ranked.into_iter().map(|(number, score)| Ranked { number, score: score * worth(number) });
        // The best are taken out one by one: nobody reads the order of the rest.
        let mut ranked: BinaryHeap<Ranked> = ranked.collect();
        let by_words = std::iter::from_fn(|| ranked.pop()).map(|ranked| ranked.number);
        let alike = meant.map(|meant| {
            let numbers = index.numbers().filter(|&number| is_seen(number));
            meant_alike(meant, numbers.filter_map(|number| Some((number, index.meaning(number)?, worth(number)))))
        });
        let mut found = match &alike {
            None => distinct(&index, &view, by_words, limit),
            Some(alike) => distinct(&index, &view, fuse(by_words, alike, limit), limit),
        };
        for (found, number) in &mut found {
            found.why = why(&index, *number, &wanted, &mut stems);
            if alike.as_ref().is_some_and(|alike| alike.contains(number)) {
                found.why.push(MEANING.to_owned());
            }
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

/// The part of a question that is read.
fn read_part(question: &str) -> &str {
    let end = question.char_indices().nth(MAX_QUESTION).map_or(question.len(), |(at, _)| at);
    question[..end].trim()
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
    let firsts = kind.text(&entry.capability, at).firsts(stems);
    let mut why = Vec::new();
    for Wanted { forms, .. } in wanted.iter().filter(|wanted| wanted.is_said) {
        if let Some((field, word)) = forms.iter().find_map(|form| firsts.get(form.stem.as_str())) {
            let said = line(&format!("{}: {word}", field.as_str()));
            if why.len() < MAX_WHY && !why.contains(&said) {
                why.push(said);
            }
        }
    }
    why
}
