//! Tokens that have ended are renewed here: after a request's name and address were approved, before a value is put
//! in, and only for the placeholders that stand in it. A request that is refused earlier, or only planned, renews
//! nothing.

use std::collections::BTreeSet;

use super::{Egress, Ledger, Refusal, Sender};
use crate::policy::Granted;
use crate::secrets::Opened;

/// The values of the call, after those that stand in a request were renewed if they are due. `placeholders` are its
/// placeholders, with the names that their values are stored under.
///
/// A token that is due but has not ended yet is used all the same when it cannot be renewed.
pub(super) async fn fresh<'s>(
    egress: &Egress,
    sender: &Sender<'s>,
    granted: &Granted,
    placeholders: &BTreeSet<(String, String)>,
    ledger: &mut Ledger,
) -> Result<&'s Opened, Refusal> {
    let opened = sender.secrets.opened(granted).map_err(Refusal::Vault)?;
    let Some(connections) = &egress.connections else { return Ok(opened) };
    let mut is_renewed = false;
    for (name, source) in placeholders {
        let Some(validity) = opened.set.validity(source).filter(|found| found.is_due(connections.now_ms())) else {
            continue;
        };
        let renewed = match connections.turn(source).await {
            Ok(None) => Ok(()),
            Ok(Some(renewal)) => {
                ledger.begin_own(renewal.record());
                let (record, renewed) = renewal.run().await;
                ledger.end_own(record);
                renewed
            }
            Err(why) => Err(why),
        };
        match renewed {
            Ok(()) => is_renewed = true,
            Err(_) if !validity.has_ended(connections.now_ms()) => {}
            Err(why) => return Err(Refusal::NotRenewed { name: name.clone(), hint: why.hint(source) }),
        }
    }
    if is_renewed { sender.secrets.opened(granted).map_err(Refusal::Vault) } else { Ok(opened) }
}

/// The upstream answered 401: the tokens of this request are renewed before their next use, unless they are too
/// young for that to help. The request itself is not sent again: whether it may be is not known here.
pub(super) async fn refused(egress: &Egress, opened: &Opened, placeholders: &BTreeSet<(String, String)>) {
    let Some(connections) = &egress.connections else { return };
    for (_, source) in placeholders {
        if let Some(validity) = opened.set.validity(source) {
            connections.refused(source, validity.clone()).await;
        }
    }
}
