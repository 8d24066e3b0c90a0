//! A `remit serve --http` as the network meets it: the built program and raw requests.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;

use super::home::{program, remit};

/// A test that waits longer than this is stuck.
const PATIENCE: Duration = Duration::from_secs(60);

/// A door that is open, until this is dropped.
pub(crate) struct Door {
    child: Child,
    address: String,
    log: std::path::PathBuf,
    home: Option<TempDir>,
    _scratch: TempDir,
}

/// What came back.
#[derive(Debug)]
pub(crate) struct Answered {
    pub(crate) status: u16,
    /// In lower case.
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Door {
    /// A door with this `remit.toml` and an empty home, open to this machine.
    pub(crate) fn open(config: &str) -> Self {
        Self::with(config, &[])
    }

    /// With these capabilities, granted what they ask.
    pub(crate) fn with(config: &str, capabilities: &[Vec<u8>]) -> Self {
        let home = tempfile::tempdir().expect("a scratch folder");
        fs::write(home.path().join("remit.toml"), config).expect("room");
        for (number, capability) in capabilities.iter().enumerate() {
            let file = home.path().join(format!("{number}.wasm"));
            fs::write(&file, capability).expect("room");
            let installed = remit(home.path(), &["install", &file.display().to_string(), "--yes"], "");
            assert_eq!(installed.exit, Some(0), "{installed:?}");
        }
        let mut door = Self::of(serve("127.0.0.1:0", home.path()).arg("--no-token"));
        door.home = Some(home);
        door
    }

    /// The door that this command opens. What it says is kept.
    pub(crate) fn of(command: &mut Command) -> Self {
        let scratch = tempfile::tempdir().expect("a scratch folder");
        let log = scratch.path().join("log");
        let mut child = command
            .stdin(Stdio::null())
            .stderr(File::create(&log).expect("room"))
            .spawn()
            .expect("remit serve starts");
        let address = loop {
            let said = fs::read_to_string(&log).unwrap_or_default();
            assert!(child.try_wait().expect("a child").is_none(), "the door did not open: {said}");
            let listening = said.lines().find_map(|line| line.split_once("listening on http://"));
            match listening.and_then(|(_, url)| url.split_once("/mcp")) {
                Some((address, _)) => break address.to_owned(),
                None => std::thread::yield_now(),
            }
        };
        Self { child, address, log, home: None, _scratch: scratch }
    }

    /// Its home, where it has one of its own.
    pub(crate) fn home(&self) -> &Path {
        self.home.as_ref().expect("a home of its own").path()
    }

    /// The records of its calls, once there are as many as this. They may be written a little after the answers.
    pub(crate) fn records(&self, least: usize) -> Vec<Value> {
        loop {
            let records = remit(self.home(), &["audit", "--json", "--limit", "1000"], "").json();
            let records = records.as_array().expect("a list");
            if records.len() >= least {
                return records.clone();
            }
        }
    }

    /// What it wrote to its standard error so far.
    pub(crate) fn said(&self) -> Vec<u8> {
        fs::read(&self.log).expect("a log")
    }

    /// KiB of memory that its process holds.
    pub(crate) fn memory(&self) -> u64 {
        let status =
            fs::read_to_string(format!("/proc/{}/status", self.child.id())).expect("the process is there");
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("a size");
        line.split_whitespace().next().and_then(|number| number.parse().ok()).expect("a number")
    }

    /// Sends a request with these fields, and what is missing to make it one of a client.
    pub(crate) fn send(&self, method: &str, path: &str, fields: &[&str], body: &str) -> Answered {
        let mut head = format!("{method} {path} HTTP/1.1\r\nConnection: close\r\n");
        let length = format!("Content-Length: {}", body.len());
        let defaults =
            ["Host: localhost", "Content-Type: application/json", "Accept: application/json, text/event-stream"];
        let name = |field: &str| field.split_once(':').expect("a field").0.to_ascii_lowercase();
        let has = |wanted: &str| fields.iter().any(|field| name(field) == name(wanted));
        let missing = defaults.iter().filter(|default| !has(default));
        let length = (!has("Transfer-Encoding:")).then_some(length.as_str());
        for field in fields.iter().chain(missing).copied().chain(length) {
            head.push_str(field);
            head.push_str("\r\n");
        }
        let mut stream = TcpStream::connect(&self.address).expect("a door");
        // A door that refuses early may close before it has read everything.
        let _ = stream.write_all(format!("{head}\r\n{body}").as_bytes());
        let mut bytes = Vec::new();
        let _ = stream.read_to_end(&mut bytes);
        let text = String::from_utf8_lossy(&bytes);
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or_default();
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
        Answered { status, head: head.to_ascii_lowercase(), body: body.to_owned() }
    }

    /// Announces a body of so many bytes, sends none of it, and gives the status.
    pub(crate) fn announce(&self, bytes: u64) -> u16 {
        let mut stream = TcpStream::connect(&self.address).expect("a door");
        let head = format!(
            "POST /mcp HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\n\
             Accept: application/json, text/event-stream\r\nContent-Length: {bytes}\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).expect("it reads");
        let mut answer = String::new();
        let _ = stream.read_to_string(&mut answer);
        answer.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0)
    }

    /// Begins a session.
    pub(crate) fn begin(&self, fields: &[&str]) -> Answered {
        self.send("POST", "/mcp", fields, &initialize().to_string())
    }

    /// Asks as a client of 2026 does.
    pub(crate) fn ask(&self, fields: &[&str], method: &str, params: &Value) -> Answered {
        self.ask_with(fields, method, params, &json!(1))
    }

    /// The same, on the endpoint at this path.
    pub(crate) fn ask_at(&self, path: &str, fields: &[&str], method: &str, params: &Value) -> Answered {
        self.ask_at_with(path, fields, method, params, &json!(1))
    }

    /// The same, with an id of the test's own.
    pub(crate) fn ask_with(&self, fields: &[&str], method: &str, params: &Value, id: &Value) -> Answered {
        self.ask_at_with("/mcp", fields, method, params, id)
    }

    fn ask_at_with(&self, path: &str, fields: &[&str], method: &str, params: &Value, id: &Value) -> Answered {
        let mut params = params.clone();
        let mut all = vec!["MCP-Protocol-Version: 2026-07-28".to_owned(), format!("Mcp-Method: {method}")];
        let name = params["name"].as_str().or(params["uri"].as_str());
        all.extend(name.map(|name| format!("Mcp-Name: {name}")));
        all.extend(fields.iter().map(|&field| field.to_owned()));
        params["_meta"] = with_meta(&params["_meta"]);
        let body = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        self.send("POST", path, &all.iter().map(String::as_str).collect::<Vec<_>>(), &body.to_string())
    }
}

impl Door {
    /// Listens as a client of 2026 does. Each call gives the next message that comes.
    pub(crate) fn listen(&self, fields: &[&str], params: &Value) -> impl FnMut() -> Value + use<> {
        let mut params = params.clone();
        params["_meta"] = with_meta(&params["_meta"]);
        let message = json!({ "jsonrpc": "2.0", "id": "s", "method": "subscriptions/listen", "params": params });
        let (body, fields) = (message.to_string(), fields.join("\r\n"));
        let head = format!(
            "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nAccept: application/json, \
             text/event-stream\r\nMCP-Protocol-Version: 2026-07-28\r\nMcp-Method: subscriptions/listen\r\n{fields}\r\n\
             Content-Length: {}\r\n\r\n",
            body.len()
        );
        let mut stream = TcpStream::connect(&self.address).expect("a door");
        stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        stream.write_all(format!("{head}{body}").as_bytes()).expect("it reads");
        let mut lines = BufReader::new(stream).lines();
        move || loop {
            let line = lines.next().expect("more").expect("a line");
            let data = line.strip_prefix("data: ").filter(|data| !data.is_empty());
            if let Some(message) = data.and_then(|data| serde_json::from_str(data).ok()) {
                return message;
            }
        }
    }
}

impl Answered {
    /// The JSON in it, also where it is the one message of a stream.
    pub(crate) fn json(&self) -> Value {
        let message =
            self.body.lines().find_map(|line| line.strip_prefix("data: ").filter(|data| !data.is_empty()));
        serde_json::from_str(message.unwrap_or(&self.body)).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The session that began, as a client names it.
    pub(crate) fn session(&self) -> String {
        let id = self.head.lines().find_map(|line| line.strip_prefix("mcp-session-id: "));
        format!("Mcp-Session-Id: {}", id.unwrap_or_else(|| panic!("no session: {self:?}")))
    }
}

impl Drop for Door {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The command that opens a door.
pub(crate) fn serve(address: &str, home: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program());
    command.args(["serve", "--http", address]).env("REMIT_HOME", home);
    command
}

/// The greeting of a client with a handshake.
pub(crate) fn initialize() -> Value {
    let client = json!({ "name": "test", "version": "1" });
    let params = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client });
    json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params })
}

/// What a client of 2026 sends with each request, and this besides.
fn with_meta(more: &Value) -> Value {
    let mut meta = meta();
    for (key, value) in more.as_object().into_iter().flatten() {
        meta[key] = value.clone();
    }
    meta
}

/// What a client of 2026 sends with each request.
pub(crate) fn meta() -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {},
    })
}
