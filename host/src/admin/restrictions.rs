//! What people ask beyond what a publisher asks. Part of the people's door.

use super::Admin;
use crate::error::{Error, ErrorKind, Result};
use crate::policy::{Restriction, check_restriction};
use crate::registry::CapabilityName;

impl Admin {
    /// Restricts a tool of a capability, or all of them. What the restriction leaves open stays as it is; with
    /// `replaces` it takes the place of the one that is there, and takes it back when it asks nothing. In force
    /// for the next call. Gives what stands for the same tool afterwards.
    pub fn restrict(
        &self,
        name: &CapabilityName,
        restriction: &Restriction,
        replaces: bool,
    ) -> Result<Option<Restriction>> {
        if let Some(problem) = check_restriction(restriction) {
            return Err(Error::new(ErrorKind::Usage, problem));
        }
        let entry = self.find(name)?;
        if let Some(tool) = &restriction.tool {
            let mut tools = entry.capability.manifest.tools.iter();
            // What an earlier version had can be taken back.
            let is_known = tools.any(|known| known.name == *tool)
                || replaces && entry.restrictions.iter().any(|known| known.tool.as_ref() == Some(tool));
            if !is_known {
                return Err(Error::new(ErrorKind::UnknownTool, format!("`{name}` has no tool `{tool}`"))
                    .hint(format!("remit show {name} lists its tools")));
            }
        }
        self.store.restrict(name, restriction, replaces)
    }
}
