//! Which things have a word, and how much it counts there.
//!
//! Things are added and taken away one by one; what is taken away leaves holes, and the owner of the numbers decides
//! when to begin anew. Decides nothing about who may see a thing: whoever asks says which numbers count.

use std::collections::BTreeMap;
use std::ops::Bound;

use super::near::Letters;

/// The number of an indexed thing.
pub(super) type Number = u32;

/// All words of all things.
#[derive(Default)]
pub(super) struct Postings {
    terms: BTreeMap<Box<str>, Term>,
}

/// One word.
pub(super) struct Term {
    /// Its letters, to find it in spite of a typing error.
    pub(super) letters: Letters,
    /// Who has it, and how much it counts there, in the order of numbers.
    pub(super) places: Vec<(Number, f32)>,
}

impl Postings {
    /// Adds a thing whose number is the highest yet.
    pub(super) fn add(&mut self, number: Number, weighed: Vec<(Box<str>, f32)>) {
        for (stem, weight) in weighed {
            let letters = Letters::of(&stem);
            let term = self.terms.entry(stem).or_insert_with(|| Term { letters, places: Vec::new() });
            term.places.push((number, weight));
        }
    }

    /// The word of exactly this stem.
    pub(super) fn exact(&self, stem: &str) -> Option<&Term> {
        self.terms.get(stem)
    }

    /// The words that begin so, in order.
    pub(super) fn beginning(&self, start: &str) -> impl Iterator<Item = (&str, &Term)> + use<'_> {
        let (start, range) = (start.to_owned(), (Bound::Excluded(start), Bound::Unbounded));
        self.terms
            .range::<str, _>(range)
            .map(|(stem, term)| (&**stem, term))
            .take_while(move |(stem, _)| stem.starts_with(&start))
    }

    /// All words, in order.
    pub(super) fn all(&self) -> impl Iterator<Item = (&str, &Term)> {
        self.terms.iter().map(|(stem, term)| (&**stem, term))
    }
}
