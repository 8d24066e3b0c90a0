//! Words about other tools: a description that names somebody else's, or tells a model what to call first.
//!
//! A model reads the descriptions of all tools together, so one can steer how the others are used without ever being
//! called. Nothing here can know what is meant; it shows a reviewer where the words stand.

use std::fmt;

use serde::Serialize;

use super::hidden::Text;
use super::phrases::{self, Found};
use super::report::Neighbour;
use super::strings::Instruction;
use crate::manifest::{Manifest, visible};

/// As many places as are listed.
const MAX_LISTED: usize = 100;

/// Fields that hold no sentences.
const PLAIN: [&str; 12] = [
    "/$schema",
    "/publisher",
    "/slug",
    "/version",
    "/runtime",
    "/domain",
    "/uses/",
    "/http/",
    "/entities/",
    "/secrets/0/name",
    "/limits",
    "/sandbox",
];

/// Words about other tools.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Shadow {
    /// A JSON pointer into the manifest.
    pub pointer: String,
    /// The other tool or capability, when one is named.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub other: Option<String>,
    /// The phrase that tells a model what to call first, when there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phrase: Option<String>,
    /// What stands around it.
    pub around: String,
}

/// A tool of the same name elsewhere.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Twin {
    /// The tool.
    pub tool: String,
    /// Who has one of the same name.
    pub other: String,
}

impl fmt::Display for Shadow {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { pointer, other, phrase, around } = self;
        let does = match (other, phrase) {
            (Some(other), Some(phrase)) => format!("says `{phrase}` of `{other}`"),
            (Some(other), None) => format!("names `{other}`, which is somebody else's"),
            (None, phrase) => format!("says `{}`", phrase.as_deref().unwrap_or_default()),
        };
        write!(formatter, "`{}` {does}: {around}", visible(pointer, 120))
    }
}

impl fmt::Display for Twin {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "`{}` has a tool `{}` too; each keeps its own name in front", self.other, self.tool)
    }
}

/// Where a manifest speaks of other tools.
pub(super) fn find(manifest: &Manifest, texts: &[Text], neighbours: &[Neighbour]) -> Vec<Shadow> {
    let others: Vec<&Neighbour> = neighbours.iter().filter(|other| !is_self(manifest, other)).collect();
    let mut found = Vec::new();
    for text in sentences(texts) {
        let orders = phrases::orders(&text.text);
        let named = named(manifest, &text.text, &others, !orders.is_empty());
        let shadow = |other: Option<&(String, usize)>, order: Option<&Found>| Shadow {
            pointer: text.pointer.clone(),
            other: other.map(|(other, _)| visible(other, 140)),
            phrase: order.map(|order| order.phrase.to_owned()),
            around: {
                let start = order.map(|order| order.start).or(other.map(|(_, start)| *start)).unwrap_or_default();
                phrases::around(&text.text, start, order.map_or(0, |order| order.phrase.len()))
            },
        };
        if named.is_empty() {
            let about_all = orders.iter().filter(|order| phrases::is_about_all(order.phrase));
            found.extend(about_all.map(|order| shadow(None, Some(order))));
        }
        found.extend(named.iter().map(|other| shadow(Some(other), orders.first())));
    }
    found.truncate(MAX_LISTED);
    found
}

/// Where a manifest tells a model to obey, to forget or to keep quiet.
pub(super) fn instructions(texts: &[Text]) -> Vec<Instruction> {
    let in_text = |text: &Text| -> Vec<Instruction> {
        let found = phrases::instructions(&text.text).into_iter();
        let instruction = |found: Found| Instruction {
            pointer: Some(text.pointer.clone()),
            phrase: found.phrase.to_owned(),
            around: phrases::around(&text.text, found.start, found.phrase.len()),
        };
        found.map(instruction).collect()
    };
    sentences(texts).flat_map(in_text).take(MAX_LISTED).collect()
}

/// Tools of the same names elsewhere.
pub(super) fn twins(manifest: &Manifest, neighbours: &[Neighbour]) -> Vec<Twin> {
    let others = neighbours.iter().filter(|other| !is_self(manifest, other));
    let twins = others.flat_map(|other| {
        let is_shared = |tool: &&String| manifest.tools.iter().any(|own| own.name == **tool);
        let twin = |tool: &String| Twin { tool: tool.clone(), other: other.name.to_string() };
        other.tools.iter().filter(is_shared).map(twin).collect::<Vec<_>>()
    });
    twins.take(MAX_LISTED).collect()
}

fn is_self(manifest: &Manifest, other: &Neighbour) -> bool {
    other.name.publisher == manifest.publisher && other.name.slug == manifest.slug
}

fn sentences(texts: &[Text]) -> impl Iterator<Item = &Text> {
    let is_plain = |pointer: &str| PLAIN.iter().any(|plain| pointer.starts_with(plain));
    texts.iter().filter(move |text| !text.is_name && !is_plain(&text.pointer))
}

/// Tools and capabilities of others that a text names, each with its first byte.
fn named(manifest: &Manifest, text: &str, others: &[&Neighbour], has_order: bool) -> Vec<(String, usize)> {
    let lower = text.to_ascii_lowercase();
    let mut found: Vec<(String, usize)> = Vec::new();
    let mut add = |name: String, start: usize| {
        if !found.iter().any(|(known, at)| *known == name || *at == start) {
            found.push((name, start));
        }
    };
    let is_own = |tool: &str| manifest.tools.iter().any(|own| own.name == tool);
    for other in others {
        let (full, slug) = (other.name.to_string(), other.name.slug.as_str());
        for tool in &other.tools {
            let spellings = [format!("{full}.{tool}"), format!("{slug}.{tool}"), format!("{slug}__{tool}")];
            if let Some(start) = spellings.iter().find_map(|spelling| word(&lower, spelling)) {
                add(format!("{full}.{tool}"), start);
            } else if tool.contains('_') && !is_own(tool) {
                // A name of one word is also an ordinary word.
                word(&lower, tool).into_iter().for_each(|start| add(format!("{full}.{tool}"), start));
            }
        }
        if let Some(start) = word(&lower, &full) {
            add(full, start);
        } else if has_order && slug != manifest.slug {
            word(&lower, slug).into_iter().for_each(|start| add(full.clone(), start));
        }
    }
    if has_order {
        // Whoever it may be: `mail.send` and `mail__send` are written as tools are.
        let mut rest = 0;
        let is_part = |character: char| character.is_ascii_alphanumeric() || "_-./".contains(character);
        while let Some(start) = lower[rest..].find(is_part).map(|at| at + rest) {
            let end = lower[start..].find(|character| !is_part(character)).map_or(lower.len(), |at| at + start);
            let token = lower[start..end].trim_end_matches(['.', '-', '/']);
            if is_tool_of_somebody(token, manifest) {
                add(token.to_owned(), start);
            }
            rest = end;
        }
    }
    found
}

/// The first place at which a name stands as a word of its own.
fn word(text: &str, name: &str) -> Option<usize> {
    let is_part = |character: Option<char>| {
        character.is_some_and(|character| character.is_alphanumeric() || "_-".contains(character))
    };
    text.match_indices(name).map(|(start, _)| start).find(|start| {
        let (before, after) = (text[..*start].chars().next_back(), text[start + name.len()..].chars().next());
        !is_part(before) && !is_part(after)
    })
}

fn is_tool_of_somebody(token: &str, manifest: &Manifest) -> bool {
    let Some((front, tool)) = token.split_once("__").or_else(|| token.rsplit_once('.')) else { return false };
    let slug = front.rsplit('/').next().unwrap_or(front);
    let is_name = |name: &str| name.len() > 1 && name.starts_with(|first: char| first.is_ascii_lowercase());
    let is_plain = |name: &str| is_name(name) && !name.contains(['.', '/']);
    // A host and a file are written so too.
    is_plain(slug)
        && is_plain(tool)
        && slug != manifest.slug
        && !super::hosts::is_name(token)
        && !FILE_ENDINGS.contains(&tool)
}

/// Words behind a dot that are no tools.
const FILE_ENDINGS: [&str; 14] =
    ["md", "txt", "json", "csv", "pdf", "png", "jpg", "html", "xml", "yaml", "toml", "js", "py", "rs"];
