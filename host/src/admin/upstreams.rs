//! What people decide about upstream MCP servers: which there are, and what of their words counts.
//!
//! Nothing here connects to one: what a server says was fetched before, and is shown before it is accepted.

use std::sync::Arc;

use super::Admin;
use crate::error::{Error, ErrorKind, Result};
use crate::manifest::check_name;
use crate::registry::{Capability, CapabilityName, Digest, Entry};
use crate::store::Upstream;
use crate::upstreams::{Definitions, LeftOut, Reach, offered};

/// What a server offers, not yet accepted: what a person decides about.
#[derive(Debug)]
pub struct UpstreamOffer {
    /// `mcp/<server>` with the manifest that its definitions make. `installed_at` is 0.
    pub capability: Capability,
    /// Tools that cannot be called, and why.
    pub left_out: Vec<LeftOut>,
    /// What it says.
    pub definitions: Definitions,
}

/// A server that was added.
#[derive(Debug)]
pub struct KnownUpstream {
    /// How it is reached, and what it said since.
    pub upstream: Upstream,
    /// Its install.
    pub entry: Arc<Entry>,
    /// What was accepted.
    pub pinned: Definitions,
    /// What it said since, when that is something else.
    pub held: Option<Definitions>,
}

impl Admin {
    /// What a server of this name offers with these definitions.
    pub fn offer_upstream(&self, name: &str, definitions: Definitions) -> Result<UpstreamOffer> {
        let installed = self.catalog.current()?.entries.get(&CapabilityName::of_upstream(name)).cloned();
        let acceptance = installed.map_or(1, |entry| entry.capability.manifest.version.major + 1);
        let offered = offered(name, &definitions, acceptance);
        let bytes = definitions.bytes();
        let capability = Capability {
            name: CapabilityName::of_upstream(name),
            digest: Digest::of(&bytes),
            manifest: offered.manifest,
            installed_at: 0,
            size: bytes.len() as u64,
        };
        Ok(UpstreamOffer { capability, left_out: offered.left_out, definitions })
    }

    /// Whether a server can be added under this name.
    pub fn check_new_upstream(&self, name: &str, reach: &Reach) -> Result<()> {
        if let Some(problem) = check_name(name) {
            return Err(Error::new(ErrorKind::Usage, format!("`{name}` is no name of a server: {problem}")));
        }
        if self.store.upstream(name)?.is_some() {
            return Err(Error::new(ErrorKind::Usage, format!("there is an MCP server `{name}` already"))
                .hint(format!("remit mcp show {name}\nremit mcp remove {name}")));
        }
        reach.check()
    }

    /// Adds a server, or accepts what it says now. Its secrets go where `reach` says from now on.
    pub fn accept_upstream(&self, reach: &Reach, offer: &UpstreamOffer) -> Result<()> {
        let before =
            self.catalog.current()?.entries.get(&offer.capability.name).map(|entry| entry.capability.digest);
        // The bytes are on disk before anything pins them, as with components.
        let digest = self.artifacts.write(&offer.definitions.bytes())?;
        if digest != offer.capability.digest {
            return Err(Error::internal("an offer's digest is that of its definitions"));
        }
        self.store.put_upstream(reach, &offer.capability)?;
        self.artifacts.write(&offer.definitions.bytes())?;
        match before.filter(|before| *before != digest) {
            Some(before) => self.remove_unpinned(before),
            None => Ok(()),
        }
    }

    /// All servers.
    pub fn upstreams(&self) -> Result<Vec<Upstream>> {
        self.store.upstreams()
    }

    /// One server.
    pub fn upstream(&self, name: &str) -> Result<KnownUpstream> {
        let Some(upstream) = self.store.upstream(name)? else { return Err(unknown(name)) };
        let entry = self.find(&CapabilityName::of_upstream(name))?;
        let pinned = Definitions::read(&self.artifacts.read(&entry.capability.digest)?);
        let pinned = pinned.ok_or_else(|| Error::internal("what is pinned of a server are definitions"))?;
        let held = upstream.held.as_ref().and_then(|held| Definitions::read(held.definitions.as_bytes()));
        Ok(KnownUpstream { upstream, entry, pinned, held })
    }

    /// Keeps what a server says now, to be accepted or not.
    pub fn hold_upstream(&self, known: &KnownUpstream, definitions: &Definitions) -> Result<()> {
        let is_other = known.pinned.digest() != definitions.digest();
        self.store.hold_upstream(&known.upstream.name, is_other.then(|| definitions.bytes()))
    }

    /// Removes a server with all that was decided about it.
    pub fn remove_upstream(&self, name: &str) -> Result<()> {
        if self.store.upstream(name)?.is_none() {
            return Err(unknown(name));
        }
        self.uninstall(&CapabilityName::of_upstream(name)).map(drop)
    }
}

fn unknown(name: &str) -> Error {
    Error::new(ErrorKind::RegistryNotFound, format!("there is no MCP server `{name}`")).hint("remit mcp list")
}
