//! The names by which people and agents call things: `publisher/slug` and `publisher/slug.tool`,
//! and `mcp:server:tool` for tools of upstream MCP servers, whose names are their own.

use std::fmt;
use std::str::FromStr;

/// Stands for the publisher of all upstream MCP servers.
pub const UPSTREAM: &str = "mcp";

/// `publisher/slug`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CapabilityName {
    /// Who publishes it.
    pub publisher: String,
    /// Its name, unique for the publisher.
    pub slug: String,
}

/// `publisher/slug.tool`, or `mcp:server:tool` for a tool of an upstream MCP server.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ToolName {
    /// The capability.
    pub capability: CapabilityName,
    /// The tool inside it.
    pub tool: String,
}

/// The text is not such a name.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected `{0}`")]
pub struct InvalidName(&'static str);

impl fmt::Display for CapabilityName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{}", self.publisher, self.slug)
    }
}

impl CapabilityName {
    /// The capability that an upstream MCP server is.
    #[must_use]
    pub fn of_upstream(server: &str) -> Self {
        Self { publisher: UPSTREAM.to_owned(), slug: server.to_owned() }
    }

    /// Whether it is an upstream MCP server: nobody publishes under that name.
    #[must_use]
    pub fn is_upstream(&self) -> bool {
        self.publisher == UPSTREAM
    }
}

impl fmt::Display for ToolName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.capability.is_upstream() {
            return write!(formatter, "{UPSTREAM}:{}:{}", self.capability.slug, self.tool);
        }
        write!(formatter, "{}.{}", self.capability, self.tool)
    }
}

impl FromStr for CapabilityName {
    type Err = InvalidName;

    fn from_str(text: &str) -> Result<Self, InvalidName> {
        match text.split_once('/') {
            Some((publisher, slug)) if !publisher.is_empty() && !slug.is_empty() && !slug.contains('/') => {
                Ok(Self { publisher: publisher.to_owned(), slug: slug.to_owned() })
            }
            _ => Err(InvalidName("publisher/slug")),
        }
    }
}

impl FromStr for ToolName {
    type Err = InvalidName;

    fn from_str(text: &str) -> Result<Self, InvalidName> {
        let invalid = InvalidName("publisher/slug.tool");
        if let Some(rest) = text.strip_prefix("mcp:") {
            return match rest.split_once(':') {
                Some((server, tool)) if !server.is_empty() && !server.contains('/') && !tool.is_empty() => {
                    Ok(Self { capability: CapabilityName::of_upstream(server), tool: tool.to_owned() })
                }
                _ => Err(InvalidName("mcp:server:tool")),
            };
        }
        let (capability, tool) = text.split_once('.').ok_or(InvalidName("publisher/slug.tool"))?;
        if tool.is_empty() {
            return Err(invalid);
        }
        Ok(Self { capability: capability.parse().map_err(|_| invalid)?, tool: tool.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_read_as_it_is_written() {
        for name in ["acme/weather.get", "mcp:home:set_pin", "mcp:home:lights.set", "mcp:home:a/b:c"] {
            assert_eq!(name.parse::<ToolName>().unwrap().to_string(), name);
        }
        let same: ToolName = "mcp/home.set_pin".parse().unwrap();
        assert_eq!(same, "mcp:home:set_pin".parse().unwrap());
        for bad in ["mcp:", "mcp:home", "mcp:home:", "mcp::tool", "mcp:a/b:c", "acme.tool", "acme/weather"] {
            assert!(bad.parse::<ToolName>().is_err(), "{bad}");
        }
    }
}
