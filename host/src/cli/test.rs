//! `remit test`: a capability's own tests, its rules, and its examples against the built component, with
//! nothing granted.

use std::path::PathBuf;

use clap::Args;
use tokio_util::sync::CancellationToken;

use super::build::ToolchainArgs;
use super::output::Output;
use super::{Context, figures, on_threads};
use crate::app::App;
use crate::build::{self, Built, Example};
use crate::call::{CallRequest, Reply};
use crate::client::Confirmation;
use crate::config::Config;
use crate::error::{Error, ErrorKind, Result};
use crate::policy::Identity;
use crate::registry::{CapabilityName, ToolName};

/// Test a capability
///
/// Runs `cargo test`, builds the capability and checks its rules, then calls its tools as examples.json
/// says: through the same path as an agent's call, in a home of its own, with nothing granted. What other
/// tools have built is tested by `--prebuilt`, with the folder's capability.json and examples.json.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  remit test
  remit test plugins/weather
  remit test --prebuilt target/guest.wasm

examples.json is a list, each entry with `output`, `text` or `error`, or none of them:
  [{ \"tool\": \"echo\", \"input\": { \"message\": \"hi\" }, \"text\": \"hi\" },
   { \"tool\": \"echo\", \"input\": {}, \"error\": \"call/invalid-input\" }]")]
pub(super) struct TestArgs {
    /// The project's folder
    #[arg(default_value = ".")]
    folder: PathBuf,
    /// A module or component that is built already: nothing is compiled, and `cargo test` is not run
    #[arg(long, value_name = "FILE", conflicts_with_all = ["no_unit_tests", "toolchain", "no_install"])]
    prebuilt: Option<PathBuf>,
    /// Do not run `cargo test`
    #[arg(long)]
    no_unit_tests: bool,
    #[command(flatten)]
    toolchain: ToolchainArgs,
}

/// Runs it.
#[expect(clippy::needless_pass_by_value, reason = "every command takes its arguments")]
pub(super) fn run(args: TestArgs, context: &Context) -> Result<()> {
    let output = context.output;
    let say = |text: &str| output.note(text);
    let examples = build::read_examples(&args.folder)?;
    let options = args.toolchain.options(true, &say);
    let built = match &args.prebuilt {
        Some(file) => build::build_prebuilt(file, &args.folder.join(build::MANIFEST_FILE), true)?,
        None => {
            if !args.no_unit_tests {
                build::run_unit_tests(&args.folder, &options)?;
            }
            build::build_project(&args.folder, &options)?
        }
    };
    built.report.warnings.iter().for_each(|warning| output.warn(warning));
    let results = call_all(&built, &examples)?;
    show(&built, &examples, &results, output)
}

/// Calls every example, in a home that is gone afterwards.
fn call_all(built: &Built, examples: &[Example]) -> Result<Vec<Result<Reply>>> {
    let home = tempfile::tempdir()
        .map_err(|error| Error::new(ErrorKind::Store, "no temporary folder could be made").detail(error))?;
    let app = App::open(home.path(), Config::default())?;
    let offer = app.admin().offer(built.bytes.clone())?;
    app.admin().install(offer, &[])?;
    let results = on_threads(async {
        // Compiling an interpreter takes longer than a call may.
        app.prepare(&built.bytes).await?;
        let host = app.host()?;
        let mut results = Vec::new();
        for example in examples {
            let answer = host.call(request(built, example), CancellationToken::new()).await;
            results.push(answer.map_err(|failure| failure.error));
        }
        Ok(results)
    });
    app.shutdown();
    results
}

fn request(built: &Built, example: &Example) -> CallRequest {
    let manifest = &built.report.manifest;
    let capability = CapabilityName { publisher: manifest.publisher.clone(), slug: manifest.slug.clone() };
    let tool = ToolName { capability, tool: example.tool.clone() };
    let plain = CallRequest::new(Identity::operator("cli"), tool, example.input.clone());
    // The author wrote the example, in a home that is gone afterwards.
    CallRequest { confirmation: Confirmation::Standing, ..plain }
}

fn show(built: &Built, examples: &[Example], results: &[Result<Reply>], output: Output) -> Result<()> {
    let mut failed = 0;
    for (example, result) in examples.iter().zip(results) {
        let call = format!("{} {}", example.tool, serde_json::Value::Object(example.input.clone()));
        match example.expected.difference(result) {
            None => output.text(&format!("ok      {call}"))?,
            Some(difference) => {
                failed += 1;
                output.text(&format!("FAILED  {call}\n        {}", difference.replace('\n', "\n        ")))?;
            }
        }
    }
    for tool in &built.report.manifest.tools {
        if !examples.iter().any(|example| example.tool == tool.name) {
            output.warn(&format!("no example calls `{}`: add one to examples.json", tool.name));
        }
    }
    let examples = figures::plural(examples.len(), "example");
    if failed > 0 {
        return Err(Error::new(ErrorKind::TestFailed, format!("{failed} of {examples} failed")));
    }
    output.text(&format!("the rules hold and {examples} passed"))
}
