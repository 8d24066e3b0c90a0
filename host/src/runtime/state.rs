//! All authority of one instance, in one struct: the `T` of its store.
//!
//! A guest can reach what a field of this struct reaches, through the namespaces linked for it, and nothing
//! else. It starts from what `policy` granted; there is no default.

use super::budget::{Lease, Limiter, Meter};
use crate::namespaces::Services;
use crate::policy::Granted;

/// What one call holds while it runs.
pub struct State {
    /// Bounds memory.
    pub limiter: Limiter,
    /// Counts host calls.
    pub meter: Meter,
    /// Bounds time.
    pub lease: Lease,
    /// What policy decided.
    pub granted: Granted,
    /// Nothing may change.
    pub dry_run: bool,
    /// The namespaces.
    pub services: Services,
}
