//! The MCP client for Python, both transports and both eras, against the real program with the real
//! plugins; and the search for the token in everything that was written meanwhile.

use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use remit_upstream::{Upstream, github};

use crate::support::home::program;

/// What the client prints, whatever the transport and the era.
const EXPECTED: &str = include_str!("../clients/expected.jsonl");

struct World {
    upstream: Upstream,
    folder: tempfile::TempDir,
}

impl World {
    fn new() -> Self {
        let upstream = Upstream::start(&["api.github.com"], github::server());
        let world = Self { upstream, folder: tempfile::tempdir().expect("a scratch folder") };
        let authority = world.folder.path().join("upstream.pem");
        std::fs::create_dir_all(world.home()).expect("room");
        std::fs::write(&authority, world.upstream.authority_pem()).expect("room");
        let settings = world.upstream.settings("remit/github", "api.github.com", &authority);
        std::fs::write(world.home().join("remit.toml"), settings).expect("room");
        for slug in ["text", "github"] {
            let file = world.folder.path().join(format!("{slug}.wasm"));
            std::fs::write(&file, crate::support::home::built(slug)).expect("room");
            world.remit(&["install", &file.display().to_string(), "--yes"], "");
        }
        world.remit(&["secret", "set", "GITHUB_TOKEN"], github::TOKEN);
        world.remit(&["approve", "remit/github", "GITHUB_TOKEN", "--yes"], "");
        world
    }

    fn home(&self) -> PathBuf {
        self.folder.path().join("home")
    }

    fn remit(&self, arguments: &[&str], input: &str) -> String {
        let mut child = Command::new(program())
            .args(arguments)
            .env("REMIT_HOME", self.home())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("remit starts");
        std::io::Write::write_all(&mut child.stdin.take().expect("a pipe"), input.as_bytes()).expect("it reads");
        let output = child.wait_with_output().expect("it ends");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "remit {arguments:?}: {said}");
        assert!(!said.contains(github::TOKEN));
        String::from_utf8(output.stdout).expect("text")
    }

    fn client(&self, transport: &str, mode: &str, target: &str, token: &str) -> String {
        let python = std::env::var_os("REMIT_TEST_PYTHON")
            .map_or_else(|| program().with_file_name("../python/bin/python"), PathBuf::from);
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/clients/python_client.py");
        let output = Command::new(&python)
            .arg(script)
            .args([transport, mode, target])
            .env("REMIT_HOME", self.home())
            .env("REMIT_TOKEN", token)
            .output()
            .unwrap_or_else(|error| panic!("`{}`: {error}; `cargo xtask test` makes it", python.display()));
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{transport} {mode}: {said}");
        assert!(!said.contains(github::TOKEN), "{said}");
        String::from_utf8(output.stdout).expect("text")
    }
}

/// A `remit serve --http` on a free port.
struct Server {
    child: Child,
    url: String,
    log: std::thread::JoinHandle<String>,
}

impl Server {
    fn start(home: &Path) -> Self {
        let mut child = Command::new(program())
            .args(["serve", "--tools", "direct", "--http", "127.0.0.1:0"])
            .env("REMIT_HOME", home)
            .env("REMIT_LOG", "trace")
            .stderr(Stdio::piped())
            .spawn()
            .expect("remit serve starts");
        let mut stderr = BufReader::new(child.stderr.take().expect("a pipe"));
        let mut said = String::new();
        let url = loop {
            let mut line = String::new();
            assert!(stderr.read_line(&mut line).expect("a line") > 0, "no address: {said}");
            said.push_str(&line);
            if let Some((_, rest)) = line.split_once("listening on ") {
                break rest.trim().to_owned();
            }
        };
        let log = std::thread::spawn(move || {
            let mut rest = Vec::new();
            let _ = stderr.read_to_end(&mut rest);
            said + &String::from_utf8_lossy(&rest)
        });
        Self { child, url, log }
    }

    /// Ends it and gives all that it logged.
    fn stop(mut self) -> String {
        let _ = self.child.kill();
        let _ = self.child.wait();
        self.log.join().expect("a log")
    }
}

#[test]
fn the_python_client_lists_and_calls_and_no_token_stays_behind() {
    let world = World::new();
    for mode in ["auto", "legacy"] {
        let said = world.client("stdio", mode, &program().display().to_string(), "");
        assert_eq!(numbered(&said, &world), EXPECTED, "stdio {mode}");
    }
    let server = Server::start(&world.home());
    let token = std::fs::read_to_string(world.home().join("token")).expect("the door's token");
    for mode in ["auto", "legacy"] {
        let said = world.client("http", mode, &server.url, token.trim());
        assert_eq!(numbered(&said, &world), EXPECTED, "http {mode}");
    }
    let log = server.stop();
    let arrived = world.upstream.seen();
    assert!(arrived.iter().all(|seen| seen.header("authorization") == Some(&format!("Bearer {}", github::TOKEN))));
    assert_eq!(arrived.iter().filter(|seen| seen.method == "POST").count(), 4);

    // The token reached the upstream, and is nowhere else.
    let records = world.remit(&["audit", "--json", "--limit", "1000"], "");
    assert!(records.contains("api.github.com"));
    for (what, text) in [("the log", log), ("the records", records)] {
        assert_eq!(spellings_in(text.as_bytes()), Vec::<String>::new(), "{what}");
    }
    for file in files(&world.home()) {
        let bytes = std::fs::read(&file).expect("a file");
        assert_eq!(spellings_in(&bytes), Vec::<String>::new(), "{}", file.display());
    }
}

/// What a client said, with a name in place of the number of the issue that it created: each client gets the
/// next one.
fn numbered(said: &str, world: &World) -> String {
    let posts = world.upstream.seen().iter().filter(|seen| seen.method == "POST").count();
    let number = (posts + 2).to_string();
    let line = |line: &str| {
        if !line.contains("github__create_issue\", \"error") {
            return line.to_owned() + "\n";
        }
        let line = line.replace(&format!("\"number\": {number},"), "\"number\": NUMBER,");
        line.replace(&format!("\\\"number\\\":{number},"), "\\\"number\\\":NUMBER,")
            .replace(&format!("/issues/{number}\""), "/issues/NUMBER\"")
            .replace(&format!("/issues/{number}\\\""), "/issues/NUMBER\\\"")
            + "\n"
    };
    said.lines().map(line).collect()
}

/// The spellings of the token that occur.
fn spellings_in(bytes: &[u8]) -> Vec<String> {
    use base64::Engine;

    let token = github::TOKEN;
    let hex: String = token.bytes().map(|byte| format!("{byte:02x}")).collect();
    let wide: String = token.chars().flat_map(|character| [character, '\0']).collect();
    let percent: String = token.bytes().map(|byte| format!("%{byte:02X}")).collect();
    let escaped: String = token.bytes().map(|byte| format!("\\u{byte:04x}")).collect();
    let reversed: String = token.chars().rev().collect();
    let mut spellings = vec![token.to_owned(), hex.to_uppercase(), hex, wide, percent, escaped, reversed];
    for lead in ["", "x", "xx"] {
        let coded = base64::engine::general_purpose::STANDARD_NO_PAD.encode(format!("{lead}{token}"));
        // The ends depend on the neighbours, the middle does not.
        spellings.push(coded[4..coded.len() - 4].to_owned());
    }
    let found = |spelling: &String| bytes.windows(spelling.len()).any(|window| window == spelling.as_bytes());
    spellings.into_iter().filter(found).collect()
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path()) {
        if entry.is_dir() {
            files.extend(self::files(&entry));
        } else {
            files.push(entry);
        }
    }
    files
}
