//! The `remit` program: parse and exit.

use std::process::ExitCode;

fn main() -> ExitCode {
    remit::cli::main()
}
