//! The compact surface: four tools by which an agent finds and calls all others.
//!
//! Whether an endpoint shows the four or every tool for itself is chosen by its path or by the operator's settings, and
//! never depends on the connection. Nothing is decided here about who may call what: `search` shows what the path of a
//! call would permit, and a call goes that path.

mod definitions;
mod wanted;

pub(super) use self::definitions::definitions;
pub(super) use self::wanted::{Lookup, Meta, Source, Wanted};

use rmcp::ErrorData;

use super::Surface;
use super::tools::ToolList;
use crate::config::{ServeConfig, Tools};
use crate::policy::Identity;

/// What an endpoint lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// The four tools, and what is pinned.
    Compact,
    /// Every tool for itself.
    Direct,
}

/// The operator's settings of what is listed.
#[derive(Clone, Debug, Default)]
pub struct Exposure {
    /// Which shape, where the path does not say it.
    pub tools: Tools,
    /// With [`Tools::Auto`], as many tools at most are listed each for itself.
    pub direct_up_to: usize,
    /// Names on the wire of tools that stand beside the four.
    pub pins: Vec<String>,
}

impl Exposure {
    /// The settings of a door.
    #[must_use]
    pub fn of(config: &ServeConfig) -> Self {
        Self { tools: config.tools, direct_up_to: config.direct_up_to, pins: config.pins.clone() }
    }

    /// What a surface lists for a caller.
    pub(super) fn shape(&self, surface: &Surface, list: &ToolList, caller: &Identity) -> Shape {
        match (surface, self.tools) {
            (Surface::Compact, _) | (Surface::Joint, Tools::Compact) => Shape::Compact,
            (Surface::Joint, Tools::Auto) if list.count(caller) > self.direct_up_to => Shape::Compact,
            _ => Shape::Direct,
        }
    }
}

/// Arguments of one of the four that are not as they are listed.
fn invalid(why: impl Into<String>) -> ErrorData {
    ErrorData::invalid_params(why.into(), None)
}
