//! Write capabilities for Remit.
//!
//! A capability is a module of plain functions. Each one marked `#[tool]` can be called by agents: its
//! parameters are the properties of the input, its doc comment is the description, and what it returns is
//! the answer.
//!
//! ```
//! #[remit_sdk::capability]
//! mod greeter {
//!     /// Greets somebody.
//!     #[tool(read_only, idempotent)]
//!     pub fn greet(
//!         /// Whom to greet.
//!         name: String,
//!     ) -> String {
//!         format!("Hello, {name}!")
//!     }
//! }
//! ```
//!
//! - Input and output of more than a line are types with [`#[remit_sdk::data]`](data).
//! - A parameter of type [`Context`] is not an input: it says whether this is a dry run, and which run.
//! - A tool that can fail returns `Result<…, Failure>`; `?` works on text and on the errors of
//!   the namespaces.
//! - [`http`] sends requests, [`entities`] keeps documents, [`loops`] makes schedules, [`sandbox`] writes files of
//!   the conversation, [`ask`] asks the person or the model at the other end. What is not used is not imported, and the imports of a component are the permissions it
//!   asks for. Always there are [`log`], lines for the operator, [`progress`], how far a call is, and [`listing`],
//!   what is shown at the moment.
//! - Functions marked `#[resource]` are [documents](resources) that agents read, those marked `#[prompt]` are
//!   [messages](prompts) that people pick, and `#[complete(…)]` on a parameter of one [proposes](completions) values.
//! - Tools stay plain functions, so `cargo test` tests them; [`testing`] plays the host.
//!
//! The modules mirror the files of the contract in `wit/`.

pub mod ask;
#[doc(hidden)]
pub mod bindings;
pub mod completions;
pub mod entities;
pub mod http;
mod input;
pub mod listing;
pub mod log;
pub mod loops;
pub mod progress;
pub mod prompts;
pub mod resources;
pub mod sandbox;
pub mod schema;
#[cfg(not(target_arch = "wasm32"))]
pub mod testing;
mod tools;

pub use remit_sdk_macros::{capability, data};
pub use schema::Schema;
pub use serde;
pub use serde_json;
pub use tools::{Answer, Capability, Content, Contents, Context, Embedded, Failure, Link, Media, Reply, ToolCall};

/// What the macros' code calls. Not for authors: it changes without notice.
#[doc(hidden)]
pub mod __private {
    use std::fmt::Display;
    use std::str::FromStr;

    use serde::de::DeserializeOwned;
    use serde::de::value::StrDeserializer;

    pub use crate::__export_tools as export_tools;
    pub use crate::bindings;
    pub use crate::bindings::export;
    use crate::completions::{self, Proposals};
    use crate::prompts::Argument;
    use crate::{Failure, ToolCall, input, prompts, resources};

    /// Reads a tool's input.
    pub fn input<T: DeserializeOwned>(call: &ToolCall) -> Result<T, Failure> {
        input::read(&call.input).map_err(|error| Failure::InvalidInput(error.into_message()))
    }

    /// Reads a default that is written as text.
    pub fn text<T: DeserializeOwned>(text: &str) -> Result<T, Failure> {
        let text = StrDeserializer::<input::Error>::new(text);
        T::deserialize(text).map_err(|error| Failure::Failed(error.into_message()))
    }

    /// There is no such tool.
    #[must_use]
    pub fn unknown(call: &ToolCall) -> Failure {
        Failure::NotFound(format!("no tool `{}`", call.tool))
    }

    /// There is no such document.
    #[must_use]
    pub fn no_document(uri: &str) -> Failure {
        Failure::NotFound(format!("there is no document `{uri}`"))
    }

    /// There is no such prompt.
    #[must_use]
    pub fn no_prompt(name: &str) -> Failure {
        Failure::NotFound(format!("there is no prompt `{name}`"))
    }

    /// Nothing is proposed.
    #[must_use]
    pub const fn no_proposals() -> Proposals {
        completions::none()
    }

    /// The values of a template's variables at an address.
    #[must_use]
    pub fn variables(texts: &[&str], uri: &str) -> Option<Vec<String>> {
        resources::variables(texts, uri)
    }

    /// Reads the value of a variable, or fails where it is none.
    pub fn value<T: FromStr<Err: Display>>(name: &str, text: &str) -> Result<T, Failure> {
        prompts::value(name, text)
    }

    /// Reads an argument that may be missing.
    pub fn optional<T: FromStr<Err: Display>>(arguments: &[Argument], name: &str) -> Result<Option<T>, Failure> {
        prompts::optional(arguments, name)
    }

    /// Reads an argument that has to be there.
    pub fn required<T: FromStr<Err: Display>>(arguments: &[Argument], name: &str) -> Result<T, Failure> {
        optional(arguments, name)?.ok_or_else(|| Failure::InvalidInput(format!("`{name}` is missing")))
    }
}
