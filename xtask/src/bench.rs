//! Builds the bench optimised and runs it: one JSON line a figure.

use crate::shell::{Result, program, run as run_program, target};
use crate::wasm;

/// Runs the bench with the given arguments.
pub(crate) fn run(arguments: &[&str]) -> Result<()> {
    run_program(program("cargo").args([
        "build",
        "--locked",
        "--release",
        "--package",
        "remit",
        "--package",
        "remit-bench",
    ]))?;
    let target = target()?;
    let remit = target.join("release").join("remit");
    let built = wasm::capabilities(&remit, &target)?;
    run_program(
        program(target.join("release").join("remit-bench"))
            .args(arguments)
            .env("REMIT_BENCH_PROGRAM", &built.remit)
            .env("REMIT_BENCH_CAPABILITIES", &built.capabilities),
    )
}
