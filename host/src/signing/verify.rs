//! Whether a release is what its publisher signed and another person approved, for whoever knows these keys.
//!
//! The same function for a registry before it shows a release and for a home before it installs one: the second does
//! not rely on the first.

use semver::Version;

use super::{Decision, KnownKey, Owners, PublicKey, Signed, Statement, Withdrawal, WithdrawalKind};
use crate::error::{Error, ErrorKind, Result};
use crate::registry::{Digest, Exact};
use crate::review::same_owner;

/// What was signed about one release.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Release {
    /// By its publisher.
    pub statement: Signed<Statement>,
    /// By a reviewer; `None` while it waits.
    pub decision: Option<Signed<Decision>>,
    /// What was said against it since.
    pub withdrawals: Vec<Signed<Withdrawal>>,
}

/// A release that was verified.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verified {
    /// Its name and version.
    pub release: Exact,
    /// The digest that its bytes must have.
    pub component: Digest,
    /// Of what they must say of tools.
    pub tools: Digest,
    /// Of what they must ask.
    pub grants: Digest,
    /// The key of the publisher, and whose it is.
    pub signed_by: (PublicKey, String),
    /// Who approved it, and when.
    pub approved: Option<(String, i64)>,
    /// Why it was not, when somebody said no.
    pub rejected: Option<String>,
    /// The gravest thing that was said against it, why, and when.
    pub against: Option<(WithdrawalKind, String, i64)>,
}

/// Verifies all that was signed about `release`, by the keys that are known here.
///
/// A decision or a withdrawal by somebody who may not say so is as none: whoever keeps the documents could else make a
/// release good or bad by adding one. What is wrong with the statement is an error.
pub fn verify(wanted: &Exact, release: &Release, owners: &Owners) -> Result<Verified> {
    let (statement, key) = release.statement.open()?;
    if statement.release()? != *wanted {
        let message = format!("the statement is not about `{wanted}`");
        return Err(Error::new(ErrorKind::SignatureInvalid, message).hint("fetch it again from another registry"));
    }
    if !statement.version.build.is_empty() {
        return Err(Error::new(ErrorKind::VersionInexact, "build metadata names no version"));
    }
    let author = owners.publisher::<Statement>(key, statement.signed_at, &statement.publisher)?;
    let mut verified = Verified {
        release: wanted.clone(),
        component: statement.component_sha256,
        tools: statement.tools_sha256,
        grants: statement.grants_sha256,
        signed_by: (key, author.owner.clone()),
        approved: None,
        rejected: None,
        against: None,
    };
    if let Some(decision) = &release.decision {
        decided(&mut verified, decision, author, owners);
    }
    for withdrawal in &release.withdrawals {
        let said = withdrawn(wanted, withdrawal, owners);
        verified.against =
            verified.against.take().into_iter().chain(said).max_by_key(|(kind, _, at)| (*kind, -at));
    }
    Ok(verified)
}

fn decided(verified: &mut Verified, decision: &Signed<Decision>, author: &KnownKey, owners: &Owners) {
    let Ok((decision, key)) = decision.open() else { return };
    let Ok(reviewer) = owners.reviewer::<Decision>(key, decision.signed_at) else { return };
    let is_about_this =
        decision.release == verified.release.to_string() && decision.component_sha256 == verified.component;
    if !is_about_this || same_owner(&reviewer.owner, &author.owner) {
        return;
    }
    if decision.approved {
        verified.approved = Some((reviewer.owner.clone(), decision.signed_at));
    } else {
        verified.rejected = Some(decision.reason.clone().unwrap_or_default());
    }
}

/// Its publisher and every reviewer may warn of a release.
fn withdrawn(
    release: &Exact,
    withdrawal: &Signed<Withdrawal>,
    owners: &Owners,
) -> Option<(WithdrawalKind, String, i64)> {
    let (said, key) = withdrawal.open().ok()?;
    let known = owners.signer::<Withdrawal>(key, said.signed_at, "--reviewer").ok()?;
    let may = known.reviewer || known.publishers.contains(&release.name.publisher);
    (may && said.release == release.to_string()).then(|| (said.kind, said.reason.clone(), said.signed_at))
}

impl Verified {
    /// The release, if it may be installed: approved, and nothing was said against it.
    pub fn installable(self) -> Result<Self> {
        let release = &self.release;
        if let Some((kind, reason, _)) = &self.against {
            let (kind, word) = match kind {
                WithdrawalKind::Revoke => (ErrorKind::Revoked, "revoked"),
                WithdrawalKind::Yank => (ErrorKind::Yanked, "yanked"),
                WithdrawalKind::Remove => (ErrorKind::Yanked, "removed"),
            };
            return Err(Error::new(kind, format!("`{release}` was {word}: {reason}"))
                .hint("install another version; `remit show NAME` says which there are"));
        }
        if let Some(reason) = &self.rejected {
            let message = format!("a reviewer said no to `{release}`: {reason}");
            return Err(Error::new(ErrorKind::NotReviewed, message));
        }
        if self.approved.is_none() {
            let message = format!("nobody whom this home knows as a reviewer approved `{release}`");
            return Err(Error::new(ErrorKind::NotReviewed, message).hint(
                "wait for the review, or trust its reviewer: `remit key trust KEY --owner NAME --reviewer`",
            ));
        }
        Ok(self)
    }

    /// Checks that the bytes that came are the ones that were signed.
    pub fn check_bytes(&self, bytes: &[u8]) -> Result<()> {
        if Digest::of(bytes) == self.component {
            return Ok(());
        }
        let message = format!("the bytes of `{}` are not the ones that were signed", self.release);
        Err(Error::new(ErrorKind::DigestMismatch, message)
            .hint("fetch it again; if it stays so, somebody changed them"))
    }

    /// Checks that what the bytes say is what was signed, so that a statement cannot promise less than they ask.
    pub fn check_manifest(&self, version: &Version, tools: Digest, grants: Digest) -> Result<()> {
        if *version == self.release.version && tools == self.tools && grants == self.grants {
            return Ok(());
        }
        let message = format!("what the bytes of `{}` say is not what its publisher signed", self.release);
        Err(Error::new(ErrorKind::DigestMismatch, message).hint("tell its publisher"))
    }
}

#[cfg(test)]
mod tests;
