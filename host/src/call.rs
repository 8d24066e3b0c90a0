//! The path of a call, from the request to the answer, one step a line.
//!
//! Everything that calls a tool comes through [`Host::call`]: MCP, the command line, the scheduler, later
//! programs. Each step takes what the one before it returned, so that none can be left out.

use std::sync::Arc;
use std::time::Instant;

use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use crate::answer::{self, Answer};
pub use crate::answer::{Content, Contents, Plan, Reply};
use crate::asks::{self, Asked, Asker, Asks, Need};
use crate::audit::{Audit, CallEnd, CallStart, OpenRecord, RequestRecord, Usage};
use crate::builtin::{self, Desk};
use crate::client::{Client, Confirmation, Wants};
use crate::clock;
use crate::config::EntitiesConfig;
use crate::egress::{Egress, Ledger, PLANNED};
use crate::error::{Error, ErrorKind, Result};
use crate::manifest::{NamespaceName, Runtime as Kind, Tool};
use crate::namespaces::loops::{Loops, Maker};
use crate::namespaces::{Access, entities::Entities, http::Http, log::Log};
use crate::policy::{self, Granted, Identity};
use crate::registry::{Capability, Catalog, Entry, Snapshot, ToolName};
use crate::runtime::{Finished, GuestCall, Lease, Runtime, tools};
use crate::scheduler::{self, Loop, Origin, Run};
use crate::secrets::{Redactor, Vault};
use crate::standing::Standings;
use crate::store::Store;
use crate::upstreams::{Upstreams, Wanted};
use crate::validate::{Mismatch, ToolSchemas};

/// The agents' door. Cheap to clone; it can call and look, never install, grant or approve.
#[derive(Clone)]
pub struct Host {
    rooms: Arc<Rooms>,
}

/// What a call passes through.
pub(crate) struct Rooms {
    pub(crate) catalog: Arc<Catalog>,
    pub(crate) standings: Arc<Standings>,
    pub(crate) asks: Asks,
    pub(crate) audit: Audit,
    pub(crate) runtime: Runtime,
    pub(crate) egress: Arc<Egress>,
    pub(crate) vault: Arc<Vault>,
    pub(crate) store: Arc<Store>,
    pub(crate) entities: EntitiesConfig,
    pub(crate) upstreams: Arc<Upstreams>,
    pub(crate) changes: tokio::sync::watch::Receiver<u64>,
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
    /// Whether what it would do was confirmed.
    pub confirmation: Confirmation,
    /// The other end.
    pub client: Client,
    /// The caller's language, as a BCP 47 tag.
    pub locale: Option<String>,
    /// The loop's run that this call is: the guest gets its id, and it ends with the call's record.
    pub run: Option<String>,
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
            confirmation: Confirmation::Missing,
            client: Client::default(),
            locale: None,
            run: None,
        }
    }
}

impl Host {
    pub(crate) fn new(rooms: Rooms) -> Self {
        Self { rooms: Arc::new(rooms) }
    }

    /// Calls one tool. Cancelling, or dropping the future, stops the guest.
    pub async fn call(&self, request: CallRequest, cancel: CancellationToken) -> Result<Reply, Failure> {
        let begun = clock::monotonic();
        let found = self.find(&request.tool);
        let record = match self.rooms.audit.begin(start(&request, found.as_ref().ok())).await {
            Ok(record) => record,
            Err(error) => return Err(Failure::before_record(error)),
        };
        let mut trail = Trail::default();
        let answer = match &found {
            Ok(found) => self.answer(&request, found, record.id(), begun, &cancel, &mut trail).await,
            Err(unknown) => Err(unknown.clone()),
        };
        let input_schema = match (&answer, &found) {
            (Err(error), Ok(found)) if error.kind == ErrorKind::InvalidInput => {
                Some(found.tool().input_schema.clone())
            }
            _ => None,
        };
        let asked = match &found {
            Ok(found) if !request.dry_run => self.ask(&request, found, record.id(), &trail),
            _ => Vec::new(),
        };
        finish(record, answer, trail, asked, begun, request.run)
            .await
            .map_err(|failure| Failure { input_schema, ..failure })
    }

    /// What is installed and granted now; read fresh, cheap when nothing changed.
    pub fn snapshot(&self) -> Result<Arc<Snapshot>> {
        self.rooms.catalog.current()
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

    /// Gives the number of the newest state whenever installs or grants change, by any process.
    #[must_use]
    pub fn changes(&self) -> tokio::sync::watch::Receiver<u64> {
        self.rooms.changes.clone()
    }

    /// The steps of a call that can say no.
    async fn answer(
        &self,
        request: &CallRequest,
        found: &Found,
        call_id: &str,
        begun: Instant,
        cancel: &CancellationToken,
        trail: &mut Trail,
    ) -> Result<Answer> {
        let granted = self.rooms.standings.of(&found.entry);
        let input = valid_input(&request.arguments, found.schemas())?;
        let lease = Lease { deadline: begun + granted.budget().time, cancel: cancel.child_token() };
        if found.entry.capability.manifest.runtime == Kind::Mcp {
            return self.upstream(request, found, &lease, trail).await;
        }
        let http = Http::new(self.rooms.egress.clone(), &self.rooms.vault, self.rooms.standings.clone(), &granted);
        let (limits, access) = (self.rooms.entities, access(request, found.tool()));
        let entities =
            Entities::new(self.rooms.store.clone(), &granted, limits, access, call_id, request.run.clone());
        let loops = self.loops(request, &granted, access);
        let capability = &found.entry.capability;
        if capability.manifest.runtime == Kind::Builtin {
            let reply = self.builtin(request, capability, loops, access, trail).await?;
            return answer::check(Ok(reply), found.tool(), found.schemas(), trail.redactor());
        }
        let call = guest_call(request, input, call_id);
        let guest = GuestCall { granted, call, lease, entities, loops, http, log: Log::default() };
        let finished = self.rooms.runtime.run(guest).await;
        let reply = trail.follow(finished)?;
        answer::check(reply, found.tool(), found.schemas(), trail.redactor())
    }

    /// Asks people for what refused requests of the call needed.
    fn ask(&self, request: &CallRequest, found: &Found, call_id: &str, trail: &Trail) -> Vec<Asked> {
        let asker = Asker {
            capability: &found.entry.capability,
            principal: &request.caller.principal,
            tool: &request.tool.tool,
            call: call_id,
        };
        self.rooms.asks.ask(&asker, &trail.needs())
    }

    /// Calls code of this program in the place of a guest's.
    async fn builtin(
        &self,
        request: &CallRequest,
        capability: &Capability,
        loops: Loops,
        access: Access,
        trail: &mut Trail,
    ) -> Result<tools::Reply> {
        builtin::verify(capability)?;
        let (store, principal) = (self.rooms.store.clone(), request.caller.principal.clone());
        let (tool, input) = (request.tool.tool.clone(), Value::Object(request.arguments.clone()));
        let mut desk = Desk { store, loops, access, principal };
        let called = tokio::task::spawn_blocking(move || {
            let answer = desk.call(&tool, &input);
            (answer, desk.loops)
        });
        let (answer, loops) = called.await.map_err(|_| Error::internal("a tool of this program failed"))?;
        trail.loops = Some(loops);
        Ok(tools::Reply { structured: Some(answer?.to_string()), content: Vec::new() })
    }

    /// Calls a tool of an upstream server in the place of a guest's. In a dry run nothing is sent: what the server
    /// says of its tools is no promise.
    async fn upstream(
        &self,
        request: &CallRequest,
        found: &Found,
        lease: &Lease,
        trail: &mut Trail,
    ) -> Result<Answer> {
        let Capability { name, digest, .. } = &*found.entry.capability;
        let arguments = request.arguments.clone();
        let wanted = Wanted { server: &name.slug, tool: &request.tool.tool, pin: *digest, arguments };
        if request.dry_run {
            trail.upstream = Some(wanted.record(PLANNED));
            let said = format!("`{}` would be called; nothing was sent", request.tool);
            return Ok(Answer { structured: None, content: vec![Content::Text(said)] });
        }
        let called = self.rooms.upstreams.call(wanted, lease).await;
        trail.sent(called.request);
        let redactor = called.connection.as_ref().map_or(&trail.clean, |connection| connection.redactor());
        answer::check(called.reply?, found.tool(), found.schemas(), redactor)
    }

    /// The loops of the capability itself, or of agents.
    fn loops(&self, request: &CallRequest, granted: &Granted, access: Access) -> Loops {
        let maker = Maker {
            capability: granted.capability().name.clone(),
            origin: match granted.capability().manifest.runtime {
                Kind::Builtin => Origin::Agent,
                _ => Origin::Capability,
            },
            owner: request.caller.principal.clone(),
            grant: granted.loops(),
        };
        Loops::new(self.rooms.store.clone(), self.rooms.catalog.clone(), maker, access, request.run.clone())
    }

    fn find(&self, name: &ToolName) -> Result<Found> {
        let snapshot = self.snapshot()?;
        let entry = snapshot.entries.get(&name.capability);
        let position =
            entry.and_then(|entry| entry.capability.manifest.tools.iter().position(|tool| tool.name == name.tool));
        match (entry, position) {
            (Some(entry), Some(position)) => Ok(Found { entry: entry.clone(), position }),
            _ => Err(unknown(name, entry)),
        }
    }
}

/// The tool that a name means.
struct Found {
    entry: Arc<Entry>,
    position: usize,
}

impl Found {
    fn tool(&self) -> &Tool {
        &self.entry.capability.manifest.tools[self.position]
    }

    fn schemas(&self) -> &ToolSchemas {
        &self.entry.schemas[self.position]
    }
}

fn unknown(name: &ToolName, entry: Option<&Arc<Entry>>) -> Error {
    let error = Error::new(ErrorKind::UnknownTool, format!("no installed capability has the tool `{name}`"));
    match entry {
        Some(_) => error.hint(format!("remit show {} lists its tools", name.capability)),
        None => error.hint("remit list shows what is installed"),
    }
}

fn start(request: &CallRequest, found: Option<&Found>) -> CallStart {
    CallStart {
        principal: request.caller.principal.clone(),
        capability: request.tool.capability.to_string(),
        tool: request.tool.tool.clone(),
        digest: found.map(|found| found.entry.capability.digest),
        dry_run: request.dry_run,
        can_change: found.is_some_and(|found| !found.tool().read_only) && !request.dry_run,
        run: request.run.clone(),
    }
}

/// What the call may change of what is kept: what its tool is declared to do, and nothing in a dry run.
fn access(request: &CallRequest, tool: &Tool) -> Access {
    match (tool.read_only, request.dry_run) {
        (true, _) => Access::Read,
        (false, true) => Access::Plan,
        (false, false) => Access::Change,
    }
}

fn valid_input(arguments: &Map<String, Value>, schemas: &ToolSchemas) -> Result<String> {
    let value = Value::Object(arguments.clone());
    schemas.check_input(&value).map_err(|Mismatch { path, reason }| {
        let place = if path.is_empty() { "the arguments".to_owned() } else { format!("`{path}`") };
        Error::new(ErrorKind::InvalidInput, format!("{place}: {reason}"))
    })?;
    Ok(value.to_string())
}

fn guest_call(request: &CallRequest, input: String, call_id: &str) -> tools::ToolCall {
    tools::ToolCall {
        tool: request.tool.tool.clone(),
        input,
        context: tools::Context {
            dry_run: request.dry_run,
            run_id: request.run.clone().unwrap_or_else(|| call_id.to_owned()),
            locale: request.locale.clone(),
        },
    }
}

/// What a call left behind on its way, for its record.
#[derive(Default)]
struct Trail {
    usage: Usage,
    http: Option<Http>,
    entities: Option<Entities>,
    loops: Option<Loops>,
    /// The call of an upstream server, which is all that such a call sends.
    upstream: Option<RequestRecord>,
    log: Vec<String>,
    /// Knows no secret: for a call that never came near one.
    clean: Redactor,
}

impl Trail {
    /// Keeps what a guest spent and did, and passes on what it answered.
    fn follow(&mut self, finished: Finished) -> Result<Result<tools::Reply, tools::Failure>> {
        self.http = finished.http;
        self.entities = finished.entities;
        self.loops = finished.loops;
        let ledger = self.http.as_ref().map(Http::ledger);
        let (bytes_out, bytes_in) = ledger.map_or((0, 0), Ledger::bytes);
        let requests = ledger.map_or(0, |ledger| ledger.requests().len());
        self.usage = Usage {
            fuel: finished.spent.fuel,
            memory_peak: finished.spent.memory_peak as u64,
            host_calls: finished.spent.host_calls,
            requests: u32::try_from(requests).unwrap_or(u32::MAX),
            bytes_out,
            bytes_in,
            ..self.usage
        };
        let redactor = self.redactor();
        self.log = finished.log.into_lines().iter().map(|line| redactor.redact_text(line)).collect();
        finished.outcome
    }

    fn redactor(&self) -> &Redactor {
        self.http.as_ref().and_then(Http::redactor).unwrap_or(&self.clean)
    }

    fn requests(&self) -> Vec<RequestRecord> {
        let requests = self.http.as_ref().map_or_else(Vec::new, |http| http.ledger().requests().to_vec());
        requests.into_iter().chain(self.upstream.clone()).collect()
    }

    /// Keeps what was sent to an upstream server.
    fn sent(&mut self, request: RequestRecord) {
        self.usage = Usage { requests: 1, bytes_out: request.bytes_out, bytes_in: request.bytes_in, ..self.usage };
        self.upstream = Some(request);
    }

    /// In a dry run: the requests that were not sent, and the changes that were not made.
    fn plan(&self) -> Plan {
        Plan {
            requests: self.planned(),
            changes: self.entities.as_ref().map_or_else(Vec::new, |entities| entities.plan().to_vec()),
            loops: self.loops.as_ref().map_or_else(Vec::new, |loops| loops.plan().to_vec()),
        }
    }

    fn planned(&self) -> Vec<RequestRecord> {
        let planned = self.upstream.iter().filter(|request| request.outcome == PLANNED).cloned();
        self.http.as_ref().map_or_else(Vec::new, |http| http.ledger().plan()).into_iter().chain(planned).collect()
    }

    /// What people could give so that refused requests leave.
    fn needs(&self) -> Vec<Need> {
        let needs = self.http.as_ref().map_or(&[][..], |http| http.ledger().needs());
        needs.iter().map(|need| Need { why: self.redactor().redact_text(&need.why), ..need.clone() }).collect()
    }

    /// Why requests were refused, where their code does not say it.
    fn reasons(&self) -> Vec<String> {
        self.http.as_ref().map_or_else(Vec::new, |http| http.ledger().reasons().to_vec())
    }

    /// What a person can do about the request that was refused last.
    fn hint(&self) -> Option<String> {
        self.http.as_ref().and_then(|http| http.ledger().hint().map(str::to_owned))
    }
}

/// Ends the record, whatever the outcome, and gives the caller its part.
async fn finish(
    record: OpenRecord,
    answer: Result<Answer>,
    mut trail: Trail,
    asked: Vec<Asked>,
    begun: Instant,
    run: Option<String>,
) -> Result<Reply, Failure> {
    trail.usage.time = clock::monotonic().duration_since(begun);
    let usage = trail.usage;
    let call_id = record.id().to_owned();
    let error = answer.as_ref().err();
    let detail = error.map(|error| match &error.detail {
        Some(detail) => format!("{}: {detail}", error.message),
        None => error.message.clone(),
    });
    let detail: Vec<String> = detail.into_iter().chain(trail.reasons()).collect();
    record
        .finish(CallEnd {
            error: error.map(|error| error.kind),
            detail: Some(detail.join("; ")).filter(|detail| !detail.is_empty()),
            usage,
            requests: trail.requests(),
            log: std::mem::take(&mut trail.log),
            run: run.map(|id| scheduler::run_end(id, &answer)),
        })
        .await;
    match answer {
        Ok(Answer { structured, content }) => {
            Ok(Reply { call_id, structured, content, plan: trail.plan(), asked, usage })
        }
        Err(mut error) => {
            error.hint = error.hint.or_else(|| ways(&asked)).or_else(|| trail.hint());
            Err(Failure { call_id, error, asked, usage, input_schema: None, wants: Wants::Nothing })
        }
    }
}

/// The commands by which a person decides what was asked.
fn ways(asked: &[Asked]) -> Option<String> {
    let ways: Vec<String> = asks::ids(asked).into_iter().map(|id| format!("remit approve {id}")).collect();
    if ways.is_empty() { None } else { Some(ways.join("\n")) }
}

impl Failure {
    fn before_record(error: Error) -> Self {
        Self {
            call_id: String::new(),
            error,
            asked: Vec::new(),
            usage: Usage::default(),
            input_schema: None,
            wants: Wants::Nothing,
        }
    }
}
