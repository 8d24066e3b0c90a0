//! How words and meaning come to one order: by the places that things have in each, not by scores, which nobody can
//! compare (reciprocal rank fusion).
//!
//! Both orders hold only what the caller may use, so a place tells of nothing else.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use super::meaning::Vector;
use super::postings::Number;

/// How many of each order count.
const DEPTH: usize = 100;

/// How little the first places differ from the next. The few that are usual make no difference between the first and
/// the fifth, and then the order by words, which is the better one for tools, is lost (docs/design/0033).
const STEP: f32 = 2.0;

/// How much a place by meaning counts against the same place by words: the nearest in meaning comes seventh when it has
/// no word of the question and others have, and any that has words as well moves up.
const MEANT: f32 = 0.35;

/// What is less alike than this has nothing to do with each other: a question about nothing here finds nothing.
const LEAST: f32 = 0.25;

/// A thing with its score. The higher score is greater, and of two alike the one with the lower number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Ranked {
    pub(super) number: Number,
    pub(super) score: f32,
}

impl Eq for Ranked {}

impl Ord for Ranked {
    fn cmp(&self, other: &Self) -> Ordering {
        self.score.total_cmp(&other.score).then(other.number.cmp(&self.number))
    }
}

impl PartialOrd for Ranked {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// The things that mean most nearly what the question means, the nearest first. Each comes with what it means, and how
/// much a thing of its kind counts.
pub(super) fn meant_alike<'a>(
    meant: &Vector,
    things: impl Iterator<Item = (Number, &'a Vector, f32)>,
) -> Vec<Number> {
    let alike = things.filter_map(|(number, vector, worth)| {
        let likeness = meant.likeness(vector);
        (likeness >= LEAST).then_some(Ranked { number, score: likeness * worth })
    });
    let mut alike: Vec<Ranked> = alike.collect();
    alike.sort_unstable_by(|left, right| right.cmp(left));
    alike.truncate(DEPTH);
    alike.into_iter().map(|ranked| ranked.number).collect()
}

/// One order of both: first what stands in both, or high in one.
pub(super) fn fuse(
    by_words: impl Iterator<Item = Number>,
    alike: &[Number],
    limit: usize,
) -> impl Iterator<Item = Number> {
    let mut scores: BTreeMap<Number, f32> = BTreeMap::new();
    let mut add = |numbers: &mut dyn Iterator<Item = Number>, worth: f32| {
        let mut place = STEP;
        for number in numbers {
            place += 1.0;
            *scores.entry(number).or_default() += worth / place;
        }
    };
    add(&mut by_words.take(DEPTH.max(limit)), 1.0);
    add(&mut alike.iter().copied(), MEANT);
    let mut all: Vec<Ranked> = scores.into_iter().map(|(number, score)| Ranked { number, score }).collect();
    all.sort_unstable_by(|left, right| right.cmp(left));
    all.into_iter().map(|ranked| ranked.number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_lead_and_meaning_lifts() {
        let fused = |by_words: &[Number], alike: &[Number]| -> Vec<Number> {
            fuse(by_words.iter().copied(), alike, 8).collect()
        };
        assert_eq!(fused(&[1, 2, 3], &[9, 3]), [1, 3, 2, 9]);
        assert_eq!(fused(&[1, 2, 3, 4, 5, 6, 7, 8], &[9]), [1, 2, 3, 4, 5, 6, 9, 7, 8], "seventh without a word");
        assert_eq!(fused(&[1, 2, 3], &[]), [1, 2, 3], "words alone");
        assert_eq!(fused(&[], &[7, 8]), [7, 8], "meaning alone");
        let long: Vec<Number> = (0..300).collect();
        assert_eq!(fuse(long.iter().copied(), &[], 300).count(), 300, "whoever asks for more gets more");
    }

    #[test]
    fn what_is_not_alike_is_not_found() {
        let of = |numbers: &[f32]| Vector::new(numbers).unwrap();
        let things = [of(&[1.0, 0.0]), of(&[0.0, 1.0]), of(&[1.0, 1.0]), of(&[1.0, 0.0, 0.0])];
        let alike = |worth: f32| {
            meant_alike(&of(&[1.0, 0.1]), (0..).zip(&things).map(|(number, vector)| (number, vector, worth)))
        };
        assert_eq!(alike(1.0), [0, 2]);
        assert_eq!(alike(0.5), [0, 2], "how much its kind counts makes nothing unlike");
    }
}
