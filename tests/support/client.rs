//! An MCP client on the standard input and output of a `remit serve`.

use std::ffi::OsString;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

use super::home::program;

/// A `remit serve` with a client.
pub(crate) struct Client {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
    last_id: u64,
    /// How many changes of the list were announced.
    pub(crate) notified: u64,
}

impl Client {
    pub(crate) fn start(home: &Path) -> Self {
        Self::start_with(home, Vec::new())
    }

    /// With more in its environment.
    pub(crate) fn start_with(home: &Path, environment: Vec<(&str, OsString)>) -> Self {
        Self::of(
            Command::new(program()).args(["serve", "--tools", "direct"]).env("REMIT_HOME", home).envs(environment),
        )
    }

    /// A client of the server that this command starts.
    pub(crate) fn of(command: &mut Command) -> Self {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("remit serve starts");
        let stdin = child.stdin.take().expect("a pipe");
        let stdout = BufReader::new(child.stdout.take().expect("a pipe"));
        let mut client = Self { child, stdin, stdout, last_id: 0, notified: 0 };
        let greeting = json!({
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": { "name": "test", "version": "1" },
        });
        client.request("initialize", &greeting).expect("a greeting back");
        client.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        client
    }

    /// The server's process.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// The server, to be stopped by hand.
    pub(crate) fn child(&mut self) -> &mut Child {
        &mut self.child
    }

    pub(crate) fn send(&mut self, message: &Value) {
        writeln!(self.stdin, "{message}").expect("the server reads");
        self.stdin.flush().expect("the server reads");
    }

    pub(crate) fn receive(&mut self) -> Value {
        let mut line = String::new();
        assert!(self.stdout.read_line(&mut line).expect("a line") > 0, "the server went away");
        let message: Value = serde_json::from_str(&line).expect("JSON and nothing else on stdout");
        if message["method"] == "notifications/tools/list_changed" {
            self.notified += 1;
        }
        message
    }

    pub(crate) fn request(&mut self, method: &str, params: &Value) -> Result<Value, Value> {
        self.last_id += 1;
        let id = self.last_id;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        loop {
            let message = self.receive();
            if message["id"] == id {
                return if message["error"].is_null() {
                    Ok(message["result"].clone())
                } else {
                    Err(message["error"].clone())
                };
            }
        }
    }

    /// Calls a tool. `None` when the server went away before it answered.
    pub(crate) fn try_call(&mut self, tool: &str, arguments: &Value) -> Option<Result<String, String>> {
        self.last_id += 1;
        let id = self.last_id;
        let params = json!({ "name": tool, "arguments": arguments });
        let message = json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params });
        writeln!(self.stdin, "{message}").and_then(|()| self.stdin.flush()).ok()?;
        loop {
            let mut line = String::new();
            self.stdout.read_line(&mut line).ok()?;
            // A server that was killed leaves half a line, or none.
            let message: Value = line.ends_with('\n').then(|| serde_json::from_str(&line).expect("JSON"))?;
            if message["id"] == id {
                let text = message["result"]["content"][0]["text"].as_str().unwrap_or_default().to_owned();
                let is_ok = message["error"].is_null() && message["result"]["isError"] != true;
                return Some(if is_ok { Ok(text) } else { Err(text) });
            }
        }
    }

    /// The id of the last request.
    pub(crate) fn last_id(&self) -> u64 {
        self.last_id
    }

    /// The names of all tools.
    pub(crate) fn tools(&mut self) -> Vec<String> {
        let list = self.request("tools/list", &json!({})).expect("a list");
        let names = list["tools"].as_array().expect("tools").iter();
        names.map(|tool| tool["name"].as_str().expect("a name").to_owned()).collect()
    }

    /// `ok`, the code of a tool's error, or the number of a protocol error.
    pub(crate) fn call(&mut self, tool: &str) -> String {
        match self.request("tools/call", &json!({ "name": tool, "arguments": {} })) {
            Ok(result) if result["isError"] == true => {
                let text = result["content"][0]["text"].as_str().unwrap_or_default();
                text.split(':').next().unwrap_or_default().to_owned()
            }
            Ok(_) => "ok".to_owned(),
            Err(error) => error["code"].to_string(),
        }
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
