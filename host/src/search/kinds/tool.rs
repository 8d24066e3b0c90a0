//! Tools: what an agent calls.

use serde_json::{Map, Value, json};

use super::{Field, Text, View, description, fields, line, may_call, shared};
use crate::manifest::{self, NamespaceName};
use crate::policy::{Caller, needs_word};
use crate::registry::{Capability, Entry, ToolName};

pub(in crate::search) struct Kind;

impl super::Kind for Kind {
    fn prefix(&self) -> &'static str {
        "tool"
    }

    fn worth(&self) -> f32 {
        1.0
    }

    fn count(&self, capability: &Capability) -> usize {
        capability.manifest.tools.len()
    }

    fn may(&self, caller: &Caller<'_>, entry: &Entry, at: usize) -> bool {
        may_call(caller, entry, tool(&entry.capability, at))
    }

    fn id(&self, capability: &Capability, at: usize) -> String {
        name_of(capability, at).to_string()
    }

    fn name(&self, capability: &Capability, at: usize) -> String {
        let tool = tool(capability, at);
        tool.title.clone().unwrap_or_else(|| tool.name.clone())
    }

    fn text(&self, capability: &Capability, at: usize) -> Text {
        let tool = tool(capability, at);
        let text = Text::default()
            .with(Field::Name, &tool.name)
            .with(Field::Title, tool.title.as_deref().unwrap_or_default())
            .with_all(Field::Keyword, tool.keywords.iter().chain(&tool.tags))
            .with(Field::Description, &tool.description)
            .with_all(Field::Input, properties(tool));
        shared(text, capability)
    }

    fn about(&self, _: &View<'_>, entry: &Entry, at: usize) -> String {
        tool(&entry.capability, at).description.clone()
    }

    fn show(&self, _: &View<'_>, entry: &Entry, at: usize) -> Map<String, Value> {
        let tool = tool(&entry.capability, at);
        let uses_http = entry.capability.manifest.uses.contains(&NamespaceName::Http);
        let name = name_of(&entry.capability, at);
        let needs_word = needs_word(tool, &entry.restrictions);
        let mut how = format!("call `{name}` with arguments that fit `inputSchema`");
        if needs_word {
            how.push_str("; a person has to agree first: the first call answers with what it would do");
        }
        fields([
            ("tool", name.to_string().into()),
            ("title", tool.title.as_deref().map_or(Value::Null, |title| line(title).into())),
            ("description", description(&tool.description)),
            ("call", how.into()),
            ("needsConfirmation", needs_word.into()),
            (
                "annotations",
                json!({
                    "readOnlyHint": tool.read_only,
                    "destructiveHint": tool.is_destructive(),
                    "idempotentHint": tool.idempotent,
                    "openWorldHint": tool.open_world.unwrap_or(uses_http),
                }),
            ),
            ("inputSchema", Value::Object(tool.input_schema.clone())),
            ("outputSchema", tool.output_schema.clone().map_or(Value::Null, Value::Object)),
        ])
    }
}

/// The name by which the tool at a position is called.
pub(super) fn name_of(capability: &Capability, at: usize) -> ToolName {
    ToolName { capability: capability.name.clone(), tool: tool(capability, at).name.clone() }
}

fn tool(capability: &Capability, at: usize) -> &manifest::Tool {
    &capability.manifest.tools[at]
}

fn properties(tool: &manifest::Tool) -> impl Iterator<Item = &String> {
    tool.input_schema.get("properties").and_then(Value::as_object).into_iter().flat_map(Map::keys)
}
