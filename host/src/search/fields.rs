//! The fields of what is indexed, and how much a word counts in each.

use std::collections::HashMap;

use super::words::{Stems, is_empty, words, words_of_name};

/// Letters of a text at most that is asked about for its meaning: what a thing does stands at its beginning.
const MOST_SAID: usize = 2_000;

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

/// How much a word counts in one thing.
pub(super) struct Weighed {
    pub(super) stem: Box<str>,
    /// Over all fields together.
    pub(super) weight: f32,
    /// Whether it stands in the name or the title: in what the thing is called.
    pub(super) is_head: bool,
}

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

    /// Each stem that stands here, once.
    pub(super) fn weigh(&self, stems: &mut Stems) -> Vec<Weighed> {
        let mut weighed: Vec<Weighed> = Vec::new();
        let mut fields: Vec<Field> = self.0.iter().map(|(field, _)| *field).collect();
        fields.sort_unstable();
        fields.dedup();
        for field in fields {
            let mut all: Vec<String> = self.texts(field).flat_map(|text| field.words(text)).collect();
            all.retain(|word| !is_empty(word));
            let Weight { times, usual, length } = field.weight();
            #[expect(clippy::cast_precision_loss, reason = "a number of words")]
            let share = times / (1.0 - length + length * all.len() as f32 / usual);
            let is_head = matches!(field, Field::Name | Field::Title);
            weighed.extend(all.iter().map(|word| Weighed { stem: stems.of(word).into(), weight: share, is_head }));
        }
        weighed.sort_unstable_by(|left, right| left.stem.cmp(&right.stem));
        weighed.dedup_by(|next, kept| {
            let is_same = next.stem == kept.stem;
            if is_same {
                kept.weight += next.weight;
                kept.is_head |= next.is_head;
            }
            is_same
        });
        weighed
    }

    /// Each stem that stands here, with its first word as it is written and the field of that.
    pub(super) fn firsts(&self, stems: &mut Stems) -> HashMap<Box<str>, (Field, String)> {
        let mut firsts = HashMap::new();
        for (field, text) in &self.0 {
            for word in field.words(text) {
                let stem = stems.of(&word);
                if !firsts.contains_key(stem) {
                    firsts.insert(stem.into(), (*field, word));
                }
            }
        }
        firsts
    }

    /// What it says to somebody who asks what it means: all but the names of inputs, and no more than counts.
    pub(super) fn said(&self) -> String {
        let texts = self.0.iter().filter(|(field, text)| *field != Field::Input && !text.is_empty());
        let mut said = String::new();
        for (field, text) in texts {
            let words = match field {
                Field::Name => words_of_name(text).collect::<Vec<_>>().join(" "),
                _ => text.split_whitespace().collect::<Vec<_>>().join(" "),
            };
            said.push_str(if said.is_empty() { "" } else { ". " });
            said.push_str(&words);
        }
        let end = said.char_indices().nth(MOST_SAID).map_or(said.len(), |(at, _)| at);
        said.truncate(end);
        said
    }

    fn texts(&self, field: Field) -> impl Iterator<Item = &str> {
        self.0.iter().filter(move |(other, _)| *other == field).map(|(_, text)| text.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_is_words_without_inputs_and_has_an_end() {
        let text = Text::default()
            .with(Field::Name, "getForecast")
            .with(Field::Title, "")
            .with(Field::Description, "What the\n weather  will be.")
            .with(Field::Input, "placeName");
        assert_eq!(text.said(), "get forecast. What the weather will be.");
        let long = Text::default().with(Field::Description, "ü".repeat(MOST_SAID + 1));
        assert_eq!(long.said(), "ü".repeat(MOST_SAID));
    }

    #[test]
    fn each_stem_is_told_by_its_first_word() {
        let text =
            Text::default().with(Field::Name, "list_notes").with(Field::Description, "Lists what was noted.");
        let firsts = text.firsts(&mut Stems::default());
        assert_eq!(firsts["list"], (Field::Name, "list".to_owned()));
        assert_eq!(firsts["note"], (Field::Name, "notes".to_owned()));
        assert_eq!(firsts["what"], (Field::Description, "what".to_owned()));
    }
}
