//! Text in the data of a component: how much of it there is, the hosts that it names, and what it would tell a model.
//!
//! A guest can spell a name at run time, so nothing that is missing here is missing. The boundary is what is granted
//! and judged at each request; this shows a reviewer what does not fit the manifest.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;

use super::hidden::spelled;
use super::hosts::{self, Named};
use super::phrases;
use crate::policy::HostPattern;

/// The shortest run of characters that counts as a text.
const MIN_CHARACTERS: usize = 4;

/// As many hosts, and as many texts, as are listed.
const MAX_LISTED: usize = 200;

/// Text in the data of a component.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Strings {
    /// Runs of at least four characters that can be read.
    pub count: u64,
    /// Hosts, by name.
    pub hosts: Vec<Host>,
    /// Hosts beyond those listed.
    pub more_hosts: u64,
    /// What tells a model what to do, or hides something.
    pub instructions: Vec<Instruction>,
}

/// A host that the bytes name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Host {
    /// Its name, or an address.
    pub name: String,
    /// Whether it stands in a URL.
    pub is_url: bool,
    /// Whether the manifest asks for it.
    pub is_asked: bool,
}

/// A text that tells a model what to do, or hides something.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Instruction {
    /// Where: a JSON pointer into the manifest, or nothing for the data.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pointer: Option<String>,
    /// What was found.
    pub phrase: String,
    /// What stands around it.
    pub around: String,
}

impl fmt::Display for Instruction {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = self.pointer.as_ref().map_or_else(|| "its data".to_owned(), |pointer| format!("`{pointer}`"));
        write!(formatter, "{place} says `{}`: {}", self.phrase, self.around)
    }
}

/// What the pieces of data say, given what the manifest asks.
pub(super) fn find(data: &[Vec<u8>], allowed: &[HostPattern]) -> Strings {
    let mut strings = Strings::default();
    let mut named: BTreeMap<String, bool> = BTreeMap::new();
    for chunk in data.iter().flat_map(|piece| piece.utf8_chunks()) {
        let text = chunk.valid();
        hidden(text, &mut strings.instructions);
        let is_end = |character: char| character.is_control() && !matches!(character, '\n' | '\t' | '\r');
        for run in text.split(is_end).filter(|run| run.chars().nth(MIN_CHARACTERS - 1).is_some()) {
            strings.count += 1;
            for Named { host, is_url } in hosts::find(run) {
                *named.entry(host).or_default() |= is_url;
            }
            for found in phrases::instructions_in_data(run).into_iter().take(MAX_LISTED) {
                let around = phrases::around(run, found.start, found.phrase.len());
                add(&mut strings.instructions, found.phrase.to_owned(), around);
            }
        }
    }
    let is_asked = |host: &str| allowed.iter().any(|pattern| pattern.matches_host(host));
    strings.more_hosts = named.len().saturating_sub(MAX_LISTED) as u64;
    strings.hosts =
        named.into_iter().map(|(name, is_url)| Host { is_asked: is_asked(&name), is_url, name }).collect();
    // What is asked for must not crowd out what is not.
    strings.hosts.sort_by_key(|host| (host.is_asked, !host.is_url));
    strings.hosts.truncate(MAX_LISTED);
    strings
}

/// Letters of the tag block, and a run of turned writing: neither is in ordinary text or in tables of characters.
fn hidden(text: &str, found: &mut Vec<Instruction>) {
    for run in
        text.split(|character| !matches!(character, '\u{e0020}'..='\u{e007e}')).filter(|run| !run.is_empty())
    {
        if let Some(letters) = spelled(run).filter(|letters| letters.len() >= MIN_CHARACTERS) {
            add(found, "hidden tag characters".to_owned(), letters);
        }
    }
}

fn add(found: &mut Vec<Instruction>, phrase: String, around: String) {
    let instruction = Instruction { pointer: None, phrase, around };
    if found.len() < MAX_LISTED && !found.contains(&instruction) {
        found.push(instruction);
    }
}
