//! The fields of what is indexed, and how much a word counts in each.

use super::words::{Stems, words, words_of_name};

/// Where a word stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Field {
    /// The name, in its words.
    Name,
    /// The title for people.
    Title,
    /// Keywords and tags.
    Keyword,
    /// What it does.
    Description,
    /// The names of the input's properties.
    Input,
    /// The domain of its capability.
    Domain,
    /// The title of its capability.
    Capability,
}

/// How much a word counts in a field.
struct Weight {
    /// Against other fields.
    times: f32,
    /// Words that the field usually has. It is a number of this file and not an average over what is installed, so
    /// that no score tells of what the caller does not see.
    usual: f32,
    /// How much a longer field makes its words count less, from 0 to 1.
    length: f32,
}

impl Field {
    /// The word for it in an answer.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Name => "name",
            Self::Title => "title",
            Self::Keyword => "keyword",
            Self::Description => "description",
            Self::Input => "input",
            Self::Domain => "domain",
            Self::Capability => "capability",
        }
    }

    fn weight(self) -> Weight {
        let (times, usual, length) = match self {
            Self::Name => (3.0, 4.0, 0.7),
            Self::Title => (3.0, 5.0, 0.7),
            Self::Keyword => (3.0, 6.0, 0.3),
            Self::Description => (1.0, 40.0, 0.6),
            Self::Input => (0.5, 6.0, 0.5),
            Self::Domain => (1.5, 1.0, 0.3),
            Self::Capability => (0.7, 3.0, 0.3),
        };
        Weight { times, usual, length }
    }

    fn words(self, text: &str) -> Vec<String> {
        match self {
            Self::Name | Self::Input => words_of_name(text).collect(),
            _ => words(text).collect(),
        }
    }
}

/// What is read of one thing, field by field. A field can have several texts.
#[derive(Debug, Default)]
pub(super) struct Text(Vec<(Field, String)>);

impl Text {
    /// Adds a text of a field.
    pub(super) fn with(mut self, field: Field, text: impl Into<String>) -> Self {
        self.0.push((field, text.into()));
        self
    }

    /// Adds texts of a field.
    pub(super) fn with_all<'a>(self, field: Field, texts: impl IntoIterator<Item = &'a String>) -> Self {
        texts.into_iter().fold(self, |text, one| text.with(field, one))
    }

    /// How often each stem stands here, weighted, in no order.
    pub(super) fn weigh(&self, stems: &mut Stems) -> Vec<(Box<str>, f32)> {
        let mut weighed: Vec<(Box<str>, f32)> = Vec::new();
        let mut fields: Vec<Field> = self.0.iter().map(|(field, _)| *field).collect();
        fields.sort_unstable();
        fields.dedup();
        for field in fields {
            let all: Vec<String> = self.texts(field).flat_map(|text| field.words(text)).collect();
            let Weight { times, usual, length } = field.weight();
            #[expect(clippy::cast_precision_loss, reason = "a number of words")]
            let share = times / (1.0 - length + length * all.len() as f32 / usual);
            weighed.extend(all.iter().map(|word| (stems.of(word).into(), share)));
        }
        weighed.sort_unstable_by(|left, right| left.0.cmp(&right.0));
        weighed.dedup_by(|next, kept| {
            let is_same = next.0 == kept.0;
            if is_same {
                kept.1 += next.1;
            }
            is_same
        });
        weighed
    }

    /// The first word with one of these stems, as it is written here, and its field.
    pub(super) fn first(&self, stems: &mut Stems, is_wanted: impl Fn(&str) -> bool) -> Option<(Field, String)> {
        self.0.iter().find_map(|(field, text)| {
            field.words(text).into_iter().find(|word| is_wanted(stems.of(word))).map(|word| (*field, word))
        })
    }

    fn texts(&self, field: Field) -> impl Iterator<Item = &str> {
        self.0.iter().filter(move |(other, _)| *other == field).map(|(_, text)| text.as_str())
    }
}
