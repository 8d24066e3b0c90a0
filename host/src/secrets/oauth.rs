//! OAuth 2 (RFC 6749) for upstreams: a connection to an account is a secret of a kind.
//!
//! What is stored under its name is not one value but how to get values: where the token endpoint is, who asks
//! there, and the tokens of now ([`Connection`]). The access token is what a placeholder stands for; the refresh
//! token, the client secret and earlier tokens are only searched for in answers. When the access token has ended,
//! the host gets another one before a request goes out ([`Connections`]), so a guest never meets this protocol.
//!
//! The protocol is the `oauth2` library's (`protocol.rs`); the bytes travel by
//! [`egress::Own`](crate::egress::Own). Who may use a connection is decided as for any secret, in `policy`.

mod connection;
mod protocol;
mod renew;
mod stored;

pub(crate) use connection::Validity;
pub use connection::{ClientAuth, Connection, GrantType, Settings};
pub use protocol::{Asker, Authorization, Code, Unrenewed, authorize, obtain_by_code, obtain_for_client};
pub use renew::Connections;
