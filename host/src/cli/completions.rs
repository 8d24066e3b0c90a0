//! `remit completions`: a script for the shell.

use clap::Args;
use clap_complete::Shell;

use super::Context;
use crate::error::Result;

/// Print a completion script for a shell
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  remit completions bash > ~/.local/share/bash-completion/completions/remit
  remit completions zsh > ~/.zfunc/_remit
  remit completions fish > ~/.config/fish/completions/remit.fish")]
pub(super) struct CompletionsArgs {
    /// The shell
    shell: Shell,
}

/// Runs it.
#[expect(clippy::needless_pass_by_value, reason = "every command takes its arguments")]
pub(super) fn run(args: CompletionsArgs, context: &Context) -> Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut super::command(), "remit", &mut script);
    context.output.bytes(&script)
}
