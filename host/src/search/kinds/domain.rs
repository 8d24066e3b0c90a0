//! `domain:weather`: the capabilities that say they belong together. Each of them is a text by which it is found.

use std::sync::Arc;

use serde_json::{Value, json};

use super::super::index::{Field, Text};
use super::{Item, Kind, domain, may_anything};
use crate::policy::Caller;
use crate::registry::{Entry, Snapshot};

pub(super) struct Domains;

impl Kind for Domains {
    fn word(&self) -> &'static str {
        "domain"
    }

    fn items(&self, entry: &Entry) -> Vec<Item> {
        let (name, manifest) = (domain(entry), &entry.capability.manifest);
        let text = Text::default()
            .with(Field::Name, name)
            .with(Field::Title, &manifest.title)
            .with(Field::Keyword, &manifest.keywords.join(" "));
        vec![Item { id: name.to_owned(), name: name.to_owned(), line: manifest.title.clone(), text }]
    }

    fn is_for(&self, entry: &Entry, _position: usize, caller: &Caller<'_>) -> bool {
        may_anything(entry, caller)
    }

    fn describe(&self, snapshot: &Snapshot, entry: &Arc<Entry>, _position: usize, caller: &Caller<'_>) -> Value {
        let name = domain(entry);
        let members =
            snapshot.entries.values().filter(|other| domain(other) == name && may_anything(other, caller));
        let members: Vec<Value> = members
            .map(|member| {
                let capability = &member.capability;
                let kind = if capability.name.is_upstream() { "mcp-server" } else { "capability" };
                let id = if capability.name.is_upstream() {
                    capability.name.slug.clone()
                } else {
                    capability.name.to_string()
                };
                json!({
                    "id": format!("{kind}:{id}"), "name": capability.manifest.title,
                    "line": capability.manifest.description,
                })
            })
            .collect();
        json!({ "members": members })
    }

    fn share(&self) -> f32 {
        0.4
    }
}
