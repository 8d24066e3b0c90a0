//! DNS and TCP as a test scripts them: every name has a public address, every connection ends at the upstream,
//! and both are counted. So a test can say that a name was not even looked up.

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex};

use remit::egress::{self, BoxFuture, Dialer, Resolver, Socket};
use tokio::net::TcpStream;

/// Where every name is, unless the test says otherwise: public, and nobody connects to it.
pub(crate) const PUBLIC: IpAddr = IpAddr::V4(Ipv4Addr::new(93, 184, 215, 14));

/// What a look-up gives.
#[derive(Clone)]
pub(crate) enum Lookup {
    /// This address.
    Address(IpAddr),
    /// An error in these words.
    Fails(&'static str),
    /// A panic in these words: a bug in a library.
    Panics(&'static str),
}

/// What a connection becomes.
#[derive(Clone, Copy)]
pub(crate) enum Dial {
    /// One to this address instead.
    To(SocketAddr),
    /// An error in these words.
    Fails(&'static str),
}

/// The world outside one home.
pub(crate) struct Outside {
    names: Mutex<BTreeMap<String, Lookup>>,
    dial: Mutex<Dial>,
    looked_up: Mutex<Vec<String>>,
    dialled: Mutex<Vec<SocketAddr>>,
}

impl Outside {
    /// A world in which everything is at `upstream`.
    pub(crate) fn at(upstream: SocketAddr) -> Arc<Self> {
        Arc::new(Self {
            names: Mutex::default(),
            dial: Mutex::new(Dial::To(upstream)),
            looked_up: Mutex::default(),
            dialled: Mutex::default(),
        })
    }

    /// What the host takes.
    pub(crate) fn wired(self: &Arc<Self>) -> egress::Outside {
        egress::Outside { resolver: self.clone(), dialer: self.clone() }
    }

    /// From now on `name` is looked up so.
    pub(crate) fn name(&self, name: &str, lookup: Lookup) {
        self.names.lock().expect("no panic").insert(name.to_owned(), lookup);
    }

    /// From now on connections become this.
    pub(crate) fn dial(&self, dial: Dial) {
        *self.dial.lock().expect("no panic") = dial;
    }

    /// How many names were looked up and how many connections were tried so far.
    pub(crate) fn counts(&self) -> (usize, usize) {
        (self.looked_up.lock().expect("no panic").len(), self.dialled.lock().expect("no panic").len())
    }
}

impl Resolver for Outside {
    fn resolve<'a>(&'a self, name: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>> {
        self.looked_up.lock().expect("no panic").push(name.to_owned());
        let lookup = self.names.lock().expect("no panic").get(name).cloned();
        Box::pin(async move {
            match lookup.unwrap_or(Lookup::Address(PUBLIC)) {
                Lookup::Address(address) => Ok(vec![address]),
                Lookup::Fails(words) => Err(io::Error::other(words)),
                Lookup::Panics(words) => panic!("{words}"),
            }
        })
    }
}

impl Dialer for Outside {
    fn connect(&self, address: SocketAddr) -> BoxFuture<'_, io::Result<Socket>> {
        self.dialled.lock().expect("no panic").push(address);
        let dial = *self.dial.lock().expect("no panic");
        Box::pin(async move {
            match dial {
                Dial::To(upstream) => {
                    // A `connect` line of the settings leads to a server of the test's own.
                    let there = if address.ip().is_loopback() { address } else { upstream };
                    let stream = TcpStream::connect(there).await?;
                    stream.set_nodelay(true)?;
                    let local = stream.local_addr()?;
                    Ok(Socket { stream: Box::new(stream), peer: address, local })
                }
                Dial::Fails(words) => Err(io::Error::other(words)),
            }
        })
    }
}
