//! The rows of installs: which digest a name is pinned to.

use std::collections::{BTreeMap, HashMap};

use rusqlite::{Connection, OptionalExtension, Row};
use semver::Version;

use super::failure::damaged;
use super::{
    Store, count, grants, presets, principals, read_count, read_generation, restrictions, upstreams, withdrawn,
};
use crate::error::{Error, ErrorKind, Result};
use crate::policy::{Approval, Directory, Grant, Restriction};
use crate::registry::{Capability, CapabilityName, Digest, Withdrawn};
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
                };
                by_name.insert(name, install);
            }
            grants::read_into(connection, &mut by_name)?;
            withdrawn::read_into(connection, &mut by_name)?;
            restrictions::read_into(connection, &mut by_name)?;
            let directory = principals::read_directory(connection)?;
            let tokens = principals::read_tokens(connection)?;
            Ok(Installs { generation: read_generation(connection)?, by_name, directory, tokens })
        })
    }

    /// Pins a capability with these grants. The same digest again only gets the grants; another version
    /// takes the place of the one that is there, whose grants and approvals go with it. Its restrictions stay.
    pub(crate) fn put_install(&self, capability: &Capability, grants: &[Grant]) -> Result<()> {
        let (pin, grants, now) = (Pin::of(capability)?, grants.to_vec(), self.now_ms());
        self.write(move |connection| pin.put(connection, &grants, now))
    }

    /// Removes an install with its grants, approvals and restrictions. Gives the digest it was pinned to.
    pub(crate) fn remove_install(&self, name: &CapabilityName) -> Result<Option<Digest>> {
        let (name, now) = (name.clone(), self.now_ms());
        self.write(move |connection| {
            let pin = read_pin(connection, &name)?;
            remove(connection, &name)?;
            presets::sync(connection, &name, now)?;
            Ok(pin.map(|(_, digest)| digest))
        })
    }

    /// Runs `remove` when no install pins the digest, and lets none pin it meanwhile.
    pub(crate) fn while_unpinned(
        &self,
        digest: &Digest,
        remove: impl FnOnce() -> Result<()> + Send + 'static,
    ) -> Result<()> {
        let digest = digest.to_string();
        // A transaction that changes nothing: what counts is that it holds the lock for writing.
        self.write(move |connection| {
            let pinned: bool = connection.query_row(
                "SELECT EXISTS (SELECT 1 FROM installs WHERE digest = ?1)",
                [digest],
                |row| row.get(0),
            )?;
            if pinned { Ok(()) } else { remove() }
        })
    }
}

/// What is written of a capability that is pinned.
pub(super) struct Pin {
    name: CapabilityName,
    version: Version,
    digest: Digest,
    size: u64,
    manifest: String,
}

impl Pin {
    pub(super) fn of(capability: &Capability) -> Result<Self> {
        let manifest = serde_json::to_string(&capability.manifest)
            .map_err(|error| Error::internal("a manifest is JSON").detail(error))?;
        let (name, version) = (capability.name.clone(), capability.manifest.version.clone());
        Ok(Self { name, version, digest: capability.digest, size: capability.size, manifest })
    }

    /// Writes it, in the transaction of `connection`.
    pub(super) fn put(&self, connection: &Connection, grants: &[Grant], now: i64) -> Result<()> {
        let Self { name, version, digest, size, manifest } = self;
        let installed = read_pin(connection, name)?;
        if installed.as_ref().is_none_or(|(_, installed)| installed != digest) {
            if let Some((installed, _)) = installed {
                refuse_other_bytes(name, version, &installed)?;
                delete(connection, name)?;
                restrictions::tighten(connection, name)?;
            }
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
                    manifest,
                ))?;
        }
        grants::insert(connection, name, digest, grants)?;
        presets::sync(connection, name, now)
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
fn refuse_other_bytes(name: &CapabilityName, version: &Version, installed: &Version) -> Result<()> {
    if version.cmp_precedence(installed).is_ne() {
        return Ok(());
    }
    Err(Error::new(
        ErrorKind::VersionExists,
        format!("version {installed} of `{name}` is installed already with other bytes"),
    )
    .hint(format!("raise `version` in `capability.json`, or run `remit uninstall {name}` first")))
}

/// Removes an install, and how it is reached when it is an upstream server.
pub(super) fn remove(connection: &Connection, name: &CapabilityName) -> Result<()> {
    upstreams::forget(connection, name)?;
    restrictions::delete(connection, name)?;
    delete(connection, name)
}

fn delete(connection: &Connection, name: &CapabilityName) -> Result<()> {
    connection
        .prepare_cached("DELETE FROM installs WHERE publisher = ?1 AND slug = ?2")?
        .execute((&name.publisher, &name.slug))?;
    Ok(())
}

#[cfg(test)]
impl Store {
    /// What a program of another version could have written.
    pub(crate) fn set_manifest_text(&self, name: &CapabilityName, text: &str) -> Result<()> {
        let (slug, text) = (name.slug.clone(), text.to_owned());
        self.write(move |connection| {
            connection.execute("UPDATE installs SET manifest = ?2 WHERE slug = ?1", (slug, text))?;
            Ok(())
        })
    }
}
