//! A home of its own for one test, with the rooms wired as the program wires them.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use remit::app::{App, Around};
use remit::audit::{Query, Record};
use remit::call::{CallRequest, Failure, Host, Reply};
use remit::client::Confirmation;
use remit::clock::Clock;
use remit::config::Config;
use remit::egress::Outside;
use remit::policy::{Grant, Identity};
use serde_json::Value;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

/// The program under test.
pub(crate) fn program() -> PathBuf {
    PathBuf::from(env!("CARGO_BIN_EXE_remit"))
}

/// The bytes of a capability that `cargo xtask test` built from source.
pub(crate) fn built(slug: &str) -> Vec<u8> {
    let folder = std::env::var_os("REMIT_TEST_CAPABILITIES")
        .map_or_else(|| program().with_file_name("../capabilities"), PathBuf::from);
    let file = folder.join(format!("{slug}.wasm"));
    std::fs::read(&file)
        .unwrap_or_else(|error| panic!("`{}`: {error}; `cargo xtask build` makes it", file.display()))
}

/// The same component under another slug or version.
pub(crate) fn renamed(component: &[u8], change: impl FnOnce(&mut Value)) -> Vec<u8> {
    let report = remit::component::inspect(component).expect("a capability");
    let mut manifest = serde_json::to_value(&report.manifest).expect("JSON");
    change(&mut manifest);
    let manifest = serde_json::from_value(manifest).expect("a manifest");
    remit::component::embed(component, &manifest).expect("embedded")
}

/// What the program left when it ended.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) exit: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Ended {
    /// The JSON on stdout.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The code of the error on stderr, with `--json`.
    pub(crate) fn code(&self) -> String {
        let last = self.stderr.lines().rev().find(|line| line.starts_with('{')).unwrap_or("{}");
        let error: Value = serde_json::from_str(last).expect("JSON");
        error["error"]["code"].as_str().unwrap_or_default().to_owned()
    }
}

/// Runs the program on a home, with this on its stdin.
pub(crate) fn remit(home: &Path, arguments: &[&str], input: &str) -> Ended {
    let mut child = Command::new(program())
        .args(arguments)
        .env("REMIT_HOME", home)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("remit starts");
    // One that needs no input may have ended already.
    let _ = child.stdin.take().expect("a pipe").write_all(input.as_bytes());
    let output = child.wait_with_output().expect("it ends");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Ended { exit: output.status.code(), stdout: text(&output.stdout), stderr: text(&output.stderr) }
}

/// A home that is gone after the test.
pub(crate) struct Home {
    pub(crate) app: App,
    pub(crate) threads: tokio::runtime::Runtime,
    folder: TempDir,
}

impl Home {
    /// An empty home with default settings.
    pub(crate) fn new() -> Self {
        Self::with_settings("")
    }

    /// An empty home with a `remit.toml`.
    pub(crate) fn with_settings(settings: &str) -> Self {
        let folder = tempfile::tempdir().expect("a scratch folder");
        std::fs::write(folder.path().join("remit.toml"), settings).expect("room for settings");
        Self::open(folder)
    }

    /// Opens a folder as a home.
    pub(crate) fn open(folder: TempDir) -> Self {
        Self::open_at(folder, Arc::new(Clock::system()))
    }

    /// Opens a folder as a home, in which it is as late as this clock says.
    pub(crate) fn open_at(folder: TempDir, clock: Arc<Clock>) -> Self {
        let config = Config::load(folder.path()).expect("settings that are in order");
        Self::wired(folder, config, Outside::system(), clock)
    }

    /// Opens a folder as a home in a world of the test's own. The `connect` lines in its settings are for the
    /// program alone, which cannot be given such a world.
    pub(crate) fn open_in(folder: TempDir, outside: Outside, clock: Arc<Clock>) -> Self {
        let mut config = Config::load(folder.path()).expect("settings that are in order");
        for capability in config.capability.values_mut() {
            capability.http.connect.clear();
        }
        Self::wired(folder, config, outside, clock)
    }

    fn wired(folder: TempDir, config: Config, outside: Outside, clock: Arc<Clock>) -> Self {
        let threads = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
        let around = Around { program: program(), outside, clock };
        let app = App::open_in(folder.path(), config, around).expect("a home opens");
        Self { app, threads: threads.expect("threads"), folder }
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// The records of all calls so far, newest first.
    pub(crate) fn records(&self) -> Vec<Record> {
        // A read-only call may be answered before its record is written.
        self.app.shutdown();
        self.app.admin().records(&Query { limit: 10_000, ..Query::default() }).expect("records")
    }

    pub(crate) fn host(&self) -> Host {
        self.threads.block_on(async { self.app.host() }).expect("the agents' door opens")
    }

    /// Installs a component and grants all that it asks.
    pub(crate) fn install(&self, component: Vec<u8>) {
        let offer = self.app.admin().offer(component).expect("a component in order");
        let asks = offer.asks.clone();
        self.app.admin().install(offer, &asks).expect("installed");
    }

    /// Installs a component with these grants only.
    pub(crate) fn install_with(&self, component: Vec<u8>, grants: &[Grant]) {
        let offer = self.app.admin().offer(component).expect("a component in order");
        self.app.admin().install(offer, grants).expect("installed");
    }

    /// Calls a tool as a person would and waits for the end.
    pub(crate) fn call(&self, tool: &str, arguments: &Value) -> Result<Reply, Failure> {
        let host = self.host();
        self.threads.block_on(host.call(request(tool, arguments), CancellationToken::new()))
    }
}

/// A request of the test's own, with the word of a person beforehand: what needs one is the subject of one suite.
pub(crate) fn request(tool: &str, arguments: &Value) -> CallRequest {
    let arguments = arguments.as_object().cloned().expect("an object");
    let plain = CallRequest::new(Identity::operator("test"), tool.parse().expect("a tool's name"), arguments);
    CallRequest { confirmation: Confirmation::Standing, ..plain }
}

/// The outcome of a call in one line: the text of the answer, or the code of the error.
pub(crate) fn outcome(result: &Result<Reply, Failure>) -> String {
    match result {
        Ok(reply) => match (&reply.structured, reply.content.first()) {
            (Some(value), _) => value.to_string(),
            (None, Some(remit::call::Content::Text(text))) => text.clone(),
            (None, other) => format!("{other:?}"),
        },
        Err(failure) => failure.error.kind.code().to_owned(),
    }
}
