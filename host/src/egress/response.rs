//! Reads a response within its limits: refuses early what is declared too large, cuts what turns out to be, and
//! refuses what could not be searched for secrets.
//!
//! A body is searched while it is read. What is held of it is what may be seen of it, and no more than the limit:
//! one that is saved has another limit, for it never comes into a guest (`saving.rs`).

use bytes::Bytes;
use http::header::{CONTENT_ENCODING, CONTENT_LENGTH, LOCATION, TRANSFER_ENCODING};
use http::{HeaderMap, HeaderValue, Response, StatusCode};
use http_body_util::BodyExt as _;
use hyper::body::Body;

use super::{Method, Refusal, headers};
use crate::config::HttpConfig;
use crate::secrets::{Cuts, Redact, Redacted, Redactor};

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

/// How many bytes of a body are held.
#[derive(Clone, Copy, Debug)]
pub(super) struct Room {
    /// Of one that a guest sees.
    pub(super) shown: usize,
    /// Of one that is saved, if it is a success.
    pub(super) saved: Option<usize>,
}

impl Room {
    /// For an answer that is only shown.
    pub(super) fn shown(limits: &HttpConfig) -> Self {
        Self { shown: limits.response_bytes, saved: None }
    }

    fn of(self, status: StatusCode) -> usize {
        self.saved.filter(|_| status.is_success()).unwrap_or(self.shown)
    }
}

impl Answer {
    /// Whether its status says success: only then is its body saved.
    #[must_use]
    pub fn is_success(&self) -> bool {
        matches!(self.status, 200..300)
    }

    /// The same with another body.
    pub(super) fn holding(self, body: Vec<u8>) -> Self {
        Self { body, ..self }
    }

    /// In place of the answer to a request that a dry run did not send.
    pub(super) fn planned() -> Redacted<Self> {
        Redactor::default()
            .redact(Head { status: StatusCode::ACCEPTED.as_u16(), fields: Vec::new() })
            .with(Redactor::default().redact(Vec::new()), Head::before)
    }
}

/// An answer's status and the fields that a guest sees.
struct Head {
    status: u16,
    fields: Vec<(String, Vec<u8>)>,
}

impl Head {
    fn shown(status: StatusCode, headers: &HeaderMap, method: Method) -> Self {
        let shown = headers
            .iter()
            .filter(|(name, _)| headers::is_shown(name) && (method != Method::Head || *name != CONTENT_LENGTH));
        let fields = shown.map(|(name, value)| (name.as_str().to_owned(), value.as_bytes().to_vec())).collect();
        Self { status: status.as_u16(), fields }
    }

    /// The answer of this head and `body`, whose length it tells: that with markers, not that with values.
    fn before(mut self, body: Vec<u8>) -> Answer {
        for (name, value) in &mut self.fields {
            if name == CONTENT_LENGTH.as_str() {
                *value = body.len().to_string().into_bytes();
            }
        }
        Answer { status: self.status, headers: self.fields, body }
    }
}

impl Redact for Head {
    fn redact(self, redactor: &Redactor, cuts: &mut Cuts) -> Self {
        let mut fields = Vec::with_capacity(self.fields.len());
        for (name, value) in self.fields {
            // No marker is a field's name: the field is left out.
            match redactor.finds(name.as_bytes()) {
                Some(secret) => cuts.note(secret),
                None => fields.push((name, value.redact(redactor, cuts))),
            }
        }
        Self { fields, ..self }
    }
}

impl Redact for Answer {
    fn redact(self, redactor: &Redactor, cuts: &mut Cuts) -> Self {
        let Self { status, headers, body } = self;
        let body = body.redact(redactor, cuts);
        Head { status, fields: headers }.redact(redactor, cuts).before(body)
    }
}

/// What came back.
#[derive(Debug)]
pub(super) enum Received {
    /// It redirects (RFC 9110, 15.4). Nobody reads the body of a redirect that is followed.
    Redirect(StatusCode, HeaderValue),
    /// It is for the guest.
    Answer(Redacted<Answer>),
}

impl Received {
    /// The status of either.
    pub(super) fn status(&self) -> u16 {
        match self {
            Self::Redirect(status, _) => status.as_u16(),
            Self::Answer(answer) => answer.as_ref().status,
        }
    }
}

/// Reads the rest of a response, and searches it. `received` counts the bytes of the body: those that came if
/// reading fails, else those that the guest gets, since the difference tells the length of a value.
pub(super) async fn read<B: Body<Data = Bytes> + Unpin>(
    response: Response<B>,
    method: Method,
    room: Room,
    redactor: &Redactor,
    received: &mut u64,
) -> Result<Received, Refusal> {
    let (head, mut incoming) = response.into_parts();
    let (status, headers) = (head.status, head.headers);
    let limit = room.of(status);
    if let Some(location) = location(status, &headers) {
        return Ok(Received::Redirect(status, location.clone()));
    }
    check_head(status, &headers, method, limit)?;
    let mut body = redactor.stream();
    while let Some(frame) = incoming.frame().await {
        let Ok(frame) = frame else {
            return invalid("it broke off, or its framing is wrong");
        };
        // Trailers come after the head was judged: they are dropped.
        let Ok(data) = frame.into_data() else { continue };
        *received += data.len() as u64;
        if *received > limit as u64 {
            return Err(Refusal::ResponseTooLarge);
        }
        body.push(&data);
    }
    let body = body.finish();
    *received = body.as_ref().len() as u64;
    let head = redactor.redact(Head::shown(status, &headers, method));
    Ok(Received::Answer(head.with(body, Head::before)))
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

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use http_body_util::StreamBody;
    use hyper::body::Frame;

    use super::*;
    use crate::secrets::{SecretSet, SecretValue};

    const VALUE: &str = "sk-0123456789abcdef";
    const MARKER: &[u8] = b"[redacted:KEY]";

    fn redactor() -> Redactor {
        Redactor::new(&SecretSet::new(vec![SecretValue {
            name: "KEY".to_owned(),
            source: "KEY".to_owned(),
            value: VALUE.as_bytes().to_vec().into(),
            is_usable: true,
        }]))
    }

    /// Reads an answer whose body comes in these pieces. Gives how many of them were taken, too.
    async fn read_pieces(
        head: http::response::Builder,
        pieces: &[&str],
        limit: usize,
    ) -> (Result<Received, Refusal>, u64, usize) {
        let mut taken = 0;
        let mut received = 0;
        let frames = counted(pieces, &mut taken);
        let response = head.body(StreamBody::new(frames)).unwrap();
        let room = Room { shown: limit, saved: None };
        let result = read(response, Method::Get, room, &redactor(), &mut received).await;
        (result, received, taken)
    }

    /// A stream of data frames that counts.
    fn counted<'a>(
        pieces: &'a [&str],
        taken: &'a mut usize,
    ) -> impl futures_core::Stream<Item = Result<Frame<Bytes>, Infallible>> + Unpin + 'a {
        struct Pieces<'a>(&'a [&'a str], &'a mut usize);
        impl futures_core::Stream for Pieces<'_> {
            type Item = Result<Frame<Bytes>, Infallible>;
            fn poll_next(
                mut self: std::pin::Pin<&mut Self>,
                _: &mut std::task::Context<'_>,
            ) -> std::task::Poll<Option<Self::Item>> {
                let piece = self.0.get(*self.1).map(|piece| Bytes::copy_from_slice(piece.as_bytes()));
                *self.1 += usize::from(piece.is_some());
                std::task::Poll::Ready(piece.map(|piece| Ok(Frame::data(piece))))
            }
        }
        Pieces(pieces, taken)
    }

    fn answer(received: Result<Received, Refusal>) -> Redacted<Answer> {
        match received {
            Ok(Received::Answer(answer)) => answer,
            other => panic!("{other:?}"),
        }
    }

    #[tokio::test]
    async fn s_24_a_value_in_two_pieces_is_cut_and_counted() {
        let (received, bytes, _) =
            read_pieces(Response::builder(), &["you sent sk-01234", "56789abc", "def, and sk-0123"], 1000).await;
        let answer = answer(received);
        assert_eq!(answer.cuts().count, 1);
        let body = answer.into_inner().body;
        assert_eq!(String::from_utf8_lossy(&body), "you sent [redacted:KEY], and sk-0123");
        // S-31: the length of what came would tell the length of the value.
        assert_eq!(bytes, body.len() as u64);
    }

    #[tokio::test]
    async fn s_25_and_s_31_header_fields_hold_no_value_and_no_length_of_one() {
        let head = Response::builder()
            .header("content-length", VALUE.len())
            .header("etag", format!("W/\"{VALUE}\""))
            .header("content-location", format!("/keys/{VALUE}"))
            .header("location", format!("/made/{VALUE}"))
            .header("link", format!("</?k={VALUE}>; rel=next"))
            .header(format!("x-{VALUE}"), "1")
            .header("set-cookie", VALUE)
            .header("www-authenticate", format!("Bearer realm={VALUE}"))
            .header("authorization", VALUE)
            .header("x-plain", "1");
        let answer = answer(read_pieces(head, &[VALUE], 1000).await.0);
        assert_eq!(answer.cuts().count, 6);
        let answer = answer.into_inner();
        let shown: Vec<_> = answer
            .headers
            .iter()
            .map(|(name, value)| format!("{name}: {}", String::from_utf8_lossy(value)))
            .collect();
        let expected = [
            "content-length: 14",
            "etag: W/\"[redacted:KEY]\"",
            "content-location: /keys/[redacted:KEY]",
            "location: /made/[redacted:KEY]",
            "link: </?k=[redacted:KEY]>; rel=next",
            "x-plain: 1",
        ];
        assert_eq!(shown, expected);
        assert_eq!(answer.body, MARKER);
    }

    #[tokio::test]
    async fn nothing_more_is_read_beyond_the_limit() {
        let (received, bytes, taken) = read_pieces(Response::builder(), &["12345"; 10], 12).await;
        assert!(matches!(received, Err(Refusal::ResponseTooLarge)));
        assert_eq!((bytes, taken), (15, 3));
        let (received, ..) = read_pieces(Response::builder(), &["12345"; 2], 10).await;
        assert_eq!(answer(received).into_inner().body, b"1234512345");
    }

    #[tokio::test]
    async fn the_body_of_a_redirect_is_not_read() {
        let head = Response::builder().status(302).header("location", "/next");
        let (received, bytes, taken) = read_pieces(head, &["body"], 10).await;
        assert!(matches!(received, Ok(Received::Redirect(StatusCode::FOUND, place)) if place == "/next"));
        assert_eq!((bytes, taken), (0, 0));
    }
}
