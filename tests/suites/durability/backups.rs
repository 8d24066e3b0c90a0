//! Copies that are made while others write, and what a restore refuses.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::kept::{Kept, check_whole, notes, put};
use crate::support::home::{Ended, built, remit};
use crate::support::world::SECRET;

fn text(path: &Path) -> &str {
    path.to_str().expect("a text")
}

fn restore(backup: &Path, home: &Path) -> Ended {
    remit(home, &["restore", text(backup), "--json"], "")
}

/// Everything in a folder, by name and bytes.
fn tree(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for path in fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path()) {
            if path.is_dir() {
                files.push((path.display().to_string(), Vec::new()));
                folders.push(path);
            } else {
                files.push((path.display().to_string(), fs::read(&path).expect("a file")));
            }
        }
    }
    files.sort();
    files
}

#[test]
fn db09_a_backup_during_writes_is_a_beginning_of_what_was_acknowledged() {
    let kept = Kept::new();
    let scratch = tempfile::tempdir().expect("a scratch folder");
    let (acknowledged, is_over) = (&AtomicU64::new(0), &AtomicBool::new(false));
    let backups = std::thread::scope(|scope| {
        let mut client = kept.client(Vec::new());
        scope.spawn(move || {
            for number in 0.. {
                if is_over.load(Ordering::Relaxed) {
                    return;
                }
                put(&mut client, &format!("k{number}"), number).expect("the server lives").expect("it is written");
                acknowledged.store(number + 1, Ordering::Release);
            }
        });
        let backups: Vec<_> = (0..5)
            .map(|number| {
                let file = scratch.path().join(format!("backup{number}"));
                let before = acknowledged.load(Ordering::Acquire);
                let ended = kept.remit(&["backup", text(&file)]);
                assert_eq!(ended.exit, Some(0), "{ended:?}");
                (file, before, acknowledged.load(Ordering::Acquire))
            })
            .collect();
        is_over.store(true, Ordering::Relaxed);
        backups
    });
    let mut last = 0;
    for (file, before, after) in backups {
        assert_eq!(fs::metadata(&file).expect("it is there").permissions().mode() & 0o777, 0o600);
        let home = scratch.path().join(format!("{}-home", text(&file)));
        let restored = restore(&file, &home);
        assert_eq!(restored.exit, Some(0), "{restored:?}");
        let there = notes(&home);
        // One more may be there than was acknowledged at the end: its answer was on the way.
        assert!((before..=after + 1).contains(&(there.len() as u64)), "{before} {} {after}", there.len());
        for number in 0..there.len() as u64 {
            assert_eq!(there.get(&format!("k{number}")), Some(&number), "no gap");
        }
        check_whole(&home);
        last = there.len();
        let called = remit(&home, &["call", "test/keeper.get", "{\"entity\":\"notes\",\"key\":\"k0\"}"], "");
        let expected = if there.is_empty() { "nothing" } else { "1 0" };
        assert_eq!(called.stdout.trim(), expected, "its components run: {called:?}");
    }
    assert!(last > 5, "others wrote meanwhile: {last}");
}

#[test]
fn db09_a_backup_without_the_key_tells_no_secret() {
    let kept = Kept::new();
    assert_eq!(remit(&kept.home(), &["secret", "set", "API_KEY"], SECRET).exit, Some(0));
    let scratch = tempfile::tempdir().expect("a scratch folder");
    let (file, home) = (scratch.path().join("backup"), scratch.path().join("home"));
    let made = remit(&kept.home(), &["backup", text(&file), "--json"], "");
    let keys = made.json()["keys"].clone();
    assert_eq!(keys.as_array().expect("keys").len(), 1, "{made:?}");
    let key = fs::read(kept.home().join("key")).expect("the key");
    let contains =
        |part: &[u8]| fs::read(&file).expect("it is there").windows(part.len()).any(|found| found == part);
    assert!(contains(b"API_KEY") && contains(&built("keeper")[..64]));
    assert!(!contains(SECRET.as_bytes()) && !contains(&key));

    assert_eq!(restore(&file, &home).json()["keys"], keys, "it says which key is needed");
    let doctor = remit(&home, &["doctor"], "");
    assert!(doctor.exit == Some(1) && doctor.stdout.contains("the key file is missing"), "{doctor:?}");
    // With the key beside it before or after, all is as it was.
    fs::copy(kept.home().join("key"), home.join("key")).expect("room");
    let doctor = remit(&home, &["doctor"], "");
    assert!(doctor.exit == Some(0) && doctor.stdout.contains("opens 1 of 1 secrets"), "{doctor:?}");
    let other = scratch.path().join("other");
    fs::create_dir(&other).expect("room");
    fs::copy(kept.home().join("key"), other.join("key")).expect("room");
    assert_eq!(restore(&file, &other).exit, Some(0));
    assert_eq!(remit(&other, &["doctor"], "").exit, Some(0));
}

#[test]
fn db10_a_restore_onto_a_home_in_use_is_refused() {
    let kept = Kept::new();
    let scratch = tempfile::tempdir().expect("a scratch folder");
    let file = scratch.path().join("backup");
    assert_eq!(kept.remit(&["backup", text(&file)]).exit, Some(0));
    let mut client = kept.client(Vec::new());
    put(&mut client, "a", 1).expect("the server lives").expect("it is written");
    let refused = |home: &Path, context: &str| {
        let before = tree(home);
        let ended = restore(&file, home);
        assert_eq!((ended.exit, ended.code().as_str()), (Some(2), "host/usage"), "{context}: {ended:?}");
        let is_told = ended.stderr.contains("is in use") || ended.stderr.contains("is not empty");
        assert!(is_told, "{context}: {ended:?}");
        assert_eq!(tree(home), before, "{context}");
    };
    refused(&kept.home(), "a server runs");
    put(&mut client, "a", 2).expect("the server lives").expect("it is written");
    drop(client);
    refused(&kept.home(), "nobody runs, and something is kept");
    assert_eq!(notes(&kept.home()).get("a"), Some(&2));
    // Nor is a file of somebody's written over, by either command.
    let other = scratch.path().join("other");
    fs::create_dir(&other).expect("room");
    fs::write(other.join("thesis.txt"), b"years of work").expect("room");
    refused(&other, "a folder of another kind");
    let ended = kept.remit(&["backup", text(&other.join("thesis.txt")), "--json"]);
    assert_eq!(ended.code(), "host/usage", "{ended:?}");
    assert_eq!(fs::read(other.join("thesis.txt")).expect("it is there"), b"years of work");
}

#[test]
fn db10_a_backup_that_is_damaged_restores_nothing() {
    let kept = Kept::new();
    let scratch = tempfile::tempdir().expect("a scratch folder");
    let file = scratch.path().join("backup");
    assert_eq!(kept.remit(&["backup", text(&file)]).exit, Some(0));
    let whole = fs::read(&file).expect("it is there");
    let component = built("keeper");
    let inside = whole.windows(32).position(|found| found == &component[100..132]).expect("its bytes");
    let check = |bytes: &[u8], context: &str| {
        let (damaged, home) = (scratch.path().join("damaged"), scratch.path().join("home"));
        fs::write(&damaged, bytes).expect("room");
        let ended = restore(&damaged, &home);
        assert_eq!((ended.exit, ended.code().as_str()), (Some(2), "host/store"), "{context}: {ended:?}");
        assert!(!home.join("remit.db").exists() && !home.join("components").exists(), "{context}");
    };
    let flipped = |at: usize| {
        let mut bytes = whole.clone();
        bytes[at] ^= 1;
        bytes
    };
    check(&flipped(0), "the first byte");
    check(&flipped(71), "the mark");
    check(&flipped(4096), "a page");
    check(&flipped(inside), "a component");
    check(&whole[..whole.len() / 2], "the first half");
    check(b"something else", "another file");
    check(&fs::read(kept.home().join("remit.db")).expect("it is there"), "a database, which is no backup");
    // And a backup is no database.
    let home = scratch.path().join("wrong");
    fs::create_dir(&home).expect("room");
    fs::copy(&file, home.join("remit.db")).expect("room");
    let ended = remit(&home, &["list", "--json"], "");
    assert!(ended.code() == "host/store" && ended.stderr.contains("restore FILE"), "{ended:?}");
}
