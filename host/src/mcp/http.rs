//! The HTTP door: Streamable HTTP at `/mcp` for everything, at `/mcp/<publisher>/<slug>` for one capability, and,
//! where access tokens are taken, what says so to clients.
//!
//! What a request passes on its way is in `http/way.rs`. Connections are bounded in number and in the time that they may
//! take to say what they want. TLS is a proxy's work.

mod auth;
mod behind;
mod body;
mod names;
mod oauth;
mod rate;
mod sessions;
mod watch;
mod way;

use std::convert::Infallible;
use std::net::{IpAddr, SocketAddr};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::Request;
use axum::response::Response;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, oneshot};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use self::auth::Known;
pub use self::auth::{Auth, Token};
pub use self::oauth::{Issuers, Refusal, Verified};
use self::way::Way;
use super::compact::Exposure;
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

/// Serves agents over HTTP until `shutdown` is cancelled.
pub async fn serve_http(host: Host, options: HttpOptions) -> Result<()> {
    let HttpOptions { address, auth, issuers, config, sessions_per_principal, ready, shutdown } = options;
    // Cancelled in this order: subscriptions end with a word, calls end by themselves, sessions end.
    let subscriptions = CancellationToken::new();
    let sessions = CancellationToken::new();
    let stored = host.clone();
    let known = Known { auth, stored: Arc::new(move |token| stored.whose(token)), issuers };
    let door = Door::check(address, known, &config, sessions_per_principal)?.telling(host.telemetry().clone());
    let exposure = Exposure::of(&config);
    let server = Server::new(host, CallerOf::Request, exposure, subscriptions.clone())?;
    let calls = server.calls().clone();
    let way = Arc::new(Way::new(door, server, sessions.clone()));

    let listener = TcpListener::bind(address).await.map_err(|error| cannot_listen(address, &error))?;
    let bound = listener.local_addr().map_err(|error| cannot_listen(address, &error))?;
    // Whoever waited for the address may have gone; the door is open all the same.
    let _ = ready.send(bound);

    let connections = TaskTracker::new();
    accept(listener, way, &connections, &shutdown).await;
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
}

fn cannot_listen(address: SocketAddr, error: &std::io::Error) -> Error {
    Error::new(ErrorKind::Config, format!("cannot listen on `{address}`: {}", error.kind()))
        .detail(error)
        .hint("choose another address, or stop the program that listens there")
}

/// What answers the requests that come in by a listener.
pub trait Answers: Send + Sync + 'static {
    /// The answer to a request from `client`.
    fn answer(&self, client: IpAddr, request: Request) -> impl Future<Output = Response> + Send;
}

/// Serves what is not for agents, and judges its requests itself, until `shutdown` is cancelled.
pub async fn serve_answers<A: Answers>(
    address: SocketAddr,
    answers: A,
    ready: oneshot::Sender<SocketAddr>,
    shutdown: CancellationToken,
) -> Result<()> {
    let listener = TcpListener::bind(address).await.map_err(|error| cannot_listen(address, &error))?;
    let bound = listener.local_addr().map_err(|error| cannot_listen(address, &error))?;
    let _ = ready.send(bound);
    let connections = TaskTracker::new();
    accept(listener, Arc::new(answers), &connections, &shutdown).await;
    connections.close();
    let _ = tokio::time::timeout(CALLS_GRACE, connections.wait()).await;
    Ok(())
}

async fn accept<A: Answers>(
    listener: TcpListener,
    way: Arc<A>,
    connections: &TaskTracker,
    shutdown: &CancellationToken,
) {
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
                let connection = serve_connection(stream, peer.ip(), Arc::clone(&way), shutdown.clone());
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

async fn serve_connection<A: Answers>(
    stream: TcpStream,
    client: IpAddr,
    way: Arc<A>,
    shutdown: CancellationToken,
) {
    // Answers are small and written in several parts; without this each waits 40 ms for an acknowledgement.
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "cannot switch off the delay of small packets");
    }
    let service = service_fn(move |request: Request<Incoming>| {
        let way = Arc::clone(&way);
        async move { Ok::<_, Infallible>(way.answer(client, request.map(Body::new)).await) }
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
