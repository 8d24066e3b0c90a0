//! A server over stdio and a client that costs next to nothing: lines are written and counted, not parsed,
//! so that what is measured is the server.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

/// A running server.
pub(crate) struct Server {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
    line: String,
    last_id: u64,
}

impl Server {
    /// Starts a server and greets it.
    pub(crate) fn start(command: &mut Command) -> Self {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the server starts");
        let stdin = child.stdin.take().expect("a pipe");
        let stdout = BufReader::new(child.stdout.take().expect("a pipe"));
        let mut server = Self { child, stdin, stdout, line: String::new(), last_id: 0 };
        server.request(
            "initialize",
            r#"{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}"#,
        );
        server.write(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
        server
    }

    /// A `remit serve` over a home.
    pub(crate) fn remit(home: &std::path::Path) -> Self {
        Self::start(
            Command::new(crate::home::program()).args(["serve", "--tools", "direct"]).env("REMIT_HOME", home),
        )
    }

    /// Sends a request without waiting.
    pub(crate) fn send(&mut self, method: &str, params: &str) {
        self.last_id += 1;
        let id = self.last_id;
        self.write(&format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#));
    }

    /// Waits for the next answer.
    pub(crate) fn receive(&mut self) -> &str {
        loop {
            self.line.clear();
            let read = self.stdout.read_line(&mut self.line).expect("the server answers");
            assert!(read > 0, "the server went away");
            if self.line.contains("\"id\":") {
                return &self.line;
            }
        }
    }

    /// Sends a request and waits for its answer.
    pub(crate) fn request(&mut self, method: &str, params: &str) -> &str {
        self.send(method, params);
        self.receive()
    }

    /// Calls a tool once and gives the time it took.
    pub(crate) fn call(&mut self, tool: &str, arguments: &str) -> Duration {
        let params = format!(r#"{{"name":"{tool}","arguments":{arguments}}}"#);
        let begun = Instant::now();
        let answer = self.request("tools/call", &params);
        let took = begun.elapsed();
        assert!(answer.contains("\"result\"") && !answer.contains("\"isError\":true"), "{answer}");
        took
    }

    /// Calls a tool so many times with `in_flight` calls under way, and gives calls a second.
    pub(crate) fn throughput(&mut self, tool: &str, arguments: &str, calls: usize, in_flight: usize) -> f64 {
        let params = format!(r#"{{"name":"{tool}","arguments":{arguments}}}"#);
        let begun = Instant::now();
        let mut sent = 0;
        let mut received = 0;
        while received < calls {
            while sent < calls && sent - received < in_flight {
                self.send("tools/call", &params);
                sent += 1;
            }
            let answer = self.receive();
            assert!(answer.contains("\"result\""), "{answer}");
            received += 1;
        }
        #[expect(clippy::cast_precision_loss, reason = "a number of calls")]
        let calls = calls as f64;
        calls / begun.elapsed().as_secs_f64()
    }

    /// Memory in RAM, in MiB.
    pub(crate) fn resident_mib(&self) -> f64 {
        resident_mib(&self.child)
    }

    fn write(&mut self, line: &str) {
        let mut bytes = Vec::with_capacity(line.len() + 1);
        bytes.extend_from_slice(line.as_bytes());
        bytes.push(b'\n');
        self.stdin.write_all(&bytes).expect("the server reads");
    }
}

/// Memory of a process in RAM, in MiB.
pub(crate) fn resident_mib(process: &Child) -> f64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", process.id())).expect("a live server");
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).expect("a memory line");
    let kib: f64 = line.split_whitespace().nth(1).and_then(|word| word.parse().ok()).expect("a number");
    kib / 1024.0
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
