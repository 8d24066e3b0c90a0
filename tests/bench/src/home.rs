//! Homes with capabilities in them, made with the program's own commands.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;
use tempfile::TempDir;

/// The `remit` that is measured.
pub(crate) fn program() -> PathBuf {
    PathBuf::from(std::env::var_os("REMIT_BENCH_PROGRAM").expect("cargo xtask bench sets it"))
}

/// The bytes of a plugin.
pub(crate) fn plugin(slug: &str) -> Vec<u8> {
    let folder = PathBuf::from(std::env::var_os("REMIT_BENCH_CAPABILITIES").expect("cargo xtask bench sets it"));
    std::fs::read(folder.join(format!("{slug}.wasm"))).expect("cargo xtask bench builds the plugins")
}

/// A scratch home, in which one client may call as often as it can.
pub(crate) fn scratch() -> TempDir {
    let home = tempfile::tempdir().expect("a scratch folder");
    let settings =
        "[principals]\ncalls = 4096\ncalls-per-minute = 4000000000\n[serve]\nrequests-per-second = 1000000\n";
    std::fs::write(home.path().join("remit.toml"), settings).expect("room for settings");
    home
}

/// The same component under another manifest.
pub(crate) fn changed(component: &[u8], change: impl FnOnce(&mut Value)) -> Vec<u8> {
    let report = remit::component::inspect(component).expect("a capability");
    let mut manifest = serde_json::to_value(&report.manifest).expect("JSON");
    change(&mut manifest);
    let manifest = serde_json::from_value(manifest).expect("a manifest");
    remit::component::embed(component, &manifest).expect("the manifest fits")
}

/// Installs a component with everything it asks.
pub(crate) fn install(home: &Path, component: &[u8]) {
    let file = tempfile::NamedTempFile::new().expect("a scratch file");
    std::fs::write(file.path(), component).expect("room for a component");
    let path = file.path().to_str().expect("a plain path");
    remit(home, &["install", "--yes", path]);
}

/// Runs a command of the program to its good end.
pub(crate) fn remit(home: &Path, arguments: &[&str]) {
    let status = Command::new(program())
        .args(arguments)
        .env("REMIT_HOME", home)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .expect("remit starts");
    assert!(status.success(), "remit {arguments:?}: {status}");
}
