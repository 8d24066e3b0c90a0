//! Files of a conversation as resources, and who is told that they changed.
//!
//! An address says the capability and the name, and nothing of whose file it is: it is looked for in the
//! conversation of whoever asks, and so is everybody else's out of reach. Which files a caller sees is decided
//! behind the host's door. News are of calls of this process.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use rmcp::RoleServer;
use rmcp::model::{Resource, ResourceContents, ResourceTemplate, ResourceUpdatedNotificationParam};
use rmcp::service::Peer;
use tokio::sync::broadcast::error::RecvError;
use tokio_util::sync::CancellationToken;

use super::Surface;
use super::listeners::PATIENCE;
use super::reply;
use crate::call::{Contents, Host};
use crate::client::Conversation;
use crate::error::Result;
use crate::namespaces::sandbox::name::{ADDRESS, FileName, of_address};
use crate::namespaces::sandbox::{File, FileNews};
use crate::policy::Identity;
use crate::registry::CapabilityName;

/// Bytes that one read gives: as many as an answer may have.
const AT_ONCE: u64 = 4 * 1024 * 1024;

/// Addresses that one session may subscribe to.
const SUBSCRIBED: usize = 100;

/// Who asks, in which conversation, on which surface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Who {
    pub(super) caller: Identity,
    pub(super) conversation: Conversation,
    pub(super) surface: Surface,
}

/// The files of one door.
pub(super) struct Files {
    host: Host,
    legacy: Mutex<Vec<Known>>,
}

/// A legacy client and what it listens to.
struct Known {
    peer: Peer<RoleServer>,
    who: Who,
    uris: BTreeSet<String>,
}

/// What an address means.
struct Place {
    owner: CapabilityName,
    name: FileName,
    /// Where the part begins, and how long it is; `None` for the whole.
    part: Option<(u64, u64)>,
}

/// What is at an address.
pub(super) enum Found {
    /// The file, or the part of it that was asked for.
    Contents(ResourceContents),
    /// Too large to be read at once: so many bytes.
    TooLarge(u64),
}

impl Who {
    /// Whether a change is one of its own files.
    pub(super) fn hears_of(&self, news: &FileNews) -> bool {
        self.surface.shows(&news.owner)
            && self.caller.principal == news.principal
            && self.conversation.key(&self.caller.principal) == news.conversation
    }
}

impl Files {
    /// Tells legacy clients of changes until `stop` is cancelled.
    pub(super) fn watch(host: Host, stop: CancellationToken) -> Arc<Self> {
        let this = Arc::new(Self { host, legacy: Mutex::default() });
        tokio::spawn(Arc::clone(&this).run(stop));
        this
    }

    /// The files that a caller finds.
    pub(super) fn list(&self, who: &Who) -> Result<Vec<Resource>> {
        let files = self.host.files(&who.caller, &who.conversation)?;
        Ok(files.iter().filter(|file| who.surface.shows(&file.owner)).map(resource).collect())
    }

    /// How the addresses are written, where some capability keeps files.
    pub(super) fn templates(&self, surface: &Surface) -> Result<Option<ResourceTemplate>> {
        let snapshot = self.host.snapshot()?;
        for name in snapshot.entries.keys().filter(|name| surface.shows(name)) {
            if self.host.keeps_files(name)? {
                let form = format!("{ADDRESS}{{publisher}}/{{slug}}/{{+name}}{{?offset,length}}");
                let about =
                    "A file that a tool wrote in this conversation. With `offset` and `length`: a part of it.";
                return Ok(Some(ResourceTemplate::new(form, "sandbox-file").with_description(about)));
            }
        }
        Ok(None)
    }

    /// What a caller finds at an address; nothing where there is none of its own.
    pub(super) fn read(&self, who: &Who, uri: &str) -> Result<Option<Found>> {
        let Some(Place { owner, name, part }) = place(uri).filter(|place| who.surface.shows(&place.owner)) else {
            return Ok(None);
        };
        let Who { caller, conversation, .. } = who;
        let Some(file) = self.host.file(caller, conversation, &owner, &name)? else { return Ok(None) };
        let (offset, length) = match part {
            Some((offset, length)) => (offset, length.min(AT_ONCE)),
            None if file.bytes > AT_ONCE => return Ok(Some(Found::TooLarge(file.bytes))),
            None => (0, AT_ONCE),
        };
        let bytes = self.host.read_file(caller, conversation, (&owner, &name), offset, length)?;
        Ok(bytes.map(|bytes| Found::Contents(contents(uri, &file, bytes))))
    }

    /// Whether an address can be listened to, whether there is such a file now or not.
    pub(super) fn is_watchable(&self, surface: &Surface, uri: &str) -> bool {
        of_address(uri)
            .is_some_and(|(owner, _)| surface.shows(&owner) && self.host.keeps_files(&owner).unwrap_or_default())
    }

    /// Tells a legacy client of files that come and go for as long as its session lasts.
    pub(super) fn add_legacy(&self, peer: Peer<RoleServer>, who: Who) {
        self.living(|known| {
            if !known.iter().any(|one| is_same(&one.peer, &peer)) {
                known.push(Known { peer, who, uris: BTreeSet::new() });
            }
        });
    }

    /// Tells it of changes at an address, too. Gives whether it may listen to one more.
    pub(super) fn listen(&self, peer: &Peer<RoleServer>, who: Who, uri: String) -> bool {
        self.add_legacy(peer.clone(), who);
        self.living(|known| {
            let listening = known.iter_mut().find(|one| is_same(&one.peer, peer));
            listening.is_some_and(|one| {
                let may = one.uris.len() < SUBSCRIBED || one.uris.contains(&uri);
                if may {
                    one.uris.insert(uri);
                }
                may
            })
        })
    }

    /// Stops that.
    pub(super) fn stop_listening(&self, peer: &Peer<RoleServer>, uri: &str) {
        self.living(|known| {
            for one in known.iter_mut().filter(|one| is_same(&one.peer, peer)) {
                one.uris.remove(uri);
            }
        });
    }

    async fn run(self: Arc<Self>, stop: CancellationToken) {
        let mut news = self.host.file_news();
        loop {
            let heard = tokio::select! {
                () = stop.cancelled() => return,
                heard = news.recv() => heard,
            };
            match heard {
                Ok(news) => self.tell(Some(&news)),
                Err(RecvError::Lagged(_)) => self.tell(None),
                Err(RecvError::Closed) => return,
            }
        }
    }

    /// Tells those whose file changed; when some news were lost, everyone of everything.
    fn tell(&self, news: Option<&FileNews>) {
        let address = news.map(|news| news.name.address(&news.owner));
        self.living(|known| {
            for one in known.iter().filter(|one| news.is_none_or(|news| one.who.hears_of(news))) {
                let lists = news.is_none_or(|news| news.comes_or_goes);
                let heard = |uri: &&String| address.as_ref().is_none_or(|address| address == *uri);
                let uris: Vec<String> = one.uris.iter().filter(heard).cloned().collect();
                let peer = one.peer.clone();
                tokio::spawn(async move {
                    let told = tokio::time::timeout(PATIENCE, async {
                        if lists {
                            peer.notify_resource_list_changed().await?;
                        }
                        for uri in uris {
                            peer.notify_resource_updated(ResourceUpdatedNotificationParam::new(uri)).await?;
                        }
                        Ok::<(), rmcp::ServiceError>(())
                    });
                    if !matches!(told.await, Ok(Ok(()))) {
                        tracing::debug!("a legacy client did not take the news of a file");
                    }
                });
            }
        });
    }

    /// Does something with the clients that are still there.
    fn living<T>(&self, work: impl FnOnce(&mut Vec<Known>) -> T) -> T {
        let mut known = self.legacy.lock().unwrap_or_else(PoisonError::into_inner);
        known.retain(|one| !one.peer.is_transport_closed());
        work(&mut known)
    }
}

fn is_same(one: &Peer<RoleServer>, other: &Peer<RoleServer>) -> bool {
    match (one.peer_info(), other.peer_info()) {
        (Some(one), Some(other)) => Arc::ptr_eq(&one, &other),
        _ => false,
    }
}

fn resource(file: &File) -> Resource {
    let last = file.name.as_str().rsplit('/').next().unwrap_or_default();
    Resource::new(file.address(), last)
        .with_description(format!("A file of `{}`, written in this conversation.", file.owner))
        .with_mime_type(file.name.media_type())
        .with_size(file.bytes)
}

/// The file as text where its name says that it is one and it is; else as bytes. Parts may end inside a letter, and
/// are bytes then.
fn contents(uri: &str, file: &File, bytes: Vec<u8>) -> ResourceContents {
    let media_type = file.name.media_type();
    let is_text = media_type.starts_with("text/")
        || matches!(
            media_type,
            "application/json" | "application/jsonl" | "application/xml" | "application/yaml" | "image/svg+xml"
        );
    let contents = if is_text {
        String::from_utf8(bytes).map_or_else(|error| Contents::Blob(error.into_bytes()), Contents::Text)
    } else {
        Contents::Blob(bytes)
    };
    reply::document(uri.to_owned(), Some(media_type.to_owned()), contents)
}

/// The file that an address names, and the part of it.
fn place(uri: &str) -> Option<Place> {
    let (address, part) = match uri.split_once('?') {
        None => (uri, None),
        Some((address, query)) => {
            let (offset, length) = query.split_once('&')?;
            let number = |text: &str, key: &str| -> Option<u64> {
                let value = text.strip_prefix(key)?;
                value.bytes().all(|byte| byte.is_ascii_digit()).then(|| value.parse().ok())?
            };
            (address, Some((number(offset, "offset=")?, number(length, "length=")?)))
        }
    };
    let (owner, name) = of_address(address)?;
    Some(Place { owner, name, part })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_may_name_a_part() {
        let address = "remit://sandbox/acme/images/a/cat.png";
        let part = |query: &str| place(&format!("{address}{query}")).map(|place| place.part);
        assert_eq!(part(""), Some(None));
        assert_eq!(part("?offset=0&length=7"), Some(Some((0, 7))));
        for bad in [
            "?",
            "?offset=1",
            "?length=1&offset=2",
            "?offset=-1&length=2",
            "?offset=1&length=2&x=3",
            "#a",
            "?offset=+1&length=1",
        ] {
            assert_eq!(part(bad), None, "{bad}");
        }
    }

    #[test]
    fn db_15_news_are_heard_in_their_own_conversation_alone() {
        let who = |principal: &str, conversation: Conversation, surface: Surface| Who {
            caller: Identity::operator(principal),
            conversation,
            surface,
        };
        let named = |name: &str| Conversation::Named(name.to_owned());
        let news = FileNews {
            principal: "a".to_owned(),
            conversation: named("x").key("a"),
            owner: "acme/images".parse().unwrap(),
            name: "cat.png".parse().unwrap(),
            comes_or_goes: true,
        };
        let one = |name: &str| Surface::One(name.parse().unwrap());
        for (who, hears) in [
            (who("a", named("x"), Surface::Joint), true),
            (who("a", named("x"), one("acme/images")), true),
            (who("a", named("x"), one("acme/other")), false),
            (who("a", named("y"), Surface::Joint), false),
            (who("a", Conversation::Own, Surface::Joint), false),
            (who("a", Conversation::Session("x".to_owned()), Surface::Joint), false),
            (who("b", named("x"), Surface::Joint), false),
        ] {
            assert_eq!(who.hears_of(&news), hears, "{who:?}");
        }
    }
}
