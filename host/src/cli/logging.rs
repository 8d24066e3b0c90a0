//! What the program logs to stderr, and what it never does.
//!
//! Libraries of the network log headers and bodies when asked to; those hold secrets, so their targets
//! stay at warnings whatever the filter says. The protocol's library logs arguments and results, and warns
//! about every mistake of a client: of it only errors are logged.

use std::io::IsTerminal;

use tracing::{Level, Metadata};
use tracing_subscriber::filter::{EnvFilter, LevelFilter, filter_fn};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{Layer, fmt};

use crate::config;
use crate::error::{Error, ErrorKind, Result};

/// Crates that see requests in clear text.
const NEVER_VERBOSE: &[&str] =
    &["hyper", "hyper_util", "h2", "rustls", "tokio_rustls", "rustls_platform_verifier"];

/// Crates that see arguments and results, and warn about what is a client's mistake.
const ERRORS_ONLY: &[&str] = &["rmcp"];

/// Starts logging: warnings, with `verbose` also what happens, or what `REMIT_LOG` says.
pub(super) fn start(verbose: bool) -> Result<()> {
    let default = if verbose { LevelFilter::INFO } else { LevelFilter::WARN };
    let filter = match config::log_filter() {
        Some(filter) => {
            EnvFilter::builder().with_default_directive(default.into()).parse(&filter).map_err(|error| {
                Error::new(ErrorKind::Config, format!("`REMIT_LOG` is no log filter: {error}"))
                    .hint("for example REMIT_LOG=info, or REMIT_LOG=warn,remit::egress=debug")
            })?
        }
        None => EnvFilter::default().add_directive(default.into()),
    };
    let lines = fmt::layer()
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal())
        .with_target(verbose)
        .with_filter(filter_fn(may_be_logged));
    // A second start in one process (tests) keeps the first.
    let _ = tracing_subscriber::registry().with(lines).with(filter).try_init();
    Ok(())
}

fn may_be_logged(metadata: &Metadata<'_>) -> bool {
    let root = metadata.target().split("::").next().unwrap_or_default();
    let most = if ERRORS_ONLY.contains(&root) {
        Level::ERROR
    } else if NEVER_VERBOSE.contains(&root) {
        Level::WARN
    } else {
        Level::TRACE
    };
    *metadata.level() <= most
}
