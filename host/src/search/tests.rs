//! What is found, by whom.
