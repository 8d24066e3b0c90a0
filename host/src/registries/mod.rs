//! Where releases are published, and how they are fetched: a folder, or a `remit` host that serves one over HTTP.
//!
//! A registry keeps bytes and signed documents. It enforces who may add which (`directory.rs`), but nobody relies on
//! that: whoever installs verifies the same documents with the keys that they know (`signing::verify`).

mod directory;
mod state;

pub use directory::Directory;
pub use state::State;
