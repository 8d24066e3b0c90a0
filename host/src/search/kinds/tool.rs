//! `tool:acme/weather.get_forecast`.

use std::sync::Arc;

use serde_json::{Value, json};

use super::super::index::{Field, Text};
use super::{Item, Kind, domain, may_call};
use crate::policy::Caller;
use crate::registry::{Entry, Snapshot, ToolName};

pub(super) struct Tools;

impl Kind for Tools {
    fn word(&self) -> &'static str {
        "tool"
    }

    fn items(&self, entry: &Entry) -> Vec<Item> {
        let manifest = &entry.capability.manifest;
        let item = |tool: &crate::manifest::Tool| {
            let name = ToolName { capability: entry.capability.name.clone(), tool: tool.name.clone() };
            let properties = tool.input_schema.get("properties").and_then(Value::as_object);
            let properties: Vec<&str> =
                properties.into_iter().flat_map(|all| all.keys()).map(String::as_str).collect();
            let keywords = [&tool.tags[..], &tool.keywords, &manifest.keywords].concat().join(" ");
            let text = Text::default()
                .with(Field::Name, &tool.name)
                // On the wire it stands before the name.
                .with(Field::Name, &manifest.slug)
                .with(Field::Title, tool.title.as_deref().unwrap_or_default())
                .described(&tool.description)
                .with(Field::Keyword, &keywords)
                .with(Field::Property, &properties.join(" "))
                .with(Field::Domain, &format!("{} {}", domain(entry), manifest.title));
            let title = tool.title.clone().unwrap_or_else(|| tool.name.clone());
            Item { id: name.to_string(), name: title, line: tool.description.clone(), text }
        };
        manifest.tools.iter().map(item).collect()
    }

    fn is_for(&self, entry: &Entry, position: usize, caller: &Caller<'_>) -> bool {
        may_call(entry, position, caller)
    }

    fn describe(&self, _snapshot: &Snapshot, entry: &Arc<Entry>, position: usize, _caller: &Caller<'_>) -> Value {
        let tool = &entry.capability.manifest.tools[position];
        json!({
            "description": tool.description,
            "inputSchema": tool.input_schema,
            "outputSchema": tool.output_schema,
            "readOnly": tool.read_only,
            "destructive": tool.is_destructive(),
            "idempotent": tool.idempotent,
            "capability": format!("capability:{}", entry.capability.name),
        })
    }

    fn share(&self) -> f32 {
        1.0
    }
}
