//! What registries say against installed releases: asked for by a person, and by a server from time to time.
//!
//! A registry that cannot be reached says nothing: what is installed goes on, and what was heard before stays.

use std::time::Duration;

use clap::Args;
use serde_json::json;

use super::output::Output;
use super::{Context, on_threads};
use crate::app::App;
use crate::error::{Error, Result};
use crate::registries::Registry;
use crate::registry::{Against, Exact, Recall};
use crate::signing::{Owners, WithdrawalKind, verify};

/// Ask registries what was said against installed releases
///
/// What was revoked stops at once, in every process; what was yanked goes on with a warning. Only what somebody signed
/// whose key this data directory trusts counts. `remit serve` asks by itself, and so does `remit sync`.
#[derive(Debug, Args)]
pub(super) struct RefreshArgs {}

/// What came of asking.
#[derive(Debug, Default)]
pub(super) struct Heard {
    /// Releases of which something new was said.
    pub(super) news: Vec<(Exact, Recall)>,
    /// Releases that could not be asked about, and why.
    pub(super) failed: Vec<(Exact, Error)>,
}

/// Runs it.
pub(super) fn run(_args: RefreshArgs, context: &Context) -> Result<()> {
    let app = context.open()?;
    let heard = on_threads(refresh(&app))?;
    if context.output.is_json() {
        let news = heard.news.iter().map(|(release, recall)| {
            json!({ "release": release.to_string(), "recall": super::describe::recall_value(recall) })
        });
        let failed = heard
            .failed
            .iter()
            .map(|(release, error)| json!({ "release": release.to_string(), "error": error.message }));
        return context
            .output
            .value(&json!({ "news": news.collect::<Vec<_>>(), "failed": failed.collect::<Vec<_>>() }));
    }
    tell(&heard, context.output);
    if heard.news.is_empty() && heard.failed.is_empty() {
        context.output.note("nothing new was said against what is installed");
    }
    Ok(())
}

/// Tells a person.
pub(super) fn tell(heard: &Heard, output: Output) {
    for (release, recall) in &heard.news {
        output.warn(&format!("`{release}` was {}", recall.account()));
    }
    for (release, error) in &heard.failed {
        output.warn(&format!("nobody could be asked about `{release}`: {}", error.message));
    }
}

/// Asks about every installed release that came from a registry, and about those that a rollback could return to.
pub(super) async fn refresh(app: &App) -> Result<Heard> {
    let (admin, owners) = (app.admin(), app.admin().owners()?);
    let mut heard = Heard::default();
    for entry in admin.installed()?.entries.values() {
        let Some(origin) = &entry.origin else { continue };
        let name = &entry.capability.name;
        let earlier = admin.earlier(name)?.into_iter().map(|earlier| earlier.version);
        let registry = app.registry(Some(&origin.registry));
        for version in std::iter::once(entry.capability.manifest.version.clone()).chain(earlier) {
            let release = Exact { name: name.clone(), version };
            let asked = match &registry {
                Ok(registry) => ask(registry, &release, &owners).await,
                Err(error) => Err(error.clone()),
            };
            match asked {
                Ok(Some(recall)) => {
                    if admin.hear(&release, &recall)?.is_news {
                        heard.news.push((release, recall));
                    }
                }
                Ok(None) => {}
                Err(error) => heard.failed.push((release, error)),
            }
        }
    }
    Ok(heard)
}

/// What a registry says against a release, as far as somebody signed it who may.
async fn ask(registry: &Registry, release: &Exact, owners: &Owners) -> Result<Option<Recall>> {
    let verified = verify(release, &registry.release(release).await?, owners)?;
    Ok(verified.against.map(|(kind, reason, at)| {
        let against = match kind {
            WithdrawalKind::Revoke => Against::Revoked,
            WithdrawalKind::Yank | WithdrawalKind::Remove => Against::Yanked,
        };
        Recall { against, reason: Some(reason), source: Some(registry.name().to_owned()), at }
    }))
}

/// Minutes between two times without a setting: a revocation is no matter of seconds, and a registry of a company is
/// asked by every machine.
const MINUTES: u64 = 60;

/// Asks from time to time, for as long as the server runs; the first time at once.
pub(super) async fn keep_asking(app: &App, minutes: Option<u64>) {
    let minutes = minutes.unwrap_or(MINUTES);
    if minutes == 0 {
        return std::future::pending().await;
    }
    let mut beat = tokio::time::interval(Duration::from_secs(minutes.saturating_mul(60)));
    loop {
        beat.tick().await;
        match refresh(app).await {
            Ok(heard) => {
                for (release, recall) in heard.news {
                    tracing::warn!("`{release}` was {}", recall.account());
                }
                for (release, error) in heard.failed {
                    tracing::warn!("nobody could be asked about `{release}`: {error}");
                }
            }
            Err(error) => tracing::warn!("registries could not be asked: {error}"),
        }
    }
}
