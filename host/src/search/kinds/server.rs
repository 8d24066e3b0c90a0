//! `mcp-server:home`: an upstream MCP server. What it says of itself is a stranger's word.

use std::sync::Arc;

use serde_json::Value;

use super::super::index::{Field, Text};
use super::{Item, Kind, capability, may_anything};
use crate::policy::Caller;
use crate::registry::{Entry, Snapshot};

pub(super) struct Servers;

impl Kind for Servers {
    fn word(&self) -> &'static str {
        "mcp-server"
    }

    fn items(&self, entry: &Entry) -> Vec<Item> {
        let manifest = &entry.capability.manifest;
        if !entry.capability.name.is_upstream() {
            return Vec::new();
        }
        let text = Text::default()
            .with(Field::Name, &manifest.slug)
            .with(Field::Title, &manifest.title)
            .described(&manifest.description);
        vec![Item {
            id: manifest.slug.clone(),
            name: manifest.title.clone(),
            line: manifest.description.clone(),
            text,
        }]
    }

    fn is_for(&self, entry: &Entry, _position: usize, caller: &Caller<'_>) -> bool {
        may_anything(entry, caller)
    }

    fn describe(&self, _snapshot: &Snapshot, entry: &Arc<Entry>, _position: usize, caller: &Caller<'_>) -> Value {
        capability::described(entry, caller)
    }
}
