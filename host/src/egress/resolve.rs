//! From a name to addresses, once: what is dialled later is what was judged here, never the name again.
//!
//! One address that is not public refuses the whole name, because its owner decides which one is taken.

use std::future::Future;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::time::Duration;

use tokio::time::timeout;

use super::request::Checked;
use super::{Exceptions, Refusal, addresses};

/// Addresses of one name. More is not a service but a way to make this host scan.
const ADDRESSES: usize = 32;

/// A future that a trait returns.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// How names become addresses: the system, or a test that counts.
pub trait Resolver: Send + Sync {
    /// The addresses of `name`, which is absolute though it has no final dot.
    fn resolve<'a>(&'a self, name: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>>;
}

/// The system's resolver.
#[derive(Debug, Default)]
pub struct SystemResolver;

impl Resolver for SystemResolver {
    #[expect(clippy::disallowed_methods, reason = "this is the one gate for DNS")]
    fn resolve<'a>(&'a self, name: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>> {
        Box::pin(async move {
            // The final dot keeps the search domains of this machine out.
            let absolute = format!("{name}.");
            let found = tokio::net::lookup_host((absolute.as_str(), 0)).await?;
            Ok(found.map(|address| address.ip()).collect())
        })
    }
}

/// A request with the addresses it may go to. Only [`resolve`] makes one.
#[derive(Debug)]
pub struct Approved<'t> {
    request: Checked<'t>,
    addresses: Vec<SocketAddr>,
}

impl<'t> Approved<'t> {
    /// The request.
    pub(super) fn request(&self) -> &Checked<'t> {
        &self.request
    }

    /// What substitution takes.
    pub(crate) fn into_parts(self) -> (Checked<'t>, Vec<SocketAddr>) {
        (self.request, self.addresses)
    }
}

/// Resolves the host of a checked request and judges every address.
pub(super) async fn resolve<'t>(
    request: Checked<'t>,
    exceptions: &Exceptions,
    resolver: &dyn Resolver,
    within: Duration,
) -> Result<Approved<'t>, Refusal> {
    if let Some(address) = exceptions.address_of(request.target()) {
        return Ok(Approved { request, addresses: vec![address] });
    }
    let target = request.target();
    let found = match timeout(within, resolver.resolve(target.host())).await {
        Ok(Ok(found)) if (1..=ADDRESSES).contains(&found.len()) => found,
        // The resolver's own words stay here: they name servers and search domains.
        Ok(_) | Err(_) => return Err(Refusal::DnsFailed),
    };
    let refused =
        found.iter().find(|address| !addresses::public(**address) && !exceptions.allow_private(**address));
    if let Some(address) = refused {
        return Err(Refusal::PrivateAddress(*address));
    }
    let addresses = found.into_iter().map(|address| SocketAddr::new(address, target.port())).collect();
    Ok(Approved { request, addresses })
}
