//! A few lines of MCP over stdio: enough for the demo to speak with `remit serve` as an agent does.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use serde_json::{Value, json};

use crate::shell::{Failed, Result, program};

/// A client with a server of its own.
pub(crate) struct Client {
    server: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
    last_id: u64,
}

impl Client {
    /// Starts a server and greets it.
    pub(crate) fn start(remit: &Path, home: &Path) -> Result<Self> {
        let mut server = program(remit)
            .args(["serve", "--tools", "direct"])
            .env("REMIT_HOME", home)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let (Some(stdin), Some(stdout)) = (server.stdin.take(), server.stdout.take()) else {
            return Err(Failed("the server has no pipes".to_owned()));
        };
        let mut client = Self { server, stdin: Some(stdin), stdout: BufReader::new(stdout), last_id: 0 };
        client.request(
            "initialize",
            &json!({
                "protocolVersion": "2025-11-25",
                "capabilities": {},
                "clientInfo": { "name": "demo", "version": "1" },
            }),
        )?;
        client.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }))?;
        Ok(client)
    }

    /// Sends a request and waits for its result.
    pub(crate) fn request(&mut self, method: &str, params: &Value) -> Result<Value> {
        self.last_id += 1;
        let id = self.last_id;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))?;
        loop {
            let mut line = String::new();
            if self.stdout.read_line(&mut line)? == 0 {
                return Err(Failed("the server went away".to_owned()));
            }
            let message: Value =
                serde_json::from_str(&line).map_err(|error| Failed(format!("not JSON: {error}")))?;
            if message["id"] != id {
                continue;
            }
            if !message["error"].is_null() {
                return Err(Failed(message["error"].to_string()));
            }
            return Ok(message["result"].clone());
        }
    }

    /// Says goodbye as clients do, by closing the server's input, and waits until it is gone.
    pub(crate) fn leave(mut self) -> Result<()> {
        drop(self.stdin.take());
        self.server.wait()?;
        Ok(())
    }

    fn send(&mut self, message: &Value) -> Result<()> {
        let Some(stdin) = &mut self.stdin else { return Err(Failed("the client left already".to_owned())) };
        writeln!(stdin, "{message}")?;
        stdin.flush()?;
        Ok(())
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}
