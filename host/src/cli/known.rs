//! What a new name is compared with: what is installed in this home, and this program's own.

use super::Context;
use crate::builtin;
use crate::error::Result;
use crate::registry::CapabilityName;
use crate::review::Neighbour;

/// Everything known. A home that was never made is not made for this.
pub(super) fn neighbours(context: &Context) -> Result<Vec<Neighbour>> {
    let mut known: Vec<Neighbour> = builtin::names()
        .filter_map(|name| Some(Neighbour { name: name.parse().ok()?, tools: Vec::new() }))
        .collect();
    if context.home()?.is_dir() {
        let snapshot = context.open()?.admin().installed()?;
        let installed = snapshot.entries.values().map(|entry| &entry.capability);
        known.extend(installed.filter(|capability| !capability.name.is_upstream()).map(|capability| {
            let tools = capability.manifest.tools.iter().map(|tool| tool.name.clone()).collect();
            Neighbour { name: CapabilityName::clone(&capability.name), tools }
        }));
    }
    Ok(known)
}
