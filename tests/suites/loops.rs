//! Loops on a clock that stands still until it is moved, with real guests: what fires, what is made up for, what
//! is refused. The ids are those of the table of rules in `docs/design/`.

use std::sync::Arc;
use std::time::Duration;

use remit::clock::Clock;
use remit::registry::CapabilityName;
use remit::scheduler::next::Timing;
use remit::scheduler::{Definition, Loop, Misfire, Overlap, Run, Scheduler, Status, Task, Tick};
use remit_guests::{Guest, manifest};
use remit_upstream::{Answer, Gate};
use serde_json::{Value, json};

use crate::support::home::{Home, built, renamed};
use crate::support::world::{HOST, World};

/// 2026-01-05, a Monday, 08:00 UTC.
const EIGHT: i64 = 1_767_600_000_000;
const SECOND: i64 = 1_000;
const MINUTE: i64 = 60 * SECOND;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;

/// No jitter: a test that wants it says so.
const STILL: &str = "[loops]\njitter-s = 0\n";

fn name(text: &str) -> CapabilityName {
    text.parse().expect("a name")
}

fn clock() -> Arc<Clock> {
    Arc::new(Clock::manual(Duration::from_millis(EIGHT.unsigned_abs())))
}

fn cron(pattern: &str) -> Timing {
    Timing::Cron { pattern: pattern.to_owned(), timezone: "UTC".to_owned() }
}

fn calls(tool: &str, input: &Value) -> Task {
    Task::Tool { tool: tool.parse().expect("a tool"), input: input.as_object().cloned().expect("an object") }
}

/// A home, its clock, and its schedules.
struct Scene {
    home: Home,
    clock: Arc<Clock>,
    scheduler: Scheduler,
}

impl Scene {
    fn new(settings: &str) -> Self {
        let folder = tempfile::tempdir().expect("a scratch folder");
        std::fs::write(folder.path().join("remit.toml"), settings).expect("room");
        let clock = clock();
        Self::of(Home::open_at(folder, Arc::clone(&clock)), clock)
    }

    fn of(home: Home, clock: Arc<Clock>) -> Self {
        let scheduler = home.threads.block_on(async { home.app.scheduler() }).expect("schedules");
        Self { home, clock, scheduler }
    }

    /// With `test/SLUG`, whose tool `run` answers `done`.
    fn with(self, slug: &str) -> Self {
        self.home.install(Guest::done().capability(slug));
        self
    }

    fn make(&self, definition: Definition) -> Loop {
        self.home.app.admin().create_loop(definition).expect("a loop in order")
    }

    /// A loop that calls `test/one.run`.
    fn one(&self, loop_name: &str, timing: Timing) -> Definition {
        Definition::new(loop_name.to_owned(), timing, calls("test/one.run", &json!({})))
    }

    fn set(&self, ms: i64) {
        self.clock.set(Duration::from_millis(ms.unsigned_abs()));
    }

    /// Rounds until there is nothing to start, and waits for what was started.
    fn rounds(&self) -> Tick {
        let mut all = Tick::default();
        loop {
            let tick = self.scheduler.tick().expect("a round");
            self.home.threads.block_on(self.scheduler.settled());
            all = Tick { claimed: all.claimed + tick.claimed, started: all.started + tick.started, ..tick };
            if tick.started == 0 {
                return all;
            }
        }
    }

    /// One round, and does not wait.
    fn round(&self) -> Tick {
        self.scheduler.tick().expect("a round")
    }

    fn found(&self, capability: &str, loop_name: &str) -> Loop {
        self.home.app.admin().find_loop(&name(capability), loop_name).expect("the loop")
    }

    fn mine(&self, loop_name: &str) -> Loop {
        self.found("remit/loops", loop_name)
    }

    fn history(&self, of: &Loop) -> Vec<Run> {
        self.home.app.admin().runs(of, 1_000).expect("a history")
    }

    /// Seconds after eight and state of each run, oldest first.
    fn told(&self, of: &Loop) -> Vec<(i64, &'static str)> {
        let runs = self.history(of);
        runs.iter().rev().map(|run| ((run.nominal_at - EIGHT) / SECOND, run.state.as_str())).collect()
    }

    /// Who called what, and how it ended, newest first.
    fn records(&self) -> Vec<String> {
        let records = self.home.records();
        records
            .iter()
            .map(|record| format!("{} {}.{} {}", record.principal, record.capability, record.tool, record.outcome))
            .collect()
    }
}

/// `test/clock` with these loops in its manifest.
fn with_presets(loops: &Value, version: &str) -> Vec<u8> {
    let mut manifest = manifest("clock");
    manifest["version"] = json!(version);
    manifest["uses"] = json!(["loops"]);
    manifest["loops"] = loops.clone();
    Guest::done().with_manifest(&manifest)
}

fn preset(loop_name: &str, expression: &str) -> Value {
    json!({ "name": loop_name, "scheduleType": "cron", "scheduleExpression": expression, "tool": "run" })
}

#[test]
fn a_loop_fires_at_its_times_and_calls_its_tool_by_the_one_path() {
    let scene = Scene::new(STILL).with("one");
    scene.make(scene.one("tick", cron("*/5 * * * *")));
    assert_eq!(scene.rounds(), Tick { leads: true, claimed: 0, started: 0, next_at: Some(EIGHT + 5 * MINUTE) });
    for minute in 1..=10 {
        scene.set(EIGHT + minute * MINUTE);
        assert_eq!(scene.rounds().started, usize::from(minute % 5 == 0), "{minute}");
    }
    let tick = scene.mine("tick");
    assert_eq!(scene.told(&tick), [(300, "done"), (600, "done")]);
    assert_eq!((tick.next_at, tick.last_at), (Some(EIGHT + 15 * MINUTE), Some(EIGHT + 10 * MINUTE)));
    let record = "loop:remit/loops/tick test/one.run ok";
    assert_eq!(scene.records(), [record, record]);
    let runs = scene.history(&tick);
    assert_eq!(runs[0].report.as_deref(), Some("done"));
    assert_eq!(runs[0].call.as_deref(), Some(scene.home.records()[0].id.as_str()), "the run knows its record");
}

#[test]
fn the_guest_gets_the_runs_id() {
    let scene = Scene::new(STILL);
    scene.home.install(Guest::calling("(call $text (local.get $run) (local.get $run_len))").capability("one"));
    scene.make(scene.one("tick", cron("* * * * *")));
    scene.set(EIGHT + MINUTE);
    scene.rounds();
    let runs = scene.history(&scene.mine("tick"));
    assert_eq!(runs[0].report.as_deref(), Some(runs[0].id.as_str()));
}

#[test]
fn a_failed_call_is_a_failed_run_and_the_loop_goes_on() {
    let scene = Scene::new(STILL);
    scene.home.install(Guest::traps().capability("one"));
    scene.make(scene.one("tick", cron("* * * * *")));
    for minute in 1..=2 {
        scene.set(EIGHT + minute * MINUTE);
        scene.rounds();
    }
    let tick = scene.mine("tick");
    assert_eq!(scene.told(&tick), [(60, "failed"), (120, "failed")]);
    assert_eq!(scene.history(&tick)[0].reason.as_deref(), Some("capability/trap"));
}

#[test]
fn nothing_to_report_is_seen_in_the_answer() {
    let scene = Scene::new(STILL);
    for (slug, answer) in [("one", r#"{"nothingToReport":true}"#), ("two", r#"{"nothingToReport":false}"#)] {
        scene.home.install(Guest::structured(answer).capability(slug));
        let task = calls(&format!("test/{slug}.run"), &json!({}));
        scene.make(Definition { quiet: true, ..Definition::new(slug.to_owned(), cron("* * * * *"), task) });
    }
    scene.set(EIGHT + MINUTE);
    scene.rounds();
    let is_nothing = |loop_name| scene.history(&scene.mine(loop_name))[0].is_nothing;
    assert_eq!((is_nothing("one"), is_nothing("two")), (true, false));
}

/// L-03.
#[test]
fn after_an_absence_the_misfire_rule_decides() {
    let scene = Scene::new(STILL).with("one");
    for misfire in Misfire::ALL {
        scene.make(Definition { misfire: *misfire, ..scene.one(misfire.as_str(), cron("* * * * *")) });
    }
    // Up to 08:28, then away until 10:21.
    for minute in 1..=28 {
        scene.set(EIGHT + minute * MINUTE);
        scene.rounds();
    }
    scene.set(EIGHT + 141 * MINUTE + 40 * SECOND);
    scene.rounds();
    for (misfire, runs, missed) in
        [(Misfire::RunOnce, 1, 112), (Misfire::Skip, 0, 113), (Misfire::RunAll, 10, 103)]
    {
        let of = scene.mine(misfire.as_str());
        let made_up: Vec<_> =
            scene.told(&of).into_iter().filter(|(at, state)| *at > 28 * 60 && *state == "done").collect();
        assert_eq!((made_up.len(), of.missed), (runs, missed), "{misfire:?}");
        assert_eq!(of.next_at, Some(EIGHT + 142 * MINUTE));
        assert!(made_up.iter().all(|(at, _)| *at > 131 * 60), "the last ones: {made_up:?}");
    }
}

/// L-04.
#[test]
fn beyond_the_window_a_firing_is_missed_and_recorded() {
    let scene = Scene::new(STILL).with("one");
    scene.make(scene.one("daily", cron("0 9 * * *")));
    scene.set(EIGHT + 2 * HOUR + SECOND);
    assert_eq!(scene.rounds().claimed, 0);
    let daily = scene.mine("daily");
    assert_eq!((daily.missed, scene.told(&daily)), (1, vec![(3600, "missed")]));
    assert_eq!(scene.records(), ["loop:remit/loops/daily test/one.run loops/missed"]);
    assert_eq!(scene.home.records()[0].detail.as_deref(), Some("the host was too late for 1 firing"));
    assert_eq!(daily.next_at, Some(EIGHT + DAY + HOUR));
}

/// L-05.
#[test]
fn a_clock_that_is_set_repeats_nothing_and_floods_nobody() {
    let scene = Scene::new(STILL).with("one");
    scene.make(scene.one("tick", cron("* * * * *")));
    scene.set(EIGHT + MINUTE);
    assert_eq!(scene.rounds().claimed, 1);
    // Two hours back: every minute of them was there before.
    for minute in -119..=1 {
        scene.set(EIGHT + minute * MINUTE);
        assert_eq!(scene.rounds().claimed, 0, "{minute}");
    }
    scene.set(EIGHT + 2 * MINUTE);
    assert_eq!(scene.rounds().claimed, 1);
    // A day forward.
    scene.set(EIGHT + 2 * MINUTE + DAY);
    assert_eq!(scene.rounds().claimed, 1);
    let tick = scene.mine("tick");
    assert_eq!((scene.records().len(), tick.missed), (4, 1439), "three calls, and the record of those missed");
}

/// L-06.
#[test]
fn a_run_that_is_longer_than_the_period_meets_the_overlap_rule() {
    let gate = Gate::closed();
    let closed = gate.clone();
    let clock = clock();
    let world =
        World::at(Arc::clone(&clock), STILL, move |_| Answer::json(200, &json!({})).behind(&closed)).granted();
    let (scene, upstream) = (Scene::of(world.home, clock), world.upstream);
    let task = calls("test/probe.fetch", &json!({ "url": format!("https://{HOST}/") }));
    for overlap in Overlap::ALL {
        let definition = Definition::new(overlap.as_str().to_owned(), cron("* * * * *"), task.clone());
        scene.make(Definition { overlap: *overlap, ..definition });
    }
    for minute in 1..=3 {
        scene.set(EIGHT + minute * MINUTE);
        scene.round();
    }
    let told =
        |overlap: Overlap| (scene.told(&scene.mine(overlap.as_str())), scene.mine(overlap.as_str()).skipped);
    assert_eq!(told(Overlap::Skip), (vec![(60, "running"), (120, "skipped"), (180, "skipped")], 2));
    assert_eq!(told(Overlap::QueueOne), (vec![(60, "running"), (120, "claimed"), (180, "skipped")], 1));
    gate.open();
    scene.home.threads.block_on(scene.scheduler.settled());
    scene.rounds();
    assert_eq!(told(Overlap::Skip).0, [(60, "done"), (120, "skipped"), (180, "skipped")]);
    assert_eq!(told(Overlap::QueueOne).0, [(60, "done"), (120, "done"), (180, "skipped")]);
    assert_eq!(upstream.seen().len(), 3);
}

/// L-07.
#[test]
fn what_is_no_longer_allowed_does_not_start() {
    let scene = Scene::new(STILL).with("one");
    scene.make(scene.one("tick", cron("* * * * *")));
    scene.home.install(with_presets(&json!([preset("own", "* * * * *")]), "1.0.0"));
    scene.set(EIGHT + MINUTE);
    assert_eq!(scene.rounds().started, 2);

    let admin = scene.home.app.admin();
    admin.uninstall(&name("test/one")).expect("uninstalled");
    admin.revoke(&name("test/clock"), &cli_grants("loops")).expect("revoked");
    scene.set(EIGHT + 2 * MINUTE);
    assert_eq!(scene.rounds().started, 0);
    let tick = scene.mine("tick");
    assert_eq!((scene.told(&tick), tick.skipped), (vec![(60, "done"), (120, "skipped")], 1));
    let why = "call/unknown-tool: no installed capability has the tool `test/one.run`";
    assert_eq!(scene.history(&tick)[0].reason.as_deref(), Some(why));
    assert_eq!(scene.records()[0], "loop:remit/loops/tick test/one.run call/unknown-tool");
    assert!(admin.find_loop(&name("test/clock"), "own").is_err(), "without its grant a preset is not there");
    assert_eq!(scene.records().len(), 3, "{:?}", scene.records());

    // Allowed again, it goes on.
    scene.home.install(Guest::done().capability("one"));
    scene.set(EIGHT + 3 * MINUTE);
    assert_eq!(scene.rounds().started, 1);
}

fn cli_grants(namespace: &str) -> Vec<remit::policy::Grant> {
    let namespace = serde_json::from_value(json!(namespace)).expect("a namespace");
    vec![remit::policy::Grant { namespace, entry: None }]
}

#[test]
fn a_claimed_run_is_judged_when_it_starts() {
    let scene = Scene::new("[loops]\njitter-s = 3600\n").with("one");
    // Spread over the tenth of an hour: one that does not start at once.
    let made: Vec<Loop> =
        (0..8).map(|index| scene.make(scene.one(&format!("tick-{index}"), cron("0 * * * *")))).collect();
    scene.set(EIGHT + HOUR);
    scene.round();
    let waiting = made.iter().find(|of| scene.told(of) == [(3600, "claimed")]).expect("one of eight is late");
    scene.home.app.admin().uninstall(&name("test/one")).expect("uninstalled");
    scene.set(EIGHT + HOUR + 6 * MINUTE);
    scene.rounds();
    assert_eq!(scene.told(waiting), [(3600, "skipped")]);
    assert_eq!(
        scene.home.app.admin().find_loop(&waiting.capability, &waiting.definition.name).expect("it").skipped,
        1
    );
}

/// L-08.
#[test]
fn a_schedule_that_changes_during_a_run_counts_from_then_on() {
    let gate = Gate::closed();
    let closed = gate.clone();
    let clock = clock();
    let world = World::at(Arc::clone(&clock), STILL, move |_| Answer::json(200, &json!({})).behind(&closed));
    let scene = Scene::of(world.home, clock);
    let probe = |version: &str, expression: &str| {
        renamed(&built("probe"), |manifest| {
            manifest["version"] = json!(version);
            manifest["uses"] = json!(["http", "loops"]);
            manifest["loops"] = json!([{ "name": "watch", "scheduleType": "cron", "scheduleExpression": expression,
                "tool": "fetch", "input": { "url": format!("https://{HOST}/") } }]);
        })
    };
    scene.home.install(probe("1.0.0", "* * * * *"));
    scene.set(EIGHT + MINUTE);
    assert_eq!(scene.round().started, 1);
    // What has left may come back; a version that was replaced sends nothing more.
    while world.upstream.seen().is_empty() {
        std::thread::sleep(Duration::from_millis(5));
    }
    let before = scene.found("test/probe", "watch");
    scene.home.install(probe("1.1.0", "30 * * * *"));
    let after = scene.found("test/probe", "watch");
    assert_eq!((&after.id, after.next_at), (&before.id, Some(EIGHT + 30 * MINUTE)));
    gate.open();
    scene.home.threads.block_on(scene.scheduler.settled());
    scene.set(EIGHT + 2 * MINUTE);
    assert_eq!(scene.rounds().claimed, 0);
    assert_eq!(scene.told(&after), [(60, "done")]);
    scene.set(EIGHT + 30 * MINUTE);
    assert_eq!(scene.rounds().started, 1);
    drop(world.upstream);
}

/// L-09: all are claimed at once, and start within the window, a few at a time.
#[test]
fn a_thousand_loops_at_one_moment_all_start() {
    let scene = Scene::new("[loops]\njitter-s = 10\nconcurrent = 8\n").with("one");
    let made: Vec<Loop> =
        (0..1_000).map(|index| scene.make(scene.one(&format!("n{index}"), cron("0 * * * *")))).collect();
    let mut claimed = 0;
    for second in 0..=10 {
        scene.set(EIGHT + HOUR + second * SECOND);
        claimed += scene.rounds().claimed;
    }
    assert_eq!(claimed, 1_000);
    for of in &made {
        assert_eq!(scene.told(of), [(3600, "done")], "{}", of.definition.name);
    }
    assert_eq!(scene.home.records().len(), 1_000);
}

/// L-09: not more than a few at a time.
#[test]
fn runs_at_once_are_bounded() {
    let gate = Gate::closed();
    let closed = gate.clone();
    let clock = clock();
    let settings = "[loops]\njitter-s = 0\nconcurrent = 3\n";
    let world =
        World::at(Arc::clone(&clock), settings, move |_| Answer::json(200, &json!({})).behind(&closed)).granted();
    let scene = Scene::of(world.home, clock);
    let task = calls("test/probe.fetch", &json!({ "url": format!("https://{HOST}/") }));
    let made: Vec<Loop> = (0..10)
        .map(|index| scene.make(Definition::new(format!("n{index}"), cron("* * * * *"), task.clone())))
        .collect();
    scene.set(EIGHT + MINUTE);
    assert_eq!(
        (scene.round(), scene.round().started),
        (Tick { leads: true, claimed: 10, started: 3, next_at: Some(EIGHT + MINUTE) }, 0)
    );
    let states = |state: &str| made.iter().filter(|of| scene.told(of) == [(60, state)]).count();
    assert_eq!((states("running"), states("claimed")), (3, 7));
    gate.open();
    scene.home.threads.block_on(scene.scheduler.settled());
    scene.rounds();
    assert_eq!(states("done"), 10);
    assert_eq!(world.upstream.seen().len(), 10);
}

/// L-10.
#[test]
fn a_schedule_whose_search_ends_breaks_its_loop_and_no_other() {
    let scene = Scene::new(STILL).with("one");
    // The day of 2011-12-30 does not exist in Apia.
    let noon =
        "2010-12-30T12:00:00[Pacific/Apia]".parse::<jiff::Zoned>().expect("a time").timestamp().as_millisecond();
    scene.set(noon - HOUR);
    let apia = Timing::Cron { pattern: "0 12 30 12 *".to_owned(), timezone: "Pacific/Apia".to_owned() };
    scene.make(scene.one("apia", apia));
    scene.make(scene.one("other", cron("0 * * * *")));
    scene.set(noon);
    assert_eq!(scene.rounds().started, 2);
    let broken = scene.mine("apia");
    assert_eq!((broken.status, broken.next_at), (Status::Broken, None));
    assert_eq!(broken.reason.as_deref(), Some("no next firing can be found"));
    for hour in 1..=3 {
        scene.set(noon + hour * HOUR);
        assert_eq!(scene.rounds().started, 1);
    }
    assert_eq!(scene.mine("other").status, Status::Active);
    // A person can have it tried again, once there is something to find.
    let admin = scene.home.app.admin();
    assert!(admin.resume_loop(&broken).is_err());
    scene.set("2012-01-05T00:00:00Z".parse::<jiff::Timestamp>().expect("a time").as_millisecond());
    assert!(admin.resume_loop(&broken).is_ok());
    assert_eq!(scene.mine("apia").status, Status::Active);
}

#[test]
fn an_interval_counts_from_when_it_was_made_and_does_not_drift() {
    let scene = Scene::new(STILL).with("one");
    scene.set(EIGHT + 7 * SECOND);
    scene.make(scene.one("tick", Timing::Interval { seconds: 90 }));
    for late in [0, 20, 5, 29] {
        let next_at = scene.mine("tick").next_at.expect("it fires");
        scene.set(next_at + late * SECOND);
        assert_eq!(scene.rounds().started, 1);
    }
    assert_eq!(scene.told(&scene.mine("tick")), [97, 187, 277, 367].map(|second| (second, "done")));
}

#[test]
fn presets_come_and_go_with_install_grant_and_version() {
    let scene = Scene::new(STILL);
    let admin = scene.home.app.admin();
    let listed = || {
        let loops = admin.loops(Some(&name("test/clock"))).expect("a list");
        loops
            .iter()
            .map(|of| format!("{} {} {}", of.definition.name, of.definition.timing, of.status.as_str()))
            .collect::<Vec<_>>()
    };
    let loops = json!([preset("a", "0 8 * * *"), preset("b", "0 9 * * *")]);
    scene.home.install_with(with_presets(&loops, "1.0.0"), &[]);
    assert_eq!(listed(), [""; 0], "not granted");
    admin.grant(&name("test/clock"), &cli_grants("loops")).expect("granted");
    assert_eq!(listed(), ["a 0 8 * * * UTC active", "b 0 9 * * * UTC active"]);

    admin.pause_loop(&scene.found("test/clock", "a")).expect("paused");
    let ids = (scene.found("test/clock", "a").id, scene.found("test/clock", "b").id);
    let loops = json!([preset("a", "5 8 * * *"), preset("c", "0 9 * * *")]);
    scene.home.install(with_presets(&loops, "1.1.0"));
    assert_eq!(listed(), ["a 5 8 * * * UTC paused", "c 0 9 * * * UTC active"], "by name, with its pause");
    assert_eq!(scene.found("test/clock", "a").id, ids.0);

    let refused = admin.delete_loop(&scene.found("test/clock", "a")).expect_err("a preset");
    assert_eq!(refused.kind.code(), "loops/preset");
    admin.uninstall(&name("test/clock")).expect("uninstalled");
    assert_eq!(listed(), [""; 0]);
}

#[test]
fn a_pause_stops_what_has_not_started() {
    let scene = Scene::new("[loops]\njitter-s = 3600\n").with("one");
    let made: Vec<Loop> =
        (0..8).map(|index| scene.make(scene.one(&format!("tick-{index}"), cron("0 * * * *")))).collect();
    scene.set(EIGHT + HOUR);
    scene.round();
    let admin = scene.home.app.admin();
    let waiting = made.iter().find(|of| scene.told(of) == [(3600, "claimed")]).expect("one of eight is late");
    admin.pause_loop(waiting).expect("paused");
    for hour in 2..=3 {
        scene.set(EIGHT + hour * HOUR + 6 * MINUTE);
        scene.rounds();
    }
    assert_eq!(scene.told(waiting), [(3600, "skipped")]);
    let next_at = admin.resume_loop(waiting).expect("resumed");
    assert_eq!(next_at, EIGHT + 4 * HOUR, "what passed meanwhile is not made up for");
}

#[test]
fn a_prompt_waits_for_an_agent() {
    let scene = Scene::new(STILL);
    scene.make(Definition::new("ask".to_owned(), cron("* * * * *"), Task::Prompt("Look.".to_owned())));
    for minute in 1..=3 {
        scene.set(EIGHT + minute * MINUTE);
        scene.rounds();
    }
    let ask = scene.mine("ask");
    assert_eq!((scene.told(&ask), ask.skipped), (vec![(60, "waiting"), (120, "skipped"), (180, "skipped")], 2));
    assert_eq!(scene.records(), [""; 0], "nothing was called");
}

#[test]
fn a_loop_that_cannot_be_is_refused_when_it_is_made() {
    let scene = Scene::new("[loops]\nmin-period-s = 300\n").with("one");
    let admin = scene.home.app.admin();
    let code =
        |definition: Definition| admin.create_loop(definition).map_or_else(|error| error.kind.code(), |_| "ok");
    let hourly = || scene.one("hourly", cron("0 * * * *"));
    let with_task = |task: Task| Definition { task, ..hourly() };
    assert_eq!(code(scene.one("sub", cron("* * * * * *"))), "loops/invalid-schedule");
    assert_eq!(code(scene.one("sub", cron("0 0 30 2 *"))), "loops/invalid-schedule");
    assert_eq!(code(scene.one("sub", Timing::Interval { seconds: 59 })), "loops/invalid-schedule");
    let mars = Timing::Cron { pattern: "0 0 * * *".to_owned(), timezone: "Mars/Olympus".to_owned() };
    assert_eq!(code(scene.one("sub", mars)), "loops/invalid-schedule");
    assert_eq!(code(scene.one("sub", cron("*/4 * * * *"))), "loops/limit");
    assert_eq!(code(scene.one("Sub", cron("0 * * * *"))), "loops/invalid-definition");
    assert_eq!(code(Definition { window: Duration::from_secs(9), ..hourly() }), "loops/invalid-definition");
    assert_eq!(code(with_task(Task::Prompt(" ".to_owned()))), "loops/invalid-definition");
    assert_eq!(code(with_task(Task::Prompt("a\u{202e}b".to_owned()))), "loops/invalid-definition");
    assert_eq!(code(with_task(calls("test/gone.run", &json!({})))), "call/unknown-tool");
    assert_eq!(code(with_task(calls("test/one.gone", &json!({})))), "call/unknown-tool");
    assert_eq!(code(with_task(calls("test/one.run", &json!({ "x": 1 })))), "loops/invalid-definition");
    assert_eq!(admin.loops(None).expect("a list"), []);
    assert_eq!((code(hourly()), code(hourly())), ("ok", "loops/already-exists"));
}

#[test]
fn a_person_starts_a_run_beside_the_schedule() {
    let scene = Scene::new(STILL).with("one");
    let made = scene.make(scene.one("hourly", cron("0 * * * *")));
    let admin = scene.home.app.admin();
    admin.queue_run(&made).expect("queued");
    admin.queue_run(&made).expect("queued, too");
    assert_eq!(scene.rounds().started, 2);
    assert_eq!(scene.mine("hourly").next_at, made.next_at, "the schedule is what it was");
    let runs = scene.history(&made);
    assert!(runs.iter().all(|run| run.is_manual && run.state.as_str() == "done"), "{runs:?}");
}

/// DB-11: what a run changes is counted in the transaction that changes it.
#[test]
fn documents_that_a_run_changes_are_counted_with_it() {
    let scene = Scene::new(STILL);
    scene.home.install(renamed(&built("keeper"), |manifest| {
        manifest["uses"] = json!(["entities", "loops", "http"]);
        manifest["loops"] = json!([{ "name": "keep", "scheduleType": "cron", "scheduleExpression": "* * * * *",
            "tool": "put", "input": { "entity": "notes", "key": "a", "value": "1" } }]);
    }));
    scene.set(EIGHT + MINUTE);
    assert_eq!(scene.round().started, 1);
    scene.home.threads.block_on(scene.scheduler.settled());
    let keep = scene.found("test/keeper", "keep");
    let changes: Vec<_> = scene.history(&keep).iter().map(|run| (run.state.as_str(), run.changes)).collect();
    assert_eq!(changes, [("done", 1)]);
}
