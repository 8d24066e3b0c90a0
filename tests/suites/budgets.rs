//! A guest that takes more than its budget is stopped with its own code, and nobody else notices.

use std::time::{Duration, Instant};

use remit::error::ErrorKind;
use remit_guests::{Guest, manifest};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::support::home::{Home, outcome, request};

/// The capability `test/SLUG` with limits of its own.
fn limited(guest: &Guest, slug: &str, limits: Value) -> Vec<u8> {
    let mut manifest = manifest(slug);
    manifest["limits"] = limits;
    guest.with_manifest(&manifest)
}

#[test]
fn each_excess_has_its_code() {
    let little_fuel = json!({ "fuel": 50_000_000 });
    let little_time = json!({ "fuel": 10_000_000_000_u64, "timeMs": 300 });
    let plenty = json!({});
    let cases = [
        ("done", Guest::done(), plenty.clone(), "done"),
        ("loops-fuel", Guest::loops(), little_fuel.clone(), "budget/fuel"),
        ("loops-time", Guest::loops(), little_time.clone(), "budget/time"),
        ("start-fuel", Guest::loops_at_start(), little_fuel.clone(), "budget/fuel"),
        ("start-time", Guest::loops_at_start(), little_time.clone(), "budget/time"),
        ("copies", Guest::copies(), little_time.clone(), "budget/time"),
        ("allocates", Guest::allocates(), plenty.clone(), "budget/memory"),
        ("traps", Guest::traps(), plenty.clone(), "capability/trap"),
        ("divides", Guest::divides_by_zero(), plenty.clone(), "capability/trap"),
        ("recurses", Guest::recurses(), plenty.clone(), "capability/trap"),
        ("big-answer", Guest::answers_with(5 * 1024 * 1024), plenty.clone(), "call/invalid-output"),
        ("huge-answer", Guest::answers_with(40 * 1024 * 1024), plenty.clone(), "capability/trap"),
        ("broken-text", Guest::answers_with_broken_text(), plenty.clone(), "capability/trap"),
        ("outside", Guest::answers_from_outside(), plenty.clone(), "capability/trap"),
        ("no-json", Guest::structured("{\"a\":"), plenty.clone(), "call/invalid-output"),
        ("says-input", Guest::fails(0, "no such unit"), plenty.clone(), "call/invalid-input"),
        ("says-missing", Guest::fails(1, "no such place"), plenty.clone(), "capability/not-found"),
        ("says-failed", Guest::fails(2, "no luck"), plenty.clone(), "capability/failed"),
        ("many-calls", Guest::logs(20_000, "x"), plenty.clone(), "budget/host-calls"),
        ("calls-cost-fuel", Guest::logs(2_000, "x"), json!({ "fuel": 1_000_000 }), "budget/fuel"),
    ];
    let home = Home::new();
    let mut wrong = Vec::new();
    for (slug, guest, limits, expected) in cases {
        home.install(limited(&guest, slug, limits));
        let begun = Instant::now();
        let result = home.call(&format!("test/{slug}.run"), &json!({}));
        let got = outcome(&result);
        if got != expected {
            wrong.push(format!("{slug}: expected {expected}, got {got}: {result:?}"));
        }
        if begun.elapsed() > Duration::from_secs(20) {
            wrong.push(format!("{slug}: took {:?}", begun.elapsed()));
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
}

#[test]
fn usage_is_counted_whatever_the_end() {
    let home = Home::new();
    home.install(limited(&Guest::loops(), "loops", json!({ "fuel": 1_000_000 })));
    home.install(Guest::allocates().capability("allocates"));
    let failure = home.call("test/loops.run", &json!({})).expect_err("it loops");
    assert!(failure.usage.fuel >= 1_000_000, "{:?}", failure.usage);
    assert!(failure.usage.time > Duration::ZERO);
    let failure = home.call("test/allocates.run", &json!({})).expect_err("it allocates");
    let limit = 64 * 1024 * 1024;
    assert!(failure.usage.memory_peak > limit / 2 && failure.usage.memory_peak <= limit, "{:?}", failure.usage);
}

#[test]
fn the_same_work_costs_the_same_fuel() {
    let home = Home::new();
    home.install(Guest::echoes().capability("echoes"));
    let fuel = |_| home.call("test/echoes.run", &json!({ "input": "hello" })).expect("an answer").usage.fuel;
    let spent: Vec<u64> = (0..3).map(fuel).collect();
    assert!(spent[0] > 0);
    assert_eq!(spent[0], spent[1]);
    assert_eq!(spent[1], spent[2]);
}

#[test]
fn the_operators_ceiling_wins() {
    let settings = "[ceilings]\nfuel = 1000000\nmemory-mib = 2\ntime-ms = 200\n";
    let home = Home::with_settings(settings);
    let generous = json!({ "fuel": 10_000_000_000_u64, "memoryMiB": 256, "timeMs": 120_000 });
    home.install(limited(&Guest::loops(), "loops", generous.clone()));
    home.install(limited(&Guest::allocates(), "allocates", generous));
    let failure = home.call("test/loops.run", &json!({})).expect_err("it loops");
    assert_eq!(failure.error.kind, ErrorKind::Fuel);
    let failure = home.call("test/allocates.run", &json!({})).expect_err("it allocates");
    assert!(failure.usage.memory_peak <= 2 * 1024 * 1024, "{:?}", failure.usage);
}

#[test]
fn a_guest_finds_nothing_that_another_left() {
    let home = Home::new();
    home.install(Guest::reads_fresh_memory_then_fills_it().capability("reader"));
    for _ in 0..20 {
        assert_eq!(outcome(&home.call("test/reader.run", &json!({}))), "done");
    }
}

#[test]
fn others_go_on_while_guests_loop() {
    let home = Home::new();
    let long = json!({ "fuel": 10_000_000_000_u64, "timeMs": 60_000 });
    home.install(limited(&Guest::loops(), "loops", long));
    home.install(Guest::done().capability("done"));
    let host = home.host();
    home.threads.block_on(async {
        let cancel = CancellationToken::new();
        let loops: Vec<_> = (0..8)
            .map(|_| {
                let (host, cancel) = (host.clone(), cancel.clone());
                tokio::spawn(async move { host.call(request("test/loops.run", &json!({})), cancel).await })
            })
            .collect();
        for _ in 0..50 {
            let reply = host.call(request("test/done.run", &json!({})), CancellationToken::new()).await;
            assert_eq!(outcome(&reply), "done");
        }
        assert!(loops.iter().all(|looping| !looping.is_finished()), "the loops are still at it");
        cancel.cancel();
        for looping in loops {
            assert_eq!(outcome(&looping.await.expect("no panic")), "call/cancelled");
        }
    });
}

#[test]
fn a_guest_that_loops_leaves_the_thread_of_its_call() {
    let home = Home::new();
    let long = json!({ "fuel": 10_000_000_000_u64, "timeMs": 20_000 });
    let loops_when_told = Guest::calling(
        "(if (i32.gt_u (local.get $input_len) (i32.const 16)) (then (loop $again (br $again))))
         (call $text (i32.const 1024) (i32.const 4))",
    );
    home.install(limited(&loops_when_told, "loops", long));
    // So that the code is loaded, and known as quick.
    assert_eq!(outcome(&home.call("test/loops.run", &json!({}))), "done");
    let host = home.host();
    // From here all have one thread, and whoever cancels needs it while the guest runs.
    let alone = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    for known_as in ["quick", "slow"] {
        let cancel = CancellationToken::new();
        let call = host.call(request("test/loops.run", &json!({ "input": "for a long time" })), cancel.clone());
        let (result, ()) = alone.block_on(async { tokio::join!(call, async { cancel.cancel() }) });
        assert_eq!(outcome(&result), "call/cancelled", "{known_as}");
    }
}

#[test]
fn one_capability_cannot_take_every_place() {
    let home = Home::with_settings("[runtime]\ncalls = 4\ncalls-per-capability = 2\nqueue = 4\n");
    let long = json!({ "fuel": 10_000_000_000_u64, "timeMs": 60_000 });
    home.install(limited(&Guest::loops(), "loops", long));
    home.install(Guest::done().capability("done"));
    let host = home.host();
    home.threads.block_on(async {
        let cancel = CancellationToken::new();
        let mut loops = Vec::new();
        for _ in 0..10 {
            let (host, cancel) = (host.clone(), cancel.clone());
            loops
                .push(tokio::spawn(async move { host.call(request("test/loops.run", &json!({})), cancel).await }));
            tokio::task::yield_now().await;
        }
        let reply = host.call(request("test/done.run", &json!({})), CancellationToken::new()).await;
        assert_eq!(outcome(&reply), "done", "two places are left for others");
        cancel.cancel();
        let mut outcomes = Vec::new();
        for looping in loops {
            outcomes.push(outcome(&looping.await.expect("no panic")));
        }
        outcomes.sort();
        // Two run, four wait, the rest are turned away at once.
        let cancelled = outcomes.iter().filter(|outcome| *outcome == "call/cancelled").count();
        let busy = outcomes.iter().filter(|outcome| *outcome == "host/busy").count();
        assert_eq!((busy, cancelled), (4, 6), "{outcomes:?}");
    });
}

#[test]
fn a_dropped_call_stops_its_guest() {
    let home = Home::with_settings("[runtime]\ncalls-per-capability = 1\n");
    let long = json!({ "fuel": 10_000_000_000_u64, "timeMs": 60_000 });
    home.install(limited(&Guest::loops(), "loops", long));
    let host = home.host();
    home.threads.block_on(async {
        for _ in 0..3 {
            let call = host.call(request("test/loops.run", &json!({})), CancellationToken::new());
            // The second round only gets its place when the first one's guest is gone.
            let given_up = tokio::time::timeout(Duration::from_millis(300), call).await;
            assert!(given_up.is_err(), "it loops until it is dropped");
        }
        let cancel = CancellationToken::new();
        cancel.cancel();
        let reply = host.call(request("test/loops.run", &json!({})), cancel).await;
        assert_eq!(outcome(&reply), "call/cancelled");
    });
}
