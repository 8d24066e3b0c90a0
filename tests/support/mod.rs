//! What the suites share.

pub(crate) mod client;
pub(crate) mod door;
pub(crate) mod home;
pub(crate) mod languages;
pub(crate) mod outside;
pub(crate) mod server;
pub(crate) mod spellings;
pub(crate) mod world;
