//! How much a request may carry, and how long it may take to arrive.

use std::time::Duration;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use http_body_util::{BodyExt as _, LengthLimitError, Limited};

/// How long a body may take: the largest one arrives in this over a slow line, and a client that sends a
/// byte now and then does not hold a connection for ever.
const MAX_TIME: Duration = Duration::from_secs(30);

/// Reads the whole body before anything else looks at it, up to `bytes`.
pub(super) async fn limit(State(bytes): State<usize>, request: Request, next: Next) -> Response {
    let (parts, body) = request.into_parts();
    let announced = axum::body::HttpBody::size_hint(&body).lower();
    if announced > u64::try_from(bytes).unwrap_or(u64::MAX) {
        return too_large(bytes);
    }
    match tokio::time::timeout(MAX_TIME, Limited::new(body, bytes).collect()).await {
        Ok(Ok(body)) => next.run(Request::from_parts(parts, Body::from(body.to_bytes()))).await,
        Ok(Err(error)) if error.is::<LengthLimitError>() => too_large(bytes),
        Ok(Err(_)) => (StatusCode::BAD_REQUEST, "the body could not be read").into_response(),
        Err(_) => (StatusCode::REQUEST_TIMEOUT, "the body took too long").into_response(),
    }
}

fn too_large(bytes: usize) -> Response {
    (StatusCode::PAYLOAD_TOO_LARGE, format!("the body is larger than {bytes} bytes")).into_response()
}
