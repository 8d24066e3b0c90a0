//! Whether the key opens what is stored. Values are opened and dropped; only names come out.

use super::{Vault, missing_key, open};
use crate::error::Result;

/// What the key opens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyCheck {
    /// The id of the key; `None` when there is neither a key nor a secret.
    pub id: Option<String>,
    /// Stored secrets.
    pub secrets: usize,
    /// The names of those that it does not open.
    pub closed: Vec<String>,
}

impl Vault {
    /// Opens every stored value once.
    pub fn check(&self) -> Result<KeyCheck> {
        let names: Vec<String> = self.list()?.into_iter().map(|secret| secret.name).collect();
        let Some(key) = self.key.read()? else {
            return if names.is_empty() {
                Ok(KeyCheck { id: None, secrets: 0, closed: Vec::new() })
            } else {
                Err(missing_key())
            };
        };
        let sealed = self.store.sealed(&names.iter().map(String::as_str).collect::<Vec<_>>())?;
        let secrets = names.len();
        let rows = names.into_iter().zip(sealed);
        let closed =
            rows.filter(|(name, sealed)| sealed.clone().is_some_and(|row| open(&key, name, row).is_err()));
        Ok(KeyCheck { id: Some(key.id()), secrets, closed: closed.map(|(name, _)| name).collect() })
    }
}
