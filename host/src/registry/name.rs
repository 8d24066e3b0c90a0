//! The names by which people and agents call things: `publisher/slug` and `publisher/slug.tool`.

use std::fmt;
use std::str::FromStr;

/// `publisher/slug`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CapabilityName {
    /// Who publishes it.
    pub publisher: String,
    /// Its name, unique for the publisher.
    pub slug: String,
}

/// `publisher/slug.tool`.
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

impl fmt::Display for ToolName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
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
        let (capability, tool) = text.split_once('.').ok_or(InvalidName("publisher/slug.tool"))?;
        if tool.is_empty() {
            return Err(invalid);
        }
        Ok(Self { capability: capability.parse().map_err(|_| invalid)?, tool: tool.to_owned() })
    }
}
