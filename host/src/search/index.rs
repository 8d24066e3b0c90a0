//! Which texts hold which words, and how well a query fits them.
//!
//! BM25 over weighted fields: a word in a name counts more than one in a description, a rare one more than a common one,
//! and a text that holds all words of a query more than one that holds one of them often. How common a word is, is
//! counted among what the caller may see, so nothing else moves a result.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Bound;

use super::words::{asked, is_stop, is_typo, same, short, stem, words};

/// How soon more of the same word stops counting more.
const SATURATION: f32 = 1.2;

/// How much a long field takes from the words in it.
const LENGTH: f32 = 0.75;

/// What a word counts that another is short for.
const SHORT: f32 = 0.9;

/// What a word that only means the same counts.
const SAME: f32 = 0.55;

/// What the beginning of a word counts.
const BEGINNING: f32 = 0.6;

/// What a mistyped word counts.
const TYPO: f32 = 0.6;

/// How much it counts that a text holds all that was asked for.
const ALL: f32 = 0.65;

/// How much it counts that a text is called by nothing else than what was asked for.
const CALLED: f32 = 0.5;

/// How much a word counts that no text has.
const UNKNOWN: f32 = 1.0;

/// Letters from which on a word may be the beginning of another.
const SHORTEST_BEGINNING: usize = 3;

/// Where a word stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Field {
    Name,
    Title,
    Keyword,
    Description,
    /// What a description says after its first sentence.
    More,
    Property,
    Domain,
}

/// A text that can be found.
#[derive(Debug, Default)]
pub(super) struct Text {
    fields: Vec<(Field, Vec<String>)>,
}

/// The words of all texts. Texts are numbered; a number is never used again.
#[derive(Debug, Default)]
pub(super) struct Index {
    words: BTreeMap<Box<str>, Vec<Posting>>,
    /// For each text: by how many words it is called.
    heads: Vec<u16>,
}

#[derive(Clone, Copy, Debug)]
struct Posting {
    text: u32,
    /// How much the word stands for the text, before it saturates.
    weight: f32,
    /// Where it stands best.
    field: Field,
    /// It is one of the words that the text is called by.
    in_head: bool,
}

/// What a text holds of a query.
#[derive(Default)]
struct Held {
    score: f32,
    /// Of the words that it holds.
    importance: f32,
    /// How many of them it is called by.
    of_head: u16,
    why: Vec<(Field, String)>,
}

/// A text that fits a query.
#[derive(Debug, PartialEq)]
pub(super) struct Fit {
    pub(super) text: u32,
    pub(super) score: f32,
    /// The words of the text that were asked for, and where they stand.
    pub(super) why: Vec<(Field, String)>,
}

impl Field {
    /// What a word in it counts, and how many words it usually has.
    fn weight(self) -> (f32, f32) {
        match self {
            Self::Name => (3.0, 3.0),
            Self::Title => (2.2, 4.0),
            Self::Keyword => (2.2, 6.0),
            Self::Description => (1.0, 10.0),
            Self::More => (0.25, 20.0),
            Self::Property => (0.5, 8.0),
            Self::Domain => (1.2, 1.5),
        }
    }

    /// Whether a text is called by the words in it.
    fn is_head(self) -> bool {
        matches!(self, Self::Name | Self::Title)
    }

    /// What an agent is told.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Name => "name",
            Self::Title => "title",
            Self::Keyword => "keyword",
            Self::Description | Self::More => "description",
            Self::Property => "input",
            Self::Domain => "domain",
        }
    }
}

impl Text {
    /// The same with a description: what it says first counts most.
    pub(super) fn described(self, description: &str) -> Self {
        let end = description.find(". ").or_else(|| description.find('\n')).unwrap_or(description.len());
        let (first, more) = description.split_at(end);
        self.with(Field::Description, first).with(Field::More, more)
    }

    /// The same with a field more.
    pub(super) fn with(mut self, field: Field, text: &str) -> Self {
        self.fields.push((field, words(text).into_iter().filter(|word| !is_stop(word)).collect()));
        self
    }
}

impl Index {
    /// Adds a text and gives its number.
    pub(super) fn add(&mut self, text: &Text) -> u32 {
        let number = u32::try_from(self.heads.len()).unwrap_or(u32::MAX);
        let mut weights: HashMap<String, (f32, f32, Field)> = HashMap::new();
        let mut head = BTreeSet::new();
        for (field, words) in &text.fields {
            let (weight, usual) = field.weight();
            #[expect(clippy::cast_precision_loss, reason = "words of a field")]
            let share = weight / (1.0 - LENGTH + LENGTH * words.len() as f32 / usual).max(0.3);
            for word in words {
                let word = stem(word);
                if field.is_head() {
                    head.insert(word.clone());
                }
                let known = weights.entry(word).or_insert((0.0, 0.0, *field));
                known.0 += share;
                if share > known.1 {
                    (known.1, known.2) = (share, *field);
                }
            }
        }
        for (word, (weight, _, field)) in weights {
            let in_head = head.contains(&word);
            self.words.entry(word.into_boxed_str()).or_default().push(Posting {
                text: number,
                weight,
                field,
                in_head,
            });
        }
        self.heads.push(u16::try_from(head.len()).unwrap_or(u16::MAX));
        number
    }

    /// Forgets texts: `keep` says which stay.
    pub(super) fn retain(&mut self, keep: impl Fn(u32) -> bool) {
        self.words.retain(|_, postings| {
            postings.retain(|posting| keep(posting.text));
            !postings.is_empty()
        });
    }

    /// The texts that fit a query, of those that `is_visible` lets through; the best first.
    pub(super) fn find(&self, query: &str, visible: &[bool]) -> Vec<Fit> {
        let asked = asked(query);
        #[expect(clippy::cast_precision_loss, reason = "a number of texts")]
        let all = visible.iter().filter(|is_visible| **is_visible).count().max(1) as f32;
        let is_visible =
            |posting: &&Posting| visible.get(posting.text as usize).is_some_and(|is_visible| *is_visible);
        let mut fits: HashMap<u32, Held> = HashMap::new();
        let mut whole = 0.0;
        for word in &asked {
            let mut best: HashMap<u32, (f32, Posting, &str)> = HashMap::new();
            let mut most = 0.0_f32;
            for (term, share) in self.variants(word, &is_visible) {
                let Some((term, postings)) = self.words.get_key_value(term.as_str()) else { continue };
                let seen: Vec<&Posting> = postings.iter().filter(&is_visible).collect();
                #[expect(clippy::cast_precision_loss, reason = "a number of texts")]
                let rarity = (1.0 + (all - seen.len() as f32 + 0.5) / (seen.len() as f32 + 0.5)).ln();
                if share >= 1.0 && !seen.is_empty() {
                    most = rarity;
                }
                for posting in seen {
                    let fits =
                        share * rarity * posting.weight * (SATURATION + 1.0) / (posting.weight + SATURATION);
                    let known = best.entry(posting.text).or_insert((0.0, *posting, term));
                    if fits > known.0 {
                        *known = (fits, *posting, term);
                    }
                }
            }
            // A word that nothing has says little of which text is meant.
            let importance = if most > 0.0 { most } else { UNKNOWN };
            whole += importance;
            for (text, (score, posting, term)) in best {
                let held = fits.entry(text).or_default();
                held.score += score;
                held.importance += importance;
                held.of_head += u16::from(posting.in_head);
                held.why.push((posting.field, term.to_owned()));
            }
        }
        let fit = |(text, held): (u32, Held)| {
            let head = f32::from(self.heads[text as usize].max(1));
            let called = (f32::from(held.of_head) / head).min(1.0);
            let score =
                held.score * (1.0 - ALL + ALL * held.importance / whole) * (1.0 - CALLED + CALLED * called);
            Fit { text, score, why: held.why }
        };
        let mut fits: Vec<Fit> = fits.into_iter().map(fit).collect();
        fits.sort_by(|one, other| other.score.total_cmp(&one.score).then(one.text.cmp(&other.text)));
        fits
    }

    /// The words that stand for one that was asked for, with what each counts: itself, what means the same, what it
    /// begins, and, when there is nothing else, what it may have been meant to be.
    fn variants(&self, word: &str, is_visible: &impl Fn(&&Posting) -> bool) -> Vec<(String, f32)> {
        let own = stem(word);
        let is_there =
            |term: &str| self.words.get(term).is_some_and(|postings| postings.iter().any(|one| is_visible(&one)));
        let mut variants = vec![(own.clone(), 1.0)];
        variants.extend(short(word).into_iter().map(|other| (other, SHORT)));
        variants.extend(same(word).into_iter().map(|other| (other, SAME)));
        if word.chars().count() >= SHORTEST_BEGINNING {
            let from = self
                .words
                .range::<str, _>((Bound::Included(own.as_str()), Bound::Unbounded))
                .take_while(|(term, _)| term.starts_with(own.as_str()));
            variants
                .extend(from.filter(|(term, _)| ***term != own).map(|(term, _)| (term.to_string(), BEGINNING)));
        }
        if !variants.iter().any(|(term, _)| is_there(term)) {
            let near = self.words.keys().filter(|term| is_typo(&own, term));
            variants.extend(near.map(|term| (term.to_string(), TYPO)));
        }
        variants
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn index(texts: &[(&str, &str)]) -> Index {
        let mut index = Index::default();
        for (name, description) in texts {
            index.add(&Text::default().with(Field::Name, name).with(Field::Description, description));
        }
        index
    }

    fn found(index: &Index, query: &str, visible: &[bool]) -> Vec<u32> {
        index.find(query, visible).into_iter().map(|fit| fit.text).collect()
    }

    const TEXTS: &[(&str, &str)] = &[
        ("get_forecast", "Gives the weather of the next days for a place."),
        ("add_note", "Adds a note."),
        ("delete_note", "Deletes a note for ever."),
        ("search_issues", "Searches issues of a repository by words."),
        ("notes_of_issue", "Lists the notes that mention an issue."),
    ];

    #[test]
    fn the_best_fit_comes_first() {
        let index = index(TEXTS);
        let all = [true; 5];
        for (query, best) in [
            ("weather tomorrow", 0),
            ("forecast", 0),
            ("write a new note", 1),
            ("erase note", 2),
            ("removing notes", 2),
            ("find issues about crashes", 3),
            ("isues", 3),
            ("repositroy", 3),
            ("forec", 0),
        ] {
            assert_eq!(found(&index, query, &all).first(), Some(&best), "{query}");
        }
        assert_eq!(found(&index, "submarine", &all), Vec::<u32>::new());
        assert_eq!(found(&index, "", &all), Vec::<u32>::new());
    }

    #[test]
    fn what_is_not_seen_moves_nothing() {
        let (small, large) = (index(&TEXTS[..3]), index(TEXTS));
        let seen = [true, true, true, false, false];
        for query in ["note", "issue", "weather note", "notee", "no"] {
            assert_eq!(large.find(query, &seen), small.find(query, &[true; 3]), "{query}");
        }
    }

    #[test]
    fn what_was_forgotten_is_not_found() {
        let mut index = index(TEXTS);
        index.retain(|text| text != 1);
        assert_eq!(found(&index, "note", &[true; 5]), [2, 4]);
        assert!(!index.words.contains_key("add"));
    }

    #[test]
    fn it_says_why() {
        let index = index(TEXTS);
        let fit = index.find("weather forecast", &[true; 5]).remove(0);
        assert_eq!(fit.why, [(Field::Description, "weather".to_owned()), (Field::Name, "forecast".to_owned())]);
    }
}
