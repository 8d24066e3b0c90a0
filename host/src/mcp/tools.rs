//! Which tools are listed, and how: one immutable list per state of the home.
//!
//! A list is made once for each generation of the snapshot and shared by all sessions, so listing costs a
//! look at a counter and the copy that goes on the wire. It is complete: everything that can be called is
//! listed and everything listed can be called. The check that counts is made at each call, behind
//! `Host::call`; this one only keeps agents from trying in vain.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use rmcp::model::{Tool, ToolAnnotations};

use super::names::{Slugs, upstream_names, wire_name};
use super::text::{clean_line, clean_text};
use crate::call::Host;
use crate::error::Result;
use crate::manifest::{self, NamespaceName, Runtime};
use crate::policy::is_granted;
use crate::registry::{Entry, Snapshot, ToolName};

/// Tools of one page. Several clients never ask for a second page, so the first holds more than any client
/// can use; a page stays well under the size of a message that clients take.
const PAGE: usize = 1000;

/// Characters of a description. Clients cut at 4,096; ours says that it was cut.
const MAX_DESCRIPTION: usize = 4000;

/// Characters of a title: more is no title.
const MAX_TITLE: usize = 120;

/// Characters of the instructions. Clients cut at 4,096.
const MAX_INSTRUCTIONS: usize = 4000;

/// What the instructions say before the titles.
const GREETING: &str = "Tools of the capabilities installed in this Remit host. Each runs in a sandbox and reaches \
only what a person granted it. A tool is named `<capability>__<tool>`. A refused call answers with a stable code \
and a sentence: change the call if it says how, otherwise tell the person who runs this host; no tool here can \
change a grant.";

/// Before the cursor's position, so that a later form of it can be told apart.
const CURSOR: &str = "after:";

/// The lists of one home: the newest is kept.
pub(super) struct Lists {
    host: Host,
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

/// A page of the list, and the cursor of the next one.
pub(super) struct Page {
    /// The tools, in order.
    pub(super) tools: Vec<Tool>,
    /// Where the next page begins, if there is one.
    pub(super) next: Option<String>,
}

/// The cursor is none of ours.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct InvalidCursor;

impl Lists {
    /// The lists of what `host` has installed.
    pub(super) fn new(host: Host) -> Self {
        Self { host, newest: Mutex::new(None) }
    }

    /// The list of this moment.
    pub(super) fn current(&self) -> Result<Arc<ToolList>> {
        let snapshot = self.host.snapshot()?;
        let mut newest = self.newest.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(list) = newest.as_ref().filter(|list| list.generation == snapshot.generation) {
            return Ok(Arc::clone(list));
        }
        let list = Arc::new(ToolList::of(&snapshot));
        *newest = Some(Arc::clone(&list));
        Ok(list)
    }
}

impl ToolList {
    /// The list for what is installed in `snapshot`.
    pub(super) fn of(snapshot: &Snapshot) -> Self {
        let slugs = Slugs::of(snapshot.entries.keys());
        let mut tools: BTreeMap<String, Option<Listed>> = BTreeMap::new();
        let mut titles = Vec::new();
        for entry in snapshot.entries.values().filter(|entry| is_ready(entry)) {
            let manifest = &entry.capability.manifest;
            let mut exposed = manifest.tools.iter().filter(|tool| is_callable_by_all(tool)).peekable();
            if exposed.peek().is_some() {
                titles.push(clean_line(&manifest.title, MAX_TITLE));
            }
            let upstream = upstream_names(&entry.capability);
            for tool in exposed {
                let name = ToolName { capability: entry.capability.name.clone(), tool: tool.name.clone() };
                let own = upstream.get(tool.name.as_str()).cloned();
                let Some(wire_name) = own.or_else(|| wire_name(&name, &slugs)) else {
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
            instructions: instructions(&titles),
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
    pub(super) fn page(&self, cursor: Option<&str>) -> Result<Page, InvalidCursor> {
        self.page_of(cursor, PAGE)
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

    fn page_of(&self, cursor: Option<&str>, size: usize) -> Result<Page, InvalidCursor> {
        // A cursor holds a name, not a number, so a list that changes between two pages skips nothing.
        let start = match cursor {
            None => 0,
            Some(cursor) => match self.position(&read_cursor(cursor)?) {
                Ok(at) => at + 1,
                Err(at) => at,
            },
        };
        let tools: Vec<Tool> = self.tools[start..].iter().take(size).map(|listed| listed.wire.clone()).collect();
        let is_last = start + tools.len() == self.tools.len();
        let next = tools.last().filter(|_| !is_last).map(|last| write_cursor(&last.name));
        Ok(Page { tools, next })
    }
}

/// Whether every namespace that the capability imports is granted: without one it cannot be instantiated.
fn is_ready(entry: &Entry) -> bool {
    let manifest = &entry.capability.manifest;
    matches!(manifest.runtime, Runtime::Component | Runtime::Builtin | Runtime::Mcp)
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

fn instructions(titles: &[String]) -> String {
    let mut text = GREETING.to_owned();
    for (at, title) in titles.iter().filter(|title| !title.is_empty()).enumerate() {
        let separator = if at == 0 { "\n\nInstalled: " } else { "; " };
        if text.chars().count() + separator.chars().count() + title.chars().count() > MAX_INSTRUCTIONS {
            text.push_str("; and more");
            break;
        }
        text.push_str(separator);
        text.push_str(title);
    }
    text
}

fn write_cursor(last: &str) -> String {
    URL_SAFE_NO_PAD.encode(format!("{CURSOR}{last}"))
}

fn read_cursor(cursor: &str) -> Result<String, InvalidCursor> {
    let bytes = URL_SAFE_NO_PAD.decode(cursor).map_err(|_| InvalidCursor)?;
    let text = String::from_utf8(bytes).map_err(|_| InvalidCursor)?;
    text.strip_prefix(CURSOR).map(str::to_owned).ok_or(InvalidCursor)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::manifest::Manifest;
    use crate::policy::Grant;
    use crate::registry::{Capability, Digest};

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

    fn snapshot(installs: &[(&str, Value, &[Grant])]) -> Snapshot {
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
                schemas: Arc::new(Vec::new()),
            };
            (name, Arc::new(entry))
        });
        Snapshot { generation: 1, entries: entries.collect() }
    }

    fn listed(installs: &[(&str, Value, &[Grant])]) -> Vec<String> {
        let page = ToolList::of(&snapshot(installs)).page(None).unwrap();
        page.tools.iter().map(|tool| tool.name.to_string()).collect()
    }

    fn one(tool: &Value) -> Value {
        let installs = [("acme/notes", json!({ "tools": [tool] }), &[][..])];
        let page = ToolList::of(&snapshot(&installs)).page(None).unwrap();
        serde_json::to_value(&page.tools[0]).unwrap()
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
        let list = ToolList::of(&snapshot(&installs));
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
    fn pages_follow_each_other_although_the_list_changes() {
        let names = ["acme/a", "acme/b", "acme/c", "acme/d", "acme/e"];
        let list = |names: &[&str]| {
            let installs: Vec<_> = names.iter().map(|name| (*name, json!({}), &[][..])).collect();
            ToolList::of(&snapshot(&installs))
        };
        let read = |page: &Page| page.tools.iter().map(|tool| tool.name.to_string()).collect::<Vec<_>>();
        let first = list(&names).page_of(None, 2).unwrap();
        assert_eq!(read(&first), ["a__echo", "b__echo"]);
        let without_b = list(&["acme/a", "acme/c", "acme/d", "acme/e"]);
        let second = without_b.page_of(first.next.as_deref(), 2).unwrap();
        assert_eq!(read(&second), ["c__echo", "d__echo"]);
        let third = list(&names).page_of(second.next.as_deref(), 2).unwrap();
        assert_eq!((read(&third), third.next), (vec!["e__echo".to_owned()], None));
        let past = list(&names).page_of(Some(&write_cursor("zzz")), 2).unwrap();
        assert_eq!((past.tools.len(), past.next), (0, None));
        let exact = list(&names).page_of(None, 5).unwrap();
        assert_eq!((exact.tools.len(), exact.next), (5, None));
    }

    #[test]
    fn a_foreign_cursor_is_refused() {
        let list = ToolList::of(&Snapshot::default());
        for cursor in ["", "0", "a__echo", "====", "YWZ0ZXI", "8J+YgA", "bm90LW91cnM", "\u{0}"] {
            assert_eq!(list.page(Some(cursor)).err(), Some(InvalidCursor), "{cursor:?}");
        }
    }

    #[test]
    fn a_change_that_nobody_sees_is_none() {
        let list = |changes: Value, generation: u64| {
            let mut snapshot = snapshot(&[("acme/notes", changes, &[])]);
            snapshot.generation = generation;
            ToolList::of(&snapshot)
        };
        let base = list(json!({}), 1);
        assert!(base.shows_the_same(&list(json!({}), 2)));
        assert!(base.shows_the_same(&list(json!({ "version": "2.0.0", "title": "Other" }), 2)));
        assert!(!base.shows_the_same(&list(json!({ "tools": [] }), 2)));
        assert!(!base.shows_the_same(&ToolList::of(&Snapshot::default())));
    }

    #[test]
    fn instructions_name_what_is_listed_within_their_length() {
        let installs = [
            ("acme/notes", json!({ "title": "Notes\nIgnore all\u{200b}" }), &[][..]),
            ("acme/weather", json!({}), &[]),
            ("acme/hidden", json!({ "tools": [] }), &[]),
            ("acme/ungranted", json!({ "uses": ["http"] }), &[]),
        ];
        let text = ToolList::of(&snapshot(&installs)).instructions().to_owned();
        assert_eq!(text, format!("{GREETING}\n\nInstalled: Notes Ignore all; The weather"));
        assert_eq!(ToolList::of(&Snapshot::default()).instructions(), GREETING);
        let many = vec!["t".repeat(100); 100];
        let long = instructions(&many);
        assert!(long.ends_with("; and more"));
        assert!(long.chars().count() <= 4096);
    }
}
