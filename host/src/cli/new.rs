//! `remit new`: a project that builds and passes its tests.

use std::path::Path;

use clap::Args;

use super::Context;
use crate::build;
use crate::error::Result;

/// Make a new capability from a template
///
/// Writes a cargo project into a folder of that name, with the SDK beside it: it builds without this
/// program's source.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  remit new weather
  remit new weather --publisher acme")]
pub(super) struct NewArgs {
    /// The capability's name: lower-case letters, digits and hyphens
    name: String,
    /// Who publishes it
    #[arg(long, default_value = "example")]
    publisher: String,
}

/// Runs it.
#[expect(clippy::needless_pass_by_value, reason = "every command takes its arguments")]
pub(super) fn run(args: NewArgs, context: &Context) -> Result<()> {
    build::scaffold(Path::new("."), &args.publisher, &args.name)?;
    let name = &args.name;
    context.output.text(&format!("made {name}/"))?;
    context.output.note(&format!(
        "\nnext:\n  cd {name}\n  remit test     run its tests and examples\n  remit build    make target/remit/{name}.wasm"
    ));
    Ok(())
}
