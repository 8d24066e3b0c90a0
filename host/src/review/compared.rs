//! A version beside the one that was published before it: what differs, and whether callers go on working.

use serde::Serialize;

use super::Report;
use super::compatible::{Breach, breaches, may_break, verify};
use super::difference::Difference;
use crate::error::Result;

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

/// Refuses a version that breaks what an earlier one promised, or that is another capability altogether.
pub fn verify_successor(before: &Report, after: &Report) -> Result<()> {
    if before.name != after.name {
        let message = format!("`{}` is no version of `{}`", after.name, before.name);
        return Err(crate::error::Error::new(crate::error::ErrorKind::Usage, message));
    }
    verify(&before.manifest, &after.manifest)
}
