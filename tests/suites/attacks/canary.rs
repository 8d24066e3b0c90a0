//! The canary search: secrets are used in every way there is, and then looked for in everything that was written
//! or said meanwhile, in every spelling.

use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use aho_corasick::AhoCorasick;
use remit_upstream::{Answer, Seen};
use rusqlite::Connection;
use serde_json::{Value, json};

use crate::support::client::Client;
use crate::support::home::{Ended, built, program};
use crate::support::spellings;
use crate::support::world::{HOST, World};

/// What is stored under `API_KEY`, first and later, and under `OTHER_KEY`. Found nowhere else in the world.
const PLAIN: &str = "cnry-Yk3vQ9tXz7LmP2sRw5HdB8";
const ROTATED: &str = "cnry-8Jt4NfWc6GvKq1ZxUe0MaS";
const AWKWARD: &str = r#"cnry "qX7\w<&>'/+=%~*;K4d"Tz9"#;

/// Answers with every spelling of what it got. `/slow` does not answer.
fn echo(seen: &Seen) -> Answer {
    let body = String::from_utf8_lossy(&seen.body).into_owned();
    let key = seen.header("authorization").and_then(|value| value.strip_prefix("Bearer ")).unwrap_or_default();
    let mut echoed = Vec::new();
    for value in [key, &body] {
        if !value.is_empty() {
            let spelt = spellings::all(value).into_iter().map(|spelling| spelling.whole);
            echoed.extend(spelt.flat_map(|whole| [whole, b"\n".to_vec()].concat()));
        }
    }
    let mut answer = Answer::new(200, "text/plain", echoed);
    for field in ["x-echo", "etag", "set-cookie", "www-authenticate"] {
        answer = answer.header(field, key);
    }
    if seen.path == "/slow" {
        answer.delay = Duration::from_secs(3600);
    }
    answer
}

/// A home that people and agents use, and all that they get to see.
struct Stage {
    world: World,
    /// Temporary files and logs of the programs, and copies of the database.
    scratch: tempfile::TempDir,
    said: Vec<(String, Vec<u8>)>,
}

impl Stage {
    fn new() -> Self {
        let world = World::with_settings("", echo);
        let scratch = tempfile::tempdir().expect("a scratch folder");
        for folder in ["temporary", "logs", "copies"] {
            fs::create_dir(scratch.path().join(folder)).expect("room");
        }
        let probe = crate::support::home::renamed(&built("probe"), |manifest| {
            let mut other = manifest["secrets"][0].clone();
            other["name"] = json!("OTHER_KEY");
            manifest["secrets"].as_array_mut().expect("a list").push(other);
        });
        fs::write(scratch.path().join("probe.wasm"), probe).expect("room");
        Self { world, scratch, said: Vec::new() }
    }

    fn folder(&self, name: &str) -> PathBuf {
        self.scratch.path().join(name)
    }

    /// The program in this home, as talkative as it can be.
    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(program());
        command
            .args(arguments)
            .env("REMIT_HOME", self.world.home.path())
            .env("REMIT_LOG", "trace,hyper=trace,rustls=trace,rmcp=trace")
            .env("RUST_BACKTRACE", "full")
            .env("TMPDIR", self.folder("temporary"));
        command
    }

    /// Runs the program and keeps what it says.
    fn remit(&mut self, arguments: &[&str], input: &str) -> Ended {
        let mut child = self
            .command(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("remit starts");
        let _ = child.stdin.take().expect("a pipe").write_all(input.as_bytes());
        let output = child.wait_with_output().expect("it ends");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let ended =
            Ended { exit: output.status.code(), stdout: text(&output.stdout), stderr: text(&output.stderr) };
        self.said.push((format!("remit {arguments:?}"), [output.stdout, output.stderr].concat()));
        ended
    }

    /// Runs the program, which must be content.
    fn done(&mut self, arguments: &[&str], input: &str) {
        let ended = self.remit(arguments, input);
        assert_eq!(ended.exit, Some(0), "{arguments:?}: {ended:?}");
    }

    /// Calls a tool; whether it answers is the caller's business.
    fn call(&mut self, tool: &str, arguments: &Value, more: &[&str]) -> Ended {
        let (tool, arguments) = (format!("test/probe.{tool}"), arguments.to_string());
        self.remit(&[&["call", &tool, &arguments], more].concat(), "")
    }

    /// What anybody on this machine sees of a process, and whether it would leave a dump.
    fn look_at(&mut self, child: &Child) {
        let process = Path::new("/proc").join(child.id().to_string());
        for file in ["cmdline", "environ"] {
            let shown = fs::read(process.join(file)).expect("the process is there");
            self.said.push((file.to_owned(), shown));
        }
        let limits = fs::read_to_string(process.join("limits")).expect("the process is there");
        let core = limits.lines().find(|line| line.starts_with("Max core file size")).expect("a limit");
        assert_eq!(core.split_whitespace().nth(4), Some("0"), "no dump of it is written");
    }

    /// Sends this to a server over stdio: a call that answers, and one in whose middle it is killed.
    fn serve_stdio(&mut self) {
        let log = File::create(self.folder("logs").join("stdio")).expect("room");
        let mut client = Client::of(self.command(&["serve", "--tools", "direct"]).stderr(log));
        let call = |arguments: Value| json!({ "name": "probe__fetch", "arguments": arguments });
        let answer = client.request("tools/call", &call(both_keys("/"))).expect("an answer");
        self.said.push(("an answer over stdio".to_owned(), answer.to_string().into_bytes()));
        assert!(answer.to_string().contains("[redacted:OTHER_KEY]"), "{answer}");
        let params = call(both_keys("/slow"));
        client.send(&json!({ "jsonrpc": "2.0", "id": "last", "method": "tools/call", "params": params }));
        while !self.world.upstream.seen().iter().any(|seen| seen.path == "/slow") {
            std::thread::yield_now();
        }
        self.look_at(client.child());
        // Its values are in its memory and on the wire; nothing can tidy up after this.
        client.child().kill().expect("it runs");
    }

    /// The same over HTTP.
    fn serve_http(&mut self) {
        let log = self.folder("logs").join("http");
        let mut child = self
            .command(&["serve", "--tools", "direct", "--http", "127.0.0.1:0", "--no-token"])
            .stderr(File::create(&log).expect("room"))
            .spawn()
            .expect("remit serve starts");
        let address = loop {
            let said = fs::read_to_string(&log).expect("a log");
            assert!(child.try_wait().expect("a child").is_none(), "{said}");
            let listening = said.lines().find_map(|line| line.split_once("listening on http://"));
            match listening.and_then(|(_, url)| url.split_once("/mcp")) {
                Some((address, _)) => break address.to_owned(),
                None => std::thread::yield_now(),
            }
        };
        self.look_at(&child);
        let meta = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {},
        });
        let params = json!({ "name": "probe__fetch", "arguments": both_keys("/"), "_meta": meta });
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params }).to_string();
        let mut stream = TcpStream::connect(address).expect("a server");
        let head = format!(
            "POST /mcp HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\n\
             Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2026-07-28\r\n\
             Mcp-Method: tools/call\r\nMcp-Name: probe__fetch\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        stream.write_all(format!("{head}{body}").as_bytes()).expect("it reads");
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).expect("an answer");
        assert!(String::from_utf8_lossy(&answer).contains("[redacted:OTHER_KEY]"), "it answered");
        self.said.push(("an answer over HTTP".to_owned(), answer));
        child.kill().expect("it runs");
        child.wait().expect("it ends");
    }

    /// Copies the database as operators do: by SQLite itself, and file by file, with the log that a running
    /// process keeps beside it.
    fn back_up(&self) {
        let home = self.world.home.path();
        let copies = self.folder("copies");
        let connection = Connection::open(home.join("remit.db")).expect("a database");
        connection.execute("VACUUM INTO ?1", [copies.join("vacuum.db").display().to_string()]).expect("a copy");
        for file in ["remit.db", "remit.db-wal", "remit.db-shm"] {
            fs::copy(home.join(file), copies.join(file)).expect("the files of a database in use");
        }
    }

    /// All that was written and said.
    fn everything(&self) -> Vec<(String, Vec<u8>)> {
        let files = [self.world.home.path(), self.scratch.path()].into_iter().flat_map(files);
        files.chain(self.said.iter().cloned()).collect()
    }
}

fn both_keys(path: &str) -> Value {
    json!({
        "url": format!("https://{HOST}{path}"), "method": "POST",
        "headers": ["authorization: Bearer {{API_KEY}}"], "body": "{{OTHER_KEY}}",
    })
}

/// Every file below a folder, with what is in it.
fn files(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path()) {
        if entry.is_dir() {
            found.extend(files(&entry));
        } else {
            found.push((entry.display().to_string(), fs::read(&entry).expect("a file")));
        }
    }
    found
}

/// Looks for values in every spelling.
struct Search {
    spellings: Vec<String>,
    automaton: AhoCorasick,
}

impl Search {
    fn of(values: &[&str]) -> Self {
        let all: Vec<_> = values.iter().flat_map(|value| spellings::all(value)).collect();
        let automaton =
            AhoCorasick::new(all.iter().map(|spelling| &spelling.core)).expect("a few hundred patterns");
        Self { spellings: all.into_iter().map(|spelling| spelling.name).collect(), automaton }
    }

    /// Which spelling is in these bytes, and what stands around it.
    fn find(&self, bytes: &[u8]) -> Option<String> {
        let found = self.automaton.find(bytes)?;
        let around = found.start().saturating_sub(80)..bytes.len().min(found.end() + 80);
        let around = String::from_utf8_lossy(&bytes[around]).into_owned();
        Some(format!("{}: {around}", self.spellings[found.pattern().as_usize()]))
    }
}

#[test]
fn s44_no_value_stays_anywhere() {
    let mut stage = Stage::new();
    let probe = stage.folder("probe.wasm").display().to_string();
    stage.done(&["install", &probe, "--yes"], "");
    stage.done(&["secret", "set", "API_KEY"], PLAIN);
    stage.done(&["secret", "set", "OTHER_KEY"], AWKWARD);
    for secret in ["API_KEY", "OTHER_KEY"] {
        stage.done(&["approve", "test/probe", secret, "--yes"], "");
    }

    // Calls that are answered, refused, that fail and that break, with every spelling in the guest's hands.
    let answered = stage.call("fetch", &both_keys("/"), &["--usage"]);
    assert!(answered.exit == Some(0) && answered.stdout.contains("[redacted:API_KEY]"), "{answered:?}");
    assert_eq!(
        stage
            .call("change", &json!({ "url": format!("https://{HOST}/"), "body": "{{OTHER_KEY}}" }), &["--json"])
            .exit,
        Some(0)
    );
    for url in ["https://files.cdn.example.com/", "https://api.example.com/?key={{API_KEY}}", "https://evil.test/"]
    {
        let mut elsewhere = both_keys("/");
        elsewhere["url"] = json!(url);
        assert_eq!(stage.call("fetch", &elsewhere, &["--json"]).exit, Some(1), "{url}");
    }
    for breaks in [false, true] {
        let url = format!("https://{HOST}/");
        let complaint = json!({
            "message": "it said:", "url": url, "headers": ["authorization: Bearer {{API_KEY}}"], "breaks": breaks,
        });
        assert_eq!(stage.call("complain", &complaint, &["--json"]).exit, Some(1));
    }
    assert_eq!(
        stage
            .call("change", &json!({ "url": format!("https://{HOST}/"), "body": "{{OTHER_KEY}}" }), &["--dry-run"])
            .exit,
        Some(0)
    );

    stage.serve_stdio();
    // A value is replaced, and the new one is used.
    stage.done(&["secret", "set", "API_KEY"], ROTATED);
    stage.serve_http();

    for command in [
        &["secret", "list"][..],
        &["secret", "list", "--json"],
        &["show", "test/probe", "--json"],
        &["audit", "--limit", "1000"],
        &["audit", "--limit", "1000", "--json"],
    ] {
        stage.done(command, "");
    }
    stage.back_up();

    // The values were there.
    let arrived: Vec<_> = stage.world.upstream.seen();
    for value in [PLAIN, ROTATED] {
        let field = format!("Bearer {value}");
        assert!(arrived.iter().any(|seen| seen.header("authorization") == Some(&field)), "{value} was sent");
    }
    assert!(arrived.iter().any(|seen| seen.body == AWKWARD.as_bytes()));
    let everything = stage.everything();
    for part in [
        "remit.db",
        "remit.db-wal",
        "/key",
        "/seal",
        "compiled/",
        "vacuum.db",
        "copies/remit.db-wal",
        "logs/stdio",
        "logs/http",
        "audit",
    ] {
        assert!(
            everything.iter().any(|(name, bytes)| name.contains(part) && !bytes.is_empty()),
            "`{part}` is searched"
        );
    }

    // And are nowhere else.
    let search = Search::of(&[PLAIN, ROTATED, AWKWARD]);
    let found: Vec<_> =
        everything.iter().filter_map(|(name, bytes)| Some(format!("{name}: {}", search.find(bytes)?))).collect();
    assert_eq!(found, Vec::<String>::new());
}

#[test]
fn the_search_finds_what_is_there() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let search = Search::of(&[PLAIN, AWKWARD]);
    for value in [PLAIN, AWKWARD] {
        for spelling in spellings::all(value) {
            fs::write(folder.path().join("log"), [b"<", &spelling.whole[..], b">"].concat()).expect("room");
            let [(_, bytes)] = &files(folder.path())[..] else { panic!("one file") };
            assert!(search.find(bytes).is_some(), "{}", spelling.name);
        }
    }
    assert_eq!(search.find(b"cnry, {{API_KEY}} and [redacted:API_KEY]"), None);
}
