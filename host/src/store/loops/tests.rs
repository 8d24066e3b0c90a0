//! Claims that count once, and due loops that are found among many.

use std::sync::Arc;

use super::*;
use crate::audit;
use crate::clock::Clock;

const NOW: i64 = 1_767_600_000_000;

fn store(home: &std::path::Path) -> Arc<Store> {
    Store::open(home, Arc::new(Clock::manual(Duration::from_millis(NOW.unsigned_abs())))).unwrap()
}

pub(in crate::store) fn looped(name: &str, next_at: Option<i64>) -> Loop {
    let timing = Timing::Cron { pattern: "* * * * *".to_owned(), timezone: "UTC".to_owned() };
    let task = Task::Tool { tool: "acme/weather.look".parse().unwrap(), input: Map::new() };
    Loop {
        id: audit::id::new(NOW).unwrap(),
        capability: "acme/weather".parse().unwrap(),
        definition: Definition::new(name.to_owned(), timing, task),
        origin: Origin::Capability,
        owner: "cli".to_owned(),
        status: if next_at.is_some() { Status::Active } else { Status::Paused },
        reason: None,
        anchor_at: NOW,
        next_at,
        last_at: None,
        missed: 0,
        skipped: 0,
        created_at: NOW,
        changed_at: NOW,
    }
}

pub(in crate::store) fn claim(of: &Loop, run: &[i64]) -> Claim {
    Claim {
        loop_id: of.id.clone(),
        due_at: of.next_at.unwrap(),
        run: run.iter().map(|at| (*at, *at)).collect(),
        skipped: Passed::default(),
        missed: Passed::default(),
        next: Ok(of.next_at.unwrap() + 60_000),
        record: None,
    }
}

#[test]
fn a_loop_is_kept_as_it_was_made() {
    let home = tempfile::tempdir().unwrap();
    let store = store(home.path());
    let mut made = looped("a", Some(NOW));
    let input = serde_json::json!({ "place": "Oslo" }).as_object().cloned().unwrap();
    made.definition = Definition {
        timing: Timing::Interval { seconds: 90 },
        task: Task::Tool { tool: "acme/weather.look".parse().unwrap(), input },
        quiet: true,
        misfire: Misfire::RunAll,
        overlap: Overlap::QueueOne,
        window: Duration::from_secs(10),
        ..made.definition
    };
    store.create_loop(made.clone(), None).unwrap();
    let prompt = Loop {
        definition: Definition { task: Task::Prompt("Look.".to_owned()), ..made.definition.clone() },
        ..looped("b", None)
    };
    let prompt = Loop { definition: Definition { name: "b".to_owned(), ..prompt.definition }, ..prompt };
    store.create_loop(prompt.clone(), None).unwrap();
    assert_eq!(store.loops(None).unwrap(), [made.clone(), prompt]);
    assert_eq!(store.find_loop(&made.capability, "a").unwrap(), Some(made));
}

#[test]
fn a_capability_makes_as_many_loops_as_it_may() {
    let home = tempfile::tempdir().unwrap();
    let store = store(home.path());
    let code = |result: Result<()>| result.map_or_else(|error| error.kind.code(), |()| "ok");
    store.create_loop(Loop { origin: Origin::Preset, ..looped("preset", None) }, None).unwrap();
    assert_eq!(code(store.create_loop(looped("a", None), Some(2))), "ok");
    assert_eq!(code(store.create_loop(looped("a", None), Some(2))), "loops/already-exists");
    assert_eq!(code(store.create_loop(looped("b", None), Some(2))), "ok");
    assert_eq!(code(store.create_loop(looped("c", None), Some(2))), "loops/limit");
    assert_eq!(code(store.create_loop(looped("c", None), Some(3))), "ok");
    assert_eq!(store.write(|connection| purge(connection, &"acme/weather".parse().unwrap())).unwrap(), 4);
}

#[test]
fn a_firing_is_claimed_by_one_of_two() {
    let home = tempfile::tempdir().unwrap();
    let (one, two) = (store(home.path()), store(home.path()));
    let of = looped("a", Some(NOW));
    one.create_loop(of.clone(), None).unwrap();
    // Both decided at the same moment.
    let claims = || vec![claim(&of, &[NOW])];
    assert_eq!((one.claim(claims()).unwrap(), two.claim(claims()).unwrap()), (vec![true], vec![false]));
    let runs = two.history(&of.id, 10).unwrap();
    assert_eq!((runs.len(), runs[0].nominal_at), (1, NOW));
    // A schedule that was changed meanwhile is decided about anew.
    let timed = Timed { anchor_at: NOW, next_at: NOW + 1 };
    assert!(one.update_loop(&of.id, of.definition.clone(), timed).unwrap());
    let stale = Claim { due_at: NOW + 60_000, ..claim(&of, &[NOW + 60_000]) };
    assert_eq!(one.claim(vec![stale]).unwrap(), [false]);
    assert_eq!(one.history(&of.id, 10).unwrap().len(), 1);
}

#[test]
fn a_firing_that_has_a_row_is_not_run_again() {
    let home = tempfile::tempdir().unwrap();
    let store = store(home.path());
    let of = looped("a", Some(NOW));
    store.create_loop(of.clone(), None).unwrap();
    store.claim(vec![claim(&of, &[NOW])]).unwrap();
    // The schedule is set back: the same firing is due again, with one that is new.
    store.update_loop(&of.id, of.definition.clone(), Timed { anchor_at: NOW, next_at: NOW }).unwrap();
    assert_eq!(store.claim(vec![claim(&of, &[NOW, NOW + 1])]).unwrap(), [true]);
    let runs = store.history(&of.id, 10).unwrap();
    assert_eq!(runs.iter().map(|run| run.nominal_at).collect::<Vec<_>>(), [NOW + 1, NOW]);
}

#[test]
fn a_claim_is_whole_or_not_there() {
    let home = tempfile::tempdir().unwrap();
    let store = store(home.path());
    let of = looped("a", Some(NOW));
    store.create_loop(of.clone(), None).unwrap();
    let record = crate::scheduler::record_of(&of, ErrorKind::LoopMissed, "why", NOW).unwrap();
    // The database refuses such a record.
    let broken = Record { outcome: audit::RUNNING.to_owned(), ..record.clone() };
    assert!(store.claim(vec![Claim { record: Some(broken), ..claim(&of, &[NOW]) }]).is_err());
    assert_eq!(store.find_loop(&of.capability, "a").unwrap().unwrap().next_at, Some(NOW));
    assert_eq!(store.history(&of.id, 10).unwrap(), []);
    store.claim(vec![Claim { record: Some(record), ..claim(&of, &[NOW]) }]).unwrap();
    let records = store.records(&crate::audit::Query { limit: 9, ..Default::default() }).unwrap();
    assert_eq!((records.len(), store.history(&of.id, 10).unwrap().len()), (1, 1));
}

/// Presets follow the install and the grant in the same transaction, by whatever way those change.
#[test]
fn presets_keep_counting_unless_their_schedule_changes() {
    let home = tempfile::tempdir().unwrap();
    let clock = Arc::new(Clock::manual(Duration::from_millis(NOW.unsigned_abs())));
    let store = Store::open(home.path(), Arc::clone(&clock)).unwrap();
    let install = |version: &str, expression: &str, prompt: &str| {
        let mut capability = crate::store::tests::capability("weather", version, version.as_bytes());
        let loops = serde_json::json!([{ "name": "a", "scheduleType": "interval",
            "scheduleExpression": expression, "prompt": prompt }]);
        capability.manifest.uses = vec![crate::manifest::NamespaceName::Loops];
        capability.manifest.loops = serde_json::from_value(loops).unwrap();
        let grant = crate::policy::Grant { namespace: crate::manifest::NamespaceName::Loops, entry: None };
        store.put_install(&capability, &[grant]).unwrap();
        store.find_loop(&capability.name, "a").unwrap().unwrap()
    };
    let first = install("1.0.0", "1h", "Look.");
    assert_eq!((first.origin, first.next_at), (Origin::Preset, Some(NOW + 3_600_000)));
    clock.advance(Duration::from_secs(600));
    let second = install("1.1.0", "1h", "Look again.");
    assert_eq!((&second.id, second.anchor_at, second.next_at), (&first.id, NOW, first.next_at));
    assert_eq!(second.definition.task, Task::Prompt("Look again.".to_owned()));
    let third = install("1.2.0", "2h", "Look again.");
    assert_eq!((third.anchor_at, third.next_at), (NOW + 600_000, Some(NOW + 600_000 + 7_200_000)));
}

#[test]
fn counters_and_breaks_are_kept() {
    let home = tempfile::tempdir().unwrap();
    let store = store(home.path());
    let of = looped("a", Some(NOW));
    store.create_loop(of.clone(), None).unwrap();
    let passed = |number, last| Passed { number, last: Some(last), reason: "why".to_owned() };
    let claimed = Claim {
        skipped: passed(2, NOW + 1),
        missed: passed(3, NOW + 2),
        next: Err("gone".to_owned()),
        ..claim(&of, &[])
    };
    assert_eq!(store.claim(vec![claimed]).unwrap(), [true]);
    let found = store.find_loop(&of.capability, "a").unwrap().unwrap();
    assert_eq!((found.skipped, found.missed, found.status), (2, 3, Status::Broken));
    assert_eq!((found.reason.as_deref(), found.next_at), (Some("gone"), None));
    let states: Vec<_> =
        store.history(&of.id, 10).unwrap().into_iter().map(|run| (run.state.as_str(), run.reason)).collect();
    assert_eq!(states, [("missed", Some("why".to_owned())), ("skipped", Some("why".to_owned()))]);
}

/// Ten thousand loops, a few of them due: found by the index. How long it takes is a figure of the bench.
#[test]
fn the_due_ones_are_found_among_ten_thousand() {
    let home = tempfile::tempdir().unwrap();
    let store = store(home.path());
    store
        .write(|connection| {
            for index in 0..10_000 {
                insert(connection, &looped(&format!("n{index}"), Some(NOW + index)))?;
            }
            Ok(())
        })
        .unwrap();
    assert_eq!(store.due_loops(NOW + 9, 250).unwrap().len(), 10);
    assert_eq!(store.next_due().unwrap(), Some(NOW));

    let plan = |sql: &str| {
        store
            .read(|connection| {
                let mut statement = connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}"))?;
                let steps =
                    statement.query_map([], |row| row.get::<_, String>(3))?.collect::<Result<Vec<_>, _>>()?;
                Ok(steps.join("; "))
            })
            .unwrap()
    };
    let chosen = plan("SELECT id FROM loops WHERE next_at IS NOT NULL AND next_at <= 1 ORDER BY next_at LIMIT 2");
    assert!(chosen.contains("loops_due") && !chosen.contains("TEMP B-TREE"), "{chosen}");
    let open =
        plan("SELECT count(*) FROM runs WHERE loop = 'a' AND state IN ('claimed', 'running', 'waiting', 'taken')");
    assert!(open.contains("runs_open") || open.contains("INDEX"), "{open}");
    let next = plan("SELECT min(start_at) FROM runs WHERE state = 'claimed'");
    assert!(next.contains("runs_claimed"), "{next}");
}
