//! Copies that are made while others write, and what a restore refuses.
