//! Which tools are listed, and how: one immutable list per state of the home.
//!
//! A list is made once for each generation of the snapshot and shared by all sessions, so listing costs a
//! look at a counter and the copy that goes on the wire. It is complete: everything that can be called is
//! listed and everything listed can be called. The check that counts is made at each call, behind
//! `Host::call`; this one only keeps agents from trying in vain.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use rmcp::model::{Tool, ToolAnnotations};

use super::Surface;
use super::instructions::{About, instructions};
use super::names::Slugs;
use super::pages::{self, InvalidCursor, Page};
use super::text::{clean_line, clean_text};
use crate::call::Host;
use crate::error::Result;
use crate::manifest::{self, NamespaceName, Runtime};
use crate::policy::is_granted;
use crate::registry::{Entry, Snapshot, ToolName};

/// Characters of a description. Clients cut at 4,096; ours says that it was cut.
const MAX_DESCRIPTION: usize = 4000;

/// Characters of a title: more is no title.
const MAX_TITLE: usize = 120;

/// The lists of one surface: the newest is kept.
pub(super) struct Lists {
    host: Host,
    surface: Surface,
    newest: Mutex<Option<Arc<ToolList>>>,
}

/// All tools that agents may call, in the order of their names.
pub(super) struct ToolList {
    generation: u64,
    tools: Vec<Listed>,
    instructions: String,
}

struct Listed {
    wire: Tool,
    name: ToolName,
}

impl Lists {
    /// The lists of what `host` has installed, as `surface` shows it.
    pub(super) fn new(host: Host, surface: Surface) -> Self {
        Self { host, surface, newest: Mutex::new(None) }
    }

    /// The list of this moment.
    pub(super) fn current(&self) -> Result<Arc<ToolList>> {
        let snapshot = self.host.snapshot()?;
        let mut newest = self.newest.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(list) = newest.as_ref().filter(|list| list.generation == snapshot.generation) {
            return Ok(Arc::clone(list));
        }
        let list = Arc::new(ToolList::of(&snapshot, &self.surface));
        *newest = Some(Arc::clone(&list));
        Ok(list)
    }
}

impl ToolList {
    /// The list for what is installed in `snapshot`.
    pub(super) fn of(snapshot: &Snapshot, surface: &Surface) -> Self {
        let slugs = Slugs::of(snapshot.entries.keys());
        let mut tools: BTreeMap<String, Option<Listed>> = BTreeMap::new();
        let mut abouts = Vec::new();
        let shown = snapshot.entries.values().filter(|entry| surface.shows(&entry.capability.name));
        for entry in shown.filter(|entry| is_ready(entry)) {
            let manifest = &entry.capability.manifest;
            let offered = |tool: &&manifest::Tool| is_callable_by_all(tool) && !entry.withdrawn.tool(&tool.name);
            let mut exposed = manifest.tools.iter().filter(offered).peekable();
            abouts.push(About::new(&entry.capability.name, manifest, exposed.peek().is_some()));
            for tool in exposed {
                let name = ToolName { capability: entry.capability.name.clone(), tool: tool.name.clone() };
                let Some(wire_name) = surface.name(&name, &slugs) else {
                    tracing::warn!(tool = %name, "not listed: its name is none that clients take");
                    continue;
                };
                let wire = wire_tool(&wire_name, tool, &name, manifest.uses.contains(&NamespaceName::Http));
                // Two tools can only meet in one name if a digest collides. Neither may answer for the other.
                tools.entry(wire_name).and_modify(|taken| *taken = None).or_insert(Some(Listed { wire, name }));
            }
        }
        Self {
            generation: snapshot.generation,
            tools: tools.into_values().flatten().collect(),
            instructions: instructions(surface, &abouts),
        }
    }

    /// The tool of this wire name.
    pub(super) fn find(&self, wire_name: &str) -> Option<&ToolName> {
        self.position(wire_name).ok().map(|at| &self.tools[at].name)
    }

    /// How the tool of this wire name is listed.
    pub(super) fn wire(&self, wire_name: &str) -> Option<&Tool> {
        self.position(wire_name).ok().map(|at| &self.tools[at].wire)
    }

    /// The page that a cursor names; without one, the first.
    pub(super) fn page(&self, cursor: Option<&str>) -> Result<Page<Tool>, InvalidCursor> {
        pages::page(&self.tools, |listed| &listed.wire.name, |listed| listed.wire.clone(), cursor, pages::PAGE)
    }

    /// What an agent is told before its first call.
    pub(super) fn instructions(&self) -> &str {
        &self.instructions
    }

    /// Whether an agent would see the same tools.
    pub(super) fn shows_the_same(&self, other: &Self) -> bool {
        self.tools.len() == other.tools.len()
            && self.tools.iter().zip(&other.tools).all(|(left, right)| left.wire == right.wire)
    }

    fn position(&self, wire_name: &str) -> Result<usize, usize> {
        self.tools.binary_search_by(|listed| listed.wire.name.as_ref().cmp(wire_name))
    }
}

/// Whether every namespace that the capability imports is granted: without one it cannot be instantiated.
pub(super) fn is_ready(entry: &Entry) -> bool {
    let manifest = &entry.capability.manifest;
    matches!(manifest.runtime, Runtime::Component | Runtime::Builtin)
        && manifest.uses.iter().all(|&namespace| is_granted(namespace, &entry.grants))
}

/// Whether a tool is published, and to everyone. Roles, permissions and flags narrow the list per principal
/// once there are any; until then a tool that asks for one is nobody's.
fn is_callable_by_all(tool: &manifest::Tool) -> bool {
    tool.expose
        && tool.required_role.is_none()
        && tool.required_permission.is_none()
        && tool.feature_flag.is_none()
}

fn wire_tool(wire_name: &str, tool: &manifest::Tool, name: &ToolName, uses_http: bool) -> Tool {
    let title = tool.title.as_deref().map(|title| clean_line(title, MAX_TITLE)).filter(|title| !title.is_empty());
    let description = Some(clean_text(&tool.description, MAX_DESCRIPTION))
        .filter(|description| !description.is_empty())
        .or_else(|| title.clone())
        .unwrap_or_else(|| format!("The tool `{name}`."));
    let annotations = ToolAnnotations::new()
        .read_only(tool.read_only)
        .destructive(tool.is_destructive())
        .idempotent(tool.idempotent)
        .open_world(tool.open_world.unwrap_or(uses_http));
    let mut wire =
        Tool::new(wire_name.to_owned(), description, tool.input_schema.clone()).with_annotations(annotations);
    wire.title = title;
    wire.output_schema = tool.output_schema.clone().map(Arc::new);
    wire
}

#[cfg(test)]
pub(super) mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::manifest::Manifest;
    use crate::policy::Grant;
    use crate::registry::{Capability, CapabilityName, Digest, Item, Withdrawn};

    fn manifest(name: &str, changes: &Value) -> Manifest {
        let (publisher, slug) = name.split_once('/').unwrap();
        let mut manifest = json!({
            "publisher": publisher, "slug": slug, "version": "1.0.0", "title": format!("The {slug}"),
            "description": "d",
            "tools": [{ "name": "echo", "description": "Says it again.", "inputSchema": schema(), "expose": true }],
        });
        for (key, value) in changes.as_object().unwrap() {
            manifest[key] = value.clone();
        }
        serde_json::from_value(manifest).unwrap()
    }

    fn schema() -> Value {
        json!({ "type": "object", "properties": { "z": { "type": "string" }, "a": {} }, "additionalProperties": false })
    }

    pub(in crate::mcp) fn snapshot(installs: &[(&str, Value, &[Grant])]) -> Snapshot {
        let entries = installs.iter().map(|(name, changes, grants)| {
            let name = name.parse::<crate::registry::CapabilityName>().unwrap();
            let capability = Capability {
                manifest: manifest(&name.to_string(), changes),
                name: name.clone(),
                digest: Digest::of(b""),
                installed_at: 0,
                size: 0,
            };
            let entry = Entry {
                capability: Arc::new(capability),
                grants: grants.to_vec(),
                approvals: Vec::new(),
                restrictions: Vec::new(),
                withdrawn: Withdrawn::default(),
                schemas: Arc::new(Vec::new()),
            };
            (name, Arc::new(entry))
        });
        Snapshot { generation: 1, entries: entries.collect() }
    }

    fn listed(installs: &[(&str, Value, &[Grant])]) -> Vec<String> {
        let page = ToolList::of(&snapshot(installs), &Surface::Joint).page(None).unwrap();
        page.items.iter().map(|tool| tool.name.to_string()).collect()
    }

    fn one(tool: &Value) -> Value {
        let installs = [("acme/notes", json!({ "tools": [tool] }), &[][..])];
        let page = ToolList::of(&snapshot(&installs), &Surface::Joint).page(None).unwrap();
        serde_json::to_value(&page.items[0]).unwrap()
    }

    #[test]
    fn a_tool_is_listed_when_exposed_granted_and_for_everyone() {
        let tool = |changes: Value| {
            let mut tool = json!({ "name": "echo", "description": "d", "inputSchema": schema(), "expose": true });
            for (key, value) in changes.as_object().unwrap() {
                tool[key] = value.clone();
            }
            json!({ "tools": [tool] })
        };
        let http = Grant { namespace: NamespaceName::Http, entry: None };
        let host = Grant { namespace: NamespaceName::Http, entry: Some("api.example.com".to_owned()) };
        let entities = Grant { namespace: NamespaceName::Entities, entry: None };
        let both = [http.clone(), entities];
        let cases: [(Value, &[Grant], bool); 12] = [
            (json!({}), &[], true),
            (tool(json!({ "expose": false })), &[], false),
            (tool(json!({ "requiredRole": "admin" })), &[], false),
            (tool(json!({ "requiredPermission": "a:b" })), &[], false),
            (tool(json!({ "featureFlag": "beta" })), &[], false),
            (json!({ "uses": ["log"] }), &[], true),
            (json!({ "uses": ["http"] }), &[], false),
            (json!({ "uses": ["http"] }), std::slice::from_ref(&host), false),
            (json!({ "uses": ["http"] }), std::slice::from_ref(&http), true),
            (json!({ "uses": ["http", "entities"] }), std::slice::from_ref(&http), false),
            (json!({ "uses": ["http", "entities", "log"] }), &both, true),
            (json!({ "runtime": "codemode" }), &[], false),
        ];
        for (changes, grants, expected) in cases {
            let names = listed(&[("acme/notes", changes.clone(), grants)]);
            assert_eq!(!names.is_empty(), expected, "{changes} {grants:?}");
        }
    }

    #[test]
    fn the_list_is_sorted_and_slugs_in_conflict_name_their_publishers() {
        let installs =
            [("zeta/notes", json!({}), &[][..]), ("acme/weather", json!({}), &[]), ("acme/notes", json!({}), &[])];
        assert_eq!(listed(&installs), ["acme_notes__echo", "weather__echo", "zeta_notes__echo"]);
        let list = ToolList::of(&snapshot(&installs), &Surface::Joint);
        assert_eq!(list.find("zeta_notes__echo").unwrap().to_string(), "zeta/notes.echo");
        assert_eq!(list.find("notes__echo"), None);
        assert_eq!(list.find("WEATHER__echo"), None);
        assert_eq!(list.find(""), None);
    }

    #[test]
    fn an_install_without_grants_still_holds_its_slug() {
        let installs = [("zeta/notes", json!({ "uses": ["http"] }), &[][..]), ("acme/notes", json!({}), &[])];
        assert_eq!(listed(&installs), ["acme_notes__echo"]);
    }

    #[test]
    fn the_wire_form_is_the_manifests() {
        let tool = one(&json!({
            "name": "echo", "title": "Echo\u{200b}\nit", "description": "Says\u{202e} it.\nTwice.", "expose": true,
            "inputSchema": schema(), "outputSchema": { "type": "object" }, "readOnly": true, "idempotent": true,
        }));
        let expected = json!({
            "name": "notes__echo", "title": "Echo it", "description": "Says it.\nTwice.",
            "inputSchema": schema(), "outputSchema": { "type": "object" },
            "annotations": {
                "readOnlyHint": true, "destructiveHint": false, "idempotentHint": true, "openWorldHint": false,
            },
        });
        assert_eq!(tool.to_string(), expected.to_string(), "also in this order of keys");
    }

    #[test]
    fn what_a_tool_does_not_say_is_assumed() {
        let tool = one(&json!({ "name": "echo", "description": "d", "inputSchema": schema(), "expose": true }));
        let hints = json!({
            "readOnlyHint": false, "destructiveHint": true, "idempotentHint": false, "openWorldHint": false,
        });
        assert_eq!(tool["annotations"], hints);
        assert_eq!(tool.get("title"), None);
        assert_eq!(tool.get("outputSchema"), None);
    }

    #[test]
    fn a_description_is_never_empty_and_never_endless() {
        let describe = |title: Value, description: &str| {
            let mut tool =
                json!({ "name": "echo", "description": description, "inputSchema": schema(), "expose": true });
            tool["title"] = title;
            one(&tool)["description"].as_str().unwrap().to_owned()
        };
        assert_eq!(describe(Value::Null, ""), "The tool `acme/notes.echo`.");
        assert_eq!(describe(json!("Echo"), " \u{200b} "), "Echo");
        assert_eq!(describe(json!(""), "\n"), "The tool `acme/notes.echo`.");
        let long = describe(Value::Null, &"é".repeat(10_000));
        assert_eq!(long.chars().count(), MAX_DESCRIPTION);
        assert!(long.ends_with("… [cut]"));
    }

    #[test]
    fn one_alone_has_its_own_names_and_what_is_withdrawn_is_not_listed() {
        let mut snapshot = snapshot(&[("acme/notes", json!({}), &[][..]), ("zeta/notes", json!({}), &[])]);
        let one = Surface::One("acme/notes".parse().unwrap());
        assert_eq!(ToolList::of(&snapshot, &one).find("echo").unwrap().to_string(), "acme/notes.echo");
        assert!(ToolList::of(&snapshot, &one).find("acme_notes__echo").is_none());
        let other = Surface::One("acme/other".parse().unwrap());
        assert!(ToolList::of(&snapshot, &other).page(None).unwrap().items.is_empty());
        let name = "acme/notes".parse::<CapabilityName>().unwrap();
        let entry = Arc::into_inner(snapshot.entries.remove(&name).unwrap()).unwrap();
        let withdrawn = [Item::Tool("echo".to_owned())].into_iter().collect();
        snapshot.entries.insert(name, Arc::new(Entry { withdrawn, ..entry }));
        assert!(ToolList::of(&snapshot, &one).find("echo").is_none());
        assert!(ToolList::of(&snapshot, &Surface::Joint).find("zeta_notes__echo").is_some());
    }

    #[test]
    fn a_change_that_nobody_sees_is_none() {
        let list = |changes: Value, generation: u64| {
            let mut snapshot = snapshot(&[("acme/notes", changes, &[])]);
            snapshot.generation = generation;
            ToolList::of(&snapshot, &Surface::Joint)
        };
        let base = list(json!({}), 1);
        assert!(base.shows_the_same(&list(json!({}), 2)));
        assert!(base.shows_the_same(&list(json!({ "version": "2.0.0", "title": "Other" }), 2)));
        assert!(!base.shows_the_same(&list(json!({ "tools": [] }), 2)));
        assert!(!base.shows_the_same(&ToolList::of(&Snapshot::default(), &Surface::Joint)));
    }
}
