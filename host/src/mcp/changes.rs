//! Who is told that a list or a document changed, and when.
//!
//! One task for each surface that is in use watches the home. It waits a moment, so that an install with its
//! grants is one change, and speaks only when some agent would see something else than before: also when roles or
//! flags changed. Modern clients hear what they asked for, on the subscription that they hold open; legacy clients
//! hear all of it on their session. This file decides nothing about what is listed.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rmcp::RoleServer;
use rmcp::service::{Peer, SubscriptionContext};
use tokio::sync::{broadcast, watch};
use tokio_util::sync::CancellationToken;

use super::Surface;
use super::files::Who;
use super::inbox::Inbox;
use super::listeners::{Listeners, PATIENCE};
use super::shelf::{Shelf, Shelves};
use super::tools::{Lists, ToolList};
use crate::call::{Host, Updated};

/// How long further changes are waited for. An install writes several rows; a person does not notice this.
const PAUSE: Duration = Duration::from_millis(50);

/// Those who want to hear of changes on one surface.
pub(super) struct Changes {
    host: Host,
    surface: Surface,
    tools: watch::Sender<u64>,
    prompts: watch::Sender<u64>,
    resources: watch::Sender<u64>,
    legacy: Mutex<Vec<Peer<RoleServer>>>,
    listeners: Listeners,
    stop: CancellationToken,
}

/// A list that changed.
#[derive(Clone, Copy)]
enum Which {
    Tools,
    Prompts,
    Resources,
}

impl Changes {
    /// Watches until `stop` is cancelled.
    pub(super) fn watch(
        host: Host,
        surface: Surface,
        lists: Arc<Lists>,
        shelves: Arc<Shelves>,
        stop: CancellationToken,
    ) -> Arc<Self> {
        let [tools, prompts, resources] = [0, 0, 0].map(watch::Sender::new);
        let (legacy, listeners) = (Mutex::default(), Listeners::default());
        let this = Arc::new(Self { host, surface, tools, prompts, resources, legacy, listeners, stop });
        tokio::spawn(Arc::clone(&this).run(lists, shelves));
        tokio::spawn(Arc::clone(&this).relay_updates());
        this
    }

    /// Tells a legacy client of changed lists for as long as its session lasts.
    pub(super) fn add_legacy(&self, peer: Peer<RoleServer>) {
        let mut legacy = self.legacy.lock().unwrap_or_else(PoisonError::into_inner);
        legacy.retain(|peer| !peer.is_transport_closed());
        legacy.push(peer);
    }

    /// The legacy clients that listen to documents of capabilities.
    pub(super) fn listeners(&self) -> &Listeners {
        &self.listeners
    }

    /// Serves one subscription until the client or the door ends it.
    pub(super) async fn serve(&self, subscription: &SubscriptionContext, inbox: Option<&Inbox>, who: &Who) {
        let accepted = subscription.accepted();
        let (mut tools, mut prompts, mut resources) =
            (self.tools.subscribe(), self.prompts.subscribe(), self.resources.subscribe());
        let uris = accepted.resource_subscriptions.clone().unwrap_or_default();
        let of_inbox = uris.iter().any(|uri| Inbox::is_address(uri));
        // Nothing is looked for as long as nobody asks for it.
        let mut inbox = inbox.filter(|_| of_inbox).map(Inbox::subscribe);
        let mut updates = (!uris.is_empty()).then(|| self.host.updates());
        let mut files = Some(self.host.file_news());
        let sink = subscription.sink();
        loop {
            let told = tokio::select! {
                () = subscription.cancelled() => return,
                () = self.stop.cancelled() => return,
                Ok(()) = tools.changed(), if accepted.tools_list_changed == Some(true) => {
                    sink.notify_tool_list_changed().await
                }
                Ok(()) = prompts.changed(), if accepted.prompts_list_changed == Some(true) => {
                    sink.notify_prompt_list_changed().await
                }
                Ok(()) = resources.changed(), if accepted.resources_list_changed == Some(true) => {
                    sink.notify_resource_list_changed().await
                }
                news = next(&mut files) => match news {
                    Some(news) if !who.hears_of(&news) => Ok(()),
                    Some(news) => {
                        let lists = news.comes_or_goes && accepted.resources_list_changed == Some(true);
                        let told = if lists { sink.notify_resource_list_changed().await } else { Ok(()) };
                        let address = news.name.address(&news.owner);
                        told.and(self.tell(subscription, &uris, Some(&address)).await)
                    }
                    None => self.tell(subscription, &uris, None).await,
                },
                uri = next(&mut inbox) => self.tell(subscription, &uris, uri.as_deref()).await,
                updated = next(&mut updates) => {
                    let address = updated.map(|updated| self.address(&updated));
                    self.tell(subscription, &uris, address.as_deref()).await
                }
            };
            if told.is_err() {
                return;
            }
        }
    }

    /// Tells a subscription of a changed address that it listens to; without an address, of all of them.
    async fn tell(
        &self,
        subscription: &SubscriptionContext,
        uris: &[String],
        changed: Option<&str>,
    ) -> Result<(), rmcp::service::SubscriptionSendError> {
        for uri in uris.iter().filter(|uri| changed.is_none_or(|changed| changed == *uri)) {
            subscription.sink().notify_resource_updated(uri).await?;
        }
        Ok(())
    }

    /// The address here of a document that changed. One of another capability has an address that nobody here
    /// listens to.
    fn address(&self, updated: &Updated) -> String {
        if self.surface.shows(&updated.capability) {
            self.surface.address(&updated.capability, &updated.uri)
        } else {
            String::new()
        }
    }

    async fn relay_updates(self: Arc<Self>) {
        let mut updates = Some(self.host.updates());
        loop {
            tokio::select! {
                () = self.stop.cancelled() => return,
                updated = next(&mut updates) => {
                    self.listeners.tell(updated.map(|updated| self.address(&updated)).as_deref());
                }
            }
        }
    }

    async fn run(self: Arc<Self>, lists: Arc<Lists>, shelves: Arc<Shelves>) {
        let mut changes = self.host.changes();
        let mut seen = current(&lists, &shelves);
        loop {
            tokio::select! {
                () = self.stop.cancelled() => return,
                changed = changes.changed() => if changed.is_err() { return },
            }
            tokio::time::sleep(PAUSE).await;
            changes.mark_unchanged();
            let Some((tools, shelf)) = current(&lists, &shelves) else { continue };
            let before = seen.as_ref();
            for (which, is_same) in [
                (Which::Tools, before.is_some_and(|(before, _)| before.shows_the_same(&tools))),
                (Which::Prompts, before.is_some_and(|(_, before)| before.has_the_same_prompts(&shelf))),
                (Which::Resources, before.is_some_and(|(_, before)| before.has_the_same_documents(&shelf))),
            ] {
                if !is_same {
                    self.announce(which);
                }
            }
            seen = Some((tools, shelf));
        }
    }

    fn announce(&self, which: Which) {
        let announced = match which {
            Which::Tools => &self.tools,
            Which::Prompts => &self.prompts,
            Which::Resources => &self.resources,
        };
        announced.send_modify(|announcements| *announcements += 1);
        let mut legacy = self.legacy.lock().unwrap_or_else(PoisonError::into_inner);
        legacy.retain(|peer| !peer.is_transport_closed());
        for peer in legacy.iter() {
            let peer = peer.clone();
            tokio::spawn(async move {
                let told = tokio::time::timeout(PATIENCE, async {
                    match which {
                        Which::Tools => peer.notify_tool_list_changed().await,
                        Which::Prompts => peer.notify_prompt_list_changed().await,
                        Which::Resources => peer.notify_resource_list_changed().await,
                    }
                });
                if !matches!(told.await, Ok(Ok(()))) {
                    tracing::debug!("a legacy client did not take the news of a changed list");
                }
            });
        }
    }
}

/// The next item; `None` when some were lost. Without a source it never comes.
async fn next<T: Clone>(source: &mut Option<broadcast::Receiver<T>>) -> Option<T> {
    let Some(source) = source else { return std::future::pending().await };
    match source.recv().await {
        Ok(item) => Some(item),
        Err(broadcast::error::RecvError::Lagged(_)) => None,
        Err(broadcast::error::RecvError::Closed) => std::future::pending().await,
    }
}

fn current(lists: &Lists, shelves: &Shelves) -> Option<(Arc<ToolList>, Arc<Shelf>)> {
    match (lists.current(), shelves.current()) {
        (Ok(list), Ok(shelf)) => Some((list, shelf)),
        (Err(error), _) | (_, Err(error)) => {
            tracing::warn!(%error, "cannot tell whether the lists changed");
            None
        }
    }
}
