//! Which documents and prompts are listed, and how: one immutable shelf per surface and state of the home.
//!
//! Like the list of tools it is made once for each generation of the snapshot. What a capability has withdrawn is
//! not on it. The guidance of a manifest is a prompt too, named after its capability. The checks that count are
//! made at each request, behind the host's door.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use rmcp::model::{Prompt, PromptArgument, Resource, ResourceTemplate};

use super::Surface;
use super::names::Slugs;
use super::text::{clean_line, clean_text};
use crate::call::Host;
use crate::error::Result;
use crate::manifest;
use crate::policy::{Caller, Directory, Identity, is_shown};
use crate::registry::{CapabilityName, Entry, Snapshot, ToolName};

/// Characters of a title: more is no title.
const MAX_TITLE: usize = 120;

/// Characters of a description. Clients cut at 4,096; ours says that it was cut.
const MAX_DESCRIPTION: usize = 4000;

/// Characters of a prompt that is a manifest's guidance.
const MAX_GUIDANCE: usize = 20_000;

/// The shelves of one surface: the newest is kept.
pub(super) struct Shelves {
    host: Host,
    surface: Surface,
    newest: Mutex<Option<Arc<Shelf>>>,
}

/// What agents can read and pick on a surface, each list in the order of its names.
pub(super) struct Shelf {
    generation: u64,
    resources: Vec<Shelved<Resource>>,
    templates: Vec<Shelved<ResourceTemplate>>,
    prompts: Vec<Shelved<Prompted>>,
    /// Who is who.
    directory: Arc<Directory>,
}

/// Something of a capability.
struct Shelved<T> {
    item: T,
    entry: Arc<Entry>,
}

/// A prompt, and what it is.
#[derive(Clone)]
pub(super) struct Prompted {
    pub(super) wire: Prompt,
    pub(super) source: Source,
}

/// Where a prompt comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Source {
    /// The capability makes it when it is asked for.
    Made {
        /// Whose it is.
        capability: CapabilityName,
        /// Its name there.
        name: String,
    },
    /// The guidance of a manifest, as it stands there.
    Guidance(String),
}

impl Shelves {
    /// The shelves of what `host` has installed, as `surface` shows it.
    pub(super) fn new(host: Host, surface: Surface) -> Self {
        Self { host, surface, newest: Mutex::new(None) }
    }

    /// The shelf of this moment.
    pub(super) fn current(&self) -> Result<Arc<Shelf>> {
        let snapshot = self.host.snapshot()?;
        let mut newest = self.newest.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(shelf) = newest.as_ref().filter(|shelf| shelf.generation == snapshot.generation) {
            return Ok(Arc::clone(shelf));
        }
        let shelf = Arc::new(Shelf::of(&snapshot, &self.surface));
        *newest = Some(Arc::clone(&shelf));
        Ok(shelf)
    }
}

impl Shelf {
    /// The shelf for what is installed in `snapshot`.
    pub(super) fn of(snapshot: &Snapshot, surface: &Surface) -> Self {
        let slugs = Slugs::of(snapshot.entries.keys());
        let (mut resources, mut templates) = (BTreeMap::new(), BTreeMap::new());
        let mut prompts = BTreeMap::new();
        for entry in snapshot.entries.values() {
            let name = &entry.capability.name;
            if !surface.shows(name) || !entry.is_ready() || !is_shown(&entry.restrictions) {
                continue;
            }
            for resource in
                entry.capability.manifest.resources.iter().filter(|one| !entry.withdrawn.resource(&one.uri))
            {
                let wire = wire_resource(resource, surface.address(name, &resource.uri));
                resources.insert(wire.uri.clone(), Shelved { item: wire, entry: Arc::clone(entry) });
            }
            let offered = |one: &&manifest::ResourceTemplate| !entry.withdrawn.resource(&one.uri_template);
            for template in entry.capability.manifest.resource_templates.iter().filter(offered) {
                let wire = wire_template(template, surface.address(name, &template.uri_template));
                templates.insert(wire.uri_template.clone(), Shelved { item: wire, entry: Arc::clone(entry) });
            }
            add_prompts(entry, surface, &slugs, &mut prompts);
        }
        Self {
            generation: snapshot.generation,
            resources: resources.into_values().collect(),
            templates: templates.into_values().collect(),
            prompts: prompts.into_values().collect(),
            directory: Arc::clone(&snapshot.directory),
        }
    }

    /// The documents that a caller may read.
    pub(super) fn resources(&self, identity: &Identity) -> Vec<Resource> {
        self.seen(&self.resources, identity).cloned().collect()
    }

    /// The families of documents that a caller may read.
    pub(super) fn templates(&self, identity: &Identity) -> Vec<ResourceTemplate> {
        self.seen(&self.templates, identity).cloned().collect()
    }

    /// The prompts that a caller may pick.
    pub(super) fn prompts(&self, identity: &Identity) -> Vec<Prompt> {
        self.seen(&self.prompts, identity).map(|prompted| prompted.wire.clone()).collect()
    }

    /// The prompt of this name, for a caller who may pick it.
    pub(super) fn prompt(&self, identity: &Identity, name: &str) -> Option<&Prompted> {
        let at = self.prompts.binary_search_by(|prompt| prompt.item.wire.name.as_str().cmp(name)).ok()?;
        self.seen(&self.prompts[at..=at], identity).next()
    }

    /// Whether every agent would see the same documents.
    pub(super) fn has_the_same_documents(&self, other: &Self) -> bool {
        self.directory == other.directory
            && same(&self.resources, &other.resources, |item| item)
            && same(&self.templates, &other.templates, |item| item)
    }

    /// Whether every agent would see the same prompts.
    pub(super) fn has_the_same_prompts(&self, other: &Self) -> bool {
        self.directory == other.directory && same(&self.prompts, &other.prompts, |prompted| &prompted.wire)
    }

    fn seen<'a, T>(&'a self, items: &'a [Shelved<T>], identity: &Identity) -> impl Iterator<Item = &'a T> {
        let caller = Caller::of(identity, &self.directory);
        let seen = items.iter().filter(move |shelved| caller.may_use(&shelved.entry.restrictions));
        seen.map(|shelved| &shelved.item).collect::<Vec<_>>().into_iter()
    }
}

/// Whether two lists look the same, for whoever may see them.
fn same<T, W: PartialEq>(left: &[Shelved<T>], right: &[Shelved<T>], wire: impl Fn(&T) -> &W) -> bool {
    let are_same = |(left, right): (&Shelved<T>, &Shelved<T>)| {
        wire(&left.item) == wire(&right.item) && left.entry.restrictions == right.entry.restrictions
    };
    left.len() == right.len() && left.iter().zip(right).all(are_same)
}

fn add_prompts(
    entry: &Arc<Entry>,
    surface: &Surface,
    slugs: &Slugs<'_>,
    prompts: &mut BTreeMap<String, Shelved<Prompted>>,
) {
    let (capability, manifest) = (&entry.capability.name, &entry.capability.manifest);
    for prompt in manifest.prompts.iter().filter(|prompt| !entry.withdrawn.prompt(&prompt.name)) {
        let name = ToolName { capability: capability.clone(), tool: prompt.name.clone() };
        let Some(wire_name) = surface.name(&name, slugs) else {
            tracing::warn!(prompt = %name, "not listed: its name is none that clients take");
            continue;
        };
        let source = Source::Made { capability: capability.clone(), name: prompt.name.clone() };
        let item = Prompted { wire: wire_prompt(prompt, &wire_name), source };
        prompts.insert(wire_name, Shelved { item, entry: Arc::clone(entry) });
    }
    let Some(text) = manifest.prompt.as_deref().map(|text| clean_text(text, MAX_GUIDANCE)) else { return };
    let Some(name) = guidance_name(capability, surface, slugs).filter(|_| !text.is_empty()) else { return };
    let title = clean_line(&manifest.title, MAX_TITLE);
    let about = format!("How to use {title} (`{capability}`), in the words of its publisher.");
    let wire = Prompt::from_raw(name.clone(), Some(about), None).with_title(title.clone());
    let said = format!("{title} (`{capability}`) says:\n\n{text}");
    // A prompt that the manifest declares by the capability's own name comes before its guidance.
    let item = Prompted { wire, source: Source::Guidance(said) };
    prompts.entry(name).or_insert_with(|| Shelved { item, entry: Arc::clone(entry) });
}

/// The slug; with the publisher before it where several have the same.
fn guidance_name(capability: &CapabilityName, surface: &Surface, slugs: &Slugs<'_>) -> Option<String> {
    if let Surface::One(_) = surface {
        return Some(capability.slug.clone());
    }
    let probe = ToolName { capability: capability.clone(), tool: "a".to_owned() };
    // A name that had to be shortened is none.
    surface.name(&probe, slugs)?.strip_suffix("__a").map(str::to_owned)
}

fn wire_resource(resource: &manifest::Resource, uri: String) -> Resource {
    let mut wire = Resource::new(uri, clean_line(&resource.name, MAX_TITLE))
        .with_description(clean_text(&resource.description, MAX_DESCRIPTION));
    wire.title = title(resource.title.as_deref());
    wire.mime_type.clone_from(&resource.mime_type);
    wire
}

fn wire_template(template: &manifest::ResourceTemplate, uri_template: String) -> ResourceTemplate {
    let mut wire = ResourceTemplate::new(uri_template, clean_line(&template.name, MAX_TITLE))
        .with_description(clean_text(&template.description, MAX_DESCRIPTION));
    wire.title = title(template.title.as_deref());
    wire.mime_type.clone_from(&template.mime_type);
    wire
}

fn wire_prompt(prompt: &manifest::Prompt, wire_name: &str) -> Prompt {
    let arguments: Vec<PromptArgument> = prompt
        .arguments
        .iter()
        .map(|argument| {
            let mut wire = PromptArgument::new(argument.name.clone())
                .with_description(clean_text(&argument.description, MAX_DESCRIPTION))
                .with_required(argument.required);
            wire.title = title(argument.title.as_deref());
            wire
        })
        .collect();
    let arguments = (!arguments.is_empty()).then_some(arguments);
    let description = clean_text(&prompt.description, MAX_DESCRIPTION);
    let mut wire = Prompt::from_raw(wire_name, Some(description), arguments);
    wire.title = title(prompt.title.as_deref());
    wire
}

fn title(title: Option<&str>) -> Option<String> {
    title.map(|title| clean_line(title, MAX_TITLE)).filter(|title| !title.is_empty())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::tools::tests::snapshot;
    use super::*;
    use crate::policy::Grant;

    fn documents() -> Value {
        json!({
            "prompt": "Be brief.",
            "resources": [{ "uri": "note:all", "name": "all", "title": "All\u{200b}\nnotes", "description": "d\u{202e}" }],
            "resourceTemplates": [{
                "uriTemplate": "note:{id}", "name": "note", "description": "d", "mimeType": "text/markdown",
            }],
            "prompts": [{ "name": "sum_up", "description": "d", "arguments": [
                { "name": "topic", "description": "d", "required": true },
            ] }],
        })
    }

    fn bob() -> Identity {
        Identity::operator("bob")
    }

    fn names(shelf: &Shelf) -> Value {
        json!({
            "resources": shelf.resources(&bob()).iter().map(|one| one.uri.clone()).collect::<Vec<_>>(),
            "templates": shelf.templates(&bob()).iter().map(|one| one.uri_template.clone()).collect::<Vec<_>>(),
            "prompts": shelf.prompts(&bob()).iter().map(|one| one.name.clone()).collect::<Vec<_>>(),
        })
    }

    #[test]
    fn all_together_have_prefixes_and_one_alone_has_none() {
        let ungranted = json!({ "uses": ["http"], "prompt": "Be loud.", "resources": documents()["resources"] });
        let installs = [("acme/notes", documents(), &[][..]), ("acme/web", ungranted, &[])];
        let snapshot = snapshot(&installs);
        let joint = json!({
            "resources": ["remit://acme/notes/note:all"], "templates": ["remit://acme/notes/note:{id}"],
            "prompts": ["notes", "notes__sum_up"],
        });
        assert_eq!(names(&Shelf::of(&snapshot, &Surface::Joint)), joint);
        let one = json!({ "resources": ["note:all"], "templates": ["note:{id}"], "prompts": ["notes", "sum_up"] });
        let surface = |name: &str| Surface::One(name.parse().unwrap());
        assert_eq!(names(&Shelf::of(&snapshot, &surface("acme/notes"))), one);
        let none = json!({ "resources": [], "templates": [], "prompts": [] });
        assert_eq!(names(&Shelf::of(&snapshot, &surface("acme/web"))), none, "a namespace is not granted");
        assert_eq!(names(&Shelf::of(&snapshot, &surface("acme/other"))), none);
    }

    #[test]
    fn what_strangers_wrote_is_cleaned() {
        let shelf = Shelf::of(&snapshot(&[("acme/notes", documents(), &[][..])]), &Surface::Joint);
        let resource = serde_json::to_value(&shelf.resources(&bob())[0]).unwrap();
        assert_eq!((&resource["title"], &resource["description"]), (&json!("All notes"), &json!("d")));
        let prompt = serde_json::to_value(&shelf.prompt(&bob(), "notes__sum_up").unwrap().wire).unwrap();
        assert_eq!(prompt["arguments"], json!([{ "name": "topic", "description": "d", "required": true }]));
        let said = Source::Guidance("The notes (`acme/notes`) says:\n\nBe brief.".to_owned());
        assert_eq!(shelf.prompt(&bob(), "notes").unwrap().source, said);
        assert!(shelf.prompt(&bob(), "Notes").is_none() && shelf.prompt(&bob(), "sum_up").is_none());
    }

    #[test]
    fn a_shared_slug_names_its_publishers_and_a_declared_prompt_comes_first() {
        let guided = json!({ "prompt": "Be brief." });
        let none: &[Grant] = &[];
        let both = snapshot(&[("acme/notes", guided.clone(), none), ("zeta/notes", guided, none)]);
        let shelf = Shelf::of(&both, &Surface::Joint);
        assert_eq!(names(&shelf)["prompts"], json!(["acme_notes", "zeta_notes"]));
        let declared = json!({ "prompt": "g", "prompts": [{ "name": "notes", "description": "d" }] });
        let shelf =
            Shelf::of(&snapshot(&[("acme/notes", declared, none)]), &Surface::One("acme/notes".parse().unwrap()));
        assert!(matches!(shelf.prompt(&bob(), "notes").unwrap().source, Source::Made { .. }));
    }
}
