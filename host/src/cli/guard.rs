//! What holds for the whole process: no core dumps, and panics that end as a sentence.
//!
//! Secrets are in this process's memory for moments at a time; a dump would write them to disk. A panic's
//! own text may quote data, so only its place is shown.

use std::panic::{self, PanicHookInfo};
use std::process::ExitCode;
use std::sync::Mutex;

use rustix::process::{DumpableBehavior, Resource, Rlimit, set_dumpable_behavior, setrlimit};

use super::mistake;
use super::output::Output;
use crate::config;
use crate::error::Error;

/// Where the last panic of this process happened.
static LAST_PANIC: Mutex<Option<String>> = Mutex::new(None);

/// Keeps the kernel from writing this process's memory to disk, and other processes of this user from
/// reading it.
pub(super) fn no_core_dumps() {
    // Neither call can fail with these arguments, and nothing useful could be done if one did.
    let _ = setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) });
    #[cfg(target_os = "linux")]
    let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
}

/// Runs `program`; a panic in it becomes an error with the exit code of a bug.
pub(super) fn guarded(program: fn() -> ExitCode) -> ExitCode {
    if !config::backtrace_wanted() {
        panic::set_hook(Box::new(remember));
    }
    panic::catch_unwind(program).unwrap_or_else(|_| {
        let place = LAST_PANIC.lock().map_or(None, |mut place| place.take());
        let place = place.unwrap_or_else(|| "an unknown place".to_owned());
        let error = Error::internal(format!("a bug stopped this program at {place}"))
            .hint("run it again with RUST_BACKTRACE=1 and report what it prints");
        super::failed(Output::new(mistake::json_was_asked_for(), false, false), &error)
    })
}

fn remember(panic: &PanicHookInfo<'_>) {
    let place = panic.location().map(|location| format!("{}:{}", location.file(), location.line()));
    tracing::error!(place, "a panic in the host");
    if let Ok(mut last) = LAST_PANIC.lock() {
        *last = place;
    }
}
