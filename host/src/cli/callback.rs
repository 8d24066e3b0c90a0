//! Where the browser comes back to: a loopback listener for one answer (RFC 8252, 7.3).
//!
//! Any program and any web page on this machine can knock here, so an answer counts only with the state that was
//! sent along; a wrong one is turned away and the right one waited for. The first answer with that state is the
//! only one. What the answer says is decided in `judge`, which is pure; what a server writes in it is never shown.

use std::convert::Infallible;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HOST, REFERRER_POLICY};
use http::{HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use ring::hmac;
use ring::rand::SystemRandom;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::task::JoinSet;
use url::Url;
use zeroize::Zeroizing;

use crate::error::{Error, ErrorKind, Result};
use crate::secrets::Code;

/// The path of the redirect URL.
const PATH: &str = "/callback";

/// How long a connection may take to send its request. Browsers open some that they never use.
const MAX_HEAD_TIME: Duration = Duration::from_secs(10);

/// Connections at once: a browser opens two or three.
const MAX_CONNECTIONS: usize = 16;

/// How long the last page may take to leave.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// A listener that waits for one answer.
pub(super) struct Callback {
    listener: TcpListener,
    address: SocketAddr,
}

/// What an answer must show to be the one that was asked for.
pub(super) struct Expected {
    key: hmac::Key,
    state: hmac::Tag,
    issuer: Issuer,
}

/// Who may have answered (RFC 9207).
enum Issuer {
    /// This one, letter by letter.
    Named(String),
    /// Any of this origin.
    Origin(url::Origin),
}

/// What a request to the listener is.
enum Verdict {
    /// Not the answer that was asked for.
    NotOurs,
    /// The answer: a code, or why there is none.
    Answer(Result<Code>),
}

impl Callback {
    /// Listens at `port` of 127.0.0.1, or at any that is free.
    pub(super) async fn listen(port: Option<u16>) -> Result<Self> {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port.unwrap_or(0)));
        let failed = |error: std::io::Error| {
            Error::new(ErrorKind::Config, format!("cannot listen on `{address}`: {}", error.kind()))
                .detail(error)
                .hint("choose another port with `--port`")
        };
        let listener = TcpListener::bind(address).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        Ok(Self { listener, address })
    }

    /// The URL that the browser is sent back to.
    pub(super) fn redirect_url(&self) -> String {
        format!("http://{}{PATH}", self.address)
    }

    /// Waits for the answer, and stops listening when it came.
    pub(super) async fn wait(self, expected: Expected) -> Result<Code> {
        let (sender, mut answer) = oneshot::channel();
        let door = Arc::new(Door { host: self.address.to_string(), expected, answer: Mutex::new(Some(sender)) });
        let mut connections = JoinSet::new();
        let answer = loop {
            tokio::select! {
                answer = &mut answer => break answer,
                Some(_) = connections.join_next() => {}
                accepted = self.listener.accept(), if connections.len() < MAX_CONNECTIONS => {
                    if let Ok((stream, _)) = accepted {
                        connections.spawn(serve(stream, Arc::clone(&door)));
                    }
                }
            }
        };
        drop(self.listener);
        let _ = tokio::time::timeout(LAST_WORDS, async { while connections.join_next().await.is_some() {} }).await;
        answer.map_err(|_| Error::internal("a listener ended without an answer"))?
    }
}

impl Expected {
    /// For an answer to the request with this state. Only a digest of it is kept, under a random key: comparing
    /// takes the same time for every wrong one.
    pub(super) fn new(state: &str, issuer: Option<&str>, auth_url: &str) -> Result<Self> {
        let key = hmac::Key::generate(hmac::HMAC_SHA256, &SystemRandom::new())
            .map_err(|_| Error::internal("the system gives no random bytes"))?;
        let issuer = match issuer {
            Some(issuer) => Issuer::Named(issuer.to_owned()),
            None => Issuer::Origin(
                Url::parse(auth_url)
                    .map_err(|_| Error::internal("an endpoint that was checked is a URL"))?
                    .origin(),
            ),
        };
        Ok(Self { state: hmac::sign(&key, state.as_bytes()), key, issuer })
    }

    fn is_state(&self, shown: &str) -> bool {
        hmac::verify(&self.key, shown.as_bytes(), self.state.as_ref()).is_ok()
    }

    fn is_issuer(&self, shown: &str) -> bool {
        match &self.issuer {
            Issuer::Named(issuer) => issuer == shown,
            Issuer::Origin(origin) => Url::parse(shown).is_ok_and(|url| url.origin() == *origin),
        }
    }
}

/// What all connections of one listener share.
struct Door {
    /// The only `Host` that is answered: a name that was pointed at this machine is not ours.
    host: String,
    expected: Expected,
    /// Gone once there was an answer.
    answer: Mutex<Option<oneshot::Sender<Result<Code>>>>,
}

impl Door {
    fn respond(&self, request: &Request<Incoming>) -> (StatusCode, &'static str) {
        let host = request.headers().get(HOST).map(HeaderValue::as_bytes);
        if host != Some(self.host.as_bytes()) || request.uri().path() != PATH {
            return (StatusCode::NOT_FOUND, "There is nothing here.");
        }
        if request.method() != Method::GET {
            return (StatusCode::METHOD_NOT_ALLOWED, "There is nothing here.");
        }
        let mut answer = self.answer.lock().unwrap_or_else(PoisonError::into_inner);
        if answer.is_none() {
            return (StatusCode::GONE, "There was an answer already.");
        }
        let Verdict::Answer(result) = judge(request.uri().query().unwrap_or_default(), &self.expected) else {
            return (StatusCode::BAD_REQUEST, "This is not the answer that was asked for.");
        };
        let page = match &result {
            Ok(_) => "Remit has the answer. You can close this window; the terminal tells how it went.",
            Err(_) => "Nothing was allowed. You can close this window; the terminal tells why.",
        };
        if let Some(answer) = answer.take() {
            // Whoever waited may have gone.
            let _ = answer.send(result);
        }
        (StatusCode::OK, page)
    }
}

/// Reads the query of a redirect (RFC 6749, 4.1.2).
fn judge(query: &str, expected: &Expected) -> Verdict {
    let mut fields: [(&str, Option<Zeroizing<String>>); 4] =
        [("state", None), ("code", None), ("error", None), ("iss", None)];
    for (name, value) in url::form_urlencoded::parse(query.as_bytes()) {
        let Some((_, field)) = fields.iter_mut().find(|(known, _)| *known == name) else { continue };
        if field.replace(Zeroizing::new(value.into_owned())).is_some() {
            // Two values: others could read the other one.
            return Verdict::NotOurs;
        }
    }
    let [(_, state), (_, code), (_, error), (_, issuer)] = fields;
    if !state.is_some_and(|state| expected.is_state(&state)) {
        return Verdict::NotOurs;
    }
    let refused = |message: &str| Verdict::Answer(Err(Error::new(ErrorKind::SecretNotAvailable, message)));
    if issuer.is_some_and(|issuer| !expected.is_issuer(&issuer)) {
        return refused("the answer comes from another authorization server than was asked");
    }
    match (code, error) {
        (Some(code), None) if !code.is_empty() => Verdict::Answer(Ok(Code(code))),
        (_, Some(error)) if *error == "access_denied" => refused("access was denied in the browser"),
        (_, Some(_)) => refused("the authorization server refused the request"),
        _ => refused("the authorization server answered without a code"),
    }
}

async fn serve(stream: TcpStream, door: Arc<Door>) {
    let service = service_fn(move |request: Request<Incoming>| {
        let (status, words) = door.respond(&request);
        async move { Ok::<_, Infallible>(page(status, words)) }
    });
    let connection = http1::Builder::new()
        .keep_alive(false)
        .timer(TokioTimer::new())
        .header_read_timeout(MAX_HEAD_TIME)
        .serve_connection(TokioIo::new(stream), service);
    if let Err(error) = connection.await {
        tracing::debug!(%error, "a connection broke");
    }
}

fn page(status: StatusCode, words: &str) -> Response<Full<Bytes>> {
    let text = format!("<!doctype html><meta charset=utf-8><title>Remit</title><p>{words}</p>\n");
    let mut response = Response::new(Full::new(Bytes::from(text)));
    *response.status_mut() = status;
    let fields = [
        (CONTENT_TYPE, "text/html; charset=utf-8"),
        (CONTENT_SECURITY_POLICY, "default-src 'none'"),
        (CACHE_CONTROL, "no-store"),
        // The address of this page holds the code.
        (REFERRER_POLICY, "no-referrer"),
    ];
    for (name, value) in fields {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    const STATE: &str = "6Fj2kQ9xTz";

    fn judged(query: &str, issuer: Option<&str>) -> String {
        let expected = Expected::new(STATE, issuer, "https://login.example.com/authorize?x=1").unwrap();
        match judge(query, &expected) {
            Verdict::NotOurs => "not ours".to_owned(),
            Verdict::Answer(Ok(code)) => format!("code {}", *code.0),
            Verdict::Answer(Err(error)) => error.message,
        }
    }

    #[test]
    fn an_answer_counts_only_with_its_state() {
        for query in [
            "",
            "code=abc",
            "code=abc&state=",
            "code=abc&state=6Fj2kQ9xT",
            "code=abc&state=6Fj2kQ9xTzz",
            "code=abc&state=6Fj2kQ9xTz&state=6Fj2kQ9xTz",
            "code=abc&code=def&state=6Fj2kQ9xTz",
            "error=access_denied&state=other",
        ] {
            assert_eq!(judged(query, None), "not ours", "{query}");
        }
        assert_eq!(judged("code=a%2Fb&state=6Fj2kQ9xTz&session_state=1", None), "code a/b");
    }

    #[test]
    fn an_issuer_that_is_named_must_be_the_one_that_was_asked() {
        let other = "the answer comes from another authorization server than was asked";
        for (issuer, named, expected) in [
            ("https://login.example.com", None, "code abc"),
            ("https://login.example.com/tenant", None, "code abc"),
            ("https://evil.example.com", None, other),
            ("http://login.example.com", None, other),
            ("https://login.example.com:8443", None, other),
            ("login.example.com", None, other),
            ("https://issuer.example.com", Some("https://issuer.example.com"), "code abc"),
            ("https://issuer.example.com/", Some("https://issuer.example.com"), other),
            ("https://login.example.com", Some("https://issuer.example.com"), other),
        ] {
            let query = format!("code=abc&state={STATE}&iss={issuer}");
            assert_eq!(judged(&query, named), expected, "{issuer} {named:?}");
        }
    }

    #[test]
    fn an_error_is_told_in_our_words() {
        for (query, expected) in [
            ("error=access_denied&error_description=%1B%5B2J", "access was denied in the browser"),
            ("error=%3Cscript%3E", "the authorization server refused the request"),
            ("error=server_error&code=abc", "the authorization server refused the request"),
            ("code=", "the authorization server answered without a code"),
            ("x=1", "the authorization server answered without a code"),
        ] {
            assert_eq!(judged(&format!("{query}&state={STATE}"), None), expected, "{query}");
        }
    }
}
