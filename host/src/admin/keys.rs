//! Keys that this home knows: who may say what of a release. Part of the people's door.

use super::Admin;
use crate::error::Result;
use crate::signing::{KnownKey, Owners, PublicKey, Rotation, Signed};

impl Admin {
    /// Every key that is known here.
    pub fn owners(&self) -> Result<Owners> {
        self.store.owners()
    }

    /// Adds what is said of a key to what is known of it.
    pub fn trust_key(&self, said: KnownKey) -> Result<()> {
        self.store.change_owners(|owners| owners.trust(said))
    }

    /// Takes a key back from `at` on, in milliseconds since 1970: what was signed before still counts.
    pub fn revoke_key(&self, key: PublicKey, at: i64) -> Result<()> {
        self.store.change_owners(move |owners| owners.revoke(key, at))
    }

    /// Lets a new key take the place of the one that signed the rotation.
    pub fn rotate_signer(&self, rotation: Signed<Rotation>) -> Result<KnownKey> {
        self.store.change_owners(move |owners| owners.rotate(&rotation))
    }
}
