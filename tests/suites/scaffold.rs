//! A new capability from nothing to an answer, as its author does it: `new`, `test`, `build`, `install`, `call`.

use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::json;

use crate::support::home::program;
use crate::support::languages;

/// Runs the program in a folder; what it says on stderr is for whoever reads a failed test.
fn remit(folder: &Path, arguments: &[&str]) -> String {
    let output = Command::new(program())
        .args(arguments)
        .current_dir(folder)
        .env("REMIT_HOME", folder.join("home"))
        // Kept from run to run, beside what the workspace itself builds.
        .env("CARGO_TARGET_DIR", program().with_file_name("../scaffold"))
        .stdin(Stdio::null())
        .output()
        .expect("remit starts");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "remit {arguments:?}: {said}");
    String::from_utf8(output.stdout).expect("text")
}

#[test]
fn a_new_capability_passes_its_tests_and_answers() {
    let scratch = tempfile::tempdir().expect("a scratch folder");
    let folder = scratch.path();
    assert_eq!(remit(folder, &["new", "open-hello", "--publisher", "acme"]), "made open-hello/\n");
    // The versions that this workspace was built with are at hand: no registry is asked.
    let lock = Path::new(env!("CARGO_MANIFEST_DIR")).join("../Cargo.lock");
    std::fs::copy(lock, folder.join("open-hello/Cargo.lock")).expect("room");

    let tested = remit(folder, &["test", "open-hello", "--no-install"]);
    assert!(tested.ends_with("the rules hold and 2 examples passed\n"), "{tested}");
    remit(folder, &["build", "open-hello", "--no-install", "-o", "hello.wasm"]);
    assert_eq!(remit(folder, &["install", "hello.wasm", "--quiet"]), "installed acme/open-hello 0.1.0\n");
    let input = json!({ "name": "Grace" }).to_string();
    assert_eq!(remit(folder, &["call", "acme/open-hello.greet", &input]), "Hello, Grace!\n");
}

/// What the README of a language says, from `new` to the answers of its examples.
fn by_its_readme(language: &str, steps: &[&[&str]], examples: usize) {
    let scratch = tempfile::tempdir().expect("a scratch folder");
    let folder = scratch.path();
    remit(folder, &["new", "open-hello", "--publisher", "acme", "--lang", language]);
    let project = folder.join("open-hello");
    if language == "js" {
        // What `npm install` would bring.
        let packages = languages::folder().join("js/node_modules");
        std::os::unix::fs::symlink(packages, project.join("node_modules")).expect("room");
    }
    for step in steps {
        let output = Command::new(step[0])
            .args(&step[1..])
            .current_dir(&project)
            .env("PATH", languages::path())
            .env("npm_config_update_notifier", "false")
            .stdin(Stdio::null())
            .output()
            .unwrap_or_else(|error| panic!("{step:?}: {error}"));
        let said = [output.stdout, output.stderr].map(|said| String::from_utf8_lossy(&said).into_owned()).concat();
        assert!(output.status.success(), "{step:?}: {said}");
    }
    let tested = remit(&project, &["test", "--prebuilt", "target/guest.wasm"]);
    assert!(tested.ends_with(&format!("the rules hold and {examples} examples passed\n")), "{tested}");
    let made = ["build", "target/guest.wasm", "--manifest", "capability.json", "-o", "target/open-hello.wasm"];
    let said = remit(&project, &made);
    assert!(said.contains("imports  nothing\n"), "{said}");
}

#[test]
fn a_new_capability_in_javascript_answers() {
    by_its_readme("js", &[&["npm", "test"], &["npm", "run", "build"]], 2);
}

#[test]
fn a_new_capability_in_python_answers() {
    by_its_readme("python", &[&["make", "test"], &["make"]], 2);
}

#[test]
fn a_new_capability_in_c_answers() {
    by_its_readme("c", &[&["make", "test"], &["make"]], 3);
}
