//! Cases as data: files that say what the host must decide, run through the host's own rooms.
//!
//! A case says what goes in and what must come out; nothing here depends on which cases a file holds. What a
//! case says and this crate does not know fails that case: it never passes unread.

#![expect(clippy::expect_used, reason = "a case that cannot be set up ends the run")]

pub mod egress;
mod report;
pub mod schedules;
