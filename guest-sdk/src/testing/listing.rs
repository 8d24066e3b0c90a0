//! What was changed of what is shown, kept for the test. Items are not looked up in a manifest.

use std::cell::RefCell;

use super::{client, entities};
use crate::bindings::remit::capability::listing::{Error, Item};

/// A change of what is shown.
#[derive(Clone, Debug, PartialEq)]
pub enum Shown {
    /// An item is shown again.
    Offered(Item),
    /// An item is shown no more.
    Withdrawn(Item),
    /// Those who listen heard that what is at this address changed.
    Updated(String),
}

thread_local! {
    static SHOWN: RefCell<Vec<Shown>> = const { RefCell::new(Vec::new()) };
}

/// The changes of what is shown that this thread made since this was last asked.
#[must_use]
pub fn shown() -> Vec<Shown> {
    SHOWN.take()
}

pub(crate) fn offer(item: &Item, offered: bool) -> Result<(), Error> {
    let item = item.clone();
    keep(if offered { Shown::Offered(item) } else { Shown::Withdrawn(item) })
}

pub(crate) fn updated(uri: &str) -> Result<(), Error> {
    keep(Shown::Updated(uri.to_owned()))
}

fn keep(shown: Shown) -> Result<(), Error> {
    if entities::is_read_only() {
        return Err(Error::ReadOnly);
    }
    client::changed_if(true);
    SHOWN.with_borrow_mut(|changes| changes.push(shown));
    Ok(())
}
