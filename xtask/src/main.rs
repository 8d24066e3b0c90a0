//! What a developer or CI does with this repository: `cargo xtask COMMAND`.
//!
//! | command | what it does |
//! |---|---|
//! | `demo` | builds host and plugins, installs, grants, calls over MCP, shows what happened |
//! | `test` | everything that CI runs |
//! | `conformance` | the protocol's own suite, inspector and TypeScript clients against the real program |
//! | `ci` | `test`, `conformance`, and the short form of `bench` |
//! | `bench` | measures, one JSON line a figure |
//! | `cases egress FILE`, `cases schedules FILE` | runs a file of cases through the host, names those that fail |
//! | `fuzz [--minutes N]` | tries to get a request past the allow-list, for 10 minutes by default |
//! | `build` | builds the host and the capabilities that tests use |
//! | `languages` | brings the toolchains of other languages, and builds the components that tests use |
//! | `generate` | writes the generated files under `docs/reference/` again |

mod bench;
mod cases;
mod conformance;
mod demo;
mod fuzz;
mod languages;
mod mcp;
mod node;
mod proxy;
mod shell;
mod test;
mod wasm;

use std::process::ExitCode;

use shell::{Failed, say};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let outcome = match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["demo"] => demo::run(),
        ["test"] => test::run(),
        ["conformance"] => conformance::run(),
        ["ci"] => test::run().and_then(|()| conformance::run()).and_then(|()| bench::run(&["--quick"])),
        ["bench", rest @ ..] => bench::run(rest),
        ["cases", kind @ ("egress" | "schedules"), file] => return cases::run(kind, file).unwrap_or_else(fail),
        ["fuzz", rest @ ..] => fuzz::run(rest),
        ["build"] => wasm::build().map(drop),
        ["languages"] => languages::run(),
        ["generate"] => test::generate(),
        _ => Err(Failed(
            "usage: cargo xtask demo|test|conformance|ci|bench|cases|fuzz|build|languages|generate".to_owned(),
        )),
    };
    outcome.map_or_else(fail, |()| ExitCode::SUCCESS)
}

fn fail(Failed(message): Failed) -> ExitCode {
    say(&format!("error: {message}"));
    ExitCode::FAILURE
}
