//! A server over HTTP and a client that costs next to nothing: heads are scanned, bodies are not parsed, and a
//! connection is kept, so that what is measured is the server.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::home;

/// The greeting of a client with a handshake.
const INITIALIZE: &str =
    r#"{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}"#;

/// What a client of 2026 says with every request.
const META: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;

/// A running server.
pub(crate) struct Door {
    child: Child,
    pub(crate) address: SocketAddr,
    token: Option<String>,
}

/// How a client speaks.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Era {
    /// With a handshake and a session: 2025-11-25.
    Legacy,
    /// Each request for itself: 2026-07-28.
    Modern,
}

/// One client on one connection.
pub(crate) struct Client {
    stream: BufReader<TcpStream>,
    token: Option<String>,
    era: Era,
    session: Option<String>,
    body: Vec<u8>,
    last_id: u64,
}

impl Door {
    /// A `remit serve --http` over a scratch home, with its token.
    pub(crate) fn remit(home: &Path) -> Self {
        let mut child = Command::new(home::program())
            .args(["serve", "--tools", "direct", "--http", "127.0.0.1:0"])
            .env("REMIT_HOME", home)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("remit starts");
        let mut errors = BufReader::new(child.stderr.take().expect("a pipe"));
        let address = loop {
            let mut line = String::new();
            assert!(errors.read_line(&mut line).expect("a line") > 0, "the door did not open");
            let rest = line.trim().strip_prefix("listening on http://");
            if let Some(address) = rest.and_then(|rest| rest.strip_suffix("/mcp")) {
                break address.parse().expect("an address");
            }
        };
        std::thread::spawn(move || std::io::copy(&mut errors, &mut std::io::sink()));
        let token = std::fs::read_to_string(home.join("token")).expect("a token");
        Self { child, address, token: Some(token.trim().to_owned()) }
    }

    /// The bare server.
    pub(crate) fn bare() -> Self {
        let program = std::env::current_exe().expect("a path").with_file_name("bare-rmcp");
        let mut child =
            Command::new(program).arg("--http").stdout(Stdio::piped()).spawn().expect("the bare server starts");
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("a pipe")).read_line(&mut line).expect("an address");
        Self { child, address: line.trim().parse().expect("an address"), token: None }
    }

    /// A client, greeted.
    pub(crate) fn client(&self, era: Era) -> Client {
        let mut client = self.stranger(era);
        client.token = self.token.clone();
        if era == Era::Legacy {
            client.request("initialize", INITIALIZE);
            client.send(
                r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
                "notifications/initialized",
                "",
            );
            client.receive();
        }
        client
    }

    /// A client without a token that has said nothing.
    pub(crate) fn stranger(&self, era: Era) -> Client {
        let stream = TcpStream::connect(self.address).expect("the door is open");
        stream.set_nodelay(true).expect("a plain socket");
        Client { stream: BufReader::new(stream), token: None, era, session: None, body: Vec::new(), last_id: 0 }
    }

    /// Memory in RAM, in MiB.
    pub(crate) fn resident_mib(&self) -> f64 {
        crate::server::resident_mib(&self.child)
    }
}

impl Drop for Door {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Client {
    /// Sends an `initialize` and gives the status.
    pub(crate) fn knock(&mut self) -> u16 {
        let message = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"initialize","params":{INITIALIZE}}}"#);
        self.send(&message, "initialize", "");
        self.receive()
    }

    /// Calls a tool once and gives the time it took.
    pub(crate) fn call(&mut self, tool: &str, arguments: &str) -> Duration {
        let params = format!(r#"{{"name":"{tool}","arguments":{arguments}}}"#);
        let begun = Instant::now();
        self.request("tools/call", &params);
        let took = begun.elapsed();
        let answer = self.answer();
        assert!(answer.contains("\"result\"") && !answer.contains("\"isError\":true"), "{answer}");
        took
    }

    /// Lists all tools, how many bytes that is, and the time it took.
    pub(crate) fn list(&mut self) -> (Duration, String) {
        let begun = Instant::now();
        self.request("tools/list", "{}");
        let took = begun.elapsed();
        (took, self.answer())
    }

    fn answer(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// Sends a request and waits for the whole answer.
    fn request(&mut self, method: &str, params: &str) {
        self.last_id += 1;
        let params = match self.era {
            Era::Legacy => params.to_owned(),
            Era::Modern if params == "{}" => format!("{{{META}}}"),
            Era::Modern => format!("{},{META}}}", &params[..params.len() - 1]),
        };
        let id = self.last_id;
        let message = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#);
        let name = params.split("\"name\":\"").nth(1).and_then(|rest| rest.split('"').next()).unwrap_or_default();
        self.send(&message, method, name);
        let status = self.receive();
        assert_eq!(status, 200, "{}", self.answer());
    }

    fn send(&mut self, message: &str, method: &str, name: &str) {
        let length = message.len();
        let mut text = format!(
            "POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n\
             accept: application/json, text/event-stream\r\ncontent-length: {length}\r\n"
        );
        if let Some(token) = &self.token {
            text.push_str(&format!("authorization: Bearer {token}\r\n"));
        }
        match (self.era, &self.session) {
            (Era::Modern, _) => {
                text.push_str(&format!("mcp-protocol-version: 2026-07-28\r\nmcp-method: {method}\r\n"));
                if method == "tools/call" {
                    text.push_str(&format!("mcp-name: {name}\r\n"));
                }
            }
            (Era::Legacy, Some(session)) => {
                text.push_str(&format!("mcp-protocol-version: 2025-11-25\r\nmcp-session-id: {session}\r\n"));
            }
            (Era::Legacy, None) => {}
        }
        text.push_str("\r\n");
        text.push_str(message);
        self.stream.get_mut().write_all(text.as_bytes()).expect("the server reads");
    }

    /// Reads one answer to its end and gives the status.
    fn receive(&mut self) -> u16 {
        let (mut status, mut length, mut chunked) = (0, 0, false);
        loop {
            let line = self.line();
            if status == 0 {
                status = line.split(' ').nth(1).and_then(|word| word.parse().ok()).expect("a status");
            } else if line.is_empty() {
                break;
            } else if let Some((name, value)) = line.split_once(':') {
                let value = value.trim();
                match name.to_ascii_lowercase().as_str() {
                    "content-length" => length = value.parse().expect("a length"),
                    "transfer-encoding" => chunked = value == "chunked",
                    "mcp-session-id" => self.session = Some(value.to_owned()),
                    _ => {}
                }
            }
        }
        self.body.clear();
        if !chunked {
            self.read(length);
            return status;
        }
        loop {
            let size = usize::from_str_radix(&self.line(), 16).expect("the size of a chunk");
            self.read(size);
            self.line();
            if size == 0 {
                return status;
            }
        }
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        assert!(self.stream.read_line(&mut line).expect("the server answers") > 0, "the server went away");
        line.trim_end().to_owned()
    }

    fn read(&mut self, bytes: usize) {
        let begin = self.body.len();
        self.body.resize(begin + bytes, 0);
        self.stream.read_exact(&mut self.body[begin..]).expect("the server answers");
    }
}
