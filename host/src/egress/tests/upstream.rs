//! The world as the unit tests script it: names, addresses, and what is at the other end of a connection.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex};

use remit_upstream::script::{Log, Reply, serve};

use super::super::{BoxFuture, Dialer, Resolver, Socket, Stream};

/// A resolver that follows a script and counts.
#[derive(Clone)]
pub(super) struct FakeResolver {
    names: BTreeMap<String, Vec<IpAddr>>,
    /// Names whose look-up never ends.
    pub(super) hangs: bool,
    calls: Arc<Mutex<Vec<String>>>,
}

impl FakeResolver {
    pub(super) fn new(names: &[(&str, &[&str])]) -> Self {
        let addresses = |texts: &[&str]| texts.iter().map(|text| text.parse().unwrap()).collect();
        let names = names.iter().map(|(name, texts)| ((*name).to_owned(), addresses(texts))).collect();
        Self { names, hangs: false, calls: Arc::default() }
    }

    pub(super) fn calls(&self) -> Vec<String> {
        self.calls.lock().unwrap().clone()
    }
}

impl Resolver for FakeResolver {
    fn resolve<'a>(&'a self, name: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>> {
        self.calls.lock().unwrap().push(name.to_owned());
        Box::pin(async move {
            if self.hangs {
                std::future::pending::<()>().await;
            }
            self.names.get(name).cloned().ok_or_else(|| io::Error::other("no such name at ns1.corp.example"))
        })
    }
}

/// A dialer that follows a script, counts, and keeps what its servers read.
#[derive(Clone, Default)]
pub(super) struct FakeDialer {
    replies: Arc<Mutex<VecDeque<Reply>>>,
    /// The address at this end of every connection.
    pub(super) local: Option<SocketAddr>,
    calls: Arc<Mutex<Vec<SocketAddr>>>,
    log: Log,
}

impl FakeDialer {
    pub(super) fn new(replies: impl IntoIterator<Item = Reply>) -> Self {
        Self { replies: Arc::new(Mutex::new(replies.into_iter().collect())), ..Self::default() }
    }

    pub(super) fn calls(&self) -> Vec<SocketAddr> {
        self.calls.lock().unwrap().clone()
    }

    pub(super) fn requests(&self) -> Vec<String> {
        self.log.requests()
    }
}

impl Dialer for FakeDialer {
    fn connect(&self, address: SocketAddr) -> BoxFuture<'_, io::Result<Socket>> {
        self.calls.lock().unwrap().push(address);
        let reply = self.replies.lock().unwrap().pop_front().expect("one reply for each connection");
        Box::pin(async move {
            let mut peer = address;
            match &reply {
                Reply::Refused => return Err(io::Error::other("refused by 10.9.8.7")),
                Reply::Silent => std::future::pending().await,
                Reply::Elsewhere(other) => peer = *other,
                _ => {}
            }
            // Small, so that a flood is held back by a reader that stops.
            let (near, far) = tokio::io::duplex(16 * 1024);
            tokio::spawn(serve(far, reply, self.log.clone()));
            let local = self.local.unwrap_or_else(|| "10.0.0.1:50000".parse().unwrap());
            Ok(Socket { stream: Box::new(near) as Box<dyn Stream>, peer, local })
        })
    }
}
