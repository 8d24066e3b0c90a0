//! Which bytes a word of the command line means: a capability of this program, a release, or a file.

use std::path::Path;

use super::Context;
use crate::admin::{Admin, Offer};
use crate::component;
use crate::error::{Error, ErrorKind, Result};
use crate::registry::{Exact, is_release};

/// What the word offers. A file of such a name as `remit/loops` is written `./remit/loops`.
pub(super) fn offer(word: &Path, admin: &Admin, context: &Context) -> Result<Offer> {
    let text = word.to_str().unwrap_or_default();
    if is_release(text) {
        let release: Exact = text.parse()?;
        let message = format!("no registry is known to ask for `{release}`");
        return Err(Error::new(ErrorKind::RegistryNotFound, message).hint("remit install FILE.wasm"));
    }
    if let Some(offer) = text.parse().ok().map_or(Ok(None), |name| admin.offer_builtin(&name))? {
        return Ok(offer);
    }
    let bytes = component::read(word)?;
    context.output.during("checking", || admin.offer(bytes))
}
