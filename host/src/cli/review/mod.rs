//! `remit review`: releases that wait for a decision, what is to be known of them, and the decision.

mod decide;
mod list;
mod show;

use clap::{Args, Subcommand};

use super::{Context, known};
use crate::error::{Error, ErrorKind, Result};
use crate::registries::{Registry, State};
use crate::registry::{Digest, Exact};
use crate::review::{Compared, Neighbour, Report, compatible};
use crate::signing::PublicKey;

/// Look at releases that others submitted, and decide about them
///
/// A release is published when a reviewer of the registry signs that it may be. What is shown is made here, from the
/// bytes that wait; the decision names their digest, so that other bytes under the same version are not decided about.
/// Nobody decides about their own.
#[derive(Debug, Args)]
pub(super) struct ReviewArgs {
    #[command(subcommand)]
    command: ReviewCommand,
}

#[derive(Debug, Subcommand)]
enum ReviewCommand {
    List(list::ListArgs),
    Show(show::ShowArgs),
    Approve(decide::ApproveArgs),
    Reject(decide::RejectArgs),
}

/// Which registry.
#[derive(Debug, Args)]
struct Where {
    /// The registry, by its name in `remit.toml` [default: the only one, or `registries.default`]
    #[arg(long, value_name = "NAME")]
    registry: Option<String>,
}

/// Runs it.
pub(super) fn run(args: ReviewArgs, context: &Context) -> Result<()> {
    match args.command {
        ReviewCommand::List(args) => list::run(&args, context),
        ReviewCommand::Show(args) => show::run(&args, context),
        ReviewCommand::Approve(args) => decide::approve(&args, context),
        ReviewCommand::Reject(args) => decide::reject(&args, context),
    }
}

impl Where {
    fn open(&self, context: &Context) -> Result<Registry> {
        context.open()?.registry(self.registry.as_deref())
    }
}

/// A release with what its bytes say.
struct Shown {
    state: State,
    /// The key that signed it.
    key: PublicKey,
    report: Report,
    compared: Option<Compared>,
}

/// Fetches a release and makes the report. The registry is believed in nothing that is decided about: the statement's
/// signature, the digest of the bytes and their name are looked at here.
async fn look(registry: &Registry, release: &Exact, context: &Context) -> Result<Shown> {
    let all = registry.list().await?;
    let Some((_, state)) = all.iter().find(|(known, _)| known == release) else {
        return Err(Error::new(ErrorKind::ReleaseNotFound, format!("the registry has no `{release}`"))
            .hint("remit review list --all"));
    };
    let mut neighbours = known::neighbours(context)?;
    for (other, _) in all.iter().filter(|(other, state)| *state == State::Published && other.name != release.name)
    {
        if !neighbours.iter().any(|known| known.name == other.name) {
            neighbours.push(Neighbour { name: other.name.clone(), tools: Vec::new() });
        }
    }
    let (bytes, key) = fetch(registry, release, context).await?;
    let report = report(&bytes, release, &neighbours)?;
    let published: Vec<&Exact> = all
        .iter()
        .filter(|(other, state)| *state == State::Published && other.name == release.name)
        .map(|(other, _)| other)
        .collect();
    let before = compatible::predecessor(published.iter().map(|other| &other.version), &release.version);
    let before = before.and_then(|before| published.into_iter().find(|other| other.version == *before));
    let compared = match before {
        Some(before) => {
            let (bytes, _) = fetch(registry, before, context).await?;
            Some(Compared::between(&self::report(&bytes, before, &[])?, &report))
        }
        None => None,
    };
    Ok(Shown { state: *state, key, report, compared })
}

async fn fetch(registry: &Registry, release: &Exact, context: &Context) -> Result<(Vec<u8>, PublicKey)> {
    let (digest, key) = signed(registry, release).await?;
    let bytes = registry.bytes(&digest, &mut context.output.bar("fetching")).await?;
    if Digest::of(&bytes) == digest { Ok((bytes, key)) } else { Err(others(release)) }
}

/// The digest that a release's statement names, and the key that signed it.
async fn signed(registry: &Registry, release: &Exact) -> Result<(Digest, PublicKey)> {
    let documents = registry.release(release).await?;
    let (statement, key) = documents.statement.open()?;
    if statement.release()? == *release { Ok((statement.component_sha256, key)) } else { Err(others(release)) }
}

fn report(bytes: &[u8], release: &Exact, neighbours: &[Neighbour]) -> Result<Report> {
    let report = Report::of(bytes, neighbours)?;
    let is_named = report.name == release.name.to_string() && report.version == release.version;
    if is_named { Ok(report) } else { Err(others(release)) }
}

fn others(release: &Exact) -> Error {
    let message = format!("what the registry has as `{release}` is something else");
    Error::new(ErrorKind::DigestMismatch, message).hint("tell whoever runs the registry")
}
