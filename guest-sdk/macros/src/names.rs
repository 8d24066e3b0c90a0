//! Serde's `rename_all`, for schemas that name fields as serde does.

use syn::{LitStr, Result};

/// A rule of `rename_all`.
#[derive(Clone, Copy)]
pub enum Case {
    Lower,
    Upper,
    Pascal,
    Camel,
    Snake,
    ScreamingSnake,
    Kebab,
    ScreamingKebab,
}

impl Case {
    /// Reads the rule's name.
    pub fn parse(name: &LitStr) -> Result<Self> {
        Ok(match name.value().as_str() {
            "lowercase" => Self::Lower,
            "UPPERCASE" => Self::Upper,
            "PascalCase" => Self::Pascal,
            "camelCase" => Self::Camel,
            "snake_case" => Self::Snake,
            "SCREAMING_SNAKE_CASE" => Self::ScreamingSnake,
            "kebab-case" => Self::Kebab,
            "SCREAMING-KEBAB-CASE" => Self::ScreamingKebab,
            _ => return Err(syn::Error::new(name.span(), "not a rule of serde's `rename_all`")),
        })
    }

    /// Renames a field, which is written in snake case.
    pub fn field(self, name: &str) -> String {
        match self {
            Self::Lower | Self::Snake => name.to_owned(),
            Self::Upper | Self::ScreamingSnake => name.to_uppercase(),
            Self::Pascal => name.split('_').map(capitalized).collect(),
            Self::Camel => uncapitalized(&Self::Pascal.field(name)),
            Self::Kebab => name.replace('_', "-"),
            Self::ScreamingKebab => name.to_uppercase().replace('_', "-"),
        }
    }

    /// Renames a variant, which is written in Pascal case.
    pub fn variant(self, name: &str) -> String {
        match self {
            Self::Lower => name.to_lowercase(),
            Self::Upper => name.to_uppercase(),
            Self::Pascal => name.to_owned(),
            Self::Camel => uncapitalized(name),
            Self::Snake | Self::ScreamingSnake | Self::Kebab | Self::ScreamingKebab => self.field(&snake(name)),
        }
    }
}

fn snake(name: &str) -> String {
    let mut snake = String::new();
    for character in name.chars() {
        if character.is_uppercase() && !snake.is_empty() {
            snake.push('_');
        }
        snake.extend(character.to_lowercase());
    }
    snake
}

fn capitalized(word: &str) -> String {
    let mut characters = word.chars();
    characters.next().map_or_else(String::new, |first| first.to_uppercase().chain(characters).collect())
}

fn uncapitalized(word: &str) -> String {
    let mut characters = word.chars();
    characters.next().map_or_else(String::new, |first| first.to_lowercase().chain(characters).collect())
}

#[cfg(test)]
mod tests {
    use super::Case;

    #[test]
    fn renames_as_serde_does() {
        for (case, field, variant) in [
            (Case::Lower, "two_words", "twowords"),
            (Case::Upper, "TWO_WORDS", "TWOWORDS"),
            (Case::Pascal, "TwoWords", "TwoWords"),
            (Case::Camel, "twoWords", "twoWords"),
            (Case::Snake, "two_words", "two_words"),
            (Case::ScreamingSnake, "TWO_WORDS", "TWO_WORDS"),
            (Case::Kebab, "two-words", "two-words"),
            (Case::ScreamingKebab, "TWO-WORDS", "TWO-WORDS"),
        ] {
            assert_eq!(case.field("two_words"), field);
            assert_eq!(case.variant("TwoWords"), variant);
        }
    }
}
