//! Attacks on whose a secret is, and for how long: guests that only talk about it, other capabilities, other
//! publishers, other bytes, a name that moved, a server that wants it again.

use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock};

use remit::call::CallRequest;
use remit::policy::Place;
use remit_upstream::Answer;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::{body, field, keyed, post, refused, told, with_key, without_key};
use crate::support::home::{built, remit, renamed, request};
use crate::support::outside::Lookup;
use crate::support::world::{HOST, SECRET, World, approval, authorization};

const OTHER_SECRET: &str = "pk_test_Qm5+tR/0vJz8yEw1Kd=";
const NOT_AVAILABLE: &str = r#"SecretNotAvailable("API_KEY")"#;

fn dry(world: &World, tool: &str, arguments: &serde_json::Value) -> remit::call::Reply {
    let host = world.home.host();
    let call = CallRequest { dry_run: true, ..request(tool, arguments) };
    world.home.threads.block_on(host.call(call, CancellationToken::new())).expect("a plan")
}

#[test]
fn s36_a_placeholder_that_a_guest_says_stays_one() {
    let world = World::new(|_| Answer::json(200, &json!({ "text": "{{API_KEY}}" })))
        .granted()
        .with_secret(HOST, &[authorization(), Place::Body]);
    // In a result, a failure, a log line and a record; with the vault open in that call, and shut.
    let answered = world.fetch(&with_key());
    assert_eq!(body(answered), r#"{"text":"{{API_KEY}}"}"#);
    for arguments in [json!({ "message": "{{API_KEY}}" }), {
        let mut asks_first = with_key();
        asks_first["message"] = json!("{{API_KEY}}");
        asks_first
    }] {
        let failure = world.home.call("test/probe.complain", &arguments).expect_err("it complains");
        assert!(failure.error.message.starts_with("{{API_KEY}}"), "{failure:?}");
        let record = &world.home.records()[0];
        assert!(record.log[0].contains("{{API_KEY}}"), "{record:?}");
        assert!(!format!("{record:?} {failure:?}").contains(SECRET), "{record:?}");
    }
    let reply =
        dry(&world, "test/probe.change", &json!({ "url": format!("https://{HOST}/"), "body": "{{API_KEY}}" }));
    assert!(!format!("{reply:?} {:?}", world.home.records()[0]).contains(SECRET), "{reply:?}");
}

#[test]
fn s37_a_dry_run_opens_nothing_and_sends_nothing() {
    let world = World::echo().granted().with_secret(HOST, &[authorization(), Place::Body]);
    let arguments = json!({
        "url": format!("https://{HOST}/things"), "headers": ["authorization: Bearer {{API_KEY}}"], "body": "{{API_KEY}}",
    });
    let reply = without_key(&world, || dry(&world, "test/probe.change", &arguments));
    assert_eq!((world.outside.counts(), world.upstream.seen().len()), ((0, 0), 0));
    assert_eq!(reply.structured.as_ref().expect("structured")["status"], 202);
    let plan = &reply.plan.requests[0];
    assert_eq!(
        (plan.method.as_str(), plan.path.as_str(), &plan.secrets[..]),
        ("POST", "/things", &["API_KEY".to_owned()][..])
    );
    assert_eq!(plan.bytes_out as usize, "{{API_KEY}}".len(), "the template's size, not the value's");
    assert!(!format!("{reply:?}").contains(SECRET));
    assert!(world.home.call("test/probe.change", &arguments).is_ok());
    assert_eq!(world.upstream.seen()[0].body, SECRET.as_bytes());
}

#[test]
fn s38_a_secret_of_one_capability_is_no_other_ones() {
    let world = keyed();
    world.home.install(renamed(&built("probe"), |manifest| manifest["slug"] = json!("other-probe")));
    let other = || world.home.call("test/other-probe.fetch", &with_key());
    let before = world.outside.counts();
    assert_eq!(told(&without_key(&world, other)), NOT_AVAILABLE);
    assert_eq!((world.outside.counts(), world.upstream.seen().len()), (before, 0));

    // The same placeholder may stand for another value there.
    world.set("WORK_KEY", OTHER_SECRET);
    let mut wish = approval("API_KEY", HOST, 443, &authorization());
    wish.source = "WORK_KEY".to_owned();
    world.approve("test/other-probe", &[wish]);
    for answer in [world.fetch(&with_key()), other()] {
        assert!(body(answer).contains("Bearer [redacted:API_KEY]"));
    }
    let sent: Vec<_> =
        world.upstream.seen().iter().map(|seen| seen.header("authorization").map(str::to_owned)).collect();
    assert_eq!(sent, [SECRET, OTHER_SECRET].map(|value| Some(format!("Bearer {value}"))));
}

#[test]
fn s39_who_takes_a_name_over_takes_no_secret() {
    let world = keyed();
    assert!(world.fetch(&with_key()).is_ok());
    let name = "test/probe".parse().expect("a name");
    world.home.app.admin().uninstall(&name).expect("it was there");
    world.home.install(renamed(&built("probe"), |manifest| manifest["publisher"] = json!("other")));
    let other = || world.home.call("other/probe.fetch", &with_key());
    assert_eq!(told(&without_key(&world, other)), NOT_AVAILABLE, "the same slug of another publisher");
    world.home.install(built("probe"));
    refused(&world, &with_key(), NOT_AVAILABLE, "secret/not-available");
    assert_eq!(world.upstream.seen().len(), 1, "even the same bytes start with nothing");
    world.approve("test/probe", &[approval("API_KEY", HOST, 443, &authorization())]);
    assert!(world.fetch(&with_key()).is_ok());
}

#[test]
fn s40_an_upgrade_needs_a_new_word() {
    let world = keyed();
    let next = |version: &str| {
        renamed(&built("probe"), |manifest| {
            manifest["version"] = json!(version);
            manifest["secrets"][0]["in"] =
                json!(["header:authorization", "header:x-api-key", "body", "header:x-new"]);
        })
    };
    world.home.install(next("1.1.0"));
    let wider = json!({ "url": format!("https://{HOST}/"), "headers": ["x-new: {{API_KEY}}"] });
    for arguments in [&wider, &with_key()] {
        refused(&world, arguments, NOT_AVAILABLE, "secret/not-available");
    }
    world.approve("test/probe", &[approval("API_KEY", HOST, 443, &authorization())]);
    assert!(world.fetch(&with_key()).is_ok());
    refused(&world, &wider, "SecretPlacement", "secret/placement");
    world.approve("test/probe", &[approval("API_KEY", HOST, 443, &field("x-new"))]);
    assert!(world.fetch(&wider).is_ok());
    assert_eq!(world.upstream.seen()[1].header("x-new"), Some(SECRET));
}

/// A world whose server, asked for the first time, has this command run, and then says all it was ever told.
fn meddling(command: &'static [&'static str], input: &'static str) -> World {
    let home: Arc<OnceLock<PathBuf>> = Arc::default();
    let (at_home, kept) = (home.clone(), Mutex::new(Vec::new()));
    let world = World::new(move |seen| {
        let mut kept = kept.lock().expect("one request at a time");
        if kept.is_empty() {
            let ended = remit(at_home.get().expect("a home"), command, input);
            assert_eq!(ended.exit, Some(0), "{ended:?}");
            kept.push(input.to_owned());
        }
        kept.extend(seen.header("authorization").map(str::to_owned));
        Answer::new(200, "text/plain", kept.join(" "))
    });
    let world = world.granted().with_secret(HOST, &[authorization()]);
    home.set(world.home.path().to_owned()).expect("once");
    world
}

#[test]
fn s41_a_value_that_is_replaced_while_a_request_runs_comes_back_no_more_than_the_new_one() {
    let world = meddling(&["secret", "set", "API_KEY"], OTHER_SECRET);
    let first = body(world.fetch(&with_key()));
    assert_eq!(
        first, "[redacted:API_KEY] Bearer [redacted:API_KEY]",
        "the new one, and the old one that was sent"
    );
    let second = body(world.fetch(&with_key()));
    assert_eq!(second, "[redacted:API_KEY] Bearer [redacted:API_KEY] Bearer [redacted:API_KEY]");
    let sent: Vec<_> =
        world.upstream.seen().iter().map(|seen| seen.header("authorization").map(str::to_owned)).collect();
    assert_eq!(sent, [SECRET, OTHER_SECRET].map(|value| Some(format!("Bearer {value}"))));
    let records = format!("{:?}", world.home.records());
    assert!(!records.contains(SECRET) && !records.contains(OTHER_SECRET), "{records}");
}

#[test]
fn s42_an_approval_that_is_withdrawn_counts_for_the_next_request() {
    let world = meddling(&["disapprove", "test/probe", "API_KEY"], "");
    let mut twice = with_key();
    twice["times"] = json!(2);
    let reply = world.home.call("test/probe.flood", &twice).expect("the guest goes on");
    assert!(told(&Ok(reply)).contains("SecretNotAvailable"), "the second one");
    let outcomes: Vec<_> =
        world.home.records()[0].requests.iter().map(|request| request.outcome.clone()).collect();
    assert_eq!(outcomes, ["sent", "secret/not-available"]);
    assert_eq!(world.upstream.seen().len(), 1);
    refused(&world, &with_key(), NOT_AVAILABLE, "secret/not-available");
    // What it was sent before comes back as little as ever.
    let read = body(world.fetch(&json!({ "url": format!("https://{HOST}/") })));
    assert_eq!(read, " Bearer [redacted:API_KEY]");
}

#[test]
fn s46_no_command_shows_a_value() {
    let world = keyed();
    assert!(world.fetch(&with_key()).is_ok());
    let home = world.home.path();
    // A list has times, and nothing else to tell.
    world.home.app.shutdown();
    let listed = remit(home, &["secret", "list", "--json"], "").json();
    assert_eq!(listed[0]["name"], "API_KEY");
    for time in ["createdAt", "changedAt", "usedAt"] {
        assert!(listed[0][time].is_string(), "{time}: {listed}");
    }
    let call = with_key().to_string();
    let commands: [&[&str]; 14] = [
        &["secret", "list"],
        &["secret", "set", "API_KEY"],
        &["secret", "set", "API_KEY", SECRET],
        &["show", "test/probe"],
        &["list"],
        &["audit"],
        &["audit", "--limit", "1000"],
        &["approve", "test/probe", "API_KEY", "--yes"],
        &["call", "test/probe.fetch", &call],
        &["call", "test/probe.fetch", &call, "--usage"],
        &["call", "test/probe.change", &call, "--dry-run"],
        &["disapprove", "test/probe", "API_KEY"],
        &["secret", "remove", "API_KEY"],
        &["secret", "list"],
    ];
    for json in [&[][..], &["--json"]] {
        world.set("API_KEY", SECRET);
        for command in commands {
            let said = remit(home, &[command, json].concat(), SECRET);
            assert!(!format!("{said:?}").contains(SECRET), "{command:?}: {said:?}");
            let expected = if command.contains(&SECRET) { 2 } else { 0 };
            assert_eq!(said.exit, Some(expected), "{command:?}: {said:?}");
        }
    }
    // There is no command for it either.
    for command in ["get", "show", "export", "reveal"] {
        assert_eq!(remit(home, &["secret", command, "API_KEY"], "").exit, Some(2), "{command}");
    }
}

#[test]
fn s47_a_name_that_became_private_costs_no_value() {
    let world = keyed();
    assert!(world.fetch(&with_key()).is_ok());
    for address in
        ["127.0.0.1", "10.1.2.3", "169.254.169.254", "::1", "fd00::1", "::ffff:10.0.0.1", "64:ff9b::a00:1"]
    {
        let there: IpAddr = address.parse().expect("an address");
        world.outside.name(HOST, Lookup::Address(there));
        let before = world.outside.counts();
        let result = without_key(&world, || world.fetch(&with_key()));
        assert_eq!(told(&result), "PrivateAddress", "{address}");
        let request = &world.home.records()[0].requests[0];
        assert_eq!(
            (request.outcome.as_str(), request.address.as_deref()),
            ("http/private-address", Some(address))
        );
        assert_eq!(world.outside.counts(), (before.0 + 1, before.1), "{address}: looked up, not dialled");
    }
    assert_eq!(world.upstream.seen().len(), 1);
}

#[test]
fn s48_nothing_is_sent_twice_by_the_host() {
    for (status, answer) in [
        (500, "HTTP/1.1 500 Oops\r\ncontent-length: 0\r\nretry-after: 0\r\n\r\n"),
        (503, "HTTP/1.1 503 Busy\r\ncontent-length: 0\r\nretry-after: 0\r\n\r\n"),
        (429, "HTTP/1.1 429 Slowly\r\ncontent-length: 0\r\nretry-after: 0\r\n\r\n"),
        (408, "HTTP/1.1 408 Late\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"),
        // Closes without a word: what libraries take for a stale connection.
        (0, ""),
    ] {
        let world =
            World::raw(move |_| vec![answer.as_bytes().to_vec()]).granted().with_secret(HOST, &[Place::Body]);
        for method in ["POST", "GET"] {
            let before = world.upstream.seen().len();
            let mut once = post(HOST, &[], "{{API_KEY}}");
            once["method"] = json!(method);
            let result = world.fetch(&once);
            assert_eq!(world.upstream.seen().len(), before + 1, "{status} {method}: {result:?}");
            // A guest that insists is counted, request by request.
            let mut thrice = once.clone();
            thrice["times"] = json!(3);
            assert!(world.home.call("test/probe.flood", &thrice).is_ok());
            assert_eq!(world.upstream.seen().len(), before + 4, "{status} {method}");
            assert_eq!(world.home.records()[0].requests.len(), 3, "{status} {method}");
        }
        let mut six = post(HOST, &[], "{{API_KEY}}");
        six["times"] = json!(6);
        let failure = world.home.call("test/probe.flood", &six).expect_err("five are allowed");
        assert_eq!(failure.error.kind.code(), "budget/egress");
    }
}
