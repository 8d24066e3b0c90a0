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

/// The values that may be put in.
fn usable(vault: &Vault, approvals: &[(&str, &str)]) -> Vec<Vec<u8>> {
    texts(vault, approvals, true)
}

/// The values that are only searched for.
fn searched(vault: &Vault, approvals: &[(&str, &str)]) -> Vec<Vec<u8>> {
    texts(vault, approvals, false)
}

fn texts(vault: &Vault, approvals: &[(&str, &str)], is_usable: bool) -> Vec<Vec<u8>> {
    let set = vault.open(&granted(approvals)).unwrap();
    set.iter().filter(|secret| secret.is_usable == is_usable).map(|secret| secret.value.to_vec()).collect()
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
    assert_eq!(usable(&vault, &[("A", "A")]), [b"a new value"]);
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
    let (name, kind) = ("KEY".to_owned(), SecretKind::Value);
    let expected =
        StoredSecret { name, kind, created_at: 1000, changed_at: 2000, used_at: None, expires_at: None };
    assert_eq!(seen, [expected]);
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
    let swap = "UPDATE secrets SET name = '-' WHERE name = 'A'; UPDATE secrets SET name = 'A' WHERE name = 'B';
                UPDATE secrets SET name = 'B' WHERE name = '-';";
    store.tamper(swap).unwrap();
    for name in ["A", "B"] {
        assert_eq!(opened(&vault, &[("A", name)]).unwrap_err().kind, ErrorKind::SecretKey);
    }
    store.tamper(swap).unwrap();
    assert_eq!(opened(&vault, &[("A", "A")]).unwrap(), [triple("A", "A", VALUE)]);
    // The versions of the two rows along with them: only the seal sees it.
    store.tamper("UPDATE secrets SET version = (SELECT sum(version) FROM secrets) - version;").unwrap();
    store.tamper(swap).unwrap();
    store.tamper("UPDATE roster SET newest = newest;").unwrap();
    for name in ["A", "B"] {
        let message = opened(&vault, &[("A", name)]).unwrap_err().message;
        assert_eq!(message, format!("the stored value of `{name}` does not open"));
    }
}

/// Puts the row of `A` back as it was when `old_values` took it.
const PUT_BACK: &str = "
    UPDATE secrets SET (version, kind, expires_at, scheme, kek_id, salt, nonce, ciphertext) =
    (SELECT version, kind, expires_at, scheme, kek_id, salt, nonce, ciphertext FROM old_values
     WHERE old_values.name = 'A' ORDER BY version DESC LIMIT 1) WHERE name = 'A';";

#[test]
fn a_row_that_is_put_back_is_seen_and_no_later_write_makes_it_right() {
    let home = tempfile::tempdir().unwrap();
    let (store, vault) = open(home.path());
    vault.set("A", VALUE).unwrap();
    vault.set("A", b"the value of now").unwrap();
    store.tamper(PUT_BACK).unwrap();
    let refused = |case: &str| {
        let error = opened(&vault, &[("A", "A")]).unwrap_err();
        assert_eq!(error.message, "the stored value of `A` is not the one that was set last", "{case}");
        assert_eq!(error.kind, ErrorKind::SecretKey, "{case}");
    };
    refused("put back");
    vault.set("B", VALUE).unwrap();
    refused("after the write of another");
    assert!(vault.remove("B").unwrap());
    refused("after the removal of another");
    assert_eq!(
        vault.rotate_key().unwrap_err().kind,
        ErrorKind::SecretKey,
        "a change of the key does not bless it"
    );
    refused("after a change of the key");
    store.tamper("DELETE FROM roster").unwrap();
    refused("without a roster");
    vault.set("B", VALUE).unwrap();
    refused("without a roster, after the write of another");
    assert!(opened(&vault, &[("B", "B")]).is_ok(), "the others stay usable");
    vault.set("A", b"set once more").unwrap();
    assert_eq!(usable(&vault, &[("A", "A")]), [b"set once more"]);
}

#[test]
fn a_roster_of_somebody_else_opens_nothing() {
    let home = tempfile::tempdir().unwrap();
    let (store, vault) = open(home.path());
    vault.set("A", VALUE).unwrap();
    vault.set("A", b"the value of now").unwrap();
    store.tamper(PUT_BACK).unwrap();
    store.tamper("UPDATE roster SET newest = json_object('A', (SELECT version FROM secrets))").unwrap();
    let refused = opened(&vault, &[("A", "A")]).unwrap_err();
    assert_eq!(refused.message, "the list of stored secrets was changed by somebody else");
    assert_eq!(vault.set("A", VALUE).unwrap_err().kind, ErrorKind::SecretKey);
    assert!(vault.remove("A").unwrap());
    vault.set("A", VALUE).unwrap();
    assert_eq!(usable(&vault, &[("A", "A")]), [VALUE], "as the hint says");
}

#[test]
fn an_end_cannot_be_moved() {
    let home = tempfile::tempdir().unwrap();
    let (store, vault) = open(home.path());
    vault.set_with("A", SecretKind::Value, VALUE, Some(1_700_000_001_000)).unwrap();
    for tampered in ["expires_at = NULL", "expires_at = expires_at + 1", "kind = 'oauth2'", "scheme = 1"] {
        let sql: &'static str = format!("UPDATE secrets SET {tampered}").leak();
        store.tamper("CREATE TABLE kept AS SELECT * FROM secrets").unwrap();
        store.tamper(sql).unwrap();
        assert_eq!(opened(&vault, &[("A", "A")]).unwrap_err().kind, ErrorKind::SecretKey, "{tampered}");
        store.tamper("DELETE FROM secrets; INSERT INTO secrets SELECT * FROM kept; DROP TABLE kept").unwrap();
    }
    assert_eq!(usable(&vault, &[("A", "A")]), [VALUE]);
}

#[test]
fn a_home_of_the_first_scheme_goes_on() {
    let home = tempfile::tempdir().unwrap();
    let (store, vault) = open(home.path());
    vault.set("B", b"another value").unwrap();
    vault.remove("B").unwrap();
    // What a program that knew no roster left behind.
    let key = vault.key.read().unwrap().unwrap();
    for (name, version) in [("A", 3), ("B", 4)] {
        let sealed = seal::seal_first(&key, name, version, VALUE);
        store.change_secrets(move |rows| rows.put(name, &sealed)).unwrap();
    }
    assert_eq!(usable(&vault, &[("A", "A"), ("B", "B")]), [VALUE, VALUE]);
    vault.set("B", b"the value of now").unwrap();
    assert_eq!(usable(&vault, &[("A", "A"), ("B", "B")]), [VALUE, b"the value of now"]);
    vault.rotate_key().unwrap();
    let schemes = store.read_secrets(|rows| rows.all(Shelf::Current)).unwrap();
    assert!(schemes.iter().all(|(_, sealed)| sealed.scheme == seal::LISTED), "nothing of it is left");
    assert_eq!(usable(&vault, &[("A", "A"), ("B", "B")]), [VALUE, b"the value of now"]);
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
    assert_eq!(store.read_secrets(|rows| Ok((rows.list()?.len(), rows.key_ids()?.len()))).unwrap(), (8, 1));
}

/// Replaces the value of `A` so often, a minute apart.
fn replace(vault: &Vault, clock: &Clock, times: usize) {
    for number in 0..times {
        clock.advance(Duration::from_secs(60));
        vault.set("A", format!("value number {number}").as_bytes()).unwrap();
    }
}

fn at(home: &Path) -> (Arc<Clock>, Arc<Store>, Vault) {
    let clock = Arc::new(Clock::manual(Duration::from_secs(1_700_000_000)));
    let store = Store::open(home, Arc::clone(&clock)).unwrap();
    let vault = Vault::new(home, Arc::clone(&store));
    (clock, store, vault)
}

#[test]
fn a_replaced_value_is_searched_for_a_day() {
    const HOUR: Duration = Duration::from_secs(3600);
    let home = tempfile::tempdir().unwrap();
    let (clock, store, vault) = at(home.path());
    let kept = || store.read_secrets(|rows| rows.all(Shelf::Old)).unwrap().len();
    vault.set("A", VALUE).unwrap();
    vault.set("A", b"the value of now").unwrap();
    let approvals = [("A", "A")];
    for _ in 0..24 {
        assert_eq!(usable(&vault, &approvals), [b"the value of now"]);
        assert_eq!(searched(&vault, &approvals), [VALUE]);
        clock.advance(HOUR);
    }
    assert_eq!(searched(&vault, &approvals), [VALUE], "to the last moment");
    clock.advance(Duration::from_millis(1));
    assert!(searched(&vault, &approvals).is_empty());
    assert_eq!(kept(), 1);
    vault.set("B", b"another value").unwrap();
    assert_eq!(kept(), 0, "the next write removes it");
    assert_eq!(usable(&vault, &approvals), [b"the value of now"]);
}

#[test]
fn a_bounded_number_of_replaced_values_is_kept() {
    let home = tempfile::tempdir().unwrap();
    let (clock, store, vault) = at(home.path());
    vault.set("B", b"another value").unwrap();
    vault.set("B", b"yet another value").unwrap();
    replace(&vault, &clock, 12);
    let expected: Vec<_> = (3..11).rev().map(|number| format!("value number {number}").into_bytes()).collect();
    assert_eq!(searched(&vault, &[("A", "A")]), expected);
    assert_eq!(searched(&vault, &[("B", "B")]), [b"another value"], "each name has its own");
    assert_eq!(store.read_secrets(|rows| rows.all(Shelf::Old)).unwrap().len(), 9);
}

#[test]
fn a_shorter_overlap_is_a_setting() {
    let home = tempfile::tempdir().unwrap();
    let (clock, store, _) = at(home.path());
    let settings = SecretsConfig { overlap_hours: 1, ..SecretsConfig::default() };
    let vault = Vault::with_settings(home.path(), store, &settings);
    replace(&vault, &clock, 2);
    clock.advance(Duration::from_secs(3600));
    assert_eq!(searched(&vault, &[("A", "A")]), [b"value number 0"]);
    clock.advance(Duration::from_millis(1));
    assert!(searched(&vault, &[("A", "A")]).is_empty());
}

#[test]
fn a_value_that_ended_is_only_searched_for() {
    let home = tempfile::tempdir().unwrap();
    let (clock, _, vault) = at(home.path());
    vault.set_with("A", SecretKind::Value, VALUE, Some(clock.now_ms() + 1000)).unwrap();
    clock.advance(Duration::from_millis(999));
    assert_eq!(usable(&vault, &[("A", "A")]), [VALUE]);
    assert!(!vault.list().unwrap()[0].has_expired(clock.now_ms()));
    clock.advance(Duration::from_millis(1));
    assert!(vault.list().unwrap()[0].has_expired(clock.now_ms()));
    let set = vault.open(&granted(&[("A", "A")])).unwrap();
    assert_eq!(set.get("A", "A"), None);
    assert!(set.has_expired("A", "A") && !set.has_expired("B", "A"));
    assert_eq!(searched(&vault, &[("A", "A")]), [VALUE]);
    vault.set("A", b"the value of now").unwrap();
    assert_eq!(usable(&vault, &[("A", "A")]), [b"the value of now"], "a new value has no end of its own");
    assert_eq!(searched(&vault, &[("A", "A")]), [VALUE]);
}

#[test]
fn a_row_that_does_not_open_is_replaced_and_not_kept() {
    let home = tempfile::tempdir().unwrap();
    let (store, vault) = open(home.path());
    vault.set("A", VALUE).unwrap();
    vault.set("A", b"the value of now").unwrap();
    store.tamper("UPDATE secrets SET ciphertext = x'00'; UPDATE old_values SET ciphertext = x'00'").unwrap();
    let refused = opened(&vault, &[("A", "A")]).unwrap_err();
    assert_eq!(refused.hint.as_deref(), Some("set it again: `remit secret set A`"));
    vault.set("A", b"set once more").unwrap();
    assert_eq!(usable(&vault, &[("A", "A")]), [b"set once more"]);
    assert!(searched(&vault, &[("A", "A")]).is_empty());
}

#[test]
fn what_was_approved_once_is_searched_for() {
    let home = tempfile::tempdir().unwrap();
    let (store, vault) = open(home.path());
    vault.set("A", VALUE).unwrap();
    vault.set("OTHER", b"another value").unwrap();
    vault.set("NEVER", b"approved for nobody").unwrap();
    let approve = |source: &'static str, capability: &'static str| {
        let sql: &'static str = format!(
            "INSERT INTO installs VALUES ('acme', '{capability}', '1.0.0', 'sha256:{0:064}', 1, 1, '{{}}')
             ON CONFLICT DO NOTHING;
             INSERT INTO approvals (publisher, slug, digest, secret, source, host, port, place)
             VALUES ('acme', '{capability}', 'sha256:{0:064}', 'A', '{source}', 'a.example', 443, 'body')
             ON CONFLICT DO UPDATE SET source = '{source}';",
            0
        )
        .leak();
        store.tamper(sql).unwrap();
    };
    approve("A", "weather");
    approve("OTHER", "weather");
    approve("NEVER", "another");
    assert!(usable(&vault, &[]).is_empty());
    assert_eq!(searched(&vault, &[]), [VALUE, b"another value"], "also one whose place another took");
    store.tamper("DELETE FROM installs").unwrap();
    assert_eq!(searched(&vault, &[]), [VALUE, b"another value"], "also after the install went");
    assert_eq!(usable(&vault, &[("A", "OTHER")]), [b"another value"]);
    assert_eq!(searched(&vault, &[("A", "OTHER")]), [VALUE]);

    assert!(vault.remove("OTHER").unwrap());
    vault.set("OTHER", b"a value of other days").unwrap();
    assert_eq!(searched(&vault, &[]), [VALUE], "a removed secret is forgotten");
    approve("A", "weather");
    vault.remove("A").unwrap();
    vault.set("A", b"the value of now").unwrap();
    assert_eq!(searched(&vault, &[]), [b"the value of now"], "one that is still approved is exposed anew");
}

#[test]
fn uses_are_listed() {
    let home = tempfile::tempdir().unwrap();
    let (clock, store, vault) = at(home.path());
    vault.set("A", VALUE).unwrap();
    vault.set("B", VALUE).unwrap();
    let used = || -> Vec<_> { vault.list().unwrap().into_iter().map(|secret| secret.used_at).collect() };
    let generation = store.generation().unwrap();
    clock.advance(Duration::from_secs(1));
    vault.note_uses(BTreeSet::from(["A".to_owned(), "GONE".to_owned()]));
    store.flush().unwrap();
    assert_eq!(used(), [Some(1_700_000_001_000), None]);
    assert_eq!(store.generation().unwrap(), generation, "a use changes nothing that a call depends on");
    vault.remove("A").unwrap();
    vault.set("A", VALUE).unwrap();
    assert_eq!(used(), [None, None]);
}

#[test]
fn of_a_connection_only_the_access_token_is_put_in() {
    let home = tempfile::tempdir().unwrap();
    let (_, vault) = open(home.path());
    let connection = br#"{"id":"1","settings":{"grant":"authorization_code","tokenUrl":"https://login.example.com",
        "authUrl":null,"clientId":"c","clientSecret":null,"auth":"basic","scopes":[],"audience":null,"resource":null,
        "issuer":null,"port":null},"access":{"token":"access-me-now","obtainedAt":0,"renewAt":null,"endsAt":null},
        "refresh":"refresh-me-not","earlier":[]}"#;
    vault.set_with("A", SecretKind::OAuth2, connection, None).unwrap();
    assert_eq!(vault.list().unwrap()[0].kind.as_str(), "oauth2");
    assert_eq!(vault.read("A", SecretKind::OAuth2).unwrap().unwrap().as_slice(), connection);
    assert!(vault.read("A", SecretKind::Value).unwrap().is_none());
    assert!(vault.read("B", SecretKind::OAuth2).unwrap().is_none());
    assert_eq!(usable(&vault, &[("A", "A")]), [b"access-me-now"]);
    assert_eq!(searched(&vault, &[("A", "A")]), [b"refresh-me-not"]);
    vault.set("A", VALUE).unwrap();
    let earlier = [b"access-me-now".as_slice(), b"refresh-me-not"];
    assert_eq!(searched(&vault, &[("A", "A")]), earlier, "an earlier connection, too");
    let long = [b"x".as_slice(); 64 * 1024 + 1].concat();
    assert_eq!(vault.set_with("A", SecretKind::OAuth2, &long, None).unwrap_err().kind, ErrorKind::SecretInvalid);
}

#[test]
fn the_key_can_live_elsewhere() {
    let (home, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (_, store, _) = at(home.path());
    let key_file = elsewhere.path().join("remit-key");
    let settings = SecretsConfig { key_file: Some(key_file.clone()), ..SecretsConfig::default() };
    let vault = Vault::with_settings(home.path(), Arc::clone(&store), &settings);
    vault.set("A", VALUE).unwrap();
    assert!(key_file.exists() && !home.path().join("key").exists());
    let before = std::fs::read(&key_file).unwrap();
    vault.rotate_key().unwrap();
    assert_ne!(std::fs::read(&key_file).unwrap(), before);
    assert_eq!(std::fs::read_dir(elsewhere.path()).unwrap().count(), 1, "and no other file");
    assert_eq!(usable(&vault, &[("A", "A")]), [VALUE]);

    std::fs::rename(&key_file, elsewhere.path().join("away")).unwrap();
    let refused = opened(&vault, &[("A", "A")]).unwrap_err();
    assert!(refused.hint.unwrap().contains(&format!("restore `{}`", key_file.display())));
    std::os::unix::fs::symlink(elsewhere.path().join("away"), &key_file).unwrap();
    assert_eq!(opened(&vault, &[("A", "A")]).unwrap_err().message, "the key file cannot be opened");
    let here = Vault::new(home.path(), store);
    assert_eq!(here.set("B", VALUE).unwrap_err().kind, ErrorKind::SecretKey, "no second key is made");
    assert!(!home.path().join("key").exists());
}
