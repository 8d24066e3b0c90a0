//! The ways of a run from its claim to its end, and that nobody else can end it.

use std::sync::Arc;
use std::time::Duration;

use super::*;
use crate::audit::{Audit, CallEnd, CallStart, Usage};
use crate::clock::Clock;
use crate::store::loops::tests::{claim, looped};

const NOW: i64 = 1_767_600_000_000;

struct Home {
    folder: tempfile::TempDir,
    clock: Arc<Clock>,
}

impl Home {
    fn new() -> Self {
        let clock = Arc::new(Clock::manual(Duration::from_millis(NOW.unsigned_abs())));
        Self { folder: tempfile::tempdir().unwrap(), clock }
    }

    fn open(&self) -> Arc<Store> {
        Store::open(self.folder.path(), Arc::clone(&self.clock)).unwrap()
    }
}

/// A loop with one claimed run.
fn claimed(store: &Store) -> (Loop, String) {
    let of = looped("a", Some(NOW));
    store.create_loop(of.clone(), None).unwrap();
    store.claim(vec![claim(&of, &[NOW])]).unwrap();
    let run = store.history(&of.id, 1).unwrap().remove(0);
    (of, run.id)
}

fn state(store: &Store, id: &str) -> &'static str {
    store.find_run(id).unwrap().unwrap().0.state.as_str()
}

fn report(principal: &str, text: &str) -> Report {
    Report { principal: principal.to_owned(), text: text.to_owned(), is_nothing: false }
}

/// Calls for a run, as the path of a call does.
async fn call(store: &Arc<Store>, clock: &Arc<Clock>, run: &str, error: Option<ErrorKind>) -> String {
    let audit = Audit::new(Arc::clone(store), Arc::clone(clock));
    let start = CallStart {
        principal: "loop:acme/weather/a".to_owned(),
        capability: "acme/weather".to_owned(),
        tool: "look".to_owned(),
        digest: None,
        dry_run: false,
        can_change: false,
        run: Some(run.to_owned()),
        parent: None,
        spends: None,
    };
    let record = audit.begin(start).await.unwrap();
    let id = record.id().to_owned();
    let run_end = RunEnd {
        id: run.to_owned(),
        error: error.map(ErrorKind::code),
        is_nothing: false,
        report: Some("x".repeat(100_000)),
    };
    let run = Some(run_end);
    record
        .finish(CallEnd { error, detail: None, usage: Usage::default(), requests: vec![], log: vec![], run })
        .await;
    id
}

#[tokio::test]
async fn a_run_ends_with_the_record_of_its_call() {
    for (error, ended, reason) in [(None, "done", None), (Some(ErrorKind::Fuel), "failed", Some("budget/fuel"))] {
        let home = Home::new();
        let store = home.open();
        let (of, id) = claimed(&store);
        assert_eq!(store.startable(NOW - 1, 9).unwrap(), []);
        assert_eq!(store.startable(NOW, 9).unwrap().len(), 1);
        assert!(store.start_run(&id).unwrap());
        assert!(!store.start_run(&id).unwrap(), "once");
        let record = call(&store, &home.clock, &id, error).await;
        let run = store.find_run(&id).unwrap().unwrap().0;
        assert_eq!((run.state.as_str(), run.attempt, run.call), (ended, 1, Some(record)));
        assert_eq!((run.reason.as_deref(), run.report.map(|report| report.len())), (reason, Some(REPORT_BYTES)));
        assert_eq!(store.find_loop(&of.capability, "a").unwrap().unwrap().last_at, Some(NOW));
        assert!(!store.close_run(&id, RunState::Skipped, "late", None).unwrap(), "it has ended");
    }
}

#[tokio::test]
async fn a_process_that_died_cannot_end_what_was_given_to_another() {
    let home = Home::new();
    let (one, two) = (home.open(), home.open());
    let (_, id) = claimed(&one);
    one.start_run(&id).unwrap();
    assert_eq!(two.orphans().unwrap(), [], "its process lives");
    one.requeue_run(&id).unwrap();
    two.start_run(&id).unwrap();
    call(&one, &home.clock, &id, None).await;
    assert_eq!(state(&one, &id), "running");
    call(&two, &home.clock, &id, None).await;
    assert_eq!(state(&one, &id), "done");
}

#[tokio::test]
async fn a_run_of_a_dead_process_is_found_with_its_call() {
    let home = Home::new();
    let (one, two) = (home.open(), home.open());
    let (_, id) = claimed(&one);
    one.start_run(&id).unwrap();
    let audit = Audit::new(Arc::clone(&one), Arc::clone(&home.clock));
    let start = CallStart {
        principal: "loop".to_owned(),
        capability: "acme/weather".to_owned(),
        tool: "look".to_owned(),
        digest: None,
        dry_run: false,
        can_change: true,
        run: Some(id.clone()),
        parent: None,
        spends: None,
    };
    // As a process that is killed leaves it: its records do not end.
    std::mem::forget(audit.begin(start).await.unwrap());
    drop(audit);
    let token = one.process.lock().unwrap().take();
    drop(token);
    let orphans = two.orphans().unwrap();
    assert_eq!(orphans.iter().map(|(run, _)| run.id.as_str()).collect::<Vec<_>>(), [id.as_str()]);
    let record = &two.records(&crate::audit::Query { limit: 1, ..Default::default() }).unwrap()[0];
    assert_eq!((record.outcome.as_str(), Some(&record.id)), ("aborted", orphans[0].0.call.as_ref()));
    assert!(two.close_run(&id, RunState::Interrupted, "died", None).unwrap());
    assert_eq!(two.orphans().unwrap(), []);
}

#[test]
fn runs_of_one_loop_start_one_after_another() {
    let home = Home::new();
    let store = home.open();
    let of = looped("a", Some(NOW));
    store.create_loop(of.clone(), None).unwrap();
    store.claim(vec![claim(&of, &[NOW, NOW + 1, NOW + 2])]).unwrap();
    let next =
        || store.startable(NOW + 9, 9).unwrap().into_iter().map(|(run, _)| run.nominal_at).collect::<Vec<_>>();
    assert_eq!(next(), [NOW]);
    let first = store.startable(NOW + 9, 9).unwrap().remove(0).0.id;
    store.start_run(&first).unwrap();
    assert_eq!(next(), [0; 0]);
    store.close_run(&first, RunState::Interrupted, "", None).unwrap();
    assert_eq!(next(), [NOW + 1]);
    assert_eq!(store.find_loop(&of.capability, "a").unwrap().unwrap().skipped, 0);
}

#[test]
fn a_prompt_is_taken_by_one_and_reported_by_the_same() {
    let home = Home::new();
    let store = home.open();
    let (of, id) = claimed(&store);
    assert!(store.take_run(&id, "a").unwrap().is_none(), "not offered yet");
    assert!(store.offer_run(&id).unwrap() && !store.offer_run(&id).unwrap());
    assert_eq!(store.inbox().unwrap().len(), 1);
    assert!(!store.report_run(&id, report("a", "early")).unwrap());
    let (run, _) = store.take_run(&id, "a").unwrap().unwrap();
    assert_eq!((run.state.as_str(), run.lease_until), ("taken", Some(NOW + LEASE_MS)));
    assert!(store.take_run(&id, "b").unwrap().is_none());
    assert!(!store.report_run(&id, report("b", "stolen")).unwrap());
    assert!(store.report_run(&id, report("a", "all is well")).unwrap());
    let run = store.find_run(&id).unwrap().unwrap().0;
    assert_eq!((run.state.as_str(), run.report.as_deref()), ("reported", Some("all is well")));
    assert!(!store.report_run(&id, report("a", "twice")).unwrap());
    assert_eq!(store.inbox().unwrap(), []);
    assert_eq!(open(&store.lock_reader().connection, &of.id).unwrap(), Open::default());
}

#[test]
fn a_lease_that_is_over_gives_the_run_back() {
    let home = Home::new();
    let store = home.open();
    let (_, id) = claimed(&store);
    store.offer_run(&id).unwrap();
    store.take_run(&id, "a").unwrap().unwrap();
    home.clock.advance(Duration::from_millis(LEASE_MS.unsigned_abs() - 1));
    assert_eq!(store.end_leases().unwrap(), 0);
    home.clock.advance(Duration::from_millis(1));
    // Even before anybody noticed that it is over.
    assert!(store.take_run(&id, "b").unwrap().is_some());
    assert!(!store.report_run(&id, report("a", "too late")).unwrap());
    home.clock.advance(Duration::from_millis(LEASE_MS.unsigned_abs()));
    assert_eq!((store.end_leases().unwrap(), store.end_leases().unwrap()), (1, 0));
    assert_eq!(state(&store, &id), "waiting");
    assert!(!store.report_run(&id, report("b", "too late")).unwrap());
}

#[tokio::test]
async fn the_list_of_a_run_counts_when_the_run_ends_well() {
    let home = Home::new();
    let store = home.open();
    let (of, first) = claimed(&store);
    assert!(store.keep_items(&first, "[1]".to_owned(), false).is_err(), "it does not run");
    store.start_run(&first).unwrap();
    store.keep_items(&first, "[1]".to_owned(), false).unwrap();
    assert_eq!(store.last_items(&first).unwrap(), None, "not before its end");
    call(&store, &home.clock, &first, None).await;
    assert_eq!(store.last_items(&first).unwrap().as_deref(), Some("[1]"));

    for (error, expected) in [(Some(ErrorKind::Failed), "[1]"), (None, "[2]")] {
        let id = store.queue_run(&of.id).unwrap();
        store.start_run(&id).unwrap();
        store.keep_items(&id, "[2]".to_owned(), true).unwrap();
        call(&store, &home.clock, &id, error).await;
        assert_eq!(store.last_items(&id).unwrap().as_deref(), Some(expected));
        assert!(store.find_run(&id).unwrap().unwrap().0.is_nothing);
    }
    assert!(store.keep_items(&first, "[3]".to_owned(), false).is_err(), "it has ended");
}

#[test]
fn the_history_of_a_loop_is_bounded_and_open_runs_stay() {
    let home = Home::new();
    let store = home.open();
    let of = looped("a", Some(NOW));
    store.create_loop(of.clone(), None).unwrap();
    store.claim(vec![claim(&of, &[NOW])]).unwrap();
    let oldest = store.history(&of.id, 1).unwrap().remove(0).id;
    store.offer_run(&oldest).unwrap();
    for _ in 0..150 {
        home.clock.advance(Duration::from_millis(1));
        let id = store.queue_run(&of.id).unwrap();
        store.close_run(&id, RunState::Skipped, "", None).unwrap();
    }
    let runs = store.history(&of.id, 1_000).unwrap();
    assert_eq!((runs.len(), &runs.last().unwrap().id), (101, &oldest));
}

#[test]
fn a_deleted_loop_takes_its_runs_along() {
    let home = Home::new();
    let store = home.open();
    let (of, id) = claimed(&store);
    store.start_run(&id).unwrap();
    assert!(store.delete_loop(&of.id).unwrap() && !store.delete_loop(&of.id).unwrap());
    assert!(store.find_run(&id).unwrap().is_none());
}

#[test]
fn changes_are_counted_with_the_run() {
    let home = Home::new();
    let store = home.open();
    let (_, id) = claimed(&store);
    let run = id.clone();
    store.write(move |connection| count_changes(connection, &run, 2)).unwrap();
    store.write(|connection| count_changes(connection, "none", 2)).unwrap();
    assert_eq!(store.find_run(&id).unwrap().unwrap().0.changes, 2);
}
