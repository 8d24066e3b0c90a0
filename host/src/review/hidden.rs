//! Text of a manifest that does not show: characters that no person sees, escapes that act on a terminal, comments that
//! no renderer shows and every model reads.
//!
//! The gate refuses all of it (`manifest/rules/text.rs`); a reviewer is shown where it is and what it says all the
//! same, for who hides something once is worth knowing.

use std::fmt;

use serde::Serialize;
use serde_json::Value;

use super::compatible::escaped;
use crate::manifest::{Manifest, is_hidden, visible};

/// Characters that are shown around what was found.
const SHOWN: usize = 160;

/// As many places as are listed.
const MAX_LISTED: usize = 100;

/// One text of a manifest, with its JSON pointer.
pub(super) struct Text {
    pub(super) pointer: String,
    pub(super) text: String,
    /// Whether it is the name of a member.
    pub(super) is_name: bool,
}

/// Text that does not show.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Hidden {
    /// A JSON pointer into the manifest.
    pub pointer: String,
    /// The kinds of what was found: `U+200B`, or `HTML comment`.
    pub kinds: Vec<String>,
    /// The text, with all that is hidden made visible.
    pub shown: String,
    /// What the characters of the tag block spell, which models read as letters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spells: Option<String>,
}

impl fmt::Display for Hidden {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { pointer, kinds, shown, spells } = self;
        write!(formatter, "`{}` hides {}: {shown}", visible(pointer, SHOWN), kinds.join(", "))?;
        spells.as_ref().map_or(Ok(()), |spells| write!(formatter, " (its tag characters spell `{spells}`)"))
    }
}

/// Every text of a manifest, names of members included.
pub(super) fn texts(manifest: &Manifest) -> Vec<Text> {
    let mut found = Vec::new();
    collect(String::new(), &serde_json::to_value(manifest).unwrap_or_default(), &mut found);
    found
}

fn collect(pointer: String, value: &Value, found: &mut Vec<Text>) {
    match value {
        Value::String(text) => found.push(Text { pointer, text: text.clone(), is_name: false }),
        Value::Array(values) => {
            for (index, value) in values.iter().enumerate() {
                collect(format!("{pointer}/{index}"), value, found);
            }
        }
        Value::Object(members) => {
            for (name, value) in members {
                let pointer = format!("{pointer}/{}", escaped(name));
                found.push(Text { pointer: pointer.clone(), text: name.clone(), is_name: true });
                collect(pointer, value, found);
            }
        }
        _ => {}
    }
}

/// The texts that hide something.
pub(super) fn find(texts: &[Text]) -> Vec<Hidden> {
    texts.iter().filter_map(hidden).take(MAX_LISTED).collect()
}

fn hidden(text: &Text) -> Option<Hidden> {
    let is_found = |character: &char| is_hidden(*character) && !matches!(character, '\n' | '\t');
    let mut kinds: Vec<String> = Vec::new();
    for character in text.text.chars().filter(is_found) {
        let kind = if character == '\u{1b}' {
            "an escape sequence (U+001B)".to_owned()
        } else {
            format!("U+{:04X}", u32::from(character))
        };
        if !kinds.contains(&kind) {
            kinds.push(kind);
        }
    }
    if text.text.contains("<!--") {
        kinds.push("an HTML comment".to_owned());
    }
    if kinds.is_empty() {
        return None;
    }
    // The first one is in what is shown, however far in it stands.
    let first = text.text.find(|character| is_found(&character)).or_else(|| text.text.find("<!--")).unwrap_or(0);
    let before = text.text[..first].chars().count().saturating_sub(SHOWN / 4);
    let around: String = text.text.chars().skip(before).collect();
    Some(Hidden {
        pointer: text.pointer.clone(),
        kinds,
        shown: visible(&around, SHOWN),
        spells: spelled(&text.text),
    })
}

/// What the tag block spells: each of its characters stands for one of ASCII.
pub(super) fn spelled(text: &str) -> Option<String> {
    let letters: String = text
        .chars()
        .filter_map(|character| u32::from(character).checked_sub(0xe0000))
        .filter_map(|code| u8::try_from(code).ok().filter(|code| (0x20..0x7f).contains(code)).map(char::from))
        .take(SHOWN)
        .collect();
    (!letters.is_empty()).then_some(letters)
}
