//! Loops that come with a capability.

use serde_json::{Map, Value, json};

use super::{Field, Text, View, description, fields, may_call, may_use, shared};
use crate::manifest;
use crate::policy::Caller;
use crate::registry::{Capability, Entry};

pub(in crate::search) struct Kind;

impl super::Kind for Kind {
    fn prefix(&self) -> &'static str {
        "loop"
    }

    fn worth(&self) -> f32 {
        0.6
    }

    fn count(&self, capability: &Capability) -> usize {
        capability.manifest.loops.len()
    }

    /// A loop that calls a tool is for those who may call the tool.
    fn may(&self, caller: &Caller<'_>, entry: &Entry, at: usize) -> bool {
        let preset = preset(&entry.capability, at);
        let tools = &entry.capability.manifest.tools;
        let may_call = |name: &String| {
            tools.iter().find(|tool| tool.name == *name).is_some_and(|tool| may_call(caller, entry, tool))
        };
        may_use(caller, entry) && preset.tool.as_ref().is_none_or(may_call)
    }

    fn id(&self, capability: &Capability, at: usize) -> String {
        format!("{}.{}", capability.name, preset(capability, at).name)
    }

    fn name(&self, capability: &Capability, at: usize) -> String {
        preset(capability, at).name.clone()
    }

    fn text(&self, capability: &Capability, at: usize) -> Text {
        let preset = preset(capability, at);
        let text = Text::default()
            .with(Field::Name, &preset.name)
            .with(Field::Keyword, "loop schedule")
            .with(Field::Description, preset.prompt.as_deref().unwrap_or_default())
            .with(Field::Description, preset.tool.as_deref().unwrap_or_default());
        shared(text, capability)
    }

    fn about(&self, _: &View<'_>, entry: &Entry, at: usize) -> String {
        let preset = preset(&entry.capability, at);
        let what = match (&preset.tool, &preset.prompt) {
            (Some(tool), _) => format!("calls `{tool}`"),
            (None, Some(prompt)) => format!("asks: {prompt}"),
            (None, None) => "fires".to_owned(),
        };
        format!("at `{}` {what}", preset.schedule_expression)
    }

    fn show(&self, _: &View<'_>, entry: &Entry, at: usize) -> Map<String, Value> {
        let preset = preset(&entry.capability, at);
        fields([
            ("scheduleType", json!(preset.schedule_type)),
            ("scheduleExpression", preset.schedule_expression.as_str().into()),
            ("timezone", json!(preset.timezone)),
            ("tool", json!(preset.tool)),
            ("prompt", preset.prompt.as_deref().map_or(Value::Null, description)),
        ])
    }
}

fn preset(capability: &Capability, at: usize) -> &manifest::Loop {
    &capability.manifest.loops[at]
}
