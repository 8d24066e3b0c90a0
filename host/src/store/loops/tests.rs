//! Loops as rows.
