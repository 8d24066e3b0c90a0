//! Files, arguments and homes that are not as they should be: each gets a clear error with a stable code and
//! the exit code as designed, and nothing is lost or half-written.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use remit_guests::{Guest, manifest, with_manifest};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::home::program;

/// What a command ended with.
struct Ended {
    exit: i32,
    code: String,
    said: String,
}

struct World {
    folder: TempDir,
}

impl World {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().expect("a scratch folder") }
    }

    fn home(&self) -> PathBuf {
        self.folder.path().join("home")
    }

    fn file(&self, name: &str, bytes: &[u8]) -> String {
        let path = self.folder.path().join(name);
        fs::write(&path, bytes).expect("room");
        path.display().to_string()
    }

    fn remit(&self, arguments: &[&str]) -> Ended {
        ended(Command::new(program()).args(arguments).env("REMIT_HOME", self.home()))
    }

    fn installed(&self) -> Vec<Value> {
        let output = Command::new(program()).args(["list", "--json"]).env("REMIT_HOME", self.home()).output();
        let output = output.expect("remit starts");
        serde_json::from_slice::<Value>(&output.stdout).expect("JSON").as_array().expect("a list").clone()
    }

    /// Every file of the home, without those that the database keeps.
    fn kept(&self) -> Vec<String> {
        let mut kept = Vec::new();
        walk(&self.home(), &mut kept);
        kept.retain(|path| path.contains("components") || path.contains("compiled"));
        kept
    }
}

fn walk(folder: &Path, into: &mut Vec<String>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.path().is_dir() {
            walk(&entry.path(), into);
        } else {
            into.push(entry.path().display().to_string());
        }
    }
}

fn ended(command: &mut Command) -> Ended {
    let output = command.arg("--json").stdin(Stdio::null()).output().expect("remit starts");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let last = said.lines().rev().find(|line| line.starts_with('{')).unwrap_or("{}");
    let error: Value = serde_json::from_str(last).unwrap_or_default();
    Ended {
        exit: output.status.code().unwrap_or(-1),
        code: error["error"]["code"].as_str().unwrap_or_default().to_owned(),
        said,
    }
}

#[test]
fn files_that_are_no_capability_are_refused_and_leave_nothing() {
    let world = World::new();
    let guest = Guest::done();
    let good = guest.capability("good");
    let with = |change: &dyn Fn(&mut Value)| {
        let mut manifest = manifest("good");
        change(&mut manifest);
        guest.with_manifest(&manifest)
    };
    let twice = with_manifest(good.clone(), manifest("good").to_string().as_bytes());
    let cases: Vec<(&str, Vec<u8>, &str)> = vec![
        ("empty", Vec::new(), "component/not-a-component"),
        ("text", b"hello".to_vec(), "component/not-a-component"),
        ("wat", b"(component)".to_vec(), "component/not-a-component"),
        ("elf", b"\x7fELF\x02\x01\x01".to_vec(), "component/not-a-component"),
        ("module", guest.module(), "component/not-a-component"),
        ("half", good[..good.len() / 2].to_vec(), "component/invalid"),
        ("bare", guest.component(), "manifest/missing"),
        ("twice", twice, "manifest/invalid"),
        ("broken", with_manifest(guest.component(), b"{"), "manifest/invalid"),
        ("unknown-field", with(&|manifest| manifest["colour"] = json!("red")), "manifest/invalid"),
        (
            "open-schema",
            with(&|manifest| {
                manifest["tools"][0]["inputSchema"] = json!({ "type": "object" });
            }),
            "manifest/invalid",
        ),
        ("no-tools", with(&|manifest| manifest["tools"] = json!([])), "manifest/invalid"),
        ("entities", with(&|manifest| manifest["uses"] = json!(["entities"])), "manifest/invalid"),
        ("a-role", with(&|manifest| manifest["tools"][0]["requiredRole"] = json!("Admin!")), "manifest/invalid"),
    ];
    let mut wrong = Vec::new();
    for (name, bytes, expected) in cases {
        let file = world.file(name, &bytes);
        for command in [vec!["inspect", &file], vec!["install", &file, "--yes"]] {
            let ended = world.remit(&command);
            if ended.code != expected || ended.exit != 1 {
                wrong.push(format!("{} {name}: {} {} {}", command[0], ended.exit, ended.code, ended.said));
            }
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
    assert_eq!(world.installed(), Vec::<Value>::new());
    assert_eq!(world.kept(), Vec::<String>::new());
    let missing = world.remit(&["install", "/no/such/file.wasm", "--yes"]);
    assert_eq!(missing.exit, 2, "{}", missing.said);
}

#[test]
fn an_undeclared_import_is_refused_by_name() {
    let world = World::new();
    let probe = crate::support::home::built("probe");
    let report = remit::component::inspect(&probe).expect("a capability");
    let mut manifest = serde_json::to_value(&report.manifest).expect("JSON");
    manifest["uses"] = json!([]);
    let fields = manifest.as_object_mut().expect("an object");
    fields.remove("http");
    fields.remove("secrets");
    let bare = remit::component::embed(&probe, &serde_json::from_value(manifest).expect("a manifest"));
    let ended = world.remit(&["install", &world.file("probe.wasm", &bare.expect("embedded")), "--yes"]);
    assert_eq!((ended.exit, ended.code.as_str()), (1, "registry/import-not-declared"), "{}", ended.said);
    assert!(ended.said.contains("remit:capability/http@0.1.0"), "{}", ended.said);
    assert_eq!(world.installed(), Vec::<Value>::new());
}

#[test]
fn changed_bytes_are_not_run() {
    let world = World::new();
    let file = world.file("good.wasm", &Guest::done().capability("good"));
    assert_eq!(world.remit(&["install", &file, "--yes"]).exit, 0);
    assert_eq!(world.remit(&["call", "test/good.run", "{}"]).exit, 0);
    let component = world.kept().into_iter().find(|path| path.contains("components")).expect("the bytes");
    let mut bytes = fs::read(&component).expect("the bytes");
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    fs::set_permissions(&component, fs::Permissions::from_mode(0o600)).expect("ours");
    fs::write(&component, &bytes).expect("room");
    let ended = world.remit(&["call", "test/good.run", "{}"]);
    assert_eq!((ended.exit, ended.code.as_str()), (1, "registry/digest-mismatch"), "{}", ended.said);
    // The remedy that the error names works.
    assert_eq!(world.remit(&["install", &file, "--yes"]).exit, 0);
    assert_eq!(world.remit(&["call", "test/good.run", "{}"]).exit, 0);
}

#[test]
fn planted_code_is_not_loaded() {
    let world = World::new();
    let file = world.file("good.wasm", &Guest::done().capability("good"));
    assert_eq!(world.remit(&["install", &file, "--yes"]).exit, 0);
    assert_eq!(world.remit(&["call", "test/good.run", "{}"]).exit, 0);
    let compiled = world.kept().into_iter().find(|path| path.contains("compiled")).expect("compiled code");
    let mut code = fs::read(&compiled).expect("the code");
    let middle = code.len() / 2;
    code[middle] ^= 1;
    fs::write(&compiled, &code).expect("room");
    let ended = world.remit(&["call", "test/good.run", "{}"]);
    assert_eq!(ended.exit, 0, "it is compiled again: {}", ended.said);
    assert_ne!(fs::read(&compiled).expect("the code"), code);
}

#[test]
fn a_damaged_database_is_refused_and_left_as_it_is() {
    let world = World::new();
    let file = world.file("good.wasm", &Guest::done().capability("good"));
    assert_eq!(world.remit(&["install", &file, "--yes"]).exit, 0);
    let database = world.home().join("remit.db");
    let sound = fs::read(&database).expect("a database");
    for damage in [b"not a database at all".to_vec(), sound[..100].to_vec(), vec![0x5a; 65536]] {
        fs::write(&database, &damage).expect("room");
        for name in ["remit.db-wal", "remit.db-shm"] {
            let _ = fs::remove_file(world.home().join(name));
        }
        for arguments in [&["list"][..], &["call", "test/good.run", "{}"], &["install", &file, "--yes"]] {
            let ended = world.remit(arguments);
            assert_eq!((ended.exit, ended.code.as_str()), (2, "host/store"), "{arguments:?}: {}", ended.said);
        }
        assert_eq!(fs::read(&database).expect("still there"), damage, "nothing repairs or deletes it");
    }
}

#[test]
fn a_full_disk_loses_nothing() {
    if !rustix::process::geteuid().is_root() {
        return in_a_namespace("bad_input::a_full_disk_loses_nothing");
    }
    // A file system of its own, too small for what is installed next.
    let world = World::new();
    fs::create_dir_all(world.home()).expect("room");
    let mounted = Command::new("mount")
        .args(["-t", "tmpfs", "-o", "size=600k,mode=0700", "tmpfs"])
        .arg(world.home())
        .status()
        .is_ok_and(|status| status.success());
    assert!(mounted, "this test needs the right to mount a small file system");
    let _unmount = Unmount(world.home());
    let small = world.file("small.wasm", &Guest::done().capability("small"));
    assert_eq!(world.remit(&["install", &small, "--yes"]).exit, 0);
    let padding = "x".repeat(900_000);
    let large = Guest::done().with(&format!("(data (i32.const 4096) {padding:?})"));
    // The data needs memory to lie in; the point is its size.
    let large = world.file("large.wasm", &large.with_memory_pages(16).capability("large"));
    let ended = world.remit(&["install", &large, "--yes"]);
    assert_eq!((ended.exit, ended.code.as_str()), (2, "host/store"), "{}", ended.said);
    let names: Vec<Value> = world.installed().iter().map(|install| install["name"].clone()).collect();
    assert_eq!(names, ["test/small"]);
    let leftovers = world.kept().into_iter().filter(|path| path.contains("components")).count();
    assert_eq!(leftovers, 1, "{:?}", world.kept());
    assert_eq!(world.remit(&["call", "test/small.run", "{}"]).exit, 0);
}

/// Runs a test as the root of a user namespace of its own: there everybody may mount.
fn in_a_namespace(test: &str) {
    let status = Command::new("unshare")
        .args(["--user", "--map-root-user", "--mount"])
        .arg(std::env::current_exe().expect("this program"))
        .args(["--exact", test])
        .status();
    assert!(status.is_ok_and(|status| status.success()), "it fails as the root of a namespace, or there is none");
}

struct Unmount(PathBuf);

impl Drop for Unmount {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(&self.0).status();
    }
}

#[test]
fn arguments_that_are_no_object_are_refused() {
    let world = World::new();
    let file = world.file("good.wasm", &Guest::done().capability("good"));
    assert_eq!(world.remit(&["install", &file, "--yes"]).exit, 0);
    for arguments in ["[]", "1", "\"text\"", "null", "{", "{\"a\":1}{"] {
        let ended = world.remit(&["call", "test/good.run", arguments]);
        assert_eq!((ended.exit, ended.code.as_str()), (1, "call/invalid-input"), "{arguments}: {}", ended.said);
    }
    for (arguments, expected) in [("{\"input\":1}", "/input"), ("{\"other\":1}", "other")] {
        let ended = world.remit(&["call", "test/good.run", arguments]);
        assert_eq!((ended.exit, ended.code.as_str()), (1, "call/invalid-input"), "{}", ended.said);
        assert!(ended.said.contains(expected), "{}", ended.said);
    }
    for name in ["test/good.nothing", "test/other.run"] {
        let ended = world.remit(&["call", name, "{}"]);
        assert_eq!((ended.exit, ended.code.as_str()), (1, "call/unknown-tool"), "{}", ended.said);
    }
    let ended = world.remit(&["call", "good", "{}"]);
    assert_eq!(ended.exit, 2, "{}", ended.said);
}

#[test]
fn a_misspelt_setting_is_no_silent_default() {
    let world = World::new();
    fs::create_dir_all(world.home()).expect("room");
    fs::write(world.home().join("remit.toml"), "[ceilings]\nfule = 1\n").expect("room");
    let ended = world.remit(&["list"]);
    assert_eq!((ended.exit, ended.code.as_str()), (2, "host/config"), "{}", ended.said);
    assert!(ended.said.contains("fuel"), "it says what was meant: {}", ended.said);
}
