//! Loops and real processes that are killed, or are two: a firing is claimed once, whoever dies when.
//!
//! The clock of a real process cannot be set, so the loops are made at a time that has passed: what is due is
//! due when the process starts.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use remit::clock::Clock;
use remit::scheduler::next::Timing;
use remit::scheduler::{Definition, Loop, Run, Task};
use remit_upstream::{Answer, Gate};
use serde_json::json;

use crate::support::home::{built, program, remit, renamed};
use crate::support::world::{HOST, World};

const MINUTE: u64 = 60;

/// How long anything may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(30);

/// A `remit serve` that nobody talks to. Killed as by SIGKILL.
pub(super) struct Server(Child);

impl Server {
    pub(super) fn start(home: &Path) -> Self {
        let mut command = Command::new(program());
        command
            .args(["serve", "--tools", "direct"])
            .env("REMIT_HOME", home)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        Self(command.spawn().expect("remit serve starts"))
    }

    pub(super) fn kill(mut self) {
        self.0.kill().expect("killed");
        self.0.wait().expect("dead");
    }

    fn leads(&self, home: &Path) -> bool {
        let leader = std::fs::read_to_string(home.join("scheduler.lock")).unwrap_or_default();
        leader.trim() == self.0.id().to_string()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A home with `test/probe`, an upstream that answers when the gate of that request is open, and loops that
/// were due before now.
struct Scene {
    world: World,
    clock: Arc<Clock>,
}

impl Scene {
    /// The first `held` requests wait for the gate, the others are answered.
    fn new(settings: &str, held: usize, gate: &Gate) -> Self {
        let (gate, count) = (gate.clone(), AtomicUsize::new(0));
        let clock = Arc::new(Clock::manual(Duration::from_millis(Clock::system().now_ms().unsigned_abs())));
        let world = World::at(Arc::clone(&clock), settings, move |_| {
            let answer = Answer::json(200, &json!({}));
            if count.fetch_add(1, Ordering::Relaxed) < held { answer.behind(&gate) } else { answer }
        });
        // Calling `change` may destroy here.
        world.home.install(renamed(&built("probe"), |manifest| {
            for tool in manifest["tools"].as_array_mut().expect("tools") {
                if tool["name"] == "change" {
                    tool["destructive"] = json!(true);
                }
            }
        }));
        // Compiled before it counts.
        let _ = world.fetch(&json!({ "url": "https://elsewhere.example.com/" }));
        Self { world, clock }
    }

    fn home(&self) -> &Path {
        self.world.home.path()
    }

    /// A loop every five minutes, whose first firing was due so many seconds before now.
    fn due(&self, name: &str, tool: &str, seconds_ago: i64) -> Loop {
        let now = Clock::system().now_ms();
        let period = 5 * MINUTE;
        let made_at = now - seconds_ago * 1_000 - i64::try_from(period).expect("small") * 1_000;
        self.clock.set(Duration::from_millis(made_at.unsigned_abs()));
        let input = json!({ "url": format!("https://{HOST}/{name}") });
        let task = Task::Tool {
            tool: format!("test/probe.{tool}").parse().expect("a tool"),
            input: input.as_object().cloned().expect("an object"),
        };
        let definition = Definition::new(name.to_owned(), Timing::Interval { seconds: period }, task);
        self.world.home.app.admin().create_loop(definition).expect("a loop")
    }

    fn runs(&self, of: &Loop) -> Vec<Run> {
        self.world.home.app.admin().runs(of, 100).expect("a history")
    }

    /// State and starts of the one run that there may be, with how many requests it made.
    fn told(&self, of: &Loop) -> (Option<(&'static str, u32)>, usize) {
        let runs = self.runs(of);
        assert!(runs.len() <= 1, "one firing is one run: {runs:?}");
        let path = format!("/{}", of.definition.name);
        let requests = self.world.upstream.seen().iter().filter(|seen| seen.path == path).count();
        (runs.first().map(|run| (run.state.as_str(), run.attempt)), requests)
    }

    fn wait_for(&self, of: &Loop, expected: (&'static str, u32), requests: usize) {
        wait_until(|| self.told(of) == (Some(expected), requests), || format!("{:?}", self.told(of)));
    }
}

/// Waits until something outside this process is so.
pub(super) fn wait_until(is_so: impl Fn() -> bool, what: impl Fn() -> String) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < PATIENCE, "in vain: {}", what());
        std::thread::sleep(Duration::from_millis(10));
    }
}

const STILL: &str = "[loops]\njitter-s = 0\n";

/// L-01: killed before anything is claimed.
#[test]
fn killed_before_the_claim() {
    let gate = Gate::closed();
    let scene = Scene::new(STILL, 0, &gate);
    let watch = scene.due("watch", "fetch", -7);
    let first = Server::start(scene.home());
    wait_until(|| first.leads(scene.home()), || "no leader".to_owned());
    first.kill();
    assert_eq!(scene.told(&watch), (None, 0));
    let _second = Server::start(scene.home());
    scene.wait_for(&watch, ("done", 1), 1);
}

/// L-01: killed after the claim and before the start of one run, and in the middle of two others, one of which
/// may destroy.
#[test]
fn killed_after_the_claim_and_in_mid_run() {
    let gate = Gate::closed();
    let scene = Scene::new("[loops]\njitter-s = 0\nconcurrent = 2\n", 2, &gate);
    // The longest due start first.
    let reads = scene.due("reads", "fetch", 40);
    let destroys = scene.due("destroys", "change", 38);
    let waits = scene.due("waits", "fetch", 36);
    let first = Server::start(scene.home());
    scene.wait_for(&reads, ("running", 1), 1);
    scene.wait_for(&destroys, ("running", 1), 1);
    scene.wait_for(&waits, ("claimed", 0), 0);
    let ids = [&reads, &waits].map(|of| scene.runs(of)[0].id.clone());
    first.kill();

    let _second = Server::start(scene.home());
    scene.wait_for(&reads, ("done", 2), 2);
    scene.wait_for(&waits, ("done", 1), 1);
    scene.wait_for(&destroys, ("interrupted", 1), 1);
    assert_eq!([&reads, &waits].map(|of| scene.runs(of)[0].id.clone()), ids, "started again as the same run");
    let outcomes: Vec<String> = scene.world.home.records().into_iter().map(|record| record.outcome).collect();
    assert_eq!(outcomes.iter().filter(|outcome| *outcome == "aborted").count(), 2, "{outcomes:?}");
}

/// L-01: killed when the tool has answered, and its end is not on disk.
#[test]
fn killed_before_the_result_is_committed() {
    let gate = Gate::closed();
    let scene = Scene::new(STILL, 1, &gate);
    let reads = scene.due("reads", "fetch", 40);
    let first = Server::start(scene.home());
    scene.wait_for(&reads, ("running", 1), 1);
    // Whoever holds the lock for writing keeps the end of the run from the disk.
    let other = rusqlite::Connection::open(scene.home().join("remit.db")).expect("the database");
    other.execute_batch("BEGIN IMMEDIATE").expect("the lock");
    gate.open();
    // The answer travels, and its end waits for the lock, for five seconds.
    std::thread::sleep(Duration::from_millis(500));
    assert_eq!(scene.told(&reads), (Some(("running", 1)), 1));
    first.kill();
    other.execute_batch("ROLLBACK").expect("the lock is given back");
    let _second = Server::start(scene.home());
    scene.wait_for(&reads, ("done", 2), 2);
}

/// L-02: two servers on one home.
#[test]
fn two_servers_claim_each_firing_once_and_the_second_takes_over() {
    let gate = Gate::closed();
    let scene = Scene::new(STILL, 0, &gate);
    let before: Vec<Loop> = (0..20).map(|index| scene.due(&format!("before-{index}"), "change", 35)).collect();
    let servers = [Server::start(scene.home()), Server::start(scene.home())];
    for of in &before {
        scene.wait_for(of, ("done", 1), 1);
    }
    let is_leader = |server: &Server| server.leads(scene.home());
    assert_eq!(servers.iter().filter(|server| is_leader(server)).count(), 1);
    let (leaders, mut others): (Vec<Server>, Vec<Server>) = servers.into_iter().partition(is_leader);
    leaders.into_iter().for_each(Server::kill);
    let died = Instant::now();

    let after: Vec<Loop> = (0..20).map(|index| scene.due(&format!("after-{index}"), "change", 0)).collect();
    for of in &after {
        scene.wait_for(of, ("done", 1), 1);
    }
    assert!(died.elapsed() < Duration::from_secs(10), "{:?}", died.elapsed());
    assert!(others.pop().is_some_and(|server| server.leads(scene.home())));
    for of in &before {
        assert_eq!(scene.told(of), (Some(("done", 1)), 1), "nothing ran again");
    }
}

/// A server that ends in order gives its runs a moment.
#[test]
fn a_server_that_is_asked_to_end_lets_runs_end() {
    let gate = Gate::closed();
    let scene = Scene::new(STILL, 1, &gate);
    let reads = scene.due("reads", "fetch", 40);
    let mut server = Server::start(scene.home());
    scene.wait_for(&reads, ("running", 1), 1);
    drop(server.0.stdin.take());
    gate.open();
    assert!(server.0.wait().expect("it ends").success());
    assert_eq!(scene.told(&reads), (Some(("done", 1)), 1));
}

/// A person's run beside a server that may take it first: one run either way, and the person sees its end.
#[test]
fn a_person_and_a_server_do_not_run_it_twice() {
    let gate = Gate::closed();
    let scene = Scene::new(STILL, 0, &gate);
    let watch = scene.due("watch", "change", -240);
    let server = Server::start(scene.home());
    wait_until(|| server.leads(scene.home()), || "no leader".to_owned());
    for runs in 1..=5 {
        let ended = remit(scene.home(), &["loops", "run", "remit/loops", "watch", "--json"], "");
        assert_eq!((ended.exit, ended.json()["state"].as_str()), (Some(0), Some("done")), "{ended:?}");
        assert_eq!(scene.runs(&watch).len(), runs);
        assert_eq!(scene.world.upstream.seen().len(), runs, "one request a run");
    }
}
