//! However a change of the key ends, every value opens, and no key is lost that something needs.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::*;
use crate::clock::Clock;
use crate::secrets::SecretKind;
use crate::store::Store;

const VALUE: &[u8] = b"s3cr3t-value-of-a-test";
const OLD_VALUE: &[u8] = b"the-value-before-that";

fn open(home: &Path) -> Vault {
    let clock = Arc::new(Clock::manual(Duration::from_secs(1_700_000_000)));
    Vault::new(home, Store::open(home, clock).unwrap())
}

/// A home with a value that was replaced, and a connection.
fn filled(home: &Path) -> Vault {
    let vault = open(home);
    vault.set("A", OLD_VALUE).unwrap();
    vault.set("A", VALUE).unwrap();
    vault.set_with("B", SecretKind::OAuth2, VALUE, None).unwrap();
    vault
}

/// Checks that everything opens, also for a process that starts now.
fn check_all_opens(home: &Path, case: &str) {
    let vault = open(home);
    assert_eq!(vault.read("A", SecretKind::Value).unwrap().unwrap().as_slice(), VALUE, "{case}");
    assert_eq!(vault.read("B", SecretKind::OAuth2).unwrap().unwrap().as_slice(), VALUE, "{case}");
    let old = vault.store.read_secrets(|rows| rows.all(Shelf::Old)).unwrap();
    let (name, sealed) = old.first().cloned().unwrap();
    let key = vault.key.find(&sealed.kek_id).unwrap().unwrap();
    assert_eq!(seal::open(&key, &name, sealed).unwrap().as_slice(), OLD_VALUE, "{case}");
}

fn keys(home: &Path) -> [Option<Vec<u8>>; 2] {
    ["key", "key.next"].map(|name| std::fs::read(home.join(name)).ok())
}

#[test]
fn everything_gets_a_new_key_and_the_old_one_is_gone() {
    let home = tempfile::tempdir().unwrap();
    let vault = filled(home.path());
    let listed = vault.list().unwrap();
    let [before, _] = keys(home.path());
    let rows = || vault.store.read_secrets(|rows| Ok((rows.all(Shelf::Current)?, rows.key_ids()?))).unwrap();
    let (sealed_before, ids_before) = rows();
    assert_eq!(vault.rotate_key().unwrap(), 2);
    let [after, next] = keys(home.path());
    assert!(before != after && after.is_some() && next.is_none());
    let (sealed_after, ids_after) = rows();
    assert_ne!(ids_before, ids_after);
    assert_eq!(ids_after.len(), 1);
    for (one, other) in sealed_before.iter().zip(&sealed_after) {
        assert_eq!(one.1.version, other.1.version);
        assert!(one.1.salt != other.1.salt && one.1.ciphertext != other.1.ciphertext);
    }
    check_all_opens(home.path(), "changed");
    assert_eq!(vault.list().unwrap(), listed, "no value was set");
    vault.set("C", VALUE).unwrap();
    check_all_opens(home.path(), "after a write");
}

#[test]
fn a_kill_at_any_point_loses_nothing_and_the_next_change_ends_it() {
    /// Does what a change of the key does until it is killed.
    type Killed = fn(&Vault, &Path);
    let points: [(&str, Killed); 4] = [
        ("before the new key is there", |_, home| {
            std::fs::write(home.join(".new-abc"), [1; 10]).unwrap();
        }),
        ("before the rows are on disk", |vault, _| {
            vault.key.create_next().unwrap();
        }),
        ("after the rows are on disk", |vault, _| {
            vault.seal_anew().unwrap();
        }),
        ("after the new key is in its place", |vault, _| {
            vault.seal_anew().unwrap();
            vault.promote().unwrap();
        }),
    ];
    type Next = fn(&Vault);
    let nexts: [(&str, Next); 3] = [
        ("nothing", |_| {}),
        ("a write", |vault| vault.set("C", VALUE).unwrap()),
        ("a change of the key", |vault| {
            vault.rotate_key().unwrap();
        }),
    ];
    for (point, kill) in points {
        for (after, next) in nexts {
            let home = tempfile::tempdir().unwrap();
            let vault = filled(home.path());
            let running = open(home.path());
            kill(&vault, home.path());
            drop(vault);
            let case = format!("killed {point}, then {after}");
            check_all_opens(home.path(), &case);
            assert_eq!(running.read("A", SecretKind::Value).unwrap().unwrap().as_slice(), VALUE, "{case}");
            next(&open(home.path()));
            check_all_opens(home.path(), &case);
            assert_eq!(running.read("A", SecretKind::Value).unwrap().unwrap().as_slice(), VALUE, "{case}");
            running.set("A", OLD_VALUE).unwrap();
            running.set("A", VALUE).unwrap();
            check_all_opens(home.path(), &case);
            if after == "a change of the key" {
                assert!(!home.path().join("key.next").exists(), "{case}");
            }
        }
    }
}

#[test]
fn a_write_ends_what_was_begun() {
    let home = tempfile::tempdir().unwrap();
    let vault = filled(home.path());
    vault.seal_anew().unwrap();
    let [_, next] = keys(home.path());
    {
        let _busy = vault.store.hold_lock(LOCK_FILE).unwrap();
        vault.set("C", VALUE).unwrap();
        assert_eq!(keys(home.path())[1], next, "somebody is at it");
    }
    vault.set("C", VALUE).unwrap();
    assert_eq!(keys(home.path()), [next, None]);
    check_all_opens(home.path(), "ended by a write");
}

#[test]
fn a_left_over_key_is_never_put_in_the_place_of_one_that_is_needed() {
    let home = tempfile::tempdir().unwrap();
    let vault = filled(home.path());
    let [key, _] = keys(home.path());
    vault.key.create_next().unwrap();
    vault.set("C", VALUE).unwrap();
    assert_eq!(keys(home.path())[0], key);
    assert!(!vault.promote().unwrap());
    // The old key is lost after the rows have the new one: it is needed no more.
    vault.seal_anew().unwrap();
    std::fs::remove_file(home.path().join("key")).unwrap();
    check_all_opens(home.path(), "with the next key alone");
    vault.rotate_key().unwrap();
    check_all_opens(home.path(), "and again");
}

#[test]
fn a_value_that_does_not_open_stops_the_change_and_leaves_all_as_it_was() {
    let home = tempfile::tempdir().unwrap();
    let vault = filled(home.path());
    let [key, _] = keys(home.path());
    let ids = || vault.store.read_secrets(|rows| rows.key_ids()).unwrap();
    let before = ids();
    vault.store.tamper("UPDATE secrets SET ciphertext = x'00' WHERE name = 'B'").unwrap();
    let refused = vault.rotate_key().unwrap_err();
    assert_eq!(refused.message, "the stored value of `B` does not open");
    assert_eq!((keys(home.path())[0].clone(), ids()), (key, before));
    assert_eq!(vault.read("A", SecretKind::Value).unwrap().unwrap().as_slice(), VALUE);
    vault.remove("B").unwrap();
    assert_eq!(vault.rotate_key().unwrap(), 1);
}

#[test]
fn an_empty_home_gets_a_new_key_as_well() {
    let home = tempfile::tempdir().unwrap();
    let vault = open(home.path());
    assert_eq!(vault.rotate_key().unwrap(), 0);
    let [first, _] = keys(home.path());
    assert_eq!(vault.rotate_key().unwrap(), 0);
    assert_ne!(keys(home.path())[0], first);
    vault.set("A", VALUE).unwrap();
    assert_eq!(vault.read("A", SecretKind::Value).unwrap().unwrap().as_slice(), VALUE);
}

#[test]
fn others_read_and_write_while_the_key_changes() {
    let home = tempfile::tempdir().unwrap();
    drop(filled(home.path()));
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let (home, is_over) = (home.path(), &is_over);
        for _ in 0..2 {
            scope.spawn(move || {
                let vault = open(home);
                while !is_over.load(Ordering::Relaxed) {
                    assert_eq!(vault.read("A", SecretKind::Value).unwrap().unwrap().as_slice(), VALUE);
                }
            });
        }
        scope.spawn(move || {
            let vault = open(home);
            while !is_over.load(Ordering::Relaxed) {
                vault.set("C", VALUE).unwrap();
            }
        });
        let rotating: Vec<_> = (0..2)
            .map(|_| {
                scope.spawn(move || {
                    let vault = open(home);
                    for _ in 0..5 {
                        assert!(vault.rotate_key().unwrap() >= 2);
                    }
                })
            })
            .collect();
        let ended: Vec<_> = rotating.into_iter().map(std::thread::ScopedJoinHandle::join).collect();
        is_over.store(true, Ordering::Relaxed);
        assert!(ended.iter().all(Result::is_ok));
    });
    check_all_opens(home.path(), "in the end");
    assert!(!home.path().join("key.next").exists());
}
