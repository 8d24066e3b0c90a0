//! Cases about variables of the environment, each in a process of its own that has them from its start.
//!
//! Where a variable names an address, a listener stands there and counts; where it names a file, the file is in a
//! scratch folder. So addresses and paths are moved: to a free port of loopback, and below that folder. What is
//! compared is that the variable makes no difference, whatever its value leads to.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use url::Url;

use super::case::Case;
use super::judge::{Judged, judge};
use super::wires::Wire;

/// A variable whose value was moved.
struct Variable {
    name: String,
    value: String,
    /// Stands where the value leads.
    listener: Option<TcpListener>,
    /// The file or folder that the value names.
    path: Option<PathBuf>,
}

impl Variable {
    fn new(name: &str, value: &str, scratch: &Path) -> Result<Self, String> {
        let mut variable = Self { name: name.to_owned(), value: value.to_owned(), listener: None, path: None };
        let url = Url::parse(value).ok().filter(Url::has_host);
        if let Some(mut url) = url {
            let (listener, address) = listen()?;
            let moved = url.set_host(Some("127.0.0.1")).is_ok() && url.set_port(Some(address.port())).is_ok();
            if !moved {
                return Err(format!("`environment.{name}` cannot be moved to {address}: `{value}`"));
            }
            variable.value = url.to_string();
            variable.listener = Some(listener);
        } else if value.parse::<SocketAddr>().is_ok() {
            let (listener, address) = listen()?;
            variable.value = address.to_string();
            variable.listener = Some(listener);
        } else if let Some(inside) = value.strip_prefix('/') {
            let path = scratch.join(inside);
            let is_folder = name.ends_with("_DIR");
            let folder = if is_folder { &path } else { path.parent().unwrap_or(scratch) };
            std::fs::create_dir_all(folder).map_err(|error| error.to_string())?;
            variable.value = path.display().to_string();
            variable.path = Some(if is_folder { path.join("authority.pem") } else { path });
        }
        Ok(variable)
    }

    fn is_key_log(&self) -> bool {
        self.name.contains("KEYLOG")
    }

    /// What of this variable had an effect.
    fn effect(&self) -> Option<String> {
        let connected = self.listener.as_ref().is_some_and(|listener| listener.accept().is_ok());
        let logged = self.is_key_log() && self.path.as_ref().is_some_and(|path| path.exists());
        (connected || logged).then(|| format!("`{}` had an effect", self.name))
    }
}

/// A listener that counts without waiting.
fn listen() -> Result<(TcpListener, SocketAddr), String> {
    let bound = || {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        Ok((listener, address))
    };
    bound().map_err(|error: std::io::Error| format!("no loopback port: {error}"))
}

/// Plays a case in a process of `program` with these variables.
pub(super) fn judge_apart(
    case: &Value,
    variables: &BTreeMap<String, String>,
    program: &Path,
) -> Result<Judged, String> {
    let scratch = tempfile::tempdir().map_err(|error| error.to_string())?;
    let variables = variables
        .iter()
        .map(|(name, value)| Variable::new(name, value, scratch.path()))
        .collect::<Result<Vec<_>, _>>()?;
    let set: BTreeMap<_, _> = variables.iter().map(|variable| (&variable.name, &variable.value)).collect();
    // What an authority of the attacker's would be in.
    let files: Vec<_> = variables
        .iter()
        .filter(|variable| !variable.is_key_log())
        .filter_map(|variable| variable.path.as_ref())
        .collect();
    let task = json!({ "case": case, "variables": set, "files": files, "scratch": scratch.path() });
    let mut judged = in_child(program, &set, &task)?;
    judged.wrong.extend(variables.iter().filter_map(Variable::effect));
    Ok(judged)
}

fn in_child(program: &Path, set: &BTreeMap<&String, &String>, task: &Value) -> Result<Judged, String> {
    #[expect(clippy::disallowed_methods, reason = "variables belong to a process")]
    let mut command = Command::new(program);
    let mut child = command
        .arg("egress-case")
        .envs(set)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| format!("`{}` does not start: {error}", program.display()))?;
    let written = child.stdin.take().map(|mut stdin| stdin.write_all(task.to_string().as_bytes()));
    let output = child.wait_with_output().map_err(|error| error.to_string())?;
    serde_json::from_slice(&output.stdout).map_err(|error| {
        format!("the process with the variables ended with {}: {error} ({written:?})", output.status)
    })
}

/// The other side: plays the task that [`judge_apart`] wrote, and gives what it reads.
pub fn play(task: &str) -> Result<String, String> {
    let task: Value = serde_json::from_str(task).map_err(|error| error.to_string())?;
    let variables: BTreeMap<String, String> = read(&task["variables"])?;
    let files: Vec<PathBuf> = read(&task["files"])?;
    let scratch: PathBuf = read(&task["scratch"])?;
    let case: Case = read(&task["case"])?;
    for file in files {
        std::fs::write(&file, remit_upstream::script::foreign_authority_pem())
            .map_err(|error| error.to_string())?;
    }
    let mut judged =
        judge(&case, Wire::Tcp, &scratch).unwrap_or_else(|why| Judged { found: why, wrong: Vec::new() });
    for (name, value) in variables {
        #[expect(clippy::disallowed_methods, reason = "whether the variable is there at all")]
        let is_set = std::env::var(&name) == Ok(value);
        if !is_set {
            judged.wrong.push(format!("`{name}` was not set"));
        }
    }
    serde_json::to_string(&judged).map_err(|error| error.to_string())
}

fn read<T: serde::de::DeserializeOwned>(value: &Value) -> Result<T, String> {
    T::deserialize(value).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_effect_is_seen() {
        let scratch = tempfile::tempdir().expect("a folder");
        for (name, value) in [
            ("HTTPS_PROXY", "http://127.0.0.1:3128"),
            ("ALL_PROXY", "socks5://proxy.evil.test:1080"),
            ("http_proxy", "10.0.0.1:3128"),
        ] {
            let variable = Variable::new(name, value, scratch.path()).expect("a variable");
            assert_eq!(variable.effect(), None);
            let address = variable.value.rsplit("//").next().expect("an address").trim_end_matches('/');
            let address: SocketAddr = address.parse().unwrap_or_else(|_| panic!("moved: {}", variable.value));
            #[expect(clippy::disallowed_methods, reason = "the connection that must be seen")]
            let _connection = std::net::TcpStream::connect(address).expect("a listener");
            assert_eq!(variable.effect(), Some(format!("`{name}` had an effect")));
        }
        let keys = Variable::new("SSLKEYLOGFILE", "/tmp/k", scratch.path()).expect("a variable");
        assert_eq!(keys.effect(), None);
        std::fs::write(&keys.value, "CLIENT_RANDOM").expect("room");
        assert_eq!(keys.effect(), Some("`SSLKEYLOGFILE` had an effect".to_owned()));
        let all = Variable::new("NO_PROXY", "*", scratch.path()).expect("a variable");
        assert_eq!((all.value.as_str(), all.effect()), ("*", None));
    }
}
