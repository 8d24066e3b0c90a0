//! A guest's words on their way to a person or a model: no value of a secret, nothing that does not show, an end.
//!
//! Searched for secrets first: of a text that is cut before, half a value could be left.

use crate::manifest::is_hidden;
use crate::secrets::Redactor;

/// A text of one line.
pub(super) fn line(text: &str, most: usize, redactor: Option<&Redactor>) -> String {
    shown(text, most, redactor, &[])
}

/// A text of several lines.
pub(super) fn paragraphs(text: &str, most: usize, redactor: Option<&Redactor>) -> String {
    shown(text, most, redactor, &['\n', '\t'])
}

/// `text` without values of secrets, whole.
pub(super) fn redacted(text: String, redactor: Option<&Redactor>) -> String {
    match redactor {
        Some(redactor) => redactor.redact(text).into_inner(),
        None => text,
    }
}

fn shown(text: &str, most: usize, redactor: Option<&Redactor>, allowed: &[char]) -> String {
    let shows = |character: &char| allowed.contains(character) || !is_hidden(*character);
    redacted(text.to_owned(), redactor).chars().filter(shows).take(most).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_show_and_end() {
        assert_eq!(line("two\nlines \u{1b}[31mred\u{202e}", 100, None), "twolines [31mred");
        assert_eq!(paragraphs("two\nlines\u{200b}", 100, None), "two\nlines");
        assert_eq!(line("\u{200b}\u{200b}äöü", 2, None), "äö");
    }
}
