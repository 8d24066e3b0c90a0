//! The versions of a home, written down for version control: `remit.lock`.
//!
//! An entry is a decision: which bytes a name is pinned to, what they are granted, and who vouched for them. The text is
//! the same for the same decisions, whenever and wherever it is written, so that a difference in it is one in them.

mod read;
mod write;

use semver::Version;

use crate::manifest::NamespaceName;
use crate::policy::{Approval, Grant};
use crate::registry::{CapabilityName, Digest, Exact, Origin};

pub use read::{Position, read};
pub use write::write;

/// The only form there is.
const FORM: u32 = 1;

/// What made the decisions that are written down: the program, whose engine runs the code.
pub const ENGINE: &str = concat!("remit ", env!("CARGO_PKG_VERSION"));

/// What is installed, by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lock {
    /// In the order of the names.
    pub entries: Vec<Locked>,
}

/// One install.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Locked {
    /// The capability.
    pub name: CapabilityName,
    /// Its version.
    pub version: Version,
    /// Its bytes.
    pub component: Digest,
    /// What they say of tools.
    pub tools: Digest,
    /// What they ask.
    pub grants: Digest,
    /// What they are granted, in order.
    pub granted: Vec<Grant>,
    /// Where their secrets may go, in order.
    pub approved: Vec<Approval>,
    /// Who vouched for them; `None` when they came from a file.
    pub origin: Option<Origin>,
    /// What ran them when this was written.
    pub engine: String,
    /// Where it stands, in a lock that was read.
    pub position: Position,
}

impl Locked {
    /// The same decisions in the order in which they are written down.
    #[must_use]
    pub fn in_order(mut self) -> Self {
        let key = |approval: &Approval| {
            (approval.secret.clone(), approval.host.clone(), approval.port, approval.place.to_string())
        };
        self.granted.sort();
        self.approved.sort_by_key(key);
        self
    }

    /// The release.
    #[must_use]
    pub fn release(&self) -> Exact {
        Exact { name: self.name.clone(), version: self.version.clone() }
    }
}

/// What keeps a home from being as a lock says, one line each, in the order of the names. What ran the code is no
/// decision, and counts for nothing.
#[must_use]
pub fn differences(locked: &Lock, home: &Lock) -> Vec<String> {
    let find = |lock: &Lock, name: &CapabilityName| lock.entries.iter().find(|entry| entry.name == *name).cloned();
    let mut lines = Vec::new();
    for entry in &locked.entries {
        match find(home, &entry.name) {
            None => lines.push(format!("{}: not installed", entry.release())),
            Some(installed) => lines.extend(difference(entry, &installed)),
        }
    }
    let is_extra = |entry: &&Locked| find(locked, &entry.name).is_none();
    lines
        .extend(home.entries.iter().filter(is_extra).map(|entry| format!("{}: not in the lock", entry.release())));
    lines.sort();
    lines
}

fn difference(locked: &Locked, installed: &Locked) -> Vec<String> {
    let name = &locked.name;
    let mut lines = Vec::new();
    let mut compare = |what: &str, locked: String, installed: String| {
        if locked != installed {
            lines.push(format!("{name}: {what} is {installed}, in the lock {locked}"));
        }
    };
    compare("version", locked.version.to_string(), installed.version.to_string());
    compare("component", locked.component.to_string(), installed.component.to_string());
    compare("what it says of tools", locked.tools.to_string(), installed.tools.to_string());
    compare("what it asks", locked.grants.to_string(), installed.grants.to_string());
    compare("origin", origin(locked), origin(installed));
    lines.extend(only(name, "granted", &spelt(&installed.granted), &spelt(&locked.granted)));
    lines.extend(only(name, "approved", &rows(&installed.approved), &rows(&locked.approved)));
    lines
}

/// What stands on one side only.
fn only(name: &CapabilityName, what: &str, installed: &[String], locked: &[String]) -> Vec<String> {
    let here = installed.iter().filter(|row| !locked.contains(row));
    let there = locked.iter().filter(|row| !installed.contains(row));
    here.map(|row| format!("{name}: {what}, and not in the lock: {row}"))
        .chain(there.map(|row| format!("{name}: not {what}, as in the lock: {row}")))
        .collect()
}

fn origin(entry: &Locked) -> String {
    entry.origin.as_ref().map_or_else(
        || "a file".to_owned(),
        |origin| {
            let Origin { registry, key, reviewer, reviewed_at } = origin;
            format!("`{registry}`, signed by `{key}`, reviewed by `{reviewer}` at {reviewed_at}")
        },
    )
}

fn spelt(grants: &[Grant]) -> Vec<String> {
    grants.iter().map(spell).collect()
}

fn rows(approvals: &[Approval]) -> Vec<String> {
    approvals.iter().map(write::approval).collect()
}

/// A grant in one word, as `--grant` takes it: `http`, `http:api.example.com`.
#[must_use]
pub fn spell(grant: &Grant) -> String {
    match &grant.entry {
        Some(entry) => format!("{}:{entry}", grant.namespace.as_str()),
        None => grant.namespace.as_str().to_owned(),
    }
}

/// The grant of such a word.
fn unspell(word: &str) -> Option<Grant> {
    let (namespace, entry) = match word.split_once(':') {
        Some((namespace, entry)) if !entry.is_empty() => (namespace, Some(entry.to_owned())),
        Some(_) => return None,
        None => (word, None),
    };
    let namespace = NamespaceName::ALL.iter().copied().find(|known| known.as_str() == namespace)?;
    Some(Grant { namespace, entry })
}

#[cfg(test)]
mod tests;
