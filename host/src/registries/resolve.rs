//! From the name of a release to bytes that are its publisher's and were approved, for whoever knows these keys.
//!
//! The registry is believed in nothing: every document is verified, and the bytes are those of the statement in their
//! digest, in the name and version that they say, in what they say of tools and in what they ask.

use super::Registry;
use crate::component::{inspect, read_manifest};
use crate::error::{Error, ErrorKind, Result};
use crate::registry::{Exact, Origin};
use crate::signing::{Owners, Verified, verify};

/// A release that may be installed, with its bytes.
#[derive(Debug)]
pub struct Resolved {
    /// What was signed about it.
    pub verified: Verified,
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// Who vouched for them, to be kept with the pin.
    pub origin: Origin,
}

/// Fetches and verifies one release. `progress` is told how many bytes came, and of how many.
pub async fn resolve(
    registry: &Registry,
    wanted: &Exact,
    owners: &Owners,
    progress: &mut (dyn FnMut(u64, u64) + Send),
) -> Result<Resolved> {
    let verified = verify(wanted, &registry.release(wanted).await?, owners)?.installable()?;
    let (reviewer, reviewed_at) = verified
        .approved
        .clone()
        .ok_or_else(|| Error::internal("a release that may be installed was approved"))?;
    let bytes = registry.bytes(&verified.component, progress).await?;
    check(&verified, &bytes)?;
    let origin =
        Origin { registry: registry.name().to_owned(), key: verified.signed_by.0.to_string(), reviewer, reviewed_at };
    Ok(Resolved { verified, bytes, origin })
}

/// Checks that these bytes are the ones that were signed, and say what was signed.
pub fn check(verified: &Verified, bytes: &[u8]) -> Result<()> {
    verified.check_bytes(bytes)?;
    inspect(bytes)?;
    let manifest = read_manifest(bytes)?;
    let name = &verified.release.name;
    if manifest.publisher != name.publisher || manifest.slug != name.slug {
        let message = format!("the bytes of `{name}` are those of `{}/{}`", manifest.publisher, manifest.slug);
        return Err(Error::new(ErrorKind::DigestMismatch, message).hint("tell its publisher"));
    }
    let (tools, grants) = (crate::manifest::tools_digest(&manifest), crate::manifest::grants_digest(&manifest));
    verified.check_manifest(&manifest.version, tools, grants)
}
