//! The `entities` namespace: documents that a capability keeps.
//!
//! It decides, for one call, which entities exist, whether the tool may change them, and what a dry run sees. How
//! documents are kept is the store's business; what a key, a value and a quota are is in `rules.rs`.

mod cursor;
pub(crate) mod document;
pub(crate) mod host;
mod overlay;
pub(crate) mod rules;
mod wire;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use document::{Change, Document, Made, Page, Refusal};
use overlay::Overlay;
use rules::{PAGE_DOCUMENTS, check_key, check_prefix, check_transaction, check_value};

use super::Access;
use crate::audit::ChangeRecord;
use crate::config::EntitiesConfig;
use crate::error::Error;
use crate::policy::Granted;
use crate::registry::Digest;
use crate::runtime::{Lease, Stop};
use crate::store::{ChangedBy, Scope, Store};

pub(super) use host::{INTERFACE, link};

/// What one call holds of it.
pub struct Entities {
    store: Arc<Store>,
    scope: Scope,
    capability: String,
    digest: Digest,
    limits: EntitiesConfig,
    access: Access,
    call: String,
    /// The run of a loop that the call belongs to.
    run: Option<String>,
    /// Changes that this call has made.
    made: u64,
    overlay: Overlay,
    /// The operator was told that the disk fails. Once a call: a disk that stays full must not fill the log.
    told: AtomicBool,
    /// Where changes wait for the disk; the guest's own thread waits for them.
    io: tokio::runtime::Handle,
}

impl Entities {
    /// For one call. With [`Access::Change`] the record of `call` is on disk already. Must be made on a thread of
    /// the I/O runtime.
    #[must_use]
    pub fn new(
        store: Arc<Store>,
        granted: &Granted,
        limits: EntitiesConfig,
        access: Access,
        call: &str,
        run: Option<String>,
    ) -> Self {
        let capability = granted.capability();
        Self {
            store,
            scope: Scope::of(&capability.name),
            capability: capability.name.to_string(),
            digest: capability.digest,
            limits,
            access,
            call: call.to_owned(),
            run,
            made: 0,
            overlay: Overlay::default(),
            told: AtomicBool::new(false),
            io: tokio::runtime::Handle::current(),
        }
    }

    /// In a dry run: the changes that were not made.
    #[must_use]
    pub fn plan(&self) -> &[ChangeRecord] {
        self.overlay.plan()
    }

    /// Whether this call has changed a document.
    #[must_use]
    pub fn has_changed(&self) -> bool {
        self.made > 0
    }

    fn get(&self, granted: &Granted, entity: &str, key: &str) -> Result<Option<Document>, Refusal> {
        check_available(granted, entity)?;
        check_key(key)?;
        self.see(entity, key)
    }

    fn list(
        &self,
        granted: &Granted,
        entity: &str,
        prefix: &str,
        cursor: Option<&str>,
        limit: u32,
    ) -> Result<Page, Refusal> {
        check_available(granted, entity)?;
        check_prefix(prefix)?;
        let read = |cursor| cursor::read(&self.capability, entity, prefix, cursor);
        let after = cursor.map(read).transpose()?;
        let limit = (limit as usize).clamp(1, PAGE_DOCUMENTS);
        let page = self
            .store
            .documents(&self.scope, entity, prefix, after.as_deref(), limit, rules::PAGE_BYTES)
            .map_err(|error| self.unavailable(error))?;
        let page = self.overlay.merge(entity, prefix, after.as_deref(), page, limit);
        let write = |key: String| cursor::write(&self.capability, entity, prefix, &key);
        Ok(Page { next: page.next.map(write), ..page })
    }

    /// Makes all of these changes or none. An outer error stops the guest: its time is over, or nobody waits.
    fn change(
        &mut self,
        granted: &Granted,
        lease: &Lease,
        changes: Vec<Change>,
    ) -> Result<Result<Vec<Made>, Refusal>, Stop> {
        if let Err(refusal) = self.check(granted, &changes) {
            return Ok(Err(refusal));
        }
        match self.access {
            Access::Change => self.make(lease, changes),
            Access::Plan => Ok(self.plan_changes(changes)),
            Access::Read => Ok(Err(Refusal::ReadOnly)),
        }
    }

    fn check(&self, granted: &Granted, changes: &[Change]) -> Result<(), Refusal> {
        for Change { entity, key, action, .. } in changes {
            check_available(granted, entity)?;
            check_key(key)?;
            if let document::Action::Put(value) = action {
                check_value(value, &self.limits)?;
            }
        }
        check_transaction(changes)
    }

    fn make(&mut self, lease: &Lease, changes: Vec<Change>) -> Result<Result<Vec<Made>, Refusal>, Stop> {
        let by =
            ChangedBy { call: self.call.clone(), position: self.made, run: self.run.clone(), digest: self.digest };
        let changing = self.store.change_documents(self.scope.clone(), by, changes, self.limits);
        // Dropped when the call is over: a change that has not begun by then is not made.
        let made = self.io.block_on(async {
            tokio::select! {
                biased;
                made = changing => Ok(made),
                () = lease.cancel.cancelled() => Err(Stop::Cancelled),
                () = tokio::time::sleep_until(lease.deadline.into()) => Err(Stop::Time),
            }
        })?;
        let made = made.unwrap_or_else(|error| Err(self.unavailable(error)));
        if let Ok(made) = &made {
            self.made += made.iter().filter(|made| **made != Made::Nothing).count() as u64;
        }
        Ok(made)
    }

    fn plan_changes(&mut self, changes: Vec<Change>) -> Result<Vec<Made>, Refusal> {
        let present = changes.iter().map(|change| self.see(&change.entity, &change.key));
        let present = present.collect::<Result<Vec<_>, _>>()?;
        let state = match self.overlay.state() {
            Some(state) => state,
            None => self.store.sums(&self.scope).map_err(|error| self.unavailable(error))?,
        };
        self.overlay.apply(changes, &present, state, self.store.now_ms(), &self.limits)
    }

    /// What this call sees under a key.
    fn see(&self, entity: &str, key: &str) -> Result<Option<Document>, Refusal> {
        match self.overlay.get(entity, key) {
            Some(changed) => Ok(changed.clone()),
            None => self.store.document(&self.scope, entity, key).map_err(|error| self.unavailable(error)),
        }
    }

    /// What went wrong with the disk is the operator's business, not the guest's.
    #[expect(clippy::needless_pass_by_value, reason = "it ends here")]
    fn unavailable(&self, error: Error) -> Refusal {
        if !self.told.swap(true, Ordering::Relaxed) {
            tracing::error!(code = error.kind.code(), detail = error.detail, "documents: {}", error.message);
        }
        Refusal::Unavailable
    }
}

fn check_available(granted: &Granted, entity: &str) -> Result<(), Refusal> {
    let is_granted = granted.entities().is_some_and(|grant| grant.names.iter().any(|name| name == entity));
    if is_granted { Ok(()) } else { Err(Refusal::NotAvailable(shown(entity).to_owned())) }
}

/// As much of a name as an entity's can have.
fn shown(entity: &str) -> &str {
    &entity[..entity.floor_char_boundary(crate::manifest::MAX_NAME)]
}
