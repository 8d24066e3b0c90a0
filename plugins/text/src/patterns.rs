//! Finding and replacing. Regular expressions are those of `regex-lite`, whose time is bounded by the
//! lengths of text and pattern.

use regex_lite::{Captures, Regex};
use remit_sdk::Failure;

/// A text after replacing.
#[remit_sdk::data]
#[derive(Debug, PartialEq)]
pub struct Replaced {
    /// The text.
    text: String,
    /// How many occurrences there were.
    replaced: usize,
}

/// What was found.
#[remit_sdk::data]
#[derive(Debug, PartialEq)]
pub struct Matches {
    /// The matches, in order.
    matches: Vec<Match>,
    /// Whether there are more than were asked for.
    more: bool,
}

/// One match.
#[remit_sdk::data]
#[derive(Debug, PartialEq)]
pub struct Match {
    /// The text that matches.
    text: String,
    /// The line it starts in; the first is 1.
    line: usize,
    /// Its groups, in order: an empty text where a group is not part of the match.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    groups: Vec<String>,
}

/// Replaces all occurrences.
pub fn replace(text: &str, find: &str, replacement: &str, regex: bool) -> Result<Replaced, Failure> {
    if !regex {
        let replaced = text.matches(find).count();
        return Ok(Replaced { text: text.replace(find, replacement), replaced });
    }
    let mut replaced = 0;
    let text = compile(find)?.replace_all(text, |captures: &Captures| {
        replaced += 1;
        let mut expanded = String::new();
        captures.expand(replacement, &mut expanded);
        expanded
    });
    Ok(Replaced { text: text.into_owned(), replaced })
}

/// Finds matches, up to a limit.
pub fn extract(text: &str, pattern: &str, limit: u16) -> Result<Matches, Failure> {
    let regex = compile(pattern)?;
    let mut found = regex.captures_iter(text);
    let mut position = Position { text, at: 0, line: 1 };
    let matches = found.by_ref().take(limit.into()).map(|captures| one_match(&captures, &mut position)).collect();
    Ok(Matches { matches, more: found.next().is_some() })
}

fn one_match(captures: &Captures, position: &mut Position) -> Match {
    let start = captures.get(0).map_or(0, |whole| whole.start());
    let group = |index| captures.get(index).map_or_else(String::new, |group| group.as_str().to_owned());
    Match { text: group(0), line: position.line_at(start), groups: (1..captures.len()).map(group).collect() }
}

/// Counts lines while matches go forward, so that the text is read once.
struct Position<'a> {
    text: &'a str,
    at: usize,
    line: usize,
}

impl Position<'_> {
    fn line_at(&mut self, at: usize) -> usize {
        self.line += self.text[self.at..at].matches('\n').count();
        self.at = at;
        self.line
    }
}

fn compile(pattern: &str) -> Result<Regex, Failure> {
    Regex::new(pattern).map_err(|error| Failure::InvalidInput(format!("not a regular expression: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replaces() {
        let check = |text, find, replacement, regex, expected: &str, replaced| {
            let expected = Replaced { text: expected.to_owned(), replaced };
            assert_eq!(replace(text, find, replacement, regex), Ok(expected), "{find:?}");
        };
        check("a.b.c", ".", "-", false, "a-b-c", 2);
        check("a.b.c", ".", "-", true, "-----", 5);
        check("2026-11-30", r"(\d+)-(?<month>\d+)-\d+", "$month/$1", true, "11/2026", 1);
        check("price", "price", "$$5", true, "$5", 1);
        check("price", "price", "$5", false, "$5", 1);
        check("éa", "x*", "-", true, "-é-a-", 3);
        check("abc", "x", "y", false, "abc", 0);
    }

    #[test]
    fn extracts() {
        let check = |text, pattern, limit, expected: &[(&str, usize, &[&str])], more| {
            let matches = expected
                .iter()
                .map(|(text, line, groups)| Match {
                    text: (*text).to_owned(),
                    line: *line,
                    groups: groups.iter().map(|group| (*group).to_owned()).collect(),
                })
                .collect();
            assert_eq!(extract(text, pattern, limit), Ok(Matches { matches, more }), "{pattern:?}");
        };
        check(
            "a1\nb22\n\nc3",
            r"[a-z](\d+)",
            10,
            &[("a1", 1, &["1"]), ("b22", 2, &["22"]), ("c3", 4, &["3"])],
            false,
        );
        check("aaa", "a", 2, &[("a", 1, &[]), ("a", 1, &[])], true);
        check("ab", "a(x)?", 1, &[("a", 1, &[""])], false);
        check("", "a", 5, &[], false);
    }

    #[test]
    fn bad_patterns_are_the_callers() {
        for pattern in ["(", "[z-a]", "(?=a)", r"\1", "a{1000000}"] {
            assert!(matches!(extract("", pattern, 1), Err(Failure::InvalidInput(_))), "{pattern}");
        }
    }
}
