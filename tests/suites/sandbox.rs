//! What a hostile guest tries against the machine: more than it may have, what it must not reach, and ends at
//! the wrong moment. Each attempt ends as an error with a code, and the next call works.

use std::future::Future as _;
use std::pin::pin;
use std::task::{Context, Waker};

use remit_guests::{Guest, manifest, with_manifest};
use remit_upstream::Answer;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use wasm_encoder::{ComponentBuilder, ComponentExportKind, ComponentTypeRef, InstanceType, PrimitiveValType};

use crate::support::home::{Home, outcome, remit, request};
use crate::support::world::World;

/// Memory of a call without a limit of its own, in pages.
const MEMORY_PAGES: u32 = 1024;

/// A guest that grows its memory to the limit, is told no, and answers nevertheless.
fn grows_politely() -> Guest {
    Guest::calling(
        "(loop $again (br_if $again (i32.ne (memory.grow (i32.const 1)) (i32.const -1))))
         (call $text (i32.const 1024) (i32.const 4))",
    )
}

/// A guest that asks for a larger table, and answers when it gets none.
fn grows_a_table(elements: u32) -> Guest {
    Guest::calling(&format!(
        "(if (i32.ne (table.grow $functions (ref.null func) (i32.const {elements})) (i32.const -1))
           (then (unreachable)))
         (call $text (i32.const 1024) (i32.const 4))"
    ))
    .with("(table $functions 1 funcref)")
}

/// A guest that logs what it should not: level, address, length.
fn logs_badly(level: u32, at: u32, length: u32) -> Guest {
    Guest::calling(&format!(
        "(call $log (i32.const {level}) (i32.const {at}) (i32.const {length}))
         (call $text (i32.const 1024) (i32.const 4))"
    ))
    .with(r#"(data (i32.const 2048) "\ff\fe\80a")"#)
    .with_log()
}

/// A guest whose answer has this byte at this address.
fn answers_badly(at: u32, byte: u32) -> Guest {
    Guest::calling(&format!(
        "(drop (call $text (i32.const 1024) (i32.const 4)))
         (i32.store8 (i32.const {at}) (i32.const {byte}))
         (i32.const 64)"
    ))
}

#[test]
fn each_attempt_has_its_end() {
    let cases = [
        // More memory than allowed from the start: of the call, of any call, of any address.
        ("memory-of-call", Guest::done().with_memory_pages(MEMORY_PAGES + 1), "budget/memory"),
        ("memory-of-pool", Guest::done().with_memory_pages(5_000), "budget/memory"),
        ("memory-of-all", Guest::done().with_memory_pages(65_536), "budget/memory"),
        ("memory-in-full", Guest::done().with_memory_pages(MEMORY_PAGES - 16), "done"),
        ("grows-memory", grows_politely(), "done"),
        ("grows-table", grows_a_table(10_000_000), "done"),
        // An element costs fuel before there is one.
        ("grows-table-most", grows_a_table(u32::MAX), "budget/fuel"),
        ("table-of-pool", Guest::done().with("(table 50000 funcref)"), "budget/memory"),
        ("table-that-fits", Guest::done().with("(table 15000 funcref)"), "done"),
        // Values that the interface does not know.
        ("log-level", logs_badly(99, 1024, 4), "capability/trap"),
        ("log-text", logs_badly(1, 2048, 4), "capability/trap"),
        ("log-outside", logs_badly(1, 0xffff_fff0, 16), "capability/trap"),
        ("log-huge", logs_badly(1, 0, 60 << 20).with_memory_pages(MEMORY_PAGES - 16), "capability/trap"),
        ("no-result", answers_badly(64, 7), "capability/trap"),
        ("no-option", answers_badly(68, 9), "capability/trap"),
        ("no-content", answers_badly(128, 200), "capability/trap"),
        ("many-pieces", answers_badly(87, 15), "capability/trap"),
        ("some-pieces", answers_badly(85, 1), "capability/trap"),
        ("odd-address", Guest::calling("(i32.const 65)"), "capability/trap"),
        ("no-address", Guest::calling("(i32.const -4)"), "capability/trap"),
        (
            "no-failure",
            Guest::calling("(call $failure (i32.const 3) (i32.const 1024) (i32.const 4))"),
            "capability/trap",
        ),
        (
            "indirect",
            Guest::calling("(call_indirect (param i32) (i32.const 1) (i32.const 0)) (unreachable)")
                .with("(table 1 funcref)"),
            "capability/trap",
        ),
        ("out-of-bounds", Guest::calling("(i32.load (i32.const -1))"), "capability/trap"),
        ("done", Guest::done(), "done"),
    ];
    let home = Home::new();
    home.install(Guest::done().capability("good"));
    let mut wrong = Vec::new();
    for (slug, guest, expected) in cases {
        home.install(guest.capability(slug));
        // Twice: the second finds what the first one left.
        for _ in 0..2 {
            let result = home.call(&format!("test/{slug}.run"), &json!({}));
            if outcome(&result) != expected {
                wrong.push(format!("{slug}: {expected} expected, not {result:?}"));
            }
        }
        assert_eq!(outcome(&home.call("test/good.run", &json!({}))), "done", "after {slug}");
    }
    assert_eq!(wrong, Vec::<String>::new());
}

#[test]
fn memory_at_the_limit_is_all_that_was_held() {
    let home = Home::new();
    home.install(grows_politely().capability("grows"));
    let reply = home.call("test/grows.run", &json!({})).expect("an answer");
    assert_eq!(reply.usage.memory_peak, u64::from(MEMORY_PAGES) * 65_536);
}

#[test]
fn a_flood_of_lines_is_cut_and_counted() {
    let home = Home::new();
    let line = "x".repeat(100);
    home.install(Guest::logs(1_000, &line).capability("flood"));
    home.install(Guest::logs(1, "\u{1b}[31mred\r\nremit: granted").capability("paints"));
    assert_eq!(outcome(&home.call("test/flood.run", &json!({}))), "done");
    assert_eq!(outcome(&home.call("test/paints.run", &json!({}))), "done");
    let records = home.records();
    assert_eq!(records[0].log, [r"info: \u{1b}[31mred\r\nremit: granted"]);
    // 64 KiB hold 655 of them.
    assert_eq!(records[1].log.len(), 656);
    assert_eq!(records[1].log.first(), Some(&format!("info: {line}")));
    assert_eq!(records[1].log.last().map(String::as_str), Some("warn: 345 more lines were dropped"));
    assert_eq!(records[1].usage.host_calls, 1_000);
}

/// A capability that imports `import`, a function `run` in it, and asks for nothing in its manifest.
fn importing(import: &str) -> Vec<u8> {
    const TOOLS: &str = "remit:capability/tools@0.1.0";
    let mut wanted = InstanceType::new();
    let none: [(&str, PrimitiveValType); 0] = [];
    wanted.ty().function().params(none).result(None);
    wanted.export("run", ComponentTypeRef::Func(0));
    let mut outer = ComponentBuilder::default();
    let wanted = outer.type_instance(None, &wanted);
    outer.import(import, ComponentTypeRef::Instance(wanted));
    let guest = outer.component_raw(None, &Guest::done().component());
    let no_arguments: [(&str, ComponentExportKind, u32); 0] = [];
    let guest = outer.instantiate(None, guest, no_arguments);
    let tools = outer.alias_export(guest, TOOLS, ComponentExportKind::Instance);
    outer.export(TOOLS, ComponentExportKind::Instance, tools, None);
    with_manifest(outer.finish(), manifest("reaches").to_string().as_bytes())
}

#[test]
fn what_is_not_offered_cannot_be_imported() {
    let home = Home::new();
    for import in [
        "wasi:cli/environment@0.2.6",
        "wasi:filesystem/preopens@0.2.0",
        "wasi:sockets/tcp@0.2.6",
        "wasi:clocks/monotonic-clock@0.2.6",
        "wasi:random/random@0.2.6",
        "remit:capability/http@0.1.0",
        "remit:capability/http@0.1.1",
        "remit:capability/log@0.2.0",
        "remit:capability/log",
        "remit:capability/logs@0.1.0",
        "rernit:capability/log@0.1.0",
        "remit:capability/tools@0.1.0",
        "remit:capability/entities@0.1.0",
        "other:capability/log@0.1.0",
        "log",
    ] {
        let error = home.app.admin().offer(importing(import)).expect_err(import);
        assert_eq!(error.kind.code(), "registry/import-not-declared", "{import}: {error}");
        assert!(error.message.contains(&format!("`{import}`")), "{import}: {error}");
    }
    // The right name, and a function in it that is not there: no grant would help.
    home.install(importing("remit:capability/log@0.1.0"));
    let result = home.call("test/reaches.run", &json!({}));
    assert_eq!(outcome(&result), "registry/import-not-declared", "{result:?}");
}

#[test]
fn what_is_switched_off_is_refused_before_anything_is_compiled() {
    let scratch = tempfile::tempdir().expect("a scratch folder");
    let off = "it uses a feature of WebAssembly that is switched off";
    let cases = [
        ("two memories", Guest::done().with("(memory 1)"), "component/invalid", "multiple memories"),
        (
            "a tail call",
            Guest::calling("(return_call $text (i32.const 1024) (i32.const 4))"),
            "component/invalid",
            off,
        ),
        (
            "a large table",
            Guest::done().with("(table 10000000 funcref)"),
            "component/too-large",
            "the component has more than 100000 table elements",
        ),
    ];
    for (what, guest, code, reason) in cases {
        let file = scratch.path().join("hostile.wasm");
        std::fs::write(&file, guest.capability("hostile")).expect("room");
        let file = file.display().to_string();
        for command in [&["inspect", file.as_str(), "--json"][..], &["install", &file, "--yes", "--json"]] {
            let ended = remit(scratch.path(), command, "");
            assert_eq!((ended.exit, ended.code().as_str()), (Some(1), code), "{what}: {ended:?}");
            assert!(ended.stderr.contains(reason), "{what}: {ended:?}");
        }
    }
}

#[test]
fn ten_hostile_calls_in_a_row_harm_nobody() {
    let home = Home::with_settings("[runtime]\ncalls = 2\n");
    let little = |guest: &Guest, slug: &str| {
        let mut manifest = manifest(slug);
        manifest["limits"] = json!({ "fuel": 1_000_000 });
        guest.with_manifest(&manifest)
    };
    let hostile = [Guest::loops(), Guest::traps(), Guest::recurses(), Guest::allocates(), Guest::loops_at_start()];
    for (index, guest) in hostile.iter().enumerate() {
        home.install(little(guest, &format!("hostile-{index}")));
    }
    home.install(Guest::reads_fresh_memory_then_fills_it().capability("good"));
    for round in 0..10 {
        let result = home.call(&format!("test/hostile-{}.run", round % hostile.len()), &json!({}));
        assert!(result.is_err(), "{result:?}");
    }
    assert_eq!(outcome(&home.call("test/good.run", &json!({}))), "done");
}

#[test]
fn a_call_cancelled_inside_the_host_frees_its_place() {
    let world = World::with_settings("[runtime]\ncalls-per-capability = 1\n", |seen| {
        let mut answer = Answer::json(200, &json!({}));
        if seen.path == "/slow" {
            answer.delay = std::time::Duration::from_secs(3600);
        }
        answer
    })
    .granted();
    let host = world.home.host();
    world.home.threads.block_on(async {
        for round in 1..=3 {
            let cancel = CancellationToken::new();
            let slow = request("test/probe.fetch", &json!({ "url": "https://api.example.com/slow" }));
            let slow = tokio::spawn({
                let (host, cancel) = (host.clone(), cancel.clone());
                async move { host.call(slow, cancel).await }
            });
            while world.upstream.seen().iter().filter(|seen| seen.path == "/slow").count() < round {
                tokio::task::yield_now().await;
            }
            // By the token, or by going away.
            if round % 2 == 0 {
                slow.abort();
            } else {
                cancel.cancel();
                assert_eq!(outcome(&slow.await.expect("no panic")), "call/cancelled");
            }
            let quick = request("test/probe.fetch", &json!({ "url": "https://api.example.com/quick" }));
            let quick = host.call(quick, CancellationToken::new()).await;
            assert!(quick.is_ok(), "the one place is free: {quick:?}");
        }
    });
}

#[test]
fn a_call_can_be_dropped_at_any_moment() {
    let home = Home::with_settings("[runtime]\ncalls-per-capability = 1\nqueue = 1\n");
    let changing = |slug: &str, is_read_only: bool| {
        let mut manifest = manifest(slug);
        manifest["tools"][0]["readOnly"] = Value::Bool(is_read_only);
        Guest::echoes().with_manifest(&manifest)
    };
    home.install(changing("reads", true));
    home.install(changing("changes", false));
    let host = home.host();
    let mut begun = 0;
    home.threads.block_on(async {
        for tool in ["test/reads.run", "test/changes.run"] {
            for polls in 0..60 {
                {
                    let call = host.call(request(tool, &json!({ "input": "x" })), CancellationToken::new());
                    let mut call = pin!(call);
                    for _ in 0..polls {
                        let mut context = Context::from_waker(Waker::noop());
                        if call.as_mut().poll(&mut context).is_ready() {
                            break;
                        }
                        tokio::task::yield_now().await;
                    }
                    begun += usize::from(polls > 0);
                }
                let next = host.call(request(tool, &json!({ "input": "y" })), CancellationToken::new()).await;
                assert!(next.is_ok(), "after {polls} polls of {tool}: {next:?}");
                begun += 1;
            }
        }
    });
    let records = home.records();
    assert_eq!(records.len(), begun, "each left one record");
    let mut ends: Vec<&str> = records.iter().map(|record| record.outcome.as_str()).collect();
    ends.sort_unstable();
    ends.dedup();
    assert_eq!(ends, ["aborted", "ok"], "and each ended");
}
