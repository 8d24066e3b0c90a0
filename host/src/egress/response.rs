//! Reads a response within its limits: refuses early what is declared too large, cuts what turns out to be, and
//! refuses what could not be searched for secrets.

use http::header::{CONTENT_ENCODING, CONTENT_LENGTH, LOCATION, TRANSFER_ENCODING};
use http::{HeaderMap, HeaderValue, Response, StatusCode};
use http_body_util::BodyExt as _;
use hyper::body::{Body as _, Incoming};

use super::{Method, Refusal, headers};
use crate::secrets::{Redact, Redactor};

/// What a guest gets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The status.
    pub status: u16,
    /// Header fields, without those that are hidden.
    pub headers: Vec<(String, Vec<u8>)>,
    /// The body.
    pub body: Vec<u8>,
}

impl Answer {
    /// In place of the answer to a request that a dry run did not send.
    pub(super) fn planned() -> Self {
        Self { status: StatusCode::ACCEPTED.as_u16(), headers: Vec::new(), body: Vec::new() }
    }
}

impl Redact for Answer {
    fn redact(self, redactor: &Redactor) -> Self {
        let body = self.body.redact(redactor);
        let headers = self.headers.into_iter().filter(|(name, _)| !redactor.finds(name.as_bytes()));
        let headers = headers
            .map(|(name, value)| {
                // The length of the marker instead of the length of the value.
                let value = if name == CONTENT_LENGTH.as_str() { body.len().to_string().into() } else { value };
                let value = value.redact(redactor);
                (name, value)
            })
            .collect();
        Self { status: self.status, headers, body }
    }
}

/// A response that was read whole, before redaction.
#[derive(Debug)]
pub(super) struct Received {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) body: Vec<u8>,
}

impl Received {
    /// Where it redirects to (RFC 9110, 15.4).
    pub(super) fn location(&self) -> Option<&HeaderValue> {
        location(self.status, &self.headers)
    }

    /// What is left of it for a guest.
    pub(super) fn into_answer(self, method: Method) -> Answer {
        let shown = self
            .headers
            .iter()
            .filter(|(name, _)| headers::is_shown(name) && (method != Method::Head || *name != CONTENT_LENGTH));
        let headers = shown.map(|(name, value)| (name.as_str().to_owned(), value.as_bytes().to_vec())).collect();
        Answer { status: self.status.as_u16(), headers, body: self.body }
    }
}

/// Reads the rest of a response. `received` counts the bytes of the body, also when reading fails.
pub(super) async fn read(
    response: Response<Incoming>,
    method: Method,
    limit: usize,
    received: &mut u64,
) -> Result<Received, Refusal> {
    let (head, mut incoming) = response.into_parts();
    let (status, headers) = (head.status, head.headers);
    if location(status, &headers).is_some() {
        // Nobody reads the body of a redirect that is followed.
        return Ok(Received { status, headers, body: Vec::new() });
    }
    check_head(status, &headers, method, limit)?;
    let expected = incoming.size_hint().exact().and_then(|length| usize::try_from(length).ok());
    let mut body = Vec::with_capacity(expected.unwrap_or_default().min(limit));
    while let Some(frame) = incoming.frame().await {
        let Ok(frame) = frame else {
            return invalid("it broke off, or its framing is wrong");
        };
        // Trailers come after the head was judged: they are dropped.
        let Ok(data) = frame.into_data() else { continue };
        *received += data.len() as u64;
        if body.len() + data.len() > limit {
            return Err(Refusal::ResponseTooLarge);
        }
        body.extend_from_slice(&data);
    }
    Ok(Received { status, headers, body })
}

fn location(status: StatusCode, headers: &HeaderMap) -> Option<&HeaderValue> {
    let redirect = matches!(status.as_u16(), 301 | 302 | 303 | 307 | 308);
    if redirect { headers.get(LOCATION) } else { None }
}

fn invalid<T>(why: &str) -> Result<T, Refusal> {
    Err(Refusal::ResponseInvalid(why.to_owned()))
}

fn check_head(status: StatusCode, headers: &HeaderMap, method: Method, limit: usize) -> Result<(), Refusal> {
    if status.is_informational() {
        return invalid("it is not final");
    }
    if method == Method::Head || matches!(status, StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED) {
        // Its fields speak of a body that does not follow.
        return Ok(());
    }
    let mut transfer = headers.get_all(TRANSFER_ENCODING).iter();
    if transfer.any(|coding| !coding.as_bytes().eq_ignore_ascii_case(b"chunked")) {
        return invalid("its transfer coding is not `chunked`");
    }
    if headers.contains_key(TRANSFER_ENCODING) && headers.contains_key(CONTENT_LENGTH) {
        return invalid("it has two lengths");
    }
    let declared = headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse::<u128>().ok());
    if declared.is_some_and(|length| length > limit as u128) {
        return Err(Refusal::ResponseTooLarge);
    }
    let mut codings = headers.get_all(CONTENT_ENCODING).iter();
    if codings.any(|coding| !coding.as_bytes().eq_ignore_ascii_case(b"identity")) {
        return invalid("it is compressed, though that was not asked for");
    }
    Ok(())
}
