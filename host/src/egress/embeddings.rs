//! The way to the operator's endpoint for embeddings: of this machine in plain HTTP, or elsewhere as the host's own
//! requests go.
//!
//! What is sent and what an answer means is decided in `search/meaning/`. An endpoint on another machine is judged as
//! every address is: `https:`, a name, and the operator's exceptions in `[search.embeddings.http]`. A redirect is not
//! followed, and no more of an answer is read than the operator's `http.response-bytes`.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{AUTHORIZATION, CONTENT_LENGTH, CONTENT_TYPE, HOST, USER_AGENT};
use http::{HeaderValue, Request};
use http_body_util::{BodyExt as _, Full, LengthLimitError, Limited};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::time::timeout;

use super::collector::{Place, read};
use super::exchange::{AGENT, beside};
use super::{Dialer, Outside, Own};
use crate::error::{Error, ErrorKind, Result};

/// An endpoint that texts are sent to.
pub struct Embedder {
    url: String,
    way: Way,
    limit: Duration,
    response_bytes: usize,
}

enum Way {
    Here { address: SocketAddr, host: String, path: String, dialer: Arc<dyn Dialer> },
    There(Box<Own>),
}

/// Why there is no answer. It quotes nothing that the other end said.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unembedded {
    /// Nobody answered, or not so that it could be read.
    #[error("no answer: {0}")]
    Unreached(String),
    /// The answer is larger than what is read of one.
    #[error("its answer is larger than `http.response-bytes`")]
    TooLarge,
    /// The answer was no.
    #[error("it answers with status {0}")]
    Refused(u16),
}

impl Embedder {
    /// The endpoint at `url`; each request takes no longer than `limit`.
    pub fn configured(
        url: &str,
        own: Own,
        outside: &Outside,
        limit: Duration,
        response_bytes: usize,
    ) -> Result<Self> {
        let (url, place) = read(url).ok_or_else(|| {
            let message = format!("`search.embeddings.endpoint`: `{url}` is no place for an endpoint");
            Error::new(ErrorKind::Config, message)
        })?;
        let way = match place {
            Place::There => Way::There(Box::new(own)),
            Place::Here(address) => {
                let (host, path) = (url.authority().to_owned(), url.path().to_owned());
                Way::Here { address, host, path, dialer: outside.dialer.clone() }
            }
        };
        Ok(Self { url: url.into(), way, limit, response_bytes })
    }

    /// Where it is.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Sends a message in JSON, with this bearer token, and gives the body of a success.
    pub async fn ask(&self, key: Option<&[u8]>, message: Vec<u8>) -> Result<Vec<u8>, Unembedded> {
        let bearer = key.map(bearer).transpose()?;
        let asked = timeout(self.limit, self.exchange(bearer, message)).await;
        let (status, body) = asked.map_err(|_| unreached("it took too long"))??;
        if (200..300).contains(&status) { Ok(body) } else { Err(Unembedded::Refused(status)) }
    }

    async fn exchange(&self, bearer: Option<HeaderValue>, message: Vec<u8>) -> Result<(u16, Vec<u8>), Unembedded> {
        let request = |uri: &str| {
            let request = Request::post(uri).header(CONTENT_TYPE, "application/json");
            bearer.into_iter().fold(request, |request, bearer| request.header(AUTHORIZATION, bearer))
        };
        match &self.way {
            Way::There(own) => {
                let request =
                    request(&self.url).body(message).map_err(|_| unreached("its URL cannot be asked"))?;
                let answer = own.embed(&self.url, request, self.limit).await;
                let answer = answer.map_err(|why| match &why.hint {
                    _ if why.kind == ErrorKind::HttpResponseTooLarge => Unembedded::TooLarge,
                    Some(hint) => Unembedded::Unreached(format!("{why}; {hint}")),
                    None => Unembedded::Unreached(why.to_string()),
                })?;
                Ok((answer.status().as_u16(), answer.into_body()))
            }
            Way::Here { address, host, path, dialer } => {
                let request = request(path)
                    .header(HOST, host)
                    .header(USER_AGENT, AGENT)
                    .header(CONTENT_LENGTH, message.len())
                    .body(Full::new(Bytes::from(message)))
                    .map_err(|_| unreached("its URL cannot be asked"))?;
                let socket = dialer.connect(*address).await.map_err(|_| unreached("nobody listens there"))?;
                let no_http = || unreached("it speaks no HTTP");
                let (mut sender, connection) =
                    http1::handshake(TokioIo::new(socket.stream)).await.map_err(|_| no_http())?;
                let answer = async {
                    let answer = sender.send_request(request).await.map_err(|_| no_http())?;
                    let status = answer.status().as_u16();
                    let body = Limited::new(answer.into_body(), self.response_bytes).collect().await;
                    let body = body.map_err(|why| match why.is::<LengthLimitError>() {
                        true => Unembedded::TooLarge,
                        false => unreached("its answer broke off"),
                    })?;
                    Ok((status, body.to_bytes().into()))
                };
                beside(connection, answer).await
            }
        }
    }
}

/// The field that carries a key, marked so that no library prints it.
fn bearer(key: &[u8]) -> Result<HeaderValue, Unembedded> {
    let mut field = zeroize::Zeroizing::new(b"Bearer ".to_vec());
    field.extend_from_slice(key);
    let value = HeaderValue::from_bytes(&field);
    let mut value = value.map_err(|_| unreached("its key cannot stand in a header field"))?;
    value.set_sensitive(true);
    Ok(value)
}

fn unreached(why: &str) -> Unembedded {
    Unembedded::Unreached(why.to_owned())
}
