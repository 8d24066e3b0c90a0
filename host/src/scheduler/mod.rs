//! Schedules: which loops fire when, and that each firing happens once.

pub mod next;
mod pattern;
