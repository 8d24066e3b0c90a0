//! Attacks on what is written: the way of a value into the vault, and logs that are turned up.

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use super::{keyed, with_key};
use crate::support::home::{program, remit};
use crate::support::spellings;
use crate::support::world::SECRET;

#[test]
fn s35_no_log_level_shows_a_value() {
    let world = keyed();
    let arguments = with_key().to_string();
    let levels = [
        "trace",
        "hyper=trace,hyper_util=trace,h2=trace,rustls=trace,tokio_rustls=trace,trace",
        "rmcp=trace,remit=trace,wasmtime=trace",
        "remit::secrets=trace,remit::egress=trace",
    ];
    for level in levels {
        let output = Command::new(program())
            .args(["call", "test/probe.fetch", &arguments, "--verbose"])
            .env("REMIT_HOME", world.home.path())
            .env("REMIT_LOG", level)
            .env("RUST_LOG", "trace")
            .env("RUST_BACKTRACE", "full")
            .output()
            .expect("remit starts");
        let said =
            format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success() && said.contains("[redacted:API_KEY]"), "{level}: {said}");
        for spelling in spellings::all(SECRET) {
            assert!(!spelling.is_in(said.as_bytes()), "{level}, {}: {said}", spelling.name);
        }
        for library in ["hyper", "rustls", "h2::"] {
            assert!(
                !said.contains(&format!("TRACE {library}")) && !said.contains(&format!("DEBUG {library}")),
                "{said}"
            );
        }
    }
    assert_eq!(world.upstream.seen().len(), levels.len());
}

#[test]
fn a_value_is_seen_by_nobody_on_its_way_in() {
    let scratch = tempfile::tempdir().expect("a scratch folder");
    let home = scratch.path().join("home");
    let mut child = Command::new(program())
        .args(["secret", "set", "API_KEY"])
        .env("REMIT_HOME", &home)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("remit starts");
    let mut stdin = child.stdin.take().expect("a pipe");
    stdin.write_all(SECRET.as_bytes()).expect("it reads");
    // It waits for the end of its input, and anybody on this machine can look at it.
    let process = Path::new("/proc").join(child.id().to_string());
    for file in ["cmdline", "environ", "comm"] {
        let shown = fs::read(process.join(file)).expect("the process is there");
        assert!(!shown.windows(SECRET.len()).any(|window| window == SECRET.as_bytes()), "{file}");
    }
    drop(stdin);
    let output = child.wait_with_output().expect("it ends");
    assert!(output.status.success(), "{output:?}");
    assert!(!format!("{output:?}").contains(SECRET));
    let listed = remit(&home, &["secret", "list", "--json"], "");
    assert_eq!(listed.json()[0]["name"], "API_KEY", "{listed:?}");
}
