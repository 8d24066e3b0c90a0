//! Connections as a case scripts them: a dialer that leads to the scripted server and notes what it was asked.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::{Mutex, PoisonError};

use remit::egress::{BoxFuture, Dialer, Socket, Stream, TcpDialer};
use remit_upstream::script::{Log, Reply, serve};
use tokio::net::TcpListener;

/// Bytes that a pipe in memory holds: so few that a server waits for its reader.
const PIPE: usize = 16 * 1024;

/// The address at this end, unless a case says otherwise.
const LOCAL: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1)), 50_000);

/// What a connection is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wire {
    /// A pipe in memory. Time is not real.
    Memory,
    /// The host's own TCP, to a listener on loopback.
    Tcp,
}

/// The dialer of one case.
#[derive(Debug)]
pub(super) struct Wires {
    wire: Wire,
    replies: Vec<Reply>,
    /// The address at the other end, where it is not the one asked for.
    peer: Option<IpAddr>,
    /// Whether this end has the address of the other.
    is_own: bool,
    asked: Mutex<Vec<SocketAddr>>,
    pub(super) log: Log,
}

impl Wires {
    /// Connections that do these, one after the other; the last repeats.
    pub(super) fn new(wire: Wire, replies: Vec<Reply>) -> Self {
        Self { wire, replies, peer: None, is_own: false, asked: Mutex::default(), log: Log::default() }
    }

    pub(super) fn leading_to(mut self, peer: Option<IpAddr>) -> Self {
        self.peer = peer;
        self
    }

    pub(super) fn leading_home(mut self, is_own: bool) -> Self {
        self.is_own = is_own;
        self
    }

    pub(super) fn asked(&self) -> Vec<SocketAddr> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Where a connection to `address` leads.
    pub(super) fn peer(&self, address: SocketAddr) -> IpAddr {
        self.peer.unwrap_or(address.ip())
    }

    fn next_reply(&self, address: SocketAddr) -> Reply {
        let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        asked.push(address);
        let reply = self.replies.get(asked.len() - 1).or(self.replies.last());
        reply.cloned().unwrap_or(Reply::Refused)
    }
}

impl Dialer for Wires {
    fn connect(&self, address: SocketAddr) -> BoxFuture<'_, io::Result<Socket>> {
        let reply = self.next_reply(address);
        Box::pin(async move {
            match &reply {
                Reply::Refused => return Err(io::ErrorKind::ConnectionRefused.into()),
                Reply::Silent => std::future::pending().await,
                _ => {}
            }
            let stream = match self.wire {
                Wire::Memory => {
                    let (near, far) = tokio::io::duplex(PIPE);
                    tokio::spawn(serve(far, reply, self.log.clone()));
                    Box::new(near) as Box<dyn Stream>
                }
                Wire::Tcp => {
                    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
                    let there = listener.local_addr()?;
                    let log = self.log.clone();
                    tokio::spawn(async move { serve(listener.accept().await?.0, reply, log).await });
                    TcpDialer.connect(there).await?.stream
                }
            };
            let peer = SocketAddr::new(self.peer(address), address.port());
            let local = if self.is_own { SocketAddr::new(peer.ip(), LOCAL.port()) } else { LOCAL };
            Ok(Socket { stream, peer, local })
        })
    }
}
