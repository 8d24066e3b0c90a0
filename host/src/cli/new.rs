//! `remit new`: a project that builds and passes its tests.

use std::path::Path;

use clap::Args;

use super::Context;
use crate::build::{self, Language};
use crate::error::Result;

/// Make a new capability from a template
///
/// Writes a project into a folder of that name, with the SDK or the contract beside it: it builds without
/// this program's source. The tools of other languages than Rust are named in its README, in pinned versions.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  remit new weather
  remit new weather --publisher acme
  remit new weather --lang python")]
pub(super) struct NewArgs {
    /// The capability's name: lower-case letters, digits and hyphens
    name: String,
    /// Who publishes it
    #[arg(long, default_value = "example")]
    publisher: String,
    /// What it is written in
    #[arg(long, value_enum, default_value_t)]
    lang: Language,
}

/// Runs it.
#[expect(clippy::needless_pass_by_value, reason = "every command takes its arguments")]
pub(super) fn run(args: NewArgs, context: &Context) -> Result<()> {
    build::scaffold(Path::new("."), args.lang, &args.publisher, &args.name)?;
    let name = &args.name;
    context.output.text(&format!("made {name}/"))?;
    context.output.note(&format!("\nnext:\n  cd {name}\n{}", next(args.lang, name)));
    Ok(())
}

/// The way from the project to the capability.
fn next(language: Language, name: &str) -> String {
    let build = match language {
        Language::Rust => {
            return format!(
                "  remit test     run its tests and examples\n  remit build    make target/remit/{name}.wasm"
            );
        }
        Language::Js => "  npm install && npm run build",
        Language::Python => "  pip install -r requirements.txt && make",
        Language::C => "  make",
    };
    format!(
        "{build}\n  remit test --prebuilt target/guest.wasm\n  \
         remit build target/guest.wasm --manifest capability.json -o target/{name}.wasm"
    )
}
