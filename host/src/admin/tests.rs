//! What the people's door lets through, and what it leaves as it was.

use std::path::Path;
use std::time::Duration;

use serde_json::json;

use super::*;
use crate::clock::Clock;
use crate::config::Config;
use crate::manifest::NamespaceName;
use crate::policy::Place;

fn open(home: &Path) -> Admin {
    let clock = Arc::new(Clock::manual(Duration::from_secs(1_700_000_000)));
    let store = Store::open(home, clock.clone()).unwrap();
    let catalog = Arc::new(Catalog::new(Arc::clone(&store)));
    let vault = Arc::new(Vault::new(home, Arc::clone(&store)));
    let standings = Arc::new(Standings::new(Arc::clone(&catalog), Config::default(), clock));
    Admin::new(store, Artifacts::new(home), catalog, vault, standings, &Config::default())
}

fn name(slug: &str) -> CapabilityName {
    CapabilityName { publisher: "acme".to_owned(), slug: slug.to_owned() }
}

/// What `Admin::offer` would make of these bytes.
fn offer(slug: &str, version: &str, bytes: &[u8]) -> Offer {
    let manifest = serde_json::from_value(json!({
        "publisher": "acme", "slug": slug, "version": version, "title": "W", "description": "W.",
        "uses": ["http"], "http": { "allow": ["api.example.com", "*.cdn.example.com"] },
        "secrets": [{ "name": "API_KEY", "description": "K.", "hosts": ["api.example.com"], "in": ["body"] }],
    }))
    .unwrap();
    Offer {
        asks: asks(&manifest),
        replaces: None,
        keeps: Sums::default(),
        capability: Capability {
            name: name(slug),
            digest: Digest::of(bytes),
            manifest,
            installed_at: 0,
            size: bytes.len() as u64,
        },
        bytes: bytes.to_vec(),
        origin: None,
    }
}

fn http(entry: &str) -> Grant {
    let entry = Some(entry.to_owned()).filter(|entry| !entry.is_empty());
    Grant { namespace: NamespaceName::Http, entry }
}

fn components(home: &Path) -> usize {
    std::fs::read_dir(home.join("components/sha256")).map_or(0, Iterator::count)
}

#[test]
fn a_capability_is_installed_granted_and_removed() {
    let home = tempfile::tempdir().unwrap();
    let (admin, elsewhere) = (open(home.path()), open(home.path()));
    admin.install(offer("weather", "1.0.0", b"1"), &[http("api.example.com")]).unwrap();
    let entry = elsewhere.find(&name("weather")).unwrap();
    assert_eq!(entry.grants, [http(""), http("api.example.com")], "an entry brings its namespace");
    assert_eq!(entry.capability.installed_at, 1_700_000_000_000);
    assert_eq!(components(home.path()), 1);

    admin.grant(&name("weather"), &[http("a.cdn.example.com")]).unwrap();
    assert_eq!(elsewhere.find(&name("weather")).unwrap().grants.len(), 3);
    assert_eq!(admin.revoke(&name("weather"), &[http("api.example.com:443")]).unwrap(), 1);
    assert_eq!(admin.revoke(&name("weather"), &[http("api.example.com")]).unwrap(), 0);
    assert_eq!(admin.revoke(&name("weather"), &[http("")]).unwrap(), 2);
    assert!(elsewhere.find(&name("weather")).unwrap().grants.is_empty());

    assert_eq!(admin.uninstall(&name("weather")).unwrap(), Digest::of(b"1"));
    assert_eq!(components(home.path()), 0);
    for result in [admin.uninstall(&name("weather")).map(drop), elsewhere.find(&name("weather")).map(drop)] {
        assert_eq!(result.unwrap_err().kind, ErrorKind::RegistryNotFound);
    }
}

#[test]
fn what_is_not_declared_is_not_granted_and_nothing_is_half_done() {
    let home = tempfile::tempdir().unwrap();
    let admin = open(home.path());
    let wish = [http("api.example.com"), http("evil.example")];
    assert_eq!(admin.install(offer("weather", "1.0.0", b"1"), &wish).unwrap_err().kind, ErrorKind::NotAllowed);
    assert!(admin.installed().unwrap().entries.is_empty());
    assert_eq!(components(home.path()), 0);

    admin.install(offer("weather", "1.0.0", b"1"), &[]).unwrap();
    assert_eq!(admin.grant(&name("weather"), &wish).unwrap_err().kind, ErrorKind::NotAllowed);
    let entry = admin.find(&name("weather")).unwrap();
    assert!(entry.grants.is_empty(), "an install grants nothing by itself, and a refused wish nothing at all");
}

#[test]
fn an_upgrade_asks_anew() {
    let home = tempfile::tempdir().unwrap();
    let admin = open(home.path());
    let approval = |host: &str| {
        let (secret, host) = ("API_KEY".to_owned(), host.to_owned());
        Approval { source: secret.clone(), secret, host, port: 443, place: Place::Body, expires_at: None }
    };
    admin.install(offer("weather", "1.0.0", b"1"), &[http("api.example.com")]).unwrap();
    admin.approve(&name("weather"), &[approval("api.example.com")]).unwrap();
    let refused = admin.approve(&name("weather"), &[approval("a.cdn.example.com")]);
    assert_eq!(refused.unwrap_err().kind, ErrorKind::NotAllowed);
    assert_eq!(admin.find(&name("weather")).unwrap().approvals.len(), 1);

    let same_version = admin.install(offer("weather", "1.0.0", b"2"), &[]);
    assert_eq!(same_version.unwrap_err().kind, ErrorKind::VersionExists);
    assert_eq!(admin.find(&name("weather")).unwrap().capability.digest, Digest::of(b"1"));

    admin.install(offer("weather", "1.0.1", b"2"), &[]).unwrap();
    let entry = admin.find(&name("weather")).unwrap();
    assert_eq!(entry.capability.digest, Digest::of(b"2"));
    assert!(entry.grants.is_empty() && entry.approvals.is_empty());

    admin.approve(&name("weather"), &[approval("api.example.com")]).unwrap();
    assert_eq!(admin.disapprove(&name("weather"), "API_KEY").unwrap(), 1);
    assert_eq!(admin.disapprove(&name("weather"), "API_KEY").unwrap(), 0);
}

#[test]
fn installing_again_repairs_and_only_adds() {
    let home = tempfile::tempdir().unwrap();
    let admin = open(home.path());
    admin.install(offer("weather", "1.0.0", b"1"), &[http("api.example.com")]).unwrap();
    let digest = Digest::of(b"1");
    let path = home.path().join("components/sha256").join(format!("{}.wasm", digest.hex()));
    std::fs::write(&path, b"tampered").unwrap();
    assert_eq!(admin.artifacts.read(&digest).unwrap_err().kind, ErrorKind::DigestMismatch);
    admin.install(offer("weather", "1.0.0", b"1"), &[http("a.cdn.example.com")]).unwrap();
    assert_eq!(admin.artifacts.read(&digest).unwrap(), b"1");
    assert_eq!(admin.find(&name("weather")).unwrap().grants.len(), 3);
}

#[test]
fn bytes_that_another_install_pins_stay() {
    let home = tempfile::tempdir().unwrap();
    let admin = open(home.path());
    admin.install(offer("one", "1.0.0", b"1"), &[]).unwrap();
    admin.install(offer("two", "1.0.0", b"1"), &[]).unwrap();
    admin.uninstall(&name("one")).unwrap();
    assert_eq!(components(home.path()), 1);
    admin.uninstall(&name("two")).unwrap();
    assert_eq!(components(home.path()), 0);
}

#[test]
fn a_name_that_is_not_there_names_one_that_is() {
    let home = tempfile::tempdir().unwrap();
    let admin = open(home.path());
    let hint = |name: &str| admin.find(&name.parse().unwrap()).unwrap_err().hint.unwrap();
    assert_eq!(hint("acme/weather"), "`remit list` shows what is installed");
    admin.install(offer("weather", "1.0.0", b"1"), &[]).unwrap();
    for wrong in ["acme/wether", "acme/weathers", "acne/weather", "somebody/weather"] {
        assert_eq!(hint(wrong), "did you mean `acme/weather`?", "{wrong}");
    }
    assert_eq!(hint("zzz/qqq"), "`remit list` shows what is installed");
}

#[test]
fn the_same_bytes_come_and_go_without_a_broken_pin() {
    let home = tempfile::tempdir().unwrap();
    let barrier = std::sync::Barrier::new(2);
    std::thread::scope(|scope| {
        for slug in ["one", "two"] {
            let (home, barrier) = (&home, &barrier);
            scope.spawn(move || {
                let admin = open(home.path());
                barrier.wait();
                for _ in 0..10 {
                    admin.install(offer(slug, "1.0.0", b"1"), &[]).unwrap();
                    assert_eq!(admin.artifacts.read(&Digest::of(b"1")).unwrap(), b"1");
                    admin.uninstall(&name(slug)).unwrap();
                }
            });
        }
    });
    assert_eq!(components(home.path()), 0);
}
