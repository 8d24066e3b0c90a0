//! How notes are kept: each under its id in `notes`, and once more under each of its tags, `tag/id` in `tags`, so
//! that the notes of a tag are a range of keys. Both change in one transaction.

use std::collections::BTreeSet;

use remit_sdk::Failure;
use remit_sdk::entities::{self, Document, Entity, Expected, Transaction, entity, transaction};
use remit_sdk::serde::{Deserialize, Serialize};

use crate::documents;

/// Notes by id.
pub const NOTES: Entity<Stored> = entity("notes");

/// Entries of the index, by `tag/id`.
const TAGS: Entity<Entry> = entity("tags");

/// How often a change is decided anew because another was faster.
const ATTEMPTS: u32 = 8;

/// Tags of one note: a transaction holds them before and after a change, and the note.
const MOST_TAGS: usize = 20;

/// A note as it is kept.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(crate = "remit_sdk::serde")]
pub struct Stored {
    pub title: String,
    pub body: String,
    pub tags: BTreeSet<String>,
}

/// What the index says of a note, enough to list it.
#[derive(Serialize, Deserialize)]
#[serde(crate = "remit_sdk::serde")]
struct Entry {
    title: String,
}

/// A note.
#[remit_sdk::data]
#[derive(Debug, PartialEq)]
pub struct Note {
    /// Its id.
    pub id: String,
    /// Its version, for `update_note` and `delete_note`.
    pub version: u64,
    /// What it is about.
    pub title: String,
    /// The note itself.
    pub body: String,
    /// Its tags, in the order of the alphabet.
    pub tags: Vec<String>,
    /// When it was changed, in milliseconds since 1970-01-01 UTC.
    pub changed_at: u64,
}

/// What was saved.
#[remit_sdk::data]
#[derive(Debug, PartialEq)]
pub struct Saved {
    /// The note's id.
    pub id: String,
    /// Its version now.
    pub version: u64,
    /// Its tags now.
    pub tags: Vec<String>,
}

/// What was deleted.
#[remit_sdk::data]
#[derive(Debug, PartialEq)]
pub struct Deleted {
    /// Whether there was such a note.
    pub deleted: bool,
}

/// A part of a list.
#[remit_sdk::data]
#[derive(Debug, PartialEq)]
pub struct Page {
    /// The notes.
    pub notes: Vec<Listed>,
    /// Where the next part begins. Missing at the end.
    pub next: Option<String>,
}

/// A note in a list.
#[remit_sdk::data]
#[derive(Debug, PartialEq)]
pub struct Listed {
    /// Its id.
    pub id: String,
    /// What it is about.
    pub title: String,
}

/// Adds a note. A run that is started again has the same id, and finds the note that it added before.
pub fn add(id: &str, title: &str, body: &str, tags: &[String]) -> Result<Saved, Failure> {
    let tags: BTreeSet<String> = tags.iter().map(|tag| check_tag(tag)).collect::<Result<_, _>>()?;
    let stored = Stored { title: title.to_owned(), body: body.to_owned(), tags };
    match save(id, None, &stored, Expected::Absent) {
        Ok(version) => Ok(saved(id, version, stored)),
        Err(entities::Error::Conflict { .. }) => find(id).map(|there| saved(id, there.version, there.value)),
        Err(error) => Err(error.into()),
    }
}

/// Reads a note.
pub fn read(id: &str) -> Result<Note, Failure> {
    let Document { key, value, version, changed_at } = find(id)?;
    let Stored { title, body, tags } = value;
    Ok(Note { id: key, version, title, body, tags: tags.into_iter().collect(), changed_at })
}

/// Replaces title or body of a note of this version.
pub fn update(id: &str, version: u64, title: Option<&str>, body: Option<&str>) -> Result<Saved, Failure> {
    let there = find(id)?;
    if there.version != version {
        return Err(changed(id, there.version));
    }
    let mut stored = there.value.clone();
    if let Some(title) = title {
        title.clone_into(&mut stored.title);
    }
    if let Some(body) = body {
        body.clone_into(&mut stored.body);
    }
    if stored == there.value {
        return Ok(saved(id, version, stored));
    }
    match save(id, Some(&there.value), &stored, Expected::Version(version)) {
        Ok(version) => Ok(saved(id, version, stored)),
        Err(entities::Error::Conflict { actual: Some(actual), .. }) => Err(changed(id, actual)),
        Err(entities::Error::Conflict { actual: None, .. }) => Err(missing(id)),
        Err(error) => Err(error.into()),
    }
}

/// Deletes a note, of this version if one is given.
pub fn delete(id: &str, version: Option<u64>) -> Result<Deleted, Failure> {
    for _ in 0..ATTEMPTS {
        let Some(there) = NOTES.get(id)? else { return Ok(Deleted { deleted: false }) };
        if version.is_some_and(|version| version != there.version) {
            return Err(changed(id, there.version));
        }
        let mut changes = transaction().delete(&NOTES, id, Expected::Version(there.version));
        for tag in &there.value.tags {
            changes = changes.delete(&TAGS, &index_key(tag, id), Expected::Any);
        }
        match changes.commit() {
            Ok(_) => {
                documents::tell(id);
                return Ok(Deleted { deleted: true });
            }
            // The next look tells what is there now.
            Err(entities::Error::Conflict { .. }) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Err(busy(id))
}

/// Lists notes, of one tag or all.
pub fn list(tag: Option<&str>, limit: u32, cursor: Option<&str>) -> Result<Page, Failure> {
    let Some(tag) = tag else {
        let page = NOTES.page("", cursor, limit)?;
        let listed = page.documents.into_iter().map(|note| Listed { id: note.key, title: note.value.title });
        return Ok(Page { notes: listed.collect(), next: page.next });
    };
    let prefix = index_key(&check_tag(tag)?, "");
    let page = TAGS.page(&prefix, cursor, limit)?;
    let listed = page.documents.into_iter().map(|entry| Listed {
        id: entry.key.strip_prefix(&prefix).unwrap_or(&entry.key).to_owned(),
        title: entry.value.title,
    });
    Ok(Page { notes: listed.collect(), next: page.next })
}

/// Adds a tag.
pub fn add_tag(id: &str, tag: &str) -> Result<Saved, Failure> {
    let tag = check_tag(tag)?;
    retag(id, |tags| tags.insert(tag.clone()))
}

/// Removes a tag.
pub fn remove_tag(id: &str, tag: &str) -> Result<Saved, Failure> {
    let tag = check_tag(tag)?;
    retag(id, |tags| tags.remove(&tag))
}

/// Changes the tags of whatever is there now. `change` tells whether it changed them.
fn retag(id: &str, change: impl Fn(&mut BTreeSet<String>) -> bool) -> Result<Saved, Failure> {
    for _ in 0..ATTEMPTS {
        let there = find(id)?;
        let mut stored = there.value.clone();
        if !change(&mut stored.tags) {
            return Ok(saved(id, there.version, stored));
        }
        if stored.tags.len() > MOST_TAGS {
            return Err(Failure::InvalidInput(format!("a note has at most {MOST_TAGS} tags")));
        }
        match save(id, Some(&there.value), &stored, Expected::Version(there.version)) {
            Ok(version) => return Ok(saved(id, version, stored)),
            Err(entities::Error::Conflict { .. }) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Err(busy(id))
}

/// Stores a note and what the index says of it. The note's expected version guards both.
fn save(id: &str, before: Option<&Stored>, after: &Stored, expected: Expected) -> Result<u64, entities::Error> {
    let mut changes: Transaction = transaction().put(&NOTES, id, after, expected);
    let kept = before.filter(|before| before.title == after.title).map(|before| &before.tags);
    for tag in after.tags.iter().filter(|tag| kept.is_none_or(|kept| !kept.contains(*tag))) {
        let entry = Entry { title: after.title.clone() };
        changes = changes.put(&TAGS, &index_key(tag, id), &entry, Expected::Any);
    }
    for tag in before.iter().flat_map(|before| before.tags.difference(&after.tags)) {
        changes = changes.delete(&TAGS, &index_key(tag, id), Expected::Any);
    }
    let versions = changes.commit()?;
    documents::tell(id);
    Ok(versions.first().copied().unwrap_or_default())
}

fn find(id: &str) -> Result<Document<Stored>, Failure> {
    NOTES.get(id)?.ok_or_else(|| missing(id))
}

/// A tag is part of a key, and `/` ends it there.
fn check_tag(tag: &str) -> Result<String, Failure> {
    let allowed = |character: char| character.is_alphanumeric() || character == '-' || character == '_';
    if (1..=40).contains(&tag.chars().count()) && tag.chars().all(allowed) && tag == tag.to_lowercase() {
        Ok(tag.to_owned())
    } else {
        Err(Failure::InvalidInput(format!(
            "`{tag}` is no tag: it is one word of 1 to 40 lower-case letters, digits, `-` and `_`"
        )))
    }
}

fn index_key(tag: &str, id: &str) -> String {
    format!("{tag}/{id}")
}

fn saved(id: &str, version: u64, stored: Stored) -> Saved {
    Saved { id: id.to_owned(), version, tags: stored.tags.into_iter().collect() }
}

fn missing(id: &str) -> Failure {
    Failure::NotFound(format!("there is no note `{id}`"))
}

fn changed(id: &str, version: u64) -> Failure {
    Failure::Failed(format!(
        "note `{id}` was changed meanwhile: it is now of version {version}, read it again and decide again"
    ))
}

fn busy(id: &str) -> Failure {
    Failure::Failed(format!("note `{id}` is being changed by others: try again"))
}
