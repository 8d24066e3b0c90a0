//! Values come back for what was granted, and in no other way.

use std::time::Duration;

use serde_json::json;

use super::*;
use crate::clock::Clock;
use crate::config::Config;
use crate::policy::{Approval, Place, decide};
use crate::registry::{Capability, CapabilityName, Digest};

const VALUE: &[u8] = b"s3cr3t-value-of-a-test";

fn open(home: &Path) -> (Arc<Store>, Vault) {
    let clock = Arc::new(Clock::manual(Duration::from_secs(1_700_000_000)));
    let store = Store::open(home, clock).unwrap();
    (Arc::clone(&store), Vault::new(home, store))
}

/// A capability that declares `A` and `B`, with approvals as (secret, source).
fn granted(approvals: &[(&str, &str)]) -> Granted {
    let secret = |name: &str| json!({ "name": name, "description": "S.", "hosts": ["a.example"], "in": ["body"] });
    let manifest = json!({
        "publisher": "acme", "slug": "weather", "version": "1.0.0", "title": "W", "description": "W.",
        "uses": ["http"], "http": { "allow": ["a.example"] }, "secrets": [secret("A"), secret("B")],
    });
    let capability = Capability {
        name: CapabilityName { publisher: "acme".to_owned(), slug: "weather".to_owned() },
        digest: Digest::of(b""),
        manifest: serde_json::from_value(manifest).unwrap(),
        installed_at: 0,
        size: 0,
    };
    let approvals: Vec<_> = approvals
        .iter()
        .map(|(secret, source)| Approval {
            secret: (*secret).to_owned(),
            source: (*source).to_owned(),
            host: "a.example".to_owned(),
            port: 443,
            place: Place::Body,
            expires_at: None,
        })
        .collect();
    decide(&Arc::new(capability), &[], &approvals, 0, &Config::default())
}

fn opened(vault: &Vault, approvals: &[(&str, &str)]) -> Result<Vec<(String, String, Vec<u8>)>> {
    let set = vault.open(&granted(approvals))?;
    Ok(set.iter().map(|secret| (secret.name.clone(), secret.source.clone(), secret.value.to_vec())).collect())
}

fn triple(name: &str, source: &str, value: &[u8]) -> (String, String, Vec<u8>) {
    (name.to_owned(), source.to_owned(), value.to_vec())
}

#[test]
fn a_value_comes_back_for_what_is_approved() {
    let home = tempfile::tempdir().unwrap();
    let (_, vault) = open(home.path());
    assert!(opened(&vault, &[("A", "A")]).unwrap().is_empty());
    assert!(!home.path().join("key").exists(), "reading makes no key");
    vault.set("A", VALUE).unwrap();
    vault.set("OTHER", b"another value").unwrap();
    assert!(opened(&vault, &[]).unwrap().is_empty(), "set, and approved for nothing");
    assert_eq!(opened(&vault, &[("A", "A")]).unwrap(), [triple("A", "A", VALUE)]);
    let approvals = [("A", "A"), ("A", "OTHER"), ("A", "A"), ("B", "UNSET"), ("B", "OTHER")];
    let expected =
        [triple("A", "A", VALUE), triple("A", "OTHER", b"another value"), triple("B", "OTHER", b"another value")];
    assert_eq!(opened(&vault, &approvals).unwrap(), expected);
    vault.set("A", b"a new value").unwrap();
    assert_eq!(opened(&vault, &[("A", "A")]).unwrap(), [triple("A", "A", b"a new value")]);
    assert!(vault.remove("A").unwrap());
    assert!(!vault.remove("A").unwrap());
    assert!(opened(&vault, &[("A", "A")]).unwrap().is_empty());
}

#[test]
fn names_and_times_are_all_there_is_to_see() {
    let home = tempfile::tempdir().unwrap();
    let clock = Arc::new(Clock::manual(Duration::from_secs(1)));
    let store = Store::open(home.path(), Arc::clone(&clock)).unwrap();
    let vault = Vault::new(home.path(), Arc::clone(&store));
    vault.set("KEY", VALUE).unwrap();
    clock.advance(Duration::from_secs(1));
    vault.set("KEY", VALUE).unwrap();
    let seen = vault.list().unwrap();
    assert_eq!(seen, [StoredSecret { name: "KEY".to_owned(), created_at: 1000, changed_at: 2000 }]);
    drop((vault, store));
    for file in std::fs::read_dir(home.path()).unwrap() {
        let bytes = std::fs::read(file.unwrap().path()).unwrap_or_default();
        assert!(!bytes.windows(VALUE.len()).any(|window| window == VALUE));
    }
}

#[test]
fn ciphertexts_open_only_in_their_own_row() {
    let home = tempfile::tempdir().unwrap();
    let (store, vault) = open(home.path());
    vault.set("A", VALUE).unwrap();
    vault.set("B", b"another value").unwrap();
    store.swap_secrets("A", "B").unwrap();
    for name in ["A", "B"] {
        assert_eq!(opened(&vault, &[("A", name)]).unwrap_err().kind, ErrorKind::SecretKey);
    }
    store.swap_secrets("A", "B").unwrap();
    assert_eq!(opened(&vault, &[("A", "A")]).unwrap(), [triple("A", "A", VALUE)]);
}

#[test]
fn a_key_that_is_missing_or_another_is_never_replaced() {
    let home = tempfile::tempdir().unwrap();
    let (_, vault) = open(home.path());
    vault.set("A", VALUE).unwrap();
    let path = home.path().join("key");
    let key = std::fs::read(&path).unwrap();

    std::fs::remove_file(&path).unwrap();
    let refused = |case: &str| {
        assert_eq!(opened(&vault, &[("A", "A")]).unwrap_err().kind, ErrorKind::SecretKey, "{case}");
        assert_eq!(vault.set("B", VALUE).unwrap_err().kind, ErrorKind::SecretKey, "{case}");
    };
    refused("missing");
    assert!(!path.exists());

    let other = tempfile::tempdir().unwrap();
    open(other.path()).1.set("A", VALUE).unwrap();
    std::fs::copy(other.path().join("key"), &path).unwrap();
    refused("another");

    std::fs::write(&path, &key).unwrap();
    assert_eq!(opened(&vault, &[("A", "A")]).unwrap(), [triple("A", "A", VALUE)]);
    std::fs::remove_file(&path).unwrap();
    vault.remove("A").unwrap();
    vault.set("A", VALUE).unwrap();
    assert_ne!(std::fs::read(&path).unwrap(), key, "with nothing left to open, a new one is made");
}

#[test]
fn some_values_and_names_are_refused() {
    let home = tempfile::tempdir().unwrap();
    let (_, vault) = open(home.path());
    let long = vec![b'x'; 8193];
    let values: [&[u8]; 11] = [
        b"",
        b"s3crt",
        b"1234567",
        b"line\nbreak",
        b"return\rhere",
        b"nul\0 inside",
        b"aaaaaaaaaaaa",
        b"        ",
        b"changeme",
        b"PASSWORD",
        &long,
    ];
    for value in values {
        let error = vault.set("KEY", value).unwrap_err();
        assert_eq!(error.kind, ErrorKind::SecretInvalid, "{value:?}");
        let shown = format!("{error:?}");
        assert!(value.is_empty() || !shown.contains(&*String::from_utf8_lossy(value)), "{shown}");
    }
    let long = "A".repeat(65);
    for name in ["", "key", "1KEY", "_KEY", "KEY-1", "KÉY", "KEY ", "{{KEY}}", &long] {
        assert_eq!(vault.set(name, VALUE).unwrap_err().kind, ErrorKind::SecretInvalid, "{name}");
    }
    assert!(vault.list().unwrap().is_empty());
    let not_text = [0xff, 0xfe, 1, 2, 3, 4, 5, 6];
    for (name, value) in [("K", VALUE), ("KEY_2", &not_text), (&"A".repeat(64), b"8 bytes!")] {
        vault.set(name, value).unwrap();
    }
}

#[test]
fn first_secrets_set_at_once_share_one_key() {
    let home = tempfile::tempdir().unwrap();
    let barrier = std::sync::Barrier::new(8);
    std::thread::scope(|scope| {
        for number in 0..8 {
            let (home, barrier) = (&home, &barrier);
            scope.spawn(move || {
                let (_, vault) = open(home.path());
                barrier.wait();
                vault.set(&format!("KEY_{number}"), VALUE).unwrap();
            });
        }
    });
    let (store, _) = open(home.path());
    assert_eq!((store.list_secrets().unwrap().len(), store.key_ids().unwrap().len()), (8, 1));
}
