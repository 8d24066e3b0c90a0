//! How well a thing answers a question: BM25F over the words of the question.
//!
//! A word counts by how rare it is among what the caller may see, so a score tells nothing of the rest. A thing that
//! has more of the words comes before one that has one word often, and one that is called by these words alone before
//! one that is called by others too: who asks for an issue does not mean its comments.

use super::postings::{Number, Postings};
use super::question::Wanted;

/// How soon a word that stands often counts no more.
const SATURATION: f32 = 1.4;

/// How much of a score is for having words at all; the rest is for the share of the question that they are.
const FOR_SOME: f32 = 0.4;

/// How much of a score does not depend on what else a thing is called by.
const FOR_NAME: f32 = 0.5;

/// How much the rarity of a word counts: rare words are often those around the matter.
const RARITY: f32 = 0.7;

/// What a thing has of a question.
#[derive(Clone, Copy, Default)]
struct Tally {
    score: f32,
    /// Of all rarities of the question, those of its words.
    share: f32,
    /// Of the words that it is called by, those of the question.
    heads: f32,
    /// Whether it has a word that the question says.
    is_answer: bool,
}

/// The scores of all things that have some of the words, in the order of numbers. `seen` says of each number whether
/// it counts.
pub(super) fn rank(wanted: &[Wanted<'_>], postings: &Postings, seen: &[bool]) -> Vec<(Number, f32)> {
    let total = count(seen.iter().filter(|seen| **seen).count());
    let mut tallies = vec![Tally::default(); seen.len()];
    let mut best = vec![(0.0_f32, 0.0_f32); seen.len()];
    let mut whole = 0.0;
    let is_any_said = wanted.iter().any(|wanted| wanted.is_said);
    for Wanted { forms, is_said } in wanted {
        let Some(first) = forms.first() else { continue };
        // What is taken for a word is as rare as the word: else a rare synonym would count more.
        let have = first.term.places.iter().filter(|place| seen[place.number as usize]).count();
        let have = count(have).min(total);
        let rarity = (1.0 + (total - have + 0.5) / (have + 0.5)).ln().powf(RARITY);
        // All that a thing can have of it.
        whole += rarity * first.worth;
        let mut touched: Vec<Number> = Vec::new();
        for form in forms {
            for place in form.term.places.iter().filter(|place| seen[place.number as usize]) {
                let score = form.worth * place.weight * (SATURATION + 1.0) / (place.weight + SATURATION);
                let best = &mut best[place.number as usize];
                if *best == (0.0, 0.0) {
                    touched.push(place.number);
                }
                best.0 = best.0.max(score);
                best.1 += if place.is_head { form.worth } else { 0.0 };
            }
        }
        for number in touched {
            let (score, head) = std::mem::take(&mut best[number as usize]);
            let tally = &mut tallies[number as usize];
            tally.score += rarity * score;
            tally.share += rarity * score.min(1.0);
            tally.heads += head;
            tally.is_answer |= *is_said || !is_any_said;
        }
    }
    let scored = tallies.into_iter().zip(postings.heads()).enumerate().filter(|(_, (tally, _))| tally.is_answer);
    let scored = scored.filter_map(|(at, (tally, &heads))| {
        let called = (tally.heads / f32::from(heads.max(1))).min(1.0);
        let share = FOR_SOME + (1.0 - FOR_SOME) * tally.share / whole;
        let score = tally.score * share * (FOR_NAME + (1.0 - FOR_NAME) * called);
        Number::try_from(at).ok().map(|number| (number, score))
    });
    scored.collect()
}

#[expect(clippy::cast_precision_loss, reason = "a number of things")]
fn count(number: usize) -> f32 {
    number as f32
}
