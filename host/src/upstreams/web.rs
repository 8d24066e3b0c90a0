//! An upstream that is an address: messages travel over the host's own way out.
//!
//! So they are held to its rules: HTTPS only, public addresses unless the operator excepted others, bounded answers,
//! and no redirects. A header field with a secret therefore goes to the host that the operator wrote and to no other.
//! Each answer is read whole; no stream is kept open, so a server says that its tools changed when it is next asked.

use std::borrow::Cow;
use std::collections::HashMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_core::Stream;
use http::{HeaderName, HeaderValue, Method};
use rmcp::model::{ClientJsonRpcMessage, ClientRequest, ErrorData, ServerJsonRpcMessage};
use rmcp::transport::streamable_http_client::{
    StreamableHttpClient, StreamableHttpError, StreamableHttpPostResponse,
};
use sse_stream::{Error as SseError, Sse};

use crate::egress::{Own, Unreached};

const SESSION: &str = "mcp-session-id";
const JSON: &str = "application/json";
const EVENTS: &str = "text/event-stream";

/// Sends the messages of one connection.
#[derive(Clone)]
pub(super) struct Web(Arc<Inner>);

struct Inner {
    own: Arc<Own>,
    /// The server's name, by which its exceptions are found.
    name: String,
    /// Header fields of the operator's, filled in.
    headers: Vec<(HeaderName, HeaderValue)>,
    /// How long one exchange may take.
    limit: Duration,
    /// Why the last exchange had no answer.
    unreached: Mutex<Option<Unreached>>,
}

type Failed = StreamableHttpError<Unreached>;

/// What one exchange brought.
struct Received {
    status: u16,
    content_type: String,
    session: Option<String>,
    body: Vec<u8>,
}

impl Web {
    pub(super) fn new(
        own: Arc<Own>,
        name: &str,
        headers: Vec<(HeaderName, HeaderValue)>,
        limit: Duration,
    ) -> Self {
        Self(Arc::new(Inner { own, name: name.to_owned(), headers, limit, unreached: Mutex::default() }))
    }

    /// Why the last exchange had no answer.
    pub(super) fn unreached(&self) -> Option<Unreached> {
        self.0.unreached.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    async fn exchange(
        &self,
        method: Method,
        uri: &str,
        session: Option<&str>,
        fields: HashMap<HeaderName, HeaderValue>,
        body: Vec<u8>,
    ) -> Result<Received, Failed> {
        let mut request = http::Request::new(body);
        *request.method_mut() = method;
        *request.uri_mut() = uri.parse().map_err(|_| unexpected("its address cannot be sent"))?;
        let headers = request.headers_mut();
        headers.extend(fields);
        for (name, value) in &self.0.headers {
            headers.insert(name, value.clone());
        }
        headers.insert(http::header::CONTENT_TYPE, HeaderValue::from_static(JSON));
        headers.insert(http::header::ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
        if let Some(session) = session {
            let session = HeaderValue::from_str(session).map_err(|_| unexpected("its session has no name"))?;
            headers.insert(SESSION, session);
        }
        let response = self.0.own.ask_upstream(&self.0.name, uri, request, self.0.limit).await.map_err(|why| {
            *self.0.unreached.lock().unwrap_or_else(PoisonError::into_inner) = Some(why.clone());
            StreamableHttpError::Client(why)
        })?;
        let field = |name: &str| response.headers().get(name).and_then(|value| value.to_str().ok());
        Ok(Received {
            status: response.status().as_u16(),
            content_type: field("content-type").unwrap_or_default().to_ascii_lowercase(),
            session: field(SESSION).map(str::to_owned),
            body: response.into_body(),
        })
    }
}

impl StreamableHttpClient for Web {
    type Error = Unreached;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session_id: Option<Arc<str>>,
        _auth_header: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<StreamableHttpPostResponse, Failed> {
        // Two braces are a placeholder's beginning to the way out, and an agent's arguments may hold them.
        let body = serde_json::to_string(&message)?.replace("{{", "{\\u007b");
        let session = session_id.as_deref();
        let received = self.exchange(Method::POST, &uri, session, custom_headers, body.into_bytes()).await?;
        let waits = matches!(message, ClientJsonRpcMessage::Request(_));
        match received.status {
            202 | 204 => return Ok(StreamableHttpPostResponse::Accepted),
            200..=299 if !waits => return Ok(StreamableHttpPostResponse::Accepted),
            404 if session.is_some() => return Err(StreamableHttpError::SessionExpired),
            _ => {}
        }
        if let Some(answer) = answer(&received) {
            return Ok(StreamableHttpPostResponse::Json(answer, received.session));
        }
        // A server of the older era may refuse what it does not know by its status alone.
        if let ClientJsonRpcMessage::Request(request) = &message
            && matches!(request.request, ClientRequest::DiscoverRequest(_))
            && matches!(received.status, 400 | 404 | 405 | 406 | 415 | 422)
            && session.is_none()
        {
            let error = ErrorData::invalid_request("not of the newer era", None);
            let answer = ServerJsonRpcMessage::error(error, Some(request.id.clone()));
            return Ok(StreamableHttpPostResponse::Json(answer, None));
        }
        Err(unexpected(format!("status {}, without an answer to the message", received.status)))
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session_id: Arc<str>,
        _auth_header: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<(), Failed> {
        // Whether it is glad to hear it or not: the session is over for us.
        self.exchange(Method::DELETE, &uri, Some(&session_id), custom_headers, Vec::new()).await.map(drop)
    }

    async fn get_stream(
        &self,
        _uri: Arc<str>,
        _session_id: Option<Arc<str>>,
        _last_event_id: Option<String>,
        _auth_header: Option<String>,
        _custom_headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<Pin<Box<dyn Stream<Item = Result<Sse, SseError>> + Send>>, Failed> {
        Err(StreamableHttpError::ServerDoesNotSupportSse)
    }
}

/// The answer in a body: JSON, or the one message of an event stream that answers. What else a stream tells is
/// dropped.
fn answer(received: &Received) -> Option<ServerJsonRpcMessage> {
    let is_answer = |message: &ServerJsonRpcMessage| {
        !matches!(message, ServerJsonRpcMessage::Notification(_) | ServerJsonRpcMessage::Request(_))
    };
    if received.content_type.starts_with(EVENTS) {
        let text = String::from_utf8_lossy(&received.body);
        return events(&text).filter_map(|data| serde_json::from_str(&data).ok()).find(is_answer);
    }
    if received.content_type.starts_with(JSON) {
        return serde_json::from_slice(&received.body).ok().filter(is_answer);
    }
    None
}

/// The data of each event of a stream (HTML, 9.2.6).
fn events(text: &str) -> impl Iterator<Item = String> {
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    let events: Vec<String> = text
        .split("\n\n")
        .map(|event| {
            let data = event.lines().filter_map(|line| line.strip_prefix("data:"));
            data.map(|data| data.strip_prefix(' ').unwrap_or(data)).collect::<Vec<_>>().join("\n")
        })
        .collect();
    events.into_iter().filter(|data| !data.is_empty())
}

fn unexpected(what: impl Into<String>) -> Failed {
    StreamableHttpError::UnexpectedServerResponse(Cow::Owned(what.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_answer_of_a_stream_is_found_among_what_else_it_tells() {
        let stream = "event: message\nid: 1\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\
                      \"params\":{\"progressToken\":1,\"progress\":1}}\n\n: comment\n\ndata:\r\n\r\n\
                      data: {\"jsonrpc\":\"2.0\",\"id\":1,\r\ndata: \"result\":{}}\r\n\r\n";
        let of = |content_type: &str, body: &str| {
            answer(&Received {
                status: 200,
                content_type: content_type.to_owned(),
                session: None,
                body: body.as_bytes().to_vec(),
            })
        };
        assert!(matches!(of(EVENTS, stream), Some(ServerJsonRpcMessage::Response(_))));
        assert!(of(EVENTS, "data: {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n\n").is_none(), "a request");
        assert!(of("application/json; charset=utf-8", "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}").is_some());
        assert!(of("text/html", "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}").is_none());
        assert!(of(JSON, "<html>").is_none());
    }
}
