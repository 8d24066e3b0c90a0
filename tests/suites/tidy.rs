//! Rules of the house that a machine can hold.

use std::fs;
use std::path::{Path, PathBuf};

/// Lines of a file without its tests: beyond it a file has more than one idea.
const PRODUCTION_LINES: usize = 600;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("a workspace").to_path_buf()
}

/// All Rust files below a folder, sorted.
fn rust_files(folder: &str) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut folders = vec![root().join(folder)];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder").map(|entry| entry.expect("an entry").path()) {
            let name = entry.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if entry.is_dir() && name != "target" && name != "template" && name != "vendor" {
                folders.push(entry);
            } else if entry.extension().is_some_and(|extension| extension == "rs") {
                files.push(entry);
            }
        }
    }
    files.sort();
    files
}

fn production(text: &str) -> &str {
    text.split("#[cfg(test)]\nmod ").next().unwrap_or(text)
}

fn offenders(folder: &str, is_wrong: impl Fn(&Path, &str) -> bool) -> Vec<String> {
    rust_files(folder)
        .iter()
        .filter(|file| is_wrong(file, &fs::read_to_string(file).expect("a text")))
        .map(|file| file.strip_prefix(root()).unwrap_or(file).display().to_string())
        .collect()
}

const NONE: [String; 0] = [];

#[test]
fn every_file_says_what_it_is_about() {
    for folder in ["fuzz", "host/src", "guest-sdk", "plugins", "tests", "xtask"] {
        let silent = offenders(folder, |file, text| {
            let scaffold = file.components().any(|part| part.as_os_str() == "template");
            !scaffold && !text.starts_with("//!")
        });
        assert_eq!(silent, NONE, "files without a first `//!` paragraph");
    }
}

#[test]
fn no_file_is_too_long() {
    for folder in ["host/src", "guest-sdk", "plugins", "xtask"] {
        let long = offenders(folder, |_, text| production(text).lines().count() > PRODUCTION_LINES);
        assert_eq!(long, NONE, "files with more than {PRODUCTION_LINES} lines");
    }
}

#[test]
fn no_file_is_a_drawer() {
    let drawers = ["utils.rs", "util.rs", "helpers.rs", "common.rs", "manager.rs", "misc.rs"];
    let named = offenders("host/src", |file, _| {
        drawers.iter().any(|drawer| file.file_name().is_some_and(|name| name == *drawer))
    });
    assert_eq!(named, NONE);
}

#[test]
fn the_agents_door_knows_nothing_of_the_peoples() {
    let named = offenders("host/src/mcp", |_, text| text.contains("Admin"));
    assert_eq!(named, NONE, "`mcp/` must not name `Admin`");
    let named = offenders("host/src/scheduler", |_, text| text.contains("Admin"));
    assert_eq!(named, NONE, "`scheduler/` must not name `Admin`");
    let named = offenders("host/src", |file, text| file.ends_with("call.rs") && text.contains("Admin"));
    assert_eq!(named, NONE, "`call.rs` must not name `Admin`");
}

#[test]
fn only_the_store_knows_sql() {
    let named = offenders("host/src", |file, text| {
        let inside = file.components().any(|part| part.as_os_str() == "store");
        !inside && production(text).contains("rusqlite")
    });
    assert_eq!(named, NONE);
}

#[test]
fn unsafe_code_is_where_compiled_code_is_loaded() {
    let named = offenders("host/src", |file, text| {
        !file.ends_with("runtime/loader.rs") && production(text).contains("unsafe ")
    });
    assert_eq!(named, NONE);
}

#[test]
fn lints_are_expected_with_reasons() {
    let named = offenders("host/src", |_, text| text.contains("#[allow(") || text.contains("#![allow("));
    assert_eq!(named, NONE, "`#[expect(…, reason = …)]` instead of `#[allow(…)]`");
}

#[test]
fn every_suite_is_listed() {
    for file in rust_files("tests/suites") {
        let (folder, name) =
            (file.parent().expect("a folder"), file.file_stem().expect("a name").to_string_lossy());
        let is_top = folder.ends_with("suites");
        let list = if is_top { folder.join("main.rs") } else { folder.join("mod.rs") };
        let list = fs::read_to_string(list).expect("the list of a folder");
        let is_list = name == if is_top { "main" } else { "mod" };
        assert!(is_list || list.contains(&format!("mod {name};")), "`{}` is not listed", file.display());
    }
}

#[test]
fn the_sdk_carries_the_contract_as_it_is() {
    let files = fs::read_dir(root().join("wit")).expect("the contract").map(|entry| entry.expect("an entry"));
    let names = files.map(|entry| entry.file_name().to_string_lossy().into_owned());
    for file in names.filter(|name| name.ends_with(".wit")) {
        let file = &file;
        let ours = fs::read_to_string(root().join("wit").join(file)).expect("the contract");
        let copy = fs::read_to_string(root().join("guest-sdk/wit").join(file)).expect("the SDK's copy");
        assert_eq!(ours, copy, "copy wit/{file} to guest-sdk/wit/{file}");
    }
}

#[test]
fn the_engine_is_not_older_than_its_last_fixes() {
    let lock = fs::read_to_string(root().join("Cargo.lock")).expect("a lock");
    let version = lock
        .split("[[package]]")
        .find_map(|package| package.trim().strip_prefix("name = \"wasmtime\"\nversion = \""))
        .and_then(|rest| rest.split('"').next())
        .expect("wasmtime is locked");
    let version = semver::Version::parse(version).expect("a version");
    assert!(version >= semver::Version::new(48, 0, 8), "{version}");
    assert_eq!(lock.matches("name = \"wasmtime\"\n").count(), 1, "one engine");
    assert_eq!(lock.matches("name = \"libsqlite3-sys\"\n").count(), 1, "one SQLite");
}
