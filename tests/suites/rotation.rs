//! Values that are replaced, withdrawn, ended or removed, and a key that changes, while calls run and answers come
//! back: what was ever sent does not come back to a guest.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, mpsc};

use remit::call::{Failure, Reply};
use remit::policy::Place;
use remit_upstream::{Answer, Seen};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::support::client::Client;
use crate::support::home::{built, program, remit, renamed, request};
use crate::support::world::{HOST, SECRET, World};

const NEW_SECRET: &str = "sk_live_9Yr3qW8xYdU5oMsC";

fn authorization() -> [Place; 1] {
    [Place::Header("authorization".to_owned())]
}

/// Sends the secret where it is approved.
fn with_key(path: &str) -> Value {
    json!({ "url": format!("https://api.example.com{path}"), "headers": ["authorization: Bearer {{API_KEY}}"] })
}

fn without_key(path: &str) -> Value {
    json!({ "url": format!("https://api.example.com{path}") })
}

/// An API that keeps every key it was sent, and answers with all of them at any other request.
fn remembering() -> World {
    let kept = Mutex::new(Vec::new());
    World::new(move |seen: &Seen| {
        let mut kept = kept.lock().expect("no panic");
        kept.extend(seen.header("authorization").map(str::to_owned));
        Answer::new(200, "text/plain", format!("kept: {}", kept.join(", ")).into_bytes())
    })
}

fn body(result: Result<Reply, Failure>) -> String {
    let reply = result.unwrap_or_else(|failure| panic!("{failure:?}"));
    reply.structured.expect("structured")["body"].as_str().expect("text").to_owned()
}

fn message(result: Result<Reply, Failure>) -> String {
    result.map_or_else(|failure| failure.error.message, |reply| format!("an answer: {reply:?}"))
}

fn sent(world: &World) -> Vec<String> {
    let seen = world.upstream.seen();
    seen.iter().filter_map(|seen| seen.header("authorization").map(str::to_owned)).collect()
}

#[test]
fn a_value_is_replaced_while_a_request_runs() {
    // The first request is answered only after the value was replaced, by then with the new one as well.
    let (arrived, is_there) = mpsc::channel();
    let (go, wait) = mpsc::channel::<()>();
    let wait = Mutex::new(wait);
    let world = World::new(move |seen| {
        let key = seen.header("authorization").unwrap_or_default().to_owned();
        if seen.path == "/slow" {
            arrived.send(()).expect("the test waits");
            wait.lock().expect("no panic").recv().expect("the test lets it go");
        }
        let text = format!("sent {key}, before {SECRET}, now {NEW_SECRET}");
        Answer::new(200, "text/plain", text.into_bytes())
    })
    .granted()
    .with_secret(HOST, &authorization());
    let host = world.home.host();
    let running = world.home.threads.spawn(async move {
        host.call(request("test/probe.fetch", &with_key("/slow")), CancellationToken::new()).await
    });
    is_there.recv().expect("it arrives");
    assert_eq!(remit(world.home.path(), &["secret", "set", "API_KEY"], NEW_SECRET).exit, Some(0));
    go.send(()).expect("it waits");
    let clean = "sent Bearer [redacted:API_KEY], before [redacted:API_KEY], now [redacted:API_KEY]";
    assert_eq!(body(world.home.threads.block_on(running).expect("no panic")), clean);
    assert_eq!(sent(&world), [format!("Bearer {SECRET}")], "it finished with the old value");

    assert_eq!(body(world.fetch(&with_key("/"))), clean, "a later call");
    assert_eq!(sent(&world)[1], format!("Bearer {NEW_SECRET}"));
    let record = format!("{:?}", world.home.records());
    assert!(!record.contains(SECRET) && !record.contains(NEW_SECRET), "{record}");
}

#[test]
fn what_was_sent_yesterday_is_searched_for_today() {
    let world = remembering().granted().with_secret(HOST, &authorization());
    let redacted = "kept: Bearer [redacted:API_KEY]";
    assert_eq!(body(world.fetch(&with_key("/"))), redacted);
    let admin = world.home.app.admin();
    let name = "test/probe".parse().expect("a name");

    admin.disapprove(&name, "API_KEY").expect("it was approved");
    assert!(message(world.fetch(&with_key("/"))).contains("SecretNotAvailable"));
    assert_eq!(body(world.fetch(&without_key("/"))), redacted, "an approval that was withdrawn (S-27, S-42)");
    assert_eq!(
        body(world.fetch(&json!({ "url": "https://files.cdn.example.com/" }))),
        redacted,
        "through another host (S-28)"
    );

    world.home.install(renamed(&built("probe"), |manifest| manifest["version"] = json!("1.0.1")));
    assert_eq!(body(world.fetch(&without_key("/"))), redacted, "other bytes of the same name");
    world.home.install(renamed(&built("probe"), |manifest| {
        manifest["version"] = json!("1.0.2");
        manifest["secrets"] = json!([]);
    }));
    assert_eq!(body(world.fetch(&without_key("/"))), redacted, "bytes that declare no secret at all");

    admin.uninstall(&name).expect("it is there");
    world.home.install(built("probe"));
    assert_eq!(body(world.fetch(&without_key("/"))), redacted, "installed anew");
    assert_eq!(sent(&world).len(), 1, "and it was sent once only");

    assert_eq!(remit(world.home.path(), &["secret", "remove", "API_KEY"], "").exit, Some(0));
    assert_eq!(
        body(world.fetch(&without_key("/"))),
        format!("kept: Bearer {SECRET}"),
        "what is removed is not known"
    );
}

#[test]
fn another_capability_does_not_learn_that_a_value_is_stored() {
    let world = World::echo().granted().with_secret(HOST, &authorization());
    world.home.install(renamed(&built("probe"), |manifest| manifest["slug"] = json!("other-probe")));
    let guess = json!({ "url": "https://api.example.com/", "headers": [format!("x-guess: {SECRET}")] });
    let answer = body(world.home.call("test/other-probe.fetch", &guess));
    assert!(answer.contains(SECRET) && !answer.contains("[redacted"), "it could never send it: {answer}");
}

#[test]
fn a_value_that_ended_goes_nowhere_and_does_not_come_back() {
    let world = remembering().granted().with_secret(HOST, &authorization());
    assert!(world.fetch(&with_key("/")).is_ok());
    // Ended for as long as this program has been able to tell the time.
    world.home.app.admin().set_secret_until("API_KEY", NEW_SECRET.as_bytes(), 1).expect("a good secret");
    let failure = world.fetch(&with_key("/")).expect_err("it has ended");
    assert!(failure.error.message.contains("SecretNotAvailable"), "{failure:?}");
    let hint = failure.error.hint.expect("a person is told");
    assert_eq!(hint, "the value of `API_KEY` has expired: remit secret set API_KEY");
    assert_eq!(world.recorded(), ["GET api.example.com secret/not-available"]);
    assert_eq!(sent(&world), [format!("Bearer {SECRET}")]);

    // The guest hears what it hears of a secret that is not approved, word for word.
    let ended = failure.error.message;
    world.home.app.admin().disapprove(&"test/probe".parse().expect("a name"), "API_KEY").expect("approved");
    let unapproved = world.fetch(&with_key("/")).expect_err("not approved");
    assert_eq!(unapproved.error.message, ended);

    let listed = remit(world.home.path(), &["secret", "list", "--json"], "").json();
    assert_eq!(listed[0]["expiresAt"], "1970-01-01T00:00:00.001Z");
}

#[test]
fn a_list_says_when_a_value_last_went_out_and_never_what_it_is() {
    let world = World::echo().granted().with_secret(HOST, &authorization());
    let admin = world.home.app.admin();
    admin.set_secret("IDLE_KEY", NEW_SECRET.as_bytes()).expect("a good secret");
    let used = || {
        // As with records, it is on disk a moment after the answer.
        world.home.app.shutdown();
        let listed = remit(world.home.path(), &["secret", "list", "--json"], "");
        let table = remit(world.home.path(), &["secret", "list"], "");
        for said in [&listed, &table] {
            assert!(
                !format!("{said:?}").contains(SECRET) && !format!("{said:?}").contains(NEW_SECRET),
                "{said:?}"
            );
        }
        let mut fields: Vec<_> = listed.json()[0].as_object().expect("an object").keys().cloned().collect();
        fields.sort();
        assert_eq!(fields, ["changedAt", "createdAt", "expiresAt", "kind", "name", "usedAt"]);
        (listed.json()[0]["usedAt"].clone(), listed.json()[1]["usedAt"].clone())
    };
    assert!(world.fetch(&without_key("/")).is_ok());
    assert!(
        world
            .fetch(&json!({ "url": "https://other.example.com/", "headers": ["authorization: {{API_KEY}}"] }))
            .is_err()
    );
    assert_eq!(used(), (Value::Null, Value::Null), "opened, and not put in");
    assert!(world.fetch(&with_key("/")).is_ok());
    let (api_key, idle_key) = used();
    assert!(api_key.is_string() && idle_key.is_null(), "{api_key} {idle_key}");
}

#[test]
fn running_servers_go_on_when_the_key_changes() {
    let world = World::echo().granted().with_secret(HOST, &authorization());
    let home = world.home.path();
    let before = fs::read(home.join("key")).expect("the key");
    let mut clients = [Client::start(home), Client::start(home)];
    let arguments = with_key("/");
    for round in 0..3 {
        for client in &mut clients {
            let call = json!({ "name": "probe__fetch", "arguments": arguments });
            let answer = client.request("tools/call", &call).expect("an answer").to_string();
            assert!(answer.contains("Bearer [redacted:API_KEY]"), "round {round}: {answer}");
        }
        let changed = remit(home, &["secret", "rotate-key"], "");
        assert_eq!(changed.exit, Some(0), "{changed:?}");
    }
    assert_eq!(sent(&world), vec![format!("Bearer {SECRET}"); 6]);
    assert_ne!(fs::read(home.join("key")).expect("the key"), before);
    assert!(!home.join("key.next").exists());
    assert_eq!(world.home.app.admin().rotate_key().expect("the people's door of a server"), 1);
    assert!(body(world.fetch(&arguments)).contains("Bearer [redacted:API_KEY]"));
}

/// A change of the key that waits for nobody.
fn rotating(home: &Path) -> Child {
    Command::new(program())
        .args(["secret", "rotate-key"])
        .env("REMIT_HOME", home)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("remit starts")
}

#[test]
fn a_change_of_the_key_can_be_killed_at_any_moment() {
    let world = World::echo().granted().with_secret(HOST, &authorization());
    let home = world.home.path();
    let admin = world.home.app.admin();
    for number in 0..20 {
        admin.set_secret(&format!("KEY_{number}"), format!("{NEW_SECRET}{number}").as_bytes()).expect("good");
    }
    let key = || fs::read(home.join("key")).expect("there always is one");
    let mut killed = 0;
    // Killed as soon as the new key is seen, then ever later, until one comes through.
    for delay in (0..20).map(|power| (1 << power) - 1) {
        let before = key();
        let mut child = rotating(home);
        let mut looks = 0;
        let is_killed = loop {
            if child.try_wait().expect("it can be looked at").is_some() {
                break false;
            }
            looks += usize::from(home.join("key.next").exists() || key() != before);
            if looks > delay {
                child.kill().expect("it can be killed");
                child.wait().expect("it is gone");
                break true;
            }
        };
        let answer = body(world.fetch(&with_key("/")));
        assert!(answer.contains("Bearer [redacted:API_KEY]"), "after {delay}: {answer}");
        assert_eq!(sent(&world).last(), Some(&format!("Bearer {SECRET}")), "after {delay}");
        killed += usize::from(is_killed);
        if !is_killed {
            break;
        }
    }
    assert!(killed > 0, "none was killed in time");
    let last = remit(home, &["secret", "rotate-key"], "");
    assert_eq!(last.exit, Some(0), "{last:?}");
    assert!(last.stderr.contains("sealed 21 secrets with a new key"), "{last:?}");
    assert!(!home.join("key.next").exists());
    assert!(world.fetch(&with_key("/")).is_ok());
}

#[test]
fn the_key_can_be_kept_apart_from_the_data() {
    let elsewhere = tempfile::tempdir().expect("a scratch folder");
    let key_file = elsewhere.path().join("remit-key");
    let settings = format!("[secrets]\nkey-file = '{}'\n", key_file.display());
    let world = World::with_settings(&settings, |seen| {
        let key = seen.header("authorization").unwrap_or_default().to_owned();
        Answer::new(200, "text/plain", key.into_bytes())
    })
    .granted()
    .with_secret(HOST, &authorization());
    assert!(key_file.exists() && !world.home.path().join("key").exists());
    assert_eq!(body(world.fetch(&with_key("/"))), "Bearer [redacted:API_KEY]");
    fs::rename(&key_file, elsewhere.path().join("away")).expect("ours");
    let failure = world.fetch(&with_key("/")).expect_err("no key");
    assert!(failure.error.hint.expect("a hint").contains(&key_file.display().to_string()));
    assert_eq!(sent(&world).len(), 1);
    assert!(!key_file.exists() && !world.home.path().join("key").exists(), "no other is made");
}

#[test]
fn a_process_with_values_in_its_memory_leaves_no_dump() {
    let world = World::echo().granted().with_secret(HOST, &authorization());
    let mut client = Client::start(world.home.path());
    assert!(!client.tools().is_empty(), "it answers, so it is past its beginning");
    let limits = Path::new("/proc").join(client.id().to_string()).join("limits");
    let limits = fs::read_to_string(limits).expect("limits can be read");
    let core = limits.lines().find(|line| line.starts_with("Max core file size")).expect("a line");
    assert_eq!(core.split_whitespace().filter(|word| *word == "0").count(), 2, "{core}");
}
