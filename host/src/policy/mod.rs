//! What a call may do: declared ∩ granted, for this digest, under the operator's ceilings.
//!
//! Pure decisions over values that others read: no I/O, no clock. What comes out is a receipt,
//! [`Granted`], that only this room makes and that the runtime, `egress` and `secrets` take.

mod budget;
mod caller;
mod declared;
mod directory;
mod grant;
mod hosts;
mod loops;
mod permission;
mod restriction;
mod sandbox;
mod wish;

pub use budget::{BUDGET_CEILING, Budget, DEFAULT_BUDGET, memory_ceiling};
pub use caller::{
    Authority, Caller, DOORS, HTTP, Identity, OPERATOR, Permitted, STDIO, is_published, is_shown, may_call,
    may_use,
};
pub use declared::{OWN_CREDENTIALS, all_declared, asks, check_approval, check_grant, same_grant};
pub use directory::{Directory, Flag, Principal};
pub use grant::{
    Approval, EntitiesGrant, Grant, Granted, HttpGrant, InvalidPlace, Place, SecretUse, decide, is_granted,
};
pub use hosts::{HTTPS_PORT, HostPattern, InvalidPattern};
pub(crate) use hosts::{canonical_port, is_dns_name};
pub use loops::LoopsGrant;
pub use permission::check_given_permission;
pub use restriction::{Confirm, Restriction, check_restriction, confirm, needs_word, of_tool};
pub use sandbox::{OTHERS, SandboxGrant};
pub use wish::{Gift, Wish, authority};
