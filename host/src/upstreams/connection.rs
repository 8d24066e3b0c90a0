//! One connection to one server: what is asked over it, and what the server may ask back.
//!
//! It may ask for nothing: this client declares no ability, and refuses each request but `ping`. What it announces
//! is noted, and looked at when the next call needs it: a flood of announcements costs a counter.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rmcp::RoleClient;
use rmcp::model::{
    CallToolRequestParams, CallToolResult, CancelledNotification, CancelledNotificationParam, ClientCapabilities,
    ClientConfig, ClientNotification, ClientRequest, ClientResult, ErrorCode, ErrorData, Implementation,
    ListToolsRequest, PaginatedRequestParams, Request, RequestId, ServerNotification, ServerRequest, ServerResult,
};
use rmcp::service::{
    NotificationContext, Peer, PeerRequestOptions, RequestContext, RunningService, Service, ServiceError,
};
use serde_json::{Map, Value};

use super::Definitions;
use super::definitions::MAX_TOOLS;
use super::process::Process;
use crate::clock;
use crate::error::{Error, ErrorKind, Result};
use crate::secrets::{Filled, Redactor};

/// How old the list of tools may be: not every server says that it changed.
const FRESH: Duration = Duration::from_secs(60);
/// Pages of a list. A server that has more goes on for ever.
const PAGES: usize = 50;

/// A connection. Its process ends with it.
pub(crate) struct Connection {
    service: RunningService<RoleClient, Listener>,
    process: std::sync::Mutex<Option<Process>>,
    filled: Filled,
    /// How often the server said that its tools changed.
    changes: Arc<AtomicU64>,
    listed: tokio::sync::Mutex<Option<Listed>>,
}

/// The tools as they were listed last.
struct Listed {
    definitions: Arc<Definitions>,
    changes: u64,
    at: Instant,
}

/// Hears what a server says of its own accord.
pub(super) struct Listener {
    changes: Arc<AtomicU64>,
}

/// What became of a request, for the room that keeps the connection.
pub(super) enum Lost {
    /// The connection is of no more use.
    Gone(Error),
    /// The server answered, and the answer is this error.
    Said(Error),
}

impl Listener {
    pub(super) fn new() -> (Self, Arc<AtomicU64>) {
        let changes = Arc::new(AtomicU64::new(0));
        (Self { changes: Arc::clone(&changes) }, changes)
    }
}

impl Service<RoleClient> for Listener {
    async fn handle_request(
        &self,
        request: ServerRequest,
        _context: RequestContext<RoleClient>,
    ) -> Result<ClientResult, ErrorData> {
        match request {
            ServerRequest::PingRequest(_) => Ok(ClientResult::empty(())),
            _ => Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, "this client gives nothing to servers", None)),
        }
    }

    async fn handle_notification(
        &self,
        notification: ServerNotification,
        _context: NotificationContext<RoleClient>,
    ) -> Result<(), ErrorData> {
        if let ServerNotification::ToolListChangedNotification(_) = notification {
            self.changes.fetch_add(1, Ordering::Relaxed);
        }
        Ok(())
    }

    fn get_info(&self) -> ClientConfig {
        let this = Implementation::new("remit", env!("CARGO_PKG_VERSION"));
        ClientConfig::new(ClientCapabilities::default(), this)
    }
}

impl Connection {
    pub(super) fn new(
        service: RunningService<RoleClient, Listener>,
        process: Option<Process>,
        filled: Filled,
        changes: Arc<AtomicU64>,
    ) -> Self {
        let process = std::sync::Mutex::new(process);
        Self { service, process, filled, changes, listed: tokio::sync::Mutex::default() }
    }

    /// The values that the server got, and what finds them.
    pub(super) fn filled(&self) -> &Filled {
        &self.filled
    }

    /// Finds the values that the server got.
    pub(crate) fn redactor(&self) -> &Redactor {
        &self.filled.redactor
    }

    /// Whether the other end is still there.
    pub(super) fn is_open(&self) -> bool {
        !self.service.is_closed() && !self.service.peer().is_transport_closed()
    }

    /// What the server says of its tools now.
    pub(super) async fn definitions(&self) -> Result<Arc<Definitions>, Lost> {
        let mut listed = self.listed.lock().await;
        // Before the list: a change that is announced meanwhile is looked at again.
        let changes = self.changes.load(Ordering::Relaxed);
        if let Some(known) = listed
            .as_ref()
            .filter(|known| known.changes == changes && clock::monotonic().duration_since(known.at) < FRESH)
        {
            return Ok(Arc::clone(&known.definitions));
        }
        let definitions = Arc::new(self.list().await?);
        *listed = Some(Listed { definitions: Arc::clone(&definitions), changes, at: clock::monotonic() });
        Ok(definitions)
    }

    async fn list(&self) -> Result<Definitions, Lost> {
        let mut tools = Vec::new();
        let mut cursor = None;
        for _ in 0..PAGES {
            let params = PaginatedRequestParams::default().with_cursor(cursor);
            let request = ListToolsRequest { params: Some(params), ..ListToolsRequest::default() };
            // Not by the library's own way, which may answer from a cache.
            let result = self.request(ClientRequest::ListToolsRequest(request)).await?;
            let ServerResult::ListToolsResult(page) = result else { return Err(Lost::Said(strange())) };
            tools.extend(page.tools);
            cursor = page.next_cursor;
            if cursor.is_none() {
                return Definitions::of(tools).map_err(Lost::Said);
            }
            if tools.len() > MAX_TOOLS {
                break;
            }
        }
        Err(Lost::Said(Error::new(ErrorKind::McpFailed, "the server's list of tools has no end")))
    }

    /// Calls a tool. Dropping this tells the server that nobody waits any more.
    pub(super) async fn call(&self, tool: &str, arguments: Map<String, Value>) -> Result<CallToolResult, Lost> {
        let params = CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments);
        match self.request(ClientRequest::CallToolRequest(Request::new(params))).await? {
            ServerResult::CallToolResult(result) => Ok(result),
            ServerResult::InputRequiredResult(_) => Err(Lost::Said(Error::new(
                ErrorKind::McpFailed,
                "the MCP server asks a question, and is not given answers",
            ))),
            _ => Err(Lost::Said(strange())),
        }
    }

    async fn request(&self, request: ClientRequest) -> Result<ServerResult, Lost> {
        let sent = self.service.peer().send_cancellable_request(request, PeerRequestOptions::no_options()).await;
        let mut handle = sent.map_err(|error| self.lost(&error))?;
        let mut waits = Waits { peer: handle.peer.clone(), id: Some(handle.id.clone()) };
        let result = (&mut handle.rx).await;
        waits.id = None;
        match result {
            Ok(Ok(result)) => Ok(result),
            Ok(Err(error)) => Err(self.lost(&error)),
            Err(_) => Err(self.lost(&ServiceError::TransportClosed)),
        }
    }

    /// Third-party words go to the record alone, and without values.
    fn lost(&self, error: &ServiceError) -> Lost {
        match error {
            ServiceError::McpError(error) => {
                let detail = self.filled.redactor.redact_text(&error.message);
                let message = format!("the MCP server answered with the error {}", error.code.0);
                let detail = crate::manifest::visible(&detail, 1_000);
                Lost::Said(Error::new(ErrorKind::McpFailed, message).detail(detail))
            }
            error => {
                let detail = self.filled.redactor.redact_text(&error.to_string());
                Lost::Gone(
                    Error::new(ErrorKind::McpUnreachable, "the MCP server went away, or broke the protocol")
                        .detail(crate::manifest::visible(&detail, 1_000)),
                )
            }
        }
    }

    /// Ends it, and its process.
    pub(super) async fn close(&self) {
        let process = self.process.lock().unwrap_or_else(std::sync::PoisonError::into_inner).take();
        self.service.cancellation_token().cancel();
        if let Some(process) = process {
            process.end().await;
        }
    }
}

fn strange() -> Error {
    Error::new(ErrorKind::McpFailed, "the MCP server answered something else than it was asked")
}

/// Somebody waits for an answer. When nobody does any more, the server is told.
struct Waits {
    peer: Peer<RoleClient>,
    id: Option<RequestId>,
}

impl Drop for Waits {
    fn drop(&mut self) {
        let (Some(id), Ok(threads)) = (self.id.take(), tokio::runtime::Handle::try_current()) else { return };
        let peer = self.peer.clone();
        threads.spawn(async move {
            let reason = "nobody waits for the answer any more".to_owned();
            let notification = CancelledNotification::new(CancelledNotificationParam::new(Some(id), Some(reason)));
            let _ = peer.send_notification(ClientNotification::CancelledNotification(notification)).await;
        });
    }
}
