//! Phrases that tell a model what to do, instead of telling it what a tool does.
//!
//! Ordinary descriptions use some of them, and an attack can do without: a reviewer is shown where they stand, and
//! nothing is decided by them.

use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, MatchKind};

use crate::manifest::visible;

/// Told to obey, to forget or to keep quiet.
const INSTRUCTIONS: &[&str] = &[
    "ignore previous",
    "ignore all previous",
    "ignore any previous",
    "ignore prior",
    "ignore the above",
    "ignore your instructions",
    "disregard previous",
    "disregard all",
    "disregard the above",
    "forget previous",
    "forget your instructions",
    "previous instructions",
    "prior instructions",
    "system prompt",
    "you are now",
    "from now on you",
    "do not tell the user",
    "don't tell the user",
    "do not mention",
    "don't mention",
    "do not inform",
    "never tell the user",
    "without telling",
    "without informing",
    "without asking the user",
    "do not ask the user",
    "don't ask the user",
    "no need to confirm",
    "skip the confirmation",
    "the user must not",
    "must not know",
    "do not reveal",
    "keep this secret",
    "secretly",
    "<important>",
    "</important>",
    "<system>",
    "<|im_start|>",
    "[system]",
    "### instruction",
    "### system",
    "developer mode",
    "send the contents",
    "include the contents of",
    "conversation history",
    "~/.ssh",
    "id_rsa",
];

/// Told what to call first, or in the place of what.
const ORDERS: &[&str] = &[
    "before using",
    "before you use",
    "before calling",
    "before you call",
    "before any other",
    "before every",
    "prior to using",
    "prior to calling",
    "after using",
    "after calling",
    "instead of",
    "in place of",
    "rather than",
    "always call",
    "always use",
    "must call",
    "must use",
    "must first",
    "first call",
    "call me",
    "call this first",
    "call this tool first",
    "use this first",
    "use this tool first",
    "only use this",
    "do not use",
    "don't use",
    "never use",
    "do not call",
    "never call",
    "no longer works",
    "is deprecated",
    "supersedes",
    "replaces",
];

/// Orders that need no other tool to be named: they are about all others.
const ABOUT_ALL: &[&str] = &[
    "before any other",
    "before every",
    "always call",
    "must first",
    "call me",
    "call this first",
    "call this tool first",
    "use this first",
    "use this tool first",
    "only use this",
];

/// One place at which a phrase stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Found {
    /// The phrase, as it is listed.
    pub(super) phrase: &'static str,
    /// Its first byte.
    pub(super) start: usize,
}

/// Where a text tells a model to obey, to forget or to keep quiet.
pub(super) fn instructions(text: &str) -> Vec<Found> {
    find(&OBEY, INSTRUCTIONS, text, false)
}

/// The same for literals that lie side by side: a phrase of several words counts also where it runs into the next.
pub(super) fn instructions_in_data(text: &str) -> Vec<Found> {
    find(&OBEY, INSTRUCTIONS, text, true)
}

/// Where a text tells a model what to call first, or in the place of what.
pub(super) fn orders(text: &str) -> Vec<Found> {
    find(&ORDER, ORDERS, text, false)
}

/// Whether an order is about all other tools.
pub(super) fn is_about_all(phrase: &str) -> bool {
    ABOUT_ALL.contains(&phrase)
}

/// What stands around a place, on one line and with what is hidden made visible.
pub(super) fn around(text: &str, start: usize, length: usize) -> String {
    const BEFORE: usize = 40;
    const SHOWN: usize = 120;
    let before = text[..start].chars().rev().take(BEFORE).map(char::len_utf8).sum::<usize>();
    // A run of text can be as long as the file.
    let near: String = text[start - before..].chars().take(2 * SHOWN + length).collect();
    let line: Vec<&str> = near.split_whitespace().collect();
    let cut = if before < start { "…" } else { "" };
    format!("{cut}{}", visible(&line.join(" "), SHOWN + length))
}

static OBEY: LazyLock<Option<AhoCorasick>> = LazyLock::new(|| matcher(INSTRUCTIONS));
static ORDER: LazyLock<Option<AhoCorasick>> = LazyLock::new(|| matcher(ORDERS));

/// White space of any kind between words is one space to a model, so it is to the matcher.
fn find(
    matcher: &Option<AhoCorasick>,
    phrases: &'static [&'static str],
    text: &str,
    may_run_on: bool,
) -> Vec<Found> {
    let Some(matcher) = matcher else { return Vec::new() };
    let (plain, places) = plain(text);
    let found = matcher.find_iter(&plain).map(|found| (phrases[found.pattern().as_usize()], found.range()));
    found
        .filter(|(phrase, range)| {
            may_run_on && phrase.contains([' ', '<']) || is_whole(&plain, range.start, range.end)
        })
        .map(|(phrase, range)| Found { phrase, start: places[range.start] })
        .collect()
}

/// The text with single spaces and plain quotes, and where each of its bytes came from. What does not show is left out:
/// a phrase with a hidden character inside is the same phrase.
fn plain(text: &str) -> (String, Vec<usize>) {
    let (mut plain, mut places) = (String::with_capacity(text.len()), Vec::with_capacity(text.len()));
    for (at, character) in text.char_indices() {
        let character = match character {
            character if character.is_whitespace() => ' ',
            '\u{2018}' | '\u{2019}' => '\'',
            character if crate::manifest::is_hidden(character) => continue,
            character => character,
        };
        if character == ' ' && plain.ends_with(' ') {
            continue;
        }
        plain.push(character);
        places.resize(plain.len(), at);
    }
    (plain, places)
}

/// A phrase inside a longer word is another word.
fn is_whole(text: &str, start: usize, end: usize) -> bool {
    let is_letter = |character: Option<char>| character.is_some_and(char::is_alphanumeric);
    let starts_in_word = is_letter(text[start..].chars().next()) && is_letter(text[..start].chars().next_back());
    let ends_in_word = is_letter(text[..end].chars().next_back()) && is_letter(text[end..].chars().next());
    !starts_in_word && !ends_in_word
}

fn matcher(phrases: &[&str]) -> Option<AhoCorasick> {
    AhoCorasick::builder().ascii_case_insensitive(true).match_kind(MatchKind::LeftmostLongest).build(phrases).ok()
}
