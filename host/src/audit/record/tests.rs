//! Every record ends, whatever becomes of its call.

use std::path::Path;
use std::time::Duration;

use super::*;
use crate::audit::{Query, RequestRecord, Traced};
use crate::error::ErrorKind;

struct Home {
    folder: tempfile::TempDir,
    clock: Arc<Clock>,
}

impl Home {
    fn new() -> Self {
        let clock = Arc::new(Clock::manual(Duration::from_secs(1_700_000_000)));
        Self { folder: tempfile::tempdir().unwrap(), clock }
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn open(&self) -> (Arc<Store>, Audit) {
        let store = Store::open(self.path(), Arc::clone(&self.clock)).unwrap();
        (Arc::clone(&store), Audit::new(store, Arc::clone(&self.clock)))
    }
}

fn start(tool: &str, can_change: bool) -> CallStart {
    CallStart {
        principal: "cli".to_owned(),
        capability: "acme/weather".to_owned(),
        tool: tool.to_owned(),
        digest: Some(crate::registry::Digest::of(b"weather")),
        dry_run: false,
        can_change,
        run: None,
        parent: None,
        spends: None,
    }
}

fn end(error: Option<ErrorKind>) -> CallEnd {
    CallEnd { error, detail: None, usage: Usage::default(), requests: Vec::new(), log: Vec::new(), run: None }
}

fn all(store: &Store) -> Vec<Record> {
    store.records(&Query { limit: usize::MAX, ..Query::default() }).unwrap()
}

/// Tool and outcome of every record, newest first.
fn outcomes(store: &Store) -> Vec<(String, String)> {
    all(store).into_iter().map(|record| (record.tool, record.outcome)).collect()
}

fn pair(tool: &str, outcome: &str) -> (String, String) {
    (tool.to_owned(), outcome.to_owned())
}

#[tokio::test]
async fn a_record_keeps_everything() {
    let home = Home::new();
    let (store, audit) = home.open();
    for can_change in [false, true] {
        let record = audit.begin(start("get", can_change)).await.unwrap();
        let id = record.id().to_owned();
        let usage = Usage {
            fuel: u64::MAX,
            memory_peak: 2,
            time: Duration::from_micros(3),
            host_calls: 4,
            requests: 5,
            bytes_out: 6,
            bytes_in: 7,
        };
        let request = RequestRecord {
            method: "GET".to_owned(),
            authority: "api.example.com:443".to_owned(),
            path: "/v1".to_owned(),
            address: Some("192.0.2.1:443".to_owned()),
            status: Some(200),
            outcome: "sent".to_owned(),
            bytes_out: 1,
            bytes_in: 2,
            secrets: vec!["API_KEY".to_owned()],
            redactions: 2,
            time_ms: 3,
            own: false,
            traced: Traced::default(),
        };
        let refused = RequestRecord {
            address: None,
            status: None,
            outcome: "http/host-not-allowed".to_owned(),
            secrets: Vec::new(),
            ..request.clone()
        };
        record
            .finish(CallEnd {
                error: Some(ErrorKind::Fuel),
                detail: Some("the detail".to_owned()),
                usage,
                requests: vec![request.clone(), refused.clone()],
                log: vec!["info: \"a\"\n".to_owned(), "warn: b".to_owned()],
                run: None,
            })
            .await;
        audit.flush().unwrap();
        let query = Query { id: Some(id.clone()), limit: 9, ..Query::default() };
        let [kept] = store.records(&query).unwrap().try_into().unwrap();
        assert_eq!((kept.id, kept.started_at), (id, 1_700_000_000_000));
        assert_eq!((kept.principal.as_str(), kept.capability.as_str()), ("cli", "acme/weather"));
        assert_eq!(kept.digest, Some(crate::registry::Digest::of(b"weather").to_string()));
        assert_eq!((kept.outcome.as_str(), kept.detail.as_deref()), ("budget/fuel", Some("the detail")));
        // SQLite's largest integer.
        assert_eq!(kept.usage, Usage { fuel: i64::MAX as u64, ..usage });
        assert_eq!(kept.requests, [request, refused]);
        assert_eq!(kept.log, ["info: \"a\"\n", "warn: b"]);
    }
}

#[tokio::test]
async fn only_a_call_that_can_change_something_is_written_at_its_beginning() {
    let home = Home::new();
    let (store, audit) = home.open();
    let reading = audit.begin(start("read", false)).await.unwrap();
    let writing = audit.begin(start("write", true)).await.unwrap();
    assert_eq!(outcomes(&store), [pair("write", RUNNING)]);
    writing.finish(end(None)).await;
    reading.finish(end(Some(ErrorKind::Trap))).await;
    audit.flush().unwrap();
    let mut found = outcomes(&store);
    found.sort();
    assert_eq!(found, [pair("read", "capability/trap"), pair("write", OK)]);
}

#[tokio::test]
async fn a_dropped_call_is_aborted() {
    let home = Home::new();
    let (store, audit) = home.open();
    for can_change in [false, true] {
        drop(audit.begin(start("tool", can_change)).await.unwrap());
    }
    audit.flush().unwrap();
    assert_eq!(outcomes(&store), [pair("tool", ABORTED), pair("tool", ABORTED)]);
}

#[tokio::test]
async fn a_caller_who_gives_up_while_it_begins_leaves_an_end() {
    let home = Home::new();
    let (store, audit) = home.open();
    let mut begin = Box::pin(audit.begin(start("tool", true)));
    let waker = std::task::Waker::noop();
    // Asked once, the row is queued; whether it is on disk yet does not matter here.
    let polled = begin.as_mut().poll(&mut std::task::Context::from_waker(waker)).map(drop);
    drop((polled, begin));
    audit.flush().unwrap();
    assert_eq!(outcomes(&store), [pair("tool", ABORTED)]);
}

#[tokio::test]
async fn no_record_is_lost_in_a_group() {
    let home = Home::new();
    let (store, audit) = home.open();
    let mut ids = Vec::new();
    for number in 0..3000 {
        let record = audit.begin(start("tool", number % 100 == 0)).await.unwrap();
        ids.push(record.id().to_owned());
        record.finish(end(None)).await;
        home.clock.advance(Duration::from_millis(1));
    }
    drop((store, audit));
    let (store, _) = home.open();
    let found: Vec<_> = all(&store).into_iter().rev().map(|record| record.id).collect();
    assert_eq!(found, ids);
}

#[tokio::test]
async fn a_dead_process_leaves_aborted_calls_and_a_living_one_does_not() {
    let home = Home::new();
    let (store, audit) = home.open();
    let alive = audit.begin(start("alive", true)).await.unwrap();
    let dead = {
        let (_store, audit) = home.open();
        audit.begin(start("dead", true)).await.unwrap()
    };
    // As if it was killed: its lock goes, its queue is not written.
    let lock_files = || std::fs::read_dir(home.path().join("running")).unwrap();
    assert_eq!(lock_files().count(), 2);
    let owner = dead.audit.store.running_owner(dead.id()).unwrap();
    std::fs::remove_file(home.path().join("running").join(owner)).unwrap();

    let (third, _) = home.open();
    let mut found = outcomes(&third);
    found.sort();
    assert_eq!(found, [pair("alive", RUNNING), pair("dead", ABORTED)]);

    alive.finish(end(None)).await;
    audit.flush().unwrap();
    drop((store, audit));
    assert!(outcomes(&third).contains(&pair("alive", OK)));
    assert_eq!(lock_files().count(), 0, "who ends takes the lock file along");
}

#[tokio::test]
async fn a_full_disk_stops_calls_that_can_change_something_and_no_others() {
    let home = Home::new();
    let (store, audit) = home.open();
    let kept = audit.begin(start("before", true)).await.unwrap();
    store.limit_pages(1).unwrap();
    let mut refused = 0;
    for _ in 0..200 {
        match audit.begin(start("write", true)).await {
            Ok(record) => record.finish(CallEnd { detail: Some("x".repeat(4000)), ..end(None) }).await,
            Err(error) => {
                assert_eq!(error.kind, ErrorKind::Store);
                refused += 1;
            }
        }
    }
    assert!(refused > 0);
    let lost = audit.lost();
    let record = audit.begin(start("read", false)).await.unwrap();
    record.finish(CallEnd { detail: Some("x".repeat(100_000)), ..end(None) }).await;
    // The flush is in the same transaction, which is lost as a whole.
    let _ = audit.flush();
    assert!(audit.lost() > lost);

    store.limit_pages(1_000_000).unwrap();
    kept.finish(end(None)).await;
    audit.begin(start("after", true)).await.unwrap().finish(end(None)).await;
    audit.flush().unwrap();
    let found = outcomes(&store);
    assert!(found.contains(&pair("after", OK)) && found.contains(&pair("before", OK)), "{found:?}");
}

#[tokio::test]
async fn records_are_filtered_newest_first() {
    let home = Home::new();
    let (store, audit) = home.open();
    for (tool, error) in [("one", None), ("two", Some(ErrorKind::Fuel)), ("one", Some(ErrorKind::Trap))] {
        audit.begin(start(tool, false)).await.unwrap().finish(end(error)).await;
        home.clock.advance(Duration::from_secs(1));
    }
    audit.flush().unwrap();
    let base = Query { limit: 9, ..Query::default() };
    let text = |text: &str| Some(text.to_owned());
    let cases = [
        (base.clone(), 3),
        (Query { limit: 2, ..base.clone() }, 2),
        (Query { limit: 0, ..base.clone() }, 0),
        (Query { tool: text("one"), ..base.clone() }, 2),
        (Query { capability: text("acme/weather"), ..base.clone() }, 3),
        (Query { capability: text("acme/%"), ..base.clone() }, 0),
        (Query { outcome: text("budget/fuel"), ..base.clone() }, 1),
        (Query { outcome: text("ok"), tool: text("two"), ..base.clone() }, 0),
        (Query { since_ms: Some(1_700_000_001_000), ..base.clone() }, 2),
        (Query { since_ms: Some(-5), ..base.clone() }, 3),
        (Query { since_ms: Some(i64::MAX), ..base.clone() }, 0),
        (Query { id: text("' OR 1=1 --"), ..base.clone() }, 0),
    ];
    for (query, expected) in cases {
        assert_eq!(store.records(&query).unwrap().len(), expected, "{query:?}");
    }
    let newest = store.records(&Query { limit: 1, ..base }).unwrap();
    assert_eq!(newest[0].outcome, "capability/trap");
}

#[tokio::test]
async fn texts_of_the_caller_are_cut() {
    let home = Home::new();
    let (store, audit) = home.open();
    let long = CallStart { tool: "é".repeat(10_000), ..start("", false) };
    audit.begin(long).await.unwrap().finish(end(None)).await;
    audit.flush().unwrap();
    assert_eq!(all(&store)[0].tool, "é".repeat(256));
}
