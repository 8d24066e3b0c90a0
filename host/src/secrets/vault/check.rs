//! Whether the key opens what is stored. Values are opened and dropped; only names come out.

use super::{Vault, is_newest, no_roster};
use crate::error::Result;
use crate::secrets::roster::Roster;
use crate::secrets::seal;
use crate::store::Shelf;

/// What the key opens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyCheck {
    /// The id of the key; `None` when there is neither a key nor a secret.
    pub id: Option<String>,
    /// Stored secrets.
    pub secrets: usize,
    /// The names of those that it does not open, or of which an earlier row was put back.
    pub closed: Vec<String>,
}

impl Vault {
    /// Opens every stored value once, those that were replaced as well.
    pub fn check(&self) -> Result<KeyCheck> {
        let (current, old, roster) = self
            .store
            .read_secrets(|rows| Ok((rows.all(Shelf::Current)?, rows.all(Shelf::Old)?, rows.roster()?)))?;
        let secrets = current.len();
        let Some((_, first)) = current.first().or(old.first()) else {
            return Ok(KeyCheck { id: self.key.read()?.map(|key| key.id()), secrets, closed: Vec::new() });
        };
        let Some(key) = self.key.find(&first.kek_id)? else { return Err(self.key.unfound()?) };
        let roster = roster.map(|sealed| Roster::open(&key, &sealed).ok_or_else(no_roster)).transpose()?;
        let mut closed = Vec::new();
        let current = current.into_iter().map(|(name, row)| (is_newest(roster.as_ref(), &name, &row), name, row));
        let old = old.into_iter().map(|(name, row)| (true, name, row));
        for (is_newest, name, row) in current.chain(old) {
            if !is_newest || seal::open(&key, &name, row).is_none() {
                closed.push(name);
            }
        }
        closed.dedup();
        Ok(KeyCheck { id: Some(key.id()), secrets, closed })
    }
}
