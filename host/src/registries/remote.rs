//! A registry over HTTP, as a client of it sees it.
//!
//! Nothing that it says is believed here beyond its form: whoever installs verifies documents and bytes. Components
//! come in pieces, so that a download that broke off goes on where it was, also in another run of the program.

use std::path::PathBuf;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::header::{CONTENT_RANGE, CONTENT_TYPE, RANGE};
use http::{Method, Request, Response, StatusCode};
use serde::de::DeserializeOwned;

use super::State;
use super::part::Part;
use super::wire::{Documents, Listed, Refused, STATEMENT, Taken};
use crate::component::MAX_COMPONENT_BYTES;
use crate::egress::{RegistryWay, Unreached};
use crate::error::{Error, ErrorKind, Result};
use crate::registry::{Digest, Exact};
use crate::signing::{Decision, Document, Release, Signed, Statement, Withdrawal};

/// Bytes of one piece: a few seconds on a slow line, which is what an interruption costs.
const PIECE: u64 = 1024 * 1024;

/// How often a piece is asked for before the download gives up. What came stays for the next run.
const TRIES: u32 = 4;

/// A registry on another machine, or of another process of this one.
pub struct Remote {
    way: RegistryWay,
    /// Where downloads that are under way are kept.
    home: PathBuf,
}

impl Remote {
    /// The registry at the end of `way`, for `home`.
    #[must_use]
    pub fn new(way: RegistryWay, home: PathBuf) -> Self {
        Self { way, home }
    }

    /// Every release with its state.
    pub(super) async fn list(&self) -> Result<Vec<(Exact, State)>> {
        let listed: Vec<Listed> = self.ask(Request::get("/v1/releases"), Vec::new()).await?;
        listed.into_iter().map(|listed| Ok((listed.release.parse()?, listed.state))).collect()
    }

    /// What was signed about a release.
    pub(super) async fn release(&self, wanted: &Exact) -> Result<Release> {
        let documents: Documents = self.ask(Request::get(path_of(wanted)), Vec::new()).await?;
        Ok(documents.into())
    }

    /// Sends a release, to wait for a decision.
    pub(super) async fn submit(&self, statement: &Signed<Statement>, bytes: &[u8]) -> Result<State> {
        let release = statement.open()?.0.release()?;
        let request = Request::put(path_of(&release))
            .header(CONTENT_TYPE, "application/wasm")
            .header(STATEMENT, STANDARD.encode(statement.to_json()?));
        Ok(self.ask::<Taken>(request, bytes.to_vec()).await?.state)
    }

    /// Sends a decision.
    pub(super) async fn decide(&self, decision: &Signed<Decision>) -> Result<State> {
        self.send_document("/v1/decisions", decision).await
    }

    /// Sends a withdrawal.
    pub(super) async fn withdraw(&self, withdrawal: &Signed<Withdrawal>) -> Result<State> {
        self.send_document("/v1/withdrawals", withdrawal).await
    }

    /// The bytes of a component. `progress` is told how many came, and of how many.
    pub(super) async fn bytes(&self, digest: &Digest, progress: &mut (dyn FnMut(u64, u64) + Send)) -> Result<Vec<u8>> {
        let mut part = Part::open(&self.home, *digest)?;
        let resumed = part.len() > 0;
        self.complete(digest, &mut part, progress).await?;
        if resumed && !part.is_whole() {
            // What an earlier run left may be what is wrong.
            part.begin_again()?;
            self.complete(digest, &mut part, progress).await?;
        }
        part.finish()
    }

    async fn complete(
        &self,
        digest: &Digest,
        part: &mut Part,
        progress: &mut (dyn FnMut(u64, u64) + Send),
    ) -> Result<()> {
        let mut failures = 0;
        loop {
            match self.piece(digest, part.len()).await {
                Ok(Piece { bytes, all }) => {
                    part.push(&bytes)?;
                    progress(part.len(), all);
                    if part.len() >= all {
                        return Ok(());
                    }
                    failures = 0;
                }
                Err(error) if error.kind == ErrorKind::RegistryUnreached && failures + 1 < TRIES => failures += 1,
                Err(error) => return Err(error),
            }
        }
    }

    async fn piece(&self, digest: &Digest, first: u64) -> Result<Piece> {
        let request = Request::get(format!("/v1/components/{digest}"))
            .header(RANGE, format!("bytes={first}-{}", first + PIECE - 1));
        let answer = self.send(request, Vec::new()).await?;
        let piece = match answer.status() {
            StatusCode::PARTIAL_CONTENT => content_range(&answer).filter(|(at, ..)| *at == first).map(|(_, all)| all),
            StatusCode::OK if first == 0 => Some(answer.body().len() as u64),
            // All of it is here already.
            StatusCode::RANGE_NOT_SATISFIABLE => return Ok(Piece { bytes: Vec::new(), all: first }),
            _ => return Err(self.refusal(&answer)),
        };
        let bytes = answer.into_body();
        match piece {
            Some(all) if all > MAX_COMPONENT_BYTES => {
                let message = format!("the registry `{}` has more bytes than a component may have", self.way.name());
                Err(Error::new(ErrorKind::ComponentTooLarge, message))
            }
            Some(all) if !bytes.is_empty() && first + bytes.len() as u64 <= all => Ok(Piece { bytes, all }),
            _ => Err(self.unreached("its answer is not the piece that was asked for")),
        }
    }

    async fn send_document<T: Document>(&self, path: &str, document: &Signed<T>) -> Result<State> {
        let request = Request::post(path).header(CONTENT_TYPE, "application/json");
        Ok(self.ask::<Taken>(request, document.to_json()?).await?.state)
    }

    async fn ask<T: DeserializeOwned>(&self, request: http::request::Builder, body: Vec<u8>) -> Result<T> {
        let answer = self.send(request, body).await?;
        if answer.status() != StatusCode::OK {
            return Err(self.refusal(&answer));
        }
        serde_json::from_slice(answer.body())
            .map_err(|error| self.unreached("its answer is not that of a registry").detail(error))
    }

    async fn send(&self, request: http::request::Builder, body: Vec<u8>) -> Result<Response<Vec<u8>>> {
        let request = request.body(body).map_err(|error| Error::internal("a request has no form").detail(error))?;
        let is_safe = request.method() == Method::GET;
        self.way.send(request).await.map_err(|Unreached { kind, why, hint }| {
            let message = format!("the registry `{}` was not reached: {why}", self.way.name());
            let again = "run the command again: what was sent twice is one";
            // A refusal of an address keeps its code; one that may pass by itself has the registry's.
            let kind = if kind == ErrorKind::HttpPrivateAddress { kind } else { ErrorKind::RegistryUnreached };
            let error = Error::new(kind, message);
            match hint {
                Some(hint) => error.hint(hint),
                None if is_safe => error,
                None => error.hint(again),
            }
        })
    }

    fn refusal(&self, answer: &Response<Vec<u8>>) -> Error {
        if answer.status() == StatusCode::UNAUTHORIZED {
            let message = format!("the registry `{}` wants a token", self.way.name());
            return Error::new(ErrorKind::Unauthorized, message)
                .hint(format!("store it as a secret and name it in `registries.{}.token`", self.way.name()));
        }
        match serde_json::from_slice::<Refused>(answer.body()) {
            Ok(refused) => refused.into_error(self.way.name()),
            Err(_) => self.unreached(&format!("it answers with status {}", answer.status().as_u16())),
        }
    }

    fn unreached(&self, why: &str) -> Error {
        Error::new(ErrorKind::RegistryUnreached, format!("the registry `{}` cannot be used: {why}", self.way.name()))
    }
}

/// A part of a component.
struct Piece {
    bytes: Vec<u8>,
    /// Bytes of the whole.
    all: u64,
}

fn path_of(Exact { name, version }: &Exact) -> String {
    format!("/v1/releases/{}/{}/{version}", name.publisher, name.slug)
}

/// Where a piece begins, and of how many bytes it is a piece.
fn content_range(answer: &Response<Vec<u8>>) -> Option<(u64, u64)> {
    let field = answer.headers().get(CONTENT_RANGE)?.to_str().ok()?;
    let (range, all) = field.strip_prefix("bytes ")?.split_once('/')?;
    let (first, last) = range.split_once('-')?;
    let (first, last): (u64, u64) = (first.parse().ok()?, last.parse().ok()?);
    (last.checked_sub(first)? + 1 == answer.body().len() as u64).then_some((first, all.parse().ok()?))
}
