//! Connects to the addresses that were checked, and to nothing else: TCP, then TLS for the name.
//!
//! No proxy is ever used: it would resolve the name again. No connection is kept: the next request is judged
//! anew. The only file that opens a socket to the world.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use rustls::ClientConfig;
use rustls_pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout, timeout_at};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::resolve::BoxFuture;
use super::{Refusal, addresses};
use crate::secrets::Prepared;

/// A two-way stream of bytes.
pub trait Stream: AsyncRead + AsyncWrite + Unpin + Send {}

impl<T: AsyncRead + AsyncWrite + Unpin + Send> Stream for T {}

/// A connection as the system describes it.
pub struct Socket {
    /// Its bytes.
    pub stream: Box<dyn Stream>,
    /// The address at the other end.
    pub peer: SocketAddr,
    /// The address at this end.
    pub local: SocketAddr,
}

/// How connections are made: by the system, or by a test that counts.
pub trait Dialer: Send + Sync {
    /// Connects to `address`.
    fn connect(&self, address: SocketAddr) -> BoxFuture<'_, io::Result<Socket>>;
}

/// TCP.
#[derive(Debug, Default)]
pub struct TcpDialer;

impl Dialer for TcpDialer {
    #[expect(clippy::disallowed_methods, reason = "this is the one gate for sockets")]
    fn connect(&self, address: SocketAddr) -> BoxFuture<'_, io::Result<Socket>> {
        Box::pin(async move {
            let stream = TcpStream::connect(address).await?;
            stream.set_nodelay(true)?;
            let (peer, local) = (stream.peer_addr()?, stream.local_addr()?);
            Ok(Socket { stream: Box::new(stream), peer, local })
        })
    }
}

/// A request and the connection that was made for it. Only [`dial`] makes one.
pub(super) struct Dialled {
    prepared: Prepared,
    stream: TlsStream<Box<dyn Stream>>,
    address: SocketAddr,
}

impl Dialled {
    /// The address it is connected to.
    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(super) fn into_parts(self) -> (Prepared, TlsStream<Box<dyn Stream>>) {
        (self.prepared, self.stream)
    }
}

/// Connects for a prepared request. What is dialled is in the request: it cannot be another address.
pub(super) async fn dial(
    prepared: Prepared,
    dialer: &dyn Dialer,
    tls: Arc<ClientConfig>,
    within: Duration,
) -> Result<Dialled, Refusal> {
    let deadline = Instant::now() + within;
    let (socket, address) = connect(prepared.addresses(), dialer, deadline).await?;
    check_ends(&socket, address)?;
    let name = ServerName::try_from(prepared.target().host().to_owned()).map_err(|_| Refusal::TlsFailed)?;
    let handshake = TlsConnector::from(tls).connect(name, socket.stream);
    match timeout_at(deadline, handshake).await {
        Ok(Ok(stream)) => Ok(Dialled { prepared, stream, address }),
        Ok(Err(_)) => Err(Refusal::TlsFailed),
        Err(_) => Err(Refusal::Timeout),
    }
}

/// The first address that answers. Each gets an equal share of the time left, so that one that swallows packets
/// does not hide the next.
async fn connect(
    addresses: &[SocketAddr],
    dialer: &dyn Dialer,
    deadline: Instant,
) -> Result<(Socket, SocketAddr), Refusal> {
    let mut last = Refusal::ConnectFailed;
    for (address, left) in addresses.iter().zip((1..=addresses.len()).rev()) {
        let share = (deadline - Instant::now()) / u32::try_from(left).unwrap_or(u32::MAX);
        match timeout(share, dialer.connect(*address)).await {
            Ok(Ok(socket)) => return Ok((socket, *address)),
            Ok(Err(_)) => last = Refusal::ConnectFailed,
            Err(_) => last = Refusal::Timeout,
        }
    }
    Err(last)
}

/// Reads both ends back from the system. A public address of this very machine is not public to itself: what
/// listens there may trust local clients.
fn check_ends(socket: &Socket, asked: SocketAddr) -> Result<(), Refusal> {
    let itself = socket.local.ip() == socket.peer.ip() && addresses::public(socket.peer.ip());
    if socket.peer != asked || itself {
        return Err(Refusal::PrivateAddress(socket.peer.ip()));
    }
    Ok(())
}
