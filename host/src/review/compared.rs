//! A version beside the one that was published before it: what differs, and whether callers go on working.

use serde::Serialize;

use super::Report;
use super::compatible::{Breach, breaches, may_break};
use super::difference::Difference;
use crate::error::{Error, ErrorKind, Result};

/// What another version changes.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Compared {
    /// Everything that differs.
    pub difference: Difference,
    /// Whether the numbers say that callers may have to change.
    pub may_break: bool,
    /// What breaks callers, whatever the numbers say.
    pub breaches: Vec<Breach>,
}

impl Compared {
    /// From what an earlier version's bytes say to what a later one's do.
    #[must_use]
    pub fn between(before: &Report, after: &Report) -> Self {
        Self {
            difference: Difference::between(before, after),
            may_break: may_break(&before.version, &after.version),
            breaches: breaches(&before.manifest, &after.manifest),
        }
    }
}

/// Refuses to compare what are no versions of one capability.
pub fn require_same_name(before: &Report, after: &Report) -> Result<()> {
    if before.name == after.name {
        return Ok(());
    }
    let message = format!("`{}` is no version of `{}`", after.name, before.name);
    Err(Error::new(ErrorKind::Usage, message))
}
