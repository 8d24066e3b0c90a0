//! `plugins/digest` on its own schedule: what is new is told once, nothing is told when there is nothing, whoever dies
//! in between.

use std::cell::OnceCell;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use remit::call::{Failure, Reply};
use remit::clock::Clock;
use remit::scheduler::{Run, Scheduler};
use remit_upstream::{Answer, Gate, Upstream};
use serde_json::{Value, json};

use super::loops_processes::{Server, wait_until};
use crate::support::home::{Home, built, outcome};

const HOST: &str = "feeds.example.com";
const URL: &str = "https://feeds.example.com/news.xml";

/// 2026-01-05, a Monday, 08:00 UTC.
const EIGHT: i64 = 1_767_600_000_000;
const SECOND: i64 = 1_000;
const HOUR: i64 = 3_600 * SECOND;

/// A home with `remit/digest`, a clock that stands still until it is moved, and a server with one feed.
struct Scene {
    home: Home,
    clock: Arc<Clock>,
    upstream: Upstream,
    feed: Arc<Mutex<Answer>>,
    /// Made when it is first asked: before that, other processes lead.
    scheduler: OnceCell<Scheduler>,
}

impl Scene {
    /// Where it is as late as this. These requests, counted from 0, wait for the gate.
    fn at(now: i64, held: std::ops::Range<usize>, gate: &Gate) -> Self {
        let feed = Arc::new(Mutex::new(rss(&[])));
        let (shown, gate, count) = (Arc::clone(&feed), gate.clone(), AtomicUsize::new(0));
        let upstream = Upstream::start(&[HOST], move |_| {
            let answer = shown.lock().unwrap_or_else(PoisonError::into_inner).clone();
            let is_held = held.contains(&count.fetch_add(1, Ordering::Relaxed));
            if is_held { answer.behind(&gate) } else { answer }
        });
        let folder = tempfile::tempdir().expect("a scratch folder");
        let authority = folder.path().join("upstream.pem");
        std::fs::write(&authority, upstream.authority_pem()).expect("room");
        let settings = upstream.settings("remit/digest", HOST, &authority);
        std::fs::write(folder.path().join("remit.toml"), format!("{settings}\n[loops]\njitter-s = 0\n"))
            .expect("room");
        let clock = Arc::new(Clock::manual(Duration::from_millis(now.unsigned_abs())));
        let home = Home::open_at(folder, Arc::clone(&clock));
        home.install(built("digest"));
        Self { home, clock, upstream, feed, scheduler: OnceCell::new() }
    }

    fn shows(&self, answer: Answer) {
        *self.feed.lock().unwrap_or_else(PoisonError::into_inner) = answer;
    }

    fn call(&self, tool: &str, arguments: &Value) -> Result<Reply, Failure> {
        self.home.call(&format!("remit/digest.{tool}"), arguments)
    }

    fn watches(self) -> Self {
        let watched = self.call("watch_feed", &json!({ "url": URL }));
        assert_eq!(outcome(&watched), json!({ "url": URL, "title": "News", "already": false }).to_string());
        self
    }

    /// Moves the clock, lets the schedules fire, and gives what the newest run told.
    fn fires_at(&self, now: i64) -> Vec<String> {
        self.clock.set(Duration::from_millis(now.unsigned_abs()));
        let open = || self.home.threads.block_on(async { self.home.app.scheduler() }).expect("schedules");
        let scheduler = self.scheduler.get_or_init(open);
        let tick = scheduler.tick().expect("a round");
        assert_eq!((tick.leads, tick.started), (true, 1), "one firing is due");
        self.home.threads.block_on(scheduler.settled());
        told(&self.runs()[0])
    }

    /// The runs of the loop that comes with it, the newest first.
    fn runs(&self) -> Vec<Run> {
        let admin = self.home.app.admin();
        let hourly = admin.find_loop(&"remit/digest".parse().expect("a name"), "hourly").expect("it is there");
        admin.runs(&hourly, 100).expect("a history")
    }
}

fn rss(items: &[&str]) -> Answer {
    let item = |title: &&str| format!("<item><title>{title}</title><guid>{title}</guid></item>");
    let items: String = items.iter().map(item).collect();
    let feed = format!("<rss version='2.0'><channel><title>News</title>{items}</channel></rss>");
    Answer::new(200, "application/rss+xml", feed)
}

/// Titles and failing feeds that a run told. Checks that a run that told nothing is quiet, and no other.
fn told(run: &Run) -> Vec<String> {
    assert_eq!((run.state.as_str(), &run.reason), ("done", &None));
    let report: Value =
        run.report.as_deref().map_or(Value::Null, |report| serde_json::from_str(report).expect("JSON"));
    let texts = |list: &str, member: &str| -> Vec<String> {
        let list = report[list].as_array().into_iter().flatten();
        list.filter_map(|entry| entry[member].as_str()).map(str::to_owned).collect()
    };
    let told = [texts("items", "title"), texts("problems", "url")].concat();
    assert_eq!(run.is_nothing, told.is_empty(), "{run:?}");
    told
}

#[test]
fn what_is_new_is_told_once() {
    let scene = Scene::at(EIGHT, 0..0, &Gate::closed()).watches();
    scene.shows(rss(&["b", "a"]));
    assert_eq!(scene.fires_at(EIGHT + HOUR), ["b", "a"]);
    assert_eq!(scene.fires_at(EIGHT + 2 * HOUR), [""; 0]);
    scene.shows(rss(&["c", "b", "a"]));
    assert_eq!(scene.fires_at(EIGHT + 3 * HOUR), ["c"]);
    assert_eq!(scene.fires_at(EIGHT + 4 * HOUR), [""; 0]);

    // A server that fails is told when it begins, and brings nothing back when it ends.
    scene.shows(Answer::new(500, "text/plain", "no"));
    assert_eq!(scene.fires_at(EIGHT + 5 * HOUR), [URL]);
    assert_eq!(scene.fires_at(EIGHT + 6 * HOUR), [""; 0]);
    scene.shows(rss(&["c", "b", "a"]));
    assert_eq!(scene.fires_at(EIGHT + 7 * HOUR), [""; 0]);
    assert_eq!(scene.upstream.seen().len(), 8, "one for the watching, and one for each run");
}

#[test]
fn a_caller_and_the_loop_are_told_once_each() {
    let scene = Scene::at(EIGHT, 0..0, &Gate::closed()).watches();
    scene.shows(rss(&["a"]));
    let titles = |reply: Result<Reply, Failure>| {
        let answer = reply.expect("an answer").structured.expect("a digest");
        answer["items"].as_array().expect("a list").len()
    };
    assert_eq!(titles(scene.call("digest", &json!({}))), 1);
    assert_eq!(scene.fires_at(EIGHT + HOUR), ["a"]);
    assert_eq!(titles(scene.call("digest", &json!({}))), 0);
    assert_eq!(scene.fires_at(EIGHT + 2 * HOUR), [""; 0]);
}

#[test]
fn hosts_that_are_not_declared_are_not_reached() {
    let scene = Scene::at(EIGHT, 0..0, &Gate::closed());
    let refused = scene.call("watch_feed", &json!({ "url": "https://elsewhere.example.com/feed" }));
    assert_eq!(outcome(&refused), "capability/failed");
    assert!(scene.upstream.seen().is_empty());
    assert_eq!(outcome(&scene.call("list_feeds", &json!({}))), json!({ "feeds": [] }).to_string());
}

/// The clock of a real process cannot be set, so the firing was due a little before now.
#[test]
fn killed_in_the_middle_of_a_run_it_tells_once() {
    let gate = Gate::closed();
    let now = Clock::system().now_ms();
    let scene = Scene::at(now - HOUR - 10 * SECOND, 1..2, &gate).watches();
    scene.shows(rss(&["b", "a"]));

    let first = Server::start(scene.home.path());
    wait_until(|| scene.upstream.seen().len() == 2, || format!("{:?}", scene.runs()));
    first.kill();
    assert_eq!(scene.runs()[0].state.as_str(), "running");
    let second = Server::start(scene.home.path());
    let is_done = || scene.runs().first().is_some_and(|run| run.state.as_str() == "done");
    wait_until(is_done, || format!("{:?}", scene.runs()));
    second.kill();

    let runs = scene.runs();
    assert_eq!((runs.len(), runs[0].attempt), (1, 2), "the same run, started again");
    assert_eq!(told(&runs[0]), ["b", "a"]);
    scene.shows(rss(&["c", "b", "a"]));
    assert_eq!(scene.fires_at(now + HOUR), ["c"]);
}
