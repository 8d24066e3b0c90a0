//! What people do with versions: go to another one with what still stands, go back, withdraw a release, and make a home
//! as a lock says. Part of the people's door.

use std::collections::BTreeMap;
use std::sync::Arc;

use semver::Version;

use super::{Admin, Decision, Offer, checked};
use crate::audit::Record;
use crate::builtin;
use crate::error::{Error, ErrorKind, Result};
use crate::manifest::{Manifest, grants_digest, tools_digest};
use crate::policy::{Grant, check_approval};
use crate::registry::{Against, Capability, CapabilityName, Digest, Entry, Exact, Recall};
use crate::review::difference::{About, Change, Weight, Widening, changes, widenings};
use crate::store::{Earlier, Recalled, not_kept};
use crate::versions::lock::{ENGINE, Lock, Locked, Position};
use crate::versions::{Carried, carry};

/// Another version of what is installed: what a person decides about.
#[derive(Debug)]
pub struct Upgrade {
    /// The version itself.
    pub offer: Offer,
    /// What is installed now.
    pub before: Arc<Entry>,
    /// What of the decisions about it stands.
    pub carried: Carried,
    /// What it would have beyond that: each a question of its own.
    pub widenings: Vec<Widening>,
    /// Every field that differs.
    pub changes: Vec<Change>,
}

/// What a person agreed to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Agreed {
    /// Grants beside those that stand.
    pub grants: Vec<Grant>,
    /// What was agreed to that is no grant.
    pub about: Vec<About>,
    /// What its words and its contract with callers say now.
    pub changes: bool,
}

/// A return to what was pinned before.
#[derive(Clone, Debug)]
pub struct RolledBack {
    /// The version that was left.
    pub from: Version,
    /// What is pinned again.
    pub to: Earlier,
    /// Digests that nobody needs any more; their bytes are gone.
    pub left: Vec<Digest>,
}

/// What following a lock did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Synced {
    /// Releases that were pinned, or whose grants were made those of the lock.
    pub changed: Vec<Exact>,
    /// Releases that were removed.
    pub removed: Vec<Exact>,
    /// Releases that the lock does not name, and that were left.
    pub extra: Vec<Exact>,
    /// Digests that nobody needs any more; their bytes are gone.
    pub left: Vec<Digest>,
}

impl Upgrade {
    /// Every widening that is a grant, as it is asked for.
    #[must_use]
    pub fn asked(&self) -> Vec<Grant> {
        let grant = |widening: &Widening| match &widening.about {
            About::Grant(grant) => Some(grant.clone()),
            _ => None,
        };
        self.widenings.iter().filter_map(grant).collect()
    }

    /// Whether its words, or what callers rely on, are others. What it asks is asked apart.
    #[must_use]
    pub fn says_otherwise(&self) -> bool {
        self.changes.iter().any(|change| change.weight != Weight::Asks)
    }

    /// What came with the version and was not agreed to.
    #[must_use]
    pub fn not_agreed(&self, agreed: &Agreed) -> Vec<&Widening> {
        let is_open =
            |widening: &&Widening| widening.about.word().is_some() && !agreed.about.contains(&widening.about);
        self.widenings.iter().filter(is_open).collect()
    }
}

impl Admin {
    /// What changes when an offered version takes the place of the installed one.
    pub fn upgrade(&self, offer: Offer) -> Result<Upgrade> {
        let name = &offer.capability.name;
        let before = self.find(name)?;
        if before.capability.digest == offer.capability.digest {
            let message = format!("`{name}` {} is installed already", before.capability.manifest.version);
            return Err(Error::new(ErrorKind::VersionExists, message).hint(format!("remit show {name}")));
        }
        let (old, new) = (&before.capability.manifest, &offer.capability.manifest);
        Ok(Upgrade {
            carried: carry(old, new, &before.grants, &before.approvals),
            widenings: widenings(old, new),
            changes: changes(old, new),
            before,
            offer,
        })
    }

    /// Puts another version in the place of the installed one, with what stands and what was agreed to, in one
    /// transaction. Refused when something that comes with it was not agreed to, and when something else is installed
    /// since. Gives the digests that nobody needs any more.
    pub fn apply(&self, upgrade: Upgrade, agreed: &Agreed) -> Result<Vec<Digest>> {
        let open: Vec<_> = upgrade.not_agreed(agreed).into_iter().map(|widening| widening.what.clone()).collect();
        if !open.is_empty() {
            let message = format!("nobody agreed that {}", open.join("; that "));
            return Err(Error::new(ErrorKind::NotAllowed, message));
        }
        if upgrade.says_otherwise() && !agreed.changes {
            let message = "nobody agreed to what it says otherwise than before";
            return Err(Error::new(ErrorKind::NotAllowed, message));
        }
        let record = self.replacing(&upgrade.offer)?;
        let Upgrade { offer, before, carried, .. } = upgrade;
        let grants = carried.grants.into_iter().chain(agreed.grants.iter().cloned()).collect();
        let (approvals, over) = (carried.approvals, Some(before.capability.digest));
        self.pin(offer, Decision { grants, approvals, over, record, ..Decision::default() })
    }

    /// The bytes of this digest, checked.
    pub fn bytes(&self, digest: &Digest) -> Result<Vec<u8>> {
        self.artifacts.read(digest)
    }

    /// The versions that a name was pinned to before, the newest first.
    pub fn earlier(&self, name: &CapabilityName) -> Result<Vec<Earlier>> {
        self.store.earlier(name)
    }

    /// Returns to the version that was pinned before, or to the one that is named, with what was decided about it then,
    /// less what was taken back since. In one transaction; what is pinned now is kept.
    pub fn roll_back(&self, name: &CapabilityName, to: Option<&Version>) -> Result<RolledBack> {
        let entry = self.find(name)?;
        let is_meant = |earlier: &Earlier| match to {
            Some(version) => earlier.version == *version,
            None => !earlier.was_rolled_back,
        };
        let Some(to) = self.store.earlier(name)?.into_iter().find(is_meant) else { return Err(not_kept(name)) };
        // Before the pin: one whose bytes are gone is no way back.
        self.artifacts.read(&to.digest)?;
        let Capability { digest, manifest, .. } = &*entry.capability;
        let detail = format!("from {} ({digest}) to {} ({})", manifest.version, to.version, to.digest);
        let record = self.record_of_version(name, "rollback", Some(to.digest), detail)?;
        let left = self.store.roll_back(name, digest, &to.digest, record)?;
        Ok(RolledBack { from: manifest.version.clone(), left: self.remove_all_unpinned(left)?, to })
    }

    /// Says for this home that a release must not run: from the next call on, in every process.
    pub fn revoke_release(&self, release: &Exact, reason: Option<String>) -> Result<Recalled> {
        let (against, at) = (Against::Revoked, self.store.now_ms());
        self.hear(release, &Recall { against, reason, source: None, at })
    }

    /// Takes that back. Loops stay paused. Gives whether it had been said.
    pub fn allow_release(&self, release: &Exact) -> Result<bool> {
        let record = self.record_of_version(&release.name, "allow", None, release.to_string())?;
        self.store.lift_recall(release, None, record)
    }

    /// Keeps what somebody said against a release.
    pub fn hear(&self, release: &Exact, recall: &Recall) -> Result<Recalled> {
        let (verb, detail) = (recall.against.as_str(), format!("{release}: {}", recall.account()));
        let record = self.record_of_version(&release.name, verb, None, detail)?;
        self.store.recall(release, recall, record)
    }

    /// What is known against a release.
    pub fn recall_of(&self, release: &Exact) -> Result<Option<Recall>> {
        self.store.recall_of(release)
    }

    /// What is installed, to be written down. Upstream servers are no releases.
    pub fn lock(&self) -> Result<Lock> {
        let snapshot = self.catalog.current()?;
        let entries = snapshot.entries.values().filter(|entry| !entry.capability.name.is_upstream());
        let locked = |entry: &Arc<Entry>| {
            let Capability { name, digest, manifest, .. } = &*entry.capability;
            Locked {
                name: name.clone(),
                version: manifest.version.clone(),
                component: *digest,
                tools: tools_digest(manifest),
                grants: grants_digest(manifest),
                granted: entry.grants.clone(),
                approved: entry.approvals.clone(),
                origin: entry.origin.clone(),
                engine: ENGINE.to_owned(),
                position: Position::default(),
            }
            .in_order()
        };
        Ok(Lock { entries: entries.map(locked).collect() })
    }

    /// The entries of a lock whose bytes are not in this home.
    pub fn missing(&self, lock: &Lock) -> Result<Vec<Locked>> {
        let mut missing = Vec::new();
        for locked in &lock.entries {
            if self.bytes_here(locked)?.is_none() {
                missing.push(locked.clone());
            }
        }
        Ok(missing)
    }

    /// Makes this home as a lock says; `fetched` are bytes that are not in it, by the digests that the lock names. All
    /// is checked before anything changes. What the lock does not name goes only with `prune`.
    pub fn follow(&self, lock: &Lock, fetched: &BTreeMap<Digest, Vec<u8>>, prune: bool) -> Result<Synced> {
        let mut offers = Vec::new();
        for locked in &lock.entries {
            offers.push((locked, self.locked_offer(locked, fetched)?));
        }
        let here = self.lock()?;
        let mut synced = Synced::default();
        for (locked, offer) in offers {
            // What ran the code when the lock was written is no decision.
            let is_the_same = |entry: &Locked| *entry == Locked { engine: entry.engine.clone(), ..locked.clone() };
            if !here.entries.iter().any(is_the_same) {
                synced.left.extend(self.pin_locked(locked, offer)?);
                synced.changed.push(locked.release());
            }
        }
        for extra in
            here.entries.iter().filter(|entry| lock.entries.iter().all(|locked| locked.name != entry.name))
        {
            if prune {
                synced.left.push(self.uninstall(&extra.name)?);
                synced.removed.push(extra.release());
            } else {
                synced.extra.push(extra.release());
            }
        }
        Ok(synced)
    }

    fn pin_locked(&self, locked: &Locked, offer: Offer) -> Result<Vec<Digest>> {
        let record = self.replacing(&offer)?;
        let offer = Offer { origin: locked.origin.clone(), ..offer };
        let over = offer.replaces.as_ref().map(|entry| entry.capability.digest);
        let (grants, approvals) = (locked.granted.clone(), locked.approved.clone());
        self.pin(offer, Decision { grants, approvals, exactly: true, over, locked: true, record, origin: None })
    }

    /// What a lock names, once its bytes are known to be those and to say what the lock says of them.
    fn locked_offer(&self, locked: &Locked, fetched: &BTreeMap<Digest, Vec<u8>>) -> Result<Offer> {
        let release = locked.release();
        let bytes = match fetched.get(&locked.component) {
            Some(bytes) => Some(bytes.clone()),
            None => self.bytes_here(locked)?,
        };
        let Some(bytes) = bytes else {
            let message =
                format!("the bytes of `{release}` are not in this home, and the lock names no registry for them");
            return Err(Error::new(ErrorKind::LockSource, message)
                .hint("remit install FILE brings them here, then remit sync --locked"));
        };
        if Digest::of(&bytes) != locked.component {
            let message = format!("what came for `{release}` is not what the lock names");
            return Err(Error::new(ErrorKind::DigestMismatch, message).detail(format!(
                "{} came, {} is locked",
                Digest::of(&bytes),
                locked.component
            )));
        }
        let offer = match self.offer_builtin(&locked.name)? {
            Some(offer) => offer,
            None => self.offer(bytes)?,
        };
        let manifest = &offer.capability.manifest;
        let of_line = |error: Error| {
            let message = format!("`remit.lock` line {}: {}", locked.position.0, error.message);
            Error { message, ..error }
        };
        if let Some(what) = says_otherwise(locked, &offer.capability, manifest) {
            let error =
                Error::new(ErrorKind::LockMismatch, format!("the bytes of `{release}` say otherwise: {what}"));
            return Err(of_line(error.hint("remit lock writes the file anew from what is installed")));
        }
        checked(&offer.capability, &locked.granted).map_err(of_line)?;
        locked.approved.iter().try_for_each(|approval| check_approval(manifest, approval)).map_err(of_line)?;
        match self.store.recall_of(&release)? {
            Some(recall) if recall.against == Against::Revoked => {
                Err(of_line(recall.refusal(&locked.name, &locked.version)))
            }
            _ => Ok(offer),
        }
    }

    /// The bytes of a locked release, when this home has them: installed, installed before, or its program's own.
    fn bytes_here(&self, locked: &Locked) -> Result<Option<Vec<u8>>> {
        if let Some(builtin) = builtin::find(&locked.name) {
            return Ok(Some(builtin.bytes().to_vec()));
        }
        Ok(self.artifacts.read(&locked.component).ok())
    }

    /// What is recorded when an offer takes the place of other bytes; nothing when it does not.
    pub(super) fn replacing(&self, offer: &Offer) -> Result<Option<Record>> {
        let Capability { name, digest, manifest, .. } = &offer.capability;
        let Some(before) = offer.replaces.as_ref().filter(|before| before.capability.digest != *digest) else {
            return Ok(None);
        };
        let old = &before.capability;
        let verb = if manifest.version < old.manifest.version { "downgrade" } else { "upgrade" };
        let detail = format!("from {} ({}) to {} ({digest})", old.manifest.version, old.digest, manifest.version);
        self.record_of_version(name, verb, Some(*digest), detail).map(Some)
    }

    fn record_of_version(
        &self,
        name: &CapabilityName,
        verb: &str,
        digest: Option<Digest>,
        detail: String,
    ) -> Result<Record> {
        let (capability, digest) = (name.to_string(), digest.map(|digest| digest.to_string()));
        Ok(Record { capability, digest, detail: Some(detail), ..self.record_of(format!("versions.{verb}"))? })
    }
}

/// What of a lock's entry is not what the bytes say.
fn says_otherwise(locked: &Locked, capability: &Capability, manifest: &Manifest) -> Option<String> {
    let Capability { name, digest, .. } = capability;
    let pairs = [
        ("name", locked.name.to_string(), name.to_string()),
        ("version", locked.version.to_string(), manifest.version.to_string()),
        ("component", locked.component.to_string(), digest.to_string()),
        ("tools", locked.tools.to_string(), tools_digest(manifest).to_string()),
        ("grants", locked.grants.to_string(), grants_digest(manifest).to_string()),
    ];
    let (what, _, said) = pairs.into_iter().find(|(_, locked, said)| locked != said)?;
    Some(format!("{what} {said}"))
}
