//! What one endpoint shows: every capability, under prefixed names or through the compact surface, or one alone.
//!
//! A surface maps names and addresses between the wire and a capability's manifest, both ways. It decides
//! nothing about who may see or call what: a surface only ever narrows what the principal has anyway.

use crate::manifest::check_name;
use crate::registry::{CapabilityName, ToolName};

use super::names::{Slugs, wire_name};

/// Before the addresses of capabilities where several are shown together.
const SCHEME: &str = "remit://";

/// What one endpoint shows.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Surface {
    /// Everything that is installed, in the shape that the operator chose. Names are `<slug>__<name>`, addresses
    /// `remit://<publisher>/<slug>/<address>`.
    #[default]
    Joint,
    /// The same, through the four tools of the compact surface.
    Compact,
    /// The same, every tool for itself.
    Direct,
    /// One capability, under the names and addresses of its manifest.
    One(CapabilityName),
}

impl Surface {
    /// The capability that it shows alone.
    pub(super) fn one(&self) -> Option<&CapabilityName> {
        match self {
            Self::One(only) => Some(only),
            Self::Joint | Self::Compact | Self::Direct => None,
        }
    }

    /// Whether this capability is on it.
    pub(super) fn shows(&self, name: &CapabilityName) -> bool {
        self.one().is_none_or(|only| only == name)
    }

    /// The name of a tool or a prompt on it; none if it could not be one that all clients take.
    pub(super) fn name(&self, name: &ToolName, slugs: &Slugs<'_>) -> Option<String> {
        let joint = wire_name(name, slugs);
        match self.one() {
            None => joint,
            // A manifest holds no other names; what is stored may be older than a rule.
            Some(_) => joint.map(|_| name.tool.clone()),
        }
    }

    /// The address on it of what a capability calls `uri`.
    pub(super) fn address(&self, capability: &CapabilityName, uri: &str) -> String {
        match self.one() {
            None => format!("{SCHEME}{}/{}/{uri}", capability.publisher, capability.slug),
            Some(_) => uri.to_owned(),
        }
    }

    /// The capability that an address belongs to, and what it calls it. Whether there is such a capability, and
    /// such an address, is another question.
    pub(super) fn find<'a>(&self, address: &'a str) -> Option<(CapabilityName, &'a str)> {
        match self.one() {
            Some(only) => Some((only.clone(), address)),
            None => {
                let rest = address.strip_prefix(SCHEME)?;
                let (publisher, rest) = rest.split_once('/')?;
                let (slug, uri) = rest.split_once('/')?;
                let name = format!("{publisher}/{slug}").parse().ok()?;
                (!uri.is_empty()).then_some((name, uri))
            }
        }
    }

    /// The surface of an HTTP path: `/mcp`, `/mcp/compact`, `/mcp/direct`, or `/mcp/<publisher>/<slug>`.
    pub(super) fn of_path(path: &str) -> Option<Self> {
        match path.strip_prefix("/mcp")? {
            "" => Some(Self::Joint),
            "/compact" => Some(Self::Compact),
            "/direct" => Some(Self::Direct),
            rest => {
                let name: CapabilityName = rest.strip_prefix('/')?.parse().ok()?;
                let is_plain = [&name.publisher, &name.slug].iter().all(|part| check_name(part).is_none());
                is_plain.then_some(Self::One(name))
            }
        }
    }
}

impl std::fmt::Display for Surface {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Joint => formatter.write_str("joint"),
            Self::Compact => formatter.write_str("compact"),
            Self::Direct => formatter.write_str("direct"),
            Self::One(name) => name.fmt(formatter),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(name: &str) -> Surface {
        Surface::One(name.parse().unwrap())
    }

    #[test]
    fn a_path_names_a_surface() {
        for (path, expected) in [
            ("/mcp", Some(Surface::Joint)),
            ("/mcp/compact", Some(Surface::Compact)),
            ("/mcp/direct", Some(Surface::Direct)),
            ("/mcp/direct/", None),
            ("/mcp/Direct", None),
            ("/mcp/acme/notes", Some(one("acme/notes"))),
            ("/mcp/", None),
            ("/mcp/acme", None),
            ("/mcp/acme/", None),
            ("/mcp/acme/notes/", None),
            ("/mcp/acme/notes/more", None),
            ("/mcp/Acme/notes", None),
            ("/mcp/acme/../notes", None),
            ("/mcp/acme/no%74es", None),
            ("/mcpacme/notes", None),
            ("/", None),
        ] {
            assert_eq!(Surface::of_path(path), expected, "{path}");
        }
    }

    #[test]
    fn an_address_comes_back_as_it_went() {
        let name: CapabilityName = "acme/notes".parse().unwrap();
        for uri in ["note:1", "test://static/text", "a:b?c#d", "note:{id}", "remit://other/thing/x:y"] {
            for surface in [Surface::Joint, one("acme/notes")] {
                let address = surface.address(&name, uri);
                assert_eq!(surface.find(&address), Some((name.clone(), uri)), "{address}");
            }
        }
        assert_eq!(Surface::Joint.address(&name, "note:1"), "remit://acme/notes/note:1");
        assert_eq!(one("acme/notes").address(&name, "note:1"), "note:1");
    }

    #[test]
    fn what_names_no_capability_is_nobodys() {
        for address in [
            "note:1",
            "remit://inbox",
            "remit://inbox/1",
            "remit://results/1?offset=2",
            "remit://acme/notes/",
            "remit:///notes/x:y",
        ] {
            assert_eq!(Surface::Joint.find(address), None, "{address}");
        }
    }
}
