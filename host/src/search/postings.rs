//! Which things have a word, and how much it counts there.
//!
//! Things are added and taken away one by one; what is taken away leaves holes, and the owner of the numbers decides
//! when to begin anew. Decides nothing about who may see a thing: whoever asks says which numbers count.

use std::collections::BTreeMap;
use std::ops::Bound;

use super::fields::Weighed;
use super::near::Letters;

/// The number of an indexed thing.
pub(super) type Number = u32;

/// All words of all things.
#[derive(Default)]
pub(super) struct Postings {
    terms: BTreeMap<Box<str>, Term>,
    /// Of each number, the different words that the thing is called by.
    heads: Vec<u8>,
}

/// One word.
pub(super) struct Term {
    /// Its letters, to find it in spite of a typing error.
    pub(super) letters: Letters,
    /// Who has it, and how much it counts there, in the order of numbers.
    pub(super) places: Vec<Place>,
}

/// A word in a thing.
#[derive(Clone, Copy)]
pub(super) struct Place {
    pub(super) number: Number,
    pub(super) weight: f32,
    pub(super) is_head: bool,
}

impl Postings {
    /// Adds a thing, whose number is the next.
    pub(super) fn add(&mut self, number: Number, weighed: Vec<Weighed>) {
        let heads = weighed.iter().filter(|weighed| weighed.is_head).count();
        self.heads.push(u8::try_from(heads).unwrap_or(u8::MAX));
        for Weighed { stem, weight, is_head } in weighed {
            let letters = Letters::of(&stem);
            let term = self.terms.entry(stem).or_insert_with(|| Term { letters, places: Vec::new() });
            term.places.push(Place { number, weight, is_head });
        }
    }

    /// How many different words the things are called by, in the order of their numbers.
    pub(super) fn heads(&self) -> &[u8] {
        &self.heads
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
