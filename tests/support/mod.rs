//! What the suites share.

pub(crate) mod client;
pub(crate) mod home;
pub(crate) mod world;
