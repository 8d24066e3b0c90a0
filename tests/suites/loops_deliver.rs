//! What runs came to gets to a program and to a webhook: once when all is well, again under the same id when not,
//! and by the next process when one dies in between. And what is nobody's business gets nowhere.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use remit::clock::Clock;
use remit::scheduler::next::Timing;
use remit::scheduler::{Definition, Scheduler, Task};
use remit_guests::Guest;
use remit_upstream::{Answer, Upstream};
use ring::hmac;
use serde_json::Value;

use crate::support::home::{Home, remit};

/// 2026-01-05, a Monday, 08:00 UTC.
const EIGHT: u64 = 1_767_600_000;
const MINUTE: u64 = 60;
const HOOK: &str = "hooks.example.com";

/// The pauses between five attempts, and what a test waits to be past each.
const PAUSES: [u64; 4] = [10, 60, 5 * 60, 30 * 60];

/// A home whose loops are delivered, on a clock that the test moves.
struct Scene {
    home: Home,
    clock: Arc<Clock>,
    scheduler: Scheduler,
}

impl Scene {
    /// Settings stand under `[loops.deliver]`.
    fn new(settings: &str) -> Self {
        let folder = tempfile::tempdir().expect("a scratch folder");
        let settings = format!("[loops]\njitter-s = 0\n[loops.deliver]\n{settings}\n");
        std::fs::write(folder.path().join("remit.toml"), settings).expect("room");
        Self::at(folder, Arc::new(Clock::manual(Duration::from_secs(EIGHT))))
    }

    /// With a program that keeps each message in a file of its own in the home, then does `then`.
    fn keeping(then: &str, more: &str) -> Self {
        let script = format!("cat > told-$$; env | sort > told-env; echo loud; {then}");
        Self::new(&format!("command = [\"sh\", \"-c\", {script:?}]\n{more}"))
    }

    fn at(folder: tempfile::TempDir, clock: Arc<Clock>) -> Self {
        let home = Home::open_at(folder, Arc::clone(&clock));
        let scheduler = home.threads.block_on(async { home.app.scheduler() }).expect("schedules");
        Self { home, clock, scheduler }
    }

    /// A loop of each minute that calls a tool which answers with this.
    fn calls(&self, slug: &str, answer: &str, quiet: bool) {
        self.home.install(Guest::structured(answer).capability(slug));
        let tool = format!("test/{slug}.run").parse().expect("a tool");
        self.make(slug, Task::Tool { tool, input: serde_json::Map::new() }, quiet);
    }

    fn make(&self, name: &str, task: Task, quiet: bool) {
        let timing = Timing::Cron { pattern: "1 8 * * *".to_owned(), timezone: "UTC".to_owned() };
        let definition = Definition { quiet, ..Definition::new(name.to_owned(), timing, task) };
        self.home.app.admin().create_loop(definition).expect("a loop in order");
    }

    /// Rounds until nothing starts, with what they deliver.
    fn rounds(&self) {
        while self.scheduler.tick().expect("a round").started > 0 {
            self.home.threads.block_on(self.scheduler.settled());
        }
        self.home.threads.block_on(self.scheduler.settled());
    }

    fn after(&self, seconds: u64) {
        self.clock.advance(Duration::from_secs(seconds));
        self.rounds();
    }

    /// What the program was told.
    fn told(&self) -> Vec<Value> {
        told(self.home.path())
    }

    /// Why the run of this loop did not arrive, as people see it.
    fn history(&self, name: &str) -> String {
        remit(self.home.path(), &["loops", "history", "remit/loops", name], "").stdout
    }
}

fn told(home: &Path) -> Vec<Value> {
    let files = std::fs::read_dir(home).expect("a home").map(|entry| entry.expect("a file").path());
    let is_told = |file: &PathBuf| {
        let name = file.file_name().expect("a name").to_string_lossy().into_owned();
        name.starts_with("told-") && name != "told-env"
    };
    files
        .filter(is_told)
        .map(|file| serde_json::from_slice(&std::fs::read(file).expect("text")).expect("JSON"))
        .collect()
}

fn ids(told: &[Value]) -> BTreeSet<&str> {
    told.iter().map(|message| message["id"].as_str().expect("an id")).collect()
}

#[test]
fn a_program_is_told_what_there_is_to_report_and_nothing_else() {
    let scene = Scene::keeping("exit 0", "");
    scene.calls("silent", r#"{"nothingToReport":true}"#, true);
    scene.calls("news", r#"{"found":1}"#, true);
    scene.calls("chatty", r#"{"nothingToReport":true}"#, false);
    scene.make("ask", Task::Prompt("Look around.".to_owned()), true);
    scene.home.install(Guest::traps().capability("broken"));
    let tool = "test/broken.run".parse().expect("a tool");
    scene.make("broken", Task::Tool { tool, input: serde_json::Map::new() }, false);

    scene.after(MINUTE);
    let told = scene.told();
    let of = |name: &str| told.iter().filter(|message| message["loop"] == name).collect::<Vec<_>>();
    assert_eq!((of("silent").len(), of("broken").len(), told.len()), (0, 0, 3), "{told:?}");
    assert_eq!(of("news")[0]["result"], r#"{"found":1}"#);
    assert_eq!(of("chatty")[0]["result"], r#"{"nothingToReport":true}"#);
    let ask = of("ask")[0];
    assert_eq!((&ask["prompt"], &ask["result"]), (&"Look around.".into(), &Value::Null));
    assert_eq!(
        (&ask["capability"], &ask["nominalAt"]),
        (&"remit/loops".into(), &"2026-01-05T08:01:00.000Z".into())
    );
    scene.after(10 * MINUTE);
    assert_eq!(scene.told().len(), 3, "once");
}

#[test]
fn a_program_gets_no_more_of_the_environment_than_is_said() {
    let scene = Scene::keeping("exit 0", "");
    scene.calls("news", "{}", false);
    scene.after(MINUTE);
    let text = std::fs::read_to_string(scene.home.path().join("told-env")).expect("what it saw");
    // `PWD`, `OLDPWD`, `SHLVL` and `_` are of the shell itself.
    let known = ["PATH", "HOME", "LANG", "REMIT_RUN", "PWD", "OLDPWD", "SHLVL", "_"];
    let names: Vec<_> = text.lines().filter_map(|line| Some(line.split_once('=')?.0)).collect();
    assert!(names.contains(&"REMIT_RUN") && names.iter().all(|name| known.contains(name)), "{names:?}");
    assert!(text.contains(&format!("REMIT_RUN={}", scene.told()[0]["run"].as_str().expect("a run"))));
}

#[test]
fn what_does_not_arrive_is_tried_again_under_its_id_five_times() {
    let scene = Scene::keeping("exit 3", "");
    scene.calls("news", "{}", false);
    scene.after(MINUTE);
    for (attempt, pause) in (1..).zip(PAUSES) {
        assert_eq!(scene.told().len(), attempt);
        scene.after(pause - 1);
        assert_eq!(scene.told().len(), attempt, "not before its time");
        assert!(!scene.history("news").contains("not delivered"), "it is still tried");
        scene.after(1);
    }
    scene.after(24 * 60 * MINUTE - 60 * MINUTE);
    let told = scene.told();
    assert_eq!((told.len(), ids(&told).len()), (5, 1), "{told:?}");
    let history = scene.history("news");
    assert!(history.contains("not delivered: `sh` ended with exit status: 3"), "{history}");
}

#[test]
fn a_program_that_hangs_is_killed_with_what_it_started() {
    let scene = Scene::keeping("(sleep 3; echo alive > survived) & sleep 600", "timeout-s = 1");
    scene.calls("news", "{}", false);
    let begun = std::time::Instant::now();
    scene.after(MINUTE);
    assert!(begun.elapsed() < Duration::from_secs(60));
    assert_eq!(scene.told().len(), 1);
    std::thread::sleep(Duration::from_secs(4));
    assert!(!scene.home.path().join("survived").exists());
    scene.after(PAUSES[0]);
    assert_eq!((scene.told().len(), ids(&scene.told()).len()), (2, 1));
}

#[test]
fn the_next_process_delivers_what_one_that_died_owed() {
    let mut scene = Scene::keeping("exit 0", "");
    scene.calls("news", "{}", false);
    // The run ends, and no round of this process comes after it.
    scene.clock.advance(Duration::from_secs(MINUTE));
    scene.scheduler.tick().expect("a round");
    scene.home.threads.block_on(scene.scheduler.settled());
    assert_eq!(scene.told(), [Value::Null; 0]);

    let copy = tempfile::tempdir().expect("a scratch folder");
    let from = format!("{}/.", scene.home.path().display());
    let copied = std::process::Command::new("cp").args(["-a", &from]).arg(copy.path()).status();
    assert!(copied.expect("`cp`").success());
    scene = Scene::at(copy, Arc::clone(&scene.clock));
    scene.rounds();
    assert_eq!(scene.told().len(), 1);
}

/// A server that answers with what the test says, and a scene that tells it, signed by `secret`.
fn hooked(secret: &[u8], status: &Arc<AtomicU16>) -> (Scene, Upstream) {
    let answer = Arc::clone(status);
    let upstream =
        Upstream::start(&[HOOK], move |_| Answer::new(answer.load(Ordering::SeqCst), "text/plain", "ok"));
    let scratch = tempfile::tempdir().expect("a scratch folder");
    let authority = scratch.path().join("ca.pem");
    std::fs::write(&authority, upstream.authority_pem()).expect("room");
    let scene = Scene::new(&format!(
        "webhook = \"https://{HOOK}/in\"\nsecret = \"HOOK_KEY\"\n[loops.deliver.http]\nca = [{:?}]\nconnect = {{ \"{HOOK}:443\" = \"{}\" }}",
        authority.display().to_string(),
        upstream.address(),
    ));
    scene.home.app.admin().set_secret("HOOK_KEY", secret).expect("a secret");
    (scene, upstream)
}

#[test]
fn a_webhook_gets_a_request_whose_signature_its_receiver_can_check() {
    let (scene, upstream) = hooked(b"whsec_c2lnbmVkLWJ5LXRoaXMta2V5", &Arc::new(AtomicU16::new(204)));
    scene.calls("news", r#"{"found":1}"#, false);
    scene.after(MINUTE);
    let seen = upstream.seen();
    assert_eq!(seen.len(), 1, "{}", scene.history("news"));
    let header = |name| seen[0].header(name).expect("a header");
    assert_eq!((seen[0].method.as_str(), seen[0].path.as_str()), ("POST", "/in"));
    assert_eq!(header("webhook-timestamp"), (EIGHT + MINUTE).to_string());
    let body = std::str::from_utf8(&seen[0].body).expect("text");
    let message: Value = serde_json::from_str(body).expect("JSON");
    assert_eq!((&message["id"], &message["result"]), (&header("webhook-id").into(), &r#"{"found":1}"#.into()));
    let signed = format!("{}.{}.{body}", header("webhook-id"), header("webhook-timestamp"));
    let signature = header("webhook-signature").strip_prefix("v1,").expect("a version");
    let tag = BASE64_STANDARD.decode(signature).expect("base64");
    let key = |bytes: &[u8]| hmac::Key::new(hmac::HMAC_SHA256, bytes);
    assert!(hmac::verify(&key(b"signed-by-this-key"), signed.as_bytes(), &tag).is_ok());
    assert!(hmac::verify(&key(b"another"), signed.as_bytes(), &tag).is_err());
}

#[test]
fn a_webhook_is_asked_again_until_it_takes_the_news_or_is_gone() {
    for (then, calls, shown) in [(200, 2, ""), (410, 2, "not delivered: the webhook is gone (410)")] {
        let status = Arc::new(AtomicU16::new(302));
        let (scene, upstream) = hooked(b"a-long-key", &status);
        scene.calls("news", "{}", false);
        scene.after(MINUTE);
        status.store(then, Ordering::SeqCst);
        scene.after(PAUSES[0]);
        scene.after(60 * MINUTE);
        let seen = upstream.seen();
        let ids: BTreeSet<_> = seen.iter().map(|seen| seen.header("webhook-id")).collect();
        assert_eq!((seen.len(), ids.len()), (calls, 1), "{then}");
        assert_eq!(scene.history("news").contains("not delivered"), !shown.is_empty());
        assert!(scene.history("news").contains(shown));
    }
}

#[test]
fn a_webhook_at_a_private_address_or_without_its_secret_is_not_asked() {
    let (scene, upstream) = hooked(b"a-long-key", &Arc::new(AtomicU16::new(200)));
    scene.home.app.admin().remove_secret("HOOK_KEY").expect("removed");
    scene.calls("news", "{}", false);
    scene.after(MINUTE);
    for pause in PAUSES {
        scene.after(pause);
    }
    assert_eq!(upstream.seen().len(), 0);
    assert!(scene.history("news").contains("not delivered: the secret `HOOK_KEY` is not set"));

    for url in ["https://127.0.0.1/in", "https://localhost/in", "https://hooks.internal/in"] {
        let folder = tempfile::tempdir().expect("a scratch folder");
        let settings = format!("[loops.deliver]\nwebhook = {url:?}\nsecret = \"KEY\"\n");
        std::fs::write(folder.path().join("remit.toml"), settings).expect("room");
        let home = Home::open(folder);
        let refused = home.threads.block_on(async { home.app.scheduler().map(drop) });
        assert!(refused.is_err_and(|error| error.message.contains("`loops.deliver.webhook`")), "{url}");
    }
}
