//! Where credentials are kept.
//!
//! Decides which stored values a call gets: those approved for it now to put in, and those it was ever allowed
//! to send to be searched for. It does not decide who may use a secret (`policy/`) or where in a request
//! (`egress/`), what can be a secret (`value.rs`), nor when the key changes (`rotate.rs`).

mod check;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use zeroize::Zeroizing;

use super::key::{Key, KeyFile};
use super::roster::Roster;
use super::seal::{self, Label};
use super::value::{check_name, check_value};
use super::{Connection, SecretSet, SecretValue};
use crate::config::SecretsConfig;
use crate::error::{Error, ErrorKind, Result};
use crate::policy::Granted;
use crate::store::{Sealed, SealedRoster, SecretRows, Shelf, Store};

pub use check::KeyCheck;

/// Replaced values of one name that are searched for, at most: a secret that is set again and again must not
/// make every search longer.
const OLD_VALUES: usize = 8;

/// How often the rows are read again when their key is no more: somebody changes it at this moment, and that
/// takes one commit.
const ATTEMPTS: usize = 3;

const HOUR_MS: i64 = 3_600_000;

/// The stored secrets of one home.
pub struct Vault {
    pub(super) store: Arc<Store>,
    pub(super) key: KeyFile,
    /// How long a replaced value is searched for, in milliseconds.
    overlap_ms: i64,
}

/// What a stored secret is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SecretKind {
    /// A value that is put in as it is.
    Value,
    /// A connection whose access token is put in.
    OAuth2,
}

/// What people see of a stored secret: never its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredSecret {
    /// Its name.
    pub name: String,
    /// What it is.
    pub kind: SecretKind,
    /// When it was first set, in milliseconds since 1970.
    pub created_at: i64,
    /// When its value was last set.
    pub changed_at: i64,
    /// When it last went into a request.
    pub used_at: Option<i64>,
    /// From when on it is not put in any more.
    pub expires_at: Option<i64>,
}

impl SecretKind {
    /// Every kind.
    pub const ALL: [Self; 2] = [Self::Value, Self::OAuth2];

    /// The word in lists, and in the database.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Value => "value",
            Self::OAuth2 => "oauth2",
        }
    }
}

impl StoredSecret {
    /// Whether it has ended at this moment. A connection has not: its access token is renewed before its next use.
    #[must_use]
    pub fn has_expired(&self, now_ms: i64) -> bool {
        self.kind == SecretKind::Value && has_expired(self.expires_at, now_ms)
    }
}

impl Vault {
    /// The secrets in `store`, with the settings that a home has without any.
    #[must_use]
    pub fn new(home: &Path, store: Arc<Store>) -> Self {
        Self::with_settings(home, store, &SecretsConfig::default())
    }

    /// The secrets in `store`, and their key in `home` or where the settings say.
    #[must_use]
    pub fn with_settings(home: &Path, store: Arc<Store>, settings: &SecretsConfig) -> Self {
        let key = KeyFile::new(home, settings.key_file.as_deref());
        Self { store, key, overlap_ms: i64::from(settings.overlap_hours) * HOUR_MS }
    }

    /// Stores a value, encrypted. The first one makes the key file.
    pub fn set(&self, name: &str, value: &[u8]) -> Result<()> {
        self.set_with(name, SecretKind::Value, value, None)
    }

    /// Stores a value of some kind. After `expires_at` (milliseconds since 1970) it is not put in any more. The
    /// value that is there is searched for in answers for a while.
    pub fn set_with(&self, name: &str, kind: SecretKind, value: &[u8], expires_at: Option<i64>) -> Result<()> {
        check_name(name)?;
        check_value(kind, value)?;
        let (name, value) = (name.to_owned(), Zeroizing::new(value.to_vec()));
        let (key_file, overlap_ms) = (self.key.clone(), self.overlap_ms);
        self.store.change_secrets(move |rows| {
            let key = key_for_writing(&key_file, rows)?;
            let mut roster = roster_for_writing(&key, rows)?;
            let version = rows.next_version()?;
            // One that does not open is not kept: setting it again is how a damaged row is repaired.
            if let Some(current) = rows.current(&name)?
                && seal::open(&key, &name, current.clone()).is_some()
            {
                rows.keep_old(&name, &current)?;
            }
            drop_old(&key, &name, rows.now_ms().saturating_sub(overlap_ms), rows)?;
            rows.put(&name, &seal::seal(&key, Label { name: &name, version, kind, expires_at }, &value)?)?;
            roster.0.insert(name, version);
            rows.put_roster(Some(&roster.seal(&key)?))
        })?;
        self.finish_rotation();
        Ok(())
    }

    /// Removes a value, and all that was kept of it: answers are not searched for it any more. Gives whether there
    /// was one.
    pub fn remove(&self, name: &str) -> Result<bool> {
        let (name, key_file) = (name.to_owned(), self.key.clone());
        self.store.change_secrets(move |rows| {
            let is_removed = rows.forget(&name)?;
            if rows.versions()?.is_empty() && rows.all(Shelf::Old)?.is_empty() {
                rows.put_roster(None)?;
            } else if let Ok(key) = key_for_writing(&key_file, rows)
                && let Ok(mut roster) = roster_for_writing(&key, rows)
            {
                // Without its key a secret can be removed as well. The roster then names one that is not there.
                roster.0.remove(&name);
                rows.put_roster(Some(&roster.seal(&key)?))?;
            }
            Ok(is_removed)
        })
    }

    /// Names and times.
    pub fn list(&self) -> Result<Vec<StoredSecret>> {
        self.store.read_secrets(|rows| rows.list())
    }

    /// Opens the value of one secret for the host itself; `None` when none of this kind is stored.
    pub fn read(&self, name: &str, kind: SecretKind) -> Result<Option<Zeroizing<Vec<u8>>>> {
        let found = self.look(|rows| {
            let row = rows.current(name)?.filter(|sealed| sealed.kind == kind);
            let row = row.map(|sealed| Found { source: name.to_owned(), is_current: true, sealed });
            Ok(row.into_iter().collect())
        })?;
        Ok(found.into_iter().next().map(|opened| opened.value))
    }

    /// Opens what a call needs, all of one moment. What is approved for somewhere is there to be put in, unless it
    /// has ended. What was approved once, and what was replaced lately, is there to be searched for. A secret that
    /// is not set is left out.
    pub fn open(&self, granted: &Granted) -> Result<SecretSet> {
        // One placeholder may stand for different values at different hosts.
        let approvals = granted.secrets().iter().flat_map(|secret| &secret.approvals);
        let wanted: BTreeSet<_> =
            approvals.map(|approval| (approval.secret.clone(), approval.source.clone())).collect();
        let mut names: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        let opened = self.look(|rows| {
            let exposed = rows.exposures(&granted.capability().name)?;
            names.clear();
            for (name, source) in wanted.iter().cloned().chain(exposed) {
                names.entry(source).or_default().insert(name);
            }
            let since = rows.now_ms().saturating_sub(self.overlap_ms);
            let mut found = Vec::new();
            for source in names.keys() {
                let row = |is_current| move |sealed| Found { source: source.clone(), is_current, sealed };
                found.extend(rows.current(source)?.map(row(true)));
                found.extend(rows.old(source, since)?.into_iter().take(OLD_VALUES).map(row(false)));
            }
            Ok(found)
        })?;
        let now_ms = self.store.now_ms();
        let mut set = SecretSet::default();
        for Opened { source, is_current, kind, expires_at, value } in opened {
            let parts = match kind {
                SecretKind::Value => vec![(value, true)],
                SecretKind::OAuth2 => {
                    let connection = Connection::read(&value).ok_or_else(|| unopened(&source))?;
                    if is_current {
                        set.note_validity(&source, connection.validity());
                    }
                    connection.values(now_ms)
                }
            };
            for name in names.get(&source).into_iter().flatten() {
                let is_wanted = is_current && wanted.contains(&(name.clone(), source.clone()));
                let is_usable = is_wanted && !has_expired(expires_at, now_ms);
                if is_wanted && !is_usable {
                    set.note_expired(name, &source);
                }
                set.extend(parts.iter().map(|(value, is_put_in)| SecretValue {
                    name: name.clone(),
                    source: source.clone(),
                    value: value.clone(),
                    is_usable: is_usable && *is_put_in,
                }));
            }
        }
        Ok(set)
    }

    /// The number that moves with every change of what [`Vault::open`] gives.
    pub(super) fn state(&self) -> Result<u64> {
        self.store.generation()
    }

    /// Notes that these stored values go out now.
    pub(super) fn note_uses(&self, sources: BTreeSet<String>) {
        if !sources.is_empty() {
            self.store.note_uses(sources.into_iter().collect());
        }
    }

    /// Finds rows and opens them. Without a row no key is needed.
    fn look(&self, mut find: impl FnMut(&SecretRows<'_>) -> Result<Vec<Found>>) -> Result<Vec<Opened>> {
        for _ in 0..ATTEMPTS {
            let (found, roster) = self.store.read_secrets(|rows| Ok((find(rows)?, rows.roster()?)))?;
            let Some(first) = found.first() else { return Ok(Vec::new()) };
            if let Some(key) = self.key.find(&first.sealed.kek_id)? {
                return unseal(&key, roster.as_ref(), found);
            }
        }
        Err(self.key.unfound()?)
    }
}

/// A row that a call needs.
struct Found {
    source: String,
    is_current: bool,
    sealed: Sealed,
}

/// The same, opened.
struct Opened {
    source: String,
    is_current: bool,
    kind: SecretKind,
    expires_at: Option<i64>,
    value: Zeroizing<Vec<u8>>,
}

fn unseal(key: &Key, roster: Option<&SealedRoster>, found: Vec<Found>) -> Result<Vec<Opened>> {
    let roster = roster.map(|sealed| Roster::open(key, sealed).ok_or_else(no_roster)).transpose()?;
    let opened = found.into_iter().map(|Found { source, is_current, sealed }| {
        if is_current && !is_newest(roster.as_ref(), &source, &sealed) {
            return Err(put_back(&source));
        }
        let (kind, expires_at) = (sealed.kind, sealed.expires_at);
        let value = seal::open(key, &source, sealed).ok_or_else(|| unopened(&source))?;
        Ok(Opened { source, is_current, kind, expires_at, value })
    });
    opened.collect()
}

/// A row of the first scheme needs no roster where there is none yet: it was written before.
fn is_newest(roster: Option<&Roster>, name: &str, sealed: &Sealed) -> bool {
    match roster {
        Some(roster) => roster.lists(name, sealed.version),
        None => sealed.scheme == seal::FIRST,
    }
}

fn has_expired(expires_at: Option<i64>, now_ms: i64) -> bool {
    expires_at.is_some_and(|end| end <= now_ms)
}

/// Removes what is not searched for any more: too old, too many, or not to be opened.
fn drop_old(key: &Key, name: &str, since: i64, rows: &SecretRows<'_>) -> Result<()> {
    rows.drop_old_before(since)?;
    for (position, sealed) in rows.old(name, since)?.into_iter().enumerate() {
        let version = sealed.version;
        if position >= OLD_VALUES || seal::open(key, name, sealed).is_none() {
            rows.drop_old(name, version)?;
        }
    }
    Ok(())
}

/// The key that the stored values were sealed with; a new one only when there are none.
///
/// Asked for inside the transaction that then writes, so that nobody changes the key in between.
pub(super) fn key_for_writing(file: &KeyFile, rows: &SecretRows<'_>) -> Result<Key> {
    match rows.key_ids()?.as_slice() {
        [] => match file.read()? {
            Some(key) => Ok(key),
            None => file.create(),
        },
        [id] => match file.find(id)? {
            Some(key) => Ok(key),
            None => Err(file.unfound()?),
        },
        _ => Err(file.other_key()),
    }
}

/// What the newest versions are before a write. It comes from the roster and not from the rows, so that a row that
/// was put back does not become the newest by the next write.
pub(super) fn roster_for_writing(key: &Key, rows: &SecretRows<'_>) -> Result<Roster> {
    match rows.roster()? {
        Some(sealed) => Roster::open(key, &sealed).ok_or_else(no_roster),
        None => {
            let rows = rows.all(Shelf::Current)?.into_iter();
            let first = rows.filter(|(_, sealed)| sealed.scheme == seal::FIRST);
            Ok(Roster(first.map(|(name, sealed)| (name, sealed.version)).collect()))
        }
    }
}

/// The ciphertext is not what was written for this row.
pub(super) fn unopened(name: &str) -> Error {
    Error::new(ErrorKind::SecretKey, format!("the stored value of `{name}` does not open"))
        .hint(format!("set it again: `remit secret set {name}`"))
}

/// The row is an older one than was written last.
pub(super) fn put_back(name: &str) -> Error {
    Error::new(ErrorKind::SecretKey, format!("the stored value of `{name}` is not the one that was set last"))
        .detail("its version is not the one in the roster")
        .hint(format!("somebody changed `remit.db`; set it again: `remit secret set {name}`"))
}

fn no_roster() -> Error {
    Error::new(ErrorKind::SecretKey, "the list of stored secrets was changed by somebody else")
        .detail("the MAC of the roster does not fit")
        .hint(
            "restore `remit.db` from its backup, or remove all secrets (`remit secret remove`) and set them again",
        )
}

#[cfg(test)]
mod tests;
