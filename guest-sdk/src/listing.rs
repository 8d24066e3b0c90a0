//! What this capability shows to agents at the moment, over `wit/listing.wit`. It can only narrow what the manifest
//! declares, and never what a person decided.
//!
//! ```
//! use remit_sdk::listing::{self, Item};
//!
//! # fn main() -> Result<(), remit_sdk::Failure> {
//! listing::withdraw(&Item::tool("search"))?; // until the index is there
//! listing::offer(&Item::tool("search"))?;
//! listing::updated("note:7")?; // whoever reads it hears that it changed
//! # Ok(()) }
//! ```

use std::fmt;

use crate::bindings::remit::capability::listing as wit;
pub use crate::bindings::remit::capability::listing::Item;
#[cfg(not(target_arch = "wasm32"))]
use crate::testing::listing as host;
#[cfg(target_arch = "wasm32")]
use wit as host;

/// Why nothing was changed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// The manifest declares no such item.
    NotFound(String),
    /// The tool is declared to change nothing.
    ReadOnly,
    /// Too many changes in one call.
    Limit,
    /// The host cannot do it now.
    Unavailable,
}

impl Item {
    /// The tool of this name.
    #[must_use]
    pub fn tool(name: impl Into<String>) -> Self {
        Self::Tool(name.into())
    }

    /// The prompt of this name.
    #[must_use]
    pub fn prompt(name: impl Into<String>) -> Self {
        Self::Prompt(name.into())
    }

    /// The resource at this address, or the family of this template.
    #[must_use]
    pub fn resource(uri: impl Into<String>) -> Self {
        Self::Resource(uri.into())
    }
}

/// Shows an item again.
pub fn offer(item: &Item) -> Result<(), Error> {
    Ok(host::offer(item, true)?)
}

/// Withdraws an item until it is offered again: it is not listed, and cannot be called.
pub fn withdraw(item: &Item) -> Result<(), Error> {
    Ok(host::offer(item, false)?)
}

/// Tells those who listen that what is at this address changed.
pub fn updated(uri: &str) -> Result<(), Error> {
    Ok(host::updated(uri)?)
}

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotFound(what) => write!(formatter, "the manifest declares no `{what}`"),
            Self::ReadOnly => formatter.write_str("the tool is declared to change nothing"),
            Self::Limit => formatter.write_str("one call changes too much of what is shown"),
            Self::Unavailable => formatter.write_str("what is shown cannot be changed now"),
        }
    }
}

impl std::error::Error for Error {}

impl From<wit::Error> for Error {
    fn from(error: wit::Error) -> Self {
        match error {
            wit::Error::NotFound(what) => Self::NotFound(what),
            wit::Error::ReadOnly => Self::ReadOnly,
            wit::Error::Limit => Self::Limit,
            wit::Error::Unavailable => Self::Unavailable,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{self, Shown};

    #[test]
    fn changes_are_kept_for_tests() {
        let item = Item::prompt("sum_up");
        assert_eq!((withdraw(&item), offer(&item), updated("note:1")), (Ok(()), Ok(()), Ok(())));
        assert_eq!(
            testing::shown(),
            [Shown::Withdrawn(item.clone()), Shown::Offered(item), Shown::Updated("note:1".to_owned())]
        );
        assert_eq!(testing::shown(), []);
    }
}
