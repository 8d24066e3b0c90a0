//! The agents' door over the Model Context Protocol: stdio and Streamable HTTP, both eras of the protocol.
//!
//! This room decides how things look on the wire and who may knock. It holds a [`crate::call::Host`] and
//! nothing else, so no message that arrives here can install, grant, approve or read a secret. What a tool
//! may do, and whether a call runs at all, is decided behind `Host::call`.
//!
//! | file | what it decides |
//! |---|---|
//! | `names` | the wire name of a tool |
//! | `text` | which characters of a publisher's text reach an agent |
//! | `tools` | which tools are listed, and how |
//! | `reply` | how an answer or a failure looks |
//! | `changes` | who is told that the list changed, and when |
//! | `server` | which request does what |
//! | `stdio`, `http` | how bytes come in |

mod changes;
mod http;
mod inbox;
mod names;
mod reply;
mod server;
mod stdio;
mod text;
mod tools;

pub use http::{Auth, HttpOptions, Issuers, Refusal, Token, Verified, serve_http};
pub use stdio::serve_stdio;
