//! Schedules: which loops fire when, and that each firing happens once.

pub mod decide;
pub mod definition;
pub mod next;
mod pattern;
