//! Compiled code beside a change of pins: made before, so that no agent waits for it, and removed with the last pin.

use super::on_threads;
use super::output::Output;
use crate::admin::Offer;
use crate::app::App;
use crate::error::Result;
use crate::manifest::Runtime;
use crate::registry::Digest;

/// Compiles what is to be pinned. What cannot be compiled, or has no place here, is an error, and no pin changes.
pub(super) fn ahead(app: &App, offer: &Offer, output: Output) -> Result<()> {
    if matches!(offer.capability.manifest.runtime, Runtime::Component | Runtime::Engine) {
        output.during("compiling", || on_threads(app.prepare(&offer.bytes)))?;
    }
    Ok(())
}

/// Removes the code of bytes that nobody needs any more.
pub(super) fn forget(app: &App, left: &[Digest]) -> Result<()> {
    left.iter().try_for_each(|digest| app.forget(digest))
}
