//! Which characters of a publisher's text reach an agent.
//!
//! Titles and descriptions are written by strangers and read by a model, so characters that a person does
//! not see, or that make a line look other than it is, are taken out, and the length is bounded. This file
//! does not judge what the visible words say, and it never touches schemas, arguments or answers.

use crate::manifest::is_hidden;

/// Said at the end of a text that was cut, so that nobody takes the part for the whole.
const CUT: &str = "… [cut]";

/// Cleans a text of several lines and cuts it to `limit` characters.
pub(crate) fn clean_text(text: &str, limit: usize) -> String {
    cut(visible(text).trim(), limit)
}

/// Cleans a text that stands in one line: runs of white space become one space.
pub(crate) fn clean_line(text: &str, limit: usize) -> String {
    let line = visible(text).split_whitespace().collect::<Vec<_>>().join(" ");
    cut(&line, limit)
}

fn visible(text: &str) -> String {
    text.chars()
        .map(|character| if matches!(character, '\u{2028}' | '\u{2029}') { '\n' } else { character })
        .filter(|character| matches!(character, '\n' | '\t') || !is_hidden(*character))
        .collect()
}

fn cut(text: &str, limit: usize) -> String {
    if text.chars().count() <= limit {
        return text.to_owned();
    }
    let kept: String = text.chars().take(limit.saturating_sub(CUT.chars().count())).collect();
    format!("{}{CUT}", kept.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_characters_go() {
        let cases = [
            ("plain", "plain"),
            ("tab\tand\nnewline", "tab\tand\nnewline"),
            ("naïve 漢字 עברית 🎉", "naïve 漢字 עברית 🎉"),
            ("nul\0bell\u{7}escape\u{1b}[31m", "nulbellescape[31m"),
            ("carriage\r\nreturn", "carriage\nreturn"),
            ("c1\u{85}\u{9b}31m", "c131m"),
            ("zero\u{200b}width\u{200d}\u{2060}\u{feff}", "zerowidth"),
            ("bidi\u{202e}evil\u{2066}x\u{2069}\u{200f}\u{61c}", "bidievilx"),
            ("tags\u{e0001}\u{e0041}\u{e007f}", "tags"),
            ("selectors\u{e0100}\u{e01ef}", "selectors"),
            ("fillers\u{115f}\u{3164}\u{ffa0}", "fillers"),
            ("soft\u{ad}hyphen", "softhyphen"),
            ("line\u{2028}paragraph\u{2029}", "line\nparagraph"),
            ("  \n around \n ", "around"),
            ("\u{200b}\u{e0041}", ""),
        ];
        for (text, expected) in cases {
            assert_eq!(clean_text(text, 100), expected, "{text:?}");
        }
    }

    #[test]
    fn a_line_stays_one_line() {
        let cases = [
            ("Two\nlines", "Two lines"),
            ("  many \t\n spaces ", "many spaces"),
            ("line\u{2028}separator", "line separator"),
            ("", ""),
        ];
        for (text, expected) in cases {
            assert_eq!(clean_line(text, 100), expected, "{text:?}");
        }
    }

    #[test]
    fn a_cut_is_said_and_counts_characters() {
        assert_eq!(clean_text("1234567890", 10), "1234567890");
        assert_eq!(clean_text("12345678901", 10), "123… [cut]");
        assert_eq!(clean_text("ééééééééééé", 10), "ééé… [cut]");
        assert_eq!(clean_text("ab  9012345678", 10), "ab… [cut]".to_owned());
        assert_eq!(clean_line("漢漢漢漢漢漢漢漢漢漢漢", 10).chars().count(), 10);
    }
}
