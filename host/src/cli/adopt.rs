//! `remit adopt`: a capability from a component that was made for another host.

use std::path::PathBuf;

use clap::Args;

use super::{Context, report};
use crate::build::{self, Adopted, Adoption};
use crate::error::{Error, ErrorKind, Result};

/// Make a capability of a component with typed functions
///
/// Writes a manifest from the types of the functions that it exports: each becomes a tool, called with JSON.
/// It is granted nothing: a component that imports anything is refused, with the names of its imports.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  remit adopt words.wasm
  remit adopt words.wasm --publisher acme --slug words -o words.capability.wasm
  remit adopt words.wasm --manifest capability.json   describe its tools better, and then:
  remit build words.wasm --manifest capability.json -o words.capability.wasm")]
pub(super) struct AdoptArgs {
    /// The component, or a core module that says which world it was built for
    file: PathBuf,
    /// Who answers for it
    #[arg(long, default_value = "adopted")]
    publisher: String,
    /// What it is called [default: the file's name]
    #[arg(long, value_name = "NAME")]
    slug: Option<String>,
    /// Where to write the capability [default: SLUG.capability.wasm, beside the file]
    #[arg(long, short, visible_alias = "out", value_name = "FILE")]
    output: Option<PathBuf>,
    /// Write the manifest here as well
    #[arg(long, value_name = "FILE")]
    manifest: Option<PathBuf>,
}

/// Runs it.
pub(super) fn run(args: AdoptArgs, context: &Context) -> Result<()> {
    let output = context.output;
    let adoption = Adoption { publisher: args.publisher, slug: args.slug };
    let Adopted { mut built, left_out } = build::adopt(&args.file, &adoption)?;
    if let Some(path) = args.output {
        built.path = path;
    }
    if built.path == args.file {
        return Err(Error::new(ErrorKind::Usage, format!("`{}` would be written over", args.file.display()))
            .hint("say where to write it: -o FILE.wasm"));
    }
    build::write(&built.bytes, &built.path)?;
    if let Some(path) = &args.manifest {
        build::write(build::manifest_text(&built.report.manifest)?.as_bytes(), path)?;
    }
    left_out.iter().for_each(|function| output.warn(&format!("left out {function}")));
    if output.is_json() {
        return output.value(&report::value(&built.path, &built.report));
    }
    output.text(&report::text(&built.path, &built.report))?;
    output.note(&format!("\nnext: remit install {}", built.path.display()));
    Ok(())
}
