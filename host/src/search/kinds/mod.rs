//! The kinds of things that can be found. A new one is a file of this folder and a line of [`KINDS`].

mod capability;
mod domain;
mod entity;
mod loop_preset;
mod prompt;
mod server;
mod tool;

use serde_json::{Map, Value};

use super::fields::{Field, Text};
use crate::manifest::Tool;
use crate::policy::{Caller, is_published, is_shown};
use crate::registry::{Capability, Entry, Snapshot};
use crate::text::{clean_line, clean_text};

/// All kinds; where two things answer a question equally well, the one of the earlier kind comes first.
pub(super) const KINDS: &[&dyn Kind] = &[
    &tool::Kind,
    &prompt::Kind,
    &capability::Kind,
    &server::Kind,
    &domain::Kind,
    &loop_preset::Kind,
    &entity::Kind,
];

/// The kinds that an overview shows, in its order.
pub(super) const OVERVIEW: &[&dyn Kind] = &[&domain::Kind, &capability::Kind, &server::Kind];

/// Characters of a line about a thing.
const MAX_LINE: usize = 200;

/// Characters of a description in full.
const MAX_DESCRIPTION: usize = 4000;

/// Who looks, and at what.
pub(super) struct View<'a> {
    pub(super) caller: Caller<'a>,
    pub(super) snapshot: &'a Snapshot,
}

/// One kind of thing. Things are counted within the capability that brings them.
pub(super) trait Kind: Sync {
    /// What an id of this kind begins with, before the colon.
    fn prefix(&self) -> &'static str;

    /// How much a thing of this kind counts against others with the same words.
    fn worth(&self) -> f32;

    /// How many a capability brings.
    fn count(&self, capability: &Capability) -> usize;

    /// Whether a caller may use it now. Asked only of capabilities that are ready. It proves nothing.
    fn may(&self, caller: &Caller<'_>, entry: &Entry, at: usize) -> bool;

    /// What its id has after the colon.
    fn id(&self, capability: &Capability, at: usize) -> String;

    /// What it is called, for reading.
    fn name(&self, capability: &Capability, at: usize) -> String;

    /// What of it is searched. Only the manifest counts, because a manifest is read once.
    fn text(&self, capability: &Capability, at: usize) -> Text;

    /// What it is, in the words of its publisher. `view` says what else may be named.
    fn about(&self, view: &View<'_>, entry: &Entry, at: usize) -> String;

    /// All of it that `view` may see, besides its id and name.
    fn show(&self, view: &View<'_>, entry: &Entry, at: usize) -> Map<String, Value>;
}

/// A text of one line.
pub(super) fn line(text: &str) -> String {
    clean_line(text, MAX_LINE)
}

fn description(text: &str) -> Value {
    clean_text(text, MAX_DESCRIPTION).into()
}

fn fields<const N: usize>(fields: [(&str, Value); N]) -> Map<String, Value> {
    fields.into_iter().filter(|(_, value)| !value.is_null()).map(|(key, value)| (key.to_owned(), value)).collect()
}

/// Whether a caller may call the tool at a position.
fn may_call(caller: &Caller<'_>, entry: &Entry, tool: &Tool) -> bool {
    is_published(tool, &entry.restrictions)
        && !entry.withdrawn.tool(&tool.name)
        && caller.may(tool, &entry.restrictions)
}

/// The positions of the tools of a capability that a caller may call.
fn callable<'a>(caller: &'a Caller<'_>, entry: &'a Entry) -> impl Iterator<Item = usize> + 'a {
    let tools = entry.capability.manifest.tools.iter().enumerate();
    tools.filter(move |(_, tool)| may_call(caller, entry, tool)).map(|(at, _)| at)
}

/// Whether a caller may use what of a capability is no tool.
fn may_use(caller: &Caller<'_>, entry: &Entry) -> bool {
    is_shown(&entry.restrictions) && caller.may_use(&entry.restrictions)
}

/// Whether a caller may use anything of a capability.
fn has_use(caller: &Caller<'_>, entry: &Entry) -> bool {
    let (manifest, withdrawn) = (&entry.capability.manifest, &entry.withdrawn);
    let has_more = || {
        manifest.prompts.iter().any(|prompt| !withdrawn.prompt(&prompt.name))
            || manifest.resources.iter().any(|resource| !withdrawn.resource(&resource.uri))
            || manifest.resource_templates.iter().any(|template| !withdrawn.resource(&template.uri_template))
            || manifest.prompt.is_some()
    };
    callable(caller, entry).next().is_some() || may_use(caller, entry) && has_more()
}

/// The domain of a capability.
fn domain_of(capability: &Capability) -> &str {
    capability.manifest.domain.as_deref().unwrap_or(&capability.name.slug)
}

/// The fields that everything of a capability shares.
fn shared(text: Text, capability: &Capability) -> Text {
    text.with(Field::Domain, domain_of(capability)).with(Field::Capability, &capability.manifest.title)
}

/// What a capability says of itself, with the tools that `view` may call.
fn overview(view: &View<'_>, entry: &Entry) -> Map<String, Value> {
    let (name, manifest) = (&entry.capability.name, &entry.capability.manifest);
    let tools = callable(&view.caller, entry).map(|at| {
        let tool = &manifest.tools[at];
        fields([
            ("id", format!("tool:{}", tool::name_of(&entry.capability, at)).into()),
            ("line", line(&tool.description).into()),
        ])
    });
    let tools: Vec<Value> = tools.map(Value::Object).collect();
    fields([
        ("capability", name.to_string().into()),
        ("version", manifest.version.to_string().into()),
        ("domain", domain_of(&entry.capability).into()),
        ("description", description(&manifest.description)),
        ("tools", tools.into()),
    ])
}
