//! The agents' door over the Model Context Protocol: stdio and Streamable HTTP, both eras of the protocol.
//!
//! This room decides how things look on the wire and who may knock. It holds a [`crate::call::Host`] and
//! nothing else, so no message that arrives here can install, grant, approve or read a secret. What a tool
//! may do, and whether a call runs at all, is decided behind `Host::call`.
//!
//! | file | what it decides |
//! |---|---|
//! | `surface` | what one endpoint shows, under which names and addresses |
//! | `compact/` | how an agent finds and calls all tools through four |
//! | `names` | the wire name of a tool |
//! | `tools`, `shelf` | which tools, documents and prompts are listed, and how |
//! | `arguments` | which arguments are the host's |
//! | `plan` | how what a dry run did not do looks |
//! | `pages` | how a list comes in pages |
//! | `instructions` | what an agent is told before its first call |
//! | `reply` | how an answer or a failure looks |
//! | `large`, `results` | what becomes of an answer that is too large to show at once |
//! | `news` | what a client hears while its call runs |
//! | `questions/` | how the person or the model at the other end is asked |
//! | `conversation` | which conversation a request is in |
//! | `files` | files of the conversation, as documents |
//! | `inbox` | the runs that wait for an agent, as documents |
//! | `changes`, `listeners` | who is told that a list or a document changed, and when |
//! | `server` | which request does what |
//! | `stdio`, `http` | how bytes come in |

mod arguments;
mod changes;
mod compact;
mod conversation;
mod files;
mod http;
mod inbox;
mod instructions;
mod large;
mod listeners;
mod names;
mod news;
mod pages;
mod parent;
mod plan;
mod questions;
mod reply;
mod results;
mod server;
mod shelf;
mod stdio;
mod surface;

mod tools;

pub use compact::Exposure;
pub use http::{Answers, Auth, HttpOptions, Issuers, Refusal, Token, Verified, serve_answers, serve_http};
pub use stdio::serve_stdio;
pub use surface::Surface;

use crate::text;
