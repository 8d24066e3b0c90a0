//! What a question looks for: its words, and for each the words that are taken in its place.
//!
//! A word counts most as it is, less by another word for it, by its beginning, and least when it has to be taken for
//! a typing error. Only words of things that the caller may see are words here: another's vocabulary would be
//! heard through what a beginning or an error leads to.

use super::near::Mistyped;
use super::postings::{Number, Postings, Term};
use super::synonyms;
use super::words::{Stems, is_empty, words_of_name};

/// Words of a question at most: what comes after them is left out.
const MOST_WORDS: usize = 24;

/// Words that a beginning leads to at most.
const MOST_BEGINNINGS: usize = 48;

/// Letters of a beginning at least.
const SHORTEST_BEGINNING: usize = 3;

/// How much another word for a word counts.
const OTHER: f32 = 0.6;

/// How much a longer word counts for the beginning that the question ends with: it may not be typed to its end.
const LAST_BEGINNING: f32 = 0.6;

/// How much a longer word counts for another beginning.
const BEGINNING: f32 = 0.35;

/// How much a word counts that is so many errors away.
const ERRORS: [f32; 2] = [0.7, 0.5];

/// A word that is looked for.
pub(super) struct Wanted<'a> {
    /// What is taken for it, the best first.
    pub(super) forms: Vec<Form<'a>>,
}

/// A word of the index that is taken for a word of the question.
pub(super) struct Form<'a> {
    pub(super) stem: String,
    pub(super) term: &'a Term,
    /// How much it counts, from 0 to 1.
    pub(super) worth: f32,
}

/// The words of a question that something has which is `seen`.
pub(super) fn wanted<'a>(
    question: &str,
    postings: &'a Postings,
    seen: &impl Fn(Number) -> bool,
    stems: &mut Stems,
) -> Vec<Wanted<'a>> {
    let all: Vec<String> = words_of_name(question).take(MOST_WORDS).collect();
    let full: Vec<&String> = all.iter().filter(|word| !is_empty(word)).collect();
    // A question of empty words alone is about them.
    let words: Vec<&str> = if full.is_empty() {
        all.iter().map(String::as_str).collect()
    } else {
        full.into_iter().map(String::as_str).collect()
    };
    let mut wanted = Vec::new();
    let mut known: Vec<&str> = Vec::new();
    for (at, word) in words.iter().enumerate() {
        let parts = synonyms::long(word).filter(|parts| parts.len() > 1);
        for part in parts.unwrap_or(&[word]) {
            if !known.contains(part) {
                known.push(part);
                let forms = forms(part, at + 1 == words.len(), postings, seen, stems);
                wanted.push(Wanted { forms });
            }
        }
    }
    wanted.retain(|wanted| !wanted.forms.is_empty());
    wanted
}

fn forms<'a>(
    word: &str,
    is_last: bool,
    postings: &'a Postings,
    seen: &impl Fn(Number) -> bool,
    stems: &mut Stems,
) -> Vec<Form<'a>> {
    let is_known = |term: &&Term| term.places.iter().any(|(number, _)| seen(*number));
    let stem = stems.of(word).to_owned();
    let mut forms = Vec::new();
    forms.extend(postings.exact(&stem).filter(is_known).map(|term| Form { stem: stem.clone(), term, worth: 1.0 }));
    for other in synonyms::others(word) {
        let stem = stems.of(other).to_owned();
        let term = postings.exact(&stem).filter(is_known);
        forms.extend(term.map(|term| Form { stem, term, worth: OTHER }));
    }
    if word.chars().count() >= SHORTEST_BEGINNING {
        let worth = if is_last { LAST_BEGINNING } else { BEGINNING };
        let longer = postings.beginning(word).filter(|(_, term)| is_known(term)).take(MOST_BEGINNINGS);
        forms.extend(longer.map(|(stem, term)| Form { stem: stem.to_owned(), term, worth }));
    }
    if forms.is_empty()
        && let Some(mistyped) = Mistyped::new(&stem)
    {
        let near = postings.all().filter_map(|(other, term)| {
            let errors = mistyped.errors_to(other, term.letters)?;
            is_known(&term).then(|| Form { stem: other.to_owned(), term, worth: ERRORS[errors - 1] })
        });
        forms.extend(near);
    }
    let mut kept: Vec<Form<'a>> = Vec::new();
    for form in forms {
        if !kept.iter().any(|kept| kept.stem == form.stem) {
            kept.push(form);
        }
    }
    kept
}
