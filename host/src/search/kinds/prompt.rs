//! Prompts: messages that a person picks.

use serde_json::{Map, Value, json};

use super::{Field, Text, View, description, fields, line, may_use, shared};
use crate::manifest;
use crate::policy::Caller;
use crate::registry::{Capability, Entry};

pub(in crate::search) struct Kind;

impl super::Kind for Kind {
    fn prefix(&self) -> &'static str {
        "prompt"
    }

    fn worth(&self) -> f32 {
        0.8
    }

    fn count(&self, capability: &Capability) -> usize {
        capability.manifest.prompts.len()
    }

    fn may(&self, caller: &Caller<'_>, entry: &Entry, at: usize) -> bool {
        may_use(caller, entry) && !entry.withdrawn.prompt(&prompt(&entry.capability, at).name)
    }

    fn id(&self, capability: &Capability, at: usize) -> String {
        format!("{}.{}", capability.name, prompt(capability, at).name)
    }

    fn name(&self, capability: &Capability, at: usize) -> String {
        let prompt = prompt(capability, at);
        prompt.title.clone().unwrap_or_else(|| prompt.name.clone())
    }

    fn text(&self, capability: &Capability, at: usize) -> Text {
        let prompt = prompt(capability, at);
        let text = Text::default()
            .with(Field::Name, &prompt.name)
            .with(Field::Title, prompt.title.as_deref().unwrap_or_default())
            .with(Field::Description, &prompt.description)
            .with_all(Field::Input, prompt.arguments.iter().map(|argument| &argument.name));
        shared(text, capability)
    }

    fn about(&self, _: &View<'_>, entry: &Entry, at: usize) -> String {
        prompt(&entry.capability, at).description.clone()
    }

    fn show(&self, _: &View<'_>, entry: &Entry, at: usize) -> Map<String, Value> {
        let prompt = prompt(&entry.capability, at);
        let arguments = prompt.arguments.iter().map(|argument| {
            json!({
                "name": argument.name, "description": line(&argument.description), "required": argument.required,
            })
        });
        fields([("description", description(&prompt.description)), ("arguments", arguments.collect())])
    }
}

fn prompt(capability: &Capability, at: usize) -> &manifest::Prompt {
    &capability.manifest.prompts[at]
}
