//! The `listing` namespace: what a capability shows to agents at the moment.

use crate::registry::CapabilityName;

/// What is at an address changed: a capability says so, to whoever listens in this process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Updated {
    /// Whose document it is.
    pub capability: CapabilityName,
    /// Its address inside the capability.
    pub uri: String,
}
