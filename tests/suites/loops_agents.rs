//! `remit/loops`, the capability of this program's own: what agents do with schedules and with the inbox, on a clock
//! that stands still until it is moved.

use std::sync::Arc;
use std::time::Duration;

use remit::admin::Allowance;
use remit::audit::Record;
use remit::call::{CallRequest, Failure, Reply};
use remit::clock::Clock;
use remit::error::ErrorKind;
use remit::manifest::NamespaceName;
use remit::policy::Grant;
use remit::policy::Identity;
use remit::registry::CapabilityName;
use remit::scheduler::next::Timing;
use remit::scheduler::{Definition, Origin, RunState, Scheduler, Task};
use remit_guests::{Guest, manifest};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::support::home::{Home, remit, renamed, request};

/// 2026-01-05, a Monday, 08:00 UTC.
const EIGHT: i64 = 1_767_600_000_000;
const MINUTE: i64 = 60_000;

struct Scene {
    home: Home,
    clock: Arc<Clock>,
    scheduler: Scheduler,
}

fn official() -> CapabilityName {
    "remit/loops".parse().expect("a name")
}

fn loops(entry: Option<&str>) -> Grant {
    Grant { namespace: NamespaceName::Loops, entry: entry.map(str::to_owned) }
}

impl Scene {
    fn new(grants: &[Grant]) -> Self {
        let folder = tempfile::tempdir().expect("a scratch folder");
        std::fs::write(folder.path().join("remit.toml"), "[loops]\njitter-s = 0\n").expect("room");
        let clock = Arc::new(Clock::manual(Duration::from_millis(EIGHT.unsigned_abs())));
        let home = Home::open_at(folder, Arc::clone(&clock));
        let scheduler = home.threads.block_on(async { home.app.scheduler() }).expect("schedules");
        let scene = Self { home, clock, scheduler };
        let admin = scene.home.app.admin();
        for principal in ["test", "one", "two"] {
            admin.add_principal(principal, Allowance::default(), None).expect("a principal");
        }
        let offer = admin.offer_builtin(&official()).expect("in order").expect("there is one");
        admin.install(offer, grants).expect("installed");
        scene
    }

    fn granted() -> Self {
        Self::new(&[loops(None)])
    }

    fn request(tool: &str, arguments: &Value, principal: &str) -> CallRequest {
        CallRequest { caller: Identity::stored(principal), ..request(&format!("remit/loops.{tool}"), arguments) }
    }

    fn send(&self, request: CallRequest) -> Result<Reply, Failure> {
        let host = self.home.host();
        self.home.threads.block_on(host.call(request, CancellationToken::new()))
    }

    fn call(&self, tool: &str, arguments: &Value) -> Value {
        self.call_as("test", tool, arguments)
    }

    /// The structured answer, or the code of the error.
    fn call_as(&self, principal: &str, tool: &str, arguments: &Value) -> Value {
        match self.send(Self::request(tool, arguments, principal)) {
            Ok(reply) => reply.structured.expect("a structured answer"),
            Err(failure) => json!(failure.error.kind.code()),
        }
    }

    fn rehearse(&self, tool: &str, arguments: &Value) -> Reply {
        self.send(CallRequest { dry_run: true, ..Self::request(tool, arguments, "test") }).expect("an answer")
    }

    fn kept(&self) -> Vec<(String, Origin)> {
        let loops = self.home.app.admin().loops(Some(&official())).expect("loops");
        loops.into_iter().map(|found| (found.definition.name, found.origin)).collect()
    }

    fn rounds_at(&self, minute: i64) {
        self.clock.set(Duration::from_millis((EIGHT + minute * MINUTE).unsigned_abs()));
        while self.scheduler.tick().expect("a round").started > 0 {
            self.home.threads.block_on(self.scheduler.settled());
        }
    }

    /// States and reports of a loop's runs, oldest first.
    fn runs(&self, name: &str) -> Vec<(RunState, Option<String>, bool)> {
        let admin = self.home.app.admin();
        let found = admin.find_loop(&official(), name).expect("the loop");
        let runs = admin.runs(&found, 100).expect("a history");
        runs.into_iter().rev().map(|run| (run.state, run.report, run.is_nothing)).collect()
    }
}

/// `test/SLUG` with the tools `look`, which reads, `wipe`, which destroys, and `hidden`, which is not published.
fn guest(slug: &str) -> Vec<u8> {
    let mut manifest = manifest(slug);
    let tool = manifest["tools"][0].clone();
    let variants = [("look", true, true), ("wipe", false, true), ("hidden", true, false)];
    manifest["tools"] = variants
        .into_iter()
        .map(|(name, read_only, expose)| {
            let mut tool = tool.clone();
            tool["name"] = json!(name);
            tool["readOnly"] = json!(read_only);
            tool["expose"] = json!(expose);
            tool
        })
        .collect();
    Guest::done().with_manifest(&manifest)
}

#[test]
fn an_agent_makes_changes_runs_and_removes_its_own_loops() {
    let scene = Scene::granted();
    scene.home.install(guest("one"));
    let made = scene.call("create_loop", &json!({ "name": "a", "every": "1h", "tool": "test/one.look" }));
    let expected = json!({
        "name": "a", "schedule": "every 1h", "task": "calls test/one.look {}", "quiet": false, "status": "active",
        "nextAt": "2026-01-05T09:00:00Z", "lastAt": null,
    });
    assert_eq!(made, expected);
    assert_eq!(scene.call("list_loops", &json!({})), json!({ "loops": [expected] }));
    assert_eq!(
        scene.call("create_loop", &json!({ "name": "a", "every": "1h", "prompt": "L." })),
        "loops/already-exists"
    );
    assert_eq!(scene.call("update_loop", &json!({ "name": "a", "paused": true }))["status"], "paused");
    let changed = scene.call("update_loop", &json!({ "name": "a", "every": "2h", "paused": false }));
    assert_eq!((&changed["nextAt"], &changed["status"]), (&json!("2026-01-05T10:00:00Z"), &json!("active")));
    assert!(scene.call("run_loop", &json!({ "name": "a" }))["run"].is_string());
    scene.rounds_at(1);
    assert_eq!(scene.runs("a"), [(RunState::Done, Some("done".to_owned()), false)]);
    assert_eq!(scene.call("delete_loop", &json!({ "name": "a" })), json!({ "deleted": "a" }));
    assert_eq!(scene.kept(), []);
    let records = scene.home.records();
    let delete = records.iter().find(|record| record.tool == "delete_loop").expect("recorded");
    assert_eq!((delete.principal.as_str(), delete.outcome.as_str()), ("test", "ok"));
    assert!(records.iter().any(|record| record.principal == "loop:remit/loops/a" && record.tool == "look"));
}

#[test]
fn without_the_grant_or_the_install_nothing_is_done() {
    let scene = Scene::new(&[]);
    for (tool, input) in [
        ("create_loop", json!({ "name": "a", "every": "1h", "prompt": "L." })),
        ("list_loops", json!({})),
        ("take_run", json!({})),
    ] {
        assert_eq!(scene.call(tool, &input), "call/not-allowed", "{tool}");
    }
    assert_eq!(scene.kept(), []);
    scene.home.app.admin().uninstall(&official()).expect("uninstalled");
    assert_eq!(scene.call("list_loops", &json!({})), "call/unknown-tool");
}

#[test]
fn when_it_is_uninstalled_loops_of_agents_stand_still_and_a_persons_go_on() {
    let scene = Scene::granted();
    scene.home.install(guest("one"));
    scene.call("create_loop", &json!({ "name": "agents", "every": "1m", "tool": "test/one.look" }));
    let tool = Task::Tool { tool: "test/one.look".parse().expect("a tool"), input: serde_json::Map::new() };
    let definition = Definition::new("persons".to_owned(), Timing::Interval { seconds: 60 }, tool);
    scene.home.app.admin().create_loop(definition).expect("a loop");
    scene.rounds_at(1);
    scene.home.app.admin().uninstall(&official()).expect("uninstalled");
    scene.rounds_at(2);
    let states = |name| scene.runs(name).into_iter().map(|(state, ..)| state).collect::<Vec<_>>();
    assert_eq!(states("agents"), [RunState::Done, RunState::Skipped]);
    assert_eq!(states("persons"), [RunState::Done, RunState::Done]);
}

#[test]
fn an_agents_loop_destroys_nothing_and_reaches_nothing_hidden() {
    let scene = Scene::granted();
    scene.home.install(guest("one"));
    for tool in ["test/one.wipe", "test/one.hidden", "remit/loops.create_loop", "remit/loops.list_loops"] {
        let input = json!({ "name": "a", "every": "1h", "tool": tool });
        assert_eq!(scene.call("create_loop", &input), "call/not-allowed", "{tool}");
    }
    scene.call("create_loop", &json!({ "name": "a", "every": "1m", "tool": "test/one.look" }));
    assert_eq!(scene.call("update_loop", &json!({ "name": "a", "tool": "test/one.wipe" })), "call/not-allowed");
    // A tool that became destructive after the loop was made.
    scene.home.install(renamed(&guest("one"), |manifest| {
        manifest["version"] = json!("2.0.0");
        manifest["tools"][0]["readOnly"] = json!(false);
    }));
    scene.rounds_at(1);
    assert_eq!(scene.runs("a")[0].0, RunState::Skipped);
    let ran = |record: &Record| record.capability == "test/one" && record.tool == "look" && record.outcome == "ok";
    assert!(!scene.home.records().iter().any(ran));
}

#[test]
fn a_persons_loops_are_not_an_agents() {
    let scene = Scene::new(&[loops(None), loops(Some("max=1"))]);
    let definition = |name: &str| {
        Definition::new(name.to_owned(), Timing::Interval { seconds: 3600 }, Task::Prompt("Look.".to_owned()))
    };
    for name in ["mine", "more"] {
        scene.home.app.admin().create_loop(definition(name)).expect("a loop");
    }
    assert_eq!(scene.call("list_loops", &json!({})), json!({ "loops": [] }));
    for (tool, input) in [
        ("update_loop", json!({ "name": "mine", "paused": true })),
        ("delete_loop", json!({ "name": "mine" })),
        ("run_loop", json!({ "name": "mine" })),
    ] {
        assert_eq!(scene.call(tool, &input), "loops/not-found", "{tool}");
    }
    let make = |name: &str| scene.call("create_loop", &json!({ "name": name, "every": "1h", "prompt": "Look." }));
    assert_eq!(make("mine"), "loops/already-exists");
    assert_eq!(make("a")["name"], "a", "a person's do not count");
    assert_eq!(make("b"), "loops/limit");
    assert_eq!(scene.kept().len(), 3);
}

#[test]
fn a_dry_run_changes_neither_loops_nor_the_inbox() {
    let scene = Scene::granted();
    let create = json!({ "name": "a", "every": "1m", "prompt": "Look." });
    let reply = scene.rehearse("create_loop", &create);
    assert_eq!((reply.plan.loops[0].action, reply.plan.loops[0].name.as_str()), ("create", "a"));
    assert_eq!(scene.kept(), []);

    scene.call("create_loop", &create);
    scene.rounds_at(1);
    let run = scene.rehearse("take_run", &json!({})).structured.expect("an answer")["run"].clone();
    assert!(run.is_string());
    assert_eq!(scene.runs("a")[0].0, RunState::Waiting);
    assert_eq!(scene.call("take_run", &json!({ "run": run }))["run"], run, "the twin");
    scene.rehearse("report_run", &json!({ "run": run, "text": "x" }));
    scene.rehearse("diff_since_last_run", &json!({ "run": run, "items": ["1"] }));
    assert_eq!(scene.runs("a"), [(RunState::Taken, None, false)]);
    for tool in ["update_loop", "delete_loop", "run_loop"] {
        scene.rehearse(tool, &json!({ "name": "a" }));
    }
    assert_eq!((scene.kept().len(), scene.runs("a").len()), (1, 1));
}

#[test]
fn a_run_is_taken_by_one_and_reported_by_them() {
    let scene = Scene::granted();
    scene.call("create_loop", &json!({ "name": "a", "every": "1m", "prompt": "Look around." }));
    assert_eq!(scene.call("take_run", &json!({})), json!({ "run": null }));
    scene.rounds_at(1);
    let taken = scene.call_as("one", "take_run", &json!({}));
    let run = taken["run"].as_str().expect("an id").to_owned();
    let expected = json!({
        "run": run, "capability": "remit/loops", "loop": "a", "prompt": "Look around.",
        "firing": "2026-01-05T08:01:00Z", "until": "2026-01-05T08:11:00Z",
    });
    assert_eq!(taken, expected);
    assert_eq!(scene.call_as("two", "take_run", &json!({ "run": run })), "loops/not-found");
    assert_eq!(scene.call_as("two", "take_run", &json!({})), json!({ "run": null }));
    let report = json!({ "run": run, "text": "All is well." });
    assert_eq!(scene.call_as("two", "report_run", &report), "loops/not-found");
    let items = json!({ "run": run, "items": ["1", "2"] });
    assert_eq!(scene.call_as("two", "diff_since_last_run", &items), "loops/not-found");
    let found = scene.call_as("one", "diff_since_last_run", &items);
    assert_eq!(found, json!({ "first": true, "added": ["1", "2"], "removed": [] }));
    assert_eq!(scene.call_as("one", "report_run", &report), json!({ "reported": run }));
    assert_eq!(scene.call_as("one", "report_run", &report), "loops/not-found", "once");
    assert_eq!(scene.runs("a"), [(RunState::Reported, Some("All is well.".to_owned()), false)]);

    // The lease ends, and somebody else takes it; nothing is new.
    scene.rounds_at(2);
    let run = scene.call_as("one", "take_run", &json!({}))["run"].clone();
    scene.rounds_at(13);
    assert_eq!(scene.call_as("one", "report_run", &json!({ "run": run, "text": "late" })), "loops/not-found");
    assert_eq!(scene.call_as("two", "take_run", &json!({}))["run"], run);
    let found = scene.call_as("two", "diff_since_last_run", &json!({ "run": run, "items": ["2", "1"] }));
    assert_eq!(found, json!({ "first": false, "added": [], "removed": [] }));
    scene.call_as("two", "report_run", &json!({ "run": run, "text": "Nothing.", "nothingToReport": true }));
    let nothing = scene.runs("a").into_iter().filter(|(.., is_nothing)| *is_nothing).count();
    assert_eq!(nothing, 1);
}

#[test]
fn inputs_are_held_against_the_schemas_first() {
    let scene = Scene::granted();
    for (tool, input, expected) in [
        ("create_loop", json!({}), "call/invalid-input"),
        ("create_loop", json!({ "name": "a", "origin": "person" }), "call/invalid-input"),
        ("create_loop", json!({ "name": "a", "every": "1h" }), "loops/invalid-definition"),
        ("create_loop", json!({ "name": "a", "every": "1s", "prompt": "L." }), "loops/invalid-schedule"),
        ("create_loop", json!({ "name": "a", "every": "1h", "tool": "test/none.x" }), "call/unknown-tool"),
        ("take_run", json!({ "run": 1 }), "call/invalid-input"),
        ("take_run", json!({ "run": "none" }), "loops/not-found"),
        ("report_run", json!({ "run": "none", "text": "x" }), "loops/not-found"),
        ("diff_since_last_run", json!({ "run": "none", "items": ["1"] }), "loops/not-found"),
    ] {
        assert_eq!(scene.call(tool, &input), expected, "{tool} {input}");
    }
    assert_eq!(scene.kept(), []);
}

#[test]
fn it_is_installed_by_name_and_nobody_else_has_the_name() {
    let home = Home::new();
    let file = home.path().join("loops.wasm");
    std::fs::write(
        &file,
        Guest::done().with_manifest(&{
            let mut manifest = manifest("loops");
            manifest["publisher"] = json!("remit");
            manifest
        }),
    )
    .expect("room");
    let shadow = remit(home.path(), &["--json", "install", file.to_str().expect("a path"), "--yes"], "");
    assert_eq!((shadow.exit, shadow.code().as_str()), (Some(1), "manifest/invalid"), "{shadow:?}");

    let installed = remit(home.path(), &["install", "remit/loops", "--yes"], "");
    assert_eq!(installed.exit, Some(0), "{installed:?}");
    let called = remit(home.path(), &["--json", "call", "remit/loops.list_loops", "{}"], "");
    assert_eq!(called.exit, Some(0), "{called:?}");
    let again = remit(home.path(), &["install", "remit/loops", "--yes"], "");
    assert_eq!(again.exit, Some(0), "{again:?}");
    let gone = remit(home.path(), &["uninstall", "remit/loops"], "");
    assert_eq!(gone.exit, Some(0), "{gone:?}");
    assert_eq!(home.app.admin().find(&official()).expect_err("gone").kind, ErrorKind::RegistryNotFound);
}
