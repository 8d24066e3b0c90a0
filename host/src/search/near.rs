//! Words that differ from another by a typing error.
//!
//! The whole vocabulary is looked through, so nothing more is kept of it than a few bits a word: which letters it
//! has. A changed letter changes two of them at most, so nearly all words are passed over by one comparison.

/// Letters from which a word may differ by one error.
const ONE_ERROR: usize = 4;

/// Letters from which a word may differ by two.
const TWO_ERRORS: usize = 8;

/// Which letters a word has, a bit for each; digits and letters of other scripts share them.
#[derive(Clone, Copy)]
pub(super) struct Letters(u32);

impl Letters {
    /// The letters of a word.
    pub(super) fn of(word: &str) -> Self {
        Self(word.chars().fold(0, |letters, character| letters | 1 << (u32::from(character) % 32)))
    }

    /// Whether words with these letters can be so few errors apart.
    fn can_be_near(self, other: Self, errors: usize) -> bool {
        (self.0 ^ other.0).count_ones() as usize <= 2 * errors
    }
}

/// A word with a typing error.
pub(super) struct Mistyped<'a> {
    stem: &'a str,
    letters: Letters,
    errors: usize,
}

impl<'a> Mistyped<'a> {
    /// The stem of the word that was written; nothing when the word is too short to be recognized.
    pub(super) fn new(word: &str, stem: &'a str) -> Option<Self> {
        let errors = match word.chars().count() {
            ..ONE_ERROR => return None,
            ONE_ERROR..TWO_ERRORS => 1,
            _ => 2,
        };
        Some(Self { stem, letters: Letters::of(stem), errors })
    }

    /// How many errors make `other` into the stem: changed, missing, added or swapped letters.
    pub(super) fn errors_to(&self, other: &str, letters: Letters) -> Option<usize> {
        if self.stem.len().abs_diff(other.len()) > 4 * self.errors
            || !self.letters.can_be_near(letters, self.errors)
        {
            return None;
        }
        Some(strsim::osa_distance(self.stem, other)).filter(|errors| (1..=self.errors).contains(errors))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn errors(word: &str, other: &str) -> Option<usize> {
        Mistyped::new(word, word)?.errors_to(other, Letters::of(other))
    }

    #[test]
    fn a_longer_word_may_have_more_errors() {
        let cases = [
            ("isue", "issue", Some(1)),
            ("isseu", "issue", Some(1)),
            ("iseu", "issue", None),
            ("isu", "issu", None),
            ("repositry", "repository", Some(1)),
            ("repostry", "repository", Some(2)),
            ("repstry", "repository", None),
            ("wether", "weather", Some(1)),
            ("weather", "weather", None),
            ("zürich", "zurich", Some(1)),
        ];
        for (word, other, expected) in cases {
            assert_eq!(errors(word, other), expected, "{word} {other}");
        }
    }
}
