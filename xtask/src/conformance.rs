//! The protocol's own conformance suite, its inspector and its TypeScript clients, against the real program that
//! serves a WebAssembly component. The suite runs without a list of failures that are expected: there are none.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use crate::node::{CONFORMANCE, Node};
use crate::shell::{Failed, Result, program, root, say, target};
use crate::wasm;

/// The sets of scenarios that the suite requires of a server, one of each era.
const SETS: [&str; 2] = ["2025-11-25", "2026-07-28"];

/// The capability that exports what the suite asks for.
const CAPABILITY: &str = "test/conformance";

/// What the clients print, whatever the client, the transport and the era.
const EXPECTED: &str = "tests/clients/typescript_expected.jsonl";

/// Runs it all in a scratch home that is gone afterwards.
pub(crate) fn run() -> Result<()> {
    let scene = Scene::new()?;
    let server = Server::start(&scene)?;
    // Before the suite, which has the capability withdraw some of what it shows.
    let mut failed = inspector(&scene, &server.url)?;
    failed.extend(clients(&scene, &server.url)?);
    for set in SETS {
        failed.extend(suite(&scene.node, set, &server.url)?);
    }
    if failed.is_empty() { Ok(()) } else { Err(Failed(failed.join("\n"))) }
}

/// Node, the program, and a home in which the capability is installed with all that it asks for.
struct Scene {
    node: Node,
    remit: PathBuf,
    scratch: tempfile::TempDir,
}

impl Scene {
    fn new() -> Result<Self> {
        let remit = wasm::remit()?;
        let target = target()?;
        let file = wasm::capability(&remit, &target, "tests/fixtures/conformance")?;
        let scene = Self { node: Node::bring(&target, &CONFORMANCE)?, remit, scratch: tempfile::tempdir()? };
        crate::shell::run(scene.remit(&["--quiet", "install"]).arg(file).arg("--yes"))?;
        Ok(scene)
    }

    fn home(&self) -> PathBuf {
        self.scratch.path().join("home")
    }

    fn remit(&self, arguments: &[&str]) -> Command {
        let mut command = program(&self.remit);
        command.args(arguments).env("REMIT_HOME", self.home());
        command
    }
}

/// `remit serve` at a free port of the loopback interface.
struct Server {
    child: Child,
    /// The endpoint of the capability alone, where its items have their own names.
    url: String,
}

impl Server {
    fn start(scene: &Scene) -> Result<Self> {
        let mut serve = scene.remit(&["serve", "--http", "127.0.0.1:0", "--no-token"]);
        let mut child = serve.stderr(Stdio::piped()).spawn()?;
        let Some(stderr) = child.stderr.take() else { return Err(Failed("the server has no pipe".to_owned())) };
        let mut server = Self { child, url: String::new() };
        let mut stderr = BufReader::new(stderr);
        let mut line = String::new();
        while !line.contains("listening on ") {
            line.clear();
            if stderr.read_line(&mut line)? == 0 {
                return Err(Failed("the server ended before it listened".to_owned()));
            }
        }
        let url = line.split_once("listening on ").map(|(_, url)| url.trim()).unwrap_or_default();
        server.url = format!("{url}/{CAPABILITY}");
        // Read on, or the server waits for room in the pipe.
        std::thread::spawn(move || std::io::copy(&mut stderr, &mut std::io::sink()));
        Ok(server)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Runs one set of the suite and prints its own summary. Gives what failed.
fn suite(node: &Node, set: &str, url: &str) -> Result<Option<String>> {
    let mut command = node.package("conformance");
    command.args(["server", "--url", url, "--requirements", set, "--output-dir"]).arg(node.results(set)?);
    let ended = ended(&mut command)?;
    let summary = ended.stdout.split("=== SUMMARY ===").nth(1).unwrap_or(&ended.stdout);
    say(&format!("\nconformance {set}\n{}", summary.trim()));
    let ran = summary.contains("Total: ");
    Ok((!ended.success || !ran).then(|| format!("the suite {set} fails:\n{}", ended.stderr)))
}

/// The inspector lists the tools, strictly, in both eras and over both transports.
fn inspector(scene: &Scene, url: &str) -> Result<Vec<String>> {
    let mut failed = Vec::new();
    for era in ["legacy", "modern"] {
        for transport in ["http", "stdio"] {
            let mut command = scene.node.package("mcp-inspector");
            command.args([
                "--cli",
                "--format",
                "json",
                "--strict",
                "--protocol-era",
                era,
                "--method",
                "tools/list",
            ]);
            command.env("REMIT_HOME", scene.home());
            match transport {
                "http" => command.args(["--transport", "http", "--server-url", url]),
                _ => {
                    let home = format!("REMIT_HOME={}", scene.home().display());
                    command.args(["-e", &home, "--"]).arg(&scene.remit).args(["serve", "--only", CAPABILITY])
                }
            };
            let ended = ended(&mut command)?;
            let tools: serde_json::Value = serde_json::from_str(&ended.stdout).unwrap_or_default();
            let count = tools["result"]["tools"].as_array().map_or(0, Vec::len);
            say(&format!("inspector, {era}, {transport}: {count} tools"));
            if !ended.success || count == 0 {
                failed.push(format!("inspector, {era}, {transport}:\n{}{}", ended.stdout, ended.stderr));
            }
        }
    }
    Ok(failed)
}

/// Both TypeScript clients do the same things and see the same answers, in both eras and over both transports.
fn clients(scene: &Scene, url: &str) -> Result<Vec<String>> {
    let expected = std::fs::read_to_string(root().join(EXPECTED))?;
    let mut failed = Vec::new();
    for client in ["auto", "legacy", "v1"] {
        for transport in ["http", "stdio"] {
            let mut command = scene.node.file("typescript_client.mjs");
            let target = if transport == "http" { url.to_owned() } else { scene.remit.display().to_string() };
            command.args([transport, client, &target]).env("REMIT_HOME", scene.home());
            let ended = ended(&mut command)?;
            let fits = ended.success && ended.stdout == expected;
            say(&format!(
                "TypeScript client, {client}, {transport}: {}",
                if fits { "as expected" } else { "different" }
            ));
            if !fits {
                failed.push(format!(
                    "TypeScript client, {client}, {transport}: {}{}",
                    difference(&expected, &ended.stdout),
                    ended.stderr
                ));
            }
        }
    }
    Ok(failed)
}

/// What a program left when it ended.
struct Ended {
    success: bool,
    stdout: String,
    stderr: String,
}

fn ended(command: &mut Command) -> Result<Ended> {
    let output = command.stdin(Stdio::null()).output()?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Ok(Ended { success: output.status.success(), stdout: text(&output.stdout), stderr: text(&output.stderr) })
}

/// The first line that is not the expected one.
fn difference(expected: &str, found: &str) -> String {
    let (mut expected, mut found) = (expected.lines(), found.lines());
    loop {
        match (expected.next(), found.next()) {
            (None, None) => return String::new(),
            (wanted, line) if wanted != line => {
                return format!("\nexpected {}\n   found {}\n", wanted.unwrap_or("-"), line.unwrap_or("-"));
            }
            _ => {}
        }
    }
}
