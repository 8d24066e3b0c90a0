//! Tools and capabilities of others that a text names.
//!
//! Every word of a text is looked up once, so that a long description costs the same in a home with many tools.

use std::collections::{BTreeMap, BTreeSet};

use super::hosts;
use super::report::Neighbour;
use crate::manifest::Manifest;

/// Words behind a dot that are files and no tools.
const FILE_ENDINGS: [&str; 14] =
    ["md", "txt", "json", "csv", "pdf", "png", "jpg", "html", "xml", "yaml", "toml", "js", "py", "rs"];

/// How others and their tools are written.
pub(super) struct Mentions<'a> {
    slug: &'a str,
    /// By spelling, who is meant.
    names: BTreeMap<String, String>,
    /// Slugs alone, which are ordinary words too.
    slugs: BTreeMap<&'a str, String>,
}

impl<'a> Mentions<'a> {
    /// Those that are not the manifest's own.
    pub(super) fn of(manifest: &'a Manifest, others: impl IntoIterator<Item = &'a Neighbour>) -> Self {
        let own: BTreeSet<&str> = manifest.tools.iter().map(|tool| tool.name.as_str()).collect();
        let (mut names, mut slugs) = (BTreeMap::new(), BTreeMap::new());
        for Neighbour { name, tools } in others {
            let (full, slug) = (name.to_string(), name.slug.as_str());
            for tool in tools {
                let meant = format!("{full}.{tool}");
                let mut spellings = vec![format!("{slug}.{tool}"), format!("{slug}__{tool}"), meant.clone()];
                // A tool's name of one word is also an ordinary word.
                if tool.contains('_') && !own.contains(tool.as_str()) {
                    spellings.push(tool.clone());
                }
                for spelling in spellings.into_iter().filter(|spelling| !is_own(manifest, spelling)) {
                    names.entry(spelling).or_insert_with(|| meant.clone());
                }
            }
            if slug != manifest.slug {
                slugs.entry(slug).or_insert_with(|| full.clone());
            }
            names.insert(full.clone(), full);
        }
        Self { slug: &manifest.slug, names, slugs }
    }

    /// Who a text names, each with the first byte of the first place. Where it tells a model what to call first, also
    /// slugs alone and what is only written as tools are.
    pub(super) fn in_text(&self, text: &str, has_order: bool) -> Vec<(String, usize)> {
        let lower = text.to_ascii_lowercase();
        let mut found: Vec<(String, usize)> = Vec::new();
        for (start, word) in words(&lower) {
            let known = self.names.get(word).or_else(|| self.slugs.get(word).filter(|_| has_order)).cloned();
            let Some(name) =
                known.or_else(|| (has_order && self.is_written_as_a_tool(word)).then(|| word.to_owned()))
            else {
                continue;
            };
            if !found.iter().any(|(known, _)| *known == name) {
                found.push((name, start));
            }
        }
        found
    }

    /// Whoever it may be: `mail.send` and `mail__send` are written as tools are.
    fn is_written_as_a_tool(&self, word: &str) -> bool {
        let Some((front, tool)) = word.split_once("__").or_else(|| word.rsplit_once('.')) else { return false };
        let slug = front.rsplit('/').next().unwrap_or(front);
        let is_plain = |name: &str| {
            name.len() > 1
                && name.starts_with(|first: char| first.is_ascii_lowercase())
                && !name.contains(['.', '/'])
        };
        // Hosts and files are written so too.
        is_plain(slug)
            && is_plain(tool)
            && slug != self.slug
            && !hosts::is_name(word)
            && !FILE_ENDINGS.contains(&tool)
    }
}

fn is_own(manifest: &Manifest, spelling: &str) -> bool {
    let own =
        |separator: &str| spelling.strip_prefix(&manifest.slug).is_some_and(|rest| rest.starts_with(separator));
    own(".") || own("__")
}

/// The words of a text with their first bytes: letters, digits and what stands inside names.
fn words(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let is_part = |character: char| character.is_alphanumeric() || "_-./".contains(character);
    let runs = text.split(move |character| !is_part(character));
    runs.map(move |run| {
        let word = run.trim_start_matches(['.', '-', '/']);
        (word.as_ptr() as usize - text.as_ptr() as usize, word.trim_end_matches(['.', '-', '/']))
    })
    .filter(|(_, word)| !word.is_empty())
}
