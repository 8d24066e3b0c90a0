//! For `cargo test`, where there is no host: answers to requests are scripted, documents, loops and files are kept in
//! memory, a client answers what is asked, log lines, progress and changes of what is shown are kept, and a capability
//! can be called as the host would. All of it belongs to the thread, so tests do not meet.

mod base64;
pub(crate) mod client;
pub(crate) mod entities;
pub(crate) mod listing;
pub(crate) mod loops;
pub(crate) mod sandbox;

use std::cell::RefCell;

use serde::Serialize;
use serde_json::Value;

use crate::bindings::remit::capability::sandbox::File;
use crate::completions::{Draft, Proposals, Subject};
use crate::http::{Error, Request, Response, SaveError, Saved, SavedFile};
use crate::log::Level;
use crate::prompts::{Argument, Prompt};
use crate::resources::Document;
use crate::schema;
use crate::tools::{Capability, Context, Failure, Reply, ToolCall};

pub use crate::bindings::remit::capability::ask::Question;
pub use client::{Client, client, progress};
pub use entities::entities;
pub use listing::{Shown, shown};
pub use loops::{loops, run};
pub use sandbox::{file_of, sandbox};

type Answer = Box<dyn FnMut(&Request) -> Result<Response, Error>>;

thread_local! {
    static ANSWER: RefCell<Option<Answer>> = const { RefCell::new(None) };
    static LOGS: RefCell<Vec<(Level, String)>> = const { RefCell::new(Vec::new()) };
}

/// Answers this thread's requests from now on.
pub fn http(answer: impl FnMut(&Request) -> Result<Response, Error> + 'static) {
    ANSWER.set(Some(Box::new(answer)));
}

/// A response with this value as JSON.
///
/// # Panics
///
/// When the value cannot be written as JSON.
#[must_use]
pub fn json(status: u16, value: &impl Serialize) -> Response {
    let body = serde_json::to_vec(value).unwrap_or_else(|error| panic!("not JSON: {error}"));
    let headers = vec![("content-type".to_owned(), b"application/json".to_vec())];
    Response { status, headers, body }
}

/// The lines logged by this thread since this was last asked.
#[must_use]
pub fn logs() -> Vec<(Level, String)> {
    LOGS.take()
}

/// The context of a call that is no dry run.
#[must_use]
pub fn context() -> Context {
    Context { dry_run: false, run_id: "test".to_owned(), locale: None }
}

/// Calls a tool as the host does, with JSON. A tool that is declared `read_only` can change no documents, loops and files.
pub fn call<C: Capability>(tool: &str, input: &Value) -> Result<Reply, Failure> {
    call_with::<C>(tool, input, &context())
}

/// Calls a tool with a context of the test's own. What a dry run changes in documents and files, it alone sees.
pub fn call_with<C: Capability>(tool: &str, input: &Value, context: &Context) -> Result<Reply, Failure> {
    let listed = tools::<C>();
    let entry = listed.as_array().into_iter().flatten().find(|entry| entry["name"] == tool);
    let read_only = entry.is_some_and(|entry| entry["readOnly"] == true);
    let dry_run = context.dry_run;
    let call = || C::call(ToolCall { tool: tool.to_owned(), input: input.to_string(), context: context.clone() });
    let call = || client::in_rounds(|| entities::as_tool(read_only, call));
    if dry_run { entities::rehearsed(|| sandbox::rehearsed(call)) } else { call() }
}

/// Reads the document at an address as the host does. Nothing can be changed meanwhile.
pub fn read<C: Capability>(uri: &str) -> Result<Vec<Document>, Failure> {
    client::in_rounds(|| entities::as_tool(true, || C::read(uri, &context())))
}

/// Makes a prompt as the host does. Nothing can be changed meanwhile.
pub fn prompt<C: Capability>(name: &str, arguments: &[(&str, &str)]) -> Result<Prompt, Failure> {
    let arguments = pairs(arguments);
    client::in_rounds(|| entities::as_tool(true, || C::prompt(name, &arguments, &context())))
}

/// Completes what is being typed: the argument or variable that comes first, with what is known of the others.
///
/// # Panics
///
/// When there is no first one.
pub fn complete<C: Capability>(subject: Subject, arguments: &[(&str, &str)]) -> Result<Proposals, Failure> {
    let mut others = pairs(arguments);
    assert!(!others.is_empty(), "say what is being typed");
    let draft = Draft { subject, argument: others.remove(0), others };
    entities::as_tool(true, || C::complete(&draft, &context()))
}

fn pairs(arguments: &[(&str, &str)]) -> Vec<Argument> {
    let pair = |(name, value): &(&str, &str)| Argument { name: (*name).to_owned(), value: (*value).to_owned() };
    arguments.iter().map(pair).collect()
}

/// The tools of a capability as `remit build` will find them.
///
/// # Panics
///
/// Never: what the macros make is JSON.
#[must_use]
pub fn tools<C: Capability>() -> Value {
    let text = schema::to_text(C::TOOLS);
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// Documents and prompts of a capability as `remit build` will find them: `resources`, `resourceTemplates`, `prompts`.
///
/// # Panics
///
/// Never: what the macros make is JSON.
#[must_use]
pub fn documents<C: Capability>() -> Value {
    let list = |entries: &[&str]| -> Value {
        let entries = entries
            .iter()
            .map(|entry| serde_json::from_str(entry).unwrap_or_else(|error| panic!("{error}: {entry}")));
        Value::Array(entries.collect())
    };
    serde_json::json!({
        "resources": list(C::RESOURCES),
        "resourceTemplates": list(C::TEMPLATES),
        "prompts": list(C::PROMPTS),
    })
}

pub(crate) fn exchange(request: &Request) -> Result<Response, Error> {
    client::changed_if(request.method != crate::http::Method::Get && request.method != crate::http::Method::Head);
    ANSWER.with_borrow_mut(|answer| match answer {
        Some(answer) => answer(request),
        None => panic!("no answer to {}: call `remit_sdk::testing::http(|request| …)` first", request.url),
    })
}

pub(crate) fn save(request: &Request, to: &str, field: Option<&str>) -> Result<Saved, SaveError> {
    sandbox::check(to).map_err(|error| SaveError::Sandbox(error.into()))?;
    let Response { status, headers, body } = exchange(request).map_err(SaveError::Request)?;
    if !matches!(status, 200..300) {
        return Ok(Saved { status, headers, file: None, body });
    }
    let bytes = match field {
        Some(field) => base64::field(&body, field).map_err(SaveError::Request)?,
        None => body,
    };
    let file = sandbox::write(to, &bytes).map_err(|error| SaveError::Sandbox(error.into()))?;
    let File { name, uri, bytes, media_type, .. } = file;
    Ok(Saved { status, headers, file: Some(SavedFile { name, uri, bytes, media_type }), body: Vec::new() })
}

pub(crate) fn log(level: Level, message: &str) {
    LOGS.with_borrow_mut(|logs| logs.push((level, message.to_owned())));
}
