//! Documents as a guest that does not hold itself back meets them: `test/keeper` on the real rooms, and the
//! commands by which people look after what it keeps.

use std::time::{Duration, Instant};

use remit::audit::ChangeRecord;
use remit::call::{CallRequest, Failure, Reply};
use remit::error::ErrorKind;
use remit::manifest::NamespaceName;
use remit::policy::{Approval, Grant, Place};
use remit_upstream::{Answer, Upstream};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::support::home::{Home, built, outcome, remit, renamed, request};
use crate::support::world::{HOST, SECRET};

/// A home with `test/keeper`, and all that it asks granted.
fn home() -> Home {
    with_settings("")
}

fn with_settings(settings: &str) -> Home {
    let home = Home::with_settings(settings);
    home.install(built("keeper"));
    home
}

fn call(home: &Home, tool: &str, arguments: &Value) -> Result<Reply, Failure> {
    home.call(&format!("test/keeper.{tool}"), arguments)
}

/// What a tool said: its answer, its failure, or the code of the error.
fn said(home: &Home, tool: &str, arguments: &Value) -> String {
    match call(home, tool, arguments) {
        Err(failure) if failure.error.kind == ErrorKind::Failed => failure.error.message,
        result => outcome(&result),
    }
}

fn put(home: &Home, key: &str, value: &str) -> String {
    said(home, "put", &json!({ "entity": "notes", "key": key, "value": value }))
}

fn get(home: &Home, key: &str) -> String {
    said(home, "get", &json!({ "entity": "notes", "key": key }))
}

fn rehearsal(tool: &str, arguments: &Value) -> CallRequest {
    CallRequest { dry_run: true, ..request(&format!("test/keeper.{tool}"), arguments) }
}

fn entities(entry: Option<&str>) -> Grant {
    Grant { namespace: NamespaceName::Entities, entry: entry.map(str::to_owned) }
}

fn http() -> Grant {
    Grant { namespace: NamespaceName::Http, entry: None }
}

#[test]
fn what_is_put_is_got_again() {
    let home = home();
    assert_eq!(get(&home, "a"), "nothing");
    assert_eq!(put(&home, "a", "{\"x\": [1.10]}"), "1");
    assert_eq!(get(&home, "a"), "1 {\"x\": [1.10]}", "the text as it was");
    assert_eq!(said(&home, "put", &json!({ "entity": "notes", "key": "a", "value": "2", "expected": "1" })), "2");
    let stale = json!({ "entity": "notes", "key": "a", "value": "3", "expected": "1" });
    assert!(said(&home, "put", &stale).contains("Conflict"), "{}", said(&home, "put", &stale));
    let absent = json!({ "entity": "notes", "key": "a", "value": "3", "expected": "absent" });
    assert!(said(&home, "put", &absent).contains("actual: Some(2)"), "{}", said(&home, "put", &absent));
    assert_eq!(get(&home, "a"), "2 2");
    assert_eq!(said(&home, "delete", &json!({ "entity": "notes", "key": "a" })), "true");
    assert_eq!(said(&home, "delete", &json!({ "entity": "notes", "key": "a" })), "false");
    assert_eq!(get(&home, "a"), "nothing");
    assert_eq!(said(&home, "put", &absent), "4", "a version never comes back");
}

#[test]
fn an_entity_is_there_when_declared_and_granted() {
    let home = Home::new();
    home.install_with(built("keeper"), &[http(), entities(None), entities(Some("notes"))]);
    let at = |entity: &str| said(&home, "put", &json!({ "entity": entity, "key": "a", "value": "1" }));
    assert_eq!(at("notes"), "1");
    for entity in ["counters", "other", "", "Notes", "notes' OR '1'='1", "documents", "*"] {
        assert_eq!(at(entity), format!("Error::NotAvailable({entity:?})"));
        let read = json!({ "entity": entity, "key": "a" });
        assert_eq!(said(&home, "get", &read), format!("Error::NotAvailable({entity:?})"));
        assert_eq!(said(&home, "list", &json!({ "entity": entity })), format!("Error::NotAvailable({entity:?})"));
    }
    let name = "test/keeper".parse().expect("a name");
    home.app.admin().grant(&name, &[entities(Some("counters"))]).expect("declared");
    assert_eq!(at("counters"), "2");
    home.app.admin().revoke(&name, &[entities(Some("notes"))]).expect("granted");
    assert_eq!(at("notes"), "Error::NotAvailable(\"notes\")");
    assert_eq!(said(&home, "get", &json!({ "entity": "counters", "key": "a" })), "2 1");
    // Without the namespace there is nothing to call.
    home.app.admin().revoke(&name, &[entities(None)]).expect("granted");
    assert_eq!(said(&home, "get", &json!({ "entity": "counters", "key": "a" })), "call/not-allowed");
}

#[test]
fn another_capability_cannot_read() {
    let home = home();
    put(&home, "a", "\"mine\"");
    home.install(renamed(&built("keeper"), |manifest| manifest["slug"] = json!("other-keeper")));
    home.install(renamed(&built("keeper"), |manifest| manifest["publisher"] = json!("mallory")));
    for other in ["test/other-keeper", "mallory/keeper"] {
        let said = |tool: &str, arguments: Value| outcome(&home.call(&format!("{other}.{tool}"), &arguments));
        assert_eq!(said("get", json!({ "entity": "notes", "key": "a" })), "nothing");
        for prefix in ["", "a"] {
            let listed = said("list", json!({ "entity": "notes", "prefix": prefix }));
            assert_eq!(listed, r#"{"documents":[]}"#);
        }
        assert_eq!(said("delete", json!({ "entity": "notes", "key": "a" })), "false");
        assert_eq!(said("put", json!({ "entity": "notes", "key": "a", "value": "\"theirs\"" })), "1");
    }
    assert_eq!(get(&home, "a"), "1 \"mine\"");
}

#[test]
fn documents_outlive_upgrades_and_uninstalls_but_no_purge() {
    let home = home();
    let name = "test/keeper".parse().expect("a name");
    put(&home, "a", "1");
    home.install(renamed(&built("keeper"), |manifest| manifest["version"] = json!("1.0.1")));
    assert_eq!(get(&home, "a"), "1 1", "after an upgrade");
    put(&home, "b", "2");
    home.app.admin().uninstall(&name).expect("installed");
    assert_eq!(get(&home, "a"), "call/unknown-tool");
    let offer = home.app.admin().offer(built("keeper")).expect("in order");
    assert_eq!((offer.keeps.documents, offer.keeps.bytes), (2, 4), "the installer is told");
    home.install(built("keeper"));
    assert_eq!((get(&home, "a"), get(&home, "b")), ("1 1".to_owned(), "2 2".to_owned()), "after an uninstall");
    let (digest, removed, _) = home.app.admin().purge(&name).expect("installed");
    assert!(digest.is_some());
    assert_eq!(removed.documents, 2);
    assert!(home.app.admin().purge(&name).is_err(), "nothing is left");
    home.install(built("keeper"));
    assert_eq!((get(&home, "a"), get(&home, "b")), ("nothing".to_owned(), "nothing".to_owned()));
    assert!(home.app.admin().history(&name, "notes", "a").expect("none").is_empty());
}

#[test]
fn a_dry_run_changes_nothing_whatever_the_guest_does() {
    let home = home();
    put(&home, "keep", "0");
    put(&home, "old", "0");
    let host = home.host();
    let reply = home
        .threads
        .block_on(host.call(rehearsal("rehearse", &json!({ "entity": "notes" })), CancellationToken::new()));
    let reply = reply.expect("the guest sees its own changes");
    let seen = reply.structured.expect("a list");
    let keys: Vec<_> = seen["documents"]
        .as_array()
        .unwrap()
        .iter()
        .map(|document| format!("{}={}", document["key"].as_str().unwrap(), document["value"].as_str().unwrap()))
        .collect();
    assert_eq!(keys, ["keep=0", "new=2"]);
    let planned: Vec<_> = reply
        .plan
        .changes
        .iter()
        .map(|change| format!("{} {} {}", change.action, change.entity, change.key))
        .collect();
    assert_eq!(planned, ["put notes new", "put notes new", "delete notes old"]);
    assert_eq!((get(&home, "new"), get(&home, "old")), ("nothing".to_owned(), "2 0".to_owned()));
    assert_eq!(put(&home, "next", "1"), "3", "not even a version was spent");
    let record = &home.records()[0];
    assert!(home.records().iter().all(|record| !record.dry_run || record.changes.is_empty()), "{record:?}");
    // What could not be made is not planned.
    let refused = home.threads.block_on(host.call(
        rehearsal("put", &json!({ "entity": "notes", "key": "keep", "value": "1", "expected": "absent" })),
        CancellationToken::new(),
    ));
    assert!(refused.expect_err("a conflict").error.message.contains("Conflict"));
}

#[test]
fn a_tool_that_only_reads_changes_nothing() {
    let home = home();
    put(&home, "a", "1");
    let arguments = json!({ "entity": "notes", "key": "a", "value": "2" });
    assert_eq!(said(&home, "sneak", &arguments), "Err(Error::ReadOnly) Err(Error::ReadOnly)");
    assert_eq!(get(&home, "a"), "1 1");
    let host = home.host();
    let rehearsed = home.threads.block_on(host.call(rehearsal("sneak", &arguments), CancellationToken::new()));
    assert_eq!(outcome(&rehearsed), "Err(Error::ReadOnly) Err(Error::ReadOnly)");
}

#[test]
fn db12_quotas_hold_against_a_guest_that_fills() {
    let home = with_settings("[entities]\ndocuments = 5\nbytes = 2000\nvalue-bytes = 500\ndepth = 8\n");
    let fill = |bytes: u32, prefix: &str| {
        said(&home, "fill", &json!({ "entity": "notes", "prefix": prefix, "bytes": bytes, "times": 20 }))
    };
    assert_eq!(fill(10, "a"), "5: Error::Quota(\"a capability keeps at most 5 documents\")");
    assert_eq!(fill(10, "b"), "0: Error::Quota(\"a capability keeps at most 5 documents\")");
    assert_eq!(fill(499, "a"), "3: Error::Quota(\"a capability keeps at most 2000 bytes of documents\")");
    assert_eq!(fill(501, "a"), "0: Error::InvalidValue(\"a value has at most 500 bytes, not 501\")");
    let nest = |depth: u32| said(&home, "nest", &json!({ "entity": "notes", "key": "a0", "depth": depth }));
    assert_eq!(nest(8), "kept");
    assert!(nest(9).contains("nested too deeply"), "{}", nest(9));
    let sums = home.app.admin().kept(&"test/keeper".parse().unwrap()).unwrap();
    assert!(sums.documents <= 5 && sums.bytes <= 2000, "{sums:?}");
    // Another one has a quota of its own.
    home.install(renamed(&built("keeper"), |manifest| manifest["slug"] = json!("other-keeper")));
    let other =
        home.call("test/other-keeper.fill", &json!({ "entity": "notes", "prefix": "a", "bytes": 10, "times": 3 }));
    assert_eq!(outcome(&other), "3: all");
}

#[test]
fn db12_default_limits_hold_against_extremes() {
    let home = home();
    let long_key = |bytes: u32| said(&home, "long_key", &json!({ "entity": "notes", "bytes": bytes }));
    assert_eq!(long_key(512), "kept");
    assert!(
        long_key(513).starts_with("Error::InvalidKey") || long_key(513).contains("InvalidKey"),
        "{}",
        long_key(513)
    );
    assert!(long_key(1024 * 1024).contains("InvalidKey"));
    let nest = |depth: u32| said(&home, "nest", &json!({ "entity": "notes", "key": "a", "depth": depth }));
    assert_eq!(nest(32), "kept");
    for deep in [33, 100_000] {
        assert!(nest(deep).contains("InvalidValue"), "{deep}");
    }
    let value =
        |bytes: u32| said(&home, "fill", &json!({ "entity": "notes", "prefix": "v", "bytes": bytes, "times": 1 }));
    assert_eq!(value(256 * 1024), "1: all");
    assert!(value(256 * 1024 + 1).contains("InvalidValue"));
    for (key, value) in [("\0", "1"), ("a\0b", "1"), ("a\nb", "1"), ("\u{85}", "1"), ("", "1")] {
        assert!(put(&home, key, value).contains("InvalidKey"), "{key:?}");
    }
    for value in ["", "{", "nul", "'a'", "1 2"] {
        assert!(put(&home, "a", value).contains("InvalidValue"), "{value:?}");
    }
}

#[test]
fn what_a_call_may_change_is_bounded() {
    let home = home();
    let much = json!({ "entity": "notes", "prefix": "k", "times": 60 });
    let ended = call(&home, "churn", &much).expect_err("12,000 changes");
    assert_eq!(ended.error.kind, ErrorKind::HostCalls, "{ended:?}");
    assert_eq!(home.records()[0].changes.len(), 10_000);
}

#[test]
fn db13_strange_keys_are_keys() {
    let home = home();
    let keys = ["'; DROP TABLE documents; --", "a%b", "a_b", "a*b", "a[b]", "axb", "\u{ffff}", "{{API_KEY}}", " "];
    for key in keys {
        assert!(put(&home, key, "1").parse::<u64>().is_ok(), "{key}: {}", put(&home, key, "1"));
    }
    for key in keys {
        assert!(get(&home, key).ends_with(" 1"), "{key}");
    }
    for (prefix, expected) in
        [("a%", 1), ("a_", 1), ("a*", 1), ("a[", 1), ("a", 5), ("'", 1), ("%", 0), ("\u{ffff}", 1), ("", 9)]
    {
        let listed = call(&home, "list", &json!({ "entity": "notes", "prefix": prefix })).expect("a list");
        let documents = listed.structured.expect("a list")["documents"].as_array().expect("documents").len();
        assert_eq!(documents, expected, "{prefix:?}");
    }
}

#[test]
fn a_transaction_is_made_whole_or_not_at_all() {
    let home = home();
    put(&home, "a", "1");
    let wishes = |expected: &str| {
        json!({ "wishes": [
            { "entity": "notes", "key": "a" },
            { "entity": "counters", "key": "b", "value": "1" },
            { "entity": "notes", "key": "c", "value": "1", "expected": expected },
        ] })
    };
    assert!(said(&home, "transact", &wishes("7")).contains("Conflict"));
    assert_eq!((get(&home, "a"), get(&home, "c")), ("1 1".to_owned(), "nothing".to_owned()));
    assert_eq!(said(&home, "transact", &wishes("absent")), "[0, 3, 4]");
    assert_eq!((get(&home, "a"), get(&home, "c")), ("nothing".to_owned(), "4 1".to_owned()));
    let of = |entity: &str, key: &str, action: &str, version, bytes| ChangeRecord {
        entity: entity.to_owned(),
        key: key.to_owned(),
        action: action.to_owned(),
        version,
        bytes,
    };
    let made = home.records().into_iter().find(|record| record.changes.len() == 3).expect("recorded").changes;
    assert_eq!(
        made,
        [of("notes", "a", "delete", 2, 0), of("counters", "b", "put", 3, 1), of("notes", "c", "put", 4, 1)],
    );

    let twice =
        json!({ "wishes": [{ "entity": "notes", "key": "c" }, { "entity": "notes", "key": "c", "value": "2" }] });
    assert!(said(&home, "transact", &twice).contains("changed twice"));
    let many = |count: usize| -> Value {
        let wishes: Vec<_> = (0..count)
            .map(|number| json!({ "entity": "notes", "key": format!("m{number}"), "value": "1" }))
            .collect();
        json!({ "wishes": wishes })
    };
    assert!(said(&home, "transact", &many(129)).contains("at most 128 changes"));
    assert_eq!(get(&home, "m0"), "nothing");
    assert!(call(&home, "transact", &many(128)).is_ok());
    assert_eq!(said(&home, "transact", &json!({ "wishes": [] })), "[]");
}

#[test]
fn a_list_goes_on_where_its_cursor_points_and_no_other() {
    let home = home();
    for number in 0..5 {
        put(&home, &format!("k{number}"), "1");
    }
    let list = |arguments: Value| call(&home, "list", &arguments).map(|reply| reply.structured.expect("a list"));
    let first = list(json!({ "entity": "notes", "prefix": "k", "limit": 2 })).expect("a page");
    let cursor = first["next"].as_str().expect("more").to_owned();
    let second = list(json!({ "entity": "notes", "prefix": "k", "limit": 2, "cursor": cursor })).expect("a page");
    assert_eq!((&second["documents"][0]["key"], &second["documents"][1]["key"]), (&json!("k2"), &json!("k3")));
    let last = list(json!({ "entity": "notes", "prefix": "k", "cursor": second["next"] })).expect("a page");
    assert_eq!((last["documents"].as_array().unwrap().len(), last.get("next")), (1, None));
    let refused = |arguments: Value| said(&home, "list", &arguments);
    for forged in ["", "0", "k1", "' OR 1=1 --", &"A".repeat(100_000), &cursor[1..]] {
        let error = refused(json!({ "entity": "notes", "prefix": "k", "cursor": forged }));
        assert!(error.contains("InvalidCursor"), "{error}");
    }
    // A good one of another list.
    for (entity, prefix) in [("counters", "k"), ("notes", ""), ("notes", "k1")] {
        let error = refused(json!({ "entity": entity, "prefix": prefix, "cursor": cursor }));
        assert!(error.contains("InvalidCursor"), "{entity} {prefix}: {error}");
    }
    home.install(renamed(&built("keeper"), |manifest| manifest["slug"] = json!("other-keeper")));
    let elsewhere =
        home.call("test/other-keeper.list", &json!({ "entity": "notes", "prefix": "k", "cursor": cursor }));
    assert!(elsewhere.expect_err("another's").error.message.contains("InvalidCursor"));
    // Any limit gives a page.
    for (limit, expected) in [(0, 1), (u32::MAX, 5)] {
        let page = list(json!({ "entity": "notes", "limit": limit })).expect("a page");
        assert_eq!(page["documents"].as_array().unwrap().len(), expected);
    }
}

#[test]
fn a_page_has_a_mebibyte_at_most() {
    let home = home();
    let fill = json!({ "entity": "notes", "prefix": "v", "bytes": 200 * 1024, "times": 12 });
    assert_eq!(said(&home, "fill", &fill), "12: all");
    let mut keys = Vec::new();
    let mut place = json!({ "entity": "notes" });
    loop {
        let reply = call(&home, "list", &place).expect("a page");
        let page = reply.structured.expect("a list");
        let documents = page["documents"].as_array().expect("documents");
        assert!((2..=5).contains(&documents.len()), "five fit: {}", documents.len());
        keys.extend(documents.iter().map(|document| document["key"].as_str().expect("a key").to_owned()));
        match page.get("next") {
            Some(next) => place["cursor"] = next.clone(),
            None => break,
        }
    }
    assert_eq!(keys.len(), 12);
}

#[test]
fn parallel_calls_with_expected_versions_lose_nothing() {
    const CALLS: u64 = 8;
    const TIMES: u64 = 10;
    let home = home();
    let host = home.host();
    let counted = home.threads.block_on(async {
        let calls = (0..CALLS).map(|_| {
            let request = request("test/keeper.count", &json!({ "key": "c", "times": TIMES }));
            let host = host.clone();
            tokio::spawn(async move { host.call(request, CancellationToken::new()).await })
        });
        let mut results = Vec::new();
        for call in calls.collect::<Vec<_>>() {
            results.push(call.await.expect("no panic"));
        }
        results
    });
    assert!(counted.iter().all(Result::is_ok), "{counted:?}");
    let value = said(&home, "get", &json!({ "entity": "counters", "key": "c" }));
    assert_eq!(value, format!("{0} {0}", CALLS * TIMES));
    let recorded: usize = home.records().iter().map(|record| record.changes.len()).sum();
    assert_eq!(recorded as u64, CALLS * TIMES, "each change is recorded, and no other");
}

#[test]
fn two_processes_count_together() {
    let home = home();
    let counting: Vec<_> = (0..2)
        .map(|_| {
            let path = home.path().to_owned();
            std::thread::spawn(move || {
                remit(&path, &["call", "test/keeper.count", "{\"key\":\"c\",\"times\":20}"], "")
            })
        })
        .collect();
    for ended in counting {
        let ended = ended.join().expect("it ends");
        assert_eq!(ended.exit, Some(0), "{ended:?}");
    }
    assert_eq!(said(&home, "get", &json!({ "entity": "counters", "key": "c" })), "40 40");
}

#[test]
fn a_call_that_is_over_changes_nothing_more() {
    let home = Home::new();
    let impatient = renamed(&built("keeper"), |manifest| manifest["limits"] = json!({ "timeMs": 1_000 }));
    // Compiling is no part of the second.
    home.threads.block_on(home.app.prepare(&impatient)).expect("it compiles");
    home.install(impatient);
    // More waits for the disk than fit into a second.
    let much = json!({ "entity": "notes", "prefix": "k", "bytes": 10, "times": 9_999 });
    let begun = Instant::now();
    assert_eq!(call(&home, "fill", &much).expect_err("no time is left").error.kind, ErrorKind::Time);

    let host = home.host();
    let cancel = CancellationToken::new();
    let ended = home.threads.block_on(async {
        let call = host.call(request("test/keeper.fill", &much), cancel.clone());
        tokio::pin!(call);
        tokio::select! {
            ended = &mut call => ended,
            () = tokio::time::sleep(Duration::from_millis(300)) => {
                cancel.cancel();
                call.await
            }
        }
    });
    assert_eq!(ended.expect_err("nobody waits").error.kind, ErrorKind::Cancelled);
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
    // Everything that waited is written now: what was changed is recorded, and stays as it is.
    let recorded: usize = home.records().iter().map(|record| record.changes.len()).sum();
    assert!(recorded > 0);
    let documents = home.app.admin().export(&"test/keeper".parse().expect("a name")).expect("documents");
    let last = documents.iter().map(|(_, document)| document.version).max();
    assert_eq!(last, Some(recorded as u64), "as many changes as versions");
}

#[test]
fn a_change_is_seen_where_people_look() {
    let home = home();
    put(&home, "a b", "[1]");
    let record = &home.records()[0];
    let shown = remit(home.path(), &["audit", &record.id], "");
    assert!(shown.stdout.contains("\nchanges\n  put  notes a b  3 B\n"), "{shown:?}");
    assert!(!shown.stdout.contains("[1]"), "never the value: {shown:?}");
    let value = remit(home.path(), &["audit", &record.id, "--json"], "").json();
    let change = json!([{ "entity": "notes", "key": "a b", "action": "put", "version": 1, "bytes": 3 }]);
    assert_eq!(value["changes"], change);
    for arguments in [
        &["entities", "restore", "test/keeper", "notes", "a b", "--version", "1"][..],
        &["entities", "delete", "test/keeper", "notes", "a b"],
        &["uninstall", "test/keeper", "--purge"],
    ] {
        let ended = remit(home.path(), arguments, "");
        assert_eq!(ended.exit, Some(0), "{ended:?}");
    }
    let by_hand: Vec<_> = home
        .records()
        .into_iter()
        .filter(|record| record.principal == "cli")
        .map(|record| (record.tool, record.outcome, record.changes.len()))
        .collect();
    let of = |tool: &str, changes| (tool.to_owned(), "ok".to_owned(), changes);
    assert_eq!(by_hand, [of("entities.purge", 0), of("entities.delete", 1), of("entities.restore", 1)]);
}

#[test]
fn secrets_never_come_in() {
    let upstream = Upstream::start(&[HOST], |seen| {
        let headers: serde_json::Map<String, Value> =
            seen.headers.iter().map(|(name, value)| (name.clone(), value.clone().into())).collect();
        Answer::json(200, &json!({ "headers": headers }))
    });
    let folder = tempfile::tempdir().expect("a scratch folder");
    let authority = folder.path().join("upstream.pem");
    std::fs::write(&authority, upstream.authority_pem()).expect("room");
    std::fs::write(folder.path().join("remit.toml"), upstream.settings("test/keeper", HOST, &authority))
        .expect("room");
    let home = Home::open(folder);
    home.install(built("keeper"));
    let admin = home.app.admin();
    admin.set_secret("API_KEY", SECRET.as_bytes()).expect("a good secret");
    let approval = Approval {
        secret: "API_KEY".to_owned(),
        source: "API_KEY".to_owned(),
        host: HOST.to_owned(),
        port: 443,
        place: Place::Header("authorization".to_owned()),
        expires_at: None,
    };
    admin.approve(&"test/keeper".parse().unwrap(), &[approval]).expect("declared");

    let remembered = said(&home, "remember", &json!({ "url": "https://api.example.com/", "key": "echo" }));
    assert!(remembered.contains("[redacted:API_KEY]"), "{remembered}");
    assert_eq!(upstream.seen().len(), 1, "it was sent");
    put(&home, "literal", "\"{{API_KEY}}\"");
    assert_eq!(get(&home, "literal"), "2 \"{{API_KEY}}\"", "a placeholder is text here");
    assert!(get(&home, "echo").contains("[redacted:API_KEY]"));
    home.app.shutdown();
    for file in ["remit.db", "remit.db-wal"] {
        let bytes = std::fs::read(home.path().join(file)).expect("a file");
        assert!(!bytes.windows(SECRET.len()).any(|window| window == SECRET.as_bytes()), "{file}");
    }
    let exported = remit(home.path(), &["entities", "export", "test/keeper"], "");
    assert!(exported.stdout.contains("[redacted:API_KEY]") && !exported.stdout.contains(SECRET), "{exported:?}");
}

#[test]
fn a_copy_comes_back_whole() {
    let home = home();
    for (key, value) in
        [("a", "123456789012345678901234567890"), ("b", "{\n \"x\": \"\\n\"\n}"), ("\u{ffff}", "null")]
    {
        put(&home, key, value);
    }
    let exported = remit(home.path(), &["entities", "export", "test/keeper"], "").stdout;
    assert_eq!(exported.lines().count(), 3, "{exported}");
    let there = Home::new();
    let import = |arguments: &[&str]| {
        let arguments = [&["entities", "import", "test/keeper", "-"], arguments].concat();
        remit(there.path(), &arguments, &exported)
    };
    let count = |ended: &crate::support::home::Ended| ended.json()["added"].as_u64();
    let tried = import(&["--dry-run", "--json"]);
    assert_eq!(count(&tried), Some(3), "{tried:?}");
    assert_eq!(there.app.admin().kept(&"test/keeper".parse().unwrap()).unwrap().documents, 0);
    assert_eq!(count(&import(&["--json"])), Some(3));
    assert_eq!(import(&["--json"]).json()["unchanged"], 3);
    there.install(built("keeper"));
    assert_eq!(get(&there, "a"), "1 123456789012345678901234567890");
    assert_eq!(get(&there, "\u{ffff}"), "3 null");
    assert_eq!(there.records().iter().filter(|record| record.tool == "entities.import").count(), 1);
}
