//! The word of a person: which calls need it, what confirms one, and what does not. Guests that ignore dry runs, and
//! one that has two faces; tokens of other calls, cut, changed, used and late. What counts is what did not happen.

use std::sync::Arc;
use std::time::Duration;

use remit::call::{CallRequest, Failure, Reply};
use remit::client::{Confirmation, Unconfirmed, Wants};
use remit::clock::Clock;
use remit::error::ErrorKind;
use remit::policy::{Confirm, Identity, Restriction};
use remit::scheduler::next::Timing;
use remit::scheduler::{Definition, Origin, Task};
use remit_guests::{Guest, manifest};
use remit_upstream::Answer;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::support::home::{Home, built, outcome, remit, renamed, request};
use crate::support::world::{HOST, SECRET, World, authorization};

const INVALID: &str = "call/confirmation-invalid";
const REQUIRED: &str = "call/confirmation-required";

/// A call with no word of anybody.
fn bare(tool: &str, arguments: &Value) -> CallRequest {
    CallRequest { confirmation: Confirmation::Missing, ..request(tool, arguments) }
}

fn with(token: &str, request: CallRequest) -> CallRequest {
    CallRequest { confirmation: Confirmation::Token(token.to_owned()), ..request }
}

fn send(home: &Home, request: CallRequest) -> Result<Reply, Failure> {
    let host = home.host();
    home.threads.block_on(host.call(request, CancellationToken::new()))
}

/// What a call that was made without a word gave instead of an answer.
fn tried(home: &Home, request: CallRequest) -> Unconfirmed {
    let failure = send(home, request).expect_err("nobody agreed");
    assert_eq!(failure.error.kind, ErrorKind::ConfirmationRequired, "{}", failure.error);
    match failure.wants {
        Wants::Confirmation(unconfirmed) => unconfirmed,
        wants => panic!("{wants:?}"),
    }
}

fn restrict(home: &Home, name: &str, restriction: &Restriction, replaces: bool) {
    home.app.admin().restrict(&name.parse().expect("a name"), restriction, replaces).expect("within the manifest");
}

fn confirm(tool: Option<&str>, confirm: Confirm) -> Restriction {
    Restriction { tool: tool.map(str::to_owned), confirm: Some(confirm), ..Restriction::default() }
}

/// A home with `test/keeper` and the document `a`.
fn keeper() -> Home {
    let home = Home::new();
    home.install(built("keeper"));
    put(&home, "a", "1");
    home
}

fn put(home: &Home, key: &str, value: &str) {
    let arguments = json!({ "entity": "notes", "key": key, "value": value });
    home.call("test/keeper.put", &arguments).expect("stored");
}

fn get(home: &Home, key: &str) -> String {
    outcome(&home.call("test/keeper.get", &json!({ "entity": "notes", "key": key })))
}

fn delete(key: &str) -> CallRequest {
    bare("test/keeper.delete", &json!({ "entity": "notes", "key": key }))
}

#[test]
fn what_may_destroy_happens_once_somebody_agreed_and_once_only() {
    let home = keeper();
    let Unconfirmed { plan, token, .. } = tried(&home, delete("a"));
    assert_eq!(get(&home, "a"), "1 1", "it was tried out");
    let planned: Vec<_> = plan.changes.iter().map(|change| format!("{} {}", change.action, change.key)).collect();
    assert_eq!(planned, ["delete a"]);
    let record = home.records().into_iter().find(|record| record.tool == "delete").expect("a record");
    assert_eq!((record.outcome.as_str(), record.dry_run, record.changes.len()), (REQUIRED, true, 0));

    send(&home, with(&token, delete("a"))).expect("somebody agreed");
    assert_eq!(get(&home, "a"), "nothing");
    put(&home, "a", "2");
    assert_eq!(outcome(&send(&home, with(&token, delete("a")))), INVALID, "it was used");
    assert!(get(&home, "a").ends_with(" 2"), "nothing runs");
    let record = home.records().into_iter().find(|record| record.outcome == INVALID).expect("a record");
    assert_eq!((record.tool.as_str(), record.changes.len(), record.usage.fuel), ("delete", 0, 0));
    assert!(record.detail.expect("why").contains("it was used before"));
}

#[test]
fn a_token_counts_beside_its_own_call_only() {
    let home = keeper();
    put(&home, "b", "1");
    home.install(renamed(&built("keeper"), |manifest| manifest["slug"] = json!("other-keeper")));
    let token = tried(&home, delete("a")).token;
    let arguments = json!({ "entity": "notes", "key": "a" });
    let flip = |at: usize| {
        let mut letters: Vec<char> = token.chars().collect();
        letters[at] = if letters[at] == 'A' { 'B' } else { 'A' };
        letters.into_iter().collect::<String>()
    };
    let others: Vec<(&str, CallRequest)> = vec![
        ("other arguments", with(&token, delete("b"))),
        (
            "more arguments",
            with(&token, bare("test/keeper.delete", &json!({ "entity": "notes", "key": "a", "expected": "any" }))),
        ),
        ("another tool", with(&token, bare("test/keeper.rehearse", &json!({ "entity": "notes" })))),
        ("the same arguments of another tool", with(&token, bare("test/keeper.put", &arguments))),
        ("another capability", with(&token, bare("test/other-keeper.delete", &arguments))),
        ("another principal", with(&token, CallRequest { caller: Identity::stored("somebody"), ..delete("a") })),
        ("cut", with(&token[..token.len() - 4], delete("a"))),
        ("longer", with(&format!("{token}AAAA"), delete("a"))),
        ("nothing", with("", delete("a"))),
        ("a word", with("yes", delete("a"))),
        ("another nonce", with(&flip(0), delete("a"))),
        ("another time", with(&flip(20), delete("a"))),
        ("another seal", with(&flip(40), delete("a"))),
    ];
    for (case, request) in others {
        assert_eq!(outcome(&send(&home, request)), INVALID, "{case}");
        assert_eq!((get(&home, "a"), get(&home, "b")), ("1 1".to_owned(), "2 1".to_owned()), "{case}");
    }
    let elsewhere = keeper();
    assert_eq!(outcome(&send(&elsewhere, with(&token, delete("a")))), INVALID, "another home");
    assert_eq!(get(&elsewhere, "a"), "1 1");
    send(&home, with(&token, delete("a"))).expect("vain tries use nothing up");
}

#[test]
fn a_token_does_not_outlive_the_bytes_that_were_shown() {
    let home = keeper();
    let token = tried(&home, delete("a")).token;
    home.install(renamed(&built("keeper"), |manifest| manifest["version"] = json!("1.0.1")));
    assert_eq!(outcome(&send(&home, with(&token, delete("a")))), INVALID);
    assert_eq!(get(&home, "a"), "1 1");
}

#[test]
fn a_token_ends_after_ten_minutes() {
    let clock = Arc::new(Clock::manual(Duration::from_secs(1_767_600_000)));
    let home = Home::open_at(tempfile::tempdir().expect("a scratch folder"), Arc::clone(&clock));
    home.install(built("keeper"));
    put(&home, "a", "1");
    let unconfirmed = tried(&home, delete("a"));
    assert_eq!(unconfirmed.expires_at, 1_767_600_600_000);
    clock.advance(Duration::from_secs(600));
    assert_eq!(outcome(&send(&home, with(&unconfirmed.token, delete("a")))), INVALID);
    assert_eq!(get(&home, "a"), "1 1");
    let token = tried(&home, delete("a")).token;
    clock.advance(Duration::from_millis(599_999));
    send(&home, with(&token, delete("a"))).expect("in time");
    // A clock that is set back brings nothing back.
    put(&home, "a", "2");
    clock.set(Duration::from_secs(1_767_600_601));
    assert_eq!(outcome(&send(&home, with(&token, delete("a")))), INVALID);
    assert!(get(&home, "a").ends_with(" 2"));
}

#[test]
fn the_order_of_keys_is_nobodys_business() {
    let home = keeper();
    let token = tried(&home, delete("a")).token;
    let turned = json!({ "key": "a", "entity": "notes" });
    send(&home, with(&token, bare("test/keeper.delete", &turned))).expect("the same call");
    assert_eq!(get(&home, "a"), "nothing");
}

#[test]
fn of_two_that_show_one_token_at_once_one_runs() {
    let home = keeper();
    restrict(&home, "test/keeper", &confirm(None, Confirm::Writes), false);
    for round in 1..=5 {
        let count = bare("test/keeper.count", &json!({ "key": "n", "times": 1 }));
        let token = tried(&home, count.clone()).token;
        let host = home.host();
        let outcomes = home.threads.block_on(async {
            let calls = (0..8).map(|_| {
                let (host, request) = (host.clone(), with(&token, count.clone()));
                tokio::spawn(async move { outcome(&host.call(request, CancellationToken::new()).await) })
            });
            let mut outcomes = Vec::new();
            for call in calls.collect::<Vec<_>>() {
                outcomes.push(call.await.expect("it ends"));
            }
            outcomes
        });
        let ran = outcomes.iter().filter(|outcome| *outcome != INVALID).count();
        assert_eq!((ran, outcomes.len()), (1, 8), "{outcomes:?}");
        let counted = home.call("test/keeper.get", &json!({ "entity": "counters", "key": "n" }));
        assert!(outcome(&counted).ends_with(&format!(" {round}")), "{counted:?}");
    }
}

#[test]
fn a_token_that_one_process_used_counts_in_no_other() {
    let home = keeper();
    put(&home, "b", "1");
    let call = |more: &[&str]| {
        let input = r#"{"entity":"notes","key":"a"}"#;
        let arguments = [&["--json", "call", "test/keeper.delete", input][..], more].concat();
        remit(home.path(), &arguments, "")
    };
    let first = call(&[]);
    assert_eq!((first.exit, first.code().as_str()), (Some(1), REQUIRED), "{first:?}");
    let said = first.json();
    assert_eq!(said["plan"]["changes"][0]["key"], "a");
    let token = said["confirmationToken"].as_str().expect("a token");
    assert_eq!(get(&home, "a"), "1 1");
    let second = call(&["--confirmation-token", token]);
    assert_eq!(second.exit, Some(0), "{second:?}");
    assert_eq!(get(&home, "a"), "nothing");
    put(&home, "a", "2");
    let third = call(&["--confirmation-token", token]);
    assert_eq!((third.exit, third.code().as_str()), (Some(1), INVALID), "{third:?}");
    // In a server that runs, too.
    let here = CallRequest { caller: Identity::operator("cli"), ..delete("a") };
    assert_eq!(outcome(&send(&home, with(token, here))), INVALID);
    assert!(get(&home, "a").ends_with(" 2"));
    let agreed = call(&["--yes"]);
    assert_eq!(agreed.exit, Some(0), "{agreed:?}");
    assert_eq!(get(&home, "a"), "nothing");
}

#[test]
fn the_installer_says_which_calls_need_a_word() {
    let home = keeper();
    let count = || send(&home, bare("test/keeper.count", &json!({ "key": "n", "times": 1 })));
    let erase = || {
        put(&home, "gone", "1");
        send(&home, delete("gone"))
    };
    let outcomes = |case: &str, counts: bool, erases: bool| {
        let said = |needs: bool, result: Result<Reply, Failure>| match (needs, result) {
            (true, Err(failure)) => failure.error.kind == ErrorKind::ConfirmationRequired,
            (needs, result) => !needs && result.is_ok(),
        };
        assert!(said(counts, count()), "{case}: count");
        assert!(said(erases, erase()), "{case}: delete");
        let read = send(&home, bare("test/keeper.get", &json!({ "entity": "notes", "key": "a" })));
        assert!(read.is_ok(), "{case}: what only reads never needs one");
    };
    outcomes("nothing said", false, true);
    restrict(&home, "test/keeper", &confirm(None, Confirm::Writes), false);
    outcomes("all writes", true, true);
    restrict(&home, "test/keeper", &confirm(Some("count"), Confirm::Never), false);
    outcomes("all writes but one", false, true);
    restrict(&home, "test/keeper", &confirm(None, Confirm::Never), false);
    outcomes("none", false, false);
    restrict(&home, "test/keeper", &confirm(Some("delete"), Confirm::Destructive), false);
    outcomes("none but one", false, true);
    restrict(&home, "test/keeper", &Restriction::default(), true);
    let of_delete = Restriction { tool: Some("delete".to_owned()), ..Restriction::default() };
    restrict(&home, "test/keeper", &of_delete, true);
    outcomes("taken back", false, true);
}

#[test]
fn restrictions_stay_with_the_name_but_never_loosen_other_bytes() {
    let home = keeper();
    let admin = home.app.admin();
    let name = "test/keeper".parse().expect("a name");
    let stored = || admin.find(&name).expect("installed").restrictions.clone();
    let hidden = Restriction {
        tool: Some("delete".to_owned()),
        hidden: true,
        role: Some("admin".to_owned()),
        permission: Some("notes:delete".to_owned()),
        flag: Some("beta".to_owned()),
        confirm: Some(Confirm::Never),
    };
    restrict(&home, "test/keeper", &hidden, false);
    restrict(&home, "test/keeper", &confirm(Some("put"), Confirm::Never), false);
    restrict(&home, "test/keeper", &confirm(None, Confirm::Writes), false);
    assert_eq!(stored(), [confirm(None, Confirm::Writes), hidden.clone(), confirm(Some("put"), Confirm::Never)]);
    // What is said again adds to it, and changes what it names alone.
    let again =
        Restriction { tool: hidden.tool.clone(), role: Some("owner".to_owned()), ..Restriction::default() };
    restrict(&home, "test/keeper", &again, false);
    assert_eq!(stored()[1], Restriction { role: Some("owner".to_owned()), ..hidden.clone() });
    // The same bytes again are the same.
    home.install(built("keeper"));
    assert_eq!(stored().len(), 3);
    home.install(renamed(&built("keeper"), |manifest| manifest["version"] = json!("1.0.1")));
    let tightened = Restriction { confirm: None, role: Some("owner".to_owned()), ..hidden };
    assert_eq!(stored(), [confirm(None, Confirm::Writes), tightened]);
    admin.uninstall(&name).expect("installed");
    home.install(built("keeper"));
    assert_eq!(stored(), []);
}

#[test]
fn what_cannot_be_restricted_is_refused() {
    let home = keeper();
    let refused = |name: &str, restriction: &Restriction| {
        let name = name.parse().expect("a name");
        home.app.admin().restrict(&name, restriction, false).expect_err("refused").kind.code()
    };
    assert_eq!(refused("test/keeper", &confirm(Some("no_such"), Confirm::Never)), "call/unknown-tool");
    assert_eq!(refused("test/other", &confirm(None, Confirm::Never)), "registry/not-found");
    let role = Restriction { role: Some("two words".to_owned()), ..Restriction::default() };
    assert_eq!(refused("test/keeper", &role), "host/usage");
    let snapshot = home.app.admin().installed().expect("a home");
    assert!(snapshot.entries.values().all(|entry| entry.restrictions.is_empty()));
}

#[test]
fn a_request_waits_for_the_word_without_a_connection_or_a_secret() {
    let world = World::echo().granted().with_secret(HOST, &[authorization()]);
    restrict(&world.home, "test/probe", &confirm(None, Confirm::Writes), false);
    let change = bare(
        "test/probe.change",
        &json!({
            "url": "https://api.example.com/things", "headers": ["authorization: Bearer {{API_KEY}}"], "body": "new",
        }),
    );
    let Unconfirmed { plan, token, .. } = tried(&world.home, change.clone());
    let planned: Vec<_> =
        plan.requests.iter().map(|request| format!("{} {}", request.method, request.path)).collect();
    assert_eq!(planned, ["POST /things"]);
    assert!(!format!("{plan:?}").contains(SECRET));
    assert_eq!(world.upstream.seen().len(), 0);
    assert_eq!(world.recorded(), ["POST api.example.com planned"]);
    let used = || world.home.app.admin().secrets().expect("secrets")[0].used_at;
    assert_eq!(used(), None, "no value was put in");

    send(&world.home, with(&token, change.clone())).expect("somebody agreed");
    assert_eq!(world.upstream.seen().len(), 1);
    assert_eq!(outcome(&send(&world.home, with(&token, change))), INVALID);
    assert_eq!(world.upstream.seen().len(), 1, "not sent again");
}

/// `test/probe` with this guest in the place of its own, and one tool that may destroy.
fn impostor(guest: &Guest) -> Vec<u8> {
    let mut manifest = manifest("probe");
    manifest["uses"] = json!(["http"]);
    manifest["http"] = json!({ "allow": [HOST] });
    manifest["tools"][0]["readOnly"] = json!(false);
    guest.with_manifest(&manifest)
}

#[test]
fn a_guest_with_two_faces_is_held_to_its_grants_and_recorded() {
    let world = World::echo();
    let rehearsed = "https://api.example.com/harmless";
    for (real, outcome, sent) in [
        ("https://other.example.com/everything", "http/host-not-allowed", 0),
        ("https://api.example.com/everything", "sent", 1),
    ] {
        if world.home.app.admin().find(&"test/probe".parse().expect("a name")).is_ok() {
            world.home.app.admin().uninstall(&"test/probe".parse().expect("a name")).expect("installed");
        }
        world.home.install(impostor(&Guest::two_faced(rehearsed, real)));
        let run = bare("test/probe.run", &json!({}));
        let Unconfirmed { plan, token, .. } = tried(&world.home, run.clone());
        assert_eq!(plan.requests[0].path, "/harmless", "what it shows");
        assert_eq!(world.upstream.seen().len(), 0);
        send(&world.home, with(&token, run)).expect("somebody agreed");
        assert_eq!(world.upstream.seen().len(), sent, "{real}");
        let record = &world.home.records()[0];
        let done = &record.requests[0];
        assert_eq!((done.outcome.as_str(), record.dry_run), (outcome, false), "what it did is on record");
        assert!(done.path != "/harmless" && record.requests.len() == 1, "{done:?}");
    }
}

#[test]
fn a_trial_that_fails_gives_a_token_only_where_there_is_a_plan() {
    let home = keeper();
    let wanted = |request: CallRequest| {
        let failure = send(&home, request).expect_err("no answer");
        (failure.error.kind.code(), matches!(failure.wants, Wants::Confirmation(_)))
    };
    let wrong = bare("test/keeper.delete", &json!({ "entity": "notes" }));
    assert_eq!(wanted(wrong), ("call/invalid-input", false));
    let conflict = json!({ "entity": "notes", "key": "a", "expected": "7" });
    assert_eq!(wanted(bare("test/keeper.delete", &conflict)), ("capability/failed", false), "nothing was planned");
    assert_eq!(
        wanted(bare("test/keeper.delete", &json!({ "entity": "x", "key": "a" }))),
        ("capability/failed", false)
    );

    let world = World::new(|_| Answer::json(200, &json!({})));
    world.home.install(impostor(&Guest::sends_and_fails(5, "https://api.example.com/1")));
    let failure = send(&world.home, bare("test/probe.run", &json!({}))).expect_err("nobody agreed");
    assert_eq!(failure.error.kind, ErrorKind::ConfirmationRequired);
    assert!(failure.error.message.contains("it may do more than that: done"), "{}", failure.error);
    let Wants::Confirmation(Unconfirmed { plan, token, .. }) = failure.wants else { panic!("no token") };
    assert_eq!(plan.requests.len(), 1);
    assert_eq!(world.upstream.seen().len(), 0);
    let confirmed = send(&world.home, with(&token, bare("test/probe.run", &json!({}))));
    assert_eq!((outcome(&confirmed), world.upstream.seen().len()), ("capability/failed".to_owned(), 1));
}

#[test]
fn a_dry_run_needs_no_word_and_gives_none() {
    let home = keeper();
    let token = tried(&home, delete("a")).token;
    for confirmation in [Confirmation::Missing, Confirmation::Standing, Confirmation::Token(token.clone())] {
        let reply = send(&home, CallRequest { dry_run: true, confirmation, ..delete("a") }).expect("a plan");
        assert_eq!(reply.plan.changes.len(), 1);
        assert_eq!(get(&home, "a"), "1 1");
    }
    send(&home, with(&token, delete("a"))).expect("a dry run used nothing up");
}

#[test]
fn a_capability_cannot_have_properties_of_the_hosts_names() {
    let home = Home::new();
    for name in ["dry_run", "confirmation_token"] {
        let mut manifest = manifest("greedy");
        manifest["tools"][0]["inputSchema"]["properties"][name] = json!({ "type": "string" });
        let error = home.app.admin().offer(Guest::done().with_manifest(&manifest)).expect_err("refused");
        assert_eq!(error.kind, ErrorKind::ManifestInvalid);
        assert!(error.to_string().contains(name) || error.detail.is_some_and(|all| all.contains(name)), "{name}");
    }
}

/// 2026-01-05, a Monday, 08:00 UTC.
const EIGHT: u64 = 1_767_600_000;

fn planner() -> (Home, Arc<Clock>) {
    let folder = tempfile::tempdir().expect("a scratch folder");
    std::fs::write(folder.path().join("remit.toml"), "[loops]\njitter-s = 0\n").expect("room");
    let clock = Arc::new(Clock::manual(Duration::from_secs(EIGHT)));
    let home = Home::open_at(folder, Arc::clone(&clock));
    home.install(built("planner"));
    (home, clock)
}

fn loops(home: &Home) -> Vec<(String, Origin)> {
    let loops = home.app.admin().loops(None).expect("loops");
    loops.into_iter().map(|found| (found.definition.name, found.origin)).collect()
}

fn create(name: &str, tool: &str, input: &str) -> CallRequest {
    let arguments = json!({ "name": name, "when": "3600", "tool": tool, "input": input });
    bare("test/planner.create", &arguments)
}

#[test]
fn a_loop_is_made_and_removed_once_somebody_agreed() {
    let (home, _) = planner();
    restrict(&home, "test/planner", &confirm(Some("create"), Confirm::Writes), false);
    let made = create("own", "report", r#"{"items":[]}"#);
    let Unconfirmed { plan, token, .. } = tried(&home, made.clone());
    assert_eq!((plan.loops[0].name.as_str(), plan.loops[0].action), ("own", "create"));
    assert_eq!(loops(&home), [("preset".to_owned(), Origin::Preset)], "it was tried out");
    send(&home, with(&token, made)).expect("somebody agreed");
    assert_eq!(loops(&home).len(), 2);
    let gone = bare("test/planner.delete", &json!({ "name": "own" }));
    let token = tried(&home, gone.clone()).token;
    assert_eq!(loops(&home).len(), 2);
    send(&home, with(&token, gone)).expect("somebody agreed");
    assert_eq!(loops(&home).len(), 1);
}

#[test]
fn a_loop_of_a_capability_calls_nothing_that_needs_a_word() {
    let (home, clock) = planner();
    let scheduler = home.threads.block_on(async { home.app.scheduler() }).expect("schedules");
    let failure = send(&home, create("wiper", "delete", r#"{"name":"preset"}"#)).expect_err("refused");
    assert!(failure.error.message.contains("needs the word of a person"), "{}", failure.error);
    assert_eq!(loops(&home).len(), 1, "none was made");

    // One that was fine when it was made is looked at again when it fires.
    let pauser = create("pauser", "pause", r#"{"name":"preset","paused":true}"#);
    send(&home, pauser).expect("it destroys nothing");
    restrict(&home, "test/planner", &confirm(None, Confirm::Writes), false);
    let fire = |hours: u64| {
        clock.set(Duration::from_secs(EIGHT + hours * 3600));
        while scheduler.tick().expect("a round").started > 0 {
            home.threads.block_on(scheduler.settled());
        }
        let admin = home.app.admin();
        let found = admin.find_loop(&"test/planner".parse().expect("a name"), "pauser").expect("the loop");
        let run = admin.runs(&found, 1).expect("a history").remove(0);
        (run.state.as_str(), run.reason.unwrap_or_default())
    };
    let (state, reason) = fire(1);
    assert!(state == "skipped" && reason.starts_with(REQUIRED), "{state}: {reason}");
    let paused = || {
        let found = home.app.admin().find_loop(&"test/planner".parse().expect("a name"), "preset");
        found.expect("the preset").next_at.is_none()
    };
    assert!(!paused(), "it did not run");
    let record = home.records().into_iter().find(|record| record.outcome == REQUIRED).expect("a record");
    assert_eq!((record.tool.as_str(), record.usage.fuel), ("pause", 0));
    restrict(&home, "test/planner", &Restriction::default(), true);
    assert_eq!(fire(2).0, "done", "and runs again once it may");
    assert!(paused());
}

#[test]
fn a_loop_of_a_person_and_a_preset_have_the_word_of_whoever_made_them() {
    let (home, clock) = planner();
    home.install(built("keeper"));
    put(&home, "a", "1");
    restrict(&home, "test/planner", &confirm(None, Confirm::Writes), false);
    let scheduler = home.threads.block_on(async { home.app.scheduler() }).expect("schedules");
    let task = Task::Tool {
        tool: "test/keeper.delete".parse().expect("a tool"),
        input: json!({ "entity": "notes", "key": "a" }).as_object().cloned().expect("an object"),
    };
    let timing = Timing::interval("1h").expect("an interval");
    home.app.admin().create_loop(Definition::new("tidy".to_owned(), timing, task)).expect("a person may");
    clock.set(Duration::from_secs(EIGHT + 3600));
    while scheduler.tick().expect("a round").started > 0 {
        home.threads.block_on(scheduler.settled());
    }
    assert_eq!(get(&home, "a"), "nothing");
    let preset = home.records().into_iter().find(|record| record.tool == "report").expect("the preset ran");
    assert_eq!(preset.outcome, "ok");
}
