//! Where releases are published, and how they are fetched: a folder, or a `remit` host that serves one over HTTP.
//!
//! A registry keeps bytes and signed documents. It enforces who may add which (`directory.rs`), but nobody relies on
//! that: whoever installs verifies the same documents with the keys that they know (`resolve.rs`). Another way to carry
//! the documents is one more file, and one more arm of [`Registry`].

mod directory;
mod location;
mod open;
mod part;
mod remote;
mod resolve;
mod server;
mod state;
mod wire;

pub use directory::Directory;
pub use location::{InvalidLocation, Location};
pub use open::open;
pub use remote::Remote;
pub use resolve::{Resolved, check, resolve};
pub use server::serve;
pub use state::State;

use crate::error::{Error, ErrorKind, Result};
use crate::manifest::check_name;
use crate::registry::{Digest, Exact};
use crate::signing::{Decision, Release, Signed, Statement, Withdrawal};

/// A registry, by whichever way it is reached.
pub struct Registry {
    name: String,
    transport: Transport,
}

/// How a registry is reached.
pub enum Transport {
    /// In this file system.
    Directory(Directory),
    /// Over HTTP.
    Remote(Remote),
}

impl Registry {
    /// The registry that the settings call `name`.
    #[must_use]
    pub fn new(name: &str, transport: Transport) -> Self {
        Self { name: name.to_owned(), transport }
    }

    /// Its name in the settings.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Every release with its state, as the registry says.
    pub async fn list(&self) -> Result<Vec<(Exact, State)>> {
        match &self.transport {
            Transport::Directory(directory) => directory.list(),
            Transport::Remote(remote) => remote.list().await,
        }
    }

    /// What was signed about a release. Nothing is verified yet.
    pub async fn release(&self, wanted: &Exact) -> Result<Release> {
        let Exact { name, version } = wanted;
        exact(&name.publisher, &name.slug, &version.to_string())?;
        match &self.transport {
            Transport::Directory(directory) => directory.release(wanted),
            Transport::Remote(remote) => remote.release(wanted).await,
        }
    }

    /// The bytes of this digest, hashed. `progress` is told how many came, and of how many.
    pub async fn bytes(&self, digest: &Digest, progress: &mut (dyn FnMut(u64, u64) + Send)) -> Result<Vec<u8>> {
        match &self.transport {
            Transport::Directory(directory) => directory.bytes(digest),
            Transport::Remote(remote) => remote.bytes(digest, progress).await,
        }
    }

    /// Sends a release, which waits for a decision from then on. The same one twice is one.
    pub async fn submit(&self, statement: &Signed<Statement>, bytes: &[u8]) -> Result<State> {
        match &self.transport {
            Transport::Directory(directory) => directory.submit(statement, bytes),
            Transport::Remote(remote) => remote.submit(statement, bytes).await,
        }
    }

    /// Sends a reviewer's decision.
    pub async fn decide(&self, decision: &Signed<Decision>) -> Result<State> {
        match &self.transport {
            Transport::Directory(directory) => directory.decide(decision),
            Transport::Remote(remote) => remote.decide(decision).await,
        }
    }

    /// Sends a withdrawal.
    pub async fn withdraw(&self, withdrawal: &Signed<Withdrawal>) -> Result<State> {
        match &self.transport {
            Transport::Directory(directory) => directory.withdraw(withdrawal),
            Transport::Remote(remote) => remote.withdraw(withdrawal).await,
        }
    }
}

/// The release of these words. A registry makes folders of them, so names are those that a manifest may have.
fn exact(publisher: &str, slug: &str, version: &str) -> Result<Exact> {
    for name in [publisher, slug] {
        if let Some(problem) = check_name(name) {
            return Err(Error::new(ErrorKind::Usage, format!("`{name}` is no name: {problem}")));
        }
    }
    format!("{publisher}/{slug}@{version}").parse()
}

#[cfg(test)]
mod tests;
