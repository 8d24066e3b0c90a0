//! Loops as a guest that does not hold itself back makes them: `test/planner` on the real rooms, on a clock that
//! stands still until it is moved.

use std::sync::Arc;
use std::time::Duration;

use remit::call::{CallRequest, Failure, Plan, Reply};
use remit::clock::Clock;
use remit::error::ErrorKind;
use remit::manifest::NamespaceName;
use remit::policy::Grant;
use remit::scheduler::next::Timing;
use remit::scheduler::{Definition, Origin, Run, Scheduler, Task};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::support::home::{Home, built, outcome, renamed, request};

/// 2026-01-05, a Monday, 08:00 UTC.
const EIGHT: i64 = 1_767_600_000_000;
const MINUTE: i64 = 60_000;

/// A home with `test/planner`, its clock, and its schedules.
struct Scene {
    home: Home,
    clock: Arc<Clock>,
    scheduler: Scheduler,
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
        home.install_with(built("planner"), grants);
        let scheduler = home.threads.block_on(async { home.app.scheduler() }).expect("schedules");
        Self { home, clock, scheduler }
    }

    fn granted() -> Self {
        Self::new(&[loops(None)])
    }

    fn call(&self, tool: &str, arguments: &Value) -> Result<Reply, Failure> {
        self.home.call(&format!("test/planner.{tool}"), arguments)
    }

    /// What a tool said: its answer, its failure, or the code of the error.
    fn said(&self, tool: &str, arguments: &Value) -> String {
        match self.call(tool, arguments) {
            Err(failure) if failure.error.kind == ErrorKind::Failed => failure.error.message,
            result => outcome(&result),
        }
    }

    fn create(&self, name: &str, when: &str) -> String {
        self.said("create", &json!({ "name": name, "when": when }))
    }

    fn rehearse(&self, tool: &str, arguments: &Value) -> Result<Reply, Failure> {
        let request = CallRequest { dry_run: true, ..request(&format!("test/planner.{tool}"), arguments) };
        let host = self.home.host();
        self.home.threads.block_on(host.call(request, CancellationToken::new()))
    }

    /// Names and origins of the loops that there are, `test/planner`'s only.
    fn kept(&self) -> Vec<(String, Origin)> {
        let name = "test/planner".parse().expect("a name");
        let loops = self.home.app.admin().loops(Some(&name)).expect("loops");
        loops.into_iter().map(|found| (found.definition.name, found.origin)).collect()
    }

    /// Rounds until there is nothing to start, this many minutes after eight.
    fn rounds_at(&self, minute: i64) {
        self.clock.set(Duration::from_millis((EIGHT + minute * MINUTE).unsigned_abs()));
        while self.scheduler.tick().expect("a round").started > 0 {
            self.home.threads.block_on(self.scheduler.settled());
        }
    }

    /// The runs of a loop, oldest first.
    fn runs(&self, capability: &str, name: &str) -> Vec<Run> {
        let admin = self.home.app.admin();
        let found = admin.find_loop(&capability.parse().expect("a name"), name).expect("the loop");
        let mut runs = admin.runs(&found, 100).expect("a history");
        runs.reverse();
        runs
    }
}

const PRESET: &str = r#"preset, 0 9 * * * UTC, report {"items":[]}, preset, active, 1767603600000"#;

#[test]
fn a_capability_makes_changes_and_removes_its_own_loops() {
    let scene = Scene::granted();
    let every = |seconds: u32, status, next| format!("own, {seconds} s, Look around., own, {status}, {next}");
    assert_eq!(scene.create("own", "3600"), every(3600, "active", EIGHT + 60 * MINUTE));
    assert_eq!(
        scene.said("list", &json!({})),
        format!("{}\n{PRESET}", every(3600, "active", EIGHT + 60 * MINUTE))
    );
    // The same schedule goes on counting, another one counts from now.
    scene.rounds_at(30);
    let update = |when: &str| scene.said("update", &json!({ "name": "own", "when": when }));
    assert_eq!(update("3600"), every(3600, "active", EIGHT + 60 * MINUTE));
    assert_eq!(update("7200"), every(7200, "active", EIGHT + 150 * MINUTE));
    let pause = |name: &str, paused| scene.said("pause", &json!({ "name": name, "paused": paused }));
    assert_eq!(pause("own", true), every(7200, "paused", 0));
    assert_eq!(update("3600"), every(3600, "paused", 0), "a paused one stays paused");
    assert_eq!(pause("own", false), every(3600, "active", EIGHT + 90 * MINUTE));
    assert_eq!(pause("own", false), every(3600, "active", EIGHT + 90 * MINUTE), "twice is once");
    assert_eq!(scene.said("delete", &json!({ "name": "own" })), "deleted");
    assert_eq!(scene.kept(), [("preset".to_owned(), Origin::Preset)]);
}

#[test]
fn without_the_grant_the_namespace_does_not_exist() {
    let scene = Scene::new(&[]);
    for (tool, input) in [("create", json!({ "name": "own", "when": "3600" })), ("list", json!({}))] {
        let failure = scene.call(tool, &input).expect_err("refused");
        assert_eq!(failure.error.kind, ErrorKind::NotAllowed, "{tool}: {}", failure.error);
    }
    assert_eq!(scene.kept(), [], "neither its own nor the preset");
}

#[test]
fn what_cannot_be_made_says_why_and_is_not_there() {
    let scene = Scene::granted();
    let cases = [
        (json!({ "name": "Own", "when": "3600" }), "InvalidDefinition("),
        (json!({ "name": "own", "when": "@daily" }), "InvalidSchedule("),
        (json!({ "name": "own", "when": "0 0 31 2 *" }), "InvalidSchedule("),
        (json!({ "name": "own", "when": "59" }), "InvalidSchedule("),
        (json!({ "name": "own", "when": "3600", "tool": "nothing" }), "InvalidDefinition("),
        (json!({ "name": "own", "when": "3600", "tool": "list", "input": "[]" }), "InvalidDefinition("),
        (json!({ "name": "own", "when": "3600", "tool": "list", "input": "{\"x\":1}" }), "InvalidDefinition("),
        (json!({ "name": "own", "when": "3600", "input": "" }), "InvalidDefinition("),
        (json!({ "name": "preset", "when": "3600" }), "AlreadyExists("),
    ];
    for (input, expected) in cases {
        let said = scene.said("create", &input);
        assert!(said.contains(expected), "{input}: {said}");
    }
    let long = json!({ "name": "own", "when": "3600", "tool": "report",
        "input": json!({ "items": ["x".repeat(70_000)] }).to_string() });
    assert!(scene.said("create", &long).contains("65536 are allowed"));
    for (tool, input, expected) in [
        ("update", json!({ "name": "preset", "when": "3600" }), "Preset"),
        ("delete", json!({ "name": "preset" }), "Preset"),
        ("update", json!({ "name": "none", "when": "3600" }), "NotFound("),
        ("pause", json!({ "name": "none", "paused": true }), "NotFound("),
        ("delete", json!({ "name": "none" }), "NotFound("),
        ("run", json!({ "name": "x".repeat(10_000) }), "NotFound("),
    ] {
        let said = scene.said(tool, &input);
        assert!(said.contains(expected) && said.len() < 500, "{tool}: {said}");
    }
    assert_eq!(
        scene.said("pause", &json!({ "name": "preset", "paused": true })).split(", ").nth(4),
        Some("paused")
    );
    assert_eq!(scene.kept(), [("preset".to_owned(), Origin::Preset)]);
}

#[test]
fn the_grant_says_how_many_and_how_often() {
    let scene = Scene::new(&[loops(None), loops(Some("max=2")), loops(Some("every=5m"))]);
    assert!(scene.create("often", "299").contains("Limit("), "too often");
    assert!(scene.create("often", "* * * * *").contains("Limit("), "too often");
    for name in ["one", "two"] {
        assert!(scene.create(name, "300").starts_with(name), "presets do not count");
    }
    let said = scene.create("three", "300");
    assert!(said.contains("Limit(") && !said.contains("remit grant"), "{said}");
    let said = scene.said("update", &json!({ "name": "one", "when": "60" }));
    assert!(said.contains("Limit("), "{said}");
    scene.said("delete", &json!({ "name": "one" }));
    assert!(scene.create("three", "300").starts_with("three"));
    assert_eq!(scene.kept().len(), 3);
}

#[test]
fn loops_of_others_are_not_there() {
    let scene = Scene::granted();
    scene.home.install(renamed(&built("planner"), |manifest| {
        manifest["slug"] = json!("other");
        manifest["loops"] = json!([]);
    }));
    assert!(scene.create("own", "3600").starts_with("own"));
    let other = |tool: &str, input: &Value| {
        scene
            .home
            .call(&format!("test/other.{tool}"), input)
            .map_or_else(|failure| failure.error.message, |reply| outcome(&Ok(reply)))
    };
    assert_eq!(other("list", &json!({})), "");
    for (tool, input) in [
        ("update", json!({ "name": "own", "when": "60" })),
        ("pause", json!({ "name": "own", "paused": true })),
        ("run", json!({ "name": "own" })),
        ("delete", json!({ "name": "own" })),
    ] {
        assert!(other(tool, &input).contains("NotFound("), "{tool}");
    }
    assert!(
        other("create", &json!({ "name": "own", "when": "7200" })).starts_with("own, 7200 s"),
        "a name of its own"
    );
    assert!(scene.said("list", &json!({})).starts_with("own, 3600 s"));
}

#[test]
fn a_tool_that_changes_nothing_makes_no_loop() {
    let scene = Scene::granted();
    assert!(scene.said("create_slyly", &json!({ "name": "own", "when": "3600" })).contains("ReadOnly"));
    assert_eq!(scene.kept().len(), 1);
}

#[test]
fn a_dry_run_plans_and_changes_nothing() {
    let scene = Scene::granted();
    let reply = scene.rehearse("rehearse", &json!({ "name": "own" })).expect("an answer");
    let Plan { loops: planned, .. } = &reply.plan;
    let planned: Vec<_> = planned.iter().map(|change| (change.action, change.next_at)).collect();
    let expected = [
        ("create", Some(EIGHT + 60 * MINUTE)),
        ("update", Some(EIGHT + 120 * MINUTE)),
        ("pause", None),
        ("run", None),
        ("delete", None),
    ];
    assert_eq!(planned, expected);
    let said = outcome(&Ok(reply));
    assert!(said.contains("dry-run\n2\n1\n") && said.contains("NotFound("), "it sees what it planned: {said}");
    assert_eq!(scene.kept().len(), 1);
    assert_eq!(scene.said("rehearse", &json!({ "name": "own" })).lines().count(), 7, "the twin");

    // What a dry run may plan is what could be done.
    let scene = Scene::new(&[loops(None), loops(Some("max=0"))]);
    let failure = scene.rehearse("create", &json!({ "name": "own", "when": "3600" })).expect_err("refused");
    assert!(failure.error.message.contains("Limit("), "{}", failure.error);
}

#[test]
fn a_run_starts_no_run() {
    let scene = Scene::granted();
    let input = json!({ "name": "own" }).to_string();
    scene.said("create", &json!({ "name": "own", "when": "3600", "tool": "run", "input": input }));
    let run = || scene.said("run", &json!({ "name": "own" }));
    let id = run();
    assert_eq!(id.len(), 26, "{id}");
    assert!(run().contains("Limit("), "one waits already");
    scene.rounds_at(1);
    let runs = scene.runs("test/planner", "own");
    assert_eq!(runs.len(), 1, "it queued no other: {runs:?}");
    assert_eq!((runs[0].id.as_str(), runs[0].reason.as_deref()), (id.as_str(), Some("capability/failed")));
    assert!(!run().contains("Limit("), "the twin: outside of a run");
}

#[test]
fn a_run_reports_what_is_new() {
    let scene = Scene::granted();
    assert!(scene.said("report", &json!({ "items": [] })).contains("NotFound("), "outside of a run");
    let lists = [
        r#"{"items":["{\"key\":1,\"n\":1}","2"]}"#,
        r#"{"items":["{\"key\":1,\"n\":9}","2"]}"#,
        r#"{"items":["2","3"]}"#,
    ];
    let set = |list: &str| {
        let tool = json!({ "name": "news", "when": "60", "tool": "report", "input": list });
        if scene.kept().len() == 1 { scene.said("create", &tool) } else { scene.said("update", &tool) }
    };
    for (minute, list) in (1..).zip(lists) {
        set(list);
        scene.rounds_at(minute);
    }
    let runs = scene.runs("test/planner", "news");
    let reports: Vec<_> =
        runs.iter().map(|run| (run.report.as_deref().unwrap_or_default(), run.is_nothing)).collect();
    let expected = [
        (r#"first true, added ["{\"key\":1,\"n\":1}", "2"], removed []"#, false),
        (r#"first false, added [], removed []"#, true),
        (r#"first false, added ["3"], removed ["{\"key\":1,\"n\":9}"]"#, false),
    ];
    assert_eq!(reports, expected);

    // A list that is not one fails the run, and the next is compared with the last good one.
    set(r#"{"items":["{"]}"#);
    scene.rounds_at(4);
    set(r#"{"items":["2","3","3"]}"#);
    scene.rounds_at(5);
    let runs = scene.runs("test/planner", "news");
    assert_eq!(runs[3].reason.as_deref(), Some("capability/failed"));
    assert!(runs[4].is_nothing, "{:?}", runs[4].report);
}

#[test]
fn a_list_without_end_is_refused() {
    let scene = Scene::granted();
    let task = |items: Value| Task::Tool {
        tool: "test/planner.report".parse().expect("a tool"),
        input: json!({ "items": items }).as_object().cloned().expect("an object"),
    };
    for (name, items) in [("many", json!(vec!["1"; 1_001])), ("few", json!(vec!["1"; 1_000]))] {
        let timing = Timing::Interval { seconds: 60 };
        scene.home.app.admin().create_loop(Definition::new(name.to_owned(), timing, task(items))).expect("a loop");
    }
    scene.rounds_at(1);
    let reason = |name: &str| scene.runs("remit/loops", name)[0].reason.clone();
    assert_eq!((reason("many").as_deref(), reason("few")), (Some("capability/failed"), None));
}

#[test]
fn loops_outlive_an_uninstall_but_no_purge() {
    let scene = Scene::granted();
    scene.create("own", "60");
    let (admin, name) = (scene.home.app.admin(), "test/planner".parse().expect("a name"));
    admin.uninstall(&name).expect("uninstalled");
    assert_eq!(scene.kept(), [("own".to_owned(), Origin::Capability)], "the preset went");
    scene.rounds_at(1);
    assert_eq!(scene.runs("test/planner", "own")[0].state.as_str(), "skipped");
    scene.home.install_with(built("planner"), &[loops(None)]);
    scene.rounds_at(2);
    assert_ne!(scene.runs("test/planner", "own")[1].state.as_str(), "skipped", "the twin");
    let (digest, _, loops) = admin.purge(&name).expect("purged");
    assert_eq!((digest.is_some(), loops), (true, 2));
    assert_eq!(scene.kept(), []);
    assert!(admin.purge(&name).is_err(), "nothing is left");
}
