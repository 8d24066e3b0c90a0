//! `remit review`: releases that wait for a decision, what is to be known of them, and the decision.

mod decide;
mod list;
mod show;

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::{Context, known};
use crate::error::{Error, ErrorKind, Result};
use crate::registries::{Directory, State};
use crate::registry::Exact;
use crate::review::{Compared, Neighbour, Report, compatible};
use crate::signing::Signed;

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
    /// The registry's folder
    #[arg(long, value_name = "DIR")]
    registry: PathBuf,
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
    fn open(&self) -> Result<Directory> {
        Directory::open(&self.registry)
    }
}

/// A release with what its bytes say.
struct Shown {
    state: State,
    /// Whose key signed it, when that is known here.
    author: Option<String>,
    report: Report,
    compared: Option<Compared>,
}

/// Reads a release, verifies that its bytes are the ones that were signed, and makes the report.
fn look(registry: &Directory, release: &Exact, context: &Context) -> Result<Shown> {
    let Some(state) = registry.state(release)? else {
        return Err(Error::new(ErrorKind::ReleaseNotFound, format!("the registry has no `{release}`"))
            .hint("remit review list"));
    };
    let (digest, author) = signed(registry, release)?;
    let bytes = registry.bytes(&digest)?;
    let report = Report::of(&bytes, &neighbours(registry, context)?)?;
    let published: Vec<Exact> =
        published(registry)?.into_iter().filter(|other| other.name == release.name).collect();
    let before = compatible::predecessor(published.iter().map(|other| &other.version), &release.version);
    let before = before.and_then(|before| published.iter().find(|other| other.version == *before));
    let compared = match before {
        Some(before) => {
            let (digest, _) = signed(registry, before)?;
            Some(Compared::between(&Report::of(&registry.bytes(&digest)?, &[])?, &report))
        }
        None => None,
    };
    Ok(Shown { state, author, report, compared })
}

/// The digest that a release's statement names, and whose key signed it.
fn signed(registry: &Directory, release: &Exact) -> Result<(crate::registry::Digest, Option<String>)> {
    let documents = registry.release(release)?;
    let (statement, key) = Signed::open(&documents.statement)?;
    let owner = registry.owners()?.find(key).map(|known| known.owner.clone());
    Ok((statement.component_sha256, owner))
}

fn published(registry: &Directory) -> Result<Vec<Exact>> {
    let all = registry.list()?.into_iter();
    Ok(all.filter(|(_, state)| *state == State::Published).map(|(release, _)| release).collect())
}

/// What a newcomer is compared with: what is known here, and what is published there.
fn neighbours(registry: &Directory, context: &Context) -> Result<Vec<Neighbour>> {
    let mut known = known::neighbours(context)?;
    for release in published(registry)? {
        let (digest, _) = signed(registry, &release)?;
        let manifest = crate::component::read_manifest(&registry.bytes(&digest)?)?;
        let tools = manifest.tools.into_iter().map(|tool| tool.name).collect();
        known.push(Neighbour { name: release.name, tools });
    }
    known.sort_by(|one, other| one.name.cmp(&other.name));
    known.dedup_by(|one, other| one.name == other.name);
    Ok(known)
}
