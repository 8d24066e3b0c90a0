//! Files of a conversation, as the principal that it belongs to reads them. No guest runs for that.
//!
//! A file is seen where its capability is: installed, granted the namespace now, shown to agents, and not narrowed
//! away from the caller. Whatever is not is not there.

use tokio::sync::broadcast;

use super::Host;
use crate::client::Conversation;
use crate::error::Result;
use crate::manifest::NamespaceName;
use crate::namespaces::sandbox::name::FileName;
use crate::namespaces::sandbox::{File, FileNews};
use crate::policy::{self, Caller, Identity};
use crate::registry::{CapabilityName, Entry, Snapshot};
use crate::store::{Drawer, Room};

impl Host {
    /// The files that a caller finds in a conversation.
    pub fn files(&self, caller: &Identity, conversation: &Conversation) -> Result<Vec<File>> {
        let snapshot = self.snapshot()?;
        if !snapshot.entries.values().any(|entry| keeps_files(entry)) {
            return Ok(Vec::new());
        }
        let mut files = self.rooms.store.files_of_all(&self.room(caller, conversation))?;
        files.retain(|file| may_see(caller, &snapshot, &file.owner));
        Ok(files)
    }

    /// One of them.
    pub fn file(
        &self,
        caller: &Identity,
        conversation: &Conversation,
        owner: &CapabilityName,
        name: &FileName,
    ) -> Result<Option<File>> {
        if !may_see(caller, &*self.snapshot()?, owner) {
            return Ok(None);
        }
        let files = self.rooms.store.files(&self.drawer(caller, conversation, owner))?;
        Ok(files.into_iter().find(|file| file.name == *name))
    }

    /// Bytes of one of them, from `offset` on. Nothing when it is not there.
    pub fn read_file(
        &self,
        caller: &Identity,
        conversation: &Conversation,
        (owner, name): (&CapabilityName, &FileName),
        offset: u64,
        length: u64,
    ) -> Result<Option<Vec<u8>>> {
        if !may_see(caller, &*self.snapshot()?, owner) {
            return Ok(None);
        }
        self.rooms.store.read_file(&self.drawer(caller, conversation, owner), name, offset, length)
    }

    /// Whether this capability keeps files now.
    pub fn keeps_files(&self, owner: &CapabilityName) -> Result<bool> {
        Ok(self.snapshot()?.entries.get(owner).is_some_and(|entry| keeps_files(entry)))
    }

    /// Hears of files that changed, in all conversations, by calls of this process.
    #[must_use]
    pub fn file_news(&self) -> broadcast::Receiver<FileNews> {
        self.rooms.files.subscribe()
    }

    fn room(&self, caller: &Identity, conversation: &Conversation) -> Room {
        Room::of(&caller.principal, conversation, self.rooms.sandbox.keep())
    }

    fn drawer(&self, caller: &Identity, conversation: &Conversation, owner: &CapabilityName) -> Drawer {
        Drawer { room: self.room(caller, conversation), owner: owner.clone() }
    }
}

fn may_see(caller: &Identity, snapshot: &Snapshot, owner: &CapabilityName) -> bool {
    let caller = Caller::of(caller, &snapshot.directory);
    snapshot.entries.get(owner).is_some_and(|entry| {
        keeps_files(entry) && policy::is_shown(&entry.restrictions) && caller.may_use(&entry.restrictions)
    })
}

fn keeps_files(entry: &Entry) -> bool {
    entry.capability.manifest.uses.contains(&NamespaceName::Sandbox)
        && policy::is_granted(NamespaceName::Sandbox, &entry.grants)
}
