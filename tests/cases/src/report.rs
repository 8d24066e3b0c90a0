//! What came of a file of cases, of whatever kind.

use std::fmt;

/// What came of a file.
#[derive(Debug, Default)]
pub struct Report {
    /// Cases that passed.
    pub passed: usize,
    /// Cases that did not.
    pub failed: Vec<Failed>,
}

/// One case that did not pass.
#[derive(Debug)]
pub struct Failed {
    /// Its id, or where it stands in the file.
    pub id: String,
    /// What the case says.
    pub expected: String,
    /// What the host did, or why the case could not be played.
    pub found: String,
}

impl fmt::Display for Failed {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { id, expected, found } = self;
        write!(formatter, "{id}: expected {expected}; found {found}")
    }
}
