//! Who says what of a release: documents that people sign, and the keys by which they are believed.
//!
//! A publisher signs a statement, another person signs a decision about it, either may withdraw a release later. A
//! signature says who, never what is allowed: the pin stays the digest of the bytes. Documents are kept and carried by
//! `registries/`, which decides nothing about them that the reader does not decide again.

mod document;
mod key;
mod owners;
mod verify;

pub use document::{Decision, Document, Rotation, Signed, Statement, Withdrawal, WithdrawalKind};
pub use key::{PublicKey, SigningKey};
pub use owners::{KnownKey, Owners};
pub use verify::{Release, Verified, verify};
