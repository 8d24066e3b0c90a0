//! `prompt:acme/notes.sum_up`.

use std::sync::Arc;

use serde_json::{Value, json};

use super::super::index::{Field, Text};
use super::{Item, Kind, domain, may_use};
use crate::policy::Caller;
use crate::registry::{Entry, Snapshot};

pub(super) struct Prompts;

impl Kind for Prompts {
    fn word(&self) -> &'static str {
        "prompt"
    }

    fn items(&self, entry: &Entry) -> Vec<Item> {
        let item = |prompt: &crate::manifest::Prompt| {
            let text = Text::default()
                .with(Field::Name, &prompt.name)
                .with(Field::Title, prompt.title.as_deref().unwrap_or_default())
                .described(&prompt.description)
                .with(Field::Domain, domain(entry));
            let name = prompt.title.clone().unwrap_or_else(|| prompt.name.clone());
            let id = format!("{}.{}", entry.capability.name, prompt.name);
            Item { id, name, line: prompt.description.clone(), text }
        };
        entry.capability.manifest.prompts.iter().map(item).collect()
    }

    fn is_for(&self, entry: &Entry, position: usize, caller: &Caller<'_>) -> bool {
        may_use(entry, caller) && !entry.withdrawn.prompt(&entry.capability.manifest.prompts[position].name)
    }

    fn describe(&self, _snapshot: &Snapshot, entry: &Arc<Entry>, position: usize, _caller: &Caller<'_>) -> Value {
        let prompt = &entry.capability.manifest.prompts[position];
        json!({ "description": prompt.description, "arguments": prompt.arguments })
    }
}
