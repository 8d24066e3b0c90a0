//! Two homes and one registry: published, reviewed by a second person, installed by exact version, upgraded, rolled
//! back, yanked, revoked. The registry is a folder, and the same folder served over HTTP.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use remit::registry::Digest;
use serde_json::{Value, json};

use crate::support::client::Client;
use crate::support::home::{Ended, built, program, remit, renamed};

/// A registry, its publisher and its reviewer, each with a home of their own.
struct Town {
    folder: tempfile::TempDir,
    ann: String,
    ben: String,
}

impl Town {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let registry = folder.path().join("registry").display().to_string();
        ok(&remit(folder.path(), &["registry", "create", &registry], ""));
        let town = Self { ann: String::new(), ben: String::new(), folder };
        let here = town.here();
        let [ann, ben] =
            [("ann", ["--publisher", "test"].as_slice()), ("ben", &["--reviewer"])].map(|(name, may)| {
                let whose = [["--owner", name].as_slice(), may].concat();
                let made = remit(&town.stranger(name, &here), &[["key", "new"].as_slice(), &whose].concat(), "");
                ok(&made);
                let key = made.stdout.trim().to_owned();
                ok(&remit(
                    town.folder.path(),
                    &[["registry", "allow", &registry, &key].as_slice(), &whose].concat(),
                    "",
                ));
                key
            });
        // Who reviews knows who publishes, and the other way round, so that each sees what the other signed.
        ok(&remit(
            &town.folder.path().join("ben"),
            &["key", "trust", &ann, "--owner", "ann", "--publisher", "test"],
            "",
        ));
        ok(&remit(&town.folder.path().join("ann"), &["key", "trust", &ben, "--owner", "ben", "--reviewer"], ""));
        Self { ann, ben, ..town }
    }

    /// What ann or ben runs, at their home.
    fn by(&self, name: &str, words: &[&str]) -> Ended {
        remit(&self.folder.path().join(name), words, "")
    }

    /// A home that knows both, and the registry at this place.
    fn home(&self, name: &str, location: &str) -> PathBuf {
        let home = self.stranger(name, location);
        ok(&remit(&home, &["key", "trust", &self.ann, "--owner", "ann", "--publisher", "test"], ""));
        ok(&remit(&home, &["key", "trust", &self.ben, "--owner", "ben", "--reviewer"], ""));
        home
    }

    /// A home that knows the registry, and nobody.
    fn stranger(&self, name: &str, location: &str) -> PathBuf {
        let home = self.folder.path().join(name);
        std::fs::create_dir(&home).expect("a folder");
        self.settle(&home, location);
        home
    }

    fn settle(&self, home: &Path, location: &str) {
        let settings = format!("[registries.main]\nlocation = \"{location}\"\n");
        std::fs::write(home.join("remit.toml"), settings).expect("room");
    }

    fn here(&self) -> String {
        format!("dir:{}", self.folder.path().join("registry").display())
    }

    fn submit(&self, bytes: &[u8]) {
        let file = self.folder.path().join("probe.wasm");
        std::fs::write(&file, bytes).expect("room");
        ok(&self.by("ann", &["publish", &file.display().to_string()]));
    }

    fn approve(&self, bytes: &[u8], version: &str) {
        let (release, digest) = (format!("test/probe@{version}"), Digest::of(bytes).to_string());
        let own = self.by("ann", &["review", "approve", &release, "--digest", &digest, "--json"]);
        assert_ne!(own.exit, Some(0), "nobody approves their own");
        ok(&self.by("ben", &["review", "approve", &release, "--digest", &digest]));
    }

    fn publish(&self, version: &str, hosts: &[&str]) -> Vec<u8> {
        let bytes = probe(version, hosts);
        self.submit(&bytes);
        self.approve(&bytes, version);
        bytes
    }

    fn withdraw(&self, word: &str, version: &str) {
        ok(&self.by("ann", &[word, &format!("test/probe@{version}"), "--reason", "it leaks"]));
    }
}

fn probe(version: &str, hosts: &[&str]) -> Vec<u8> {
    renamed(&built("probe"), |manifest| {
        manifest["version"] = json!(version);
        manifest["http"]["allow"] = json!(hosts);
        manifest["secrets"] = json!([]);
    })
}

fn ok(ended: &Ended) {
    assert_eq!(ended.exit, Some(0), "{}", ended.stderr);
}

fn shown(home: &Path) -> Value {
    remit(home, &["show", "test/probe", "--json"], "").json()
}

fn version(home: &Path) -> String {
    shown(home)["version"].as_str().unwrap_or("none").to_owned()
}

fn granted(home: &Path) -> Vec<String> {
    let value = shown(home);
    let hosts = value["grants"].as_array().expect("grants").iter().filter_map(|grant| grant["entry"].as_str());
    hosts.map(str::to_owned).collect()
}

/// A registry behind HTTP, which ends with the test.
struct Served(Child);

impl Served {
    fn start(folder: &Path) -> (Self, String) {
        let registry = folder.join("registry");
        let mut child = Command::new(program())
            .args(["serve", "--http", "127.0.0.1:0", "--no-token", "--registry"])
            .arg(registry)
            .env("REMIT_HOME", folder.join("keeper"))
            .stderr(Stdio::piped())
            .spawn()
            .expect("remit serve starts");
        let mut line = String::new();
        BufReader::new(child.stderr.take().expect("a pipe")).read_line(&mut line).expect("a line");
        let address = line.trim().rsplit(' ').next().expect("an address").to_owned();
        (Self(child), address)
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

const ONE: [&str; 1] = ["api.example.com"];
const TWO: [&str; 2] = ["api.example.com", "new.example.org"];

/// The whole life of a capability, by whichever way its registry is reached.
fn a_life(town: &Town, location: &str) {
    let (here, there) = (town.home("here", location), town.home("there", location));
    let first = town.publish("1.0.0", &ONE);
    for home in [&here, &there] {
        ok(&remit(home, &["install", "test/probe@1.0.0", "--yes"], ""));
        let value = shown(home);
        assert_eq!(value["digest"], Digest::of(&first).to_string());
        assert_eq!((&value["origin"]["reviewer"], &value["origin"]["registry"]), (&json!("ben"), &json!("main")));
    }
    let mut client = Client::start(&here);
    assert_eq!(client.tools().len(), 4);

    // Widened: asked about, and not taken before.
    let waiting = probe("1.1.0", &TWO);
    town.submit(&waiting);
    assert_eq!(
        remit(&here, &["upgrade", "test/probe@1.1.0", "--yes", "--json"], "").code(),
        "registry/not-reviewed"
    );
    assert_eq!(version(&here), "1.0.0", "nobody approved it");
    town.approve(&waiting, "1.1.0");
    let ended = remit(&here, &["upgrade", "test/probe"], "");
    assert_eq!(ended.exit, Some(2), "{}", ended.stderr);
    assert!(ended.stderr.contains("new.example.org"), "{}", ended.stderr);
    assert_eq!((version(&here), granted(&here)), ("1.0.0".to_owned(), ONE.map(str::to_owned).to_vec()));
    ok(&remit(&here, &["upgrade", "test/probe", "--grant", "http:new.example.org"], ""));
    assert_eq!((version(&here), granted(&here)), ("1.1.0".to_owned(), TWO.map(str::to_owned).to_vec()));
    assert_eq!(version(&there), "1.0.0", "nothing upgrades by itself");

    // The other home follows by the lock alone.
    let lock = town.folder.path().join("remit.lock").display().to_string();
    ok(&remit(&here, &["lock", "--file", &lock], ""));
    ok(&remit(&there, &["sync", "--locked", "--file", &lock], ""));
    assert_eq!((version(&there), granted(&there)), (version(&here), granted(&here)));
    ok(&remit(&there, &["lock", "--file", &lock, "--check"], ""));

    ok(&remit(&here, &["rollback", "test/probe"], ""));
    assert_eq!((version(&here), granted(&here)), ("1.0.0".to_owned(), ONE.map(str::to_owned).to_vec()));

    // Yanked: who has it keeps it, with a warning, and nobody new gets it.
    town.withdraw("yank", "1.0.0");
    let ended = remit(&here, &["refresh"], "");
    assert!(ended.stderr.contains("yanked"), "{}", ended.stderr);
    assert_eq!(client.tools().len(), 4, "it goes on");
    let third = town.home("third", location);
    assert_eq!(remit(&third, &["install", "test/probe@1.0.0", "--yes", "--json"], "").code(), "registry/yanked");
    assert!(remit(&third, &["list", "--json"], "").json().as_array().expect("a list").is_empty());
    // Whoever wrote a lock decided before.
    ok(&remit(&here, &["lock", "--file", &lock], ""));
    ok(&remit(&third, &["sync", "--locked", "--file", &lock], ""));
    assert_eq!((version(&third), granted(&third)), (version(&here), granted(&here)));

    // Revoked: it stops, in the server that runs too.
    town.withdraw("revoke", "1.0.0");
    let ended = remit(&here, &["refresh"], "");
    assert!(ended.stderr.contains("revoked") && ended.stderr.contains("it leaks"), "{}", ended.stderr);
    assert_eq!(client.tools(), Vec::<String>::new());
    let call = ["call", "test/probe.fetch", r#"{"url":"https://api.example.com/"}"#, "--dry-run", "--json"];
    assert_eq!(remit(&here, &call, "").code(), "registry/revoked");
    // Not by a lock either.
    ok(&remit(&there, &["rollback", "test/probe", "--json"], ""));
    ok(&remit(&there, &["lock", "--file", &lock], ""));
    ok(&remit(&there, &["refresh"], ""));
    assert_eq!(remit(&there, &call, "").code(), "registry/revoked");
    let fourth = town.home("fourth", location);
    let ended = remit(&fourth, &["sync", "--locked", "--file", &lock, "--json"], "");
    assert_eq!(ended.code(), "registry/revoked", "{}", ended.stderr);
    assert!(remit(&fourth, &["list", "--json"], "").json().as_array().expect("a list").is_empty());
}

#[test]
fn c_08_c_09_a_life_from_a_folder() {
    let town = Town::new();
    let here = town.here();
    a_life(&town, &here);
}

#[test]
fn c_08_c_09_a_life_over_http() {
    let town = Town::new();
    let (_served, address) = Served::start(town.folder.path());
    // The publisher and the reviewer are elsewhere too.
    for name in ["ann", "ben"] {
        town.settle(&town.folder.path().join(name), &address);
    }
    a_life(&town, &address);
}

#[test]
fn who_knows_no_key_installs_nothing_and_a_registry_that_is_gone_stops_nothing() {
    let town = Town::new();
    let here = town.here();
    town.publish("1.0.0", &ONE);
    let stranger = town.stranger("stranger", &here);
    assert_eq!(
        remit(&stranger, &["install", "test/probe@1.0.0", "--yes", "--json"], "").code(),
        "signature/unknown-key"
    );
    assert!(remit(&stranger, &["list", "--json"], "").json().as_array().expect("a list").is_empty());

    let home = town.home("home", &here);
    ok(&remit(&home, &["install", "test/probe@1.0.0", "--yes"], ""));
    // Bytes that somebody changed in the registry, and a registry that is not there.
    let digest = Digest::of(&probe("1.0.0", &ONE));
    let path = town.folder.path().join("registry/components/sha256").join(format!("{}.wasm", digest.hex()));
    let mut bytes = std::fs::read(&path).expect("stored");
    *bytes.last_mut().expect("bytes") ^= 1;
    std::fs::write(&path, bytes).expect("room");
    let other = town.home("other", &here);
    assert_eq!(
        remit(&other, &["install", "test/probe@1.0.0", "--yes", "--json"], "").code(),
        "registry/digest-mismatch"
    );
    assert!(remit(&other, &["list", "--json"], "").json().as_array().expect("a list").is_empty());

    std::fs::rename(town.folder.path().join("registry"), town.folder.path().join("gone")).expect("moved");
    let ended = remit(&home, &["refresh"], "");
    ok(&ended);
    assert!(ended.stderr.contains("warning"), "{}", ended.stderr);
    let mut client = Client::start(&home);
    assert_eq!(client.tools().len(), 4, "what is installed goes on");
}

#[test]
fn a_key_is_rotated_by_a_document_and_a_stolen_one_signs_nothing_any_more() {
    let town = Town::new();
    let here = town.here();
    town.publish("1.0.0", &ONE);
    let [told, untold] = ["told", "untold"].map(|name| town.home(name, &here));
    let stolen = town.folder.path().join("ann/signing-key");
    let copy = std::fs::read(&stolen).expect("the old key");

    let rotated = town.by("ann", &["key", "rotate"]);
    ok(&rotated);
    let document = town.folder.path().join("rotation.json");
    std::fs::write(&document, &rotated.stdout).expect("room");
    let document = document.display().to_string();
    // One letter of it changed is no document of ann's.
    let forged = town.folder.path().join("forged.json");
    std::fs::write(&forged, rotated.stdout.replace("\"signedAt\": 1", "\"signedAt\": 2")).expect("room");
    let refused = remit(&told, &["key", "accept", &forged.display().to_string(), "--json"], "");
    assert_eq!(refused.code(), "signature/invalid");
    ok(&remit(&told, &["key", "accept", &document], ""));
    ok(&town.by("ben", &["key", "accept", &document]));

    // Whoever runs the registry says so too, and takes the old key back.
    let registry = town.folder.path().join("registry").display().to_string();
    let key = town.by("ann", &["key", "export"]).stdout.trim().to_owned();
    let next = probe("1.0.1", &ONE);
    let file = town.folder.path().join("next.wasm");
    std::fs::write(&file, &next).expect("room");
    let publish = ["publish", &file.display().to_string(), "--json"];
    assert_eq!(town.by("ann", &publish).code(), "signature/unknown-key");
    ok(&town.by("ann", &["registry", "allow", &registry, &key, "--owner", "ann", "--publisher", "test"]));
    ok(&town.by("ann", &["registry", "disallow", &registry, &town.ann]));
    ok(&town.by("ann", &publish));
    town.approve(&next, "1.0.1");
    let install = ["install", "test/probe@1.0.1", "--yes", "--json"];
    assert_eq!(remit(&untold, &install, "").code(), "signature/unknown-key");
    ok(&remit(&told, &install, ""));

    // Whoever has the old key.
    std::fs::write(&stolen, copy).expect("room");
    std::fs::write(&file, probe("1.0.2", &ONE)).expect("room");
    assert_eq!(town.by("ann", &publish).code(), "signature/revoked-key");
    assert_eq!(
        remit(&told, &["install", "test/probe@1.0.2", "--yes", "--json"], "").code(),
        "registry/no-release"
    );
}
