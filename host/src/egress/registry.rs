//! The way to a registry of releases: on this machine in plain HTTP, or elsewhere as the host's own requests go.
//!
//! One request is one connection, and its answer is bounded: large ones are asked for in pieces. Nothing that comes
//! back is believed here; what is asked and what it means is decided in `registries/`.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{AUTHORIZATION, CONTENT_LENGTH, HOST, USER_AGENT};
use http::{HeaderValue, Request, Response};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::time::timeout;
use url::Url;
use zeroize::Zeroizing;

use super::collector::{Place, read};
use super::exchange::{AGENT, beside};
use super::{Dialer, Outside, Own, Unreached};
use crate::error::{Error, ErrorKind, Result};

/// How long one request may take: a component goes up over a slow line, and is looked at before the answer.
pub(super) const TIME: Duration = Duration::from_secs(120);

/// Bytes of a request's body: the largest component, and room.
pub(super) const REQUEST_BYTES: usize = 33 * 1024 * 1024;

/// Bytes of an answer's body: a piece of a component, or a long list.
pub(super) const RESPONSE_BYTES: usize = 8 * 1024 * 1024;

/// A registry that requests are sent to.
pub struct RegistryWay {
    name: String,
    base: String,
    token: Option<Zeroizing<String>>,
    way: Way,
}

enum Way {
    Here { address: SocketAddr, host: String, dialer: Arc<dyn Dialer> },
    There(Box<Own>),
}

/// Whether a registry can be at this URL.
#[must_use]
pub fn is_registry(url: &str) -> bool {
    read(url).is_some()
}

impl RegistryWay {
    /// The registry `name` at `url`, which is shown `token`.
    pub fn configured(
        name: &str,
        url: &str,
        token: Option<Zeroizing<String>>,
        own: Own,
        outside: &Outside,
    ) -> Result<Self> {
        let (url, place) = read(url).ok_or_else(|| {
            Error::new(ErrorKind::Config, format!("`registries.{name}.location`: no registry can be at `{url}`"))
        })?;
        let way = match place {
            Place::There => Way::There(Box::new(own)),
            Place::Here(address) => {
                Way::Here { address, host: url.authority().to_owned(), dialer: outside.dialer.clone() }
            }
        };
        Ok(Self { name: name.to_owned(), base: url.as_str().trim_end_matches('/').to_owned(), token, way })
    }

    /// Its name in the settings.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Sends one request, whose URI is a path below the registry's URL.
    pub async fn send(&self, request: Request<Vec<u8>>) -> Result<Response<Vec<u8>>, Unreached> {
        let (mut head, body) = request.into_parts();
        let url = format!("{}{}", self.base, head.uri.path());
        if let Some(token) = &self.token {
            let field = Zeroizing::new(format!("Bearer {}", token.as_str()));
            let mut field = HeaderValue::try_from(field.as_str()).map_err(|_| unreached("its token is no text"))?;
            field.set_sensitive(true);
            head.headers.insert(AUTHORIZATION, field);
        }
        match &self.way {
            Way::There(own) => {
                head.uri = url.parse().map_err(|_| unreached("its URL cannot be asked for"))?;
                own.ask_registry(&self.name, &url, Request::from_parts(head, body)).await
            }
            Way::Here { address, host, dialer } => {
                let path = Url::parse(&url).map_err(|_| unreached("its URL cannot be asked for"))?.path().to_owned();
                head.uri = path.parse().map_err(|_| unreached("its URL cannot be asked for"))?;
                let fields = [
                    (HOST, HeaderValue::try_from(host)),
                    (USER_AGENT, HeaderValue::try_from(AGENT)),
                    (CONTENT_LENGTH, Ok(HeaderValue::from(body.len()))),
                ];
                for (name, value) in fields {
                    head.headers.insert(name, value.map_err(|_| unreached("its URL cannot be asked for"))?);
                }
                let request = Request::from_parts(head, Full::new(Bytes::from(body)));
                let answer = timeout(TIME, exchange(*address, &**dialer, request)).await;
                answer.unwrap_or_else(|_| Err(unreached("it took too long")))
            }
        }
    }
}

async fn exchange(
    address: SocketAddr,
    dialer: &dyn Dialer,
    request: Request<Full<Bytes>>,
) -> Result<Response<Vec<u8>>, Unreached> {
    let socket = dialer.connect(address).await.map_err(|_| unreached("nobody listens there"))?;
    let connected = http1::handshake(TokioIo::new(socket.stream)).await;
    let (mut sender, connection) = connected.map_err(|_| unreached("it speaks no HTTP"))?;
    let answer = async {
        let answer = sender.send_request(request).await.map_err(|_| unreached("it broke off"))?;
        let (head, body) = answer.into_parts();
        let body = Limited::new(body, RESPONSE_BYTES).collect().await;
        let body = body.map_err(|_| unreached("its answer broke off, or is larger than allowed"))?;
        Ok(Response::from_parts(head, body.to_bytes().to_vec()))
    };
    beside(connection, answer).await
}

fn unreached(why: &str) -> Unreached {
    Unreached { kind: ErrorKind::RegistryUnreached, why: why.to_owned(), hint: None }
}
