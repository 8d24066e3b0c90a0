//! `remit build`: a capability from its source, or from a module that another toolchain made.

use std::path::PathBuf;

use clap::Args;

use super::output::Output;
use super::{Context, report};
use crate::build::{self, Built, Choice, Options};
use crate::error::{Error, ErrorKind, Result};

/// Build a capability
///
/// Compiles the cargo project for WebAssembly, completes capability.json with the tools and schemas that
/// the source says, checks every rule and embeds it. A toolchain that is missing is brought, and said so.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  remit build
  remit build plugins/weather -o weather.wasm
  remit build module.wasm --manifest capability.json")]
pub(super) struct BuildArgs {
    /// The project's folder, or a core module or component that is built already
    #[arg(default_value = ".")]
    path: PathBuf,
    /// The manifest of a module or component that is built already
    #[arg(long, value_name = "FILE")]
    manifest: Option<PathBuf>,
    /// Where to write the capability [default: target/remit/SLUG.wasm]
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Keep the names of functions: larger, for tools that read the file
    #[arg(long)]
    names: bool,
    #[command(flatten)]
    toolchain: ToolchainArgs,
}

/// Which toolchain compiles.
#[derive(Debug, Args)]
pub(super) struct ToolchainArgs {
    /// Use this toolchain [default: the first that works]
    #[arg(long, value_enum)]
    pub(super) toolchain: Option<Choice>,
    /// Install nothing when a toolchain is missing
    #[arg(long)]
    pub(super) no_install: bool,
}

/// Runs it.
#[expect(clippy::needless_pass_by_value, reason = "every command takes its arguments")]
pub(super) fn run(args: BuildArgs, context: &Context) -> Result<()> {
    let output = context.output;
    let say = |text: &str| output.note(text);
    let mut built = build(&args, &args.toolchain.options(args.names, &say))?;
    if let Some(path) = &args.output {
        built.path.clone_from(path);
    }
    if built.path == args.path {
        return Err(Error::new(ErrorKind::Usage, format!("`{}` would be written over", args.path.display()))
            .hint("say where to write it: -o FILE.wasm"));
    }
    build::write(&built.bytes, &built.path)?;
    show(&built, output)
}

fn build(args: &BuildArgs, options: &Options<'_>) -> Result<Built> {
    match (&args.manifest, args.path.is_dir()) {
        (None, true) => build::build_project(&args.path, options),
        (Some(manifest), false) => build::build_prebuilt(&args.path, manifest, options.keep_names),
        (Some(_), true) => {
            let message =
                format!("`{}` is a project, and its manifest is its capability.json", args.path.display());
            Err(Error::new(ErrorKind::Usage, message).hint("leave out `--manifest`, or name a module"))
        }
        (None, false) if args.path.exists() => {
            let message = format!("`{}` needs a manifest to become a capability", args.path.display());
            Err(Error::new(ErrorKind::Usage, message)
                .hint(format!("remit build {} --manifest capability.json", args.path.display())))
        }
        (None, false) => Err(Error::new(ErrorKind::Usage, format!("`{}` does not exist", args.path.display()))
            .hint("start a project: remit new NAME")),
    }
}

fn show(built: &Built, output: Output) -> Result<()> {
    if output.is_json() {
        return output.value(&report::value(&built.path, &built.report));
    }
    output.text(&report::text(&built.path, &built.report))?;
    built.report.warnings.iter().for_each(|warning| output.warn(warning));
    output.note(&format!("\nnext: remit install {}", built.path.display()));
    Ok(())
}

impl ToolchainArgs {
    pub(super) fn options<'a>(&self, keep_names: bool, say: &'a dyn Fn(&str)) -> Options<'a> {
        Options { choice: self.toolchain, may_install: !self.no_install, keep_names, say }
    }
}
