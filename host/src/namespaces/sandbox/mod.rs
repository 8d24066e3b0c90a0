//! The `sandbox` namespace: files of the conversation in which a capability is called.
//!
//! It decides, for one call, which files exist, whether the tool may change them, and what a dry run sees. A file is
//! reached by principal, conversation, capability and name together: three of them are the host's word. How files
//! are kept is the store's business; what a name and a quota are is in `name.rs` and `rules.rs`.

pub(crate) mod file;
mod host;
pub(crate) mod name;
mod overlay;
pub(crate) mod rules;
mod wire;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::broadcast;

pub use file::{File, FileNews, FileRecord, Refusal};
use name::{FileName, NAME_BYTES, of_address};
use overlay::Overlay;
use rules::Quota;

use super::Access;
use crate::client::Conversation;
use crate::config::SandboxConfig;
use crate::error::Error;
use crate::policy::Granted;
use crate::registry::{CapabilityName, Digest};
use crate::runtime::{Lease, Stop};
use crate::store::{Drawer, Room, Store, WrittenBy};

pub(super) use host::{INTERFACE, link};

/// What one call holds of it.
pub struct Sandbox {
    store: Arc<Store>,
    drawer: Drawer,
    digest: Digest,
    /// Nothing when the namespace is not granted.
    quota: Option<Quota>,
    /// Files of other capabilities of the conversation can be read.
    others: bool,
    access: Access,
    call: String,
    /// The run of a loop that the call belongs to.
    run: Option<String>,
    /// Changes that this call has made.
    made: u64,
    overlay: Overlay,
    news: broadcast::Sender<FileNews>,
    /// The operator was told that the disk fails. Once a call: a disk that stays full must not fill the log.
    told: AtomicBool,
    /// Where changes wait for the disk; the guest's own thread waits for them.
    io: tokio::runtime::Handle,
}

/// Which call it is for.
pub struct Of<'a> {
    /// Who calls.
    pub principal: &'a str,
    /// In which conversation.
    pub conversation: &'a Conversation,
    /// What it may change.
    pub access: Access,
    /// Its record. With [`Access::Change`] it is on disk already.
    pub call: &'a str,
    /// The run of a loop that it belongs to.
    pub run: Option<String>,
}

impl Sandbox {
    /// For one call. Must be made on a thread of the I/O runtime.
    #[must_use]
    pub fn new(
        store: Arc<Store>,
        granted: &Granted,
        limits: &SandboxConfig,
        of: Of<'_>,
        news: broadcast::Sender<FileNews>,
    ) -> Self {
        let capability = granted.capability();
        let grant = granted.sandbox();
        let quota = grant.map(|grant| Quota {
            files: grant.files,
            bytes: grant.bytes,
            file_bytes: limits.file_bytes as u64,
            principal_bytes: limits.principal_bytes,
        });
        let room = Room::of(of.principal, of.conversation, limits.keep());
        Self {
            store,
            drawer: Drawer { room, owner: capability.name.clone() },
            digest: capability.digest,
            quota,
            others: grant.is_some_and(|grant| grant.others),
            access: of.access,
            call: of.call.to_owned(),
            run: of.run,
            made: 0,
            overlay: Overlay::default(),
            news,
            told: AtomicBool::new(false),
            io: tokio::runtime::Handle::current(),
        }
    }

    /// In a dry run: the changes that were not made.
    #[must_use]
    pub fn plan(&self) -> &[FileRecord] {
        self.overlay.plan()
    }

    /// Whether this call has changed a file.
    #[must_use]
    pub fn has_changed(&self) -> bool {
        self.made > 0
    }

    /// Bytes that one file may have. Nothing when the namespace is not granted.
    pub(super) fn file_bytes(&self) -> Option<u64> {
        self.quota.map(|quota| quota.file_bytes.min(quota.bytes))
    }

    /// Whether a file of this name could be written now, if it were empty.
    pub(super) fn check(&self, name: &str) -> Result<(), Refusal> {
        let name: FileName = name.parse()?;
        let quota = self.may_change()?;
        let (files, sums) = (self.seen()?, self.sums()?);
        rules::decide(&name, 0, files.iter().map(|file| (&file.name, file.bytes)), sums, &quota)
    }

    /// Writes a file whole. An outer error stops the guest: its time is over, or nobody waits.
    pub(crate) fn write(
        &mut self,
        lease: &Lease,
        name: &str,
        bytes: Vec<u8>,
    ) -> Result<Result<File, Refusal>, Stop> {
        let (name, quota) = match name.parse::<FileName>().map_err(Refusal::from) {
            Ok(name) => match self.may_change() {
                Ok(quota) => (name, quota),
                Err(refusal) => return Ok(Err(refusal)),
            },
            Err(refusal) => return Ok(Err(refusal)),
        };
        if self.access == Access::Plan {
            return Ok(self.plan_write(&name, bytes, &quota));
        }
        let writing = self.store.write_file(self.drawer.clone(), self.by(), name, bytes, quota);
        let written = self.wait(lease, writing)?;
        Ok(written.map(|(file, is_new)| {
            self.changed(&file.name, is_new);
            file
        }))
    }

    /// Removes a file.
    pub(crate) fn delete(&mut self, lease: &Lease, name: &str) -> Result<Result<bool, Refusal>, Stop> {
        let name = match name.parse::<FileName>().map_err(Refusal::from) {
            Ok(name) => name,
            Err(refusal) => return Ok(Err(refusal)),
        };
        if let Err(refusal) = self.may_change() {
            return Ok(Err(refusal));
        }
        if self.access == Access::Plan {
            return Ok(self.seen().map(|seen| self.overlay.delete(&name, &seen)));
        }
        let deleting = self.store.delete_file(self.drawer.clone(), self.by(), name.clone());
        let deleted = self.wait(lease, deleting)?;
        if deleted == Ok(true) {
            self.changed(&name, true);
        }
        Ok(deleted)
    }

    /// Bytes of a file, by its name or its address.
    pub(crate) fn read(&self, file: &str, offset: u64, length: u64) -> Result<Vec<u8>, Refusal> {
        let drawer = self.reach(file)?;
        let name = &drawer.1;
        if drawer.0.owner == self.drawer.owner
            && let Some(changed) = self.overlay.bytes(name)
        {
            let bytes = changed.ok_or_else(|| not_found(file))?;
            let from = usize::try_from(offset).unwrap_or(usize::MAX).min(bytes.len());
            let until = from.saturating_add(usize::try_from(length).unwrap_or(usize::MAX)).min(bytes.len());
            return Ok(bytes[from..until].to_vec());
        }
        let found = self.store.read_file(&drawer.0, name, offset, length);
        found.map_err(|error| self.unavailable(error))?.ok_or_else(|| not_found(file))
    }

    /// What there is to know of a file, by its name or its address.
    pub(crate) fn find(&self, file: &str) -> Result<Option<File>, Refusal> {
        let (drawer, name) = match self.reach(file) {
            Ok(reached) => reached,
            Err(Refusal::NotFound(_)) => return Ok(None),
            Err(refusal) => return Err(refusal),
        };
        let stored = self.store.files(&drawer).map_err(|error| self.unavailable(error))?;
        let seen =
            if drawer.owner == self.drawer.owner { self.overlay.merge(&drawer.owner, stored) } else { stored };
        Ok(seen.into_iter().find(|file| file.name == name))
    }

    /// The capability's files whose names begin so.
    pub(crate) fn list(&self, prefix: &str) -> Result<Vec<File>, Refusal> {
        let mut files = self.seen()?;
        files.retain(|file| file.name.as_str().starts_with(prefix));
        Ok(files)
    }

    /// Which file a text means. One of another capability is none where those cannot be read.
    fn reach(&self, file: &str) -> Result<(Drawer, FileName), Refusal> {
        let Some((owner, name)) = of_address(file) else {
            return Ok((self.drawer.clone(), file.parse()?));
        };
        if owner != self.drawer.owner && !self.others {
            return Err(not_found(file));
        }
        Ok((Drawer { owner, ..self.drawer.clone() }, name))
    }

    fn may_change(&self) -> Result<Quota, Refusal> {
        let quota = self.quota.ok_or(Refusal::NotAvailable)?;
        if self.access == Access::Read { Err(Refusal::ReadOnly) } else { Ok(quota) }
    }

    fn plan_write(&mut self, name: &FileName, bytes: Vec<u8>, quota: &Quota) -> Result<File, Refusal> {
        let (seen, sums, now) = (self.seen()?, self.sums()?, self.store.now_ms());
        let size = bytes.len() as u64;
        self.overlay.write(name, bytes, &seen, sums, now, quota)?;
        Ok(File { owner: self.owner().clone(), name: name.clone(), bytes: size, written_at: now })
    }

    /// The capability's files, as this call sees them.
    fn seen(&self) -> Result<Vec<File>, Refusal> {
        let stored = self.store.files(&self.drawer).map_err(|error| self.unavailable(error))?;
        Ok(self.overlay.merge(self.owner(), stored))
    }

    fn sums(&self) -> Result<rules::Sums, Refusal> {
        self.store.file_sums(&self.drawer.room).map_err(|error| self.unavailable(error))
    }

    /// Waits for a change. It is dropped when the call is over: one that has not begun by then is not made.
    fn wait<T>(
        &self,
        lease: &Lease,
        changing: impl Future<Output = Result<Result<T, Refusal>, Error>>,
    ) -> Result<Result<T, Refusal>, Stop> {
        let changed = self.io.block_on(async {
            tokio::select! {
                biased;
                changed = changing => Ok(changed),
                () = lease.cancel.cancelled() => Err(Stop::Cancelled),
                () = tokio::time::sleep_until(lease.deadline.into()) => Err(Stop::Time),
            }
        })?;
        Ok(changed.unwrap_or_else(|error| Err(self.unavailable(error))))
    }

    fn changed(&mut self, name: &FileName, comes_or_goes: bool) {
        self.made += 1;
        // Nobody may listen.
        let _ = self.news.send(FileNews {
            principal: self.drawer.room.principal.clone(),
            conversation: self.drawer.room.conversation.clone(),
            owner: self.owner().clone(),
            name: name.clone(),
            comes_or_goes,
        });
    }

    fn by(&self) -> WrittenBy {
        WrittenBy { call: self.call.clone(), position: self.made, run: self.run.clone(), digest: self.digest }
    }

    fn owner(&self) -> &CapabilityName {
        &self.drawer.owner
    }

    /// What went wrong with the disk is the operator's business, not the guest's.
    #[expect(clippy::needless_pass_by_value, reason = "it ends here")]
    fn unavailable(&self, error: Error) -> Refusal {
        if !self.told.swap(true, Ordering::Relaxed) {
            tracing::error!(code = error.kind.code(), detail = error.detail, "files: {}", error.message);
        }
        Refusal::Unavailable
    }
}

fn not_found(file: &str) -> Refusal {
    let most = NAME_BYTES * 2;
    Refusal::NotFound(file[..file.floor_char_boundary(most)].to_owned())
}
