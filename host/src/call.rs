//! The path of a call, from the request to the answer, one step a line.
//!
//! Everything that is asked of a capability comes through here: tools, documents, prompts and proposals, from MCP,
//! the command line, the scheduler, later programs. Each step takes what the one before it returned, so that none
//! can be left out. What a request means is in `call/operation.rs`, what it leaves behind in `call/trail.rs`.

mod operation;
mod program;
mod sandbox;
mod search;
mod trail;
mod visit;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use serde_json::{Map, Value};
use tokio::sync::broadcast;
use tokio_util::sync::CancellationToken;

use self::operation::{Found, Operation, Request};
pub use self::program::{Program, Within};
use self::trail::{Passed, Trail, finish};
pub use self::visit::{Draft, Subject, Visit};
pub use crate::answer::documents::{Document, Message, Prompt, Proposals, Role};
use crate::answer::{Answer, ToolAnswer};
pub use crate::answer::{Content, Contents, Plan, Reply};
use crate::asks::{Asked, Asker, Asks};
use crate::audit::{Audit, Usage};
use crate::builtin::{self, Desk};
use crate::client::{Client, Confirmation, Wants};
use crate::clock;
use crate::config::{EntitiesConfig, SandboxConfig};
use crate::confirm::{self, Confirmations, Word};
use crate::egress::{Egress, PLANNED};
use crate::engines::{Bindings, Namespaces, Paused};
use crate::error::{Error, ErrorKind, Result};
use crate::manifest::{NamespaceName, Runtime as Kind};
pub use crate::namespaces::listing::{Offer, Updated};
use crate::namespaces::loops::{Loops, Maker};
use crate::namespaces::sandbox::{FileNews, Of, Sandbox};
use crate::namespaces::{
    Access, Services, ask::Ask, entities::Entities, http::Http, listing::Listing, log::Log, progress::Progress,
};
use crate::policy::{self, Granted, Identity};
use crate::registry::{Capability, Catalog, Snapshot, ToolName};
use crate::runtime::{self, GuestCall, Lease, Outcome, Runtime, Said, tools};
use crate::scheduler::{self, Loop, Origin, Run};
use crate::search::Search;
use crate::secrets::Vault;
use crate::shares::Shares;
use crate::standing::Standings;
use crate::store::Store;
use crate::telemetry::{Labels, Telemetry};
use crate::tokens::Tokens;
use crate::upstreams::{Upstreams, Wanted};

/// The agents' door. Cheap to clone; it can call and look, never install, grant or approve.
#[derive(Clone)]
pub struct Host {
    rooms: Arc<Rooms>,
}

/// What a call passes through.
pub(crate) struct Rooms {
    pub(crate) catalog: Arc<Catalog>,
    pub(crate) standings: Arc<Standings>,
    pub(crate) tokens: Tokens,
    pub(crate) shares: Arc<Shares>,
    pub(crate) asks: Asks,
    pub(crate) confirmations: Confirmations,
    pub(crate) paused: Paused,
    pub(crate) audit: Audit,
    pub(crate) runtime: Runtime,
    pub(crate) egress: Arc<Egress>,
    pub(crate) vault: Arc<Vault>,
    pub(crate) store: Arc<Store>,
    pub(crate) entities: EntitiesConfig,
    pub(crate) upstreams: Arc<Upstreams>,
    pub(crate) changes: tokio::sync::watch::Receiver<u64>,
    pub(crate) updates: broadcast::Sender<Updated>,
    pub(crate) sandbox: SandboxConfig,
    pub(crate) files: broadcast::Sender<FileNews>,
    pub(crate) search: Arc<Search>,
    pub(crate) telemetry: Telemetry,
}

/// A request for one call.
#[derive(Clone, Debug)]
pub struct CallRequest {
    /// Who calls.
    pub caller: Identity,
    /// What is called.
    pub tool: ToolName,
    /// The input.
    pub arguments: Map<String, Value>,
    /// Nothing may change.
    pub dry_run: bool,
    /// The call is refused if the tool can change something.
    pub only_reads: bool,
    /// Whether what it would do was confirmed.
    pub confirmation: Confirmation,
    /// The other end.
    pub client: Client,
    /// The caller's language, as a BCP 47 tag.
    pub locale: Option<String>,
    /// The loop's run that this call is: the guest gets its id, and it ends with the call's record.
    pub run: Option<String>,
    /// The program that makes this call.
    pub within: Option<Within>,
}

/// A call without an answer.
#[derive(Debug)]
pub struct Failure {
    /// The record of this call; empty when none could be made.
    pub call_id: String,
    /// Why. Its hint is for people only.
    pub error: Error,
    /// What people were asked for so that it can succeed.
    pub asked: Vec<Asked>,
    /// What the call spent nevertheless.
    pub usage: Usage,
    /// The tool's input schema, when the input did not fit it.
    pub input_schema: Option<Map<String, Value>>,
    /// What the caller could bring so that the call can be made again.
    pub wants: Wants,
}

impl CallRequest {
    /// A plain call of a tool: nothing is confirmed, and the other end can be asked nothing.
    #[must_use]
    pub fn new(caller: Identity, tool: ToolName, arguments: Map<String, Value>) -> Self {
        Self {
            caller,
            tool,
            arguments,
            dry_run: false,
            only_reads: false,
            confirmation: Confirmation::Missing,
            client: Client::default(),
            locale: None,
            run: None,
            within: None,
        }
    }
}

impl Host {
    pub(crate) fn new(rooms: Rooms) -> Self {
        Self { rooms: Arc::new(rooms) }
    }

    /// Calls one tool. Cancelling, or dropping the future, stops the guest. A call that lacks the word of a person
    /// is tried out in a dry run, and fails with what it would do.
    pub async fn call(&self, request: CallRequest, cancel: CancellationToken) -> Result<Reply, Failure> {
        let Passed { call_id, answer, plan, asked, usage } = self.pass(request.into(), cancel).await?;
        match answer {
            Answer::Tool(answer) => {
                let (structured, content) = (answer.structured, answer.content);
                Ok(Reply { call_id, structured, content, plan, asked, usage })
            }
            _ => Err(mixed_up()),
        }
    }

    /// Reads the documents at an address that the capability declares, or that one of its templates describes.
    pub async fn read(
        &self,
        visit: Visit,
        uri: &str,
        cancel: CancellationToken,
    ) -> Result<Vec<Document>, Failure> {
        match self.visit(visit, Operation::Read(uri.to_owned()), cancel).await? {
            Answer::Documents(documents) => Ok(documents),
            _ => Err(mixed_up()),
        }
    }

    /// Makes the prompt of a name. It can ask questions, as a tool can.
    pub async fn prompt(
        &self,
        visit: Visit,
        name: &str,
        arguments: BTreeMap<String, String>,
        cancel: CancellationToken,
    ) -> Result<Prompt, Failure> {
        match self.visit(visit, Operation::Prompt { name: name.to_owned(), arguments }, cancel).await? {
            Answer::Prompt(prompt) => Ok(prompt),
            _ => Err(mixed_up()),
        }
    }

    /// Proposes values for what a person is typing: nothing, by a capability that does not export `completions`.
    pub async fn complete(
        &self,
        visit: Visit,
        draft: Draft,
        cancel: CancellationToken,
    ) -> Result<Proposals, Failure> {
        match self.visit(visit, Operation::Complete(draft), cancel).await? {
            Answer::Proposals(proposals) => Ok(proposals),
            _ => Err(mixed_up()),
        }
    }

    /// Hears of documents that changed, from capabilities that ran in this process.
    #[must_use]
    pub fn updates(&self) -> broadcast::Receiver<Updated> {
        self.rooms.updates.subscribe()
    }

    /// A key of this home's for what a door hands out sealed and takes back. It opens nothing else.
    pub(crate) fn request_key(&self) -> Result<[u8; 32]> {
        self.rooms.store.key_for(b"remit/request-state/1")
    }

    /// What is installed and granted now; read fresh, cheap when nothing changed.
    pub fn snapshot(&self) -> Result<Arc<Snapshot>> {
        self.rooms.catalog.current()
    }

    /// Whose bearer token this is now, by what is stored.
    pub fn whose(&self, token: &[u8]) -> Result<Option<Identity>> {
        self.rooms.tokens.whose(token)
    }

    /// Whether agents have an inbox: the capability by which they work on it is installed, and granted.
    pub fn has_inbox(&self) -> Result<bool> {
        let snapshot = self.snapshot()?;
        Ok(snapshot.entries.get(&scheduler::official()).is_some_and(|entry| {
            entry.capability.manifest.runtime == Kind::Builtin
                && policy::is_granted(NamespaceName::Loops, &entry.grants)
        }))
    }

    /// Runs that wait for an agent, the oldest first; nothing when agents have no inbox.
    pub fn inbox(&self) -> Result<Option<Vec<(Run, Loop)>>> {
        if self.has_inbox()? { self.rooms.store.inbox().map(Some) } else { Ok(None) }
    }

    /// Gives the number of the newest state whenever installs, grants or what is withdrawn change, by any process.
    #[must_use]
    pub fn changes(&self) -> tokio::sync::watch::Receiver<u64> {
        self.rooms.changes.clone()
    }

    /// Where numbers of a door are told.
    pub(crate) fn telemetry(&self) -> &Telemetry {
        &self.rooms.telemetry
    }

    async fn visit(
        &self,
        visit: Visit,
        operation: Operation,
        cancel: CancellationToken,
    ) -> Result<Answer, Failure> {
        let passed = self.pass(Request::of_visit(visit, operation), cancel).await?;
        Ok(passed.answer)
    }

    /// The path.
    async fn pass(&self, mut request: Request, cancel: CancellationToken) -> Result<Passed, Failure> {
        let begun = clock::monotonic();
        let found = self.snapshot().and_then(|snapshot| request.find(&snapshot));
        let word = self.word(&request, &found);
        let (is_trial, is_dry_run) = (matches!(word, Ok(Word::Missing)), request.dry_run);
        request.dry_run |= is_trial;
        let mut record = match self.rooms.audit.begin(request.start(found.as_ref().ok(), &word)).await {
            Ok(record) => record,
            Err(error) => return Err(Failure::unrecorded(error)),
        };
        record.show(found.as_ref().map_or_else(|_| Labels::unknown(), Found::labels), request.client.parent);
        let mut trail = Trail::default();
        let answer = match (&found, &word) {
            (Err(refused), _) | (_, Err(refused)) => Err(refused.clone()),
            (Ok(_), Ok(_)) if !record.is_confirmed() => Err(confirm::used()),
            (Ok(found), Ok(_)) => self.answer(&request, found, record.id(), begun, &cancel, &mut trail).await,
        };
        let answer = match request.case(found.as_ref().ok()) {
            Some(case) if is_trial => {
                trail.tried(self.rooms.confirmations.after_trial(&case, answer, trail.plan()))
            }
            _ => answer,
        };
        let asked = match &found {
            Ok(found) if !is_dry_run => self.ask(&request, found, record.id(), &trail),
            _ => Vec::new(),
        };
        let passed = finish(record, answer, trail, asked, begun, request.run).await;
        passed.map_err(|failure| with_schema(failure, found.ok().as_ref()))
    }

    /// The steps of a call that can say no.
    async fn answer(
        &self,
        request: &Request,
        found: &Found,
        call_id: &str,
        begun: Instant,
        cancel: &CancellationToken,
        trail: &mut Trail,
    ) -> Result<Answer> {
        let _place = match request.within {
            None => self.rooms.shares.enter(&request.caller)?,
            Some(_) => self.rooms.shares.enter_within(&request.caller)?,
        };
        found.may_run()?;
        let permitted = found.permit(request)?;
        let granted = self.rooms.standings.begin(&permitted, &found.entry);
        let operation = request.operation(found, call_id)?;
        let deadline = begun + granted.budget().time;
        let deadline = request.within.as_ref().map_or(deadline, |within| deadline.min(within.deadline));
        let lease = Lease { deadline, cancel: cancel.child_token() };
        if found.entry.capability.manifest.runtime == Kind::Mcp {
            return self.upstream(request, found, &lease, trail).await;
        }
        let services = self.services(request, found, &granted, call_id, &lease);
        if granted.capability().manifest.runtime == Kind::Builtin {
            let outcome = self.builtin(request, found, services.loops, trail).await?;
            return found.check(outcome, trail.redactor());
        }
        let (engine, operation) = match granted.capability().manifest.runtime {
            Kind::Codemode => {
                let began_at = self.rooms.store.now_ms();
                (Some(self.engine(&permitted)?), program::of_tool(operation, began_at)?)
            }
            _ => (None, operation),
        };
        let is_program = matches!(operation, runtime::Operation::Program(..));
        let call = GuestCall { granted, engine, operation, lease, services };
        let finished = self.rooms.runtime.run(call).await;
        let outcome = trail.follow(finished);
        if is_program {
            return program::answer(outcome, trail);
        }
        found.check(outcome?, trail.redactor())
    }

    /// Whether the call has the word of a person that it needs.
    fn word(&self, request: &Request, found: &Result<Found>) -> Result<Word> {
        let found = found.as_ref().map_err(Clone::clone)?;
        request.may_go_on()?;
        request.case(Some(found)).map_or(Ok(Word::Enough), |case| self.rooms.confirmations.word(&case))
    }

    /// What the namespaces hold for this call.
    fn services(
        &self,
        request: &Request,
        found: &Found,
        granted: &Granted,
        call_id: &str,
        lease: &Lease,
    ) -> Services {
        let Rooms { store, egress, vault, standings, entities: limits, updates, files, .. } = &*self.rooms;
        let access = request.access(found);
        let (capability, withdrawn) = (found.entry.capability.clone(), found.entry.withdrawn.clone());
        let news = &request.client.news;
        let of = Of {
            principal: &request.caller.principal,
            conversation: &request.client.conversation,
            access,
            call: call_id,
            run: request.run.clone(),
        };
        Services {
            ask: Ask::new(&request.client),
            bindings: match granted.capability().manifest.runtime {
                Kind::Codemode => Bindings::Namespaces(Namespaces::default()),
                _ => request.bindings(call_id, lease),
            },
            entities: Entities::new(store.clone(), granted, *limits, access, call_id, request.run.clone()),
            http: Http::new(egress.clone(), vault, standings.clone(), granted),
            listing: Listing::new(store.clone(), capability, withdrawn, access, updates.clone()),
            log: Log::new(news.clone()),
            loops: self.loops(request, granted, access),
            progress: Progress::new(news.clone()),
            sandbox: Sandbox::new(store.clone(), granted, &self.rooms.sandbox, of, files.clone()),
        }
    }

    /// Asks people for what refused requests of the call needed.
    fn ask(&self, request: &Request, found: &Found, call_id: &str, trail: &Trail) -> Vec<Asked> {
        let asker = Asker {
            capability: &found.entry.capability,
            principal: &request.caller.principal,
            tool: &request.label(Some(found)),
            call: call_id,
        };
        self.rooms.asks.ask(&asker, &trail.needs())
    }

    /// Calls code of this program in the place of a guest's.
    async fn builtin(&self, request: &Request, found: &Found, loops: Loops, trail: &mut Trail) -> Result<Outcome> {
        builtin::verify(&found.entry.capability)?;
        let Operation::Tool { name, arguments } = &request.operation else {
            return Err(Error::internal("capabilities of this program have tools alone"));
        };
        let (store, principal) = (self.rooms.store.clone(), request.caller.principal.clone());
        let (tool, input) = (name.clone(), Value::Object(arguments.clone()));
        let mut desk = Desk { store, loops, access: request.access(found), principal };
        let called = tokio::task::spawn_blocking(move || {
            let answer = desk.call(&tool, &input);
            (answer, desk.loops)
        });
        let (answer, loops) = called.await.map_err(|_| Error::internal("a tool of this program failed"))?;
        trail.follow_builtin(loops);
        Ok(Ok(Said::Reply(tools::Reply { structured: Some(answer?.to_string()), content: Vec::new() })))
    }

    /// Calls a tool of an upstream server in the place of a guest's. In a dry run nothing is sent: what the server
    /// says of its tools is no promise.
    async fn upstream(
        &self,
        request: &Request,
        found: &Found,
        lease: &Lease,
        trail: &mut Trail,
    ) -> Result<Answer> {
        let Operation::Tool { name: tool, arguments } = &request.operation else {
            return Err(Error::internal("upstream servers have tools alone"));
        };
        let Capability { name, digest, .. } = &*found.entry.capability;
        let wanted = Wanted { server: &name.slug, tool, pin: *digest, arguments: arguments.clone() };
        if request.dry_run {
            trail.planned(wanted.record(PLANNED));
            let name = ToolName { capability: name.clone(), tool: tool.clone() };
            let said = format!("`{name}` would be called; nothing was sent");
            return Ok(Answer::Tool(ToolAnswer { structured: None, content: vec![Content::Text(said)] }));
        }
        let called = self.rooms.upstreams.call(wanted, lease).await;
        trail.sent(called.request);
        let redactor = called.connection.as_ref().map_or(trail.redactor(), |connection| connection.redactor());
        found.check(called.reply?.map(Said::Reply), redactor)
    }

    /// The loops of the capability itself, or of agents.
    fn loops(&self, request: &Request, granted: &Granted, access: Access) -> Loops {
        let maker = Maker {
            capability: granted.capability().name.clone(),
            origin: match granted.capability().manifest.runtime {
                Kind::Builtin => Origin::Agent,
                _ => Origin::Capability,
            },
            owner: request.caller.owner(),
            grant: granted.loops(),
        };
        Loops::new(self.rooms.store.clone(), self.rooms.catalog.clone(), maker, access, request.run.clone())
    }
}

/// Adds the tool's input schema when the input did not fit it.
fn with_schema(failure: Failure, found: Option<&Found>) -> Failure {
    let is_input = failure.error.kind == ErrorKind::InvalidInput;
    let tool = found.and_then(Found::tool).filter(|_| is_input);
    Failure { input_schema: tool.map(|tool| tool.input_schema.clone()), ..failure }
}

/// A request for one thing was answered with another.
fn mixed_up() -> Failure {
    Failure::unrecorded(Error::internal("an answer is what was asked for"))
}
