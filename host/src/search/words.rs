//! Which words a text has, and which words count as the same.
//!
//! Words are lower-case runs of letters and digits; names are also cut where a capital letter begins a word. English
//! endings are taken off (Snowball). Words that every question has are left out of questions, not of texts.

use std::collections::HashMap;

use rust_stemmers::{Algorithm, Stemmer};

use super::synonyms;

/// Words of a question that say nothing of what is looked for, in order.
const EMPTY: [&str; 66] = [
    "a", "about", "all", "am", "an", "and", "any", "are", "as", "at", "be", "been", "but", "by", "can", "could",
    "did", "do", "does", "for", "from", "had", "has", "have", "how", "if", "in", "into", "is", "it", "its",
    "just", "need", "not", "of", "on", "or", "please", "s", "should", "so", "some", "such", "t", "than", "that",
    "the", "their", "them", "then", "there", "these", "they", "this", "to", "too", "tool", "very", "via", "want",
    "was", "we", "will", "with", "would", "you",
];

/// Letters of a word at most: a longer one is an address or an encoding, and nobody looks for it.
const LONGEST: usize = 40;

/// The words of a text, lower-case, in order.
pub(super) fn words(text: &str) -> impl Iterator<Item = String> {
    text.split(|character: char| !character.is_alphanumeric())
        .filter(|word| !word.is_empty() && word.chars().count() <= LONGEST)
        .map(str::to_lowercase)
}

/// The words of a name: `getForecast`, `get_forecast` and `get-forecast` have two.
pub(super) fn words_of_name(name: &str) -> impl Iterator<Item = String> {
    let mut spaced = String::with_capacity(name.len() + 8);
    let characters: Vec<char> = name.chars().collect();
    for (at, &character) in characters.iter().enumerate() {
        let before = at.checked_sub(1).and_then(|before| characters.get(before));
        let is_end_of_lower = before.is_some_and(|before| before.is_lowercase());
        let is_end_of_upper = before.is_some_and(|before| before.is_uppercase())
            && characters.get(at + 1).is_some_and(|after| after.is_lowercase())
            && !is_plural(&characters[at + 1..]);
        if character.is_uppercase() && (is_end_of_lower || is_end_of_upper) {
            spaced.push(' ');
        }
        spaced.push(character);
    }
    words(&spaced).collect::<Vec<_>>().into_iter()
}

/// Whether what follows capital letters is their plural, as in `PRs`.
fn is_plural(rest: &[char]) -> bool {
    rest.first() == Some(&'s') && !rest.get(1).is_some_and(|character| character.is_alphabetic())
}

/// Whether a word says nothing of what is looked for.
pub(super) fn is_empty(word: &str) -> bool {
    EMPTY.binary_search(&word).is_ok()
}

/// Takes endings off, and remembers what it took them off while many texts are read.
pub(super) struct Stems {
    stemmer: Stemmer,
    known: HashMap<String, Box<str>>,
}

impl Default for Stems {
    fn default() -> Self {
        Self { stemmer: Stemmer::create(Algorithm::English), known: HashMap::new() }
    }
}

impl Stems {
    /// The stem of a lower-case word; of a short form, the stem of what it stands for.
    pub(super) fn of(&mut self, word: &str) -> &str {
        if !self.known.contains_key(word) {
            let long = synonyms::long(word).filter(|long| long.len() == 1).map_or(word, |long| long[0]);
            let stem = self.stemmer.stem(long).into();
            self.known.insert(word.to_owned(), stem);
        }
        &self.known[word]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_cut_where_words_begin() {
        let cases = [
            ("get_forecast", vec!["get", "forecast"]),
            ("getForecast", vec!["get", "forecast"]),
            ("HTTPServerStart", vec!["http", "server", "start"]),
            ("PRs of theIDs", vec!["prs", "of", "the", "ids"]),
            ("list-for-repo.v2", vec!["list", "for", "repo", "v2"]),
            ("", vec![]),
        ];
        for (name, expected) in cases {
            assert_eq!(words_of_name(name).collect::<Vec<_>>(), expected, "{name}");
        }
    }

    #[test]
    fn a_text_keeps_names_whole_and_leaves_out_encodings() {
        let long = "x".repeat(LONGEST + 1);
        let text = format!("The GitHub  forecast (für Zürich): {long} 2fa.");
        assert_eq!(words(&text).collect::<Vec<_>>(), ["the", "github", "forecast", "für", "zürich", "2fa"]);
    }

    #[test]
    fn endings_do_not_matter() {
        let mut stems = Stems::default();
        for (one, other) in
            [("issues", "issue"), ("deleting", "delete"), ("deployments", "deploy"), ("repos", "repository")]
        {
            assert_eq!(stems.of(one).to_owned(), stems.of(other));
        }
        assert_ne!(stems.of("issue").to_owned(), stems.of("delete"));
    }

    #[test]
    fn empty_words_are_in_order() {
        assert!(EMPTY.is_sorted() && is_empty("the") && !is_empty("issue"));
    }
}
