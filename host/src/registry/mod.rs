//! Which bytes a name means.
//!
//! Resolves `publisher/slug` to an installed [`Capability`], and keeps components as files named by
//! their digest. It does not decide what a capability may do (`policy/`) and does not run it
//! (`runtime/`).

mod artifacts;
mod capability;
mod catalog;
mod digest;
mod name;
mod withdrawn;

pub use artifacts::Artifacts;
pub use capability::Capability;
pub use catalog::{Catalog, Entry, Snapshot};
pub use digest::Digest;
pub use name::{CapabilityName, ToolName, UPSTREAM};
pub use withdrawn::{Item, Withdrawn};
