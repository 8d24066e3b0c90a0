//! What a registry over HTTP and its clients say to each other.
//!
//! ```text
//! GET  /v1/releases                              every release with its state
//! GET  /v1/releases/PUBLISHER/SLUG/VERSION       what was signed about one
//! PUT  /v1/releases/PUBLISHER/SLUG/VERSION       a component, with its statement in a header field
//! POST /v1/decisions, /v1/withdrawals            a signed document
//! GET  /v1/components/DIGEST                     bytes, in pieces by `Range`
//! ```

use http::StatusCode;
use serde::{Deserialize, Serialize};

use super::State;
use crate::error::{Error, ErrorKind};
use crate::signing::{Decision, Release, Signed, Statement, Withdrawal};

/// The header field of a statement, as base64 of its JSON: it is judged before the bytes are read.
pub(super) const STATEMENT: &str = "remit-statement";

/// One line of the list.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Listed {
    /// `publisher/slug@version`.
    pub(super) release: String,
    /// Where it is.
    pub(super) state: State,
}

/// What was signed about a release.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Documents {
    statement: Signed<Statement>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    decision: Option<Signed<Decision>>,
    #[serde(default)]
    withdrawals: Vec<Signed<Withdrawal>>,
}

/// What became of a document that was sent.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Taken {
    /// Where the release is now.
    pub(super) state: State,
}

/// Why nothing became of it.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Refused {
    code: String,
    message: String,
}

impl From<Release> for Documents {
    fn from(Release { statement, decision, withdrawals }: Release) -> Self {
        Self { statement, decision, withdrawals }
    }
}

impl From<Documents> for Release {
    fn from(Documents { statement, decision, withdrawals }: Documents) -> Self {
        Self { statement, decision, withdrawals }
    }
}

/// The kinds that a registry may say: what it refuses, and nothing about the machine that it runs on.
const SAID: [(ErrorKind, StatusCode); 17] = [
    (ErrorKind::ReleaseNotFound, StatusCode::NOT_FOUND),
    (ErrorKind::ReviewNothing, StatusCode::NOT_FOUND),
    (ErrorKind::ReleaseExists, StatusCode::CONFLICT),
    (ErrorKind::ReviewOtherBytes, StatusCode::CONFLICT),
    (ErrorKind::DigestMismatch, StatusCode::CONFLICT),
    (ErrorKind::ReviewRole, StatusCode::FORBIDDEN),
    (ErrorKind::ReviewOwn, StatusCode::FORBIDDEN),
    (ErrorKind::KeyUnknown, StatusCode::FORBIDDEN),
    (ErrorKind::KeyRevoked, StatusCode::FORBIDDEN),
    (ErrorKind::KeyNotAllowed, StatusCode::FORBIDDEN),
    (ErrorKind::SignatureInvalid, StatusCode::BAD_REQUEST),
    (ErrorKind::VersionInexact, StatusCode::BAD_REQUEST),
    (ErrorKind::Usage, StatusCode::BAD_REQUEST),
    (ErrorKind::NotComponent, StatusCode::UNPROCESSABLE_ENTITY),
    (ErrorKind::ComponentInvalid, StatusCode::UNPROCESSABLE_ENTITY),
    (ErrorKind::ComponentTooLarge, StatusCode::PAYLOAD_TOO_LARGE),
    (ErrorKind::ManifestInvalid, StatusCode::UNPROCESSABLE_ENTITY),
];

impl Refused {
    /// What a client is told of an error, and with which status.
    pub(super) fn of(error: &Error) -> (StatusCode, Self) {
        if let Some((kind, status)) = SAID.into_iter().find(|(kind, _)| *kind == error.kind) {
            return (status, Self { code: kind.code().to_owned(), message: error.message.clone() });
        }
        // Anything a capability's author has to change says nothing about this machine either.
        let (status, message) = match error.kind.blame() {
            crate::error::Blame::Capability => (StatusCode::UNPROCESSABLE_ENTITY, error.message.clone()),
            _ => (StatusCode::INTERNAL_SERVER_ERROR, error.kind.meaning().to_owned()),
        };
        (status, Self { code: error.kind.code().to_owned(), message })
    }

    /// The error that a registry's answer means.
    pub(super) fn into_error(self, registry: &str) -> Error {
        let kind = ErrorKind::ALL.iter().copied().find(|kind| kind.code() == self.code);
        let said = kind.filter(|kind| {
            SAID.iter().any(|(said, _)| said == kind) || kind.blame() == crate::error::Blame::Capability
        });
        match said {
            Some(kind) => Error::new(kind, self.message),
            None => Error::new(ErrorKind::RegistryUnreached, format!("the registry `{registry}` failed"))
                .detail(self.message)
                .hint("whoever runs it finds more in its log"),
        }
    }
}
