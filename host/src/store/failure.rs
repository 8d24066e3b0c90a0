//! What an error of the database means: which kind, and what a person can do.

use rusqlite::ErrorCode;

use crate::error::{Error, ErrorKind};

impl From<rusqlite::Error> for Error {
    fn from(error: rusqlite::Error) -> Self {
        let (message, hint) = match error.sqlite_error_code() {
            Some(ErrorCode::DiskFull) => {
                ("the disk of the data directory is full", "free some disk space and try again")
            }
            Some(ErrorCode::SystemIoFailure) => (
                "the database could not be read or written",
                "check the disk of the data directory, then try again",
            ),
            Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen | ErrorCode::PermissionDenied) => (
                "the database cannot be opened for writing",
                "check the owner and mode of the data directory and of `remit.db` in it",
            ),
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked | ErrorCode::FileLockingProtocolFailed) => (
                "another process holds the database",
                "try again; if it lasts, look for a stopped `remit` process with the same data directory",
            ),
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => return damaged(error),
            // Every statement here is tested: one that makes no sense to SQLite meets other tables than ours.
            Some(ErrorCode::Unknown) => return damaged(error),
            Some(_) => return Self::internal("the database refused a statement").detail(error),
            // Not from SQLite: a value that is not of the type it was written with.
            None => return damaged(error),
        };
        Self::new(ErrorKind::Store, message).detail(error).hint(hint)
    }
}

/// What is in the database cannot be what this program wrote.
pub(super) fn damaged(detail: impl std::fmt::Display) -> Error {
    Error::new(ErrorKind::Store, "the database is damaged; it was left as it is")
        .detail(detail)
        .hint("restore `remit.db` from a backup, or move it away to start with an empty one and install again")
}
