//! `remit registry`: a folder that keeps releases, and whose keys count in it.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::{Context, key};
use crate::clock::Clock;
use crate::error::Result;
use crate::registries::Directory;
use crate::signing::PublicKey;

/// Run a registry: a folder of signed releases, and whose keys count in it
///
/// `remit serve --http ADDRESS --registry DIR` serves it to other machines.
#[derive(Debug, Args)]
pub(super) struct RegistryArgs {
    #[command(subcommand)]
    command: RegistryCommand,
}

#[derive(Debug, Subcommand)]
enum RegistryCommand {
    Create(CreateArgs),
    Keys(KeysArgs),
    Allow(AllowArgs),
    Disallow(DisallowArgs),
}

/// Make a registry that knows nobody yet
#[derive(Debug, Args)]
struct CreateArgs {
    /// Its folder
    folder: PathBuf,
}

/// List the keys that count in a registry
#[derive(Debug, Args)]
struct KeysArgs {
    /// Its folder
    folder: PathBuf,
}

/// Let a key publish, or review
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  remit registry allow /srv/registry ed25519:… --owner ann --publisher acme
  remit registry allow /srv/registry ed25519:… --owner ben --reviewer")]
struct AllowArgs {
    /// Its folder
    folder: PathBuf,
    /// The key, as `remit key export` prints it
    key: PublicKey,
    #[command(flatten)]
    whose: key::WhoseArgs,
}

/// Let a key say nothing any more
#[derive(Debug, Args)]
struct DisallowArgs {
    /// Its folder
    folder: PathBuf,
    /// The key
    key: PublicKey,
}

/// Runs it.
pub(super) fn run(args: RegistryArgs, context: &Context) -> Result<()> {
    match args.command {
        RegistryCommand::Create(CreateArgs { folder }) => {
            Directory::create(&folder)?;
            context
                .output
                .note("next: `remit registry allow DIR KEY --owner NAME` for who publishes and who reviews");
        }
        RegistryCommand::Keys(KeysArgs { folder }) => {
            return key::print(&Directory::open(&folder)?.owners()?.keys, context);
        }
        RegistryCommand::Allow(AllowArgs { folder, key, whose }) => {
            let said = whose.of(key)?;
            Directory::open(&folder)?.change_owners(|owners| owners.trust(said))?;
        }
        RegistryCommand::Disallow(DisallowArgs { folder, key }) => {
            let now = Clock::system().now_ms();
            Directory::open(&folder)?.change_owners(|owners| owners.revoke(key, now))?;
        }
    }
    Ok(())
}
