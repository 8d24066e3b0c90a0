//! A capability's side of `wit/tools.wit`: calls in, replies and failures out.

use serde::Serialize;

use crate::bindings::exports::remit::capability::tools;
pub use crate::bindings::exports::remit::capability::tools::{
    Content, Contents, Context, Embedded, Failure, Link, Media, Reply, ToolCall,
};
use crate::completions::{self, Draft, Proposals};
use crate::prompts::{Argument, Prompt};
use crate::resources::Document;
use crate::schema::{Shape, Tool};
use crate::{__private, ask, entities, http, listing, loops, sandbox};

/// A set of tools, and of documents and prompts where there are any. `#[remit_sdk::capability]` implements it for
/// the `Capability` of its module.
pub trait Capability {
    /// The tools, as the manifest lists them.
    const TOOLS: &'static [Tool];

    /// The documents, each as the manifest lists it: a JSON object.
    const RESOURCES: &'static [&'static str] = &[];

    /// The families of documents, likewise.
    const TEMPLATES: &'static [&'static str] = &[];

    /// The prompts, likewise.
    const PROMPTS: &'static [&'static str] = &[];

    /// Runs one tool.
    fn call(call: ToolCall) -> Result<Reply, Failure>;

    /// Reads the document at an address.
    fn read(uri: &str, _context: &Context) -> Result<Vec<Document>, Failure> {
        Err(__private::no_document(uri))
    }

    /// Makes a prompt.
    fn prompt(name: &str, _arguments: &[Argument], _context: &Context) -> Result<Prompt, Failure> {
        Err(__private::no_prompt(name))
    }

    /// Proposes values for what is being typed.
    fn complete(_draft: &Draft, _context: &Context) -> Result<Proposals, Failure> {
        Ok(completions::none())
    }
}

impl<T: Capability> tools::Guest for T {
    fn call(call: ToolCall) -> Result<Reply, Failure> {
        // Every guest exports this, so here is the one place that every module holds the section of.
        #[cfg(target_arch = "wasm32")]
        crate::bindings::tools_alone::__link_custom_section_describing_imports();
        T::call(call)
    }
}

/// What a tool can answer with: text (`String`), data (a `#[remit_sdk::data]` struct), a [`Reply`] of any
/// kinds of content, or a `Result` of one of them.
#[diagnostic::on_unimplemented(
    message = "a tool cannot answer with `{Self}`",
    label = "not an answer",
    note = "return `String`, `Reply` or a `#[remit_sdk::data]` struct, or a `Result` of one with an error such as `Failure`",
    note = "a list goes into a field of a struct: structured output is an object"
)]
pub trait Answer {
    /// The schema of the structured output, where it is known.
    const OUTPUT: Option<Shape> = None;

    /// The answer as it goes to the host.
    fn answer(self) -> Result<Reply, Failure>;
}

impl Answer for Reply {
    fn answer(self) -> Result<Reply, Failure> {
        Ok(self)
    }
}

impl Answer for String {
    fn answer(self) -> Result<Reply, Failure> {
        Ok(Reply::new().text(self))
    }
}

impl Answer for &str {
    fn answer(self) -> Result<Reply, Failure> {
        self.to_owned().answer()
    }
}

impl<T: Answer, E: Into<Failure>> Answer for Result<T, E> {
    const OUTPUT: Option<Shape> = T::OUTPUT;

    fn answer(self) -> Result<Reply, Failure> {
        self.map_err(Into::into)?.answer()
    }
}

impl Reply {
    /// An empty answer, to add to.
    #[must_use]
    pub const fn new() -> Self {
        Self { structured: None, content: Vec::new() }
    }

    /// Structured output, and the same JSON as text for those who read only that.
    pub fn structured(value: &impl Serialize) -> Result<Self, Failure> {
        let json = serde_json::to_string(value).map_err(|error| Failure::Failed(error.to_string()))?;
        Ok(Self { structured: Some(json.clone()), content: vec![Content::Text(json)] })
    }

    /// Adds text.
    #[must_use]
    pub fn text(self, text: impl Into<String>) -> Self {
        self.with(Content::Text(text.into()))
    }

    /// Adds an image, with its media type such as `image/png`.
    #[must_use]
    pub fn image(self, data: impl Into<Vec<u8>>, mime_type: impl Into<String>) -> Self {
        self.with(Content::Image(Media { data: data.into(), mime_type: mime_type.into() }))
    }

    /// Adds a sound, with its media type such as `audio/wav`.
    #[must_use]
    pub fn audio(self, data: impl Into<Vec<u8>>, mime_type: impl Into<String>) -> Self {
        self.with(Content::Audio(Media { data: data.into(), mime_type: mime_type.into() }))
    }

    /// Adds a document.
    #[must_use]
    pub fn resource(self, document: Embedded) -> Self {
        self.with(Content::Resource(document))
    }

    /// Adds the address of a document.
    #[must_use]
    pub fn link(self, uri: impl Into<String>, name: impl Into<String>) -> Self {
        let link = Link { uri: uri.into(), name: name.into(), description: None, mime_type: None };
        self.with(Content::ResourceLink(link))
    }

    /// Adds a piece of content.
    #[must_use]
    pub fn with(mut self, content: Content) -> Self {
        self.content.push(content);
        self
    }
}

impl Default for Reply {
    fn default() -> Self {
        Self::new()
    }
}

impl Failure {
    /// What the agent is told.
    #[must_use]
    pub fn message(&self) -> &str {
        match self {
            Self::InvalidInput(message) | Self::NotFound(message) | Self::Failed(message) => message,
        }
    }
}

impl From<String> for Failure {
    fn from(message: String) -> Self {
        Self::Failed(message)
    }
}

impl From<&str> for Failure {
    fn from(message: &str) -> Self {
        Self::Failed(message.to_owned())
    }
}

impl From<http::Error> for Failure {
    fn from(error: http::Error) -> Self {
        Self::Failed(error.to_string())
    }
}

impl From<http::SaveError> for Failure {
    fn from(error: http::SaveError) -> Self {
        match error {
            http::SaveError::Sandbox(error) => error.into(),
            other => Self::Failed(other.to_string()),
        }
    }
}

impl From<sandbox::Error> for Failure {
    fn from(error: sandbox::Error) -> Self {
        match error {
            sandbox::Error::NotFound(_) => Self::NotFound(error.to_string()),
            sandbox::Error::InvalidName(_) | sandbox::Error::Collision(_) => Self::InvalidInput(error.to_string()),
            other => Self::Failed(other.to_string()),
        }
    }
}

impl From<entities::Error> for Failure {
    fn from(error: entities::Error) -> Self {
        match error {
            entities::Error::InvalidKey(_) | entities::Error::InvalidValue(_) | entities::Error::InvalidCursor => {
                Self::InvalidInput(error.to_string())
            }
            other => Self::Failed(other.to_string()),
        }
    }
}

impl From<loops::Error> for Failure {
    fn from(error: loops::Error) -> Self {
        match error {
            loops::Error::NotFound(_) => Self::NotFound(error.to_string()),
            loops::Error::InvalidSchedule(_) | loops::Error::InvalidDefinition(_) => {
                Self::InvalidInput(error.to_string())
            }
            other => Self::Failed(other.to_string()),
        }
    }
}

impl From<ask::Error> for Failure {
    fn from(error: ask::Error) -> Self {
        Self::Failed(error.to_string())
    }
}

impl From<listing::Error> for Failure {
    fn from(error: listing::Error) -> Self {
        match error {
            listing::Error::NotFound(_) => Self::NotFound(error.to_string()),
            other => Self::Failed(other.to_string()),
        }
    }
}
