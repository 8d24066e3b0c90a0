//! Databases that are damaged, foreign, newer, or opened by many at once.

use std::fs::Permissions;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::sync::atomic::{AtomicBool, Ordering};

use super::*;
use crate::manifest::NamespaceName;
use crate::policy::{Approval, Grant, Place};
use crate::registry::{Capability, CapabilityName, Digest};

fn open(home: &Path) -> Result<Arc<Store>> {
    Store::open(home, Arc::new(Clock::manual(Duration::from_secs(1_700_000_000))))
}

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).unwrap().permissions().mode() & 0o777
}

pub(super) fn capability(slug: &str, version: &str, bytes: &[u8]) -> Capability {
    let manifest = serde_json::json!({
        "publisher": "acme", "slug": slug, "version": version, "title": "T", "description": "D.",
    });
    Capability {
        name: CapabilityName { publisher: "acme".to_owned(), slug: slug.to_owned() },
        digest: Digest::of(bytes),
        manifest: serde_json::from_value(manifest).unwrap(),
        installed_at: 0,
        size: bytes.len() as u64,
    }
}

fn http(entry: Option<&str>) -> Grant {
    Grant { namespace: NamespaceName::Http, entry: entry.map(str::to_owned) }
}

fn approval(source: &str, host: &str) -> Approval {
    let (secret, source, host) = ("KEY".to_owned(), source.to_owned(), host.to_owned());
    Approval { secret, source, host, port: 443, place: Place::Body, expires_at: None }
}

fn all(store: &Store) -> std::collections::BTreeMap<CapabilityName, Install> {
    store.installs(|_, _, _| false).unwrap().by_name
}

/// Checks that opening fails with `host/store` and a hint, and that the file stays what it was.
fn check_refused(home: &Path, message: &str) {
    let before = std::fs::read(home.join(FILE)).unwrap();
    let error = open(home).err().unwrap();
    assert_eq!((error.kind, error.message.contains(message)), (ErrorKind::Store, true), "{error:?}");
    assert!(error.hint.is_some(), "{error:?}");
    assert_eq!(std::fs::read(home.join(FILE)).unwrap(), before);
}

#[test]
fn a_new_home_is_private_and_safe() {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().join("a/b");
    let store = open(&home).unwrap();
    store.put_install(&capability("weather", "1.0.0", b"1"), &[]).unwrap();
    assert_eq!(mode(&home), 0o700);
    for file in ["remit.db", "remit.db-wal", "remit.db-shm"] {
        assert_eq!(mode(&home.join(file)), 0o600, "{file}");
    }
    let pragma = |name: &'static str| {
        let read = move |connection: &Connection| {
            Ok(connection.pragma_query_value(None, name, |row| row.get::<_, rusqlite::types::Value>(0))?)
        };
        (store.read(read).unwrap(), store.write(read).unwrap())
    };
    for (name, value) in [
        ("synchronous", 2),
        ("foreign_keys", 1),
        ("trusted_schema", 0),
        ("secure_delete", 1),
        ("cell_size_check", 1),
        ("mmap_size", 0),
    ] {
        assert_eq!(pragma(name), (value.into(), value.into()), "{name}");
    }
    assert_eq!(pragma("journal_mode").0, "wal".to_owned().into());
    assert_eq!(
        store.read(|connection| Ok(connection.execute("DELETE FROM installs", [])?)).unwrap_err().kind,
        ErrorKind::Store,
        "the reader cannot write"
    );
}

#[test]
fn nobody_is_kept_out_by_writers_that_never_pause() {
    let home = tempfile::tempdir().unwrap();
    drop(open(home.path()).unwrap());
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let is_over = &is_over;
        for _ in 0..2 {
            let store = open(home.path()).unwrap();
            scope.spawn(move || {
                while !is_over.load(Ordering::Relaxed) {
                    // As long as a sync on a slow disk.
                    let _ = store.write(|_| {
                        std::thread::sleep(Duration::from_millis(5));
                        Ok(())
                    });
                }
            });
        }
        let store = open(home.path()).unwrap();
        let written: Vec<_> = (0..20).map(|_| store.write(|_| Ok(()))).collect();
        is_over.store(true, Ordering::Relaxed);
        assert_eq!(written.into_iter().filter_map(Result::err).count(), 0);
    });
}

#[test]
fn db05_an_sqlite_that_can_lose_data_is_refused() {
    assert!(refuse_old_sqlite(rusqlite::version_number()).is_ok());
    assert!(refuse_old_sqlite(3_051_003).is_ok());
    assert_eq!(refuse_old_sqlite(3_051_002).unwrap_err().kind, ErrorKind::Store);
}

#[test]
fn a_home_that_others_can_change_is_refused() {
    let home = tempfile::tempdir().unwrap();
    open(home.path()).unwrap();
    for (path, mode) in [("", 0o770), ("", 0o707), (FILE, 0o640), (FILE, 0o604)] {
        let path = if path.is_empty() { home.path().to_owned() } else { home.path().join(path) };
        let before = std::fs::metadata(&path).unwrap().permissions();
        std::fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
        let error = open(home.path()).err().unwrap();
        assert_eq!(error.kind, ErrorKind::Store, "{path:?} {mode:o}");
        assert!(error.hint.unwrap().starts_with("chmod"), "{path:?} {mode:o}");
        std::fs::set_permissions(&path, before).unwrap();
    }
    std::fs::rename(home.path().join(FILE), home.path().join("elsewhere")).unwrap();
    symlink(home.path().join("elsewhere"), home.path().join(FILE)).unwrap();
    assert_eq!(open(home.path()).err().unwrap().kind, ErrorKind::Store);
}

#[test]
fn a_file_that_is_no_database_is_refused_and_kept() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join(FILE);
    let write = |bytes: &[u8]| {
        std::fs::write(&path, bytes).unwrap();
        std::fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
    };
    write(&b"this is not a database, but it is long enough to be one. ".repeat(100));
    check_refused(home.path(), "damaged");
    std::fs::remove_file(&path).unwrap();

    let store = open(home.path()).unwrap();
    for number in 0..50 {
        let slug = format!("slug-{number}");
        store.put_install(&capability(&slug, "1.0.0", slug.as_bytes()), &[http(None)]).unwrap();
    }
    drop(store);
    let whole = std::fs::read(&path).unwrap();
    assert!(whole.len() > 16 * 4096, "{}", whole.len());

    write(&whole[..4096]);
    check_refused(home.path(), "damaged");
    let mut zeroed_root = whole.clone();
    zeroed_root[100..4096].fill(0);
    write(&zeroed_root);
    check_refused(home.path(), "damaged");

    // Damage deeper inside is found by whoever reads there.
    let mut noise = whole.clone();
    for byte in &mut noise[2 * 4096..] {
        *byte ^= 0x5a;
    }
    write(&noise);
    let result = open(home.path()).and_then(|store| store.installs(|_, _, _| false).map(drop));
    assert_eq!(result.unwrap_err().kind, ErrorKind::Store);
    write(&whole);
    assert_eq!(all(&open(home.path()).unwrap()).len(), 50);
}

/// Reads what there is, as the commands do.
fn read_everything(home: &Path) -> Result<()> {
    let store = open(home)?;
    store.installs(|_, _, _| false)?;
    store.records(&crate::audit::Query { limit: 1_000, ..Default::default() })?;
    store.read_secrets(|rows| rows.list())?;
    store.holdings().map(drop)
}

#[test]
fn db16_a_flipped_byte_is_told_and_nothing_is_removed() {
    /// Bytes of the file's head that mean something at every start (the file format, section 1.3): the mark, the
    /// size of a page, the fractions, the schema's format, and the marks that are ours.
    const MEANT: [std::ops::Range<usize>; 5] = [0..18, 21..24, 47..48, 60..64, 68..72];
    const PAGE: usize = 4096;
    let home = tempfile::tempdir().unwrap();
    let store = open(home.path()).unwrap();
    for number in 0..30 {
        let slug = format!("slug-{number}");
        store.put_install(&capability(&slug, "1.0.0", slug.as_bytes()), &[http(None)]).unwrap();
    }
    drop(store);
    let path = home.path().join(FILE);
    let whole = std::fs::read(&path).unwrap();
    let mut told = 0;
    let places = (0..100).chain((100..whole.len()).step_by(509)).chain((PAGE..whole.len()).step_by(PAGE));
    for at in places {
        let mut flipped = whole.clone();
        flipped[at] ^= 0xff;
        std::fs::write(&path, &flipped).unwrap();
        let looked = Checkup::open(home.path()).and_then(|checkup| checkup.problems());
        let result = read_everything(home.path());
        if let Err(error) = &result {
            assert_eq!(error.kind, ErrorKind::Store, "byte {at}: {error:?}");
            assert!(error.hint.is_some(), "byte {at}: {error:?}");
            // What could not be used is as it was, for whoever knows to rescue it.
            assert_eq!(std::fs::read(&path).unwrap().len(), flipped.len(), "byte {at}");
            told += 1;
        }
        if MEANT.iter().any(|range| range.contains(&at)) {
            assert!(result.is_err(), "byte {at} of the head");
            assert_eq!(std::fs::read(&path).unwrap(), flipped, "byte {at}");
        }
        // The first byte of a page says what is in it.
        let is_kind = at >= PAGE && at % PAGE == 0;
        let is_found = result.is_err() || !matches!(&looked, Ok(problems) if problems.is_empty());
        assert!(!is_kind || is_found, "the kind of page {}", at / PAGE);
    }
    assert!(told > 50, "{told}");
    std::fs::write(&path, &whole).unwrap();
    assert_eq!(all(&open(home.path()).unwrap()).len(), 30);
}

#[test]
fn a_database_of_another_program_or_version_is_refused() {
    let cases = [
        ("PRAGMA application_id = 7", "another program"),
        ("PRAGMA application_id = 0", "another program"),
        ("PRAGMA user_version = 99", "newer version"),
        ("PRAGMA user_version = -1", "damaged"),
    ];
    for (change, message) in cases {
        let home = tempfile::tempdir().unwrap();
        let store = open(home.path()).unwrap();
        store.write(move |connection| Ok(connection.execute_batch(change)?)).unwrap();
        drop(store);
        check_refused(home.path(), message);
    }
}

#[test]
fn many_processes_start_at_once_on_a_new_home() {
    for _ in 0..5 {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().join("home");
        let barrier = std::sync::Barrier::new(8);
        std::thread::scope(|scope| {
            for number in 0..8 {
                let (home, barrier) = (&home, &barrier);
                scope.spawn(move || {
                    barrier.wait();
                    let store = open(home).unwrap();
                    let slug = format!("slug-{number}");
                    store.put_install(&capability(&slug, "1.0.0", slug.as_bytes()), &[]).unwrap();
                });
            }
        });
        assert_eq!(all(&open(&home).unwrap()).len(), 8);
    }
}

#[test]
fn every_process_sees_a_change_at_once() {
    let home = tempfile::tempdir().unwrap();
    let (one, other) = (open(home.path()).unwrap(), open(home.path()).unwrap());
    let weather = capability("weather", "1.0.0", b"1");
    let (name, digest) = (&weather.name, &weather.digest);
    let changes: [(&str, &dyn Fn()); 7] = [
        ("install", &|| one.put_install(&weather, &[]).unwrap()),
        ("grant", &|| one.add_grants(name, digest, &[http(None)]).unwrap()),
        ("approve", &|| one.add_approvals(name, digest, &[approval("KEY", "a.example")]).unwrap()),
        ("disapprove", &|| assert_eq!(one.remove_approvals(name, "KEY").unwrap(), 1)),
        ("revoke", &|| assert_eq!(one.remove_grants(name, &[http(None)]).unwrap(), 1)),
        ("uninstall", &|| assert_eq!(one.remove_install(name).unwrap(), Some((*digest, vec![])))),
        ("nothing", &|| one.flush().unwrap()),
    ];
    let mut last = other.generation().unwrap();
    assert!(last > 0);
    for (change, make) in changes {
        make();
        let now = other.generation().unwrap();
        assert_eq!(now > last, change != "nothing", "{change}: {last} {now}");
        assert_eq!(one.generation().unwrap(), now, "{change}");
        last = now;
    }
}

#[test]
fn a_version_means_the_same_bytes() {
    let home = tempfile::tempdir().unwrap();
    let store = open(home.path()).unwrap();
    store.put_install(&capability("weather", "1.0.0", b"1"), &[]).unwrap();
    for version in ["1.0.0", "1.0.0+build"] {
        let error = store.put_install(&capability("weather", version, b"2"), &[]).unwrap_err();
        assert_eq!(error.kind, ErrorKind::VersionExists, "{version}");
    }
    store.put_install(&capability("weather", "1.0.0", b"1"), &[]).unwrap();
    store.put_install(&capability("other", "1.0.0", b"2"), &[]).unwrap();
    store.put_install(&capability("weather", "1.1.0", b"2"), &[]).unwrap();
    store.put_install(&capability("weather", "0.9.0", b"0"), &[]).unwrap();
    assert_eq!(all(&store)[&capability("weather", "1.0.0", b"").name].digest, Digest::of(b"0"));
}

#[test]
fn decisions_hang_on_the_digest() {
    let home = tempfile::tempdir().unwrap();
    let store = open(home.path()).unwrap();
    let (old, new) = (capability("weather", "1.0.0", b"1"), capability("weather", "1.1.0", b"2"));
    let decide = |digest: &Digest| {
        store.add_grants(&old.name, digest, &[http(Some("a.example"))])?;
        store.add_approvals(&old.name, digest, &[approval("KEY", "a.example")])
    };
    let counts = || all(&store).get(&old.name).map(|install| (install.grants.len(), install.approvals.len()));

    assert_eq!(decide(&old.digest).unwrap_err().kind, ErrorKind::RegistryNotFound, "not installed");
    store.put_install(&old, &[http(None)]).unwrap();
    decide(&old.digest).unwrap();
    decide(&old.digest).unwrap();
    assert_eq!(counts(), Some((2, 1)));
    assert!(decide(&new.digest).is_err(), "another digest");
    store.put_install(&old, &[]).unwrap();
    assert_eq!(counts(), Some((2, 1)), "the same digest again takes nothing away");

    store.put_install(&new, &[]).unwrap();
    assert_eq!(counts(), Some((0, 0)), "an upgrade inherits nothing");
    assert!(decide(&old.digest).is_err(), "decided too late");
    decide(&new.digest).unwrap();

    store.remove_install(&old.name).unwrap();
    assert_eq!(counts(), None);
    store.put_install(&new, &[]).unwrap();
    assert_eq!(counts(), Some((0, 0)), "the same bytes, installed anew, inherit nothing");
}

#[test]
fn a_namespace_takes_its_entries_along() {
    let home = tempfile::tempdir().unwrap();
    let store = open(home.path()).unwrap();
    let weather = capability("weather", "1.0.0", b"1");
    let log = Grant { namespace: NamespaceName::Log, entry: None };
    let grants = [http(None), http(Some("a.example")), http(Some("b.example")), log.clone()];
    store.put_install(&weather, &grants).unwrap();
    assert_eq!(store.remove_grants(&weather.name, &[http(Some("a.example"))]).unwrap(), 1);
    assert_eq!(store.remove_grants(&weather.name, &[http(Some("a.example"))]).unwrap(), 0);
    assert_eq!(store.remove_grants(&weather.name, &[http(None)]).unwrap(), 2);
    assert_eq!(all(&store)[&weather.name].grants, [log]);
}

#[test]
fn an_approval_for_the_same_place_is_replaced() {
    let home = tempfile::tempdir().unwrap();
    let store = open(home.path()).unwrap();
    let weather = capability("weather", "1.0.0", b"1");
    store.put_install(&weather, &[]).unwrap();
    for source in ["ONE", "TWO"] {
        store.add_approvals(&weather.name, &weather.digest, &[approval(source, "a.example")]).unwrap();
    }
    assert_eq!(all(&store)[&weather.name].approvals, [approval("TWO", "a.example")]);
}

#[test]
fn a_new_approval_replaces_the_end_of_the_old_one() {
    let home = tempfile::tempdir().unwrap();
    let store = open(home.path()).unwrap();
    let weather = capability("weather", "1.0.0", b"1");
    store.put_install(&weather, &[]).unwrap();
    for expires_at in [Some(1), None, Some(i64::MAX), Some(2)] {
        let approval = Approval { expires_at, ..approval("KEY", "a.example") };
        store.add_approvals(&weather.name, &weather.digest, std::slice::from_ref(&approval)).unwrap();
        assert_eq!(all(&store)[&weather.name].approvals, [approval]);
    }
}

#[test]
fn what_was_approved_once_is_remembered_as_exposed() {
    let home = tempfile::tempdir().unwrap();
    let store = open(home.path()).unwrap();
    let weather = capability("weather", "1.0.0", b"1");
    let exposed = || {
        store.read(|connection| {
            let mut statement = connection.prepare("SELECT secret, source FROM exposures ORDER BY source")?;
            let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
            Ok(rows.collect::<Result<Vec<(String, String)>, _>>()?)
        })
    };
    let approve = |source| {
        store.add_approvals(
            &weather.name,
            &weather.digest,
            &[approval(source, "a.example"), approval(source, "b.example")],
        )
    };
    let key = |source: &str| ("KEY".to_owned(), source.to_owned());
    assert!(approve("ONE").is_err(), "not installed");
    assert!(exposed().unwrap().is_empty(), "in the same transaction");
    store.put_install(&weather, &[]).unwrap();
    approve("ONE").unwrap();
    approve("TWO").unwrap();
    assert_eq!(exposed().unwrap(), [key("ONE"), key("TWO")]);
    store.remove_approvals(&weather.name, "KEY").unwrap();
    store.remove_install(&weather.name).unwrap();
    assert_eq!(exposed().unwrap(), [key("ONE"), key("TWO")]);
}

#[test]
fn a_job_that_fails_takes_no_other_along() {
    let home = tempfile::tempdir().unwrap();
    let store = open(home.path()).unwrap();
    let (sender, results) = mpsc::channel();
    for number in 0..10_i64 {
        let sender = sender.clone();
        store.write_later(
            move |connection| {
                connection.execute("UPDATE meta SET generation = generation + 100", [])?;
                if number % 2 == 0 { Ok(()) } else { Err(Error::new(ErrorKind::Usage, "no")) }
            },
            move |result| sender.send((number, result.is_ok())).unwrap(),
        );
    }
    store.flush().unwrap();
    drop(sender);
    let results: Vec<_> = results.iter().collect();
    assert_eq!(results, (0..10).map(|number| (number, number % 2 == 0)).collect::<Vec<_>>());
    assert_eq!(store.generation().unwrap(), 501);
}

#[test]
fn dropping_the_store_writes_what_is_queued() {
    let home = tempfile::tempdir().unwrap();
    let store = open(home.path()).unwrap();
    for _ in 0..5000 {
        store.write_later(
            |connection| {
                connection.execute("UPDATE meta SET generation = generation + 1", [])?;
                Ok(())
            },
            |result| result.unwrap(),
        );
    }
    drop(store);
    assert_eq!(open(home.path()).unwrap().generation().unwrap(), 5001);
}

#[test]
fn a_queue_that_does_not_move_refuses() {
    let home = tempfile::tempdir().unwrap();
    let store = open(home.path()).unwrap();
    let (release, released) = mpsc::channel::<()>();
    let (started, has_started) = mpsc::channel();
    store.write_later(
        move |_| {
            started.send(()).unwrap();
            // Ends when the test drops the other side.
            let _ = released.recv();
            Ok(())
        },
        |_| (),
    );
    has_started.recv().unwrap();
    let refused = Arc::new(std::sync::atomic::AtomicUsize::new(0));
    for _ in 0..10_000 {
        let refused = Arc::clone(&refused);
        store.write_later(
            |_| Ok(()),
            move |result| {
                if let Err(error) = result {
                    assert_eq!(error.kind, ErrorKind::Store);
                    refused.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                }
            },
        );
    }
    drop(release);
    drop(store);
    assert_eq!(refused.load(std::sync::atomic::Ordering::Relaxed), 10_000 - 8192);
}

#[test]
fn a_writer_that_panics_leaves_nobody_waiting() {
    let home = tempfile::tempdir().unwrap();
    let store = open(home.path()).unwrap();
    let result = store.write(|_| -> Result<()> { panic!("a bug, on purpose") });
    assert_eq!(result.unwrap_err().kind, ErrorKind::Internal);
    assert_eq!(store.flush().unwrap_err().kind, ErrorKind::Internal);
}

#[test]
fn a_full_disk_is_told_and_survived() {
    let home = tempfile::tempdir().unwrap();
    let store = open(home.path()).unwrap();
    let limit = |pages: i64| {
        let set = move |connection: &Connection| {
            Ok(connection.query_row(&format!("PRAGMA max_page_count = {pages}"), [], |_| Ok(()))?)
        };
        store.write(set).unwrap();
    };
    // SQLite never goes below the pages that are in use.
    limit(1);
    let mut large = capability("weather", "1.0.0", b"1");
    large.manifest.description = "x".repeat(100_000);
    let error = store.put_install(&large, &[]).unwrap_err();
    assert_eq!((error.kind, error.message.as_str()), (ErrorKind::Store, "the disk of the data directory is full"));
    assert!(all(&store).is_empty());
    limit(1_000_000);
    store.put_install(&large, &[]).unwrap();
    assert_eq!(all(&store).len(), 1);
}

#[test]
fn bytes_stay_while_somebody_pins_them() {
    let home = tempfile::tempdir().unwrap();
    let store = open(home.path()).unwrap();
    let (one, other) = (capability("one", "1.0.0", b"1"), capability("other", "1.0.0", b"1"));
    store.put_install(&one, &[]).unwrap();
    store.put_install(&other, &[]).unwrap();
    let removed = || {
        let (sender, receiver) = mpsc::channel();
        store
            .while_unpinned(&one.digest, move || {
                sender.send(()).unwrap();
                Ok(())
            })
            .unwrap();
        receiver.try_recv().is_ok()
    };
    store.remove_install(&one.name).unwrap();
    assert!(!removed());
    store.remove_install(&other.name).unwrap();
    assert!(removed());
}
