//! Connections in the vault: stored by a person, read and renewed by the host.
//!
//! A renewal changes a connection in one transaction with the look at what is stored by then. It must not bring
//! back one that was removed, nor overwrite one that a person made meanwhile. What it replaces is in the
//! connection itself: it does not become an old value of the vault, which would keep all of it again.

use std::fs::File;

use super::super::SecretKind;
use super::super::seal::{self, Label};
use super::super::vault::{Vault, key_for_writing, roster_for_writing, unopened};
use super::connection::Connection;
use crate::error::Result;

impl Vault {
    /// Stores a connection under `name`, in the place of whatever was there.
    pub fn set_connection(&self, name: &str, connection: &Connection) -> Result<()> {
        self.set_with(name, SecretKind::OAuth2, &connection.write()?, connection.ends_at())
    }

    /// The connection that is stored under `name`, if it is one.
    pub fn connection(&self, name: &str) -> Result<Option<Connection>> {
        let Some(text) = self.read(name, SecretKind::OAuth2)? else { return Ok(None) };
        Connection::read(&text).map(Some).ok_or_else(|| unopened(name))
    }

    /// Changes the connection under `name`; `change` says whether it changed anything. Gives whether it did: not
    /// when there is none any more. Blocks the thread until it is on disk.
    pub(super) fn update_connection(
        &self,
        name: &str,
        change: impl FnOnce(&mut Connection) -> bool + Send + 'static,
    ) -> Result<bool> {
        let (name, key_file) = (name.to_owned(), self.key.clone());
        self.store.change_secrets(move |rows| {
            let current = rows.current(&name)?.filter(|sealed| sealed.kind == SecretKind::OAuth2);
            let Some(sealed) = current else { return Ok(false) };
            let key = key_for_writing(&key_file, rows)?;
            let mut roster = roster_for_writing(&key, rows)?;
            let text = seal::open(&key, &name, sealed).ok_or_else(|| unopened(&name))?;
            let mut connection = Connection::read(&text).ok_or_else(|| unopened(&name))?;
            if !change(&mut connection) {
                return Ok(false);
            }
            let (version, expires_at) = (rows.next_version()?, connection.ends_at());
            let label = Label { name: &name, version, kind: SecretKind::OAuth2, expires_at };
            rows.put(&name, &seal::seal(&key, label, &connection.write()?)?)?;
            roster.0.insert(name, version);
            rows.put_roster(Some(&roster.seal(&key)?))?;
            Ok(true)
        })
    }

    /// Waits until no process of this home renews `name`, and keeps it so while the file lives. Blocks the thread.
    pub(super) fn hold_connection(&self, name: &str) -> Result<File> {
        self.store.hold_lock(&format!("{name}.lock"))
    }

    /// The time that ends are measured with, in milliseconds since 1970.
    pub(super) fn now_ms(&self) -> i64 {
        self.store.now_ms()
    }
}
