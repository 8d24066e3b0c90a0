//! Legacy clients and the addresses that each listens to, for as long as their sessions last.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rmcp::RoleServer;
use rmcp::model::ResourceUpdatedNotificationParam;
use rmcp::service::Peer;

/// How long one client may take to take a message. A client that does not read loses it.
pub(super) const PATIENCE: Duration = Duration::from_secs(5);

/// Addresses that one session may subscribe to.
const SUBSCRIBED: usize = 100;

/// Those who listen.
#[derive(Default)]
pub(super) struct Listeners(Mutex<Vec<Known>>);

/// A client and what it listens to.
struct Known {
    peer: Peer<RoleServer>,
    uris: BTreeSet<String>,
}

impl Listeners {
    /// Tells a client of changes at an address from now on. Gives whether it may listen to one more.
    pub(super) fn add(&self, peer: Peer<RoleServer>, uri: String) -> bool {
        let mut listeners = self.living();
        let position = listeners.iter().position(|known| is_same(&known.peer, &peer));
        let position = position.unwrap_or_else(|| {
            listeners.push(Known { peer, uris: BTreeSet::new() });
            listeners.len() - 1
        });
        let known = &mut listeners[position];
        if known.uris.len() >= SUBSCRIBED && !known.uris.contains(&uri) {
            return false;
        }
        known.uris.insert(uri);
        true
    }

    /// Stops that.
    pub(super) fn remove(&self, peer: &Peer<RoleServer>, uri: &str) {
        let mut listeners = self.living();
        for known in listeners.iter_mut().filter(|known| is_same(&known.peer, peer)) {
            known.uris.remove(uri);
        }
        listeners.retain(|known| !known.uris.is_empty());
    }

    /// Whether nobody listens.
    pub(super) fn is_empty(&self) -> bool {
        self.living().is_empty()
    }

    /// Tells everyone who listens to an address; without one, everyone of all that they listen to.
    pub(super) fn tell(&self, changed: Option<&str>) {
        for known in self.living().iter() {
            for uri in known.uris.iter().filter(|uri| changed.is_none_or(|changed| changed == *uri)) {
                let (peer, news) = (known.peer.clone(), ResourceUpdatedNotificationParam::new(uri.clone()));
                tokio::spawn(async move {
                    let told = tokio::time::timeout(PATIENCE, peer.notify_resource_updated(news)).await;
                    if !matches!(told, Ok(Ok(()))) {
                        tracing::debug!("a legacy client did not take the news of a document");
                    }
                });
            }
        }
    }

    fn living(&self) -> MutexGuard<'_, Vec<Known>> {
        let mut listeners = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        listeners.retain(|known| !known.peer.is_transport_closed());
        listeners
    }
}

fn is_same(one: &Peer<RoleServer>, other: &Peer<RoleServer>) -> bool {
    match (one.peer_info(), other.peer_info()) {
        (Some(one), Some(other)) => std::sync::Arc::ptr_eq(&one, &other),
        _ => false,
    }
}
