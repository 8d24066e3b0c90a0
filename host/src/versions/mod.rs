//! From one version of a capability to another: what it would have that it has not, what of earlier decisions still
//! stands, and how the versions of a home are written down.
//!
//! Pure. It decides what is asked of a person, and gives nothing: that is `admin/`.

mod carried;
mod changed;
pub mod lock;
mod widened;

pub use carried::{Carried, carry};
pub use changed::{Change, changes};
pub use widened::{About, Widening, widenings};

#[cfg(test)]
mod tests;
