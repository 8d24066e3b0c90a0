//! `capability:acme/weather`.

use std::sync::Arc;

use serde_json::{Value, json};

use super::super::index::{Field, Text};
use super::{Item, Kind, domain, may_anything, may_call, may_use};
use crate::policy::Caller;
use crate::registry::{Entry, Snapshot, ToolName};

pub(super) struct Capabilities;

impl Kind for Capabilities {
    fn word(&self) -> &'static str {
        "capability"
    }

    fn items(&self, entry: &Entry) -> Vec<Item> {
        let manifest = &entry.capability.manifest;
        if entry.capability.name.is_upstream() {
            return Vec::new();
        }
        let text = Text::default()
            .with(Field::Name, &manifest.slug)
            .with(Field::Title, &manifest.title)
            .described(&manifest.description)
            .with(Field::Keyword, &manifest.keywords.join(" "))
            .with(Field::Domain, domain(entry));
        let (id, line) = (entry.capability.name.to_string(), manifest.description.clone());
        vec![Item { id, name: manifest.title.clone(), line, text }]
    }

    fn is_for(&self, entry: &Entry, _position: usize, caller: &Caller<'_>) -> bool {
        may_anything(entry, caller)
    }

    fn describe(&self, _snapshot: &Snapshot, entry: &Arc<Entry>, _position: usize, caller: &Caller<'_>) -> Value {
        described(entry, caller)
    }
}

/// A capability with what a caller may use of it.
pub(super) fn described(entry: &Entry, caller: &Caller<'_>) -> Value {
    let (name, manifest) = (&entry.capability.name, &entry.capability.manifest);
    let tools = manifest.tools.iter().enumerate().filter(|(position, _)| may_call(entry, *position, caller));
    let tools: Vec<Value> = tools
        .map(|(_, tool)| {
            let id = ToolName { capability: name.clone(), tool: tool.name.clone() };
            json!({ "id": format!("tool:{id}"), "line": tool.description })
        })
        .collect();
    let guidance = manifest.prompt.as_ref().filter(|_| may_use(entry, caller));
    json!({
        "description": manifest.description,
        "version": manifest.version.to_string(),
        "domain": format!("domain:{}", domain(entry)),
        "guidance": guidance,
        "tools": tools,
    })
}
