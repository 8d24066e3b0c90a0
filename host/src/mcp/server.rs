//! Which request does what.
//!
//! One handler serves every session and both eras on one surface: it holds the agents' door and what is derived
//! from it. Of a session it holds the level of log lines that a legacy client asked for, and nothing else, so
//! answers never depend on which connection asks. Versions, headers and framing are the library's; whether a call
//! may run is decided behind the host's door.

#![expect(deprecated, reason = "clients log and subscribe in the ways of before for years to come")]

mod compact;
mod documents;
mod prompts;
mod tools;

use std::collections::HashMap;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Poll;

use axum::http::request::Parts;
use rmcp::model::{
    CallToolRequestMethod, CallToolRequestParams, CallToolResponse, CompleteRequestMethod, CompleteRequestParams,
    CompleteResult, ConstString, CustomRequest, CustomResult, DiscoverResult, ErrorCode, Extensions,
    GetPromptRequestMethod, GetPromptRequestParams, GetPromptResponse, Implementation, InitializeRequestParams,
    InitializeResult, JsonObject, ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult,
    ListToolsResult, LoggingLevel, PaginatedRequestParams, ReadResourceRequestMethod, ReadResourceRequestParams,
    ReadResourceResponse, ServerCapabilities, ServerConfig, SetLevelRequestMethod, SetLevelRequestParams,
    SubscribeRequestParams, SubscriptionFilter, Tool, UnsubscribeRequestParams,
};
use rmcp::service::{NotificationContext, RequestContext, SubscriptionContext};
use rmcp::{ErrorData, RoleServer, ServerHandler};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::Surface;
use super::changes::Changes;
use super::compact::{Exposure, Shape};
use super::conversation;
use super::files::{Files, Who};
use super::inbox::Inbox;
use super::news::Listener;
use super::parent;
use super::questions::{Asker, Binding, Brought, Seal};
use super::results::Results;
use super::shelf::{Shelf, Shelves};
use super::text::clean_line;
use super::tools::{Lists, ToolList};
use crate::audit;
use crate::call::{Host, Visit};
use crate::client::Client;
use crate::error::{Error, Result};
use crate::manifest;
use crate::policy::Identity;
use crate::registry::{CapabilityName, Entry};

/// Characters of a title: more is no title.
const MAX_TITLE: usize = 120;

/// The handler of one session, or of one request, on one surface. Cheap to clone.
#[derive(Clone)]
pub(super) struct Server {
    shared: Arc<Shared>,
    surface: Surface,
    view: Arc<View>,
    /// What a legacy client asked for with `logging/setLevel`.
    level: Arc<Mutex<Option<LoggingLevel>>>,
}

/// What all surfaces of a door share.
struct Shared {
    host: Host,
    caller: CallerOf,
    exposure: Exposure,
    inbox: Arc<Inbox>,
    files: Arc<Files>,
    /// The one connection of a door that has no sessions.
    connection: Option<String>,
    results: Results,
    seal: Seal,
    calls: TaskTracker,
    stop: CancellationToken,
    views: Mutex<HashMap<Surface, Arc<View>>>,
}

/// What is derived from the home for one surface.
struct View {
    lists: Arc<Lists>,
    shelves: Arc<Shelves>,
    changes: Arc<Changes>,
}

/// What a request asks of a capability.
struct What<'a> {
    method: &'a str,
    /// The name or the address there.
    target: &'a str,
    arguments: &'a JsonObject,
}

/// How the door says who makes a request.
#[derive(Clone)]
pub(super) enum CallerOf {
    /// Always the same.
    Door(Identity),
    /// The door put it beside each request.
    Request,
}

impl Server {
    /// The handler of a door that shows everything. `stop` ends subscriptions.
    pub(super) fn new(host: Host, caller: CallerOf, exposure: Exposure, stop: CancellationToken) -> Result<Self> {
        let inbox = Inbox::watch(host.clone(), stop.clone());
        let files = Files::watch(host.clone(), stop.clone());
        let connection = match &caller {
            CallerOf::Door(_) => Some(audit::id::new(0)?),
            CallerOf::Request => None,
        };
        let seal = Seal::new(&host.request_key()?)?;
        let (results, calls, views) = (Results::default(), TaskTracker::new(), Mutex::default());
        let shared = Arc::new(Shared {
            host,
            caller,
            exposure,
            inbox,
            files,
            connection,
            results,
            seal,
            calls,
            stop,
            views,
        });
        Ok(Self::of(shared, Surface::Joint))
    }

    /// A handler of the same door for another session, on this surface.
    pub(super) fn at(&self, surface: Surface) -> Self {
        Self::of(Arc::clone(&self.shared), surface)
    }

    fn of(shared: Arc<Shared>, surface: Surface) -> Self {
        let view = shared.view(&surface);
        Self { shared, surface, view, level: Arc::default() }
    }

    /// Whether there is something behind a surface: one of a capability that is not installed is not there.
    pub(super) fn is_there(&self, surface: &Surface) -> bool {
        match surface {
            Surface::Joint | Surface::Compact | Surface::Direct => true,
            Surface::One(name) => self.shared.host.snapshot().is_ok_and(|now| now.entries.contains_key(name)),
        }
    }

    /// The calls that run now.
    pub(super) fn calls(&self) -> &TaskTracker {
        &self.shared.calls
    }

    /// Who makes a request. Without an answer it is refused: nobody is anybody by default.
    fn caller(&self, context: &RequestContext<RoleServer>) -> Result<Identity, ErrorData> {
        self.caller_of(&context.extensions)
    }

    fn caller_of(&self, extensions: &Extensions) -> Result<Identity, ErrorData> {
        match &self.shared.caller {
            CallerOf::Door(identity) => Ok(identity.clone()),
            CallerOf::Request => {
                let parts = extensions.get::<Parts>();
                let identity = parts.and_then(|parts| parts.extensions.get::<Identity>());
                identity.cloned().ok_or_else(|| internal(&Error::internal("a request came in without a caller")))
            }
        }
    }

    /// Who makes a request, and in which conversation.
    fn who(&self, context: &RequestContext<RoleServer>) -> Result<Who, ErrorData> {
        let (caller, connection) = (self.caller(context)?, self.shared.connection.as_deref());
        let conversation = conversation::of_request(&context.meta, &context.extensions, connection)?;
        Ok(Who { caller, conversation, surface: self.surface.clone() })
    }

    /// The inbox, where it is shown and there.
    fn inbox(&self) -> Option<&Inbox> {
        let is_shown = self.surface.shows(&crate::scheduler::official());
        Some(&*self.shared.inbox).filter(|inbox| is_shown && inbox.is_there())
    }

    fn list(&self) -> Result<Arc<ToolList>, ErrorData> {
        self.view.lists.current().map_err(|error| internal(&error))
    }

    /// What an endpoint lists for a caller now.
    fn shape(&self, list: &ToolList, caller: &Identity) -> Shape {
        self.shared.exposure.shape(&self.surface, list, caller)
    }

    fn instructions(&self, caller: &Identity) -> Result<String, ErrorData> {
        let list = self.list()?;
        let shape = self.shape(&list, caller);
        let domains = match shape {
            Shape::Compact => self.shared.host.domains(caller).map_err(|error| internal(&error))?,
            Shape::Direct => Vec::new(),
        };
        Ok(list.instructions(caller, shape, &domains))
    }

    fn shelf(&self) -> Result<Arc<Shelf>, ErrorData> {
        self.view.shelves.current().map_err(|error| internal(&error))
    }

    /// A capability that is installed now, and on this surface.
    fn entry(&self, name: &CapabilityName) -> Result<Option<Arc<Entry>>, ErrorData> {
        let snapshot = self.shared.host.snapshot().map_err(|error| internal(&error))?;
        Ok(snapshot.entries.get(name).filter(|_| self.surface.shows(name)).cloned())
    }

    /// The client of a request, as it can be asked.
    fn asker<'a>(
        &'a self,
        context: &RequestContext<RoleServer>,
        caller: &'a Identity,
        brought: Brought,
        entry: &'a Entry,
        What { method, target, arguments }: What<'a>,
    ) -> Asker<'a> {
        let capability = (&entry.capability.name, &entry.capability.digest);
        let binding =
            move || Binding::new(&caller.principal, &self.surface, method, capability, target, arguments);
        let title = clean_line(&entry.capability.manifest.title, MAX_TITLE);
        Asker::of(context, brought, &self.shared.seal, binding, title)
    }

    /// The client of a request, as it listens.
    fn listener(&self, context: &RequestContext<RoleServer>, capability: &CapabilityName) -> Listener {
        let level = *self.level.lock().unwrap_or_else(PoisonError::into_inner);
        Listener::of(context, level, capability)
    }

    /// Gives documents that a capability declares the addresses that they have here.
    fn address<'a>(&'a self, entry: &'a Entry) -> impl Fn(String) -> String + 'a {
        |uri| {
            if manifest::declares_document(&entry.capability.manifest, &uri) {
                self.surface.address(&entry.capability.name, &uri)
            } else {
                uri
            }
        }
    }
}

impl Shared {
    fn view(&self, surface: &Surface) -> Arc<View> {
        let mut views = self.views.lock().unwrap_or_else(PoisonError::into_inner);
        // Only names of installed capabilities come here, so there are as many as were installed at some time.
        let view = views.entry(surface.clone()).or_insert_with(|| {
            let lists = Arc::new(Lists::new(self.host.clone(), surface.clone()));
            let shelves = Arc::new(Shelves::new(self.host.clone(), surface.clone()));
            let (host, stop) = (self.host.clone(), self.stop.clone());
            let changes = Changes::watch(host, surface.clone(), Arc::clone(&lists), Arc::clone(&shelves), stop);
            Arc::new(View { lists, shelves, changes })
        });
        Arc::clone(view)
    }
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        // The library asks for this several times a request, so it holds only what costs nothing. It is the same
        // whatever is installed: a legacy client hears it once, and an install may come later.
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_tool_list_changed()
            .enable_resources()
            .enable_resources_subscribe()
            .enable_resources_list_changed()
            .enable_prompts()
            .enable_prompts_list_changed()
            .enable_completions()
            .enable_logging()
            .build();
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
            let caller = self.caller(&context)?;
            context.peer.set_peer_info(request);
            Ok(answer.with_instructions(self.instructions(&caller)?))
        })
        .await
    }

    async fn discover(&self, context: RequestContext<RoleServer>) -> Result<DiscoverResult, ErrorData> {
        fenced(async {
            let caller = self.caller(&context)?;
            let info = self.get_info().with_instructions(self.instructions(&caller)?);
            Ok(DiscoverResult::from_server_info(self.supported_protocol_versions().into_owned(), info))
        })
        .await
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        fenced(async { self.tools_page(&self.caller(&context)?, cursor(request).as_deref()) }).await
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        fenced(self.call(request, context)).await
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        // Asked for the shape of header fields alone, before the request is handled: the list of now is asked for then.
        self.view.lists.latest()?.wire(name).cloned()
    }

    /// What the library cannot read as a request it knows: a method of its own, or parameters of a wrong shape.
    /// The second is the caller's mistake in a method that is there.
    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        let message = match request.method.as_str() {
            CallToolRequestMethod::VALUE => "`name` must be a string and `arguments`, if present, an object",
            GetPromptRequestMethod::VALUE => "`name` must be a string and `arguments`, if present, an object",
            ReadResourceRequestMethod::VALUE => "`uri` must be a string",
            CompleteRequestMethod::VALUE => "`ref` and `argument` must be objects as the protocol has them",
            _ => return Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, request.method, None)),
        };
        Err(ErrorData::invalid_params(message, None))
    }

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        fenced(async { self.resources_page(&self.who(&context)?, cursor(request).as_deref()) }).await
    }

    async fn list_resource_templates(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        fenced(async { self.templates_page(&self.caller(&context)?, cursor(request).as_deref()) }).await
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        fenced(self.read(request, context)).await
    }

    async fn list_prompts(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        fenced(async { self.prompts_page(&self.caller(&context)?, cursor(request).as_deref()) }).await
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        fenced(self.prompt(request, context)).await
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        fenced(self.propose(request, context)).await
    }

    async fn set_level(
        &self,
        request: SetLevelRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        // A modern request says its own level; there is no session to remember one for.
        if context.meta.protocol_version().is_some() {
            return Err(ErrorData::method_not_found::<SetLevelRequestMethod>());
        }
        *self.level.lock().unwrap_or_else(PoisonError::into_inner) = Some(request.level);
        Ok(())
    }

    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        fenced(async { self.listen_to(request.uri, &context) }).await
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.shared.inbox.legacy().remove(&context.peer, &request.uri);
        self.view.changes.listeners().remove(&context.peer, &request.uri);
        self.shared.files.stop_listening(&context.peer, &request.uri);
        Ok(())
    }

    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        let filter =
            SubscriptionFilter::builder().tools_list_changed().prompts_list_changed().resources_list_changed();
        let uris = requested.resource_subscriptions.iter().flatten().filter(|uri| self.is_watchable(uri));
        Some(filter.resource_subscriptions(uris.cloned()).build())
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let who = self.who(context.request_context())?;
        Box::pin(self.view.changes.serve(&context, self.inbox(), &who)).await;
        Ok(())
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        if let Ok(caller) = self.caller_of(&context.extensions) {
            let conversation = conversation::of_session(&context.extensions, self.shared.connection.as_deref());
            let who = Who { caller, conversation, surface: self.surface.clone() };
            self.shared.files.add_legacy(context.peer.clone(), who);
        }
        self.view.changes.add_legacy(context.peer);
    }
}

fn cursor(request: Option<PaginatedRequestParams>) -> Option<String> {
    request.and_then(|request| request.cursor)
}

/// What is asked of a capability that is no tool, in the span of whoever asks.
fn visit(
    context: &RequestContext<RoleServer>,
    Who { caller, conversation, .. }: &Who,
    capability: &CapabilityName,
    client: Client,
) -> Visit {
    let (parent, conversation) = (parent::parent(context), conversation.clone());
    let client = Client { parent, conversation, ..client };
    Visit { caller: caller.clone(), capability: capability.clone(), client, locale: None }
}

fn internal(error: &Error) -> ErrorData {
    tracing::error!(%error, detail = ?error.detail, "a request failed");
    ErrorData::internal_error(format!("{}: {}", error.kind.code(), error.kind.meaning()), None)
}

/// Answers a request whose handler panics; without this the client would wait for ever. The panic itself is
/// reported by the panic hook, for the operator only.
///
/// The work is boxed: the library moves a handler's future a dozen times on its way to the scheduler, and a call's is
/// many kilobytes large.
fn fenced<'a, T>(
    work: impl Future<Output = Result<T, ErrorData>> + Send + 'a,
) -> impl Future<Output = Result<T, ErrorData>> + Send + 'a {
    let mut work = Box::pin(work);
    std::future::poll_fn(move |context| {
        // The work is not polled again after a panic, so nothing sees the state that it left.
        std::panic::catch_unwind(AssertUnwindSafe(|| work.as_mut().poll(context)))
            .unwrap_or_else(|_| Poll::Ready(Err(internal(&Error::internal("a handler panicked")))))
    })
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
