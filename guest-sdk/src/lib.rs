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
//! - [`http`] sends requests, [`entities`] keeps documents, [`loops`] makes schedules, [`log`] writes lines for the
//!   operator. What is not used is not imported, and the imports of a component are the permissions it asks for.
//! - Tools stay plain functions, so `cargo test` tests them; [`testing`] plays the host.
//!
//! The modules mirror the files of the contract in `wit/`.

#[doc(hidden)]
pub mod bindings;
pub mod entities;
pub mod http;
mod input;
pub mod log;
pub mod loops;
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
    use serde::de::DeserializeOwned;
    use serde::de::value::StrDeserializer;

    pub use crate::bindings;
    pub use crate::bindings::export;
    use crate::{Failure, ToolCall, input};

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
}
