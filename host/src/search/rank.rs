//! How well a thing answers a question: BM25F over the words of the question.
//!
//! A word counts by how rare it is among what the caller may see, so a score tells nothing of the rest. A thing that
//! has more of the words comes before one that has one word often.

use super::postings::Number;
use super::question::Wanted;

/// How soon a word that stands often counts no more.
const SATURATION: f32 = 1.4;

/// How much of a score is for having words at all; the rest is for the share of the question that they are.
const FOR_SOME: f32 = 0.4;

/// The scores of all things that have some of the words, in the order of numbers. `seen` says of each number whether
/// it counts.
pub(super) fn rank(wanted: &[Wanted<'_>], seen: &[bool]) -> Vec<(Number, f32)> {
    let is_seen = |number: Number| seen.get(number as usize).copied().unwrap_or(false);
    #[expect(clippy::cast_precision_loss, reason = "a number of things")]
    let count = |number: usize| number as f32;
    let total = count(seen.iter().filter(|seen| **seen).count());
    let mut scores = vec![0.0_f32; seen.len()];
    let mut shares = vec![0.0_f32; seen.len()];
    let mut whole = 0.0;
    let mut best = vec![0.0_f32; seen.len()];
    for Wanted { forms } in wanted {
        // A word is as rare as all that is taken for it together: else a rare synonym would count more than the word.
        let mut have = 0;
        for place in forms.iter().flat_map(|form| &form.term.places) {
            have += usize::from(is_seen(place.0));
        }
        let have = count(have).min(total);
        let rarity = (1.0 + (total - have + 0.5) / (have + 0.5)).ln();
        whole += rarity;
        for form in forms {
            for &(number, weight) in form.term.places.iter().filter(|(number, _)| is_seen(*number)) {
                let score = form.worth * weight * (SATURATION + 1.0) / (weight + SATURATION);
                let best = &mut best[number as usize];
                *best = best.max(score);
            }
        }
        for (at, best) in best.iter_mut().enumerate().filter(|(_, best)| **best > 0.0) {
            scores[at] += rarity * *best;
            shares[at] += rarity * best.min(1.0);
            *best = 0.0;
        }
    }
    let ranked = scores.into_iter().zip(shares).enumerate().filter(|(_, (score, _))| *score > 0.0);
    let scored = ranked.filter_map(|(at, (score, share))| {
        let score = score * (FOR_SOME + (1.0 - FOR_SOME) * share / whole);
        Number::try_from(at).ok().map(|number| (number, score))
    });
    scored.collect()
}
