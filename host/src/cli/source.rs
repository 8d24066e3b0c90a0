//! Which bytes a word of the command line means: a capability of this program, a release in a registry, or a file.

use std::path::Path;

use super::{Context, on_threads};
use crate::admin::Offer;
use crate::app::App;
use crate::component;
use crate::error::{Error, ErrorKind, Result};
use crate::registries::{State, resolve};
use crate::registry::{CapabilityName, Entry, Exact, is_release};

/// What the word offers. A file of such a name as `remit/loops` is written `./remit/loops`.
pub(super) fn offer(word: &Path, registry: Option<&str>, app: &App, context: &Context) -> Result<Offer> {
    let text = word.to_str().unwrap_or_default();
    if is_release(text) {
        return release(&text.parse()?, registry, app, context);
    }
    let admin = app.admin();
    if let Some(offer) = text.parse().ok().map_or(Ok(None), |name| admin.offer_builtin(&name))? {
        return Ok(offer);
    }
    let bytes = component::read(word)?;
    context.output.during("checking", || admin.offer(bytes))
}

/// A release of a registry, once its bytes, its signature and its review are verified by the keys of this home.
pub(super) fn release(release: &Exact, registry: Option<&str>, app: &App, context: &Context) -> Result<Offer> {
    let installed = app.admin().installed()?;
    let known = installed.entries.get(&release.name).and_then(|entry| known(entry));
    let registry = app.registry(registry.or(known))?;
    let owners = app.admin().owners()?;
    let mut bar = context.output.bar("downloading");
    let resolved = on_threads(resolve(&registry, release, &owners, &mut bar))?;
    app.admin().offer_release(resolved)
}

/// The newest published version of an installed capability, where there is a newer one. It is only a proposal: what is
/// pinned is one exact release, and what is shown of it is decided about.
pub(super) fn newest(name: &CapabilityName, registry: Option<&str>, app: &App) -> Result<Exact> {
    let entry = app.admin().find(name)?;
    let registry = app.registry(registry.or(known(&entry)))?;
    let installed = &entry.capability.manifest.version;
    let releases = on_threads(registry.list())?;
    let newer = releases.into_iter().filter(|(release, state)| {
        release.name == *name
            && *state == State::Published
            && release.version.pre.is_empty()
            && release.version > *installed
    });
    newer.map(|(release, _)| release).max_by(|one, other| one.version.cmp(&other.version)).ok_or_else(|| {
        let message = format!("the registry `{}` has nothing newer than `{name}` {installed}", registry.name());
        Error::new(ErrorKind::RegistryNotFound, message)
    })
}

/// The registry that an install came from.
fn known(entry: &Entry) -> Option<&str> {
    entry.origin.as_ref().map(|origin| origin.registry.as_str())
}
