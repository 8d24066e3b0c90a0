//! One installed capability.

use super::{CapabilityName, Digest};
use crate::manifest::Manifest;

/// What is installed under a name: the pin and the manifest that was read from the pinned bytes.
#[derive(Debug)]
pub struct Capability {
    /// `publisher/slug`.
    pub name: CapabilityName,
    /// The pinned digest.
    pub digest: Digest,
    /// The manifest embedded in those bytes.
    pub manifest: Manifest,
    /// When it was installed, in milliseconds since 1970.
    pub installed_at: i64,
    /// Size of the component in bytes.
    pub size: u64,
}
