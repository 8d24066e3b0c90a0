//! What differs between two versions of a capability: for a reviewer before it is published, and for an installer
//! before it takes the place of what is pinned.
//!
//! Pure, and the one such comparison: `widened.rs` says what a version may do that the other did not ask, `changed.rs`
//! which fields differ. It does not say whether callers go on working (`compatible.rs`), nor does it decide anything.

mod changed;
mod widened;

pub use changed::{Change, Weight, changes};
pub use widened::{About, Widening, covers, narrowings, widenings};

#[cfg(test)]
mod tests;
