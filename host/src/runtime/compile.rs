//! Compiles components in a process of its own, within limits of its own.
//!
//! Compiling is the one step whose cost a publisher can make grow without end: what the engine promises
//! about running guests it does not promise about compiling them. So it happens in a child with bounded
//! memory and time, one at a time; a child that dies takes nothing along.

use std::io::{Read, Write};
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use rustix::process::{Resource, Rlimit, setrlimit};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::Mutex;

use super::Engine;
use crate::error::{Error, ErrorKind, Result};

/// Memory of the child: compiling 12 MiB of interpreter takes about half of it.
const MEMORY_BYTES: u64 = 2 * 1024 * 1024 * 1024;
/// Processor time of the child: compiling 12 MiB of interpreter takes about 15 seconds.
const CPU_SECONDS: u64 = 60;
/// Wall-clock time of the child, for a machine that is busy with other things.
const WALL: Duration = Duration::from_secs(120);
/// What of the child's words is kept for the operator.
const MESSAGE_BYTES: u64 = 4096;

/// The subcommand of this program that [`compile_worker`] answers.
pub const WORKER_COMMAND: &str = "compile-worker";

/// Runs compile children, one at a time.
pub struct Compiler {
    program: PathBuf,
    turn: Mutex<()>,
}

impl Compiler {
    /// Starts children from `program`, a `remit` of this version.
    #[must_use]
    pub fn new(program: PathBuf) -> Self {
        Self { program, turn: Mutex::new(()) }
    }

    /// Compiles a component that passed the static gate to code for this machine.
    pub async fn compile(&self, component: &[u8]) -> Result<Vec<u8>> {
        let _turn = self.turn.lock().await;
        match tokio::time::timeout(WALL, self.run(component)).await {
            Ok(result) => result,
            Err(_elapsed) => Err(failed("compiling took too long")),
        }
    }

    async fn run(&self, component: &[u8]) -> Result<Vec<u8>> {
        #[expect(clippy::disallowed_methods, reason = "the child is this same program")]
        let mut command = tokio::process::Command::new(&self.program);
        command
            .arg(WORKER_COMMAND)
            .env_clear()
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        let no_child =
            |error: std::io::Error| Error::internal("the compiler's process did not start").detail(error);
        let mut child = command.spawn().map_err(no_child)?;
        let (Some(mut stdin), Some(mut stdout), Some(stderr)) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            return Err(Error::internal("the compiler's process has no pipes"));
        };
        let mut code = Vec::new();
        let mut message = Vec::new();
        let mut stderr = stderr.take(MESSAGE_BYTES);
        let send = async {
            // A child that fails early closes its end: its exit status says more than this error.
            let _ = stdin.write_all(component).await;
            drop(stdin);
        };
        let (_, received, _) = tokio::join!(send, stdout.read_to_end(&mut code), stderr.read_to_end(&mut message));
        received.map_err(no_child)?;
        let status = child.wait().await.map_err(no_child)?;
        if !status.success() {
            let message = String::from_utf8_lossy(&message).into_owned();
            return Err(failed("the component cannot be compiled within its limits")
                .detail(format!("{status}: {message}")));
        }
        Ok(code)
    }
}

fn failed(message: &str) -> Error {
    Error::new(ErrorKind::CompileFailed, message)
}

/// The child's side: reads a component from stdin, writes code to stdout.
pub fn compile_worker() -> Result<()> {
    let limit = |resource, value| {
        setrlimit(resource, Rlimit { current: Some(value), maximum: Some(value) })
            .map_err(|error| Error::internal("the compiler's limits cannot be set").detail(error))
    };
    limit(Resource::Cpu, CPU_SECONDS)?;
    // The engine reserves no address space for compiling, so the limit is on what is really used.
    limit(Resource::As, MEMORY_BYTES)?;
    limit(Resource::Core, 0)?;
    let stopped = |error: std::io::Error| Error::internal("the compiler's pipes broke").detail(error);
    let mut component = Vec::new();
    std::io::stdin().read_to_end(&mut component).map_err(stopped)?;
    let code = Engine::on_demand()?
        .raw()
        .precompile_component(&component)
        .map_err(|error| failed("the component does not compile").detail(format!("{error:#}")))?;
    std::io::stdout().write_all(&code).map_err(stopped)
}
