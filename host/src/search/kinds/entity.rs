//! `entity:acme/notes.notes`: a collection of documents that a capability stores.

use std::sync::Arc;

use serde_json::{Value, json};

use super::super::index::{Field, Text};
use super::{Item, Kind, domain, may_anything};
use crate::policy::Caller;
use crate::registry::{Entry, Snapshot};

pub(super) struct Entities;

impl Kind for Entities {
    fn word(&self) -> &'static str {
        "entity"
    }

    fn items(&self, entry: &Entry) -> Vec<Item> {
        let manifest = &entry.capability.manifest;
        let item = |name: &String| {
            let text = Text::default()
                .with(Field::Name, name)
                .with(Field::Keyword, "stored documents data")
                .with(Field::Domain, &format!("{} {}", domain(entry), manifest.title));
            let line = format!("Documents that {} stores.", manifest.title);
            Item { id: format!("{}.{name}", entry.capability.name), name: name.clone(), line, text }
        };
        manifest.entities.iter().map(item).collect()
    }

    fn is_for(&self, entry: &Entry, _position: usize, caller: &Caller<'_>) -> bool {
        may_anything(entry, caller)
    }

    fn describe(&self, _snapshot: &Snapshot, entry: &Arc<Entry>, _position: usize, _caller: &Caller<'_>) -> Value {
        json!({ "by": format!("capability:{}", entry.capability.name) })
    }

    fn share(&self) -> f32 {
        0.4
    }
}
