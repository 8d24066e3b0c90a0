//! Text that people and agents read: neither empty nor endless, and nothing in it that does not show.
//!
//! A description is read by an agent as it is, so characters that a reviewer cannot see are a way to talk
//! past the reviewer. They are refused, not repaired.

use std::fmt::Write as _;

use crate::manifest::is_hidden;

/// The start of a text of unknown origin, with what does not show made visible.
#[must_use]
pub fn visible(text: &str, characters: usize) -> String {
    let mut shown = String::new();
    for character in text.chars().take(characters) {
        if is_hidden(character) {
            let _ = write!(shown, "{}", character.escape_unicode());
        } else {
            shown.push(character);
        }
    }
    if text.chars().nth(characters).is_some() {
        shown.push('…');
    }
    shown
}

/// What is wrong with a text of one line.
pub(super) fn line(text: &str, most: usize) -> Option<String> {
    length(text, most).or_else(|| hidden(text, &[]))
}

/// What is wrong with a text of several lines.
pub(super) fn paragraphs(text: &str, most: usize) -> Option<String> {
    length(text, most).or_else(|| hidden(text, &['\n', '\t']))
}

/// What is hidden in a text, `allowed` control characters apart.
pub(super) fn hidden(text: &str, allowed: &[char]) -> Option<String> {
    let found =
        text.chars().enumerate().find(|(_, character)| is_hidden(*character) && !allowed.contains(character));
    if let Some((index, character)) = found {
        let code = u32::from(character);
        return Some(format!("remove the character U+{code:04X} at position {}: it does not show", index + 1));
    }
    // Shown by no renderer of Markdown, and read by every model.
    text.contains("<!--").then(|| "remove the HTML comment: it does not show".to_owned())
}

fn length(text: &str, most: usize) -> Option<String> {
    if text.trim().is_empty() {
        return Some("write something: it is empty".to_owned());
    }
    let characters = text.chars().count();
    (characters > most).then(|| format!("shorten it to {most} characters: it has {characters}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_show_is_refused() {
        let hidden_characters = [
            '\u{0}',
            '\u{7}',
            '\u{1b}',
            '\r',
            '\u{7f}',
            '\u{9b}',
            '\u{ad}',
            '\u{200b}',
            '\u{200d}',
            '\u{200f}',
            '\u{2028}',
            '\u{202a}',
            '\u{202e}',
            '\u{2060}',
            '\u{2066}',
            '\u{2069}',
            '\u{3164}',
            '\u{fe00}',
            '\u{feff}',
            '\u{e0001}',
            '\u{e0041}',
            '\u{e007f}',
            '\u{e0100}',
        ];
        for character in hidden_characters {
            let text = format!("ab{character}cd");
            let expected =
                format!("remove the character U+{:04X} at position 3: it does not show", u32::from(character));
            assert_eq!(line(&text, 100), Some(expected.clone()));
            assert_eq!(paragraphs(&text, 100), Some(expected));
        }
        assert_eq!(line("a <!-- b --> c", 100), Some("remove the HTML comment: it does not show".to_owned()));
    }

    #[test]
    fn every_script_shows() {
        for text in ["Zürich", "天気予報", "ไทย", "עברית", "العربية", "❤\u{fe0f}", "a\u{a0}b", "é"]
        {
            assert_eq!(line(text, 100), None, "{text}");
        }
        assert_eq!(paragraphs("two\nlines\tand a tab", 100), None);
        assert!(line("two\nlines", 100).is_some());
    }

    #[test]
    fn lengths_are_counted_in_characters() {
        assert_eq!(line("äöü", 3), None);
        assert_eq!(line("äöüß", 3), Some("shorten it to 3 characters: it has 4".to_owned()));
        for empty in ["", " ", "\n\t"] {
            assert_eq!(paragraphs(empty, 3), Some("write something: it is empty".to_owned()));
        }
    }

    #[test]
    fn foreign_text_is_shown_safely() {
        assert_eq!(visible("a\u{1b}[31m\u{202e}b", 99), "a\\u{1b}[31m\\u{202e}b");
        assert_eq!(visible("abcdef", 3), "abc…");
    }
}
