//! Search without an index: every note is read, up to a bound, and holds all the words or does not. The best are
//! told first: a word in the title says more than a tag, and that more than the text.

use std::cmp::Reverse;

use remit_sdk::Failure;

use crate::store::{NOTES, Stored};

/// Notes that one search looks at.
const MOST_NOTES: usize = 5_000;

/// Bytes of notes that one search looks at: so many take some tens of millions of instructions.
const MOST_BYTES: usize = 4 * 1024 * 1024;

/// Characters shown of a body, from before the first word found.
const EXCERPT: usize = 160;

/// Characters shown before the first word found.
const BEFORE: usize = 40;

/// What a search found.
#[remit_sdk::data]
#[derive(Debug, PartialEq)]
pub struct Found {
    /// The notes, the best first.
    pub notes: Vec<Hit>,
    /// How many hold all the words, of those looked at.
    pub total: u32,
    /// How many were looked at.
    pub searched: u32,
    /// Whether every note was looked at.
    pub complete: bool,
}

/// A note that holds all the words.
#[remit_sdk::data]
#[derive(Debug, PartialEq)]
pub struct Hit {
    /// Its id.
    pub id: String,
    /// What it is about.
    pub title: String,
    /// Its tags.
    pub tags: Vec<String>,
    /// A part of its body.
    pub excerpt: String,
}

/// Where the words were found. The order is that of the answer.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Rank {
    in_title: usize,
    as_tag: usize,
}

/// Finds notes that hold all the words.
pub fn search(query: &str, limit: usize) -> Result<Found, Failure> {
    let words: Vec<String> = query.split_whitespace().map(str::to_lowercase).collect();
    if words.is_empty() {
        return Err(Failure::InvalidInput("say at least one word".to_owned()));
    }
    let (mut hits, mut searched, mut bytes, mut complete) = (Vec::new(), 0, 0, true);
    for note in NOTES.list("") {
        let note = note?;
        bytes += note.value.title.len() + note.value.body.len();
        if searched == MOST_NOTES || bytes > MOST_BYTES {
            complete = false;
            break;
        }
        searched += 1;
        if let Some((rank, hit)) = look(&words, &note.key, note.value) {
            hits.push((Reverse(rank), Reverse(note.key), hit));
        }
    }
    let total = count(hits.len());
    hits.sort_by(|(rank, id, _), (other_rank, other_id, _)| (rank, id).cmp(&(other_rank, other_id)));
    hits.truncate(limit);
    let notes = hits.into_iter().map(|(_, _, hit)| hit).collect();
    Ok(Found { notes, total, searched: count(searched), complete })
}

fn look(words: &[String], id: &str, note: Stored) -> Option<(Rank, Hit)> {
    let (title, body) = (note.title.to_lowercase(), note.body.to_lowercase());
    let mut rank = Rank { in_title: 0, as_tag: 0 };
    for word in words {
        let (in_title, as_tag) = (title.contains(word), note.tags.contains(word));
        if !in_title && !as_tag && !body.contains(word) && !note.tags.iter().any(|tag| tag.contains(word)) {
            return None;
        }
        rank.in_title += usize::from(in_title);
        rank.as_tag += usize::from(as_tag);
    }
    let excerpt = excerpt(&note.body, words.iter().filter_map(|word| body.find(word)).min(), &body);
    Some((rank, Hit { id: id.to_owned(), title: note.title, tags: note.tags.into_iter().collect(), excerpt }))
}

/// A part of the body, around what was found in its lower-case form. Lower case can have other lengths, so the place
/// is counted in characters: in the few texts where that differs too, the excerpt begins a little off.
fn excerpt(body: &str, found: Option<usize>, lower: &str) -> String {
    let at = found.map_or(0, |found| lower[..found].chars().count());
    let from = at.saturating_sub(BEFORE);
    let mut characters = body.chars().skip(from);
    let mut excerpt: String = if from > 0 { "…".to_owned() } else { String::new() };
    excerpt.extend(characters.by_ref().take(EXCERPT));
    if characters.next().is_some() {
        excerpt.push('…');
    }
    excerpt
}

fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}
