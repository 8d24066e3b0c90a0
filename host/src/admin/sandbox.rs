//! What people may do with files of conversations: look, copy, remove. A removal is recorded like a call.

use super::{Admin, File, KeptConversation};
use crate::audit::Record;
use crate::error::{Error, ErrorKind, Result};
use crate::namespaces::sandbox::name::of_address;

/// Letters of a conversation's key that say enough.
const KEY_LETTERS: usize = 4;

impl Admin {
    /// Every conversation with files, the last used first. Those whose time is over are not there any more.
    pub fn conversations(&self) -> Result<Vec<KeptConversation>> {
        self.store.conversations(self.store.now_ms().saturating_sub(self.sandbox.keep()))
    }

    /// Removes the files of all conversations whose time is over.
    pub fn remove_old_files(&self) -> Result<()> {
        self.store.remove_old_files(self.sandbox.keep())
    }

    /// The conversation whose key begins so.
    pub fn conversation(&self, key: &str) -> Result<KeptConversation> {
        let not_found =
            |message: String| Err(Error::new(ErrorKind::SandboxNotFound, message).hint("remit sandbox list"));
        if key.len() < KEY_LETTERS {
            return not_found(format!("give at least {KEY_LETTERS} letters of the conversation's id"));
        }
        let mut found: Vec<_> =
            self.conversations()?.into_iter().filter(|known| known.key.starts_with(key)).collect();
        match (found.pop(), found.len()) {
            (Some(only), 0) => Ok(only),
            (Some(_), _) => not_found(format!("several conversations begin with `{key}`")),
            (None, _) => not_found(format!("no conversation `{key}` has files")),
        }
    }

    /// The files of a conversation.
    pub fn files(&self, conversation: &KeptConversation) -> Result<Vec<File>> {
        self.store.files_by_key(&conversation.key)
    }

    /// The bytes of the file at an address.
    pub fn file(&self, conversation: &KeptConversation, address: &str) -> Result<Vec<u8>> {
        let found = match of_address(address) {
            Some((owner, name)) => self.store.file_by_key(&conversation.key, &owner, &name)?,
            None => None,
        };
        found.ok_or_else(|| no_file(conversation, address))
    }

    /// Removes the file at an address, or all files of a conversation. Gives how many there were.
    pub fn delete_files(&self, conversation: &KeptConversation, address: Option<&str>) -> Result<usize> {
        let only = match address {
            Some(address) => Some(of_address(address).ok_or_else(|| no_file(conversation, address))?),
            None => None,
        };
        let capability = only.as_ref().map_or_else(|| "sandbox".to_owned(), |(owner, _)| owner.to_string());
        let detail = format!("of the conversation {} of {}", conversation.key, conversation.principal);
        let record = Record { capability, detail: Some(detail), ..self.record_of("sandbox.delete".to_owned())? };
        match (self.store.delete_files_by_hand(&conversation.key, only, record)?, address) {
            (0, Some(address)) => Err(no_file(conversation, address)),
            (gone, _) => Ok(gone),
        }
    }
}

fn no_file(conversation: &KeptConversation, address: &str) -> Error {
    let key = &conversation.key[..conversation.key.floor_char_boundary(KEY_LETTERS * 2)];
    Error::new(ErrorKind::SandboxNotFound, format!("the conversation has no file `{address}`"))
        .hint(format!("remit sandbox list {key}"))
}
