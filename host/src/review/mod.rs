//! What a reviewer is told of a component, made from its bytes, and who may decide about it.
//!
//! `report.rs` is the whole of it, `difference.rs` what another version changes, `compatible.rs` whether callers go on
//! working, `compared.rs` both, `publishable.rs` what holds before a release is sent, and `decide.rs` judges a decision. Pure: nothing here runs a guest or opens a file. What
//! becomes of a release is not decided here.

mod bytes;
mod compared;
pub mod compatible;
mod decide;
pub mod difference;
mod hidden;
mod hosts;
mod lookalikes;
mod mentions;
mod phrases;
mod publishable;
mod report;
mod shadows;
mod strings;

pub use bytes::{Producer, Sizes};
pub use compared::{Compared, require_same_name};
pub(crate) use decide::same_owner;
pub use decide::{Decided, Reviewer, Submission, Word, decide};
pub use hidden::Hidden;
pub use lookalikes::{Likeness, Lookalike, likeness};
pub use publishable::{Publishable, publishable};
pub use report::{Ask, Finding, Neighbour, Refused, Report, Weight};
pub use shadows::{Shadow, Twin};
pub use strings::{Host, Instruction, Strings};

#[cfg(test)]
mod tests;
