//! One request and one response over a connection that was dialled for them: HTTP/1.1, the host's own framing
//! fields, bounded heads, no upgrades.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT_ENCODING, HOST, USER_AGENT};
use http::{HeaderName, HeaderValue, Request, Uri};
use http_body_util::Full;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::time::timeout;

use super::dial::Dialled;
use super::response::{self, Received, Room};
use super::{Method, Refusal, Target};
use crate::config::HttpConfig;
use crate::secrets::Redactor;

/// Fields of a response. Browsers and proxies refuse at about as many.
const RESPONSE_FIELDS: usize = 100;

/// Bytes of a response's head.
const RESPONSE_HEAD: usize = 64 * 1024;

/// Sent unless the guest names itself.
pub(super) const AGENT: &str = concat!("remit/", env!("CARGO_PKG_VERSION"));

/// Sends and receives. `received` counts the bytes of the body as [`response::read`] does.
pub(super) async fn exchange(
    dialled: Dialled,
    limits: &HttpConfig,
    room: Room,
    redactor: &Redactor,
    received: &mut u64,
) -> Result<Received, Refusal> {
    let (prepared, stream) = dialled.into_parts();
    let (target, method, fields, body) = prepared.into_parts();
    let request = build(&target, method, fields, body)?;
    let (mut sender, connection) = http1::Builder::new()
        .max_headers(RESPONSE_FIELDS)
        .max_header_size(RESPONSE_HEAD)
        .handshake(TokioIo::new(stream))
        .await
        .map_err(|_| Refusal::ConnectFailed)?;
    let answer = async {
        let response =
            match timeout(Duration::from_millis(limits.first_byte_ms), sender.send_request(request)).await {
                Ok(response) => response.map_err(|why| unusable(&why))?,
                Err(_) => return Err(Refusal::Timeout),
            };
        response::read(response, method, room, redactor, received).await
    };
    beside(connection, answer).await
}

/// Runs `answer` while `connection` moves its bytes. Both end together: no task is left behind, and dropping
/// this closes the socket.
pub(super) async fn beside<T>(connection: impl Future, answer: impl Future<Output = T>) -> T {
    let mut connection = pin!(connection);
    let mut answer = pin!(answer);
    let mut connected = true;
    poll_fn(|context| {
        if connected && connection.as_mut().poll(context).is_ready() {
            connected = false;
        }
        answer.as_mut().poll(context)
    })
    .await
}

fn build(
    target: &Target,
    method: Method,
    fields: Vec<(HeaderName, HeaderValue)>,
    body: Option<Bytes>,
) -> Result<Request<Full<Bytes>>, Refusal> {
    let unsendable = || Refusal::InvalidUrl("its path or query has letters that cannot be sent".to_owned());
    let url = target.url();
    let path = match url.query() {
        Some(query) => format!("{}?{query}", url.path()),
        None => url.path().to_owned(),
    };
    let mut request = Request::new(Full::new(body.unwrap_or_default()));
    *request.method_mut() = http::Method::from_bytes(method.as_str().as_bytes()).map_err(|_| unsendable())?;
    *request.uri_mut() = Uri::try_from(path).map_err(|_| unsendable())?;
    let headers = request.headers_mut();
    headers.insert(HOST, HeaderValue::try_from(target.authority()).map_err(|_| unsendable())?);
    headers.insert(USER_AGENT, HeaderValue::from_static(AGENT));
    headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
    for (name, value) in fields {
        headers.insert(name, value);
    }
    Ok(request)
}

/// What an error of the HTTP library means, in our words.
fn unusable(error: &hyper::Error) -> Refusal {
    let why = if error.is_parse() {
        "it is not HTTP/1.1, or its head is larger than allowed"
    } else {
        "the server closed the connection before it was complete"
    };
    Refusal::ResponseInvalid(why.to_owned())
}
