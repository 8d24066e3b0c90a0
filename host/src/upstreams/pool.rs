//! One connection to each server: made at the first call, kept, given up when nobody uses it, and made again after a
//! pause that grows while it fails.
//!
//! A call has a place among the calls of its own server and waits for nobody else's: a server that hangs holds its
//! own callers up, until their time is over, and no others. A tool is called when the server describes it as it was
//! pinned; whatever else the server says is kept for a person, and is not believed.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

use serde_json::{Map, Value};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::connection::{Connection, Lost};
use super::{Connector, Definitions, Reach, content};
use crate::audit::{RequestRecord, Traced};
use crate::clock;
use crate::config::UpstreamConfig;
use crate::error::{Error, ErrorKind, Result};
use crate::registry::{Artifacts, Digest};
use crate::runtime::{Lease, tools};
use crate::store::{Store, Upstream};

/// Calls of one server that wait for a place. More of them would only wait longer.
const WAITING: usize = 64;
/// The pause after the first failure; it doubles with each.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
/// The longest pause: a server that is started again is found within a minute.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);
/// How a call is named in its record: an upstream is asked in no other way.
const METHOD: &str = "tools/call";

/// The servers of one home, as calls see them.
pub struct Upstreams {
    connector: Arc<Connector>,
    store: Arc<Store>,
    artifacts: Artifacts,
    slots: Mutex<BTreeMap<String, Arc<Slot>>>,
}

/// What is to be called.
pub(crate) struct Wanted<'a> {
    /// The server's name.
    pub(crate) server: &'a str,
    /// The tool, by the server's own name for it.
    pub(crate) tool: &'a str,
    /// What was accepted of the server.
    pub(crate) pin: Digest,
    /// Valid under the accepted schema.
    pub(crate) arguments: Map<String, Value>,
}

/// What became of it.
pub(crate) struct Called {
    /// What the tool said, unsearched.
    pub(crate) reply: Result<Result<tools::Reply, tools::Failure>>,
    /// For the record.
    pub(crate) request: RequestRecord,
    /// Finds the values that the server got, when it was reached.
    pub(crate) connection: Option<Arc<Connection>>,
}

impl Wanted<'_> {
    /// The row of the record: the server is the host.
    pub(crate) fn record(&self, outcome: &str) -> RequestRecord {
        RequestRecord {
            method: METHOD.to_owned(),
            authority: format!("mcp:{}", self.server),
            path: format!("/{}", self.tool),
            address: None,
            status: None,
            outcome: outcome.to_owned(),
            bytes_out: Value::Object(self.arguments.clone()).to_string().len() as u64,
            bytes_in: 0,
            secrets: Vec::new(),
            redactions: 0,
            time_ms: 0,
            own: false,
            traced: Traced::default(),
        }
    }
}

/// What is kept of one server.
struct Slot {
    places: Arc<Semaphore>,
    waiting: AtomicUsize,
    line: Arc<tokio::sync::Mutex<Line>>,
    pinned: Mutex<Option<(Digest, Arc<Definitions>)>>,
}

/// The connection, and how often it failed in a row.
#[derive(Default)]
struct Line {
    connection: Option<(Reach, Arc<Connection>)>,
    used_at: Option<Instant>,
    failures: u32,
    not_before: Option<Instant>,
}

impl Upstreams {
    /// The servers in `store`, with what was accepted of them in `artifacts`.
    pub(crate) fn new(connector: Arc<Connector>, store: Arc<Store>, artifacts: Artifacts) -> Self {
        Self { connector, store, artifacts, slots: Mutex::default() }
    }

    /// Calls a tool. It ends with the lease, or earlier with the operator's limit for this server.
    pub(crate) async fn call(&self, wanted: Wanted<'_>, lease: &Lease) -> Called {
        let begun = clock::monotonic();
        let settings = self.connector.settings(wanted.server);
        let deadline = lease.deadline.min(begun + Duration::from_millis(settings.call_ms));
        let mut request = wanted.record("");
        let mut connection = None;
        let reply = tokio::select! {
            reply = self.try_call(&wanted, &settings, &mut connection) => reply,
            () = lease.cancel.cancelled() => Err(Error::new(ErrorKind::Cancelled, "the caller cancelled the call")),
            () = tokio::time::sleep_until(deadline.into()) => {
                Err(Error::new(ErrorKind::Time, format!("the MCP server `{}` took too long", wanted.server)))
            }
        };
        request.outcome =
            reply.as_ref().map_or_else(|error| error.kind.code(), |_| crate::egress::SENT).to_owned();
        request.secrets =
            connection.as_ref().map_or_else(Vec::new, |known: &Arc<Connection>| known.filled().names.clone());
        request.bytes_in = reply.as_ref().map_or(0, |reply| reply.as_ref().map_or(0, size));
        request.time_ms = u64::try_from(clock::monotonic().duration_since(begun).as_millis()).unwrap_or(u64::MAX);
        Called { reply, request, connection }
    }

    /// Ends every connection with its process.
    pub async fn close(&self) {
        let slots = std::mem::take(&mut *self.slots.lock().unwrap_or_else(PoisonError::into_inner));
        for slot in slots.into_values() {
            if let Some((_, connection)) = slot.line.lock().await.connection.take() {
                connection.close().await;
            }
        }
    }

    async fn try_call(
        &self,
        wanted: &Wanted<'_>,
        settings: &UpstreamConfig,
        used: &mut Option<Arc<Connection>>,
    ) -> Result<Result<tools::Reply, tools::Failure>> {
        let slot = self.slot(wanted.server, settings);
        let _place = slot.place(wanted.server).await?;
        let Some(upstream) = self.store.upstream(wanted.server)? else {
            return Err(Error::new(
                ErrorKind::McpUnreachable,
                format!("the MCP server `{}` was removed", wanted.server),
            ));
        };
        let connection = slot.connection(&self.connector, &upstream, settings).await?;
        *used = Some(Arc::clone(&connection));
        let asked = async {
            let current = connection.definitions().await?;
            let pinned = slot.pinned(&self.artifacts, &wanted.pin).map_err(Lost::Said)?;
            self.keep(&upstream, &wanted.pin, &current).await.map_err(Lost::Said)?;
            if pinned.tool(wanted.tool).is_none() || pinned.tool(wanted.tool) != current.tool(wanted.tool) {
                return Err(Lost::Said(changed(wanted)));
            }
            connection.call(wanted.tool, wanted.arguments.clone()).await
        };
        match asked.await {
            Ok(result) => {
                slot.worked();
                content::reply(result)
            }
            Err(Lost::Said(error)) => Err(error),
            Err(Lost::Gone(error)) => {
                slot.failed(&connection).await;
                Err(error)
            }
        }
    }

    /// Keeps what a server says now for a person, when it is something else than was accepted.
    async fn keep(&self, upstream: &Upstream, pin: &Digest, current: &Arc<Definitions>) -> Result<()> {
        let digest = current.digest();
        let held = upstream.held.as_ref().map(|held| Digest::of(held.definitions.as_bytes()));
        let wanted = (digest != *pin).then_some(digest);
        if held == wanted {
            return Ok(());
        }
        if wanted.is_some() {
            tracing::warn!(
                server = upstream.name,
                "the MCP server describes its tools otherwise than was accepted; look at it: remit mcp accept {}",
                upstream.name
            );
        }
        let (store, name, definitions) = (Arc::clone(&self.store), upstream.name.clone(), Arc::clone(current));
        let kept = tokio::task::spawn_blocking(move || {
            store.hold_upstream(&name, wanted.is_some().then(|| definitions.bytes()))
        });
        kept.await.map_err(|_| Error::internal("what a server says could not be kept"))?
    }

    fn slot(&self, name: &str, settings: &UpstreamConfig) -> Arc<Slot> {
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        let slot = slots.entry(name.to_owned()).or_insert_with(|| {
            Arc::new(Slot {
                places: Arc::new(Semaphore::new(settings.concurrent)),
                waiting: AtomicUsize::new(0),
                line: Arc::default(),
                pinned: Mutex::default(),
            })
        });
        Arc::clone(slot)
    }
}

impl Slot {
    /// Waits for a place among the calls of this server.
    async fn place(&self, name: &str) -> Result<OwnedSemaphorePermit> {
        if let Ok(place) = Arc::clone(&self.places).try_acquire_owned() {
            return Ok(place);
        }
        let waits = Waiting::begin(&self.waiting);
        if waits.is_too_many() {
            return Err(Error::new(ErrorKind::Busy, format!("too many calls wait for the MCP server `{name}`")));
        }
        let place = Arc::clone(&self.places).acquire_owned().await;
        place.map_err(|_| Error::internal("the places of a server are never closed"))
    }

    /// The connection: the one that is there, when it is open and made of what is stored now, or else a new one.
    async fn connection(
        &self,
        connector: &Arc<Connector>,
        upstream: &Upstream,
        settings: &UpstreamConfig,
    ) -> Result<Arc<Connection>> {
        let name = upstream.name.clone();
        let reach = upstream.reach.clone();
        let mut line = Arc::clone(&self.line).lock_owned().await;
        let filled = connector.fill(&reach)?;
        line.used_at = Some(clock::monotonic());
        if let Some((made_of, connection)) = &line.connection
            && connection.is_open()
            && *made_of == reach
            && connection.filled().is_same(&filled)
        {
            return Ok(Arc::clone(connection));
        }
        if let Some((_, old)) = line.connection.take() {
            tokio::spawn(async move { old.close().await });
        }
        if let Some(not_before) = line.not_before.filter(|not_before| *not_before > clock::monotonic()) {
            let pause = not_before.duration_since(clock::monotonic()).as_secs() + 1;
            let message = format!("the MCP server `{name}` failed a moment ago, and is tried again in {pause} s");
            return Err(Error::new(ErrorKind::McpUnreachable, message).hint(format!("remit mcp check {name}")));
        }
        // On its own: a caller that gives up does not undo what the next one needs.
        let (connector, idle) = (Arc::clone(connector), Duration::from_secs(settings.idle_s));
        let connecting = tokio::spawn(async move {
            let connected = connector.connect(&name, &reach, filled).await;
            match connected {
                Ok(connection) => {
                    let connection = Arc::new(connection);
                    line.connection = Some((reach, Arc::clone(&connection)));
                    let line = Arc::downgrade(tokio::sync::OwnedMutexGuard::mutex(&line));
                    tokio::spawn(end_when_idle(line, Arc::downgrade(&connection), idle));
                    Ok(connection)
                }
                Err(error) => {
                    tracing::warn!(server = name, "{error}: {}", error.detail.as_deref().unwrap_or_default());
                    line.pause();
                    Err(error)
                }
            }
        });
        connecting.await.map_err(|_| Error::internal("a connection to a server could not be made"))?
    }

    /// What was accepted, read from its file once.
    fn pinned(&self, artifacts: &Artifacts, pin: &Digest) -> Result<Arc<Definitions>> {
        let mut pinned = self.pinned.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((known, definitions)) = pinned.as_ref()
            && known == pin
        {
            return Ok(Arc::clone(definitions));
        }
        let read = Definitions::read(&artifacts.read(pin)?);
        let definitions =
            Arc::new(read.ok_or_else(|| Error::internal("what is pinned of a server are definitions"))?);
        *pinned = Some((*pin, Arc::clone(&definitions)));
        Ok(definitions)
    }

    /// The answer is there: it waits for nobody who connects meanwhile.
    fn worked(&self) {
        let Ok(mut line) = self.line.try_lock() else { return };
        line.failures = 0;
        line.not_before = None;
        line.used_at = Some(clock::monotonic());
    }

    /// Gives up the connection that failed. One that another call made since stays.
    async fn failed(&self, connection: &Arc<Connection>) {
        let mut line = self.line.lock().await;
        if line.connection.as_ref().is_some_and(|(_, current)| Arc::ptr_eq(current, connection)) {
            line.connection = None;
            line.pause();
        }
        let connection = Arc::clone(connection);
        tokio::spawn(async move { connection.close().await });
    }
}

impl Line {
    fn pause(&mut self) {
        let pause = FIRST_PAUSE.saturating_mul(1 << self.failures.min(6)).min(LONGEST_PAUSE);
        self.failures = self.failures.saturating_add(1);
        self.not_before = Some(clock::monotonic() + pause);
    }
}

/// Counts one that waits, for as long as it does.
struct Waiting<'a> {
    all: &'a AtomicUsize,
    before: usize,
}

impl<'a> Waiting<'a> {
    fn begin(all: &'a AtomicUsize) -> Self {
        Self { all, before: all.fetch_add(1, Ordering::Relaxed) }
    }

    fn is_too_many(&self) -> bool {
        self.before >= WAITING
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.all.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Ends a connection that nobody used for so long.
async fn end_when_idle(line: Weak<tokio::sync::Mutex<Line>>, connection: Weak<Connection>, idle: Duration) {
    loop {
        tokio::time::sleep(idle).await;
        let (Some(line), Some(connection)) = (line.upgrade(), connection.upgrade()) else { return };
        let mut line = line.lock().await;
        let is_ours = line.connection.as_ref().is_some_and(|(_, current)| Arc::ptr_eq(current, &connection));
        if !is_ours {
            return;
        }
        let is_idle = line.used_at.is_none_or(|used_at| clock::monotonic().duration_since(used_at) >= idle);
        // This one, and the line's own: whoever calls holds another.
        if is_idle && Arc::strong_count(&connection) == 2 {
            line.connection = None;
            drop(line);
            return connection.close().await;
        }
    }
}

fn changed(wanted: &Wanted<'_>) -> Error {
    let Wanted { server, tool, .. } = wanted;
    let message = format!(
        "the MCP server `{server}` describes `{tool}` otherwise than was accepted; a person has to look at it"
    );
    Error::new(ErrorKind::McpDefinitionChanged, message).hint(format!("remit mcp accept {server}"))
}

fn size(reply: &tools::Reply) -> u64 {
    let pieces = reply.content.iter().map(|piece| match piece {
        tools::Content::Text(text) => text.len(),
        tools::Content::Image(media) | tools::Content::Audio(media) => media.data.len(),
        tools::Content::Resource(embedded) => match &embedded.contents {
            tools::Contents::Text(text) => text.len(),
            tools::Contents::Blob(bytes) => bytes.len(),
        },
        tools::Content::ResourceLink(link) => link.uri.len(),
    });
    (reply.structured.as_ref().map_or(0, String::len) + pieces.sum::<usize>()) as u64
}
