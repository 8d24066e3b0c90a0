//! The rows of installs: which digest a name is pinned to.

use std::collections::{BTreeMap, HashMap};

use rusqlite::{Connection, OptionalExtension, Row};
use semver::Version;

use super::failure::damaged;
use super::{
    Store, calls, count, earlier, formats, grants, presets, principals, read_count, read_generation, recalls,
    restrictions, upstreams, withdrawn,
};
use crate::audit::Record;
use crate::error::{Error, ErrorKind, Result};
use crate::manifest::{Manifest, Runtime};
use crate::policy::{Approval, Directory, Grant, Restriction};
use crate::registry::{Capability, CapabilityName, Digest, Origin, Recall, Withdrawn};
use crate::tokens::{StoredToken, TokenHash};

/// One install as it is stored.
pub(crate) struct Install {
    pub(crate) digest: Digest,
    pub(crate) size: u64,
    pub(crate) installed_at: i64,
    /// JSON text; `None` when the reader said that it knows this pin.
    pub(crate) manifest: Option<String>,
    pub(crate) grants: Vec<Grant>,
    pub(crate) approvals: Vec<Approval>,
    pub(crate) restrictions: Vec<Restriction>,
    pub(crate) withdrawn: Withdrawn,
    pub(crate) recall: Option<Recall>,
    pub(crate) origin: Option<Origin>,
}

/// What was decided about bytes that are to be pinned.
#[derive(Clone, Debug, Default)]
pub(crate) struct Decision {
    pub(crate) grants: Vec<Grant>,
    pub(crate) approvals: Vec<Approval>,
    /// Nothing but these: what the same bytes were granted before goes.
    pub(crate) exactly: bool,
    /// What the person saw to be pinned, and decided against.
    pub(crate) over: Option<Digest>,
    /// It was decided before, by whoever wrote a lock file: a yank does not stand against it.
    pub(crate) locked: bool,
    /// Who vouched for the bytes.
    pub(crate) origin: Option<Origin>,
    /// Written when other bytes take the place of the pinned ones.
    pub(crate) record: Option<Record>,
}

/// All installs of one moment, and who may call them.
pub(crate) struct Installs {
    pub(crate) generation: u64,
    pub(crate) by_name: BTreeMap<CapabilityName, Install>,
    pub(crate) directory: Directory,
    pub(crate) tokens: HashMap<TokenHash, StoredToken>,
}

impl Store {
    /// Reads all installs with what people decided about them, in one transaction. `knows` says for which
    /// pins (name, digest, time of install) the manifest is not needed again.
    pub(crate) fn installs(&self, knows: impl Fn(&CapabilityName, &Digest, i64) -> bool) -> Result<Installs> {
        self.read(|connection| {
            let mut by_name = BTreeMap::new();
            let mut statement = connection
                .prepare_cached("SELECT publisher, slug, digest, size, installed_at, manifest FROM installs")?;
            let mut rows = statement.query([])?;
            while let Some(row) = rows.next()? {
                let name = CapabilityName { publisher: row.get(0)?, slug: row.get(1)? };
                let digest = read_digest(row, 2)?;
                let installed_at = row.get(4)?;
                let manifest = if knows(&name, &digest, installed_at) { None } else { Some(row.get(5)?) };
                let size = read_count(row, 3)?;
                let (grants, approvals, restrictions) = (Vec::new(), Vec::new(), Vec::new());
                let install = Install {
                    digest,
                    size,
                    installed_at,
                    manifest,
                    grants,
                    approvals,
                    restrictions,
                    withdrawn: Withdrawn::default(),
                    recall: None,
                    origin: None,
                };
                by_name.insert(name, install);
            }
            grants::read_into(connection, &mut by_name)?;
            withdrawn::read_into(connection, &mut by_name)?;
            restrictions::read_into(connection, &mut by_name)?;
            recalls::read_into(connection, &mut by_name)?;
            let directory = principals::read_directory(connection)?;
            let tokens = principals::read_tokens(connection)?;
            Ok(Installs { generation: read_generation(connection)?, by_name, directory, tokens })
        })
    }

    /// Pins a capability with what was decided about its bytes. The same digest again only gets the grants; another
    /// version takes the place of the one that is there, which is kept with its own grants and approvals. Restrictions
    /// stay. Gives the digests that nobody needs any more.
    pub(crate) fn pin(&self, capability: &Capability, decision: Decision) -> Result<Vec<Digest>> {
        let (pin, now) = (Pin::of(capability)?, self.now_ms());
        self.write(move |connection| pin.put(connection, &decision, now))
    }

    /// Removes an install with its grants, approvals, restrictions and earlier versions. Gives the digest it was
    /// pinned to, then those of the earlier versions.
    pub(crate) fn remove_install(&self, name: &CapabilityName) -> Result<Option<(Digest, Vec<Digest>)>> {
        let (name, now) = (name.clone(), self.now_ms());
        self.write(move |connection| {
            let pin = read_pin(connection, &name)?;
            let earlier = remove(connection, &name)?;
            presets::sync(connection, &name, now)?;
            Ok(pin.map(|(_, digest)| (digest, earlier)))
        })
    }

    /// Runs `remove` when no install pins the digest or pinned it before, and lets none pin it meanwhile.
    pub(crate) fn while_unpinned(
        &self,
        digest: &Digest,
        remove: impl FnOnce() -> Result<()> + Send + 'static,
    ) -> Result<()> {
        let digest = digest.to_string();
        // A transaction that changes nothing: what counts is that it holds the lock for writing.
        self.write(move |connection| {
            let pinned: bool = connection.query_row(
                "SELECT EXISTS (SELECT 1 FROM installs WHERE digest = ?1)
                 OR EXISTS (SELECT 1 FROM earlier WHERE digest = ?1)",
                [digest],
                |row| row.get(0),
            )?;
            if pinned { Ok(()) } else { remove() }
        })
    }
}

/// What is written of a capability that is pinned.
pub(super) struct Pin {
    pub(super) name: CapabilityName,
    pub(super) version: Version,
    pub(super) digest: Digest,
    size: u64,
    manifest: Manifest,
    text: String,
}

impl Pin {
    pub(super) fn of(capability: &Capability) -> Result<Self> {
        let text = serde_json::to_string(&capability.manifest)
            .map_err(|error| Error::internal("a manifest is JSON").detail(error))?;
        let (name, manifest) = (capability.name.clone(), capability.manifest.clone());
        let (digest, size) = (capability.digest, capability.size);
        Ok(Self { name, version: manifest.version.clone(), digest, size, manifest, text })
    }

    /// Writes it, in the transaction of `connection`. Gives the digests that nobody needs any more.
    pub(super) fn put(&self, connection: &Connection, decision: &Decision, now: i64) -> Result<Vec<Digest>> {
        let Self { name, digest, .. } = self;
        if let Some(seen) = &decision.over {
            grants::refuse_changed_pin(connection, name, seen)?;
        }
        let installed = read_pin(connection, name)?;
        let mut left = Vec::new();
        if installed.as_ref().is_none_or(|(_, installed)| installed != digest) {
            self.refuse_recalled(connection, decision)?;
            earlier::refuse_other_bytes(connection, self)?;
            if let Some((version, installed)) = installed {
                refuse_other_bytes(name, &self.version, &version)?;
                if self.can_return() {
                    earlier::keep(connection, name, earlier::Left::Replaced, now)?;
                } else {
                    left.push(installed);
                }
                delete(connection, name)?;
                restrictions::tighten(connection, name)?;
                if let Some(record) = &decision.record {
                    calls::put(connection, record, None)?;
                }
            }
            formats::enter(connection, name, &self.manifest)?;
            self.insert(connection, now)?;
            earlier::forget(connection, name, digest)?;
            left.extend(earlier::trim(connection, name)?);
        } else if decision.exactly {
            grants::clear(connection, name)?;
        }
        grants::insert(connection, name, digest, &decision.grants)?;
        grants::insert_approvals(connection, name, digest, &decision.approvals)?;
        if let Some(origin) = &decision.origin {
            recalls::put_origin(connection, name, digest, origin)?;
        }
        presets::sync(connection, name, now)?;
        Ok(left)
    }

    /// What was revoked is pinned by nobody, what was yanked only by whoever decided for it before.
    fn refuse_recalled(&self, connection: &Connection, decision: &Decision) -> Result<()> {
        if decision.locked {
            recalls::refuse_revoked(connection, &self.name, &self.version)
        } else {
            recalls::refuse_recalled(connection, &self.name, &self.version)
        }
    }

    /// Whether what it takes the place of is kept. An upstream server is what it says now, and a capability of this
    /// program comes with it.
    fn can_return(&self) -> bool {
        !matches!(self.manifest.runtime, Runtime::Mcp | Runtime::Builtin)
    }

    fn insert(&self, connection: &Connection, now: i64) -> Result<()> {
        let Self { name, version, digest, size, text, .. } = self;
        connection
            .prepare_cached(
                "INSERT INTO installs (publisher, slug, version, digest, size, installed_at, manifest)
                     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
            )?
            .execute((
                &name.publisher,
                &name.slug,
                version.to_string(),
                digest.to_string(),
                count(*size),
                now,
                text,
            ))?;
        Ok(())
    }
}

/// The version and digest that `name` is pinned to.
pub(super) fn read_pin(connection: &Connection, name: &CapabilityName) -> Result<Option<(Version, Digest)>> {
    let row = connection
        .prepare_cached("SELECT version, digest FROM installs WHERE publisher = ?1 AND slug = ?2")?
        .query_row((&name.publisher, &name.slug), |row| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?)))
        .optional()?;
    row.map(|(version, digest)| {
        let version = Version::parse(&version).map_err(|_| damaged(format!("version of {name}")))?;
        let digest = digest.parse().map_err(|_| damaged(format!("digest of {name}")))?;
        Ok((version, digest))
    })
    .transpose()
}

fn read_digest(row: &Row<'_>, column: usize) -> Result<Digest> {
    row.get_ref(column)?
        .as_str()
        .ok()
        .and_then(|text| text.parse().ok())
        .ok_or_else(|| damaged("a digest in `installs`"))
}

/// A version means the same bytes for ever. Build metadata (`+…`) does not make another version.
pub(super) fn refuse_other_bytes(name: &CapabilityName, version: &Version, installed: &Version) -> Result<()> {
    if version.cmp_precedence(installed).is_ne() {
        return Ok(());
    }
    Err(Error::new(
        ErrorKind::VersionExists,
        format!("version {installed} of `{name}` is installed already with other bytes"),
    )
    .hint(format!("raise `version` in `capability.json`, or run `remit uninstall {name}` first")))
}

/// Removes an install with its earlier versions, and how it is reached when it is an upstream server. Gives the digests
/// of the earlier versions.
pub(super) fn remove(connection: &Connection, name: &CapabilityName) -> Result<Vec<Digest>> {
    upstreams::forget(connection, name)?;
    restrictions::delete(connection, name)?;
    delete(connection, name)?;
    let earlier = earlier::forget_all(connection, name)?;
    recalls::forget_origins(connection, name)?;
    Ok(earlier)
}

pub(super) fn delete(connection: &Connection, name: &CapabilityName) -> Result<()> {
    connection
        .prepare_cached("DELETE FROM installs WHERE publisher = ?1 AND slug = ?2")?
        .execute((&name.publisher, &name.slug))?;
    Ok(())
}

#[cfg(test)]
impl Store {
    /// Pins with these grants, and nothing else to say about it.
    pub(crate) fn put_install(&self, capability: &Capability, grants: &[Grant]) -> Result<()> {
        self.pin(capability, Decision { grants: grants.to_vec(), ..Decision::default() }).map(drop)
    }

    /// What a program of another version could have written.
    pub(crate) fn set_manifest_text(&self, name: &CapabilityName, text: &str) -> Result<()> {
        let (slug, text) = (name.slug.clone(), text.to_owned());
        self.write(move |connection| {
            connection.execute("UPDATE installs SET manifest = ?2 WHERE slug = ?1", (slug, text))?;
            Ok(())
        })
    }
}
