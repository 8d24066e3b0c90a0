//! The HTTP door: Streamable HTTP at `/mcp` for everything, at `/mcp/<publisher>/<slug>` for one capability, and,
//! where access tokens are taken, what says so to clients.
//!
//! A request passes the rate (429), the token (401), the surface (404), the body (413, 400), then the library's own
//! checks of `Host` and `Origin` (403), media types and versions, and the sessions (404, 503). Connections are bounded in
//! number and in the time that they may take to say what they want. TLS is a proxy's work.

mod auth;
mod body;
mod names;
mod oauth;
mod rate;
mod sessions;
mod surfaces;
mod watch;

use std::net::{IpAddr, SocketAddr};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::Request;
use axum::http::{HeaderName, HeaderValue};
use axum::middleware::{from_fn, from_fn_with_state, map_response};
use axum::response::Response;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, oneshot};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tower::Service as _;

use self::auth::Known;
pub use self::auth::{Auth, Token};
pub use self::oauth::{Issuers, Refusal, Verified};
use self::rate::Rate;
use self::sessions::Sessions;
use self::surfaces::Behind;
use super::server::{CallerOf, Server};
use crate::call::Host;
use crate::config::ServeConfig;
use crate::error::{Error, ErrorKind, Result};
use crate::telemetry::Telemetry;

/// Connections at once. Each holds a file descriptor, of which a process often has 1,024, and a long-lived
/// client holds two. More connections wait to be accepted.
const MAX_CONNECTIONS: usize = 512;

/// How long a connection may take to send the head of a request, or stand idle between two.
const MAX_HEAD_TIME: Duration = Duration::from_secs(30);

/// Pause after an accept failed, mostly for want of file descriptors: trying at once would only spin.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// How long calls may go on after the door was told to close.
const CALLS_GRACE: Duration = Duration::from_secs(5);

/// How long the last words of subscriptions and calls may take to leave, before sessions, which have none, end.
const LAST_WORDS: Duration = Duration::from_millis(100);

/// How long connections may take to end after that.
const CLOSE_GRACE: Duration = Duration::from_secs(1);

/// Where and how the HTTP door is served.
#[derive(Debug)]
pub struct HttpOptions {
    /// Where to listen. Port 0 takes a free one.
    pub address: SocketAddr,
    /// Who may knock.
    pub auth: Auth,
    /// Whose access tokens are taken besides.
    pub issuers: Option<Issuers>,
    /// The operator's limits and names.
    pub config: ServeConfig,
    /// Sessions of one principal at once.
    pub sessions_per_principal: usize,
    /// Is told the address once connections are taken.
    pub ready: oneshot::Sender<SocketAddr>,
    /// Closes the door.
    pub shutdown: CancellationToken,
}

/// The address a connection comes from.
#[derive(Clone, Copy)]
struct Client(IpAddr);

/// Serves agents over HTTP until `shutdown` is cancelled.
pub async fn serve_http(host: Host, options: HttpOptions) -> Result<()> {
    let HttpOptions { address, auth, issuers, config, sessions_per_principal, ready, shutdown } = options;
    // Cancelled in this order: subscriptions end with a word, calls end by themselves, sessions end.
    let subscriptions = CancellationToken::new();
    let sessions = CancellationToken::new();
    let stored = host.clone();
    let known = Known { auth, stored: Arc::new(move |token| stored.whose(token)), issuers };
    let door = Door::check(address, known, &config, sessions_per_principal)?.telling(host.telemetry().clone());
    let server = Server::new(host, CallerOf::Request, subscriptions.clone())?;
    let calls = server.calls().clone();
    let router = door.router(server, sessions.clone());

    let listener = TcpListener::bind(address).await.map_err(|error| cannot_listen(address, &error))?;
    let bound = listener.local_addr().map_err(|error| cannot_listen(address, &error))?;
    // Whoever waited for the address may have gone; the door is open all the same.
    let _ = ready.send(bound);

    let connections = TaskTracker::new();
    accept(listener, router, &connections, &shutdown).await;
    subscriptions.cancel();
    calls.close();
    connections.close();
    let _ = tokio::time::timeout(CALLS_GRACE, calls.wait()).await;
    let _ = tokio::time::timeout(LAST_WORDS, connections.wait()).await;
    sessions.cancel();
    let _ = tokio::time::timeout(CLOSE_GRACE, connections.wait()).await;
    Ok(())
}

/// A door whose settings were checked.
struct Door {
    known: Known,
    hosts: Vec<String>,
    origins: Vec<String>,
    sessions: usize,
    sessions_per_principal: usize,
    requests_per_second: u32,
    body_bytes: usize,
    telemetry: Telemetry,
}

impl Door {
    fn check(
        address: SocketAddr,
        known: Known,
        config: &ServeConfig,
        sessions_per_principal: usize,
    ) -> Result<Self> {
        known.check(address)?;
        if config.requests_per_second == 0 || config.body_bytes == 0 {
            let message = "`serve.requests-per-second` and `serve.body-bytes` must not be 0";
            return Err(Error::new(ErrorKind::Config, message));
        }
        Ok(Self {
            known,
            hosts: names::hosts(config, address)?,
            origins: names::origins(config)?,
            sessions: config.sessions,
            sessions_per_principal,
            requests_per_second: config.requests_per_second,
            body_bytes: config.body_bytes,
            telemetry: Telemetry::default(),
        })
    }

    /// Tells how many sessions there are.
    fn telling(self, telemetry: Telemetry) -> Self {
        Self { telemetry, ..self }
    }

    /// The whole way of a request. Generic, because tests put a handler of their own behind it.
    fn router<B: Behind>(self, behind: B, stop: CancellationToken) -> Router {
        let config = StreamableHttpServerConfig::default()
            .with_allowed_hosts(self.hosts)
            .with_allowed_origins(self.origins)
            .with_max_request_body_bytes(self.body_bytes)
            .with_json_response(true)
            .with_cancellation_token(stop);
        let sessions = Arc::new(Sessions::new(self.sessions, self.sessions_per_principal));
        self.telemetry.level("remit.sessions", "Sessions of legacy clients over HTTP.", sessions.taken());
        let handlers = behind.clone();
        // The library makes a handler while it handles the request that it is for.
        let mcp = StreamableHttpService::new(move || Ok(handlers.at(sessions::surface())), sessions, config);
        let metadata = self.known.issuers.as_ref().map(|issuers| oauth::routes(Arc::clone(issuers.resource())));
        // The last layer is the first that a request meets. Other paths are 404.
        Router::new()
            .route_service("/mcp", mcp.clone())
            .route_service("/mcp/{publisher}/{slug}", mcp)
            .route_layer(from_fn(sessions::on_behalf))
            .route_layer(from_fn_with_state(self.body_bytes, body::limit))
            .route_layer(from_fn_with_state(behind, surfaces::choose::<B>))
            .route_layer(map_response(unbuffered))
            .route_layer(from_fn_with_state(self.known, auth::check))
            .merge(metadata.unwrap_or_default())
            .layer(from_fn_with_state(Arc::new(Rate::new(self.requests_per_second)), rate::limit))
    }
}

/// A proxy that collects an answer before it passes it on would hold back progress and news.
async fn unbuffered(mut response: Response) -> Response {
    response.headers_mut().insert(HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no"));
    response
}

fn cannot_listen(address: SocketAddr, error: &std::io::Error) -> Error {
    Error::new(ErrorKind::Config, format!("cannot listen on `{address}`: {}", error.kind()))
        .detail(error)
        .hint("choose another address, or stop the program that listens there")
}

async fn accept(listener: TcpListener, router: Router, connections: &TaskTracker, shutdown: &CancellationToken) {
    let places = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    loop {
        let next = async {
            let place = Arc::clone(&places).acquire_owned().await;
            (place, listener.accept().await)
        };
        let (place, accepted) = tokio::select! {
            () = shutdown.cancelled() => return,
            next = next => next,
        };
        match accepted {
            Ok((stream, peer)) => {
                let connection = serve_connection(stream, peer.ip(), router.clone(), shutdown.clone());
                connections.spawn(async move {
                    connection.await;
                    drop(place);
                });
            }
            Err(error) => {
                tracing::warn!(%error, "cannot accept a connection");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

async fn serve_connection(stream: TcpStream, client: IpAddr, router: Router, shutdown: CancellationToken) {
    // Answers are small and written in several parts; without this each waits 40 ms for an acknowledgement.
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "cannot switch off the delay of small packets");
    }
    let service = service_fn(move |mut request: Request<Incoming>| {
        request.extensions_mut().insert(Client(client));
        router.clone().call(request)
    });
    let mut connection = pin!(
        http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(MAX_HEAD_TIME)
            .serve_connection(TokioIo::new(stream), service)
    );
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = shutdown.cancelled() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection broke");
    }
}

#[cfg(test)]
mod tests;
