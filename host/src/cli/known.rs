//! What a new name is compared with: what is installed in this home, and this program's own.

use super::Context;
use crate::builtin;
use crate::error::Result;
use crate::registry::Capability;
use crate::review::Neighbour;

/// Everything known. A home that was never made is not made for this, and one that cannot be opened is said.
pub(super) fn neighbours(context: &Context) -> Result<Vec<Neighbour>> {
    let mut known: Vec<Neighbour> = builtin::names()
        .filter_map(|name| Some(Neighbour { name: name.parse().ok()?, tools: Vec::new() }))
        .collect();
    if context.home()?.is_dir() {
        match context.open().and_then(|app| app.admin().installed()) {
            Ok(snapshot) => {
                known.extend(snapshot.entries.values().filter_map(|entry| neighbour(&entry.capability)))
            }
            Err(error) => context.output.warn(&format!("names are compared with nothing installed: {error}")),
        }
    }
    Ok(known)
}

/// Upstream servers have names of their own, which no capability can take.
fn neighbour(capability: &Capability) -> Option<Neighbour> {
    let tools = capability.manifest.tools.iter().map(|tool| tool.name.clone()).collect();
    (!capability.name.is_upstream()).then(|| Neighbour { name: capability.name.clone(), tools })
}
