//! The people's door: install, grant, approve, set a secret. Agents have no way to it.
//!
//! Decides what of a person's wish is within what the bytes declare; everything else it hands on. A wish is
//! done whole or not at all.

mod asks;
mod backup;
mod documents;
mod keys;
mod loops;
mod principals;
mod restrictions;
mod sandbox;
mod upstreams;
mod versions;

use std::sync::Arc;

use crate::audit::{Query, Record};
use crate::builtin;
use crate::component;
use crate::config::{Config, EntitiesConfig, LoopsConfig, SandboxConfig};
use crate::error::{Error, ErrorKind, Result};
use crate::manifest::Runtime;
use crate::policy::{Approval, Grant, asks, check_approval, check_grant, same_grant};
use crate::registry::{Artifacts, Capability, CapabilityName, Catalog, Digest, Entry, Origin, Snapshot};
use crate::secrets::{Connection, SecretKind, Vault};
use crate::standing::Standings;
use crate::store::{Decision, Store};

pub use self::backup::restore;
pub use self::documents::Imported;
pub use self::principals::{Allowance, KnownPrincipal};
pub use self::upstreams::{KnownUpstream, UpstreamOffer};
pub use self::versions::{Agreed, RolledBack, Synced, Upgrade};
pub use crate::namespaces::entities::rules::Sums;
pub use crate::namespaces::sandbox::File;
pub use crate::secrets::{KeyCheck, StoredSecret};
pub use crate::store::{Earlier, EntitySums, Holding, KeptConversation, OldDocument, Recalled};

/// How alike a name must be to be offered instead of one that is not there: 1 is the same.
const ALIKE: f64 = 0.85;

/// What people may do with one home.
pub struct Admin {
    store: Arc<Store>,
    artifacts: Artifacts,
    catalog: Arc<Catalog>,
    vault: Arc<Vault>,
    standings: Arc<Standings>,
    loops: LoopsConfig,
    entities: EntitiesConfig,
    sandbox: SandboxConfig,
}

/// A capability that was read, checked and not yet installed: what a person decides about.
#[derive(Debug)]
pub struct Offer {
    /// What the bytes say. `installed_at` is 0.
    pub capability: Capability,
    /// The component itself.
    pub bytes: Vec<u8>,
    /// Every grant it asks for: each namespace, and each entry of it.
    pub asks: Vec<Grant>,
    /// What is installed under this name already.
    pub replaces: Option<Arc<Entry>>,
    /// What was kept under this name before, and would be its own again.
    pub keeps: Sums,
    /// Who vouched for the bytes; `None` for those of a file.
    pub origin: Option<Origin>,
}

impl Admin {
    /// The people's door to these rooms.
    #[must_use]
    pub fn new(
        store: Arc<Store>,
        artifacts: Artifacts,
        catalog: Arc<Catalog>,
        vault: Arc<Vault>,
        standings: Arc<Standings>,
        config: &Config,
    ) -> Self {
        let Config { loops, entities, sandbox, .. } = config;
        let (loops, entities, sandbox) = (loops.clone(), *entities, *sandbox);
        Self { store, artifacts, catalog, vault, standings, loops, entities, sandbox }
    }

    /// Reads a component and checks every rule, without running it and without changing anything.
    pub fn offer(&self, bytes: Vec<u8>) -> Result<Offer> {
        let report = component::inspect(&bytes)?;
        let manifest = report.manifest;
        let name = CapabilityName { publisher: manifest.publisher.clone(), slug: manifest.slug.clone() };
        if builtin::find(&name).is_some() {
            let message = format!("choose another name: `{name}` is a capability of this program");
            return Err(Error::new(ErrorKind::ManifestInvalid, message).hint(format!("remit install {name}")));
        }
        Ok(Offer {
            asks: asks(&manifest),
            replaces: self.catalog.current()?.entries.get(&name).cloned(),
            keeps: self.kept(&name)?,
            capability: Capability { name, digest: report.digest, manifest, installed_at: 0, size: report.size },
            bytes,
            origin: None,
        })
    }

    /// What a capability of this program's own asks. Nothing when none has this name.
    pub fn offer_builtin(&self, name: &CapabilityName) -> Result<Option<Offer>> {
        let Some(builtin) = builtin::find(name) else { return Ok(None) };
        let (manifest, bytes) = (builtin.manifest()?, builtin.bytes().to_vec());
        let (digest, size) = (Digest::of(&bytes), bytes.len() as u64);
        Ok(Some(Offer {
            asks: asks(&manifest),
            replaces: self.catalog.current()?.entries.get(name).cloned(),
            keeps: self.kept(name)?,
            capability: Capability { name: name.clone(), digest, manifest, installed_at: 0, size },
            bytes,
            origin: None,
        }))
    }

    /// Installs what was offered with these grants, in one transaction; replaces another version, which is kept with
    /// its grants and approvals: none of them are carried over. Installing the same digest again only adds grants.
    /// Gives the digests that nobody needs any more; their bytes are gone.
    pub fn install(&self, offer: Offer, grants: &[Grant]) -> Result<Vec<Digest>> {
        let decision = Decision { grants: grants.to_vec(), ..Decision::default() };
        let record = self.replacing(&offer)?;
        self.pin(offer, Decision { record, ..decision })
    }

    /// Pins what was offered, as it was decided.
    fn pin(&self, offer: Offer, decision: Decision) -> Result<Vec<Digest>> {
        let Offer { capability, bytes, origin, .. } = offer;
        let grants = checked(&capability, &decision.grants)?;
        for approval in &decision.approvals {
            check_approval(&capability.manifest, approval)?;
        }
        // The bytes are on disk before anything pins them: a crash in between leaves a file, no broken pin.
        let digest = self.artifacts.write(&bytes)?;
        if digest != capability.digest {
            return Err(Error::internal("an offer's digest is that of its bytes"));
        }
        let left = self.store.pin(&capability, Decision { grants, origin, ..decision })?;
        // An uninstall of the same digest may have removed the file before it was pinned again.
        self.artifacts.write(&bytes)?;
        self.remove_all_unpinned(left)
    }

    /// Removes an install with its grants, approvals and earlier versions; its documents stay. The bytes go when no
    /// other install needs them. Gives the digest it was pinned to.
    pub fn uninstall(&self, name: &CapabilityName) -> Result<Digest> {
        let Some((digest, earlier)) = self.store.remove_install(name)? else {
            return Err(self.not_found(name)?);
        };
        self.remove_unpinned(digest)?;
        self.remove_all_unpinned(earlier)?;
        Ok(digest)
    }

    fn remove_all_unpinned(&self, digests: Vec<Digest>) -> Result<Vec<Digest>> {
        digests.iter().try_for_each(|digest| self.remove_unpinned(*digest))?;
        Ok(digests)
    }

    fn remove_unpinned(&self, digest: Digest) -> Result<()> {
        let artifacts = self.artifacts.clone();
        self.store.while_unpinned(&digest, move || artifacts.remove(&digest))
    }

    /// All installs.
    pub fn installed(&self) -> Result<Arc<Snapshot>> {
        self.catalog.current()
    }

    /// One install; `registry/not-found` names similar ones.
    pub fn find(&self, name: &CapabilityName) -> Result<Arc<Entry>> {
        match self.catalog.current()?.entries.get(name) {
            Some(entry) => Ok(Arc::clone(entry)),
            None => Err(self.not_found(name)?),
        }
    }

    /// Adds grants to the installed digest. Each must be within what the manifest declares.
    pub fn grant(&self, name: &CapabilityName, grants: &[Grant]) -> Result<()> {
        let capability = &self.find(name)?.capability;
        self.store.add_grants(name, &capability.digest, &checked(capability, grants)?)?;
        self.close_given();
        Ok(())
    }

    /// Takes grants back; a namespace's own row takes its entries along. Gives how many rows went.
    pub fn revoke(&self, name: &CapabilityName, grants: &[Grant]) -> Result<usize> {
        let entry = self.find(name)?;
        let stored: Vec<_> = entry
            .grants
            .iter()
            .filter(|stored| grants.iter().any(|grant| same_grant(grant, stored)))
            .cloned()
            .collect();
        self.store.remove_grants(name, &stored)
    }

    /// Stores a value, encrypted. Refuses values that cannot be kept out of answers (too short, too common).
    pub fn set_secret(&self, name: &str, value: &[u8]) -> Result<()> {
        self.vault.set(name, value)
    }

    /// Stores a value that is not put in any more from `expires_at` on, in milliseconds since 1970.
    pub fn set_secret_until(&self, name: &str, value: &[u8], expires_at: i64) -> Result<()> {
        self.vault.set_with(name, SecretKind::Value, value, Some(expires_at))
    }

    /// Stores a connection to an account, encrypted; its access token is what a placeholder stands for.
    pub fn connect(&self, name: &str, connection: &Connection) -> Result<()> {
        self.vault.set_connection(name, connection)
    }

    /// The connection that is stored under this name, to connect it again.
    pub fn connection(&self, name: &str) -> Result<Option<Connection>> {
        self.vault.connection(name)
    }

    /// Removes a value with all that was kept of it: answers are not searched for it any more. Gives whether there was
    /// one.
    pub fn remove_secret(&self, name: &str) -> Result<bool> {
        self.vault.remove(name)
    }

    /// Seals every stored value with a new key, and removes the old one. Gives how many values there are.
    pub fn rotate_key(&self) -> Result<usize> {
        self.vault.rotate_key()
    }

    /// Names and times of the stored secrets.
    pub fn secrets(&self) -> Result<Vec<StoredSecret>> {
        self.vault.list()
    }

    /// Whether the key opens every stored secret.
    pub fn check_secrets(&self) -> Result<KeyCheck> {
        self.vault.check()
    }

    /// Whether the bytes of each install are there and are the ones that were installed.
    pub fn check_components(&self) -> Result<Vec<(CapabilityName, Result<()>)>> {
        let snapshot = self.catalog.current()?;
        let check = |entry: &Arc<Entry>| {
            let Capability { digest, manifest, .. } = &*entry.capability;
            let bytes = self.artifacts.read(digest)?;
            // Of an upstream server, what it said is kept, and a capability of this program is checked by itself.
            match manifest.runtime {
                Runtime::Mcp | Runtime::Builtin => Ok(()),
                _ => component::agrees(&bytes, manifest),
            }
        };
        Ok(snapshot.entries.iter().map(|(name, entry)| (name.clone(), check(entry))).collect())
    }

    /// Lets a secret of an installed digest go to a host, in a place. Each approval must be within what the
    /// manifest declares for that secret, and takes the place of an earlier one, and of its end.
    pub fn approve(&self, name: &CapabilityName, approvals: &[Approval]) -> Result<()> {
        let capability = &self.find(name)?.capability;
        for approval in approvals {
            check_approval(&capability.manifest, approval)?;
        }
        self.store.add_approvals(name, &capability.digest, approvals)?;
        self.close_given();
        Ok(())
    }

    /// Takes back every approval of one secret of one install. Gives how many there were.
    pub fn disapprove(&self, name: &CapabilityName, secret: &str) -> Result<usize> {
        self.find(name)?;
        self.store.remove_approvals(name, secret)
    }

    /// Records of calls, newest first.
    pub fn records(&self, query: &Query) -> Result<Vec<Record>> {
        self.store.records(query)
    }

    fn not_found(&self, name: &CapabilityName) -> Result<Error> {
        let error = Error::new(ErrorKind::RegistryNotFound, format!("`{name}` is not installed"));
        let snapshot = self.catalog.current()?;
        let alike = snapshot
            .entries
            .keys()
            .map(|installed| (strsim::jaro_winkler(&installed.to_string(), &name.to_string()), installed))
            .filter(|(alike, installed)| *alike >= ALIKE || installed.slug == name.slug)
            .max_by(|(one, _), (other, _)| one.total_cmp(other));
        Ok(error.hint(match alike {
            Some((_, installed)) => format!("did you mean `{installed}`?"),
            None => "`remit list` shows what is installed".to_owned(),
        }))
    }
}

/// Checks each grant against the declaration. Whoever grants an entry grants its namespace.
fn checked(capability: &Capability, grants: &[Grant]) -> Result<Vec<Grant>> {
    let mut checked = Vec::new();
    for grant in grants {
        check_grant(&capability.manifest, grant)?;
        checked.push(Grant { namespace: grant.namespace, entry: None });
        checked.push(grant.clone());
    }
    Ok(checked)
}

#[cfg(test)]
mod tests;
