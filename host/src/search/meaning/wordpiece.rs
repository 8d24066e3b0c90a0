//! Cuts a text into the pieces of a vocabulary as BERT does: a normalizer, words and punctuation, and of each word the
//! longest pieces from its beginning.
//!
//! It reads `tokenizer.json`, and of the kinds in it those of BERT alone: any other is refused by its name. A text that
//! spells a special token, as `[PAD]`, is text: no publisher gives the model signs of its own.

use std::collections::HashMap;

use serde::Deserialize;
use serde_json::Value;
use unicode_general_category::{GeneralCategory as Category, get_general_category as category};
use unicode_normalization::UnicodeNormalization as _;

/// Letters of a word at most, whatever the file says: the pieces of a word cost the square of them.
const MOST_LETTERS: usize = 200;

/// The vocabulary of a model, and how a text is made ready for it.
pub(super) struct WordPiece {
    pieces: HashMap<String, u32>,
    unknown: Option<u32>,
    within: String,
    letters: usize,
    normalizer: Normalizer,
}

#[derive(Deserialize)]
struct File {
    normalizer: Option<Value>,
    pre_tokenizer: Option<Value>,
    model: Value,
}

#[derive(Deserialize)]
struct Model {
    vocab: HashMap<String, u32>,
    unk_token: String,
    continuing_subword_prefix: String,
    max_input_chars_per_word: usize,
}

#[derive(Deserialize)]
struct Normalizer {
    clean_text: bool,
    handle_chinese_chars: bool,
    strip_accents: Option<bool>,
    lowercase: bool,
}

impl WordPiece {
    /// Reads `tokenizer.json`; says what is wrong with it, or what of it is not known here.
    pub(super) fn read(file: &[u8]) -> Result<Self, String> {
        let file: File = serde_json::from_slice(file).map_err(|why| format!("it is no tokenizer: {why}"))?;
        let model = Self::of_kind("model", "WordPiece", Some(file.model))?;
        let normalizer = Self::of_kind("normalizer", "BertNormalizer", file.normalizer)?;
        Self::of_kind("pre_tokenizer", "BertPreTokenizer", file.pre_tokenizer)?;
        let unreadable = |why: serde_json::Error| format!("it cannot be read: {why}");
        let model: Model = serde_json::from_value(model).map_err(unreadable)?;
        Ok(Self {
            unknown: model.vocab.get(&model.unk_token).copied(),
            pieces: model.vocab,
            within: model.continuing_subword_prefix,
            letters: model.max_input_chars_per_word.min(MOST_LETTERS),
            normalizer: serde_json::from_value(normalizer).map_err(unreadable)?,
        })
    }

    fn of_kind(part: &str, kind: &str, value: Option<Value>) -> Result<Value, String> {
        let value = value.unwrap_or_default();
        match value.get("type").and_then(Value::as_str) {
            Some(named) if named == kind => Ok(value),
            Some(other) => Err(format!("its {part} is of the kind `{other}`; only `{kind}` is known here")),
            None => Err(format!("it has no {part}; only `{kind}` is known here")),
        }
    }

    /// The pieces of the vocabulary, with their numbers.
    pub(super) fn pieces(&self) -> impl Iterator<Item = (&str, u32)> {
        self.pieces.iter().map(|(piece, &number)| (piece.as_str(), number))
    }

    /// The numbers of the first `most` pieces of a text. What is in no piece is left out, but counts.
    pub(super) fn cut(&self, text: &str, most: usize) -> Vec<u32> {
        let text = self.normalizer.normalize(text);
        let mut numbers = Vec::new();
        for word in text.split_whitespace().flat_map(words) {
            if numbers.len() >= most {
                break;
            }
            match self.cut_word(word) {
                Some(pieces) => numbers.extend(pieces.into_iter().map(Some)),
                None => numbers.push(self.unknown),
            }
        }
        let known = numbers.into_iter().take(most).flatten();
        known.filter(|number| Some(*number) != self.unknown).collect()
    }

    /// The longest pieces of a word from its beginning; nothing when there is a part without one.
    fn cut_word(&self, word: &str) -> Option<Vec<u32>> {
        let ends: Vec<usize> = word.char_indices().map(|(at, _)| at).chain([word.len()]).collect();
        let count = ends.len() - 1;
        if count > self.letters {
            return None;
        }
        let (mut numbers, mut from) = (Vec::new(), 0);
        while from < count {
            let start = if from == 0 { "" } else { self.within.as_str() };
            let (to, number) = (from + 1..=count).rev().find_map(|to| {
                let piece = format!("{start}{}", &word[ends[from]..ends[to]]);
                self.pieces.get(&piece).map(|&number| (to, number))
            })?;
            numbers.push(number);
            from = to;
        }
        Some(numbers)
    }
}

impl Normalizer {
    fn normalize(&self, text: &str) -> String {
        let mut text = text.to_owned();
        if self.clean_text {
            let clean = text.chars().filter(|&letter| !matches!(letter, '\0' | '\u{fffd}') && !is_control(letter));
            text = clean.map(|letter| if letter.is_whitespace() { ' ' } else { letter }).collect();
        }
        if self.handle_chinese_chars {
            text = text.chars().flat_map(apart).collect();
        }
        if self.strip_accents.unwrap_or(self.lowercase) {
            text = text.nfd().filter(|&letter| category(letter) != Category::NonspacingMark).collect();
        }
        if self.lowercase {
            text = text.chars().flat_map(char::to_lowercase).collect();
        }
        text
    }
}

/// The words of a run without white space: each sign of punctuation is one.
fn words(run: &str) -> impl Iterator<Item = &str> {
    run.split_inclusive(is_punctuation).flat_map(|part| {
        let sign = part.chars().next_back().filter(|&letter| is_punctuation(letter)).map_or(0, char::len_utf8);
        let (word, sign) = part.split_at(part.len() - sign);
        [word, sign].into_iter().filter(|part| !part.is_empty())
    })
}

/// An ideograph is a word: it gets spaces around it.
fn apart(letter: char) -> impl Iterator<Item = char> {
    let is_ideograph = matches!(u32::from(letter),
        0x3400..=0x4dbf | 0x4e00..=0x9fff | 0xf900..=0xfaff | 0x20000..=0x2a6df | 0x2a700..=0x2b81f
        | 0x2b820..=0x2ceaf | 0x2f800..=0x2fa1f);
    let space = is_ideograph.then_some(' ');
    space.into_iter().chain([letter]).chain(space)
}

/// What is not assigned is no control character: BERT keeps it, and its word is unknown.
fn is_control(letter: char) -> bool {
    let is_other = matches!(category(letter), Category::Control | Category::Format | Category::PrivateUse);
    is_other && !matches!(letter, '\t' | '\n' | '\r')
}

fn is_punctuation(letter: char) -> bool {
    letter.is_ascii_punctuation()
        || matches!(
            category(letter),
            Category::ConnectorPunctuation
                | Category::DashPunctuation
                | Category::OpenPunctuation
                | Category::ClosePunctuation
                | Category::InitialPunctuation
                | Category::FinalPunctuation
                | Category::OtherPunctuation
        )
}
