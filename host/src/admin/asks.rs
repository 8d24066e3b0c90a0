//! What refused calls asked for, as people decide it.
//!
//! Each ask is for one thing and one digest; a yes gives exactly that, held to the manifest like any other grant.

use std::time::Duration;

use super::Admin;
use crate::asks::{Ask, AskId};
use crate::error::{Error, ErrorKind, Result};
use crate::policy::{Gift, Wish, check_approval};
use crate::registry::Snapshot;

/// An ask is on disk within 50 ms of being told. People take longer to type it; a program may not.
const LOOKS: u32 = 11;
/// Between two looks: ten of them are twice as long as it takes.
const PAUSE: Duration = Duration::from_millis(10);

impl Admin {
    /// What is asked for, the newest first, and what a person refused. What was given meanwhile, by whichever
    /// command, is closed.
    pub fn asks(&self) -> Result<Vec<Ask>> {
        let snapshot = self.catalog.current()?;
        let (mut given, mut asks) = (Vec::new(), Vec::new());
        for ask in self.store.asks()? {
            if self.is_given(&ask, &snapshot)? {
                given.push(ask.id);
            } else {
                asks.push(ask);
            }
        }
        if !given.is_empty() {
            self.store.remove_asks(&given)?;
        }
        Ok(asks)
    }

    /// The ask of this id. Waits a moment for one that was told just now and is on its way to the disk.
    pub fn find_ask(&self, id: AskId) -> Result<Ask> {
        for attempt in 0..LOOKS {
            if attempt > 0 {
                std::thread::sleep(PAUSE);
            }
            if let Some(ask) = self.asks()?.into_iter().find(|ask| ask.id == id) {
                return Ok(ask);
            }
        }
        Err(Error::new(ErrorKind::Usage, format!("nothing is asked for under `{id}`")).hint(
            "`remit approve` lists what is; an ask ends when it is given, and when its capability is replaced",
        ))
    }

    /// Gives what is asked for, to the digest that asked, and closes the ask. `source` is the name that a secret's
    /// value is stored under, and `expires_at` the end of its approval, in milliseconds since 1970.
    pub fn allow(&self, ask: &Ask, source: Option<&str>, expires_at: Option<i64>) -> Result<()> {
        let Ask { id, name, digest, wish, .. } = ask;
        let entry = self.find(name)?;
        let manifest = &entry.capability.manifest;
        wish.check(manifest)?;
        match wish.gift(&entry.approvals) {
            Gift::Grants(grants) => self.store.add_grants(name, digest, &grants)?,
            Gift::Approval(mut approval) => {
                approval.expires_at = expires_at;
                if let Some(source) = source {
                    source.clone_into(&mut approval.source);
                }
                check_approval(manifest, &approval)?;
                self.store.add_approvals(name, digest, &[approval])?;
            }
            Gift::Value(source) => {
                return Err(Error::new(ErrorKind::SecretUnset, format!("no value is stored under `{source}`"))
                    .hint(format!("remit secret set {source}")));
            }
        }
        self.store.remove_asks(&[*id])
    }

    /// Closes an ask without giving anything. The same wish of the same digest is not asked for again.
    pub fn refuse(&self, id: AskId) -> Result<()> {
        self.store.refuse_ask(id)
    }

    /// Closes what was just given, so that nobody is asked for it.
    pub(super) fn close_given(&self) {
        // The next look closes it just as well.
        if let Err(error) = self.asks() {
            tracing::warn!(code = error.kind.code(), "asks that were given stay open for now");
        }
    }

    fn is_given(&self, ask: &Ask, snapshot: &Snapshot) -> Result<bool> {
        if let Wish::Value { source, .. } = &ask.wish {
            return self.store.has_value(source);
        }
        let entry = snapshot.entries.get(&ask.name).filter(|entry| entry.capability.digest == ask.digest);
        // One that was replaced a moment ago is given nothing.
        let standing = entry.and_then(|entry| self.standings.again(&entry.capability).ok());
        Ok(standing.is_some_and(|granted| ask.wish.is_granted(&granted)))
    }
}
