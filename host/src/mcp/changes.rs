//! Who is told that the list of tools changed, and when.
//!
//! One task for each door watches the home. It waits a moment, so that an install with its grants is one
//! change, and speaks only when some agent would see other tools than before: also when roles or flags changed. Modern clients hear it on the
//! subscription that they hold open; legacy clients on their session. This file decides nothing about what
//! is listed.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rmcp::RoleServer;
use rmcp::service::{Peer, SubscriptionContext};
use tokio::sync::{broadcast, watch};
use tokio_util::sync::CancellationToken;

use super::inbox::Inbox;
use super::tools::{Lists, ToolList};

/// How long further changes are waited for. An install writes several rows; a person does not notice this.
const PAUSE: Duration = Duration::from_millis(50);

/// How long one legacy client may take to take the message. A client that does not read loses it.
const PATIENCE: Duration = Duration::from_secs(5);

/// Those who want to hear of changes.
pub(super) struct Changes {
    announced: watch::Sender<u64>,
    legacy: Mutex<Vec<Peer<RoleServer>>>,
    stop: CancellationToken,
}

impl Changes {
    /// Watches until `stop` is cancelled; `changes` tells of every change in the home.
    pub(super) fn watch(lists: Arc<Lists>, changes: watch::Receiver<u64>, stop: CancellationToken) -> Arc<Self> {
        let this = Arc::new(Self { announced: watch::Sender::new(0), legacy: Mutex::default(), stop });
        tokio::spawn(Arc::clone(&this).run(lists, changes));
        this
    }

    /// Tells a legacy client of changes for as long as its session lasts.
    pub(super) fn add_legacy(&self, peer: Peer<RoleServer>) {
        let mut legacy = self.legacy.lock().unwrap_or_else(PoisonError::into_inner);
        legacy.retain(|peer| !peer.is_transport_closed());
        legacy.push(peer);
    }

    /// Serves one subscription until the client or the door ends it.
    pub(super) async fn serve(&self, subscription: &SubscriptionContext, inbox: &Inbox) {
        let mut announced = self.announced.subscribe();
        let uris = subscription.accepted().resource_subscriptions.clone().unwrap_or_default();
        // Nothing is looked for as long as nobody asks for it.
        let mut inbox = (!uris.is_empty()).then(|| inbox.subscribe());
        let wants_tools = subscription.accepted().tools_list_changed == Some(true);
        loop {
            tokio::select! {
                () = subscription.cancelled() => return,
                () = self.stop.cancelled() => return,
                Ok(()) = announced.changed(), if wants_tools => {
                    if subscription.sink().notify_tool_list_changed().await.is_err() {
                        return;
                    }
                }
                uri = next(&mut inbox) => {
                    let told: Vec<_> = match &uri {
                        // Too many at once for this client: whatever it listens to may have changed.
                        None => uris.iter().collect(),
                        Some(uri) => uris.iter().filter(|known| *known == uri).collect(),
                    };
                    for uri in told {
                        if subscription.sink().notify_resource_updated(uri).await.is_err() {
                            return;
                        }
                    }
                }
            }
        }
    }

    async fn run(self: Arc<Self>, lists: Arc<Lists>, mut changes: watch::Receiver<u64>) {
        let mut seen = current(&lists);
        loop {
            tokio::select! {
                () = self.stop.cancelled() => return,
                changed = changes.changed() => if changed.is_err() { return },
            }
            tokio::time::sleep(PAUSE).await;
            changes.mark_unchanged();
            let Some(now) = current(&lists) else { continue };
            let is_same = seen.as_ref().is_some_and(|seen| seen.shows_the_same(&now));
            seen = Some(now);
            if !is_same {
                self.announce();
            }
        }
    }

    fn announce(&self) {
        self.announced.send_modify(|announcements| *announcements += 1);
        let mut legacy = self.legacy.lock().unwrap_or_else(PoisonError::into_inner);
        legacy.retain(|peer| !peer.is_transport_closed());
        for peer in legacy.iter() {
            let peer = peer.clone();
            tokio::spawn(async move {
                let told = tokio::time::timeout(PATIENCE, peer.notify_tool_list_changed()).await;
                if !matches!(told, Ok(Ok(()))) {
                    tracing::debug!("a legacy client did not take the news of a changed list");
                }
            });
        }
    }
}

/// The next changed address; `None` when some were lost. Without an inbox it never comes.
async fn next(inbox: &mut Option<broadcast::Receiver<String>>) -> Option<String> {
    let Some(inbox) = inbox else { return std::future::pending().await };
    match inbox.recv().await {
        Ok(uri) => Some(uri),
        Err(broadcast::error::RecvError::Lagged(_)) => None,
        Err(broadcast::error::RecvError::Closed) => std::future::pending().await,
    }
}

fn current(lists: &Lists) -> Option<Arc<ToolList>> {
    match lists.current() {
        Ok(list) => Some(list),
        Err(error) => {
            tracing::warn!(%error, "cannot tell whether the list of tools changed");
            None
        }
    }
}
