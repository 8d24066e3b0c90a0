//! What a question looks for: its words, and for each the words that are taken in its place.
//!
//! A word counts most as it is, less by another word for it, by its beginning, and least when it has to be taken for
//! a typing error. Only words of things that the caller may see are words here: another's vocabulary would be
//! heard through what a beginning or an error leads to.

use super::near::Mistyped;
use super::postings::{Number, Postings, Term};
use super::synonyms;
use super::words::{Stems, is_empty, words, words_of_name};

/// Words of a question at most: what comes after them is left out.
const MOST_WORDS: usize = 24;

/// Words that a beginning leads to at most.
const MOST_BEGINNINGS: usize = 48;

/// Letters of a beginning at least.
const SHORTEST_BEGINNING: usize = 3;

/// Letters of a stem at least that stands for other words with the same beginning: `contributed`, `contributor`.
const SHORTEST_STEM: usize = 4;

/// How much another word for a word counts.
const OTHER: f32 = 0.7;

/// How much a word counts that the question asks for without saying it: the likeliest, and the others.
const UNSAID: [f32; 2] = [0.5, 0.4];

/// How much a longer word counts for the beginning that the question ends with: it may not be typed to its end.
const LAST_BEGINNING: f32 = 0.6;

/// How much a longer word counts for another beginning.
const BEGINNING: f32 = 0.5;

/// How much a word counts that is so many errors away.
const ERRORS: [f32; 2] = [0.8, 0.6];

/// A word that is looked for.
pub(super) struct Wanted<'a> {
    /// What is taken for it, the best first.
    pub(super) forms: Vec<Form<'a>>,
    /// Whether the question says it. What it does not say tells good answers from better ones, and finds nothing.
    pub(super) is_said: bool,
}

/// A word of the index that is taken for a word of the question.
pub(super) struct Form<'a> {
    pub(super) stem: String,
    pub(super) term: &'a Term,
    /// How much it counts, from 0 to 1.
    pub(super) worth: f32,
}

/// Reads questions against what one caller sees.
pub(super) struct Reader<'a, 's, S> {
    pub(super) postings: &'a Postings,
    /// Whether the caller sees the thing of a number.
    pub(super) is_seen: S,
    pub(super) stems: &'s mut Stems,
}

impl<'a, S: Fn(Number) -> bool> Reader<'a, '_, S> {
    /// The words of a question that something has which is seen.
    pub(super) fn read(&mut self, question: &str) -> Vec<Wanted<'a>> {
        let words = self.words(question);
        let mut wanted: Vec<Wanted<'a>> = Vec::new();
        for (at, word) in words.iter().enumerate() {
            let is_known = words[..at].contains(word);
            let forms = if is_known { Vec::new() } else { self.forms(word, at + 1 == words.len()) };
            // `create a new branch` says one thing twice.
            let is_said = |form: &Form<'a>| {
                let said = |other: &Form<'a>| other.stem == form.stem && other.worth >= OTHER;
                wanted.iter().any(|wanted| wanted.forms.iter().any(said))
            };
            if !forms.first().is_none_or(is_said) {
                wanted.push(Wanted { forms, is_said: synonyms::asked(word).is_none() });
            }
        }
        if !wanted.is_empty() {
            let forms = self.unsaid(unsaid(question));
            wanted.extend((!forms.is_empty()).then_some(Wanted { forms, is_said: false }));
        }
        wanted
    }

    fn words(&mut self, question: &str) -> Vec<String> {
        let mut all: Vec<String> = Vec::new();
        for run in question.split(|character: char| !character.is_alphanumeric()).take(MOST_WORDS) {
            let Some(whole) = words(run).next() else { continue };
            let pair = all.last().and_then(|last| synonyms::pair(last, &whole));
            if let (Some(pair), Some(last)) = (pair, all.last_mut()) {
                pair.clone_into(last);
                continue;
            }
            match synonyms::long(&whole) {
                Some(long) if long.len() > 1 => all.extend(long.iter().map(|&word| word.to_owned())),
                // `getForecast` is a name, and `GitHub` a word, if there is one.
                _ if self.known(&whole).is_none() => all.extend(words_of_name(run)),
                _ => all.push(whole),
            }
        }
        if all.iter().any(|word| !is_empty(word)) {
            // A question of empty words alone is about them.
            all.retain(|word| !is_empty(word));
        }
        all
    }

    fn forms(&mut self, word: &str, is_last: bool) -> Vec<Form<'a>> {
        if let Some(asked) = synonyms::asked(word) {
            return self.unsaid(asked);
        }
        let mut forms: Vec<Form<'a>> = self.form(word, 1.0).into_iter().collect();
        forms.extend(synonyms::others(word).into_iter().filter_map(|other| self.form(other, OTHER)));
        let begun = self.stems.of(word).to_owned();
        for start in [word, begun.as_str()] {
            if start.chars().count() < SHORTEST_BEGINNING || start != word && start.chars().count() < SHORTEST_STEM
            {
                continue;
            }
            let worth = if is_last { LAST_BEGINNING } else { BEGINNING };
            let longer = self.postings.beginning(start).filter(|(_, term)| self.is_known(term));
            let longer = longer.take(MOST_BEGINNINGS);
            forms.extend(longer.map(|(stem, term)| Form { stem: stem.to_owned(), term, worth }));
        }
        if forms.is_empty() {
            forms = self.mistyped(word);
        }
        let mut kept: Vec<Form<'a>> = Vec::new();
        for form in forms {
            if !kept.iter().any(|kept| kept.stem == form.stem) {
                kept.push(form);
            }
        }
        kept
    }

    /// The words that are the fewest errors away.
    fn mistyped(&mut self, word: &str) -> Vec<Form<'a>> {
        let stem = self.stems.of(word).to_owned();
        let Some(mistyped) = Mistyped::new(word, &stem) else { return Vec::new() };
        let near = self.postings.all().filter_map(|(other, term)| {
            let errors = mistyped.errors_to(other, term.letters)?;
            self.is_known(term).then_some((errors, other, term))
        });
        let near: Vec<(usize, &str, &Term)> = near.collect();
        let fewest = near.iter().map(|(errors, ..)| *errors).min();
        let nearest = near.into_iter().filter(|(errors, ..)| Some(*errors) == fewest);
        nearest
            .map(|(errors, stem, term)| Form { stem: stem.to_owned(), term, worth: ERRORS[errors - 1] })
            .collect()
    }

    fn unsaid(&mut self, words: &[&str]) -> Vec<Form<'a>> {
        let [first, other] = UNSAID;
        let worths = std::iter::once(first).chain(std::iter::repeat(other));
        words.iter().zip(worths).filter_map(|(word, worth)| self.form(word, worth)).collect()
    }

    fn form(&mut self, word: &str, worth: f32) -> Option<Form<'a>> {
        let term = self.known(word)?;
        Some(Form { stem: self.stems.of(word).to_owned(), term, worth })
    }

    fn known(&mut self, word: &str) -> Option<&'a Term> {
        self.postings.exact(self.stems.of(word)).filter(|term| self.is_known(term))
    }

    fn is_known(&self, term: &Term) -> bool {
        term.places.iter().any(|place| (self.is_seen)(place.number))
    }
}

/// What is to be done where a question does not say it, the likelier first: `comment on an issue` makes something,
/// `open issues` are to be listed, and `the newest release` is to be got.
fn unsaid(question: &str) -> &'static [&'static str] {
    let words: Vec<String> = words(question).take(MOST_WORDS).collect();
    let is_said = |word: &String| synonyms::is_verb(word) || synonyms::asked(word).is_some();
    match words.as_slice() {
        [first, ..] if is_said(first) || is_empty(first) => &[],
        [_, second, ..] if ["a", "an", "the", "my", "on", "to", "with"].contains(&second.as_str()) => &["create"],
        all if all.iter().any(is_said) => &[],
        // Of `logs of a job` the first part counts.
        all => match all.split(|word| is_empty(word)).next().and_then(<[String]>::last) {
            Some(word) if word.ends_with('s') || word == "people" => &["list", "get"],
            _ => &["get", "list"],
        },
    }
}
