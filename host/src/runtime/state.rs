//! All authority of one instance, in one struct: the `T` of its store.
//!
//! A guest can reach what a field of this struct reaches, through the namespaces linked for it, and nothing
//! else. It starts from what `policy` granted; there is no default.

use super::budget::{Lease, Limiter, Meter};
use crate::namespaces::{entities::Entities, http::Http, log::Log, loops::Loops};
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
    /// The `entities` namespace.
    pub entities: Entities,
    /// The `http` namespace.
    pub http: Http,
    /// The `log` namespace.
    pub log: Log,
    /// The `loops` namespace.
    pub loops: Loops,
}
