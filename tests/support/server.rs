//! An upstream MCP server of a test's own: `tests/mcp-server/server.sh` over a folder that the test changes.

use std::path::{Path, PathBuf};

use remit::upstreams::Reach;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::home::Home;

/// The folder of one server.
pub(crate) struct Server(TempDir);

/// A tool that takes any object.
pub(crate) fn tool(name: &str) -> Value {
    json!({ "name": name, "description": "Says it.", "inputSchema": { "type": "object" } })
}

impl Server {
    /// A server with these tools, which answers each call by this piece of a shell's program.
    pub(crate) fn new(tools: &Value, call: &str) -> Self {
        let server = Self(tempfile::tempdir().expect("a scratch folder"));
        server.tools(tools);
        server.call(call);
        server
    }

    /// From now on it lists these tools.
    pub(crate) fn tools(&self, tools: &Value) {
        // Whole at once: the server reads it at any time.
        let draft = self.file("tools.new");
        std::fs::write(&draft, format!("{}\n", json_for_shell(tools))).expect("room");
        std::fs::rename(draft, self.file("tools")).expect("room");
    }

    /// From now on it answers a call so.
    pub(crate) fn call(&self, call: &str) {
        let draft = self.file("call.new");
        std::fs::write(&draft, format!("{call}\n")).expect("room");
        std::fs::rename(draft, self.file("call")).expect("room");
    }

    /// Makes the file `hang` or `dead`, or removes it.
    pub(crate) fn switch(&self, name: &str, is_on: bool) {
        if is_on {
            std::fs::write(self.file(name), "").expect("room");
        } else {
            std::fs::remove_file(self.file(name)).expect("it is on");
        }
    }

    /// Everything that it heard.
    pub(crate) fn heard(&self) -> String {
        std::fs::read_to_string(self.file("heard")).unwrap_or_default()
    }

    /// How often it heard a method.
    pub(crate) fn count(&self, method: &str) -> usize {
        self.heard().matches(&format!("\"method\":\"{method}\"")).count()
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// The way to it, with these variables.
    pub(crate) fn reach(&self, environment: &[(&str, &str)]) -> Reach {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/mcp-server/server.sh");
        let script = script.canonicalize().expect("the server's program");
        let text = |path: &Path| path.to_str().expect("a plain path").to_owned();
        Reach::Command {
            program: "/bin/sh".to_owned(),
            arguments: vec![text(&script), text(self.0.path())],
            environment: environment
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect(),
        }
    }

    /// Adds it to a home, as a person who says yes.
    pub(crate) fn add(&self, home: &Home, name: &str) {
        add(home, name, &self.reach(&[]));
    }
}

/// Adds a server that is reached so, as a person who says yes.
pub(crate) fn add(home: &Home, name: &str, reach: &Reach) {
    let admin = home.app.admin();
    admin.check_new_upstream(name, reach).expect("a good name and way");
    let said = home.threads.block_on(home.app.look_at_upstream(name, reach)).expect("it answers");
    let offer = admin.offer_upstream(name, said).expect("an offer");
    admin.accept_upstream(reach, &offer).expect("accepted");
}

/// JSON of ASCII letters alone, in one line.
fn json_for_shell(value: &Value) -> String {
    value.to_string().chars().fold(String::new(), |mut text, character| {
        if character.is_ascii() {
            text.push(character);
        } else {
            let mut units = [0; 2];
            for unit in character.encode_utf16(&mut units) {
                text.push_str(&format!("\\u{unit:04x}"));
            }
        }
        text
    })
}
