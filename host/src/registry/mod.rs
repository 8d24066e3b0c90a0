//! Which bytes a name means.
//!
//! Resolves `publisher/slug` to an installed [`Capability`], and keeps components as files named by
//! their digest. It does not decide what a capability may do (`policy/`) and does not run it
//! (`runtime/`).

mod artifacts;
mod capability;
mod catalog;
mod digest;
mod exact;
mod name;
mod origin;
mod withdrawn;

pub use artifacts::Artifacts;
pub use capability::Capability;
pub use catalog::{Catalog, Entry, Snapshot};
pub use digest::{Digest, InvalidDigest};
pub use exact::{Exact, is_release, read_version};
pub use name::{CapabilityName, ToolName, UPSTREAM};
pub use origin::{Against, Origin, Recall};
pub use withdrawn::{Item, Withdrawn};
