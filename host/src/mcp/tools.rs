//! Which tools are listed, and how: one immutable list per surface and state of the home, from which each caller
//! sees its part.
//!
//! A list is made once for each generation of the snapshot and shared by all sessions, so listing costs a look at a
//! counter, a question to policy for each tool, and the copy that goes on the wire. The check that counts is made at
//! each call, behind `Host::call`; this one only keeps agents from trying in vain.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use rmcp::model::{Tool, ToolAnnotations};

use super::compact::Shape;
use super::instructions::{About, instructions};
use super::names::{Slugs, upstream_names};
use super::pages::{self, InvalidCursor, Page};
use super::text::{clean_line, clean_text};
use super::{Surface, arguments};
use crate::call::Host;
use crate::error::Result;
use crate::manifest::{self, NamespaceName};
use crate::policy::{Caller, Directory, Identity, is_published, is_shown, needs_word};
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

/// All tools that some agent may call, in the order of their names.
pub(super) struct ToolList {
    generation: u64,
    surface: Surface,
    tools: Vec<Listed>,
    /// Where each is, by the name that people know it by.
    names: HashMap<String, usize>,
    /// What agents may hear of, in the order of names.
    shown: Vec<Arc<Entry>>,
    /// Who is who.
    directory: Arc<Directory>,
}

struct Listed {
    wire: Tool,
    name: ToolName,
    entry: Arc<Entry>,
    /// Where the tool is in the entry's manifest.
    position: usize,
}

impl Lists {
    /// The lists of what `host` has installed, as `surface` shows it.
    pub(super) fn new(host: Host, surface: Surface) -> Self {
        Self { host, surface, newest: Mutex::new(None) }
    }

    /// The list that was made last: of this moment, or of one before it.
    pub(super) fn latest(&self) -> Option<Arc<ToolList>> {
        self.newest.lock().unwrap_or_else(PoisonError::into_inner).clone()
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
        let mut shown = Vec::new();
        let here = snapshot.entries.values().filter(|entry| surface.shows(&entry.capability.name));
        // A revoked one is listed for nobody, and a call that names it is answered with why.
        for entry in here.filter(|entry| entry.is_complete()) {
            let manifest = &entry.capability.manifest;
            let offered = |(_, tool): &(usize, &manifest::Tool)| {
                is_published(tool, &entry.restrictions) && !entry.withdrawn.tool(&tool.name)
            };
            let upstream = upstream_names(&entry.capability);
            for (position, tool) in manifest.tools.iter().enumerate().filter(offered) {
                let name = ToolName { capability: entry.capability.name.clone(), tool: tool.name.clone() };
                let own = upstream.get(tool.name.as_str()).cloned();
                let Some(wire_name) = own.or_else(|| surface.name(&name, &slugs)) else {
                    tracing::warn!(tool = %name, "not listed: its name is none that clients take");
                    continue;
                };
                let mut wire = wire_tool(&wire_name, tool, &name, manifest.uses.contains(&NamespaceName::Http));
                if !tool.read_only {
                    arguments::add(Arc::make_mut(&mut wire.input_schema), needs_word(tool, &entry.restrictions));
                }
                // Two tools can only meet in one name if a digest collides. Neither may answer for the other.
                tools
                    .entry(wire_name)
                    .and_modify(|taken| *taken = None)
                    .or_insert_with(|| Some(Listed { wire, name, entry: Arc::clone(entry), position }));
            }
            if entry.is_ready() {
                shown.push(Arc::clone(entry));
            }
        }
        let tools: Vec<Listed> = tools.into_values().flatten().collect();
        let names = tools.iter().enumerate().map(|(at, listed)| (listed.name.to_string(), at)).collect();
        Self {
            generation: snapshot.generation,
            surface: surface.clone(),
            tools,
            names,
            shown,
            directory: Arc::clone(&snapshot.directory),
        }
    }

    /// The tool of this wire name, and whose it is.
    pub(super) fn find(&self, wire_name: &str) -> Option<(&ToolName, &Arc<Entry>)> {
        self.position(wire_name).ok().map(|at| (&self.tools[at].name, &self.tools[at].entry))
    }

    /// The wire name of a tool: of its id as `search` gives it, of its name, or of its wire name.
    pub(super) fn wire_name(&self, id: &str) -> Option<&str> {
        let name = id.strip_prefix("tool:").unwrap_or(id);
        let at = self.names.get(name).copied().or_else(|| self.position(name).ok())?;
        Some(&self.tools[at].wire.name)
    }

    /// How many a caller may call.
    pub(super) fn count(&self, identity: &Identity) -> usize {
        let caller = Caller::of(identity, &self.directory);
        self.tools.iter().filter(|listed| listed.is_for(&caller)).count()
    }

    /// Those of these wire names that a caller may call.
    pub(super) fn chosen(&self, identity: &Identity, names: &[String]) -> Vec<Tool> {
        let caller = Caller::of(identity, &self.directory);
        let found = names.iter().filter_map(|name| self.position(name).ok());
        found
            .map(|at| &self.tools[at])
            .filter(|listed| listed.is_for(&caller))
            .map(|listed| listed.wire.clone())
            .collect()
    }

    /// How the tool of this wire name is listed.
    pub(super) fn wire(&self, wire_name: &str) -> Option<&Tool> {
        self.position(wire_name).ok().map(|at| &self.tools[at].wire)
    }

    /// The page of what `identity` may call that a cursor names; without one, the first.
    pub(super) fn page(&self, identity: &Identity, cursor: Option<&str>) -> Result<Page<Tool>, InvalidCursor> {
        let caller = Caller::of(identity, &self.directory);
        let seen: Vec<&Listed> = self.tools.iter().filter(|listed| listed.is_for(&caller)).collect();
        pages::page(&seen, |listed| &listed.wire.name, |listed| listed.wire.clone(), cursor, pages::PAGE)
    }

    /// What an agent is told before its first call: of what it may use.
    pub(super) fn instructions(&self, identity: &Identity, shape: Shape, domains: &[(String, String)]) -> String {
        let caller = Caller::of(identity, &self.directory);
        let callable = self.tools.iter().filter(|listed| listed.is_for(&caller));
        let callable: BTreeSet<_> = callable.map(|listed| &listed.name.capability).collect();
        let abouts = self.shown.iter().filter_map(|entry| {
            let (name, manifest) = (&entry.capability.name, &entry.capability.manifest);
            let has_tools = callable.contains(name);
            let is_heard = has_tools || is_shown(&entry.restrictions) && caller.may_use(&entry.restrictions);
            is_heard.then(|| About::new(name, manifest, has_tools))
        });
        instructions(&self.surface, shape, &abouts.collect::<Vec<_>>(), domains)
    }

    /// Whether every agent would see the same tools.
    pub(super) fn shows_the_same(&self, other: &Self) -> bool {
        self.tools.len() == other.tools.len()
            && self.directory == other.directory
            && self.tools.iter().zip(&other.tools).all(|(left, right)| left.shows_the_same(right))
    }

    fn position(&self, wire_name: &str) -> Result<usize, usize> {
        self.tools.binary_search_by(|listed| listed.wire.name.as_ref().cmp(wire_name))
    }
}

impl Listed {
    fn tool(&self) -> &manifest::Tool {
        &self.entry.capability.manifest.tools[self.position]
    }

    fn is_for(&self, caller: &Caller<'_>) -> bool {
        self.entry.is_ready() && caller.may(self.tool(), &self.entry.restrictions)
    }

    fn shows_the_same(&self, other: &Self) -> bool {
        let asks = |listed: &Self| {
            let tool = listed.tool();
            (tool.required_role.clone(), tool.required_permission.clone(), tool.feature_flag.clone())
        };
        self.wire == other.wire
            && asks(self) == asks(other)
            && self.entry.restrictions == other.entry.restrictions
            && self.entry.is_ready() == other.entry.is_ready()
    }
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
    use crate::policy::{Grant, Principal, Restriction};
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

    /// `ada` is an admin, `bob` has nothing.
    fn directory() -> Arc<Directory> {
        let ada = Principal { roles: ["admin".to_owned()].into(), ..Principal::default() };
        let principals = [("ada".to_owned(), ada), ("bob".to_owned(), Principal::default())];
        Arc::new(Directory { principals: principals.into(), ..Directory::default() })
    }

    fn bob() -> Identity {
        Identity::stored("bob")
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
                recall: None,
                origin: None,
                schemas: Arc::new(Vec::new()),
            };
            (name, Arc::new(entry))
        });
        Snapshot { generation: 1, entries: entries.collect(), directory: directory(), ..Snapshot::default() }
    }

    fn listed(installs: &[(&str, Value, &[Grant])]) -> Vec<String> {
        let page = ToolList::of(&snapshot(installs), &Surface::Joint).page(&bob(), None).unwrap();
        page.items.iter().map(|tool| tool.name.to_string()).collect()
    }

    fn one(tool: &Value) -> Value {
        let installs = [("acme/notes", json!({ "tools": [tool] }), &[][..])];
        let page = ToolList::of(&snapshot(&installs), &Surface::Joint).page(&bob(), None).unwrap();
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
        let cases: [(Value, &[Grant], bool); 14] = [
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
            (json!({ "runtime": "codemode" }), &[], true),
            (json!({ "runtime": "engine" }), &[], false),
            (json!({ "runtime": "openapi" }), &[], false),
        ];
        for (changes, grants, expected) in cases {
            let names = listed(&[("acme/notes", changes.clone(), grants)]);
            assert_eq!(!names.is_empty(), expected, "{changes} {grants:?}");
        }
    }

    #[test]
    fn each_caller_sees_what_it_may_call() {
        let tool = |name: &str, more: Value| {
            let mut tool = json!({ "name": name, "description": "d", "inputSchema": schema(), "expose": true });
            for (key, value) in more.as_object().unwrap() {
                tool[key] = value.clone();
            }
            tool
        };
        let admins = json!({ "requiredRole": "admin" });
        let open = json!({ "title": "Open", "tools": [
            tool("all", json!({})), tool("admins", admins.clone()), tool("none", json!({ "requiredRole": "boss" })),
        ] });
        let closed = json!({ "title": "Closed", "tools": [tool("admins", admins)] });
        let installs = [("acme/open", open, &[][..]), ("acme/closed", closed, &[])];
        let list = ToolList::of(&snapshot(&installs), &Surface::Joint);
        let cases: [(Identity, &[&str], &str); 4] = [
            (Identity::stored("ada"), &["closed__admins", "open__admins", "open__all"], "Installed: Closed; Open"),
            (bob(), &["open__all"], "Installed: Open"),
            (Identity::stored("eve"), &[], "change a grant."),
            (
                Identity::operator("cli"),
                &["closed__admins", "open__admins", "open__all", "open__none"],
                "Closed; Open",
            ),
        ];
        for (identity, expected, end) in cases {
            let page = list.page(&identity, None).unwrap();
            let names: Vec<&str> = page.items.iter().map(|tool| tool.name.as_ref()).collect();
            assert_eq!(names, expected, "{identity:?}");
            assert_eq!(page.next, None, "a page does not tell of what is hidden behind it");
            let instructions = list.instructions(&identity, Shape::Direct, &[]);
            assert!(instructions.ends_with(end), "{identity:?}: {instructions}");
        }
        assert!(list.find("open__none").is_some(), "calling it is refused behind the door, with a record");
    }

    #[test]
    fn what_an_installer_hides_is_not_there() {
        let mut snapshot = snapshot(&[("acme/notes", json!({}), &[])]);
        let hide = |tool: Option<&str>, snapshot: &mut Snapshot| {
            let entries = std::mem::take(&mut snapshot.entries).into_iter().map(|(name, entry)| {
                let hidden = Restriction { tool: tool.map(str::to_owned), hidden: true, ..Restriction::default() };
                (name, Arc::new(Entry { restrictions: vec![hidden], ..Arc::into_inner(entry).unwrap() }))
            });
            snapshot.entries = entries.collect();
            ToolList::of(snapshot, &Surface::Joint).find("notes__echo").is_some()
        };
        assert!(hide(Some("other"), &mut snapshot));
        assert!(!hide(Some("echo"), &mut snapshot));
        assert!(!hide(None, &mut snapshot));
    }

    #[test]
    fn the_list_is_sorted_and_slugs_in_conflict_name_their_publishers() {
        let installs =
            [("zeta/notes", json!({}), &[][..]), ("acme/weather", json!({}), &[]), ("acme/notes", json!({}), &[])];
        assert_eq!(listed(&installs), ["acme_notes__echo", "weather__echo", "zeta_notes__echo"]);
        let list = ToolList::of(&snapshot(&installs), &Surface::Joint);
        assert_eq!(list.find("zeta_notes__echo").unwrap().0.to_string(), "zeta/notes.echo");
        assert!(list.find("notes__echo").is_none());
        assert!(list.find("WEATHER__echo").is_none());
        assert!(list.find("").is_none());
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
        let properties = tool["inputSchema"]["properties"].as_object().unwrap();
        assert_eq!(properties.keys().collect::<Vec<_>>(), ["z", "a", "dry_run", "confirmation_token"]);
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
        assert_eq!(ToolList::of(&snapshot, &one).find("echo").unwrap().0.to_string(), "acme/notes.echo");
        assert!(ToolList::of(&snapshot, &one).find("acme_notes__echo").is_none());
        let other = Surface::One("acme/other".parse().unwrap());
        assert!(ToolList::of(&snapshot, &other).page(&bob(), None).unwrap().items.is_empty());
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
        // What one agent sees is other than before, although the tools are the same.
        let role = json!({ "tools": [{ "name": "echo", "description": "Says it again.", "inputSchema": schema(),
            "expose": true, "requiredRole": "admin" }] });
        assert!(!base.shows_the_same(&list(role, 2)));
        let mut others = snapshot(&[("acme/notes", json!({}), &[])]);
        others.directory = Arc::default();
        assert!(!base.shows_the_same(&ToolList::of(&others, &Surface::Joint)));
    }
}
