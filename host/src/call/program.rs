//! How a program of an agent begins and ends. In between it goes the path of a call, and so does each call of it.

use std::sync::Arc;
use std::time::Instant;

use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::operation::{Operation, Request};
use super::trail::{Passed, Trail};
use super::{CallRequest, Failure, Host, Reply, mixed_up};
use crate::answer::{self, Answer, ToolAnswer};
use crate::client::{Client, Confirmation, Unconfirmed, Wants};
use crate::confirm;
use crate::engines::{self, Bindings, Call, Calls, Names, Pause};
use crate::error::{Error, ErrorKind, Result};
use crate::manifest::{PROGRAM, Runtime};
use crate::policy::{Granted, Identity, Permitted};
use crate::registry::{Digest, Entry, Snapshot};
use crate::runtime::{self, Lease, Outcome, Said, program};

/// Bytes of a source: far more than a program that does one thing has.
const SOURCE_BYTES: usize = 256 * 1024;

/// A program that an agent wrote.
#[derive(Clone, Debug)]
pub struct Program {
    /// Who runs it, and whose calls its calls are.
    pub caller: Identity,
    /// JavaScript: the body of an asynchronous function.
    pub source: String,
    /// Nothing may change, by none of its calls.
    pub dry_run: bool,
    /// Whether what it was stopped for was confirmed.
    pub confirmation: Confirmation,
    /// The other end.
    pub client: Client,
    /// The caller's language, as a BCP 47 tag.
    pub locale: Option<String>,
}

/// The program that makes a call.
#[derive(Clone, Debug)]
pub struct Within {
    /// Its record.
    pub(crate) record: String,
    /// The end of its time.
    pub(crate) deadline: Instant,
}

/// One run of a program, as it goes its path.
pub(super) struct ProgramRun {
    source: String,
    began_at: u64,
    calls: Arc<Calls>,
    /// Why it does not begin: its confirmation is none.
    refused: Option<Error>,
}

impl Program {
    /// A program that nobody has confirmed anything of.
    #[must_use]
    pub fn new(caller: Identity, source: impl Into<String>) -> Self {
        Self {
            caller,
            source: source.into(),
            dry_run: false,
            confirmation: Confirmation::Missing,
            client: Client::default(),
            locale: None,
        }
    }
}

impl Host {
    /// Runs a program. Its calls are the caller's, each with a record of its own; they share its time and count
    /// against its budget, and cancelling it, or dropping the future, stops them with it.
    ///
    /// A call that needs the word of a person stops the program; run again with the word, it gets the answers that
    /// it had. The reply is structured: `result`, any JSON, and `log`, the lines that it printed, if it did.
    pub async fn execute(&self, program: Program, cancel: CancellationToken) -> Result<Reply, Failure> {
        let snapshot = self.snapshot().map_err(Failure::unrecorded)?;
        let subject = Subject::of(&program, &snapshot);
        let (pause, refused) = match self.resume(&program, &subject) {
            Ok(pause) => (pause, None),
            Err(error) => (None, Some(error)),
        };
        let now = self.rooms.store.now_ms();
        let (began_at, past) = match pause {
            Some(pause) => (pause.began_at, pause.past),
            None => (u64::try_from(now).unwrap_or_default(), engines::Past::default()),
        };
        let names = Names::of(snapshot, program.caller.clone());
        let is_standing = program.confirmation == Confirmation::Standing;
        let calls = Calls::new(self.calling(&program), names, past, is_standing);
        let run = ProgramRun { source: program.source, began_at, calls: Arc::clone(&calls), refused };
        let request = Request {
            caller: program.caller,
            capability: engines::official(),
            operation: Operation::Execute(run),
            dry_run: program.dry_run,
            only_reads: false,
            confirmation: Confirmation::Missing,
            client: program.client,
            locale: program.locale,
            run: None,
            within: None,
        };
        match self.pass(request, cancel).await {
            Ok(passed) => reply(passed, &calls),
            Err(failure) if failure.error.kind == ErrorKind::ConfirmationRequired => {
                Err(self.pause(failure, subject, began_at, &calls))
            }
            Err(failure) => Err(failure),
        }
    }

    /// Whether programs can be run: an engine is installed.
    pub fn has_engine(&self) -> Result<bool> {
        let snapshot = self.snapshot()?;
        let engine = snapshot.entries.get(&engines::official());
        Ok(engine.is_some_and(|entry| entry.capability.manifest.runtime == Runtime::Engine))
    }

    /// What the engine may do for a capability whose programs it runs.
    pub(super) fn engine(&self, permitted: &Permitted) -> Result<Granted> {
        let snapshot = self.snapshot()?;
        let engine = snapshot.entries.get(&engines::official());
        let is_usable = |entry: &&Arc<Entry>| {
            entry.capability.manifest.runtime == Runtime::Engine && entry.revoked().is_none()
        };
        match engine.filter(is_usable) {
            Some(entry) => Ok(self.rooms.standings.begin(permitted, entry)),
            None => Err(engines::missing()),
        }
    }

    /// Makes calls of a program.
    fn calling(&self, program: &Program) -> engines::Calling {
        let Program { caller, dry_run, client, locale, .. } = program;
        let (host, caller, dry_run, locale) = (self.clone(), caller.clone(), *dry_run, locale.clone());
        let (parent, conversation) = (client.parent, client.conversation.clone());
        Box::new(move |call: Call| {
            let Call { tool, arguments, confirmation, record, lease } = call;
            let request = CallRequest {
                dry_run,
                confirmation,
                client: Client { parent, conversation: conversation.clone(), ..Client::default() },
                locale: locale.clone(),
                within: Some(Within { record, deadline: lease.deadline }),
                ..CallRequest::new(caller.clone(), tool, arguments)
            };
            let host = host.clone();
            Box::pin(async move { host.call(request, lease.cancel.child_token()).await })
        })
    }

    /// What a confirmed program did before it was stopped.
    fn resume(&self, program: &Program, subject: &Subject) -> Result<Option<Pause>> {
        match &program.confirmation {
            // A dry run needs no word, and uses none up.
            Confirmation::Token(token) if !program.dry_run => {
                let Some(engine) = subject.engine else { return Ok(None) };
                let subject = (subject.principal.as_str(), subject.source, engine);
                self.rooms.paused.take(token, subject, self.rooms.store.now_ms()).map(Some)
            }
            _ => Ok(None),
        }
    }

    /// Keeps a program that was stopped before a call that needs the word of a person.
    fn pause(&self, mut failure: Failure, subject: Subject, began_at: u64, calls: &Calls) -> Failure {
        let Some(engine) = subject.engine else { return failure };
        let (past, tools) = calls.stopped();
        let now = self.rooms.store.now_ms();
        let ends_at = confirm::end_of(now);
        let Subject { principal, source, .. } = subject;
        let pause = Pause { principal, source, engine, began_at, past, ends_at };
        let tools: Vec<_> = tools.iter().map(|tool| format!("`{tool}`")).collect();
        match self.rooms.paused.keep(pause, now) {
            Ok(token) => {
                let plan = calls.plan();
                failure.error.message = format!(
                    "the program stopped before {}, which needs the word of a person first; confirmed, it goes on \
                     from there",
                    tools.join(", ")
                );
                failure.wants = Wants::Confirmation(Unconfirmed { plan, token, expires_at: ends_at });
            }
            Err(error) => failure.error = error,
        }
        failure
    }
}

/// What a confirmation of a program is bound to.
struct Subject {
    principal: String,
    source: Digest,
    engine: Option<Digest>,
}

impl Subject {
    fn of(program: &Program, snapshot: &Snapshot) -> Self {
        Self {
            principal: program.caller.principal.clone(),
            source: Digest::of(program.source.as_bytes()),
            engine: snapshot.entries.get(&engines::official()).map(|entry| entry.capability.digest),
        }
    }
}

impl ProgramRun {
    pub(super) fn may_go_on(&self) -> Result<()> {
        self.refused.clone().map_or(Ok(()), Err)
    }

    /// What it can call, once it has a record.
    pub(super) fn bindings(&self, call_id: &str, lease: &Lease) -> Bindings {
        self.calls.begin(call_id, lease);
        Bindings::Tools(Arc::clone(&self.calls))
    }

    /// What the engine is called with.
    pub(super) fn source(&self) -> Result<program::Source> {
        source(self.source.clone(), self.began_at)
    }
}

/// The program that the tool of a `codemode` capability is called with.
pub(super) fn of_tool(operation: runtime::Operation, now_ms: i64) -> Result<runtime::Operation> {
    let runtime::Operation::Tool(call) = operation else {
        return Err(Error::internal("capabilities of code mode have a tool alone"));
    };
    let mut input: Value = serde_json::from_str(&call.input)
        .map_err(|error| Error::internal("an input that was checked is JSON").detail(error))?;
    let Value::String(code) = input[PROGRAM].take() else {
        return Err(Error::internal("an input that was checked has a program"));
    };
    let source = source(code, u64::try_from(now_ms).unwrap_or_default())?;
    Ok(runtime::Operation::Program(source, call.context.dry_run))
}

fn source(code: String, began_at: u64) -> Result<program::Source> {
    let size = code.len();
    if size > SOURCE_BYTES {
        let message = format!("the program has {size} bytes, {SOURCE_BYTES} are allowed");
        return Err(Error::new(ErrorKind::ProgramInvalid, message));
    }
    Ok(program::Source { code, began_at })
}

fn reply(passed: Passed, calls: &Calls) -> Result<Reply, Failure> {
    let Passed { call_id, answer, asked, usage, .. } = passed;
    let Answer::Tool(ToolAnswer { structured, content }) = answer else { return Err(mixed_up()) };
    Ok(Reply { call_id, structured, content, plan: calls.plan(), asked, usage })
}

/// What a program gave: its result, and the lines that it printed.
pub(super) fn answer(outcome: Result<Outcome>, trail: &Trail) -> Result<Answer> {
    let Ok(Said::Result(result)) = outcome.map_err(broken_off)? else {
        return Err(Error::internal("an engine says what came of a program"));
    };
    let result = answer::result(result, trail.redactor())?;
    let mut structured = json!({ "result": result });
    if !trail.log().is_empty() {
        structured["log"] = trail.log().iter().map(|line| line.strip_prefix("info: ").unwrap_or(line)).collect();
    }
    Ok(Answer::Tool(ToolAnswer { structured: Some(structured), content: Vec::new() }))
}

/// What makes an engine stop is what the program did: it is no capability's fault.
fn broken_off(error: Error) -> Error {
    if error.kind != ErrorKind::Trap {
        return error;
    }
    let message = "the program went deeper than the engine can follow";
    Error { kind: ErrorKind::ProgramFailed, message: message.to_owned(), ..error }
}
