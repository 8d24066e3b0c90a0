//! Decisions about releases: two people, a registry in a folder, and the real program for whoever decides.

use std::path::{Path, PathBuf};

use remit::component::read_manifest;
use remit::registries::{Directory, State};
use remit::registry::{Digest, Exact};
use remit::signing::{KnownKey, Signed, SigningKey, Statement};
use serde_json::{Value, json};

use crate::support::home::{Ended, built, remit, renamed};

const RELEASE: &str = "test/echo@1.0.0";

/// A registry that knows Ada, who publishes, and Bob, who reviews.
struct World {
    folder: tempfile::TempDir,
    registry: Directory,
}

impl World {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let registry = Directory::create(&folder.path().join("registry")).expect("a registry");
        let world = Self { folder, registry };
        world.person("ada", "ada", false);
        world.person("bob", "bob", true);
        world
    }

    fn home(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A home with a key that this owner is known by.
    fn person(&self, home: &str, owner: &str, reviewer: bool) {
        std::fs::create_dir(self.home(home)).expect("a home");
        let place = self.folder.path().join("registry").display().to_string();
        let settings = format!("[registries.shared]\nlocation = \"dir:{place}\"\n");
        std::fs::write(self.home(home).join("remit.toml"), settings).expect("settings");
        let key = SigningKey::create(&self.home(home)).expect("a key").public();
        let publishers = vec!["test".to_owned()];
        let known = KnownKey { key, owner: owner.to_owned(), publishers, reviewer, revoked_at: None };
        self.registry.change_owners(|owners| owners.trust(known)).expect("trusted");
    }

    fn key(&self, home: &str) -> String {
        SigningKey::open(&self.home(home)).expect("a key").public().to_string()
    }

    /// Ada brings these bytes.
    fn submit(&self, bytes: &[u8]) -> Digest {
        let digest = Digest::of(bytes);
        let statement = Statement::of(&read_manifest(bytes).expect("a manifest"), digest, 1);
        let key = SigningKey::open(&self.home("ada")).expect("her key");
        let signed = Signed::new(statement, &key).expect("signed");
        self.registry.submit(&signed, bytes).expect("taken");
        digest
    }

    fn state(&self, release: &str) -> State {
        let release: Exact = release.parse().expect("a release");
        self.registry.state(&release).expect("readable").expect("there")
    }

    /// What the program answers to somebody.
    fn says(&self, home: &str, arguments: &[&str]) -> Ended {
        let arguments: Vec<&str> = ["review"].iter().chain(arguments).copied().chain(["--json"]).collect();
        remit(&self.home(home), &arguments, "y\n")
    }

    /// Approves, and gives the code of what was said.
    fn approve(&self, home: &str, digest: Digest) -> String {
        let ended = self.says(home, &["approve", RELEASE, "--digest", &digest.to_string()]);
        if ended.exit == Some(0) { ended.json()["state"].to_string() } else { ended.code() }
    }
}

fn echo(change: impl Fn(&mut Value)) -> Vec<u8> {
    renamed(&built("echo"), change)
}

#[test]
fn a_release_is_shown_from_its_bytes_and_published_by_a_second_person() {
    let world = World::new();
    let digest = world.submit(&echo(|_| {}));
    let listed = world.says("bob", &["list"]).json();
    assert_eq!(
        listed,
        json!([
            { "release": RELEASE, "state": "in review", "key": world.key("ada"), "digest": digest.to_string() }
        ])
    );
    let shown = world.says("bob", &["show", RELEASE]).json();
    assert_eq!(
        (&shown["review"]["digest"], &shown["key"]),
        (&json!(digest.to_string()), &json!(world.key("ada")))
    );
    assert_eq!(shown["against"], Value::Null);
    // Nobody is there to be asked, and no digest was said.
    let ended = world.says("bob", &["approve", RELEASE]);
    assert_eq!((ended.exit, ended.code().as_str()), (Some(2), "host/usage"));
    assert_eq!(world.state(RELEASE), State::InReview);
    assert_eq!(world.approve("bob", digest), "\"published\"");
    assert_eq!(world.state(RELEASE), State::Published);
    assert_eq!(world.says("bob", &["list"]).json(), json!([]));

    // The next version is compared with it.
    let next = echo(|manifest| {
        manifest["version"] = json!("1.1.0");
        manifest["tools"][0]["description"] = json!("Repeats it.");
    });
    world.submit(&next);
    let shown = world.says("bob", &["show", "test/echo@1.1.0"]).json();
    assert_eq!(shown["against"]["difference"]["version"], "1.0.0");
    assert_eq!(shown["against"]["difference"]["tools"][0]["fields"][0]["field"], "tools.echo.description");
    assert_eq!(shown["against"]["breaches"], json!([]));
}

#[test]
fn c_20_no_author_decides_about_their_own() {
    let world = World::new();
    let digest = world.submit(&echo(|_| {}));
    // Also not with a second key, nor with a role.
    world.person("ada-too", "ada", true);
    assert_eq!(world.approve("ada-too", digest), "review/own-submission");
    let ended = world.says("ada-too", &["reject", RELEASE, "--reason", "no", "--digest", &digest.to_string()]);
    assert_eq!(ended.code(), "review/own-submission");
    assert_eq!(world.approve("ada", digest), "review/not-a-reviewer");
    assert_eq!(world.state(RELEASE), State::InReview);
    // A reviewer who is somebody else may.
    assert_eq!(world.approve("bob", digest), "\"published\"");
}

#[test]
fn c_21_a_decision_about_bytes_that_were_replaced_decides_nothing() {
    let world = World::new();
    let shown = world.submit(&echo(|_| {}));
    let other = world.submit(&echo(|manifest| manifest["description"] = json!("Repeats other things.")));
    assert_ne!(shown, other);
    assert_eq!(world.approve("bob", shown), "review/other-bytes");
    assert_eq!(world.state(RELEASE), State::InReview);
    let ended = world.says("bob", &["reject", RELEASE, "--reason", "no", "--digest", &shown.to_string()]);
    assert_eq!(ended.code(), "review/other-bytes");
    assert_eq!(world.state(RELEASE), State::InReview);
    assert_eq!(world.approve("bob", other), "\"published\"");
    // What is published is decided about no more.
    assert_eq!(world.approve("bob", other), "review/nothing-waits");
}

#[test]
fn c_22_a_role_that_was_taken_away_counts_at_once() {
    let world = World::new();
    let digest = world.submit(&echo(|_| {}));
    assert_eq!(world.says("bob", &["show", RELEASE]).exit, Some(0));
    let taken = |owners: &mut remit::signing::Owners| {
        owners.keys.iter_mut().for_each(|known| known.reviewer = false);
        Ok(())
    };
    world.registry.change_owners(taken).expect("changed");
    assert_eq!(world.approve("bob", digest), "review/not-a-reviewer");
    assert_eq!(world.state(RELEASE), State::InReview);
}

#[test]
fn a_rejected_release_says_why_and_other_bytes_may_come() {
    let world = World::new();
    let digest = world.submit(&echo(|_| {})).to_string();
    for reason in ["", " ", "hidden\u{202e}"] {
        let ended = world.says("bob", &["reject", RELEASE, "--reason", reason, "--digest", &digest]);
        assert_eq!((ended.exit, ended.code().as_str()), (Some(2), "host/usage"), "{reason:?}");
    }
    let ended = world.says("bob", &["reject", RELEASE, "--reason", "why is it here?", "--digest", &digest]);
    assert_eq!((ended.exit, &ended.json()["state"]), (Some(0), &json!("rejected")));
    let documents = world.registry.release(&RELEASE.parse().expect("a release")).expect("there");
    let decision = documents.decision.expect("a decision");
    assert_eq!(decision.open().expect("signed").0.reason.as_deref(), Some("why is it here?"));
    world.submit(&echo(|manifest| manifest["description"] = json!("Repeats what it is told.")));
    assert_eq!(world.state(RELEASE), State::InReview);
}

#[test]
fn c_01_bytes_that_are_not_the_reviewed_ones_are_not_shown_nor_decided_about() {
    let world = World::new();
    let digest = world.submit(&echo(|_| {}));
    let stored = world.folder.path().join("registry/components/sha256").join(format!("{}.wasm", digest.hex()));
    replace(&stored, &echo(|manifest| manifest["description"] = json!("Other.")));
    let ended = world.says("bob", &["show", RELEASE]);
    assert_eq!((ended.exit, ended.code().as_str()), (Some(1), "registry/digest-mismatch"));
}

fn replace(file: &Path, bytes: &[u8]) {
    std::fs::remove_file(file).expect("the stored component");
    std::fs::write(file, bytes).expect("other bytes in its place");
}
