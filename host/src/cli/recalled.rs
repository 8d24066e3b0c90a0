//! What was said against installed releases, told to whoever uses them.

use super::output::Output;
use crate::manifest::visible;
use crate::registry::Entry;

/// Warns of a release that goes on here and should not be installed any more, or that must not run.
pub(super) fn warn(entry: &Entry, output: Output) {
    if let Some(recall) = &entry.recall {
        let (name, version) = (&entry.capability.name, &entry.capability.manifest.version);
        output.warn(&format!("`{name}` {version} was {}", visible(&recall.account(), usize::MAX)));
    }
}
