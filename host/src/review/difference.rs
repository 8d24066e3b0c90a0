//! What differs between two versions of a capability: for a reviewer before it is published, and for an installer
//! before it takes the place of what is pinned.
//!
//! Pure, and the one such comparison: `widened.rs` says what a version may do that the other did not ask, `changed.rs`
//! which fields differ. It does not say whether callers go on working (`compatible.rs`), nor does it decide anything.

mod changed;
mod widened;

use std::collections::BTreeSet;

pub use changed::{Change, Weight, changes};
pub use widened::{About, Widening, covers, narrowings, widenings};

use semver::Version;
use serde::Serialize;

use super::Report;
use crate::manifest::Manifest;

/// Everything that differs from an earlier version.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Difference {
    /// The earlier version.
    pub version: Version,
    /// Its digest.
    pub digest: String,
    /// What it may do, or would be given, that the earlier one did not ask.
    pub widened: Vec<Widening>,
    /// What the earlier one asked, and it does not, as phrases.
    pub narrowed: Vec<String>,
    /// Tools that are new, gone, or not what they were.
    pub tools: Vec<ToolChange>,
    /// Every other field that differs.
    pub fields: Vec<Change>,
    /// Interfaces that it imports.
    pub imports: Delta,
    /// Interfaces that it exports.
    pub exports: Delta,
    /// Hosts in its bytes, whether it asks for them or not.
    pub hosts: Delta,
}

/// One tool that differs.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolChange {
    /// Its name.
    pub name: String,
    /// What became of it.
    pub what: What,
    /// Its fields that differ, when it is in both versions.
    pub fields: Vec<Change>,
}

/// What became of a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum What {
    /// It is new.
    Added,
    /// It is gone.
    Removed,
    /// It is described, or behaves, otherwise.
    Changed,
}

/// What came to a list, and what went.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Delta {
    /// Only in the later version.
    pub added: Vec<String>,
    /// Only in the earlier one.
    pub removed: Vec<String>,
}

impl Difference {
    /// From what an earlier version's bytes say to what a later one's do.
    #[must_use]
    pub fn between(before: &Report, after: &Report) -> Self {
        let hosts = |report: &Report| report.strings.hosts.iter().map(|host| host.name.clone()).collect();
        Self {
            imports: Delta::between(before.imports.clone(), after.imports.clone()),
            exports: Delta::between(before.exports.clone(), after.exports.clone()),
            hosts: Delta::between(hosts(before), hosts(after)),
            ..Self::of_manifests(&before.manifest, &before.digest, &after.manifest)
        }
    }

    /// From what an earlier version's manifest says to what a later one's does, when only those are at hand.
    #[must_use]
    pub fn of_manifests(before: &Manifest, digest: &str, after: &Manifest) -> Self {
        let (tools, fields) = changes(before, after).into_iter().partition(|change| change.tool().is_some());
        Self {
            version: before.version.clone(),
            digest: digest.to_owned(),
            widened: widenings(before, after),
            narrowed: narrowings(before, after),
            tools: tool_changes(before, after, tools),
            fields,
            imports: Delta::default(),
            exports: Delta::default(),
            hosts: Delta::default(),
        }
    }

    /// Whether anything that a person or an agent would notice differs.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        let lists = [&self.imports, &self.exports, &self.hosts];
        self.tools.is_empty() && self.fields.is_empty() && lists.iter().all(|delta| delta.is_empty())
    }
}

impl Delta {
    fn between(before: Vec<String>, after: Vec<String>) -> Self {
        let (before, after): (BTreeSet<_>, BTreeSet<_>) =
            (before.into_iter().collect(), after.into_iter().collect());
        Self {
            added: after.difference(&before).cloned().collect(),
            removed: before.difference(&after).cloned().collect(),
        }
    }

    /// Whether the lists are the same.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.added.is_empty() && self.removed.is_empty()
    }
}

/// The changed fields, by their tools.
fn tool_changes(before: &Manifest, after: &Manifest, changes: Vec<Change>) -> Vec<ToolChange> {
    let is_in = |manifest: &Manifest, name: &str| manifest.tools.iter().any(|tool| tool.name == name);
    let mut found: Vec<ToolChange> = Vec::new();
    for change in changes {
        let Some(name) = change.tool().map(str::to_owned) else { continue };
        let what = match (is_in(before, &name), is_in(after, &name)) {
            (false, _) => What::Added,
            (true, false) => What::Removed,
            (true, true) => What::Changed,
        };
        let fields = if what == What::Changed { vec![change] } else { Vec::new() };
        match found.last_mut() {
            Some(last) if last.name == name => last.fields.extend(fields),
            _ => found.push(ToolChange { name, what, fields }),
        }
    }
    found
}

#[cfg(test)]
mod tests;
