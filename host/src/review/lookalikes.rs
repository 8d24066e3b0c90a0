//! Names that are easily taken for others: what people misread, mistype or take for the next version.
//!
//! The rules are those that large public registries apply to new names, and those of studies of mistyped packages.
//! They find more than they should: a person decides.

use std::collections::BTreeSet;
use std::fmt;

use serde::Serialize;

use super::report::Neighbour;
use crate::manifest::Manifest;

/// Below this length every name is one letter from another.
const MIN_LETTERS: usize = 4;

/// Why a name is easily taken for another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Likeness {
    /// The same name by another publisher.
    Same,
    /// Without hyphens it is the same.
    Hyphens,
    /// With digits for the letters that they look like it is the same.
    Digits,
    /// It ends in a number, as a later version would.
    Version,
    /// One letter is missing, or one too many.
    OneLetter,
    /// Two neighbouring letters are swapped.
    Swapped,
    /// Its words stand in another order.
    Order,
    /// One letter differs by one bit, as after an error of memory.
    Bit,
}

/// A name that is easily taken for another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Lookalike {
    /// What looks alike: `slug` or `publisher`.
    pub field: &'static str,
    /// Its name.
    pub name: String,
    /// The known one.
    pub known: String,
    /// Why.
    pub likeness: Likeness,
}

impl fmt::Display for Lookalike {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { field, name, known, likeness } = self;
        let why = match likeness {
            Likeness::Same => "is the same",
            Likeness::Hyphens => "differs in hyphens alone",
            Likeness::Digits => "differs in digits that look like letters",
            Likeness::Version => "differs in a number at its end",
            Likeness::OneLetter => "differs in one letter more or less",
            Likeness::Swapped => "differs in two swapped letters",
            Likeness::Order => "has the same words in another order",
            Likeness::Bit => "differs in one bit",
        };
        write!(formatter, "the {field} `{name}` is easily taken for `{known}`: it {why}")
    }
}

/// Known names that the slug or the publisher is easily taken for.
pub(super) fn find(manifest: &Manifest, neighbours: &[Neighbour]) -> Vec<Lookalike> {
    let mut found = Vec::new();
    let mut publishers = BTreeSet::new();
    for Neighbour { name: other, .. } in
        neighbours.iter().filter(|other| other.name.publisher != manifest.publisher)
    {
        if let Some(likeness) = likeness(&manifest.slug, &other.slug) {
            let (name, known) = (manifest.slug.clone(), other.to_string());
            found.push(Lookalike { field: "slug", name, known, likeness });
        }
        if publishers.insert(&other.publisher)
            && let Some(likeness) = likeness(&manifest.publisher, &other.publisher)
        {
            let (name, known) = (manifest.publisher.clone(), other.publisher.clone());
            found.push(Lookalike { field: "publisher", name, known, likeness });
        }
    }
    found
}

/// Why `name` is easily taken for `known`; `None` when it is not.
#[must_use]
pub fn likeness(name: &str, known: &str) -> Option<Likeness> {
    if name == known {
        return Some(Likeness::Same);
    }
    let (plain, known_plain) = (joined(name), joined(known));
    if plain == known_plain {
        return Some(Likeness::Hyphens);
    }
    let (seen, known_seen) = (as_seen(&plain), as_seen(&known_plain));
    if seen == known_seen {
        return Some(Likeness::Digits);
    }
    if words(name) == words(known) {
        return Some(Likeness::Order);
    }
    let (stem, known_stem) = (without_version(name), without_version(known));
    if stem == known_stem || joined(stem) == joined(known_stem) {
        return Some(Likeness::Version);
    }
    if plain.len().min(known_plain.len()) < MIN_LETTERS {
        return None;
    }
    // What is read as the same letter is the same letter here too.
    let either = |is_alike: fn(&[u8], &[u8]) -> bool| {
        is_alike(plain.as_bytes(), known_plain.as_bytes()) || is_alike(seen.as_bytes(), known_seen.as_bytes())
    };
    if either(is_one_letter) {
        return Some(Likeness::OneLetter);
    }
    if either(is_swapped) {
        return Some(Likeness::Swapped);
    }
    is_one_bit(plain.as_bytes(), known_plain.as_bytes()).then_some(Likeness::Bit)
}

fn joined(name: &str) -> String {
    name.replace('-', "")
}

/// Digits for the letters that look like them, and two letters that look like one.
fn as_seen(name: &str) -> String {
    name.replace("rn", "m").replace("vv", "w").replace(['l', 'i'], "1").replace('o', "0")
}

fn words(name: &str) -> BTreeSet<&str> {
    name.split('-').collect()
}

/// The name without what a later version would be called by: `github2`, `github-v2`, `github-next`.
fn without_version(name: &str) -> &str {
    let digits = name.trim_end_matches(|character: char| character.is_ascii_digit());
    let stem = digits.trim_end_matches('-');
    let marked = if digits.len() < name.len() { stem.strip_suffix("-v").unwrap_or(stem) } else { name };
    let named =
        ["-next", "-new", "-beta", "-latest", "-pro"].iter().find_map(|ending| marked.strip_suffix(ending));
    match named.unwrap_or(marked).trim_end_matches('-') {
        "" => name,
        stem => stem,
    }
}

/// One letter more or less, wherever it stands.
fn is_one_letter(one: &[u8], other: &[u8]) -> bool {
    let (short, long) = if one.len() < other.len() { (one, other) } else { (other, one) };
    if short.len() + 1 != long.len() {
        return false;
    }
    let same = short.iter().zip(long).take_while(|(one, other)| one == other).count();
    short[same..] == long[same + 1..]
}

fn is_swapped(one: &[u8], other: &[u8]) -> bool {
    if one.len() != other.len() {
        return false;
    }
    let differs: Vec<usize> = (0..one.len()).filter(|&at| one[at] != other[at]).collect();
    matches!(*differs, [first, second] if second == first + 1
        && one[first] == other[second] && one[second] == other[first])
}

fn is_one_bit(one: &[u8], other: &[u8]) -> bool {
    one.len() == other.len()
        && one.iter().zip(other).map(|(one, other)| (one ^ other).count_ones()).sum::<u32>() == 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn c_18_names_that_look_alike_are_found_with_the_reason() {
        let cases = [
            ("git-hub", "github", Some(Likeness::Hyphens)),
            ("g1thub", "github", Some(Likeness::Digits)),
            ("githubb", "github", Some(Likeness::OneLetter)),
            ("gihtub", "github", Some(Likeness::Swapped)),
            ("github2", "github", Some(Likeness::Version)),
            ("github", "github", Some(Likeness::Same)),
            ("githb", "github", Some(Likeness::OneLetter)),
            ("ggithub", "github", Some(Likeness::OneLetter)),
            ("github-2", "github", Some(Likeness::Version)),
            ("github-v2", "github", Some(Likeness::Version)),
            ("github-next", "github", Some(Likeness::Version)),
            ("github3", "github2", Some(Likeness::Version)),
            ("gothub", "github", None),
            ("githuc", "github", Some(Likeness::Bit)),
            ("g0ogle", "google", Some(Likeness::Digits)),
            ("goog1e", "google", Some(Likeness::Digits)),
            ("go0g1e-2", "google", Some(Likeness::OneLetter)),
            ("rnail-box", "mailbox", Some(Likeness::Digits)),
            ("notes-sync", "sync-notes", Some(Likeness::Order)),
            ("open-meteo", "openmeteo", Some(Likeness::Hyphens)),
            // Short ones, and others.
            ("cat", "cut", None),
            ("ab", "abc", None),
            ("weather", "calendar", None),
            ("feather", "weather", None),
            ("github-actions", "github", None),
            ("mail", "main", Some(Likeness::Bit)),
            ("x2", "x3", Some(Likeness::Version)),
        ];
        for (name, known, expected) in cases {
            assert_eq!(likeness(name, known), expected, "{name} and {known}");
            assert_eq!(likeness(known, name).is_some(), expected.is_some(), "{known} and {name}");
        }
    }
}
