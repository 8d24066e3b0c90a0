//! The change of the key: a new one is made first, every row is sealed anew in one transaction and read back with
//! what the new file says, and only when that is on disk the new file takes the place of the old.
//!
//! Whoever is killed in between leaves two files and rows that name one of them. Reading goes on; the next
//! change of the key, or of a secret, ends what was begun. Two changes at once wait for each other.

use super::key::Key;
use super::roster::Roster;
use super::seal::{self, Label};
use super::vault::{Vault, key_for_writing, put_back, roster_for_writing, unopened};
use crate::error::{Error, ErrorKind, Result};
use crate::store::{SecretRows, Shelf};

/// Held while the key changes.
const LOCK_FILE: &str = "rotate.lock";

/// How often everything is sealed anew when somebody sets the first secret of a home between the two halves.
const ATTEMPTS: usize = 3;

impl Vault {
    /// Seals everything with a new key and removes the old one. Gives how many values there are.
    pub fn rotate_key(&self) -> Result<usize> {
        let _held = self.store.hold_lock(LOCK_FILE)?;
        // One that was begun and not ended holds values under the next key: it must not be overwritten.
        self.promote()?;
        for _ in 0..ATTEMPTS {
            let count = self.seal_anew()?;
            if self.promote()? {
                return Ok(count);
            }
        }
        Err(Error::new(ErrorKind::Store, "secrets are set by others at this moment").hint("run the command again"))
    }

    /// Ends a change of the key that was begun and not ended, unless somebody is at it. It may stay as it is, too.
    pub(super) fn finish_rotation(&self) {
        let finish = || match self.key.has_next() && self.store.try_lock(LOCK_FILE)?.is_some() {
            true => self.promote(),
            false => Ok(false),
        };
        if let Err(error) = finish() {
            tracing::warn!("a change of the key is still to be ended: {error}");
        }
    }

    /// The first half. When it returns, every row is on disk under the next key.
    pub(super) fn seal_anew(&self) -> Result<usize> {
        let key_file = self.key.clone();
        self.store.change_secrets(move |rows| {
            let key = key_for_writing(&key_file, rows)?;
            let roster = roster_for_writing(&key, rows)?;
            let next = key_file.create_next()?;
            let mut count = 0;
            for shelf in [Shelf::Current, Shelf::Old] {
                for (name, sealed) in rows.all(shelf)? {
                    if shelf == Shelf::Current && !roster.lists(&name, sealed.version) {
                        return Err(put_back(&name));
                    }
                    let label = Label {
                        name: &name,
                        version: sealed.version,
                        kind: sealed.kind,
                        expires_at: sealed.expires_at,
                    };
                    let value = seal::open(&key, &name, sealed.clone()).ok_or_else(|| unopened(&name))?;
                    rows.reseal(shelf, &name, &seal::seal(&next, label, &value)?)?;
                    count += usize::from(shelf == Shelf::Current);
                }
            }
            if count > 0 || rows.roster()?.is_some() {
                rows.put_roster(Some(&roster.seal(&next)?))?;
            }
            verify(&next, rows)?;
            Ok(count)
        })
    }

    /// The second half: the next key takes the place of the old one, when every row has it. Gives whether it did.
    ///
    /// Inside a transaction, so that nobody writes a row under the old key meanwhile.
    fn promote(&self) -> Result<bool> {
        let key_file = self.key.clone();
        self.store.change_secrets(move |rows| {
            let Some(next) = key_file.read_next()? else { return Ok(false) };
            let id = next.id();
            let is_everywhere = rows.key_ids()?.iter().all(|used| *used == id);
            if is_everywhere {
                key_file.promote_next()?;
            }
            Ok(is_everywhere)
        })
    }
}

/// Reads every row back and opens it. What opens is what was sealed: the seal says so.
fn verify(next: &Key, rows: &SecretRows<'_>) -> Result<()> {
    let unread =
        || Error::new(ErrorKind::Store, "what was sealed anew does not open; everything is left as it was");
    for shelf in [Shelf::Current, Shelf::Old] {
        for (name, sealed) in rows.all(shelf)? {
            seal::open(next, &name, sealed).ok_or_else(unread)?;
        }
    }
    match rows.roster()? {
        Some(roster) => Roster::open(next, &roster).map(drop).ok_or_else(unread),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests;
