//! Pins that were left: how many are kept, what comes back with them, and what does not.

use std::time::Duration;

use super::*;
use crate::audit;
use crate::clock::Clock;
use crate::manifest::NamespaceName;
use crate::policy::Place;
use crate::registry::{Against, Exact, Recall};
use crate::store::Decision;
use crate::store::tests::capability;

fn open(home: &std::path::Path) -> std::sync::Arc<Store> {
    Store::open(home, std::sync::Arc::new(Clock::manual(Duration::from_secs(1_700_000_000)))).unwrap()
}

fn name() -> CapabilityName {
    "acme/weather".parse().unwrap()
}

fn record() -> Record {
    Record {
        id: audit::id::new(1_700_000_000_000).unwrap(),
        parent: None,
        started_at: 0,
        principal: "operator".to_owned(),
        capability: name().to_string(),
        tool: "versions.rollback".to_owned(),
        digest: None,
        dry_run: false,
        outcome: audit::OK.to_owned(),
        detail: None,
        usage: audit::Usage::default(),
        requests: Vec::new(),
        changes: Vec::new(),
        files: Vec::new(),
        log: Vec::new(),
    }
}

fn http(entry: &str) -> Grant {
    Grant { namespace: NamespaceName::Http, entry: Some(entry.to_owned()).filter(|entry| !entry.is_empty()) }
}

fn approval(host: &str) -> Approval {
    let (secret, host) = ("KEY".to_owned(), host.to_owned());
    Approval { source: secret.clone(), secret, host, port: 443, place: Place::Body, expires_at: Some(9) }
}

fn digest(minor: u64) -> Digest {
    Digest::of(minor.to_string().as_bytes())
}

/// Pins version `1.MINOR.0`, and gives the digests that nobody needs any more.
fn pin(store: &Store, minor: u64, grants: &[Grant]) -> Vec<Digest> {
    let capability = capability("weather", &format!("1.{minor}.0"), minor.to_string().as_bytes());
    let decision = Decision { grants: grants.to_vec(), ..Decision::default() };
    store.pin(&capability, decision).unwrap()
}

fn pinned(store: &Store) -> (Digest, Vec<Grant>, Vec<Approval>) {
    let mut installs = store.installs(|_, _, _| false).unwrap().by_name;
    let install = installs.remove(&name()).unwrap();
    (install.digest, install.grants, install.approvals)
}

#[test]
fn the_last_ten_are_kept_and_older_bytes_are_given_free() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    for minor in 0..=10 {
        assert_eq!(pin(&store, minor, &[]), [], "{minor}");
    }
    assert_eq!(pin(&store, 11, &[]), [digest(0)]);
    let kept: Vec<_> = store.earlier(&name()).unwrap().into_iter().map(|earlier| earlier.digest).collect();
    assert_eq!(kept, (1..=10).rev().map(digest).collect::<Vec<_>>());
    // Bytes that are kept stay on disk, and those that are not may go.
    for (minor, may_go) in [(0, true), (1, false), (11, false)] {
        let (tell, told) = std::sync::mpsc::channel();
        let remove = move || {
            tell.send(()).unwrap();
            Ok(())
        };
        store.while_unpinned(&digest(minor), remove).unwrap();
        assert_eq!(told.try_recv().is_ok(), may_go, "{minor}");
    }
    let (pinned, earlier) = store.remove_install(&name()).unwrap().unwrap();
    assert_eq!((pinned, earlier.len()), (digest(11), 10));
    assert_eq!(store.earlier(&name()).unwrap(), []);
}

#[test]
fn what_comes_back_is_what_was_given_less_what_was_taken_back() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    let given = [http(""), http("a.example"), http("b.example")];
    pin(&store, 0, &given);
    store.add_approvals(&name(), &digest(0), &[approval("a.example"), approval("b.example")]).unwrap();
    pin(&store, 1, &[http(""), http("c.example")]);
    assert_eq!(pinned(&store), (digest(1), vec![http(""), http("c.example")], vec![]), "nothing is carried over");

    store.remove_grants(&name(), &[http("b.example")]).unwrap();
    store.roll_back(&name(), &digest(1), &digest(0), record()).unwrap();
    let approvals = vec![approval("a.example"), approval("b.example")];
    assert_eq!(pinned(&store), (digest(0), given[..2].to_vec(), approvals), "with the ends they had");
    // The one that was left is there, and not the way back.
    let left = store.earlier(&name()).unwrap();
    assert_eq!((left.len(), left[0].digest, left[0].was_rolled_back), (1, digest(1), true));

    store.roll_back(&name(), &digest(0), &digest(1), record()).unwrap();
    store.remove_approvals(&name(), "KEY").unwrap();
    store.roll_back(&name(), &digest(1), &digest(0), record()).unwrap();
    assert_eq!(pinned(&store).2, [], "taken back while another version was pinned");
    let error = store.roll_back(&name(), &digest(1), &digest(0), record()).unwrap_err();
    assert_eq!(pinned(&store).0, digest(0), "decided about another pin: {error}");
}

#[test]
fn c_09_a_revoked_release_is_no_way_back_and_its_calls_end() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    pin(&store, 0, &[http(""), http("a.example")]);
    pin(&store, 1, &[]);
    let may_go_on = |minor| {
        let go = |connection: &Connection| may_go_on(connection, &name(), &digest(minor), "http", "a.example");
        store.look(go).unwrap()
    };
    // A call that began with it goes on, with what it was given.
    assert_eq!(store.decided_before(&name(), &digest(0)).unwrap().unwrap().0.len(), 2);
    assert!(may_go_on(0) && !may_go_on(1));

    let release = Exact { name: name(), version: Version::new(1, 0, 0) };
    let recall = Recall { against: Against::Revoked, reason: None, source: None, at: 1 };
    store.recall(&release, &recall, record()).unwrap();
    assert_eq!(store.decided_before(&name(), &digest(0)).unwrap(), None);
    assert!(!may_go_on(0));
    let error = store.roll_back(&name(), &digest(1), &digest(0), record()).unwrap_err();
    assert_eq!((error.kind, pinned(&store).0), (ErrorKind::Revoked, digest(1)));
    // The twin.
    assert!(store.lift_recall(&release, None, record()).unwrap());
    store.roll_back(&name(), &digest(1), &digest(0), record()).unwrap();
    assert_eq!(pinned(&store).0, digest(0));
}
