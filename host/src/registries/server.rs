//! A registry over HTTP: what `remit serve --registry` answers.
//!
//! Reading needs the door's token where there is one; writing needs a signature besides, and the folder judges it. No
//! page of a site is answered, and without a token only the names of this machine are. Whoever may read may also read
//! what waits for a decision: reviewers look at it.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::Request;
use axum::response::{IntoResponse as _, Response};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::header::{ACCEPT_RANGES, CONTENT_RANGE, CONTENT_TYPE, HOST, ORIGIN, RANGE};
use http::uri::Authority;
use http::{HeaderMap, Method, StatusCode};
use http_body_util::{BodyExt as _, Limited};
use serde::Serialize;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use super::wire::{Documents, Listed, Refused, STATEMENT, Taken};
use super::{Directory, exact};
use crate::component::MAX_COMPONENT_BYTES;
use crate::error::{Error, ErrorKind, Result};
use crate::mcp::{Answers, Auth, serve_answers};
use crate::registry::{Digest, Exact};
use crate::signing::{Document, Signed, Statement};

/// How long a component may take to arrive.
const BODY_TIME: Duration = Duration::from_secs(120);

/// Bytes of a signed document with room for how it is written.
const DOCUMENT_BYTES: usize = 32 * 1024;

/// The names of this machine, at any port.
const LOOPBACK: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];

/// Serves the registry in a folder until `shutdown` is cancelled.
pub async fn serve(
    directory: Directory,
    address: SocketAddr,
    auth: Auth,
    ready: oneshot::Sender<SocketAddr>,
    shutdown: CancellationToken,
) -> Result<()> {
    auth.check_address(address)?;
    serve_answers(address, Server { directory: Arc::new(directory), auth }, ready, shutdown).await
}

struct Server {
    directory: Arc<Directory>,
    auth: Auth,
}

impl Answers for Server {
    async fn answer(&self, _client: IpAddr, request: Request) -> Response {
        if let Err(refusal) = self.admit(request.headers()) {
            return refusal;
        }
        self.answered(request).await.unwrap_or_else(|error| refused(&error))
    }
}

impl Server {
    fn admit(&self, headers: &HeaderMap) -> Result<(), Response> {
        let is_open = matches!(self.auth, Auth::LoopbackWithoutToken);
        if headers.contains_key(ORIGIN) || is_open && !is_local(headers) {
            return Err(StatusCode::FORBIDDEN.into_response());
        }
        self.auth.admit(headers)
    }

    async fn answered(&self, request: Request) -> Result<Response> {
        let (head, body) = request.into_parts();
        let path: Vec<&str> = head.uri.path().split('/').skip(1).collect();
        match (&head.method, path.as_slice()) {
            (&Method::GET, ["v1", "releases"]) => {
                let list = self.on_disk(|directory| directory.list()).await?;
                let list = list.into_iter().map(|(release, state)| Listed { release: release.to_string(), state });
                Ok(json(StatusCode::OK, &list.collect::<Vec<_>>()))
            }
            (&Method::GET, ["v1", "releases", publisher, slug, version]) => {
                let wanted = exact(publisher, slug, version)?;
                let release = self.on_disk(move |directory| directory.release(&wanted)).await?;
                Ok(json(StatusCode::OK, &Documents::from(release)))
            }
            (&Method::PUT, ["v1", "releases", publisher, slug, version]) => {
                let wanted = exact(publisher, slug, version)?;
                self.submitted(&wanted, &head.headers, body).await
            }
            (&Method::POST, ["v1", "decisions"]) => {
                let decision = document(body).await?;
                taken(self.on_disk(move |directory| directory.decide(&decision)).await?)
            }
            (&Method::POST, ["v1", "withdrawals"]) => {
                let withdrawal = document(body).await?;
                taken(self.on_disk(move |directory| directory.withdraw(&withdrawal)).await?)
            }
            (&Method::GET, ["v1", "components", digest]) => {
                let digest: Digest = digest.parse().map_err(|_| Error::new(ErrorKind::Usage, "this is no digest"))?;
                let bytes = self.on_disk(move |directory| directory.bytes(&digest)).await?;
                Ok(piece(bytes, &head.headers))
            }
            _ => Ok(StatusCode::NOT_FOUND.into_response()),
        }
    }

    async fn submitted(&self, wanted: &Exact, headers: &HeaderMap, body: Body) -> Result<Response> {
        let field = headers.get(STATEMENT).and_then(|field| STANDARD.decode(field.as_bytes()).ok());
        let missing = || Error::new(ErrorKind::SignatureInvalid, "no signed statement came with the bytes");
        let statement = Signed::<Statement>::from_json(&field.ok_or_else(missing)?)?;
        if statement.open()?.0.release()? != *wanted {
            return Err(Error::new(ErrorKind::SignatureInvalid, "the statement is about another release"));
        }
        // A stranger's bytes are not even read.
        let about = statement.clone();
        self.on_disk(move |directory| directory.admits(&about)).await?;
        let most = usize::try_from(MAX_COMPONENT_BYTES).unwrap_or(usize::MAX);
        let bytes = whole(body, most).await?;
        taken(self.on_disk(move |directory| directory.submit(&statement, &bytes)).await?)
    }

    /// Files are read, hashed and written beside the threads that answer.
    async fn on_disk<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Directory) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let directory = Arc::clone(&self.directory);
        let done = tokio::task::spawn_blocking(move || work(&directory)).await;
        done.map_err(|error| Error::internal("work on the registry's files ended early").detail(error))?
    }
}

async fn document<T: Document>(body: Body) -> Result<Signed<T>> {
    Signed::from_json(&whole(body, DOCUMENT_BYTES).await?)
}

async fn whole(body: Body, most: usize) -> Result<Vec<u8>> {
    let too_much = || Error::new(ErrorKind::ComponentTooLarge, format!("at most {most} bytes are taken"));
    let read = tokio::time::timeout(BODY_TIME, Limited::new(body, most).collect()).await;
    match read {
        Ok(Ok(body)) => Ok(body.to_bytes().to_vec()),
        Ok(Err(error)) if error.is::<http_body_util::LengthLimitError>() => Err(too_much()),
        Ok(Err(_)) | Err(_) => Err(Error::new(ErrorKind::Usage, "the body broke off, or took too long")),
    }
}

fn taken(state: super::State) -> Result<Response> {
    Ok(json(StatusCode::OK, &Taken { state }))
}

fn json(status: StatusCode, value: &impl Serialize) -> Response {
    match serde_json::to_vec(value) {
        Ok(text) => (status, [(CONTENT_TYPE, "application/json")], text).into_response(),
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

fn refused(error: &Error) -> Response {
    let (status, refused) = Refused::of(error);
    if status.is_server_error() {
        tracing::error!(%error, detail = ?error.detail, "the registry failed");
    }
    json(status, &refused)
}

/// The part of a component that is asked for (RFC 9110, 14.2), or all of it. A range that is not understood is as none.
fn piece(bytes: Vec<u8>, headers: &HeaderMap) -> Response {
    let all = bytes.len();
    let Some((first, last)) = range(headers) else {
        return ([(ACCEPT_RANGES, "bytes")], bytes).into_response();
    };
    if first >= all {
        return (StatusCode::RANGE_NOT_SATISFIABLE, [(CONTENT_RANGE, format!("bytes */{all}"))]).into_response();
    }
    let last = last.min(all - 1);
    let part = bytes.get(first..=last).unwrap_or_default().to_vec();
    (StatusCode::PARTIAL_CONTENT, [(CONTENT_RANGE, format!("bytes {first}-{last}/{all}"))], part).into_response()
}

fn range(headers: &HeaderMap) -> Option<(usize, usize)> {
    let (first, last) = headers.get(RANGE)?.to_str().ok()?.strip_prefix("bytes=")?.split_once('-')?;
    let first = first.parse().ok()?;
    let last = if last.is_empty() { usize::MAX } else { last.parse().ok()? };
    (first <= last).then_some((first, last))
}

/// Whether a request was made for a name of this machine, so that no site can point a name of its own here.
fn is_local(headers: &HeaderMap) -> bool {
    let mut fields = headers.get_all(HOST).iter();
    let (Some(host), None) = (fields.next(), fields.next()) else { return false };
    let host = host.to_str().ok().and_then(|host| host.parse::<Authority>().ok());
    host.is_some_and(|host| {
        !host.as_str().contains('@') && LOOPBACK.iter().any(|name| host.host().eq_ignore_ascii_case(name))
    })
}
