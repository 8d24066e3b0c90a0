//! What a guest can reach: one row per namespace.
//!
//! Linking walks the table and links only what is granted, so an import that is not granted does not exist
//! for that instance. What a namespace may do is decided by `policy`; doing it is the namespace's own room.

pub mod ask;
pub mod entities;
pub mod http;
pub mod listing;
pub mod log;
pub mod loops;
pub mod progress;
pub mod sandbox;
mod words;

use wasmtime::component::Linker;

use self::ask::Ask;
use self::entities::Entities;
use self::http::Http;
use self::listing::Listing;
use self::log::Log;
use self::loops::Loops;
use self::progress::Progress;
use self::sandbox::Sandbox;
use crate::manifest::NamespaceName;
use crate::policy::Granted;
use crate::runtime::State;

/// What a call may change of what the host keeps for a capability.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// The tool is declared to change nothing.
    Read,
    /// Changes are planned, and seen by this call alone.
    Plan,
    /// Changes are made.
    Change,
}

/// What the namespaces hold for one call: one field each.
pub struct Services {
    /// Questions to the other end.
    pub ask: Ask,
    /// Documents.
    pub entities: Entities,
    /// Requests.
    pub http: Http,
    /// What is offered to agents.
    pub listing: Listing,
    /// Lines for the operator.
    pub log: Log,
    /// Schedules.
    pub loops: Loops,
    /// How far the call is.
    pub progress: Progress,
    /// Files of the conversation.
    pub sandbox: Sandbox,
}

impl Services {
    /// Whether this run of the guest has changed something, or may have: then it must not run again by itself.
    #[must_use]
    pub fn has_changed(&self) -> bool {
        self.http.ledger().may_have_changed()
            || self.entities.has_changed()
            || self.loops.has_changed()
            || self.listing.has_changed()
            || self.sandbox.has_changed()
    }
}

/// One host service.
pub struct Namespace {
    /// The one word for it.
    pub name: NamespaceName,
    /// The interface of the contract, with its version.
    pub interface: &'static str,
    /// Puts its functions into a linker.
    link: fn(&mut Linker<State>) -> wasmtime::Result<()>,
}

/// Every namespace this host offers.
pub const NAMESPACES: &[Namespace] = &[
    Namespace { name: NamespaceName::Ask, interface: ask::INTERFACE, link: ask::link },
    Namespace { name: NamespaceName::Entities, interface: entities::INTERFACE, link: entities::link },
    Namespace { name: NamespaceName::Http, interface: http::INTERFACE, link: http::link },
    Namespace { name: NamespaceName::Listing, interface: listing::INTERFACE, link: listing::link },
    Namespace { name: NamespaceName::Log, interface: log::INTERFACE, link: log::link },
    Namespace { name: NamespaceName::Loops, interface: loops::INTERFACE, link: loops::link },
    Namespace { name: NamespaceName::Progress, interface: progress::INTERFACE, link: progress::link },
    Namespace { name: NamespaceName::Sandbox, interface: sandbox::INTERFACE, link: sandbox::link },
];

/// The namespace behind an import, if this host offers it. Names are compared whole: a near miss in name or
/// version is another interface.
#[must_use]
pub fn of_interface(interface: &str) -> Option<NamespaceName> {
    NAMESPACES.iter().find(|namespace| namespace.interface == interface).map(|namespace| namespace.name)
}

/// A linker that holds what is granted and nothing else.
pub fn linker(engine: &wasmtime::Engine, granted: &Granted) -> wasmtime::Result<Linker<State>> {
    let mut linker = Linker::new(engine);
    for namespace in NAMESPACES {
        if granted.namespaces().contains(&namespace.name) {
            (namespace.link)(&mut linker)?;
        }
    }
    Ok(linker)
}
