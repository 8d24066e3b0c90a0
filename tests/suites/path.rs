//! The one path of a call: recorded whatever its end, judged by policy, checked on the way in and out; and
//! no agent is told how to widen a grant.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use remit::call::CallRequest;
use remit::manifest::NamespaceName;
use remit::policy::Identity;
use remit::policy::{Grant, Place};
use remit_guests::{Guest, manifest};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::support::client::Client;
use crate::support::home::{Home, built, outcome, program, remit, renamed, request};
use crate::support::outside::PUBLIC;
use crate::support::world::{HOST, SECRET, World};

/// A call that has not begun by then is stuck.
const PATIENCE: Duration = Duration::from_secs(30);

/// The capability `test/SLUG` whose tool has this field of the manifest.
fn with_tool(guest: &Guest, slug: &str, field: &str, value: Value) -> Vec<u8> {
    let mut manifest = manifest(slug);
    manifest["tools"][0][field] = value;
    guest.with_manifest(&manifest)
}

#[test]
fn every_call_leaves_one_record() {
    let home = Home::new();
    home.install(Guest::echoes().capability("echoes"));
    home.install(Guest::traps().capability("traps"));
    home.install(Guest::fails(1, "no such place").capability("fails"));
    let cases = [
        ("stdio", "test/echoes.run", json!({ "input": "hello" }), true, "ok"),
        ("cli", "test/echoes.run", json!({ "input": 1 }), true, "call/invalid-input"),
        ("http", "test/traps.run", json!({}), true, "capability/trap"),
        ("cli", "test/fails.run", json!({}), true, "capability/not-found"),
        ("stdio", "test/echoes.walk", json!({}), false, "call/unknown-tool"),
        ("http", "test/nothing.run", json!({}), false, "call/unknown-tool"),
    ];
    let host = home.host();
    let mut fuel = Vec::new();
    for (principal, tool, arguments, is_known, expected) in &cases {
        let call = CallRequest { caller: Identity::operator(*principal), ..request(tool, arguments) };
        let result = home.threads.block_on(host.call(call, CancellationToken::new()));
        let (id, usage) = match &result {
            Ok(reply) => (&reply.call_id, reply.usage),
            Err(failure) => (&failure.call_id, failure.usage),
        };
        let records = home.records();
        let record =
            records.iter().find(|record| record.id == *id).expect("the record that the caller was told of");
        assert_eq!(record.outcome, *expected, "{tool} {arguments}");
        assert_eq!(record.principal, *principal);
        assert_eq!(format!("{}.{}", record.capability, record.tool), *tool);
        assert_eq!(record.digest.is_some(), *is_known, "{tool}");
        assert_eq!(record.usage.fuel, usage.fuel);
        fuel.push(usage.fuel > 0);
        assert!(record.requests.is_empty() && record.log.is_empty());
    }
    assert_eq!(home.records().len(), cases.len());
    assert_eq!(fuel, [true, false, true, true, false, false], "only guests that ran spent something");
}

#[test]
fn a_record_has_a_child_for_each_request() {
    let places = [Place::Header("authorization".to_owned())];
    let world = World::echo().granted().with_secret(HOST, &places);
    let url = "https://api.example.com/things?token=private";
    assert!(world.fetch(&json!({ "url": url, "headers": ["authorization: Bearer {{API_KEY}}"] })).is_ok());
    let record = &world.home.records()[0];
    assert_eq!(record.requests.len(), 1);
    let child = &record.requests[0];
    assert_eq!((child.method.as_str(), child.authority.as_str(), child.path.as_str()), ("GET", HOST, "/things"));
    assert_eq!((child.status, child.outcome.as_str()), (Some(200), "sent"));
    assert_eq!(child.address, Some(format!("{PUBLIC}:443")));
    assert_eq!(child.secrets, ["API_KEY"]);
    assert_eq!(record.usage.bytes_in, child.bytes_in);
    let all = format!("{record:?}");
    assert!(!all.contains(SECRET) && !all.contains("private"), "neither secrets nor queries: {all}");
    assert!(world.fetch(&json!({ "url": "https://other.example.com/" })).is_err());
    assert_eq!(world.recorded(), ["GET other.example.com http/host-not-allowed"], "what was refused, too");
}

#[test]
fn a_call_that_can_change_something_is_on_disk_before_its_guest_runs() {
    let scratch = tempfile::tempdir().expect("a scratch folder");
    let home = scratch.path().join("home");
    for (slug, is_read_only) in [("changes", false), ("reads", true)] {
        let mut manifest = manifest(slug);
        manifest["tools"][0]["readOnly"] = json!(is_read_only);
        manifest["limits"] = json!({ "fuel": 10_000_000_000_u64, "timeMs": 60_000 });
        let guest = if is_read_only { Guest::done() } else { Guest::loops() };
        let file = scratch.path().join(slug);
        std::fs::write(&file, guest.with_manifest(&manifest)).expect("room");
        let ended = remit(&home, &["install", &file.display().to_string(), "--yes"], "");
        assert_eq!(ended.exit, Some(0), "{ended:?}");
    }
    let outcomes = |capability: &str| {
        let records = remit(&home, &["audit", "--json", "--capability", capability], "").json();
        let records = records.as_array().expect("records").iter();
        records.map(|record| record["outcome"].as_str().expect("text").to_owned()).collect::<Vec<_>>()
    };
    let mut looping = Command::new(program())
        .args(["call", "test/changes.run", "--yes"])
        .env("REMIT_HOME", &home)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("remit starts");
    let begun = Instant::now();
    // Starting a program to look is pause enough.
    while outcomes("test/changes").is_empty() {
        assert!(begun.elapsed() < PATIENCE, "the call never began");
    }
    assert_eq!(outcomes("test/changes"), ["running"], "another process sees it");
    looping.kill().expect("it runs for ever");
    looping.wait().expect("it is gone");
    assert_eq!(outcomes("test/changes"), ["aborted"]);

    assert_eq!(remit(&home, &["call", "test/reads.run"], "").exit, Some(0));
    assert_eq!(outcomes("test/reads"), ["ok"], "exactly one");
}

#[test]
fn what_a_guest_logs_is_in_its_record_without_secrets() {
    let places = [Place::Header("authorization".to_owned())];
    let world = World::echo().granted().with_secret(HOST, &places);
    let failure = world.home.call(
        "test/probe.complain",
        &json!({
            "message": "it said:",
            "url": "https://api.example.com/",
            "headers": ["authorization: Bearer {{API_KEY}}"],
        }),
    );
    let message = failure.expect_err("it complains").error.message;
    assert!(message.contains("Bearer [redacted:API_KEY]") && !message.contains(SECRET), "{message}");
    let record = &world.home.records()[0];
    assert_eq!(record.log.len(), 1);
    assert!(record.log[0].starts_with("info: it said: "), "{:?}", record.log);
    assert!(record.log[0].contains("Bearer [redacted:API_KEY]"), "{:?}", record.log);
    assert!(!format!("{record:?}").contains(SECRET));
}

#[test]
fn an_agent_learns_that_it_may_not_and_not_how_it_could() {
    let world = World::echo();
    let home = world.home.path();
    let file = home.join("probe.wasm");
    std::fs::write(&file, built("probe")).expect("room");
    let run = |arguments: &[&str]| {
        let ended = remit(home, arguments, "");
        assert_eq!(ended.exit, Some(0), "{ended:?}");
    };
    run(&["install", &file.display().to_string(), "--grant", "none"]);
    let mut client = Client::start(home);
    let mut call = |url: &str| {
        let arguments = json!({ "name": "probe__fetch", "arguments": { "url": url } });
        let result = client.request("tools/call", &arguments);
        let said = format!("{result:?}");
        for word in ["remit grant", "remit show", "hint", "remit approve"] {
            assert!(!said.contains(word), "`{word}` in {said}");
        }
        match result {
            Err(error) => error["message"].as_str().expect("text").to_owned(),
            Ok(result) if result["isError"] == true => {
                result["content"][0]["text"].as_str().expect("text").to_owned()
            }
            Ok(result) => result["structuredContent"]["status"].to_string(),
        }
    };
    let url = "https://api.example.com/";
    let unknown = "there is no tool `probe__fetch`";
    assert_eq!(call(url), unknown, "what cannot work is not offered");
    run(&["grant", "test/probe", "http", HOST]);
    assert_eq!(call(url), "200", "on the very next call");
    let refused = call("https://files.cdn.example.com/");
    assert!(refused.contains("HostNotAllowed"), "{refused}");
    // A person is told.
    let ended = remit(home, &["call", "test/probe.fetch", "{\"url\":\"https://files.cdn.example.com/\"}"], "");
    assert!(ended.stderr.contains("hint: remit approve "), "{ended:?}");
    run(&["revoke", "test/probe", "http"]);
    assert_eq!(call(url), unknown);
    assert_eq!(world.upstream.seen().len(), 1);
}

#[test]
fn input_is_checked_before_a_guest_runs() {
    let schema = json!({
        "type": "object",
        "additionalProperties": false,
        "required": ["order"],
        "properties": {
            "order": {
                "type": "object",
                "additionalProperties": false,
                "properties": {
                    "lines": {
                        "type": "array",
                        "maxItems": 3,
                        "items": {
                            "type": "object",
                            "additionalProperties": false,
                            "required": ["count"],
                            "properties": {
                                "count": { "type": "integer", "minimum": 1 },
                                "a.b": { "type": "string", "maxLength": 5 },
                            },
                        },
                    },
                },
            },
        },
    });
    let home = Home::new();
    home.install(with_tool(&Guest::done(), "strict", "inputSchema", schema));
    let line = |line: Value| json!({ "order": { "lines": [{ "count": 1 }, line] } });
    let long = "x".repeat(1_000_000);
    let cases = [
        (json!({}), "the arguments: the property `order` is missing"),
        (json!({ "order": {}, "dry_run": true }), "the arguments: no property is named `dry_run`"),
        (json!({ "order": { "line": [] } }), "`/order`: no property is named `line`"),
        (line(json!({ "count": "1" })), "`/order/lines/1/count`: it is not of type `integer`"),
        (line(json!({ "count": 1.5 })), "`/order/lines/1/count`: it is not of type `integer`"),
        (line(json!({ "count": 0 })), "`/order/lines/1/count`: it is less than the minimum of 1"),
        (line(json!({})), "`/order/lines/1`: the property `count` is missing"),
        (line(json!({ "count": 1, "a.b": long })), "`/order/lines/1/a.b`: it is longer than 5 characters"),
        (line(json!({ "count": 1, long.as_str(): 1 })), "`/order/lines/1`: no property is named `xxx"),
        (line(json!(null)), "`/order/lines/1`: it is not of type `object`"),
    ];
    for (arguments, expected) in &cases {
        let failure = home.call("test/strict.run", arguments).expect_err("it does not fit");
        assert_eq!(failure.error.kind.code(), "call/invalid-input");
        assert!(failure.error.message.starts_with(expected), "{} is not {expected}", failure.error.message);
        assert!(failure.error.message.len() < 500, "a large value does not come back");
        assert!(failure.input_schema.is_some(), "it says what would fit");
        assert_eq!(failure.usage.fuel, 0);
    }
    assert_eq!(outcome(&home.call("test/strict.run", &line(json!({ "count": 2 })))), "done");
}

#[test]
fn output_is_what_was_promised() {
    let schema = json!({
        "type": "object",
        "required": ["total"],
        "properties": { "total": { "type": "integer" }, "names": { "type": "array", "items": { "type": "string" } } },
    });
    let cases = [
        (r#"{"total":1}"#, r#"{"total":1}"#),
        (r#"{"total":1,"names":["a"]}"#, r#"{"total":1,"names":["a"]}"#),
        ("{}", "the answer does not fit the output schema at ``: the property `total` is missing"),
        (r#"{"total":"1"}"#, "the answer does not fit the output schema at `/total`: it is not of type `integer`"),
        (
            r#"{"total":1,"names":["a",2]}"#,
            "the answer does not fit the output schema at `/names/1`: it is not of type `string`",
        ),
        ("[]", "the answer does not fit the output schema at ``: it is not of type `object`"),
        ("null", "the answer does not fit the output schema at ``: it is not of type `object`"),
        ("", "the answer's structured part is not JSON"),
        ("{\"total\":1}{", "the answer's structured part is not JSON"),
    ];
    let home = Home::new();
    let said = |slug: &str| match home.call(&format!("test/{slug}.run"), &json!({})) {
        Ok(reply) => reply.structured.expect("structured").to_string(),
        Err(failure) => {
            assert_eq!(failure.error.kind.code(), "call/invalid-output");
            failure.error.message
        }
    };
    for (index, (answer, expected)) in cases.iter().enumerate() {
        let slug = format!("promise-{index}");
        home.install(with_tool(&Guest::structured(answer), &slug, "outputSchema", schema.clone()));
        assert_eq!(said(&slug), *expected, "{answer}");
    }
    home.install(with_tool(&Guest::done(), "breaks", "outputSchema", schema));
    assert_eq!(said("breaks"), "the tool promises structured output and gave none");
    home.install(Guest::structured("[1]").capability("no-promise"));
    assert_eq!(said("no-promise"), "[1]", "without a promise everything fits");
}

#[test]
fn grants_belong_to_the_bytes() {
    let world = World::echo();
    let home = &world.home;
    let probe = built("probe");
    let name = "test/probe".parse().expect("a name");
    let call = || outcome(&world.fetch(&json!({ "url": "https://api.example.com/", "method": "HEAD" })));
    let refused = "call/not-allowed";
    let granted = [
        Grant { namespace: NamespaceName::Http, entry: None },
        Grant { namespace: NamespaceName::Http, entry: Some(HOST.to_owned()) },
    ];
    home.install_with(probe.clone(), &granted);
    assert_ne!(call(), refused);
    home.install_with(probe.clone(), &[]);
    assert_ne!(call(), refused, "the same bytes once more");

    let next = renamed(&probe, |manifest| manifest["version"] = json!("1.0.1"));
    home.install_with(next, &[]);
    assert_eq!(call(), refused, "other bytes");
    home.install_with(probe.clone(), &[]);
    assert_eq!(call(), refused, "nor do they come back with the old ones");

    home.app.admin().grant(&name, &granted).expect("within the manifest");
    assert_ne!(call(), refused);
    home.app.admin().uninstall(&name).expect("installed");
    assert_eq!(call(), "call/unknown-tool");
    home.install_with(probe.clone(), &[]);
    assert_eq!(call(), refused, "an uninstall takes them along");

    let others = renamed(&probe, |manifest| manifest["title"] = json!("Probe of somebody else"));
    let offer = home.app.admin().offer(others).expect("a component in order");
    let error = home.app.admin().install(offer, &granted).expect_err("a version has one content");
    assert_eq!(error.kind.code(), "registry/version-exists");
    assert_eq!(call(), refused, "and nothing changed");
}
