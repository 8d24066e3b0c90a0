//! A tool's answer on its way out: redacted, bounded, checked against what the tool promised. What a capability gives
//! beside tools is in `answer/documents.rs`.
//!
//! What a guest returns is untrusted text. Nothing of it is kept that does not pass here.

pub(crate) mod documents;

use serde_json::Value;

use self::documents::{Document, Prompt, Proposals};
use crate::asks::Asked;
use crate::audit::{ChangeRecord, FileRecord, RequestRecord, Usage};
use crate::error::{Error, ErrorKind, Result};
use crate::manifest::{Tool, is_hidden};
use crate::namespaces::listing::Offer;
use crate::namespaces::loops::LoopChange;
use crate::runtime::{program, tools};
use crate::secrets::Redactor;
use crate::validate::ToolSchemas;

/// Bytes of one answer, all parts together. Clients cut at 50,000 characters; pictures need more.
const ANSWER_BYTES: usize = 4 * 1024 * 1024;
/// Pieces of one answer.
const ANSWER_PIECES: usize = 100;
/// Characters of a failure's sentence.
const FAILURE_CHARS: usize = 2_000;

/// A tool's answer, redacted and checked.
#[derive(Debug)]
pub struct Reply {
    /// The record of this call.
    pub call_id: String,
    /// Valid under the tool's output schema, where it has one.
    pub structured: Option<Value>,
    /// What to show, in order.
    pub content: Vec<Content>,
    /// In a dry run: what was not done.
    pub plan: Plan,
    /// What people were asked for: requests of the call were refused, and it succeeded without them.
    pub asked: Vec<Asked>,
    /// What the call spent.
    pub usage: Usage,
}

/// What a dry run did not do, each list in the order of the guest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// The requests that were not sent.
    pub requests: Vec<RequestRecord>,
    /// The changes of documents that were not made.
    pub changes: Vec<ChangeRecord>,
    /// The changes of files that were not made.
    pub files: Vec<FileRecord>,
    /// What was not done to loops.
    pub loops: Vec<LoopChange>,
    /// What was not offered to agents, or withdrawn from them.
    pub listing: Vec<Offer>,
}

impl Plan {
    /// Whether the dry run came to nothing that it would have done.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.requests.is_empty() && self.changes.is_empty() && self.files.is_empty() && self.loops.is_empty()
    }

    /// This plan, and then another.
    pub(crate) fn append(&mut self, other: Self) {
        self.requests.extend(other.requests);
        self.changes.extend(other.changes);
        self.files.extend(other.files);
        self.loops.extend(other.loops);
        self.listing.extend(other.listing);
    }

    /// The same without values of secrets: its texts are the guest's.
    pub(crate) fn redacted(mut self, redactor: &Redactor) -> Self {
        let requests = self.requests.iter_mut().flat_map(|request| [&mut request.authority, &mut request.path]);
        let changes = self.changes.iter_mut().map(|change| &mut change.key);
        let loops = self.loops.iter_mut().map(|change| &mut change.name);
        let files = self.files.iter_mut().map(|change| &mut change.name);
        for text in requests.chain(changes).chain(loops).chain(files) {
            *text = redactor.redact_text(text);
        }
        self
    }
}

/// One piece of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// Plain text.
    Text(String),
    /// An image: bytes and media type.
    Image(Vec<u8>, String),
    /// A sound: bytes and media type.
    Audio(Vec<u8>, String),
    /// A document, embedded.
    Resource {
        /// Its address.
        uri: String,
        /// Its media type.
        mime_type: Option<String>,
        /// What is in it.
        contents: Contents,
    },
    /// A document, by its address.
    Link {
        /// Its address.
        uri: String,
        /// Its name.
        name: String,
        /// What it is.
        description: Option<String>,
        /// Its media type.
        mime_type: Option<String>,
    },
}

/// The contents of an embedded document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Contents {
    /// As text.
    Text(String),
    /// As bytes.
    Blob(Vec<u8>),
}

/// What a guest answered, once it is fit to leave.
#[derive(Debug)]
pub(crate) enum Answer {
    /// To a tool's call.
    Tool(ToolAnswer),
    /// At an address.
    Documents(Vec<Document>),
    /// For a person to use.
    Prompt(Prompt),
    /// For a person who is typing.
    Proposals(Proposals),
}

/// What a tool answered.
#[derive(Debug)]
pub(crate) struct ToolAnswer {
    pub(crate) structured: Option<Value>,
    pub(crate) content: Vec<Content>,
}

/// Makes a tool's answer fit to leave, or says why it is not.
pub(crate) fn check(
    reply: tools::Reply,
    tool: &Tool,
    schemas: &ToolSchemas,
    redactor: &Redactor,
) -> Result<ToolAnswer> {
    let invalid = |what: String| Error::new(ErrorKind::InvalidOutput, what);
    let size = size(&reply);
    if size > ANSWER_BYTES {
        return Err(invalid(format!("the answer has {size} bytes, {ANSWER_BYTES} are allowed")));
    }
    if reply.content.len() > ANSWER_PIECES {
        return Err(invalid(format!("the answer has more than {ANSWER_PIECES} pieces")));
    }
    let structured = match reply.structured {
        Some(json) => {
            let value = serde_json::from_str(&json)
                .map_err(|error| invalid("the answer's structured part is not JSON".to_owned()).detail(error))?;
            Some(redactor.redact::<Value>(value).into_inner())
        }
        None => None,
    };
    match (&structured, &tool.output_schema) {
        (Some(value), Some(_)) => schemas.check_output(value).map_err(|mismatch| {
            invalid(format!(
                "the answer does not fit the output schema at `{}`: {}",
                mismatch.path, mismatch.reason
            ))
        })?,
        (None, Some(_)) => return Err(invalid("the tool promises structured output and gave none".to_owned())),
        (Some(_) | None, None) => {}
    }
    let content = reply.content.into_iter().map(|piece| piece_of(piece, redactor)).collect();
    Ok(ToolAnswer { structured, content })
}

/// Makes a program's result fit to leave, or says why there is none.
pub(crate) fn result(result: Result<String, program::Failure>, redactor: &Redactor) -> Result<Value> {
    let json = result.map_err(|failure| {
        let (kind, message) = match failure {
            program::Failure::Invalid(why) => (ErrorKind::ProgramInvalid, why),
            program::Failure::Thrown(what) => (ErrorKind::ProgramFailed, format!("the program threw {what}")),
            program::Failure::Stuck => {
                (ErrorKind::ProgramFailed, "the program waits for something that never comes".to_owned())
            }
            program::Failure::TooDeep => {
                (ErrorKind::ProgramFailed, "the program calls too deep, or has too much on its stack".to_owned())
            }
        };
        Error::new(kind, sentence(&redactor.redact_text(&message)))
    })?;
    if json.len() > ANSWER_BYTES {
        let message = format!("the result has {} bytes, {ANSWER_BYTES} are allowed", json.len());
        return Err(Error::new(ErrorKind::InvalidOutput, message));
    }
    let value: Value = serde_json::from_str(&json)
        .map_err(|error| Error::new(ErrorKind::InvalidOutput, "the result is not JSON").detail(error))?;
    Ok(redactor.redact(value).into_inner())
}

/// Why a guest has no answer, in its own words.
pub(crate) fn failed(failure: tools::Failure, redactor: &Redactor) -> Error {
    let (kind, message) = match failure {
        tools::Failure::InvalidInput(message) => (ErrorKind::InvalidInput, message),
        tools::Failure::NotFound(message) => (ErrorKind::NotFound, message),
        tools::Failure::Failed(message) => (ErrorKind::Failed, message),
    };
    Error::new(kind, sentence(&redactor.redact_text(&message)))
}

/// A guest's sentence: visible characters only, on as many lines as it likes, not without end.
fn sentence(message: &str) -> String {
    let visible = |character: &char| *character == '\n' || !is_hidden(*character);
    let mut sentence: String = message.chars().filter(visible).take(FAILURE_CHARS).collect();
    if sentence.trim().is_empty() {
        sentence = "the tool failed and did not say why".to_owned();
    }
    sentence
}

fn size(reply: &tools::Reply) -> usize {
    reply.structured.as_ref().map_or(0, String::len) + reply.content.iter().map(piece_size).sum::<usize>()
}

fn piece_size(content: &tools::Content) -> usize {
    match content {
        tools::Content::Text(text) => text.len(),
        tools::Content::Image(media) | tools::Content::Audio(media) => media.data.len() + media.mime_type.len(),
        tools::Content::Resource(embedded) => embedded.uri.len() + contents_size(&embedded.contents),
        tools::Content::ResourceLink(link) => {
            link.uri.len() + link.name.len() + link.description.as_ref().map_or(0, String::len)
        }
    }
}

fn contents_size(contents: &tools::Contents) -> usize {
    match contents {
        tools::Contents::Text(text) => text.len(),
        tools::Contents::Blob(bytes) => bytes.len(),
    }
}

fn piece_of(piece: tools::Content, redactor: &Redactor) -> Content {
    let text = |text: String| redactor.redact(text).into_inner();
    let bytes = |bytes: Vec<u8>| redactor.redact(bytes).into_inner();
    match piece {
        tools::Content::Text(words) => Content::Text(text(words)),
        tools::Content::Image(media) => Content::Image(bytes(media.data), text(media.mime_type)),
        tools::Content::Audio(media) => Content::Audio(bytes(media.data), text(media.mime_type)),
        tools::Content::Resource(embedded) => Content::Resource {
            uri: text(embedded.uri),
            mime_type: embedded.mime_type.map(text),
            contents: contents_of(embedded.contents, redactor),
        },
        tools::Content::ResourceLink(link) => Content::Link {
            uri: text(link.uri),
            name: text(link.name),
            description: link.description.map(text),
            mime_type: link.mime_type.map(text),
        },
    }
}

fn contents_of(contents: tools::Contents, redactor: &Redactor) -> Contents {
    match contents {
        tools::Contents::Text(words) => Contents::Text(redactor.redact(words).into_inner()),
        tools::Contents::Blob(blob) => Contents::Blob(redactor.redact(blob).into_inner()),
    }
}
