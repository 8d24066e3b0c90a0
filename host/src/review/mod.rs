//! What a reviewer is told of a component, made from its bytes.
//!
//! `difference.rs` says what another version changes. Pure: nothing here runs a guest, opens a file or decides; what
//! becomes of a release is `registries/`'s.

pub mod difference;
