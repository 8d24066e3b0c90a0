//! The wire name of a tool: `<slug>__<tool>`.
//!
//! A name depends on what is installed, never on the order of installs or on who asks. Where two publishers
//! have the same slug, every tool of both is called `<publisher>_<slug>__<tool>`, so a newcomer can take
//! over no name that another capability had. Slugs and publishers hold no underscores, so different tools
//! have different names; this file does not check manifests, it only refuses to make a name from a bad one.

use std::collections::BTreeMap;

use crate::registry::{Capability, CapabilityName, Digest, ToolName, UPSTREAM};

/// The longest name that every client takes. Several providers of models stop at 64 characters.
const MAX_NAME: usize = 64;

/// Hexadecimal digits of the digest that a shortened name ends in: 32 bits, plenty for one slug's tools.
const SHORT_DIGEST: usize = 8;

/// Which slugs several publishers have.
pub(super) struct Slugs<'a>(BTreeMap<&'a str, usize>);

impl<'a> Slugs<'a> {
    /// Counts the publishers of each slug.
    pub(super) fn of(installed: impl IntoIterator<Item = &'a CapabilityName>) -> Self {
        let mut publishers = BTreeMap::new();
        // The names of upstream servers' tools begin otherwise, and meet no others.
        for name in installed.into_iter().filter(|name| !name.is_upstream()) {
            *publishers.entry(name.slug.as_str()).or_insert(0) += 1;
        }
        Self(publishers)
    }

    fn is_shared(&self, slug: &str) -> bool {
        self.0.get(slug).is_some_and(|publishers| *publishers > 1)
    }
}

/// The wire name of `name`; none if it could not be one that all clients take.
pub(super) fn wire_name(name: &ToolName, slugs: &Slugs<'_>) -> Option<String> {
    let CapabilityName { publisher, slug } = &name.capability;
    let plain =
        |text: &str| !text.is_empty() && text.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-'));
    let is_tool = name.tool.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_'));
    if !plain(publisher) || !plain(slug) || name.tool.is_empty() || !is_tool {
        return None;
    }
    let full = if slugs.is_shared(slug) {
        format!("{publisher}_{slug}__{}", name.tool)
    } else {
        format!("{slug}__{}", name.tool)
    };
    Some(shortened(full))
}

/// The wire names of an upstream server's tools, by their own: `mcp_<server>__<tool>`, with `_` for each character
/// that not every client takes. Tools whose names would be the same so, or differ in case alone, all end in a digest
/// of their own name: none takes over the name of another. Empty for every other capability.
pub(super) fn upstream_names(capability: &Capability) -> BTreeMap<&str, String> {
    if !capability.name.is_upstream() {
        return BTreeMap::new();
    }
    let safe =
        |character: char| if character.is_ascii_alphanumeric() || character == '-' { character } else { '_' };
    let plain = |tool: &str| -> String { tool.chars().map(safe).collect() };
    let tools = capability.manifest.tools.iter().map(|tool| tool.name.as_str());
    let mut folded: BTreeMap<String, usize> = BTreeMap::new();
    for tool in tools.clone() {
        *folded.entry(plain(tool).to_ascii_lowercase()).or_insert(0) += 1;
    }
    let name = |tool: &str| {
        let full = format!("{UPSTREAM}_{}__{}", capability.name.slug, plain(tool));
        let is_shared = folded.get(&plain(tool).to_ascii_lowercase()).is_some_and(|tools| *tools > 1);
        if is_shared || full.len() > MAX_NAME { ended(&full, tool) } else { full }
    };
    tools.map(|tool| (tool, name(tool))).collect()
}

/// The beginning of `full`, ended in a digest of `whole`.
fn ended(full: &str, whole: &str) -> String {
    let digest = Digest::of(whole.as_bytes()).hex();
    let kept: String = full.chars().take(MAX_NAME - SHORT_DIGEST - 1).collect();
    format!("{kept}_{}", &digest[..SHORT_DIGEST])
}

/// Keeps the beginning of a name that is too long and ends it in a digest of the whole.
fn shortened(full: String) -> String {
    if full.len() <= MAX_NAME {
        return full;
    }
    ended(&full, &full)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(installed: &[&str], tool: &str) -> Vec<Option<String>> {
        let capabilities: Vec<CapabilityName> = installed.iter().map(|name| name.parse().unwrap()).collect();
        let slugs = Slugs::of(&capabilities);
        let name =
            |capability: &CapabilityName| ToolName { capability: capability.clone(), tool: tool.to_owned() };
        capabilities.iter().map(|capability| wire_name(&name(capability), &slugs)).collect()
    }

    fn one(capability: &str, tool: &str) -> Option<String> {
        names(&[capability], tool).remove(0)
    }

    #[test]
    fn a_name_is_slug_and_tool() {
        assert_eq!(one("acme/weather", "get_forecast").unwrap(), "weather__get_forecast");
        assert_eq!(one("acme/my-notes", "a").unwrap(), "my-notes__a");
        assert_eq!(one("acme/notes", "a__b").unwrap(), "notes__a__b");
    }

    #[test]
    fn a_shared_slug_names_both_publishers_in_any_order() {
        let both = ["acme/notes", "zeta/notes"];
        let expected = vec![Some("acme_notes__add".to_owned()), Some("zeta_notes__add".to_owned())];
        assert_eq!(names(&both, "add"), expected);
        let mut reversed = names(&["zeta/notes", "acme/notes"], "add");
        reversed.reverse();
        assert_eq!(reversed, expected);
        let others = names(&["acme/notes", "zeta/notes", "zeta/mail"], "add");
        assert_eq!(others[2].as_deref(), Some("mail__add"));
    }

    #[test]
    fn a_long_name_is_shortened_and_stays_its_own() {
        let slug = "s".repeat(50);
        let first = one(&format!("acme/{slug}"), "tool_of_a_very_long_name_1").unwrap();
        let second = one(&format!("acme/{slug}"), "tool_of_a_very_long_name_2").unwrap();
        assert_eq!(first.len(), MAX_NAME);
        assert_ne!(first, second);
        assert!(first.starts_with(&format!("{slug}__too_")), "{first}");
        assert_eq!(one(&format!("acme/{}", "s".repeat(60)), "ab").unwrap().len(), MAX_NAME);
    }

    #[test]
    fn tools_of_an_upstream_have_safe_names_and_none_has_anothers() {
        let long = "x".repeat(100);
        let tools = ["plain", "getPin", "lights.set", "lights/set", "a", "A", long.as_str()];
        let tools: Vec<_> = tools
            .iter()
            .map(|name| serde_json::json!({ "name": name, "description": "d", "inputSchema": {} }))
            .collect();
        let manifest = serde_json::json!({
            "publisher": "mcp", "slug": "house", "version": "1.0.0", "title": "T", "description": "d",
            "runtime": "mcp", "tools": tools,
        });
        let capability = Capability {
            name: CapabilityName::of_upstream("house"),
            digest: Digest::of(b""),
            manifest: serde_json::from_value(manifest).unwrap(),
            installed_at: 0,
            size: 0,
        };
        let names = upstream_names(&capability);
        assert_eq!((names["plain"].as_str(), names["getPin"].as_str()), ("mcp_house__plain", "mcp_house__getPin"));
        assert!(names["lights.set"].starts_with("mcp_house__lights_set_"), "{names:?}");
        let mut folded: Vec<_> = names.values().map(|name| name.to_ascii_lowercase()).collect();
        folded.sort();
        folded.dedup();
        assert_eq!(folded.len(), 7, "{names:?}");
        assert!(names.values().all(|name| name.len() <= MAX_NAME), "{names:?}");
        let other = Capability { name: "acme/house".parse().unwrap(), ..capability };
        assert!(upstream_names(&other).is_empty());
    }

    #[test]
    fn an_upstream_takes_no_slug_from_others() {
        let names = names(&["acme/house", "mcp/house"], "add");
        assert_eq!(names[0].as_deref(), Some("house__add"));
    }

    #[test]
    fn a_bad_part_makes_no_name() {
        let tool = |capability: (&str, &str), tool: &str| ToolName {
            capability: CapabilityName { publisher: capability.0.to_owned(), slug: capability.1.to_owned() },
            tool: tool.to_owned(),
        };
        let cases = [
            tool(("acme", "notes"), ""),
            tool(("acme", "notes"), "Add"),
            tool(("acme", "notes"), "add note"),
            tool(("acme", "notes"), "add-note"),
            tool(("acme", "notes"), "adé"),
            tool(("acme", "notes"), "add\n"),
            tool(("acme", "no_tes"), "add"),
            tool(("acme", "Notes"), "add"),
            tool(("acme", ""), "add"),
            tool(("ac_me", "notes"), "add"),
            tool(("", "notes"), "add"),
        ];
        for name in cases {
            assert_eq!(wire_name(&name, &Slugs::of([])), None, "{name}");
        }
    }
}
