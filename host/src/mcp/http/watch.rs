//! Streams end when who opened them is nobody any more.
//!
//! A request is asked once who sends it; a stream of news goes on for hours after that. So while one is open it is
//! asked again, every second, whether what opened it still stands for the same principal. What runs a call is not a
//! stream of news: a call that was permitted may end.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::header::CONTENT_TYPE;
use axum::response::Response;
use hyper::body::{Body as HttpBody, Frame, SizeHint};
use tokio::time::{Interval, MissedTickBehavior, interval};

/// How long a stream may outlive the token that opened it. Asking costs a hash and a look at a counter.
const AGAIN: Duration = Duration::from_secs(1);

/// An answer as it is, or, when it is a stream, until `is_known` says no.
pub(super) fn until_unknown(response: Response, is_known: impl Fn() -> bool + Send + Unpin + 'static) -> Response {
    let is_stream =
        response.headers().get(CONTENT_TYPE).is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream"));
    if !is_stream {
        return response;
    }
    let mut beat = interval(AGAIN);
    beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
    response.map(|inner| Body::new(Watched { inner, beat, is_known }))
}

struct Watched<F> {
    inner: Body,
    beat: Interval,
    is_known: F,
}

impl<F: Fn() -> bool + Unpin> HttpBody for Watched<F> {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let this = self.get_mut();
        while this.beat.poll_tick(context).is_ready() {
            if !(this.is_known)() {
                return Poll::Ready(None);
            }
        }
        Pin::new(&mut this.inner).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}
