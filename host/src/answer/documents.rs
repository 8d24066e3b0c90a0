//! The answers of a capability that are no tool's, on their way out: documents, prompts and proposals.

use super::{ANSWER_BYTES, ANSWER_PIECES, Content, Contents, contents_of, contents_size, piece_of, piece_size};
use crate::error::{Error, ErrorKind, Result};
use crate::manifest::{Manifest, declares_document, is_hidden};
use crate::runtime::{completions, prompts, resources};
use crate::secrets::Redactor;

/// Values that are proposed at once: MCP's own bound.
const VALUES: usize = 100;
/// Characters of a proposed value: a line that a person can read.
const VALUE_CHARS: usize = 500;
/// Characters of a prompt's description.
const DESCRIPTION_CHARS: usize = 1_000;

/// One document, or one of several at one address. Redacted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Document {
    /// Its address.
    pub uri: String,
    /// Its media type.
    pub mime_type: Option<String>,
    /// What is in it.
    pub contents: Contents,
}

/// Prepared messages. Redacted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prompt {
    /// What they are good for.
    pub description: Option<String>,
    /// In order.
    pub messages: Vec<Message>,
}

/// One prepared message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Whose it is.
    pub role: Role,
    /// What it says.
    pub content: Content,
}

/// Whose a message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The person's.
    User,
    /// The model's.
    Assistant,
}

/// Proposals for what a person is typing, the best first. Redacted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Proposals {
    /// At most 100.
    pub values: Vec<String>,
    /// How many there are in all, where that is known.
    pub total: Option<u32>,
    /// Whether there are more than these.
    pub more: bool,
}

/// Makes documents fit to leave. Each must be one that the manifest declares: a client would take it for what it read
/// at that address.
pub(crate) fn documents(
    read: Vec<resources::Document>,
    manifest: &Manifest,
    redactor: &Redactor,
) -> Result<Vec<Document>> {
    let size = |document: &resources::Document| {
        document.uri.len()
            + document.mime_type.as_ref().map_or(0, String::len)
            + contents_size(&document.contents)
    };
    check_size(read.iter().map(size).sum(), read.len())?;
    if read.iter().any(|document| !declares_document(manifest, &document.uri)) {
        return Err(invalid("a document has an address that the manifest does not declare"));
    }
    let document = |document: resources::Document| Document {
        uri: redactor.redact(document.uri).into_inner(),
        mime_type: document.mime_type.map(|mime_type| redactor.redact(mime_type).into_inner()),
        contents: contents_of(document.contents, redactor),
    };
    Ok(read.into_iter().map(document).collect())
}

/// Makes a prompt fit to leave.
pub(crate) fn prompt(prompt: prompts::Prompt, redactor: &Redactor) -> Result<Prompt> {
    let size = prompt.messages.iter().map(|message| piece_size(&message.content)).sum();
    check_size(size, prompt.messages.len())?;
    let message = |message: prompts::Message| Message {
        role: match message.role {
            prompts::Role::User => Role::User,
            prompts::Role::Assistant => Role::Assistant,
        },
        content: piece_of(message.content, redactor),
    };
    Ok(Prompt {
        description: prompt.description.map(|text| line(&text, DESCRIPTION_CHARS, redactor)),
        messages: prompt.messages.into_iter().map(message).collect(),
    })
}

/// Makes proposals fit to leave: those that there is room for, and none is no mistake.
pub(crate) fn proposals(proposals: Option<completions::Proposals>, redactor: &Redactor) -> Proposals {
    let Some(completions::Proposals { values, total, more }) = proposals else { return Proposals::default() };
    let count = values.len();
    Proposals {
        values: values.iter().take(VALUES).map(|value| line(value, VALUE_CHARS, redactor)).collect(),
        total: total.map(|total| total.max(u32::try_from(count).unwrap_or(u32::MAX))),
        more: more || count > VALUES,
    }
}

fn check_size(bytes: usize, pieces: usize) -> Result<()> {
    if bytes > ANSWER_BYTES {
        return Err(invalid(format!("the answer has {bytes} bytes, {ANSWER_BYTES} are allowed")));
    }
    if pieces > ANSWER_PIECES {
        return Err(invalid(format!("the answer has more than {ANSWER_PIECES} pieces")));
    }
    Ok(())
}

/// A guest's words for a list: visible characters on one line, not without end.
fn line(text: &str, most: usize, redactor: &Redactor) -> String {
    redactor.redact_text(text).chars().filter(|character| !is_hidden(*character)).take(most).collect()
}

fn invalid(what: impl Into<String>) -> Error {
    Error::new(ErrorKind::InvalidOutput, what)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::runtime::tools;

    #[test]
    fn a_document_is_one_that_is_declared() {
        let manifest = serde_json::from_value(json!({
            "publisher": "acme", "slug": "notes", "version": "1.0.0", "title": "N", "description": "N.",
            "resources": [{ "uri": "note:all", "name": "all", "description": "All." }],
            "resourceTemplates": [{ "uriTemplate": "note:id/{id}", "name": "note", "description": "One." }],
        }));
        let manifest: Manifest = manifest.unwrap();
        let document = |uri: &str, text: String| resources::Document {
            uri: uri.to_owned(),
            mime_type: None,
            contents: tools::Contents::Text(text),
        };
        let cases = [
            (vec![], true),
            (vec![document("note:all", "a".to_owned()), document("note:id/1", "b".to_owned())], true),
            (vec![document("note:all", "a".to_owned()), document("note:other", "b".to_owned())], false),
            (vec![document("https://evil.example/", "a".to_owned())], false),
            (vec![document("note:all", "a".repeat(ANSWER_BYTES))], false),
            (vec![document("note:all", String::new()); ANSWER_PIECES + 1], false),
        ];
        for (read, is_good) in cases {
            let (count, checked) = (read.len(), documents(read, &manifest, &Redactor::default()));
            assert_eq!(checked.as_ref().is_ok(), is_good, "{count}: {checked:?}");
            assert!(checked.err().is_none_or(|error| error.kind == ErrorKind::InvalidOutput));
        }
    }

    #[test]
    fn proposals_are_few_and_show() {
        assert_eq!(proposals(None, &Redactor::default()), Proposals::default());
        let values: Vec<_> = (0..150).map(|index| format!("v\u{202e}{index}\n")).collect();
        let many = completions::Proposals { values, total: Some(7), more: false };
        let checked = proposals(Some(many), &Redactor::default());
        assert_eq!(checked.values.len(), VALUES);
        assert_eq!(checked.values[99], "v99");
        assert_eq!((checked.total, checked.more), (Some(150), true));
    }
}
