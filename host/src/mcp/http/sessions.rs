//! The sessions of legacy clients: how many, how long, and whose. Modern clients have none.
//!
//! A session belongs to the principal that began it and to the surface that it was begun on; anywhere else it does
//! not exist, so knowing its id gives nothing. One principal cannot fill the house. The library asks for sessions by
//! id alone, so who asks travels beside the request, in
//! [`Asker`], and what the library has no answer for (a full house) travels back the same way.

use std::cell::Cell;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::http::StatusCode;
use axum::http::header::RETRY_AFTER;
use axum::response::{IntoResponse as _, Response};
use futures_core::Stream;
use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::streamable_http_server::session::local::{LocalSessionManager, LocalSessionManagerError};
use rmcp::transport::streamable_http_server::session::{ServerSseMessage, SessionId, SessionManager};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::super::Surface;

/// How long a session may stand idle. Long enough for a person who reads, short enough that the sessions of
/// clients that went without a word do not fill the house.
const IDLE: Duration = Duration::from_secs(30 * 60);

/// Said to a client that found the house full: sessions end by the minute, not by the second.
const RETRY_SECONDS: &str = "30";

/// The sessions of one door.
pub(super) struct Sessions {
    inner: LocalSessionManager,
    free: Arc<Semaphore>,
    per_principal: usize,
    owners: Mutex<HashMap<SessionId, Owner>>,
}

struct Owner {
    principal: String,
    surface: Surface,
    /// Given back when the session is forgotten.
    _place: OwnedSemaphorePermit,
}

/// Why the sessions refused something.
#[derive(Debug, thiserror::Error)]
pub(super) enum SessionsError {
    /// All places are taken.
    #[error("too many sessions")]
    Full,
    /// The library's own reasons.
    #[error(transparent)]
    Library(#[from] LocalSessionManagerError),
}

/// Who makes the request that is being handled, and what is refused to it.
struct Asker {
    principal: String,
    surface: Surface,
    refusal: Cell<Option<Refusal>>,
}

#[derive(Clone, Copy)]
enum Refusal {
    Full,
    Unknown,
}

tokio::task_local! {
    static ASKER: Asker;
}

/// The surface of the request that is being handled. Outside a request there is none to make anything for.
pub(super) fn surface() -> Surface {
    ASKER.try_with(|asker| asker.surface.clone()).unwrap_or_default()
}

/// Handles a request on behalf of `principal`, on `surface`.
pub(super) async fn on_behalf(
    principal: String,
    surface: Surface,
    handled: impl Future<Output = Response>,
) -> Response {
    let asker = Asker { principal, surface, refusal: Cell::new(None) };
    let answer = async {
        let response = handled.await;
        match ASKER.with(|asker| asker.refusal.get()) {
            None => response,
            Some(Refusal::Full) => {
                let message = "host/busy: too many sessions; try again";
                (StatusCode::SERVICE_UNAVAILABLE, [(RETRY_AFTER, RETRY_SECONDS)], message).into_response()
            }
            Some(Refusal::Unknown) => (StatusCode::NOT_FOUND, "there is no such session").into_response(),
        }
    };
    ASKER.scope(asker, answer).await
}

impl Sessions {
    /// Room for `most` sessions, and for `per_principal` of each principal.
    pub(super) fn new(most: usize, per_principal: usize) -> Self {
        let mut inner = LocalSessionManager::default();
        inner.session_config.keep_alive = Some(IDLE);
        let free = Arc::new(Semaphore::new(most.min(Semaphore::MAX_PERMITS)));
        Self { inner, free, per_principal, owners: Mutex::default() }
    }

    fn has_room_for(&self, principal: &str) -> bool {
        let owners = self.owners.lock().unwrap_or_else(PoisonError::into_inner);
        owners.values().filter(|owner| owner.principal == principal).count() < self.per_principal
    }

    /// Reads how many there are.
    pub(super) fn taken(&self) -> impl Fn() -> u64 + Send + Sync + use<> {
        let (free, most) = (Arc::clone(&self.free), self.free.available_permits());
        move || most.saturating_sub(free.available_permits()) as u64
    }

    /// Whether the session is the asker's. Outside a request the library itself asks, about its own.
    fn is_askers(&self, id: &SessionId) -> bool {
        let owners = self.owners.lock().unwrap_or_else(PoisonError::into_inner);
        let owner = owners.get(id).map(|owner| (&owner.principal, &owner.surface));
        ASKER.try_with(|asker| owner == Some((&asker.principal, &asker.surface))).unwrap_or(true)
    }

    fn forget(&self, id: &SessionId) {
        self.owners.lock().unwrap_or_else(PoisonError::into_inner).remove(id);
    }
}

fn refuse(refusal: Refusal) {
    // Outside a request there is nobody to refuse anything to.
    let _ = ASKER.try_with(|asker| asker.refusal.set(Some(refusal)));
}

impl SessionManager for Sessions {
    type Error = SessionsError;
    type Transport = <LocalSessionManager as SessionManager>::Transport;

    async fn create_session(&self) -> Result<(SessionId, Self::Transport), SessionsError> {
        let asker = ASKER.try_with(|asker| (asker.principal.clone(), asker.surface.clone()));
        let (Ok((principal, surface)), Ok(place)) = (asker, Arc::clone(&self.free).try_acquire_owned()) else {
            refuse(Refusal::Full);
            return Err(SessionsError::Full);
        };
        // Two that begin at the same moment may both get the last place of their principal; the house's own limit
        // holds in any case.
        if !self.has_room_for(&principal) {
            refuse(Refusal::Full);
            return Err(SessionsError::Full);
        }
        let (id, transport) = self.inner.create_session().await?;
        let owner = Owner { principal, surface, _place: place };
        self.owners.lock().unwrap_or_else(PoisonError::into_inner).insert(id.clone(), owner);
        Ok((id, transport))
    }

    async fn has_session(&self, id: &SessionId) -> Result<bool, SessionsError> {
        Ok(self.is_askers(id) && self.inner.has_session(id).await?)
    }

    async fn close_session(&self, id: &SessionId) -> Result<(), SessionsError> {
        if !self.is_askers(id) {
            refuse(Refusal::Unknown);
            return Ok(());
        }
        self.forget(id);
        Ok(self.inner.close_session(id).await?)
    }

    // The library asks `has_session` before each of the following.

    async fn initialize_session(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<ServerJsonRpcMessage, SessionsError> {
        Ok(self.inner.initialize_session(id, message).await?)
    }

    async fn create_stream(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, SessionsError> {
        Ok(self.inner.create_stream(id, message).await?)
    }

    async fn accept_message(&self, id: &SessionId, message: ClientJsonRpcMessage) -> Result<(), SessionsError> {
        Ok(self.inner.accept_message(id, message).await?)
    }

    async fn create_standalone_stream(
        &self,
        id: &SessionId,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, SessionsError> {
        Ok(self.inner.create_standalone_stream(id).await?)
    }

    async fn resume(
        &self,
        id: &SessionId,
        last_event_id: String,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, SessionsError> {
        Ok(self.inner.resume(id, last_event_id).await?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn by<T>(principal: &str, work: impl Future<Output = T>) -> T {
        at(principal, Surface::Joint, work).await
    }

    async fn at<T>(principal: &str, surface: Surface, work: impl Future<Output = T>) -> T {
        ASKER.scope(Asker { principal: principal.to_owned(), surface, refusal: Cell::new(None) }, work).await
    }

    #[tokio::test]
    async fn a_session_is_its_surfaces_alone() {
        let one = Surface::One("acme/notes".parse().unwrap());
        let sessions = Sessions::new(2, 2);
        let (id, _transport) = at("a", one.clone(), sessions.create_session()).await.unwrap();
        assert!(at("a", one.clone(), sessions.has_session(&id)).await.unwrap());
        assert!(!at("a", Surface::Joint, sessions.has_session(&id)).await.unwrap());
        at("a", Surface::Joint, sessions.close_session(&id)).await.unwrap();
        assert!(at("a", one, sessions.has_session(&id)).await.unwrap(), "nor can it be ended from there");
    }

    #[tokio::test]
    async fn a_session_is_its_principals_alone() {
        let sessions = Sessions::new(2, 2);
        let (id, _transport) = by("a", sessions.create_session()).await.unwrap();
        assert!(by("a", sessions.has_session(&id)).await.unwrap());
        assert!(!by("b", sessions.has_session(&id)).await.unwrap());
        assert!(!by("a", sessions.has_session(&"made-up".into())).await.unwrap());
        by("b", sessions.close_session(&id)).await.unwrap();
        assert!(by("a", sessions.has_session(&id)).await.unwrap(), "nobody else can end it");
        by("a", sessions.close_session(&id)).await.unwrap();
        assert!(!by("a", sessions.has_session(&id)).await.unwrap());
    }

    #[tokio::test]
    async fn a_full_house_takes_the_next_when_one_goes() {
        let sessions = Sessions::new(2, 2);
        let (first, _first) = by("a", sessions.create_session()).await.unwrap();
        let (_, _second) = by("b", sessions.create_session()).await.unwrap();
        assert!(matches!(by("a", sessions.create_session()).await, Err(SessionsError::Full)));
        // The library ends a session that stood idle, outside any request.
        sessions.close_session(&first).await.unwrap();
        assert!(by("c", sessions.create_session()).await.is_ok());
        assert!(matches!(by("a", sessions.create_session()).await, Err(SessionsError::Full)));
        assert_eq!(sessions.owners.lock().unwrap().len(), 2);
    }

    #[tokio::test]
    async fn one_principal_cannot_fill_the_house() {
        let sessions = Sessions::new(4, 2);
        let (first, _first) = by("a", sessions.create_session()).await.unwrap();
        let (_, _second) = by("a", sessions.create_session()).await.unwrap();
        assert!(matches!(by("a", sessions.create_session()).await, Err(SessionsError::Full)));
        assert!(by("b", sessions.create_session()).await.is_ok());
        by("a", sessions.close_session(&first)).await.unwrap();
        assert!(by("a", sessions.create_session()).await.is_ok());
    }

    #[tokio::test]
    async fn without_an_asker_no_session_begins() {
        assert!(matches!(Sessions::new(2, 2).create_session().await, Err(SessionsError::Full)));
    }
}
