//! Upstream MCP servers: programs and addresses that the operator named, whose tools are called like those of any
//! other capability.
//!
//! Decides how a server is reached, what of its words is believed, and when its tools may be called: only those
//! whose definition is the pinned one. It does not decide who may call (`policy/`), what a person accepts
//! (`admin/upstreams.rs`), nor how tools are listed (`mcp/`): lists are made of the pin and never wait for a server.
//!
//! | file | what it decides |
//! |---|---|
//! | `reach.rs` | what the operator may write to name a server, and where secrets stand in it |
//! | `definitions.rs` | what a server says of its tools, in one form that has a digest |
//! | `offered.rs` | which manifest that makes, and which tools are left out |
//! | `connect.rs` | how a connection is made: placeholders, program or address, handshake |
//! | `process.rs` | what a program gets of this process, and how it ends |
//! | `web.rs` | how messages travel over HTTPS, by the host's own way out |
//! | `connection.rs` | what is asked over a connection, and what a server may ask back: nothing |
//! | `content.rs` | what an answer becomes |
//! | `pool.rs` | one connection a server: when it is made, kept, and given up |

mod connect;
mod connection;
mod content;
mod definitions;
mod offered;
mod pool;
mod process;
mod reach;
mod web;

pub(crate) use connect::Connector;
pub use definitions::{Definitions, Difference};
pub use offered::{LeftOut, Offered, offered};
pub use pool::Upstreams;
pub(crate) use pool::Wanted;
pub use reach::Reach;
