//! Tells a program: JSON on its standard input, and nothing of this process but what is named here.
//!
//! Decides what a program gets and how long it may take; it is the operator's own, and runs with their rights.

use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::AsyncWriteExt;
use tokio::process::{Child, Command};

use super::Undelivered;
use crate::config::{self, DeliverConfig};

/// Says to the program which run it is told of.
const RUN: &str = "REMIT_RUN";

/// The program of one home.
pub(super) struct Program {
    program: String,
    arguments: Vec<String>,
    limit: Duration,
    home: PathBuf,
}

/// A process that does not outlive this value, and neither does what it started in its group.
struct Group(Child);

impl Program {
    pub(super) fn configured(config: &DeliverConfig, home: &Path) -> Option<Self> {
        let (program, arguments) = config.command.split_first()?;
        let (program, arguments) = (program.clone(), arguments.to_vec());
        Some(Self { program, arguments, limit: Duration::from_secs(config.timeout_s), home: home.to_owned() })
    }

    pub(super) fn limit(&self) -> Duration {
        self.limit
    }

    /// Starts it, and waits for its end. It took the news if it says that all is well.
    pub(super) async fn tell(&self, body: &str, run_id: &str) -> Result<(), Undelivered> {
        let program = &self.program;
        let failed = |why: String| Err(Undelivered::Failed(format!("`{program}` {why}")));
        match tokio::time::timeout(self.limit, self.run(body, run_id)).await {
            Ok(Ok(status)) if status.success() => Ok(()),
            Ok(Ok(status)) => failed(format!("ended with {status}")),
            Ok(Err(error)) => failed(format!("could not be run: {error}")),
            Err(_) => failed(format!("took longer than {} s, and was killed", self.limit.as_secs())),
        }
    }

    async fn run(&self, body: &str, run_id: &str) -> std::io::Result<ExitStatus> {
        #[expect(clippy::disallowed_methods, reason = "the operator named the program in `remit.toml`")]
        let mut command = Command::new(&self.program);
        command
            .args(&self.arguments)
            .current_dir(&self.home)
            .env_clear()
            .envs(config::of_programs())
            .env(RUN, run_id)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .kill_on_drop(true);
        let mut group = Group(command.spawn()?);
        if let Some(mut stdin) = group.0.stdin.take() {
            // A program that does not listen closes its end: how it ends says more than this error.
            let _ = stdin.write_all(body.as_bytes()).await;
        }
        group.0.wait().await
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // Without a number it has been waited for, and the number may be another's.
        let number = self.0.id().and_then(|number| i32::try_from(number).ok()).and_then(Pid::from_raw);
        if let Some(leader) = number {
            // It may have ended this moment.
            let _ = kill_process_group(leader, Signal::KILL);
        }
    }
}
