//! What can be found. Each kind is one file, and one row here.

mod capability;
mod domain;
mod entity;
mod prompt;
mod schedule;
mod server;
mod tool;

use std::sync::Arc;

use serde_json::Value;

use super::index::Text;
use crate::policy::{Caller, is_published, is_shown};
use crate::registry::{Entry, Snapshot};

/// One kind of thing.
pub(super) trait Kind: Sync {
    /// Before the colon of its ids.
    fn word(&self) -> &'static str;

    /// What a capability has of it.
    fn items(&self, entry: &Entry) -> Vec<Item>;

    /// Whether a caller may use the item at a place of that list now.
    fn is_for(&self, entry: &Entry, position: usize, caller: &Caller<'_>) -> bool;

    /// All there is to say of it to a caller.
    fn describe(&self, snapshot: &Snapshot, entry: &Arc<Entry>, position: usize, caller: &Caller<'_>) -> Value;

    /// What a fit counts, against one of a tool: an agent looks for something to call.
    fn share(&self) -> f32 {
        0.6
    }
}

/// All kinds, in the order in which equals are shown.
pub(super) const KINDS: &[&dyn Kind] = &[
    &tool::Tools,
    &capability::Capabilities,
    &domain::Domains,
    &prompt::Prompts,
    &schedule::Schedules,
    &entity::Entities,
    &server::Servers,
];

/// One thing that can be found.
pub(super) struct Item {
    /// Its id, after the colon.
    pub(super) id: String,
    pub(super) name: String,
    pub(super) line: String,
    pub(super) text: Text,
}

/// Whether a caller may call a tool of a capability now.
fn may_call(entry: &Entry, position: usize, caller: &Caller<'_>) -> bool {
    let tool = &entry.capability.manifest.tools[position];
    entry.is_ready()
        && is_published(tool, &entry.restrictions)
        && !entry.withdrawn.tool(&tool.name)
        && caller.may(tool, &entry.restrictions)
}

/// Whether a caller may use what of a capability is no tool.
fn may_use(entry: &Entry, caller: &Caller<'_>) -> bool {
    entry.is_ready() && is_shown(&entry.restrictions) && caller.may_use(&entry.restrictions)
}

/// Whether a caller may use anything of a capability.
fn may_anything(entry: &Entry, caller: &Caller<'_>) -> bool {
    let manifest = &entry.capability.manifest;
    let has_more = !manifest.resources.is_empty() || !manifest.prompts.is_empty() || manifest.prompt.is_some();
    (0..manifest.tools.len()).any(|position| may_call(entry, position, caller))
        || has_more && may_use(entry, caller)
}

/// The domain of a capability.
fn domain(entry: &Entry) -> &str {
    let manifest = &entry.capability.manifest;
    manifest.domain.as_deref().unwrap_or(&manifest.slug)
}
