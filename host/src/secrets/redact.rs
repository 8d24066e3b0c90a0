//! Keeps values out of everything that leaves the host: answers, errors, logs, results, records.
//!
//! Searched for are all spellings of all values that a capability may use, not only of those that a request used:
//! a value stored at an API yesterday comes back today. Each value found becomes a marker of fixed text, so that
//! the marker tells nothing about the value. How they are found is in `patterns.rs` and `stream.rs`.

use std::collections::BTreeSet;

use serde_json::Value;

use super::SecretSet;
use super::patterns::{Patterns, Sums};
use super::stream::{Knife, Stream};

/// Something that was searched for values. Only this room makes one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Redacted<T> {
    content: T,
    cuts: Cuts,
}

/// What was cut out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cuts {
    /// How many pieces.
    pub count: u32,
    /// The names of the secrets they were.
    pub names: BTreeSet<String>,
}

impl<T> Redacted<T> {
    pub(super) fn new(content: T, cuts: Cuts) -> Self {
        Self { content, cuts }
    }

    /// What is left.
    pub fn into_inner(self) -> T {
        self.content
    }

    /// What is missing.
    #[must_use]
    pub fn cuts(&self) -> &Cuts {
        &self.cuts
    }

    /// Searches what is left once more, for what another redactor knows.
    #[must_use]
    pub fn again(self, redactor: &Redactor) -> Self
    where
        T: Redact,
    {
        let mut cuts = self.cuts;
        let content = self.content.redact(redactor, &mut cuts);
        Self { content, cuts }
    }

    /// Joins two things that were searched. A plain function can bring nothing along that was not.
    #[must_use]
    pub fn with<U, V>(self, other: Redacted<U>, join: fn(T, U) -> V) -> Redacted<V> {
        let mut cuts = self.cuts;
        cuts.add(other.cuts);
        Redacted { content: join(self.content, other.content), cuts }
    }
}

impl<T> AsRef<T> for Redacted<T> {
    fn as_ref(&self) -> &T {
        &self.content
    }
}

/// Finds the values of one capability. The default one knows no value: what it is given is clean because no
/// secret could have come near it.
#[derive(Default)]
pub struct Redactor {
    patterns: Patterns,
    /// The secret's name, for each value.
    names: Vec<String>,
}

/// What can be searched. The way to a [`Redacted`] is [`Redactor::redact`].
pub trait Redact: Sized {
    /// Replaces every value in it, and notes that in `cuts`.
    #[must_use]
    fn redact(self, redactor: &Redactor, cuts: &mut Cuts) -> Self;
}

impl Redactor {
    /// A redactor of all values of `set`.
    #[must_use]
    pub fn new(set: &SecretSet) -> Self {
        let values: Vec<_> = set.iter().map(|secret| secret.value.as_slice()).collect();
        let names = set.iter().map(|secret| secret.name.clone()).collect();
        Self { patterns: Patterns::new(values.into_iter()), names }
    }

    /// Searches `content` and gives the receipt.
    pub fn redact<T: Redact>(&self, content: T) -> Redacted<T> {
        let mut cuts = Cuts::default();
        let content = if self.patterns.longest() == 0 { content } else { content.redact(self, &mut cuts) };
        Redacted { content, cuts }
    }

    /// Searches a text that comes in pieces.
    #[must_use]
    pub fn stream(&self) -> Stream<'_> {
        Stream::new(self)
    }

    /// The secret of the first value in `text`, if there is one.
    #[must_use]
    pub fn finds(&self, text: &[u8]) -> Option<&str> {
        let (_, found) = self.patterns.next(text, 0..text.len(), &mut Sums::default())?;
        Some(self.name(found.value))
    }

    /// `text` without values.
    #[must_use]
    pub fn redact_text(&self, text: &str) -> String {
        self.redact(text.to_owned()).into_inner()
    }

    pub(super) fn patterns(&self) -> &Patterns {
        &self.patterns
    }

    /// Writes what stands for a value: `[redacted:NAME]`.
    pub(super) fn mark(&self, value: usize, cuts: &mut Cuts, clean: &mut Vec<u8>) {
        let name = self.name(value);
        clean.extend_from_slice(format!("[redacted:{name}]").as_bytes());
        cuts.note(name);
    }

    fn name(&self, value: usize) -> &str {
        self.names.get(value).map_or("", String::as_str)
    }
}

impl Cuts {
    /// Notes one more.
    pub fn note(&mut self, name: &str) {
        self.count = self.count.saturating_add(1);
        if !self.names.contains(name) {
            self.names.insert(name.to_owned());
        }
    }

    fn add(&mut self, other: Self) {
        self.count = self.count.saturating_add(other.count);
        self.names.extend(other.names);
    }
}

impl Redact for Vec<u8> {
    fn redact(self, redactor: &Redactor, cuts: &mut Cuts) -> Self {
        let mut clean = Self::with_capacity(self.len());
        let mut knife = Knife::new(redactor);
        knife.advance(&self, 0, self.len(), &mut clean);
        cuts.add(knife.take_cuts());
        clean
    }
}

impl Redact for String {
    fn redact(self, redactor: &Redactor, cuts: &mut Cuts) -> Self {
        let clean = self.into_bytes().redact(redactor, cuts);
        // A value in UTF-16 can begin or end inside a letter.
        Self::from_utf8(clean).unwrap_or_else(|error| Self::from_utf8_lossy(error.as_bytes()).into_owned())
    }
}

impl Redact for Value {
    fn redact(self, redactor: &Redactor, cuts: &mut Cuts) -> Self {
        match self {
            Self::String(text) => Self::String(text.redact(redactor, cuts)),
            Self::Array(items) => items.into_iter().map(|item| item.redact(redactor, cuts)).collect(),
            Self::Object(fields) => fields
                .into_iter()
                .map(|(name, value)| (name.redact(redactor, cuts), value.redact(redactor, cuts)))
                .collect(),
            // A value of digits can come back as a number: better no number than a secret.
            Self::Number(number) if redactor.finds(number.to_string().as_bytes()).is_some() => {
                Self::String(number.to_string().redact(redactor, cuts))
            }
            Self::Number(_) | Self::Bool(_) | Self::Null => self,
        }
    }
}

impl<T: Redact> Redact for Option<T> {
    fn redact(self, redactor: &Redactor, cuts: &mut Cuts) -> Self {
        self.map(|content| content.redact(redactor, cuts))
    }
}

#[cfg(test)]
mod tests;
