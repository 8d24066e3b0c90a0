//! What of the decisions about one version stands for the next.
//!
//! What a person gave to the bytes before is carried over as far as both manifests declare it: never more than was
//! given, never what the new version would reach further with it.

use crate::manifest::Manifest;
use crate::policy::{Approval, Grant, asks, check_approval, check_grant};
use crate::review::difference::covers;

/// Decisions that stand, and those that do not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Carried {
    /// Grants for the new version.
    pub grants: Vec<Grant>,
    /// Approvals for it.
    pub approvals: Vec<Approval>,
    /// Grants that it does not ask for any more.
    pub lost_grants: Vec<Grant>,
    /// Approvals for what it does not ask for any more.
    pub lost_approvals: Vec<Approval>,
}

/// What stands of `grants` and `approvals`, given to a version with the manifest `before`, for one with `after`.
#[must_use]
pub fn carry(before: &Manifest, after: &Manifest, grants: &[Grant], approvals: &[Approval]) -> Carried {
    let both = |grant: &Grant| check_grant(before, grant).is_ok() && check_grant(after, grant).is_ok();
    let mut carried = Carried::default();
    for grant in grants {
        if both(grant) {
            carried.grants.push(grant.clone());
        } else {
            carried.lost_grants.push(grant.clone());
        }
    }
    // Where the new version asks for a part of what was given, the part stands.
    let narrowed =
        asks(after).into_iter().filter(|ask| grants.iter().any(|grant| covers(grant, ask)) && both(ask));
    carried.grants.extend(narrowed);
    carried.grants.sort();
    carried.grants.dedup();
    for approval in approvals {
        if check_approval(before, approval).is_ok() && check_approval(after, approval).is_ok() {
            carried.approvals.push(approval.clone());
        } else {
            carried.lost_approvals.push(approval.clone());
        }
    }
    carried
}
