//! Collections of documents that a capability stores. They are worked on by its tools.

use serde_json::{Map, Value};

use super::{Field, Text, View, callable, fields, may_use, shared, tool};
use crate::policy::Caller;
use crate::registry::{Capability, Entry};

pub(in crate::search) struct Kind;

impl super::Kind for Kind {
    fn prefix(&self) -> &'static str {
        "entity"
    }

    fn worth(&self) -> f32 {
        0.5
    }

    fn count(&self, capability: &Capability) -> usize {
        capability.manifest.entities.len()
    }

    fn may(&self, caller: &Caller<'_>, entry: &Entry, _: usize) -> bool {
        may_use(caller, entry) && callable(caller, entry).next().is_some()
    }

    fn id(&self, capability: &Capability, at: usize) -> String {
        format!("{}.{}", capability.name, capability.manifest.entities[at])
    }

    fn name(&self, capability: &Capability, at: usize) -> String {
        capability.manifest.entities[at].clone()
    }

    fn text(&self, capability: &Capability, at: usize) -> Text {
        let text = Text::default()
            .with(Field::Name, &capability.manifest.entities[at])
            .with(Field::Keyword, "entity collection documents");
        shared(text, capability)
    }

    fn about(&self, _: &View<'_>, entry: &Entry, at: usize) -> String {
        let manifest = &entry.capability.manifest;
        format!("documents `{}` that {} stores", manifest.entities[at], manifest.title)
    }

    fn show(&self, view: &View<'_>, entry: &Entry, _: usize) -> Map<String, Value> {
        let tools =
            callable(&view.caller, entry).map(|at| format!("tool:{}", tool::name_of(&entry.capability, at)));
        fields([
            ("capability", entry.capability.name.to_string().into()),
            ("tools", tools.map(Value::String).collect()),
        ])
    }
}
