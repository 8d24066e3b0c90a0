//! Upstream MCP servers: capabilities that a person added by their addresses.

use serde_json::{Map, Value};

use super::{Field, Text, View, has_use, overview};
use crate::policy::Caller;
use crate::registry::{Capability, Entry};

pub(in crate::search) struct Kind;

impl super::Kind for Kind {
    fn prefix(&self) -> &'static str {
        "mcp-server"
    }

    fn worth(&self) -> f32 {
        0.6
    }

    fn count(&self, capability: &Capability) -> usize {
        usize::from(capability.name.is_upstream())
    }

    fn may(&self, caller: &Caller<'_>, entry: &Entry, _: usize) -> bool {
        has_use(caller, entry)
    }

    fn id(&self, capability: &Capability, _: usize) -> String {
        capability.name.slug.clone()
    }

    fn name(&self, capability: &Capability, _: usize) -> String {
        capability.manifest.title.clone()
    }

    fn text(&self, capability: &Capability, _: usize) -> Text {
        let manifest = &capability.manifest;
        Text::default()
            .with(Field::Name, &capability.name.slug)
            .with(Field::Title, &manifest.title)
            .with(Field::Description, &manifest.description)
    }

    fn about(&self, _: &View<'_>, entry: &Entry, _: usize) -> String {
        entry.capability.manifest.description.clone()
    }

    fn show(&self, view: &View<'_>, entry: &Entry, _: usize) -> Map<String, Value> {
        overview(view, entry)
    }
}
