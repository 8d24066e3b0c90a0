//! `remit publish`, `remit yank` and `remit revoke NAME@VERSION`: what a publisher says of releases, signed.

use std::path::PathBuf;

use clap::Args;
use serde_json::json;

use super::{Context, known, on_threads, reviewed};
use crate::clock::Clock;
use crate::component::{self, read_manifest};
use crate::error::Result;
use crate::registries::{Registry, State};
use crate::registry::{Digest, Exact};
use crate::review::compatible::predecessor;
use crate::review::publishable;
use crate::signing::{Signed, SigningKey, Statement, Withdrawal, WithdrawalKind};

/// Sign a component and send it to a registry, where it waits for a reviewer
///
/// A version is published once. What a reviewer will see of it is what `remit inspect` shows.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  remit publish weather.wasm
  remit publish weather.wasm --registry main")]
pub(super) struct PublishArgs {
    /// The component, as `remit build` makes it
    file: PathBuf,
    /// The registry, by its name in `remit.toml` [default: `registries.default`]
    #[arg(long, value_name = "NAME")]
    registry: Option<String>,
}

/// Say that a release should not be installed any more
///
/// Who has it keeps it, with a warning. `remit revoke NAME@VERSION` is the stronger word: it stops.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  remit yank acme/weather@1.2.0 --reason 'wrong units'")]
pub(super) struct YankArgs {
    /// The release, `publisher/slug@1.2.0`
    release: Exact,
    /// Why
    #[arg(long, value_name = "TEXT")]
    reason: String,
    /// The registry, by its name in `remit.toml` [default: `registries.default`]
    #[arg(long, value_name = "NAME")]
    registry: Option<String>,
}

/// Runs `remit publish`.
#[expect(clippy::needless_pass_by_value, reason = "every command takes its arguments")]
pub(super) fn run(args: PublishArgs, context: &Context) -> Result<()> {
    let output = context.output;
    let app = context.open()?;
    let key = SigningKey::open(&context.home()?)?;
    // Read once: what is checked, signed and sent is this buffer.
    let bytes = component::read(&args.file)?;
    let manifest = read_manifest(&bytes)?;
    let said = Statement::of(&manifest, Digest::of(&bytes), Clock::system().now_ms());
    let release = said.release()?;
    let registry = app.registry(args.registry.as_deref())?;
    let before = on_threads(before(&release, &registry))?;
    // What its reviewer will see. A version that breaks callers ends here, before anything is signed or sent.
    let checked = publishable(&bytes, before.as_deref(), &known::neighbours(context)?)?;
    output.note(&reviewed::report(checked.report()));
    if let Some(compared) = checked.compared() {
        output.note(&reviewed::compared(compared));
    }
    let statement = Signed::new(said, &key)?;
    let state = output.during("publishing", || on_threads(registry.submit(&statement, &bytes)))?;
    if output.is_json() {
        let digest = Digest::of(&bytes).to_string();
        let value = json!({
            "release": release.to_string(), "digest": digest, "registry": registry.name(), "state": state,
        });
        return output.value(&value);
    }
    output.text(&format!("{release} is {state} in {}", registry.name()))
}

/// The bytes of the published version that this one follows.
async fn before(release: &Exact, registry: &Registry) -> Result<Option<Vec<u8>>> {
    let published = registry.list().await?.into_iter();
    let published = published.filter(|(known, state)| known.name == release.name && *state == State::Published);
    let published: Vec<Exact> = published.map(|(known, _)| known).collect();
    let before = predecessor(published.iter().map(|known| &known.version), &release.version).cloned();
    let Some(version) = before else { return Ok(None) };
    let known = registry.release(&Exact { name: release.name.clone(), version }).await?;
    // By whomever it was signed: it is compared with, not installed. The registry compares once more.
    let digest = known.statement.open()?.0.component_sha256;
    registry.bytes(&digest, &mut |_, _| ()).await.map(Some)
}

/// Runs `remit yank`.
pub(super) fn yank(args: YankArgs, context: &Context) -> Result<()> {
    withdraw(&args.release, WithdrawalKind::Yank, args.reason, args.registry.as_deref(), context)
}

/// Signs a withdrawal and sends it.
pub(super) fn withdraw(
    release: &Exact,
    kind: WithdrawalKind,
    reason: String,
    registry: Option<&str>,
    context: &Context,
) -> Result<()> {
    let app = context.open()?;
    let key = SigningKey::open(&context.home()?)?;
    let said = Withdrawal { release: release.to_string(), kind, reason, signed_at: Clock::system().now_ms() };
    let withdrawal = Signed::new(said, &key)?;
    let registry = app.registry(registry)?;
    let state = on_threads(registry.withdraw(&withdrawal))?;
    if context.output.is_json() {
        let value = json!({ "release": release.to_string(), "registry": registry.name(), "state": state });
        return context.output.value(&value);
    }
    context.output.text(&format!("{release} is {state} in {}", registry.name()))
}
