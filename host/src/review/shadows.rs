//! Words about other tools: a description that names somebody else's, or tells a model what to call first.
//!
//! A model reads the descriptions of all tools together, so one can steer how the others are used without ever being
//! called. Nothing here can know what is meant; it shows a reviewer where the words stand.

use std::collections::BTreeSet;
use std::fmt;

use serde::Serialize;

use super::hidden::Text;
use super::mentions::Mentions;
use super::phrases::{self, Found};
use super::report::Neighbour;
use super::strings::Instruction;
use crate::manifest::{Manifest, visible};

/// As many places as are listed.
const MAX_LISTED: usize = 100;

/// Fields that hold no sentences.
const PLAIN: [&str; 11] = [
    "/$schema",
    "/publisher",
    "/slug",
    "/version",
    "/runtime",
    "/domain",
    "/uses/",
    "/http/",
    "/entities/",
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
    let mentions = Mentions::of(manifest, neighbours.iter().filter(|other| !is_self(manifest, other)));
    let mut found = Vec::new();
    for text in sentences(texts) {
        let orders = phrases::orders(&text.text);
        let named = mentions.in_text(&text.text, !orders.is_empty());
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
    let own: BTreeSet<&str> = manifest.tools.iter().map(|tool| tool.name.as_str()).collect();
    let others = neighbours.iter().filter(|other| !is_self(manifest, other));
    let tools = others.flat_map(|other| other.tools.iter().map(move |tool| (&other.name, tool)));
    let twins = tools.filter(|(_, tool)| own.contains(tool.as_str()));
    twins.map(|(name, tool)| Twin { tool: tool.clone(), other: name.to_string() }).take(MAX_LISTED).collect()
}

fn is_self(manifest: &Manifest, other: &Neighbour) -> bool {
    other.name.publisher == manifest.publisher && other.name.slug == manifest.slug
}

fn sentences(texts: &[Text]) -> impl Iterator<Item = &Text> {
    let is_plain = |pointer: &str| PLAIN.iter().any(|plain| pointer.starts_with(plain));
    texts.iter().filter(move |text| !text.is_name && !is_plain(&text.pointer))
}
