//! How much a request may carry, how long it may take to arrive, and whether it is a message at all.
//!
//! What is no JSON, or a list of messages, is answered here as the protocol answers: the library behind says it in
//! plain text. What a message means is not looked at.

use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::Request;
use axum::http::header::CONTENT_TYPE;
use axum::http::{self, HeaderMap, Method, StatusCode};
use axum::response::{IntoResponse as _, Response};
use http_body_util::{BodyExt as _, Full, LengthLimitError, Limited};
use serde::de::IgnoredAny;
use serde_json::json;

/// How long a body may take: the largest one arrives in this over a slow line, and a client that sends a
/// byte now and then does not hold a connection for ever.
const MAX_TIME: Duration = Duration::from_secs(30);

/// Reads the whole body before anything else looks at it, up to `most` bytes; or says what is wrong with it.
pub(super) async fn whole(request: Request, most: usize) -> Result<http::Request<Full<Bytes>>, Response> {
    let (parts, body) = request.into_parts();
    let bytes = read(body, most).await?;
    if parts.method == Method::POST
        && is_json(&parts.headers)
        && let Some((code, message)) = malformed(&bytes)
    {
        let error = json!({ "jsonrpc": "2.0", "id": null, "error": { "code": code, "message": message } });
        return Err(
            (StatusCode::BAD_REQUEST, [(CONTENT_TYPE, "application/json")], error.to_string()).into_response()
        );
    }
    Ok(http::Request::from_parts(parts, Full::new(bytes)))
}

async fn read(body: Body, most: usize) -> Result<Bytes, Response> {
    let announced = axum::body::HttpBody::size_hint(&body).lower();
    if announced > u64::try_from(most).unwrap_or(u64::MAX) {
        return Err(too_large(most));
    }
    match tokio::time::timeout(MAX_TIME, Limited::new(body, most).collect()).await {
        Ok(Ok(body)) => Ok(body.to_bytes()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(too_large(most)),
        Ok(Err(_)) => Err((StatusCode::BAD_REQUEST, "the body could not be read").into_response()),
        Err(_) => Err((StatusCode::REQUEST_TIMEOUT, "the body took too long").into_response()),
    }
}

/// Whether the body is said to be JSON. Any other is refused for what it is.
fn is_json(headers: &HeaderMap) -> bool {
    let media_type = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    media_type.split(';').next().is_some_and(|name| name.trim().eq_ignore_ascii_case("application/json"))
}

/// The code and the words for what is no single message.
fn malformed(bytes: &[u8]) -> Option<(i32, &'static str)> {
    // What is passed over is not looked at byte by byte, so that it is text is asked apart.
    if std::str::from_utf8(bytes).is_err() || serde_json::from_slice::<IgnoredAny>(bytes).is_err() {
        return Some((-32700, "the body is not JSON"));
    }
    match bytes.iter().find(|byte| !byte.is_ascii_whitespace()) {
        Some(b'{') => None,
        Some(b'[') => Some((-32600, "one message a request: there are no batches")),
        _ => Some((-32600, "a message is an object")),
    }
}

fn too_large(bytes: usize) -> Response {
    (StatusCode::PAYLOAD_TOO_LARGE, format!("the body is larger than {bytes} bytes")).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_single_message_is_told_apart() {
        let cases = [
            ("{}", None),
            (" \r\n{\"a\": [1]} ", None),
            ("[]", Some(-32600)),
            ("[{}]", Some(-32600)),
            ("7", Some(-32600)),
            ("null", Some(-32600)),
            ("", Some(-32700)),
            ("{", Some(-32700)),
            ("{}{}", Some(-32700)),
            ("[{}", Some(-32700)),
            ("\u{feff}{}", Some(-32700)),
        ];
        for (body, expected) in cases {
            assert_eq!(malformed(body.as_bytes()).map(|(code, _)| code), expected, "{body:?}");
        }
        assert_eq!(malformed(b"{\"a\": \"\xff\"}").map(|(code, _)| code), Some(-32700));
    }
}
