//! How a program names what it may call: `remit.<slug>.<tool>`, and `remit.mcp["server"].<tool>`.
//!
//! A name depends on what is installed, never on who asks. A slug's `-` is `_` in a program. Where several publishers
//! have a slug, each of them is `<publisher>__<slug>` and none has the short name, so that a newcomer takes over no
//! name that a program was written for. Slugs hold no underscores, so different capabilities have different names.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use crate::policy::{self, Caller, Identity};
use crate::registry::{CapabilityName, Entry, Snapshot, ToolName, UPSTREAM};

/// What a program can name, for one caller at one moment.
pub(crate) struct Names {
    snapshot: Arc<Snapshot>,
    caller: Identity,
    /// The capabilities of publishers by their names in a program. Made when the first is asked for.
    capabilities: OnceLock<BTreeMap<String, CapabilityName>>,
}

/// One name at a place.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Named {
    pub(crate) name: String,
    /// A tool, and no place with more names.
    pub(crate) is_tool: bool,
}

impl Names {
    /// Of what `caller` may call in `snapshot`.
    pub(crate) fn of(snapshot: Arc<Snapshot>, caller: Identity) -> Self {
        Self { snapshot, caller, capabilities: OnceLock::new() }
    }

    /// The names at a place, in their order.
    pub(crate) fn list(&self, path: &[String]) -> Vec<Named> {
        let place = |name: &String| Named { name: name.clone(), is_tool: false };
        match path {
            [] => {
                let capabilities = self.capabilities().iter();
                let mut names: Vec<_> = capabilities
                    .filter(|(_, capability)| self.has_tools(capability))
                    .map(|(name, _)| place(name))
                    .collect();
                if self.servers().next().is_some() {
                    names.push(place(&UPSTREAM.to_owned()));
                }
                names
            }
            [mcp] if mcp == UPSTREAM => self.servers().map(|entry| place(&entry.capability.name.slug)).collect(),
            _ => match self.capability(path) {
                Some(name) => self.tools(&name),
                None => Vec::new(),
            },
        }
    }

    /// The tool at a path, when the caller may call it.
    pub(crate) fn tool(&self, path: &[String]) -> Option<ToolName> {
        let (tool, place) = path.split_last()?;
        let capability = self.capability(place)?;
        let entry = self.snapshot.entries.get(&capability)?;
        let is_there = self.offered(entry).any(|name| name == tool);
        is_there.then(|| ToolName { capability, tool: tool.clone() })
    }

    fn tools(&self, name: &CapabilityName) -> Vec<Named> {
        let Some(entry) = self.snapshot.entries.get(name) else { return Vec::new() };
        let mut names: Vec<_> =
            self.offered(entry).map(|name| Named { name: name.to_owned(), is_tool: true }).collect();
        names.sort_by(|left, right| left.name.cmp(&right.name));
        names
    }

    fn servers(&self) -> impl Iterator<Item = &Arc<Entry>> {
        let entries = self.snapshot.entries.values();
        entries.filter(|entry| entry.capability.name.is_upstream() && self.offered(entry).next().is_some())
    }

    fn has_tools(&self, name: &CapabilityName) -> bool {
        self.snapshot.entries.get(name).is_some_and(|entry| self.offered(entry).next().is_some())
    }

    /// What of a capability its caller may call now. The check that counts is made at each call.
    fn offered<'a>(&'a self, entry: &'a Entry) -> impl Iterator<Item = &'a str> {
        let caller = Caller::of(&self.caller, &self.snapshot.directory);
        let tools = entry.capability.manifest.tools.iter().filter(move |tool| {
            entry.is_ready()
                && policy::is_published(tool, &entry.restrictions)
                && !entry.withdrawn.tool(&tool.name)
                && caller.may(tool, &entry.restrictions)
        });
        tools.map(|tool| tool.name.as_str())
    }

    fn capability(&self, place: &[String]) -> Option<CapabilityName> {
        match place {
            [name] => self.capabilities().get(name).cloned(),
            [mcp, server] if mcp == UPSTREAM => Some(CapabilityName::of_upstream(server)),
            _ => None,
        }
    }

    fn capabilities(&self) -> &BTreeMap<String, CapabilityName> {
        self.capabilities.get_or_init(|| names_of(self.snapshot.entries.keys()))
    }
}

/// The capabilities of publishers by their names in a program.
fn names_of<'a>(installed: impl Iterator<Item = &'a CapabilityName> + Clone) -> BTreeMap<String, CapabilityName> {
    let own = installed.filter(|name| !name.is_upstream());
    let mut publishers: BTreeMap<&str, usize> = BTreeMap::new();
    for name in own.clone() {
        *publishers.entry(&name.slug).or_insert(0) += 1;
    }
    let name_of = |name: &CapabilityName| {
        let is_plain = publishers.get(name.slug.as_str()) == Some(&1) && name.slug != UPSTREAM;
        let full = if is_plain { name.slug.clone() } else { format!("{}__{}", name.publisher, name.slug) };
        full.replace('-', "_")
    };
    own.map(|name| (name_of(name), name.clone())).collect()
}

/// How tools are written in a program, for whoever tells an agent of them.
pub struct Spelling(BTreeMap<CapabilityName, String>);

impl Spelling {
    /// Of all that is installed.
    #[must_use]
    pub fn of(snapshot: &Snapshot) -> Self {
        Self(names_of(snapshot.entries.keys()).into_iter().map(|(name, of)| (of, name)).collect())
    }

    /// The function that calls a tool, such as `remit.weather.get_forecast`; nothing for what is not installed.
    #[must_use]
    pub fn function(&self, tool: &ToolName) -> Option<String> {
        let place = if tool.capability.is_upstream() {
            format!("{UPSTREAM}[{}]", serde_json::Value::from(tool.capability.slug.as_str()))
        } else {
            self.0.get(&tool.capability)?.clone()
        };
        let is_word = |character: char| character.is_ascii_alphanumeric() || character == '_';
        let is_identifier = tool.tool.chars().all(is_word) && !tool.tool.starts_with(|c: char| c.is_ascii_digit());
        Some(match is_identifier {
            true => format!("remit.{place}.{}", tool.tool),
            false => format!("remit.{place}[{}]", serde_json::Value::from(tool.tool.as_str())),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_the_slug_and_of_a_shared_slug_nobody_has_it() {
        let names = |installed: &[&str]| {
            let installed: Vec<CapabilityName> = installed.iter().map(|name| name.parse().unwrap()).collect();
            let names = names_of(installed.iter());
            names.into_iter().map(|(name, of)| format!("{name} {of}")).collect::<Vec<_>>()
        };
        assert_eq!(names(&["acme/my-notes"]), ["my_notes acme/my-notes"]);
        assert_eq!(
            names(&["acme/notes", "big-corp/notes", "acme/other"]),
            ["acme__notes acme/notes", "big_corp__notes big-corp/notes", "other acme/other"]
        );
        let spelling = |installed: &[&str], tool: &str| {
            let installed: Vec<CapabilityName> = installed.iter().map(|name| name.parse().unwrap()).collect();
            let names = names_of(installed.iter()).into_iter().map(|(name, of)| (of, name));
            Spelling(names.collect()).function(&tool.parse().unwrap()).unwrap_or_default()
        };
        assert_eq!(spelling(&["acme/my-notes"], "acme/my-notes.add"), "remit.my_notes.add");
        assert_eq!(spelling(&["acme/a", "zeta/a"], "zeta/a.add"), "remit.zeta__a.add");
        assert_eq!(spelling(&[], "zeta/a.add"), "");
        assert_eq!(spelling(&[], "mcp:home:set"), r#"remit.mcp["home"].set"#);
        assert_eq!(spelling(&[], "mcp:home:lights.set"), r#"remit.mcp["home"]["lights.set"]"#);
        // `mcp` is where upstream servers are.
        assert_eq!(names(&["acme/mcp", "mcp/home"]), ["acme__mcp acme/mcp"]);
    }
}
