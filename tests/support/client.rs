//! An MCP client on the standard input and output of a `remit serve`.

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
        let mut child = Command::new(program())
            .arg("serve")
            .env("REMIT_HOME", home)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("remit serve starts");
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
