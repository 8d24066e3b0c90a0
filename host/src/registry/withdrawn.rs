//! What a capability has withdrawn from agents for now. It narrows what the manifest declares, and a person's
//! decision is another matter: this room only remembers.

use std::collections::BTreeSet;

/// Something that a manifest declares, by its name or address there.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Item {
    /// The tool of this name.
    Tool(String),
    /// The prompt of this name.
    Prompt(String),
    /// The resource at this address, or the template of this form.
    Resource(String),
}

/// What is not offered at the moment. By default everything is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Withdrawn(BTreeSet<Item>);

impl Withdrawn {
    /// Whether an item is withdrawn.
    #[must_use]
    pub fn contains(&self, item: &Item) -> bool {
        self.0.contains(item)
    }

    /// Whether the tool of this name is withdrawn.
    #[must_use]
    pub fn tool(&self, name: &str) -> bool {
        self.has(|item| matches!(item, Item::Tool(tool) if tool == name))
    }

    /// Whether the prompt of this name is withdrawn.
    #[must_use]
    pub fn prompt(&self, name: &str) -> bool {
        self.has(|item| matches!(item, Item::Prompt(prompt) if prompt == name))
    }

    /// Whether the resource at this address, or the template of this form, is withdrawn.
    #[must_use]
    pub fn resource(&self, uri: &str) -> bool {
        self.has(|item| matches!(item, Item::Resource(resource) if resource == uri))
    }

    /// What is withdrawn, in order.
    pub fn iter(&self) -> impl Iterator<Item = &Item> {
        self.0.iter()
    }

    fn has(&self, is_it: impl Fn(&Item) -> bool) -> bool {
        self.0.iter().any(is_it)
    }
}

impl FromIterator<Item> for Withdrawn {
    fn from_iter<I: IntoIterator<Item = Item>>(items: I) -> Self {
        Self(items.into_iter().collect())
    }
}

impl Item {
    /// The word for what it is, as it is stored and shown.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Tool(_) => "tool",
            Self::Prompt(_) => "prompt",
            Self::Resource(_) => "resource",
        }
    }

    /// Its name or address.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Tool(name) | Self::Prompt(name) | Self::Resource(name) => name,
        }
    }

    /// The item of a stored kind and name.
    #[must_use]
    pub fn of_kind(kind: &str, name: String) -> Option<Self> {
        match kind {
            "tool" => Some(Self::Tool(name)),
            "prompt" => Some(Self::Prompt(name)),
            "resource" => Some(Self::Resource(name)),
            _ => None,
        }
    }
}
