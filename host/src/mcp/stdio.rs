//! The door on standard input and output: one client, which started this process.
//!
//! Nothing but protocol messages is written to standard output, and the process ends when the input does:
//! subscriptions at once, and calls that still run get the five seconds that the library gives them to answer,
//! so that `echo … | remit serve` has an answer.

use rmcp::RoleServer;
use rmcp::model::{ClientJsonRpcMessage, ClientRequest, GetMeta as _, ServerJsonRpcMessage};
use rmcp::service::{ServerInitializeError, serve_server};
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::transport::{StdioReader, StdioWriter, Transport, stdio_pipes};
use tokio_util::sync::CancellationToken;

use super::server::{CallerOf, Server};
use super::{Exposure, Surface};
use crate::call::Host;
use crate::error::{Error, Result};
use crate::policy::Identity;

/// Serves one client, which is `caller`, what `surface` shows, on standard input and output, until the input ends.
pub async fn serve_stdio(host: Host, surface: Surface, exposure: Exposure, caller: Identity) -> Result<()> {
    let stop = CancellationToken::new();
    let server = Server::new(host, CallerOf::Door(caller), exposure, stop.clone())?.at(surface);
    let (input, output) = stdio_pipes();
    let wire = Wire { inner: AsyncRwTransport::new(input, output), has_begun: false, stop };
    match serve_server(server, wire).await {
        Ok(session) => match session.waiting().await {
            Ok(_) => Ok(()),
            Err(error) => Err(Error::internal("the session ended in a panic").detail(error)),
        },
        Err(ServerInitializeError::ConnectionClosed(_)) => Ok(()),
        Err(error) => Err(Error::internal("the client could not be served").detail(error)),
    }
}

/// Standard input and output, with two things that the library leaves to its user.
///
/// It takes anything but a request for fatal until the client has begun; a client that gave up on a probe says
/// so with a notification before it begins anew, so until then notifications are passed over. And it waits
/// for open requests when the input ends; a subscription is one that never ends by itself.
struct Wire {
    inner: AsyncRwTransport<RoleServer, StdioReader, StdioWriter>,
    has_begun: bool,
    stop: CancellationToken,
}

impl Transport<RoleServer> for Wire {
    type Error = <AsyncRwTransport<RoleServer, StdioReader, StdioWriter> as Transport<RoleServer>>::Error;

    fn send(
        &mut self,
        message: ServerJsonRpcMessage,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        self.inner.send(message)
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        loop {
            let Some(message) = self.inner.receive().await else {
                self.stop.cancel();
                return None;
            };
            self.has_begun = self.has_begun || begins(&message);
            if self.has_begun || matches!(message, ClientJsonRpcMessage::Request(_)) {
                return Some(message);
            }
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.inner.close().await
    }
}

/// Whether a message settles the era: the legacy handshake, or a request that names its own version. A
/// discovery or a ping settles nothing.
fn begins(message: &ClientJsonRpcMessage) -> bool {
    let ClientJsonRpcMessage::Request(request) = message else { return false };
    match &request.request {
        ClientRequest::InitializeRequest(_) => true,
        ClientRequest::DiscoverRequest(_) | ClientRequest::PingRequest(_) => false,
        request => request.get_meta().protocol_version().is_some(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_era_begins_with_a_handshake_or_a_versioned_request() {
        let meta = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;
        let initialize = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}"#;
        let cases = [
            (initialize.to_owned(), true),
            (format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{{{meta}}}}}"#), true),
            (format!(r#"{{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{{{meta}}}}}"#), false),
            (r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#.to_owned(), false),
            (r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#.to_owned(), false),
            (r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#.to_owned(), false),
            (r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#.to_owned(), false),
        ];
        for (text, expected) in cases {
            let message: ClientJsonRpcMessage = serde_json::from_str(&text).unwrap();
            assert_eq!(begins(&message), expected, "{text}");
        }
    }
}
