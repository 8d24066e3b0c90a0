//! The people's command line: one file per command, `output.rs` for all printing.
//!
//! A command reads its arguments, asks [`Admin`](crate::admin::Admin) or [`Host`](crate::call::Host), and
//! prints what came back. Nothing is decided here about what a capability may do.

mod adopt;
mod approve;
mod asks;
mod audit;
mod backup;
mod build;
mod call;
mod callback;
mod compiled;
mod completions;
mod connect;
mod describe;
mod disapprove;
mod doctor;
mod entities;
mod figures;
mod flag;
mod grant;
mod guard;
mod inspect;
mod install;
mod key;
mod known;
mod list;
mod lock;
mod logging;
mod loops;
mod mcp;
mod missing;
mod mistake;
mod new;
pub mod output;
mod principal;
mod prompt;
mod publish;
mod recalled;
pub mod reference;
mod refresh;
mod registry;
mod report;
mod restrict;
mod review;
mod reviewed;
mod revoke;
mod role;
mod rollback;
mod sandbox;
mod secret;
mod serve;
mod show;
mod source;
mod spent;
mod test;
mod token;
mod uninstall;
mod until;
mod upgrade;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, CommandFactory, Parser, Subcommand};

use self::output::Output;
use crate::app::App;
use crate::config::{self, Config};
use crate::error::{Error, Result};

/// A capability host for AI agents
///
/// Third-party capabilities are WebAssembly components. You install one, decide what it is granted, and
/// agents call its tools over MCP. What a capability did not declare and you did not grant does not exist
/// for it.
#[derive(Debug, Parser)]
#[command(
    name = "remit",
    version,
    arg_required_else_help = true,
    after_help = "\
Examples:
  remit install weather.wasm          look at what it asks, and decide
  remit secret set API_KEY            store a secret, typed or piped
  remit approve acme/weather API_KEY  let it go to the declared hosts
  remit approve K7QM-2XWA             decide what a refused call asked for
  remit call acme/weather.get_forecast '{\"place\":\"Oslo\"}'
  remit serve                         speak MCP on stdin and stdout

Exit codes: 0 done, 1 failed or denied, 2 usage or configuration, 255 a bug in this program."
)]
struct Cli {
    #[command(flatten)]
    global: Global,
    #[command(subcommand)]
    command: Command,
}

/// Options of every command.
#[derive(Debug, Args)]
#[command(next_help_heading = "Global options")]
struct Global {
    /// Data directory [default: $REMIT_HOME, or `remit` in the user's data directory]
    #[arg(long, global = true, value_name = "DIR")]
    home: Option<PathBuf>,
    /// Print JSON: data on stdout, errors as objects on stderr
    #[arg(long, global = true)]
    json: bool,
    /// Print no notes
    #[arg(long, short, global = true)]
    quiet: bool,
    /// Log what happens, and show the details of errors
    #[arg(long, short, global = true)]
    verbose: bool,
}

#[derive(Debug, Subcommand)]
enum Command {
    New(new::NewArgs),
    Build(build::BuildArgs),
    Adopt(adopt::AdoptArgs),
    Inspect(inspect::InspectArgs),
    Test(test::TestArgs),
    Review(review::ReviewArgs),
    Install(install::InstallArgs),
    Upgrade(upgrade::UpgradeArgs),
    Rollback(rollback::RollbackArgs),
    Uninstall(uninstall::UninstallArgs),
    List(list::ListArgs),
    Show(show::ShowArgs),
    Grant(grant::GrantArgs),
    Revoke(revoke::RevokeArgs),
    Restrict(restrict::RestrictArgs),
    Secret(secret::SecretArgs),
    Approve(approve::ApproveArgs),
    Disapprove(disapprove::DisapproveArgs),
    Entities(entities::EntitiesArgs),
    Sandbox(sandbox::SandboxArgs),
    Call(call::CallArgs),
    Serve(serve::ServeArgs),
    Principal(principal::PrincipalArgs),
    Role(role::RoleArgs),
    Flag(flag::FlagArgs),
    Loops(loops::LoopsArgs),
    Mcp(mcp::McpArgs),
    Refresh(refresh::RefreshArgs),
    Lock(lock::LockArgs),
    Sync(lock::SyncArgs),
    Audit(audit::AuditArgs),
    Backup(backup::BackupArgs),
    Restore(backup::RestoreArgs),
    Key(key::KeyArgs),
    Publish(publish::PublishArgs),
    Yank(publish::YankArgs),
    Registry(registry::RegistryArgs),
    Doctor(doctor::DoctorArgs),
    Completions(completions::CompletionsArgs),
    /// Compiles one component, in a process of its own
    #[command(hide = true)]
    CompileWorker,
}

/// What every command gets besides its arguments.
#[derive(Debug)]
pub struct Context {
    /// Where it prints.
    pub output: Output,
    home: Option<PathBuf>,
}

impl Context {
    /// The data directory of this run. It may not exist yet.
    pub fn home(&self) -> Result<PathBuf> {
        config::home(self.home.as_deref())
    }

    /// Opens the data directory, and makes it on first use.
    pub fn open(&self) -> Result<App> {
        let home = self.home()?;
        let config = Config::load(&home)?;
        App::open(&home, config)
    }
}

/// Runs the program.
#[must_use]
pub fn main() -> ExitCode {
    guard::no_core_dumps();
    guard::guarded(run)
}

/// The whole tree of commands, for completions and the reference.
pub(crate) fn command() -> clap::Command {
    Cli::command()
}

fn run() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return mistake::report(&error),
    };
    let output = Output::new(cli.global.json, cli.global.quiet, cli.global.verbose);
    let context = Context { output, home: cli.global.home };
    match logging::start(cli.global.verbose).and_then(|()| dispatch(cli.command, &context)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => failed(output, &error),
    }
}

/// Runs `work` on the threads of an asynchronous runtime that lives as long as it does.
fn on_threads<T>(work: impl Future<Output = Result<T>>) -> Result<T> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| Error::internal("no threads could be started").detail(error))?;
    let result = runtime.block_on(work);
    // A read of stdin cannot be cancelled; waiting for it would keep a stopped server alive.
    runtime.shutdown_background();
    result
}

fn failed(output: Output, error: &Error) -> ExitCode {
    output.error(error);
    ExitCode::from(error.kind.exit_code())
}

fn dispatch(command: Command, context: &Context) -> Result<()> {
    match command {
        Command::New(args) => new::run(args, context),
        Command::Build(args) => build::run(args, context),
        Command::Adopt(args) => adopt::run(args, context),
        Command::Inspect(args) => inspect::run(args, context),
        Command::Test(args) => test::run(args, context),
        Command::Review(args) => review::run(args, context),
        Command::Install(args) => install::run(args, context),
        Command::Upgrade(args) => upgrade::run(args, context),
        Command::Rollback(args) => rollback::run(args, context),
        Command::Uninstall(args) => uninstall::run(args, context),
        Command::List(args) => list::run(args, context),
        Command::Show(args) => show::run(args, context),
        Command::Grant(args) => grant::run(args, context),
        Command::Revoke(args) => revoke::run(args, context),
        Command::Restrict(args) => restrict::run(args, context),
        Command::Secret(args) => secret::run(args, context),
        Command::Approve(args) => approve::run(args, context),
        Command::Disapprove(args) => disapprove::run(args, context),
        Command::Entities(args) => entities::run(args, context),
        Command::Sandbox(args) => sandbox::run(args, context),
        Command::Call(args) => call::run(args, context),
        Command::Serve(args) => serve::run(args, context),
        Command::Principal(args) => principal::run(args, context),
        Command::Role(args) => role::run(args, context),
        Command::Flag(args) => flag::run(args, context),
        Command::Loops(args) => loops::run(args, context),
        Command::Mcp(args) => mcp::run(args, context),
        Command::Refresh(args) => refresh::run(args, context),
        Command::Lock(args) => lock::lock(args, context),
        Command::Sync(args) => lock::sync(args, context),
        Command::Audit(args) => audit::run(args, context),
        Command::Backup(args) => backup::back_up(args, context),
        Command::Restore(args) => backup::restore(args, context),
        Command::Key(args) => key::run(args, context),
        Command::Publish(args) => publish::run(args, context),
        Command::Yank(args) => publish::yank(args, context),
        Command::Registry(args) => registry::run(args, context),
        Command::Doctor(args) => doctor::run(args, context),
        Command::Completions(args) => completions::run(args, context),
        Command::CompileWorker => crate::runtime::compile_worker(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tree_of_commands_is_sound() {
        command().debug_assert();
    }
}
