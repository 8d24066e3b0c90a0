//! Which bytes a word of the command line means: a capability of this program, or a file. What a release in a registry
//! is, the registry's client says.

use std::path::Path;

use super::Context;
use crate::admin::{Admin, Offer};
use crate::component;
use crate::error::Result;

/// What the word offers. A file of such a name as `remit/loops` is written `./remit/loops`.
pub(super) fn offer(word: &Path, admin: &Admin, context: &Context) -> Result<Offer> {
    let own = word.to_str().and_then(|text| text.parse().ok());
    if let Some(offer) = own.map_or(Ok(None), |name| admin.offer_builtin(&name))? {
        return Ok(offer);
    }
    let bytes = component::read(word)?;
    context.output.during("checking", || admin.offer(bytes))
}
