//! Text as lines: the difference of two, and changes to all of them.

use std::ops::Range;

use similar::algorithms::{Capture, Replace, myers};
use similar::{DiffOp, DiffTag};

/// What changed between two texts.
#[remit_sdk::data]
#[derive(Debug, PartialEq)]
pub struct Difference {
    /// Whether the texts are the same.
    same: bool,
    /// How many lines are only in the new text.
    lines_added: usize,
    /// How many lines are only in the old text.
    lines_removed: usize,
    /// The changes as a unified diff. Empty when there are none.
    unified: String,
}

/// A change to the lines of a text.
#[remit_sdk::data]
#[serde(rename_all = "snake_case")]
#[derive(Clone, Copy)]
pub enum Change {
    /// In the order of their characters.
    Sort,
    /// The last first.
    Reverse,
    /// Each only once, where it first stands.
    Unique,
    /// Without white space at both ends of each.
    Trim,
    /// Without empty ones.
    DropEmpty,
}

/// Compares line by line.
pub fn diff(before: &str, after: &str, context_lines: u8) -> Difference {
    let old: Vec<&str> = before.split_inclusive('\n').collect();
    let new: Vec<&str> = after.split_inclusive('\n').collect();
    let mut capture = Replace::new(Capture::new());
    // Capturing does not fail.
    let _ = myers::diff(&mut capture, &old[..], 0..old.len(), &new[..], 0..new.len());
    let changes = capture.into_inner();

    let changed = || changes.ops().iter().filter(|change| change.tag() != DiffTag::Equal);
    let lines_added = changed().map(|change| change.new_range().len()).sum();
    let lines_removed = changed().map(|change| change.old_range().len()).sum();
    let mut unified = String::new();
    if before != after {
        for hunk in changes.into_grouped_ops(context_lines.into()) {
            write_hunk(&hunk, &old, &new, &mut unified);
        }
    }
    Difference { same: before == after, lines_added, lines_removed, unified }
}

fn write_hunk(hunk: &[DiffOp], old: &[&str], new: &[&str], unified: &mut String) {
    let (Some(first), Some(last)) = (hunk.first(), hunk.last()) else { return };
    let removed = span(first.old_range().start..last.old_range().end);
    let added = span(first.new_range().start..last.new_range().end);
    unified.push_str(&format!("@@ -{removed} +{added} @@\n"));
    for change in hunk {
        let same = change.tag() == DiffTag::Equal;
        let (old_mark, new_lines) = if same { (' ', 0..0) } else { ('-', change.new_range()) };
        write_lines(old_mark, &old[change.old_range()], unified);
        write_lines('+', &new[new_lines], unified);
    }
}

fn write_lines(mark: char, lines: &[&str], unified: &mut String) {
    for line in lines {
        unified.push(mark);
        unified.push_str(line);
        if !line.ends_with('\n') {
            unified.push_str("\n\\ No newline at end of file\n");
        }
    }
}

/// Lines as the head of a hunk names them: from 1, the count left out when it is 1; of none, the line
/// before.
fn span(lines: Range<usize>) -> String {
    match lines.len() {
        0 => format!("{},0", lines.start),
        1 => (lines.start + 1).to_string(),
        count => format!("{},{count}", lines.start + 1),
    }
}

/// Changes the lines, one step after the other.
pub fn change(text: &str, steps: &[Change]) -> String {
    let mut lines: Vec<&str> = text.lines().collect();
    for step in steps {
        match step {
            Change::Sort => lines.sort_unstable(),
            Change::Reverse => lines.reverse(),
            Change::Unique => {
                let mut seen = std::collections::BTreeSet::new();
                lines.retain(|line| seen.insert(*line));
            }
            Change::Trim => lines.iter_mut().for_each(|line| *line = line.trim()),
            Change::DropEmpty => lines.retain(|line| !line.is_empty()),
        }
    }
    let mut changed = lines.join("\n");
    if text.ends_with('\n') && !lines.is_empty() {
        changed.push('\n');
    }
    changed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences() {
        let check = |before, after, added, removed, unified: &str| {
            let expected = Difference {
                same: unified.is_empty(),
                lines_added: added,
                lines_removed: removed,
                unified: unified.to_owned(),
            };
            assert_eq!(diff(before, after, 1), expected);
        };
        check("a\nb\n", "a\nb\n", 0, 0, "");
        check("a\n", "", 0, 1, "@@ -1 +0,0 @@\n-a\n");
        check("a\nb\nc\nd\ne\n", "x\na\nb\nc\nd\n", 1, 1, "@@ -1 +1,2 @@\n+x\n a\n@@ -4,2 +5 @@\n d\n-e\n");
        check("", "a\n", 1, 0, "@@ -0,0 +1 @@\n+a\n");
        check("a\nb\nc\nd\n", "a\nb\nx\nd\n", 1, 1, "@@ -2,3 +2,3 @@\n b\n-c\n+x\n d\n");
        check("a", "a\n", 1, 1, "@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+a\n");
    }

    #[test]
    fn changes() {
        let check = |text, steps: &[Change], expected| assert_eq!(change(text, steps), expected, "{text:?}");
        check("b\na\nb\n", &[Change::Sort], "a\nb\nb\n");
        check("b\na\nb", &[Change::Unique, Change::Reverse], "a\nb");
        check(" a\n\n  \n", &[Change::Trim, Change::DropEmpty], "a\n");
        check("\n", &[Change::DropEmpty], "");
        check("", &[Change::Sort], "");
    }
}
