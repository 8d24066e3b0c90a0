//! Which request does what.
//!
//! One handler serves every session and both eras: it holds the agents' door and what is derived from it,
//! and nothing of a session, so answers never depend on which connection asks. Versions, headers and
//! framing are the library's; whether a call may run is decided behind `Host::call`.

use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use rmcp::model::{
    CallToolRequestMethod, CallToolRequestParams, CallToolResponse, ConstString, CustomRequest, CustomResult,
    DiscoverResult, ErrorCode, Implementation, InitializeRequestParams, InitializeResult,
    ListResourceTemplatesRequestMethod, ListResourceTemplatesResult, ListResourcesRequestMethod,
    ListResourcesResult, ListToolsResult, PaginatedRequestParams, ReadResourceRequestMethod,
    ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult, ServerCapabilities, ServerConfig,
    SubscribeRequestMethod, SubscribeRequestParams, SubscriptionFilter, Tool, UnsubscribeRequestParams,
};
use rmcp::service::{NotificationContext, RequestContext, SubscriptionContext};
use rmcp::{ErrorData, RoleServer, ServerHandler};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::changes::Changes;
use super::inbox::Inbox;
use super::reply;
use super::tools::{InvalidCursor, Lists, ToolList};
use crate::call::{CallRequest, Host};
use crate::error::{Error, ErrorKind};
use crate::policy::Identity;

/// The handler. Cheap to clone; all clones of one door share its state.
#[derive(Clone)]
pub(super) struct Server {
    host: Host,
    principal: &'static str,
    lists: Arc<Lists>,
    changes: Arc<Changes>,
    inbox: Arc<Inbox>,
    calls: TaskTracker,
}

impl Server {
    /// The handler of one door. `principal` is who its calls are recorded for; `stop` ends subscriptions.
    pub(super) fn new(host: Host, principal: &'static str, stop: CancellationToken) -> Self {
        let lists = Arc::new(Lists::new(host.clone()));
        let inbox = Inbox::watch(host.clone(), stop.clone());
        let changes = Changes::watch(Arc::clone(&lists), host.changes(), stop);
        Self { host, principal, lists, changes, inbox, calls: TaskTracker::new() }
    }

    /// The calls that run now.
    pub(super) fn calls(&self) -> &TaskTracker {
        &self.calls
    }

    /// The inbox; without one its methods are not there.
    fn inbox<M: ConstString>(&self) -> Result<&Inbox, ErrorData> {
        if self.inbox.is_there() { Ok(&self.inbox) } else { Err(ErrorData::method_not_found::<M>()) }
    }

    fn list(&self) -> Result<Arc<ToolList>, ErrorData> {
        self.lists.current().map_err(|error| internal(&error))
    }

    async fn call(
        &self,
        request: CallToolRequestParams,
        caller: Identity,
        cancel: CancellationToken,
    ) -> Result<CallToolResponse, ErrorData> {
        let unknown = ErrorData::invalid_params(format!("there is no tool `{}`", request.name), None);
        let list = self.list()?;
        let Some(tool) = list.find(&request.name) else { return Err(unknown) };
        let call = CallRequest::new(caller, tool.clone(), request.arguments.unwrap_or_default());
        let _running = self.calls.token();
        let result = match self.host.call(call, cancel).await {
            Ok(reply) => reply::success(reply),
            // Another process removed it after it was found in the list.
            Err(failure) if failure.error.kind == ErrorKind::UnknownTool => return Err(unknown),
            Err(failure) => reply::failure(&failure),
        };
        Ok(CallToolResponse::Complete(result))
    }
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        // The library asks for this several times a request, so it holds only what costs nothing.
        let mut capabilities = ServerCapabilities::builder().enable_tools().enable_tool_list_changed().build();
        if self.inbox.is_there() {
            let inbox = ServerCapabilities::builder().enable_resources().enable_resources_subscribe().build();
            capabilities.resources = inbox.resources;
        }
        let implementation = Implementation::new("remit", env!("CARGO_PKG_VERSION")).with_title("Remit");
        ServerConfig::new(capabilities).with_server_info(implementation)
    }

    async fn initialize(
        &self,
        request: InitializeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        fenced(async {
            let answer = self.negotiate_initialize(&request)?;
            context.peer.set_peer_info(request);
            Ok(answer.with_instructions(self.list()?.instructions()))
        })
        .await
    }

    async fn discover(&self, _context: RequestContext<RoleServer>) -> Result<DiscoverResult, ErrorData> {
        fenced(async {
            let info = self.get_info().with_instructions(self.list()?.instructions());
            Ok(DiscoverResult::from_server_info(self.supported_protocol_versions().into_owned(), info))
        })
        .await
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        fenced(async {
            let cursor = request.and_then(|request| request.cursor);
            let page = self.list()?.page(cursor.as_deref()).map_err(|InvalidCursor| {
                ErrorData::invalid_params("the cursor is none that this server gave", None)
            })?;
            let mut result = ListToolsResult::with_all_items(page.tools);
            result.next_cursor = page.next;
            Ok(result)
        })
        .await
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        // Whom the HTTP door identified; on stdio there is nobody else than the one who started this.
        let parts = context.extensions.get::<http::request::Parts>();
        let identified = parts.and_then(|parts| parts.extensions.get::<Identity>()).cloned();
        let caller = identified.unwrap_or_else(|| Identity::stored(self.principal));
        fenced(self.call(request, caller, context.ct)).await
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        self.lists.current().ok()?.wire(name).cloned()
    }

    /// What the library cannot read as a request it knows: a method of its own, or a call whose parameters
    /// have a wrong shape. The second is the caller's mistake in a method that is there.
    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        if request.method == CallToolRequestMethod::VALUE {
            let message = "`name` must be a string and `arguments`, if present, an object";
            return Err(ErrorData::invalid_params(message, None));
        }
        Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, request.method, None))
    }

    async fn list_resources(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        fenced(async {
            let inbox = self.inbox::<ListResourcesRequestMethod>()?;
            Ok(ListResourcesResult::with_all_items(inbox.list().map_err(|error| internal(&error))?))
        })
        .await
    }

    async fn list_resource_templates(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        fenced(async {
            self.inbox::<ListResourceTemplatesRequestMethod>()?;
            Ok(ListResourceTemplatesResult::with_all_items(Inbox::templates()))
        })
        .await
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        fenced(async {
            let inbox = self.inbox::<ReadResourceRequestMethod>()?;
            let found = inbox.read(&request.uri).map_err(|error| internal(&error))?;
            let found = found.ok_or_else(|| ErrorData::resource_not_found("there is no such resource", None))?;
            Ok(ReadResourceResult::new(vec![found]).into())
        })
        .await
    }

    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let inbox = self.inbox::<SubscribeRequestMethod>()?;
        if !Inbox::is_address(&request.uri) {
            return Err(ErrorData::resource_not_found("there is no such resource", None));
        }
        if inbox.add_legacy(context.peer, request.uri) {
            return Ok(());
        }
        Err(ErrorData::invalid_params("too many subscriptions: listen to `remit://inbox` instead", None))
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.inbox.remove_legacy(&context.peer, &request.uri);
        Ok(())
    }

    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        let filter = SubscriptionFilter::builder().tools_list_changed();
        if !self.inbox.is_there() {
            return Some(filter.build());
        }
        let uris = requested.resource_subscriptions.iter().flatten().filter(|uri| Inbox::is_address(uri));
        Some(filter.resource_subscriptions(uris.cloned()).build())
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        self.changes.serve(&context, &self.inbox).await;
        Ok(())
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        self.changes.add_legacy(context.peer);
    }
}

fn internal(error: &Error) -> ErrorData {
    tracing::error!(%error, detail = ?error.detail, "a request failed");
    ErrorData::internal_error(format!("{}: {}", error.kind.code(), error.kind.meaning()), None)
}

/// Answers a request whose handler panics; without this the client would wait for ever. The panic itself is
/// reported by the panic hook, for the operator only.
async fn fenced<T>(work: impl Future<Output = Result<T, ErrorData>>) -> Result<T, ErrorData> {
    let mut work = pin!(work);
    std::future::poll_fn(|context| {
        // The work is not polled again after a panic, so nothing sees the state that it left.
        std::panic::catch_unwind(AssertUnwindSafe(|| work.as_mut().poll(context)))
            .unwrap_or_else(|_| Poll::Ready(Err(internal(&Error::internal("a handler panicked")))))
    })
    .await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_panic_becomes_an_internal_error() {
        let panics = fenced::<()>(async {
            tokio::task::yield_now().await;
            panic!("secret of the host")
        });
        let error = panics.await.unwrap_err();
        assert_eq!(error.code, ErrorCode::INTERNAL_ERROR);
        assert_eq!(error.message, "host/internal: A bug in this program.");
        assert_eq!(fenced(async { Ok(1) }).await.unwrap(), 1);
    }
}
