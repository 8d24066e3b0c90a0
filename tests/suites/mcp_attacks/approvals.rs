//! What a person agreed to is what runs: other bytes are asked about anew, and bytes are never a command.

use std::fs;

use remit::policy::Grant;
use serde_json::json;

use crate::support::home::{built, outcome, remit, renamed};
use crate::support::world::{HOST, SECRET, World, authorization};

#[test]
fn other_bytes_are_approved_anew() {
    let world = World::echo().granted().with_secret(HOST, &[authorization()]);
    let with_key = json!({ "url": format!("https://{HOST}/"), "headers": ["authorization: Bearer {{API_KEY}}"] });
    assert!(world.fetch(&with_key).is_ok());
    let carried = || world.upstream.seen().iter().filter(|seen| format!("{seen:?}").contains(SECRET)).count();
    assert_eq!(carried(), 1);

    // The same name and other bytes: neither the grants nor the approvals go along.
    let next = renamed(&built("probe"), |manifest| {
        manifest["version"] = json!("1.0.1");
        manifest["tools"][0]["description"] = json!("Does what it always did.");
    });
    world.home.install_with(next.clone(), &[]);
    assert_eq!(outcome(&world.fetch(&with_key)), "call/not-allowed");
    let offer = world.home.app.admin().offer(next).expect("a component in order");
    let asks: Vec<Grant> = offer.asks.clone();
    world.home.app.admin().grant(&"test/probe".parse().expect("a name"), &asks).expect("within the manifest");
    assert!(world.fetch(&with_key).is_err(), "granted, and the secret is not approved for these bytes");
    assert_eq!(carried(), 1, "the value went nowhere since");
}

#[test]
fn a_command_is_no_capability() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let trace = folder.path().join("trace");
    let script = format!("#!/bin/sh\ntouch '{}'\n", trace.display());
    let config = json!({ "command": "sh", "args": ["-c", format!("touch {}", trace.display())] }).to_string();
    for (name, bytes) in [("run.sh", script), ("server.json", config)] {
        let file = folder.path().join(name);
        fs::write(&file, bytes).expect("room");
        let home = folder.path().join("home");
        let ended = remit(&home, &["install", &file.display().to_string(), "--yes", "--json"], "");
        assert_eq!(
            (ended.exit, ended.code().as_str()),
            (Some(1), "component/not-a-component"),
            "{name}: {ended:?}"
        );
    }
    for name in ["sh -c 'touch trace'", "$(touch trace)", "; touch trace", "npx -y evil"] {
        let ended = remit(&folder.path().join("home"), &["install", name, "--yes"], "");
        assert_ne!(ended.exit, Some(0), "{name}");
    }
    assert!(!trace.exists() && !folder.path().join("trace").exists(), "nothing was started");
}
