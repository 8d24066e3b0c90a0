//! The way of a request, one step a line: rate (429), path (404), token (401), surface (404), body (413, 400), then the
//! library with the sessions (403, 404, 503).
//!
//! One function and not a stack of layers: what a step needs is handed to it, and a step that is left out is seen.

use std::net::IpAddr;
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::http::{HeaderName, HeaderValue, StatusCode};
use axum::response::{IntoResponse as _, Response};
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use tokio_util::sync::CancellationToken;
use tower::ServiceExt as _;

use super::super::Surface;
use super::auth::Known;
use super::behind::Behind;
use super::rate::Rate;
use super::sessions::Sessions;
use super::watch::until_unknown;
use super::{Answers, Door, body, oauth, sessions};

/// What a request passes through.
pub(super) struct Way<B: Behind> {
    rate: Rate,
    known: Arc<Known>,
    behind: B,
    body_bytes: usize,
    library: StreamableHttpService<B::Handler, Sessions>,
    /// The metadata of a door that takes access tokens; 404 for what is not there.
    elsewhere: Router,
}

impl<B: Behind> Way<B> {
    /// To what is behind a door. Generic, because tests put a handler of their own there.
    pub(super) fn new(door: Door, behind: B, stop: CancellationToken) -> Self {
        let config = StreamableHttpServerConfig::default()
            .with_allowed_hosts(door.hosts)
            .with_allowed_origins(door.origins)
            .with_max_request_body_bytes(door.body_bytes)
            .with_json_response(true)
            .with_cancellation_token(stop);
        let sessions = Arc::new(Sessions::new(door.sessions, door.sessions_per_principal));
        door.telemetry.level("remit.sessions", "Sessions of legacy clients over HTTP.", sessions.taken());
        let handlers = behind.clone();
        // The library makes a handler while it handles the request that it is for.
        let library = StreamableHttpService::new(move || Ok(handlers.at(sessions::surface())), sessions, config);
        let metadata = door.known.issuers.as_ref().map(|issuers| oauth::routes(Arc::clone(issuers.resource())));
        Self {
            rate: Rate::new(door.requests_per_second),
            known: Arc::new(door.known),
            behind,
            body_bytes: door.body_bytes,
            library,
            elsewhere: metadata.unwrap_or_default(),
        }
    }

    async fn pass(&self, client: IpAddr, mut request: Request) -> Result<Response, Response> {
        self.rate.admit(client)?;
        let Some(surface) = Surface::of_path(request.uri().path()) else {
            return Ok(self.elsewhere.clone().oneshot(request).await.into_response());
        };
        let admitted = self.known.admit(&mut request).await?;
        if !self.behind.is_there(&surface) {
            return Err((StatusCode::NOT_FOUND, "there is no such capability").into_response());
        }
        let request = body::whole(request, self.body_bytes).await?;
        let handled = async { self.library.handle(request).await.map(Body::new) };
        let response = sessions::on_behalf(admitted.identity.principal.clone(), surface, handled).await;
        let known = Arc::clone(&self.known);
        Ok(until_unknown(response, move || known.still_knows(&admitted)))
    }
}

impl<B: Behind> Answers for Way<B> {
    async fn answer(&self, client: IpAddr, request: Request) -> Response {
        unbuffered(self.pass(client, request).await.unwrap_or_else(|refusal| refusal))
    }
}

/// A proxy that collects an answer before it passes it on would hold back progress and news.
fn unbuffered(mut response: Response) -> Response {
    response.headers_mut().insert(HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no"));
    response
}
