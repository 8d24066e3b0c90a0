//! The page that Prometheus reads: `GET /metrics` on a listener of its own, and nothing else.
//!
//! It stands apart from the agents' door: whoever may read numbers may not call, and the reverse. Without a token it
//! answers on loopback addresses only, and only to their names, so that no site can point a name of its own here.
//! With one, the token is the proof. Connections are few and short.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{AUTHORIZATION, CACHE_CONTROL, CONTENT_TYPE, HOST, ORIGIN, WWW_AUTHENTICATE};
use http::uri::Authority;
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::Full;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use ring::hmac;
use ring::rand::SystemRandom;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use super::prometheus;
use super::totals::Totals;
use crate::error::{Error, ErrorKind, Result};

/// The one path.
const PATH: &str = "/metrics";

/// The names of this machine, at any port.
const LOOPBACK: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];

/// Connections at once: a few scrapers. More wait.
const CONNECTIONS: usize = 8;

/// How long the head of a request may take.
const HEAD_TIME: Duration = Duration::from_secs(5);

/// How long a connection may take in all: it carries one request.
const CONNECTION_TIME: Duration = Duration::from_secs(10);

/// Pause after an accept failed, mostly for want of file descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// The fewest characters of a token: 128 bits in hexadecimal.
const MIN_TOKEN: usize = 32;

/// The page, before it is served.
#[derive(Clone)]
pub(super) struct Page {
    address: SocketAddr,
    token: Option<Token>,
    totals: Arc<Totals>,
}

/// A token, kept as a digest under a random key, so that comparing tells nothing about it.
#[derive(Clone)]
struct Token {
    key: hmac::Key,
    tag: hmac::Tag,
}

impl Page {
    /// The page at `address`. One that other machines can reach needs a token.
    pub(super) fn new(address: SocketAddr, token_file: Option<&Path>, totals: Arc<Totals>) -> Result<Self> {
        let token = token_file.map(Token::read).transpose()?;
        if token.is_none() && !address.ip().is_loopback() {
            let message = format!(
                "`telemetry.prometheus`: `{address}` can be reached from other machines, so it needs a token"
            );
            return Err(Error::new(ErrorKind::Config, message)
                .hint("set `telemetry.prometheus-token-file`, or use an address as `127.0.0.1:9464`"));
        }
        Ok(Self { address, token, totals })
    }

    /// Takes the address, unless somebody has it.
    pub(super) async fn listen(&self) -> Option<TcpListener> {
        let listener = TcpListener::bind(self.address).await;
        listener
            .inspect_err(|error| {
                tracing::warn!(address = %self.address, error = %error.kind(), "no page for Prometheus");
            })
            .ok()
    }

    /// Answers until it is stopped.
    pub(super) async fn serve(self, listener: TcpListener, stop: CancellationToken) {
        let places = Arc::new(Semaphore::new(CONNECTIONS));
        loop {
            let next = async {
                let place = Arc::clone(&places).acquire_owned().await;
                (place, listener.accept().await)
            };
            let (place, accepted) = tokio::select! {
                () = stop.cancelled() => return,
                next = next => next,
            };
            match accepted {
                Ok((stream, _)) => {
                    let connection = tokio::time::timeout(CONNECTION_TIME, self.clone().connection(stream));
                    tokio::spawn(async move {
                        // One that takes longer is closed.
                        let _ = connection.await;
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

    async fn connection(self, stream: TcpStream) {
        let service = service_fn(|request| std::future::ready(Ok::<_, Infallible>(self.answer(&request))));
        let served = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEAD_TIME)
            .keep_alive(false)
            .serve_connection(TokioIo::new(stream), service)
            .await;
        if let Err(error) = served {
            tracing::debug!(%error, "a connection broke");
        }
    }

    /// Answers one request, whatever its body: nothing reads it.
    fn answer<B>(&self, request: &Request<B>) -> Response<Full<Bytes>> {
        let headers = request.headers();
        match &self.token {
            Some(token) if !token.is_shown(headers) => {
                let mut answer = refuse(StatusCode::UNAUTHORIZED);
                answer.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer realm=\"remit\""));
                return answer;
            }
            None if !is_local(headers) => return refuse(StatusCode::FORBIDDEN),
            _ => {}
        }
        match (request.method(), request.uri().path()) {
            (&Method::GET, PATH) => {
                let mut answer = Response::new(Full::from(prometheus::text(&self.totals.families())));
                let fields = answer.headers_mut();
                fields.insert(CONTENT_TYPE, HeaderValue::from_static(prometheus::CONTENT_TYPE));
                fields.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
                answer
            }
            (_, PATH) => refuse(StatusCode::METHOD_NOT_ALLOWED),
            _ => refuse(StatusCode::NOT_FOUND),
        }
    }
}

impl Token {
    fn read(file: &Path) -> Result<Self> {
        let text = std::fs::read_to_string(file)
            .map_err(|error| Error { kind: ErrorKind::Config, ..Error::file(file, &error) })?;
        let token = text.trim_end();
        if token.len() < MIN_TOKEN || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
            let message = format!("`{}` must hold at least {MIN_TOKEN} visible ASCII characters", file.display());
            return Err(Error::new(ErrorKind::Config, message).hint("make one: `openssl rand -hex 32`"));
        }
        let key = hmac::Key::generate(hmac::HMAC_SHA256, &SystemRandom::new())
            .map_err(|_| Error::internal("the system gave no random bytes"))?;
        let tag = hmac::sign(&key, token.as_bytes());
        Ok(Self { key, tag })
    }

    fn is_shown(&self, headers: &HeaderMap) -> bool {
        let field =
            only(headers, &AUTHORIZATION).and_then(|field| field.as_bytes().split_at_checked("Bearer ".len()));
        field.is_some_and(|(scheme, token)| {
            scheme.eq_ignore_ascii_case(b"Bearer ") && hmac::verify(&self.key, token, self.tag.as_ref()).is_ok()
        })
    }
}

/// Whether a request was made for a name of this machine, and by no page of a site.
fn is_local(headers: &HeaderMap) -> bool {
    let host = only(headers, &HOST).and_then(|host| host.to_str().ok()?.parse::<Authority>().ok());
    let is_named = host.is_some_and(|host| {
        !host.as_str().contains('@') && LOOPBACK.iter().any(|name| host.host().eq_ignore_ascii_case(name))
    });
    is_named && !headers.contains_key(ORIGIN)
}

/// The one field of this name. Two are none: who reads the other one?
fn only<'a>(headers: &'a HeaderMap, name: &http::HeaderName) -> Option<&'a HeaderValue> {
    let mut fields = headers.get_all(name).iter();
    let (field, None) = (fields.next()?, fields.next()) else { return None };
    Some(field)
}

fn refuse(status: StatusCode) -> Response<Full<Bytes>> {
    let mut answer = Response::new(Full::default());
    *answer.status_mut() = status;
    answer
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOKEN: &str = "0123456789abcdef0123456789abcdef";

    fn page(token: Option<&str>) -> Page {
        let file = token.map(|token| {
            let file = tempfile::NamedTempFile::new().unwrap();
            std::fs::write(file.path(), token).unwrap();
            file
        });
        let file = file.as_ref().map(tempfile::NamedTempFile::path);
        Page::new("127.0.0.1:0".parse().unwrap(), file, Arc::default()).unwrap()
    }

    fn status(page: &Page, method: &str, path: &str, fields: &[(&str, &str)]) -> u16 {
        let mut request = Request::builder().method(method).uri(path);
        for (name, value) in fields {
            request = request.header(*name, *value);
        }
        page.answer(&request.body(()).unwrap()).status().as_u16()
    }

    #[test]
    fn the_page_is_read_on_this_machine_only() {
        let page = page(None);
        for host in ["127.0.0.1:9464", "localhost:1", "LOCALHOST", "[::1]:9464"] {
            assert_eq!(status(&page, "GET", "/metrics", &[("host", host)]), 200, "{host}");
        }
        let foreign: [&[(&str, &str)]; 8] = [
            &[],
            &[("host", "evil.example")],
            &[("host", "127.0.0.1.evil.example:9464")],
            &[("host", "localhost@evil.example")],
            &[("host", "")],
            &[("host", "localhost"), ("host", "evil.example")],
            &[("host", "localhost"), ("origin", "https://evil.example")],
            &[("host", "localhost"), ("origin", "null")],
        ];
        for fields in foreign {
            assert_eq!(status(&page, "GET", "/metrics", fields), 403, "{fields:?}");
        }
    }

    #[test]
    fn there_is_nothing_else() {
        let host = [("host", "localhost")];
        for path in ["/", "/metrics/", "/mcp", "/.well-known/oauth-protected-resource"] {
            assert_eq!(status(&page(None), "GET", path, &host), 404, "{path}");
        }
        for method in ["POST", "PUT", "DELETE", "OPTIONS", "HEAD", "TRACE"] {
            assert_eq!(status(&page(None), method, "/metrics", &host), 405, "{method}");
        }
    }

    #[test]
    fn with_a_token_only_the_token_counts() {
        let page = page(Some(TOKEN));
        let shown = format!("Bearer {TOKEN}");
        assert_eq!(status(&page, "GET", "/metrics", &[("host", "a.example"), ("authorization", &shown)]), 200);
        let longer = format!("{shown}0");
        let wrong: [&[(&str, &str)]; 5] = [
            &[("host", "localhost")],
            &[("authorization", TOKEN)],
            &[("authorization", "Bearer ")],
            &[("authorization", &longer)],
            &[("authorization", &shown), ("authorization", &shown)],
        ];
        for fields in wrong {
            assert_eq!(status(&page, "GET", "/metrics", fields), 401, "{fields:?}");
        }
    }

    #[test]
    fn others_machines_need_a_token() {
        for address in ["0.0.0.0:9464", "[::]:9464", "192.0.2.1:9464"] {
            let Err(error) = Page::new(address.parse().unwrap(), None, Arc::default()) else {
                panic!("{address} is open");
            };
            assert_eq!(error.kind, ErrorKind::Config);
        }
    }
}
