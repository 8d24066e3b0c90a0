//! Which surface a path names, and whether it is there.

use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use rmcp::ServerHandler;

use super::super::Surface;
use super::super::server::Server;

/// What is behind the door: a handler for each surface.
pub(super) trait Behind: Clone + Send + Sync + 'static {
    /// What answers.
    type Handler: ServerHandler;

    /// The handler of a session or a request on a surface.
    fn at(&self, surface: Surface) -> Self::Handler;

    /// Whether a surface is there.
    fn is_there(&self, surface: &Surface) -> bool;
}

impl Behind for Server {
    type Handler = Self;

    fn at(&self, surface: Surface) -> Self {
        Self::at(self, surface)
    }

    fn is_there(&self, surface: &Surface) -> bool {
        Self::is_there(self, surface)
    }
}

/// Lets a request through with its [`Surface`], or answers 404.
pub(super) async fn choose<B: Behind>(State(behind): State<B>, mut request: Request, next: Next) -> Response {
    match Surface::of_path(request.uri().path()).filter(|surface| behind.is_there(surface)) {
        Some(surface) => {
            request.extensions_mut().insert(surface);
            next.run(request).await
        }
        None => (StatusCode::NOT_FOUND, "there is no such capability").into_response(),
    }
}
