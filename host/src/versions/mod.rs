//! From one version of a capability to another: what of earlier decisions still stands, and how the versions of a home
//! are written down. What differs is `review/`'s, and said there once.
//!
//! Pure. It gives nothing: that is `admin/`.

mod carried;
pub mod lock;

pub use carried::{Carried, carry};

#[cfg(test)]
mod tests;
