//! `loop:acme/digest.daily`: a schedule that comes with a capability.

use std::sync::Arc;

use serde_json::{Value, json};

use super::super::index::{Field, Text};
use super::{Item, Kind, domain, may_use};
use crate::policy::Caller;
use crate::registry::{Entry, Snapshot};

pub(super) struct Schedules;

impl Kind for Schedules {
    fn word(&self) -> &'static str {
        "loop"
    }

    fn items(&self, entry: &Entry) -> Vec<Item> {
        let item = |preset: &crate::manifest::Loop| {
            let does = preset.prompt.as_deref().or(preset.tool.as_deref()).unwrap_or_default();
            let text = Text::default()
                .with(Field::Name, &preset.name)
                .described(does)
                .with(Field::Keyword, "schedule loop recurring")
                .with(Field::Domain, domain(entry));
            let line = format!("{}: {does}", preset.schedule_expression);
            let id = format!("{}.{}", entry.capability.name, preset.name);
            Item { id, name: preset.name.clone(), line, text }
        };
        entry.capability.manifest.loops.iter().map(item).collect()
    }

    fn is_for(&self, entry: &Entry, _position: usize, caller: &Caller<'_>) -> bool {
        may_use(entry, caller)
    }

    fn describe(&self, _snapshot: &Snapshot, entry: &Arc<Entry>, position: usize, _caller: &Caller<'_>) -> Value {
        json!(entry.capability.manifest.loops[position])
    }
}
