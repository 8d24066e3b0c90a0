//! An upstream that is a program: what it gets of this process, and how it ends.
//!
//! It gets `PATH`, `HOME` and `LANG`, what the operator wrote down for it, and three pipes; every other descriptor of
//! this process is closed in it. It is the operator's own program and runs with their rights: it is not confined.

use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

use crate::config;
use crate::manifest::visible;
use crate::secrets::Redactor;

/// How long it may take to end when it is asked to.
const GRACE: Duration = Duration::from_secs(2);
/// How often it is looked whether it has.
const LOOK: Duration = Duration::from_millis(10);
/// Lines of its standard error that are logged: a program that says more says the same.
const LOGGED_LINES: usize = 1_000;
/// Bytes of a line that are held.
const LINE_BYTES: usize = 4 * 1024;
/// Characters of a line that are logged: well within what is held, so that a value that is cut at the end of what is
/// held is not shown in part.
const LINE_CHARACTERS: usize = 500;

/// A program that does not outlive this value, and neither does what it started in its group.
pub(super) struct Process(Child);

/// What is said to it, and what it says.
pub(super) type Pipes = (ChildStdout, ChildStdin);

impl Process {
    /// Starts it in `home`. What it writes to its standard error is logged as that of `name`.
    pub(super) fn start(
        name: &str,
        (program, arguments): (&str, &[String]),
        environment: impl Iterator<Item = (String, String)>,
        home: &Path,
        redactor: Arc<Redactor>,
    ) -> std::io::Result<(Self, Pipes)> {
        #[expect(clippy::disallowed_methods, reason = "the operator named the program: `remit mcp add`")]
        let mut command = Command::new(program);
        command
            .args(arguments)
            .current_dir(home)
            .env_clear()
            .envs(config::of_programs())
            .envs(environment)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true);
        let mut child = command.spawn()?;
        let gone = || std::io::Error::other("a pipe is missing");
        let pipes = (child.stdout.take().ok_or_else(gone)?, child.stdin.take().ok_or_else(gone)?);
        if let Some(stderr) = child.stderr.take() {
            tokio::spawn(log(name.to_owned(), stderr, redactor));
        }
        Ok((Self(child), pipes))
    }

    /// Asks it to end, waits a moment, and kills what is left of it.
    pub(super) async fn end(self) {
        let Some(leader) = self.leader() else { return };
        let _ = kill_process_group(leader, Signal::TERM);
        // It is looked at without being waited for, so that its number stays its own until the group is killed.
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        let ended = async {
            while let Ok(None) = waitid(WaitId::Pid(leader), options) {
                tokio::time::sleep(LOOK).await;
            }
        };
        let _ = tokio::time::timeout(GRACE, ended).await;
    }

    fn leader(&self) -> Option<Pid> {
        self.0.id().and_then(|number| i32::try_from(number).ok()).and_then(Pid::from_raw)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if let Some(leader) = self.leader() {
            // It may have ended this moment.
            let _ = kill_process_group(leader, Signal::KILL);
        }
    }
}

/// Logs lines, and goes on reading when enough is logged: a program whose pipe is full would stop.
async fn log(name: String, mut stderr: impl AsyncRead + Unpin, redactor: Arc<Redactor>) {
    let mut buffer = vec![0; LINE_BYTES];
    let mut line = Vec::new();
    let mut logged = 0;
    while let Ok(read @ 1..) = stderr.read(&mut buffer).await {
        for byte in &buffer[..read] {
            match byte {
                b'\n' => {
                    if logged < LOGGED_LINES {
                        say(&name, &std::mem::take(&mut line), &redactor);
                    }
                    line.clear();
                    logged += 1;
                }
                byte if line.len() < LINE_BYTES => line.push(*byte),
                _ => {}
            }
        }
    }
}

fn say(name: &str, line: &[u8], redactor: &Redactor) {
    let line = redactor.redact_text(&String::from_utf8_lossy(line));
    tracing::info!(server = name, "stderr: {}", visible(&line, LINE_CHARACTERS));
}
