//! What a refused call needs, from the agent's refusal to the person's yes, and what nobody gets by it.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock};

use remit::app::App;
use remit::config::Config;
use remit::manifest::NamespaceName;
use remit::policy::{Approval, Grant, Place};
use remit::registry::Digest;
use remit_upstream::{Answer, Seen};
use serde_json::{Value, json};

use crate::support::client::Client;
use crate::support::home::{Home, built, outcome, program, remit, renamed};
use crate::support::world::{HOST, SECRET, World};

const CDN: &str = "files.cdn.example.com";

fn http(entry: &str) -> Grant {
    Grant { namespace: NamespaceName::Http, entry: Some(entry.to_owned()).filter(|entry| !entry.is_empty()) }
}

fn approval(place: &str) -> Approval {
    Approval {
        secret: "API_KEY".to_owned(),
        source: "API_KEY".to_owned(),
        host: HOST.to_owned(),
        port: 443,
        place: place.parse().expect("a place"),
        expires_at: None,
    }
}

/// A world whose capability may reach `files.cdn.example.com` and nothing else.
fn narrow() -> World {
    let world = World::echo();
    world.home.install_with(built("probe"), &[http(""), http(CDN)]);
    world
}

/// The open asks, as `remit approve --json` lists them.
fn open(home: &Path) -> Vec<Value> {
    remit(home, &["approve", "--json"], "").json().as_array().expect("a list").clone()
}

/// A tool's result, the text of it and the approval id in its `_meta`.
fn told(client: &mut Client, arguments: &Value) -> (bool, String, Option<String>) {
    let call = json!({ "name": "probe__fetch", "arguments": arguments });
    let result = client.request("tools/call", &call).expect("a result");
    let text = result["content"][0]["text"].as_str().unwrap_or_default().to_owned();
    let id = result["_meta"]["remit/approvalId"].as_str().map(str::to_owned);
    (result["isError"] != true, text, id)
}

#[test]
fn an_agent_hands_an_id_to_a_person_and_the_same_call_works() {
    let world = narrow();
    let home = world.home.path();
    let mut client = Client::start(home);
    let call = json!({ "url": "https://api.example.com/" });
    let (worked, text, id) = told(&mut client, &call);
    let id = id.expect("an id");
    assert!(!worked);
    assert_eq!(
        text,
        format!(
            "capability/failed: HostNotAllowed(\"api.example.com\")\n\nhttp/host-not-allowed: the capability may not \
             reach `api.example.com`; a person can allow this with the approval id `{id}`"
        )
    );
    assert_eq!(told(&mut client, &call).2.as_deref(), Some(id.as_str()), "the same wish, the same id");

    let shown = remit(home, &["approve", &id], "");
    assert_eq!(shown.exit, Some(2), "nobody is at a terminal: {shown:?}");
    assert!(!told(&mut client, &call).0, "a look gives nothing");
    assert_eq!(remit(home, &["approve", &id, "--yes"], "").exit, Some(0));
    assert!(told(&mut client, &call).0, "the server that runs knows it at once");
    assert!(open(home).is_empty());

    for twin in ["https://api.example.com:8443/", "https://other.cdn.example.com/", "https://evil.example/"] {
        assert!(!told(&mut client, &json!({ "url": twin })).0, "{twin}");
    }
    assert_eq!(world.upstream.seen().len(), 1);
}

#[test]
fn a_secret_is_allowed_for_one_host_in_one_place() {
    let world = World::echo().granted();
    let home = world.home.path();
    let mut client = Client::start(home);
    let call = |url: &str, field: &str| json!({ "url": url, "headers": [format!("{field}: {{{{API_KEY}}}}")] });
    let here = call("https://api.example.com/", "authorization");

    // No approval, then no value: two things are missing, and a guest is told the same of both.
    let (worked, unapproved, id) = told(&mut client, &here);
    let id = id.expect("an id");
    assert!(!worked);
    assert_eq!(remit(home, &["approve", &id, "--yes"], "").exit, Some(0));
    let (worked, unset, value) = told(&mut client, &here);
    let value = value.expect("another id");
    assert!(!worked && value != id);
    assert_eq!(unapproved.replace(&id, ""), unset.replace(&value, ""));
    assert_eq!(remit(home, &["approve", &value, "--yes"], "").exit, Some(2), "a value is not a yes");
    assert_eq!(open(home)[0]["wish"], json!({ "kind": "value", "secret": "API_KEY", "source": "API_KEY" }));
    assert_eq!(remit(home, &["secret", "set", "API_KEY"], SECRET).exit, Some(0));
    assert!(told(&mut client, &here).0);
    assert!(open(home).is_empty(), "what was given by another command is not asked for");

    for (url, field) in [
        ("https://api.example.com/", "x-api-key"),
        ("https://api.example.com/", "x-debug"),
        ("https://files.cdn.example.com/", "authorization"),
    ] {
        let (worked, _, id) = told(&mut client, &call(url, field));
        assert!(!worked, "{url} {field}");
        // A look waits until it is on disk.
        id.map(|id| remit(home, &["approve", &id], ""));
    }
    let wishes: Vec<_> = open(home).into_iter().map(|ask| ask["wish"]["place"].clone()).collect();
    assert_eq!(wishes, [json!("header:x-api-key")], "only what is declared is asked for");
    assert_eq!(world.upstream.seen().len(), 1);
}

#[test]
fn a_guest_learns_no_id() {
    let world = narrow();
    for url in ["https://api.example.com/", "https://evil.example/"] {
        let failure = world.fetch(&json!({ "url": url })).expect_err("refused");
        let host = url.trim_start_matches("https://").trim_end_matches('/');
        assert_eq!(failure.error.message, format!("HostNotAllowed(\"{host}\")"), "all that the guest knows");
        assert_eq!(failure.asked.len(), usize::from(host == HOST));
    }
}

#[test]
fn a_dry_run_asks_for_nothing() {
    let world = narrow();
    let host = world.home.host();
    let mut call =
        crate::support::home::request("test/probe.fetch", &json!({ "url": "https://api.example.com/" }));
    call.dry_run = true;
    let result = world.home.threads.block_on(host.call(call, tokio_util::sync::CancellationToken::new()));
    assert!(result.expect_err("refused").asked.is_empty());
    world.home.app.shutdown();
    assert!(open(world.home.path()).is_empty());
}

#[test]
fn a_guest_that_asks_for_ever_new_hosts_fills_nothing() {
    let world = narrow();
    for number in 0..120 {
        for url in [format!("https://h{number}.evil.example/"), format!("https://h{number}.cdn.example.com/")] {
            assert!(world.fetch(&json!({ "url": url })).is_err());
        }
    }
    world.home.app.shutdown();
    let asks = open(world.home.path());
    assert_eq!(asks.len(), 50);
    assert!(
        asks.iter().all(|ask| ask["wish"]["host"].as_str().is_some_and(|host| host.ends_with(".cdn.example.com")))
    );
    assert_eq!(world.upstream.seen().len(), 0);
}

#[test]
fn an_id_is_for_the_bytes_that_asked() {
    let world = narrow();
    let home = world.home.path();
    let call = json!({ "url": "https://api.example.com/" });
    let id = world.fetch(&call).expect_err("refused").asked[0].ids[0].to_string();
    world.home.app.shutdown();
    assert_eq!(open(home).len(), 1);

    let next = renamed(&built("probe"), |manifest| manifest["version"] = json!("1.1.0"));
    world.home.install_with(next, &[http(""), http(CDN)]);
    let late = remit(home, &["approve", &id, "--yes", "--json"], "");
    assert_eq!((late.exit, late.code().as_str()), (Some(2), "host/usage"), "{late:?}");
    let asked = world.fetch(&call).expect_err("still refused").asked;
    assert_ne!(asked[0].ids[0].to_string(), id);
    assert_eq!(world.upstream.seen().len(), 0);
}

#[test]
fn what_a_person_refused_is_not_asked_again() {
    let world = narrow();
    let home = world.home.path();
    let mut client = Client::start(home);
    let call = json!({ "url": "https://api.example.com/" });
    let id = told(&mut client, &call).2.expect("an id");
    assert_eq!(remit(home, &["approve", &id, "--refuse"], "").exit, Some(0));
    let (worked, text, none) = told(&mut client, &call);
    assert!(!worked && none.is_none());
    assert!(
        text.ends_with("the capability may not reach `api.example.com`; a person refused to allow this"),
        "{text}"
    );
    assert!(!text.contains(&id) && open(home).is_empty());
    // Another way to the same right: a refusal binds agents, not people.
    assert_eq!(remit(home, &["grant", "test/probe", "http", HOST], "").exit, Some(0));
    assert!(told(&mut client, &call).0);
    assert_eq!(remit(home, &["revoke", "test/probe", "http", HOST], "").exit, Some(0));
    assert_eq!(told(&mut client, &call).2.as_deref(), Some(id.as_str()), "and a grant ends it");
}

#[test]
fn an_approval_that_ended_is_as_none() {
    let world = World::echo().granted().with_secret(HOST, &[Place::Header("authorization".to_owned())]);
    let call = json!({ "url": "https://api.example.com/", "headers": ["authorization: Bearer {{API_KEY}}"] });
    let admin = world.home.app.admin();
    let name = "test/probe".parse().expect("a name");
    assert!(world.fetch(&call).is_ok());
    let ended =
        Approval { expires_at: Some(1), source: "WORK_KEY".to_owned(), ..approval("header:authorization") };
    admin.approve(&name, &[ended]).expect("declared");
    let failure = world.fetch(&call).expect_err("refused");
    assert!(failure.error.message.contains("SecretNotAvailable"), "{failure:?}");
    assert_eq!(world.upstream.seen().len(), 1);

    // The ask renews it for the value that it was for.
    let ask = admin.find_ask(failure.asked[0].ids[0]).expect("asked");
    admin.allow(&ask, None, Some(i64::MAX)).expect("given");
    let entry = admin.find(&name).expect("installed");
    assert_eq!((entry.approvals[0].source.as_str(), entry.approvals[0].expires_at), ("WORK_KEY", Some(i64::MAX)));
    admin.set_secret("WORK_KEY", SECRET.as_bytes()).expect("a good secret");
    assert!(world.fetch(&call).is_ok());
}

/// A world in which somebody does something at the people's door while the first request of a call is answered.
fn interrupted(
    answer: impl Fn(&Seen) -> Answer + Send + Sync + 'static,
    act: impl Fn(&App) + Send + 'static,
) -> World {
    let home: Arc<OnceLock<PathBuf>> = Arc::default();
    let elsewhere = Arc::clone(&home);
    let act = Mutex::new(Some(act));
    let world = World::new(move |seen| {
        if let Some(act) = act.lock().expect("no panic").take() {
            // As another process would: with a database connection of its own.
            let path = elsewhere.get().expect("set before the first call");
            let config = Config::load(path).expect("settings that are in order");
            act(&App::open_with_compiler(path, config, program()).expect("a home opens"));
        }
        answer(seen)
    });
    home.set(world.home.path().to_owned()).expect("once");
    world
}

fn ok(_: &Seen) -> Answer {
    Answer::json(200, &json!({}))
}

/// What the record of the last call says: the outcomes of its requests, and why.
fn recorded(home: &Home) -> (Vec<String>, String) {
    let record = home.records().swap_remove(0);
    (record.requests.into_iter().map(|request| request.outcome).collect(), record.detail.unwrap_or_default())
}

#[test]
fn a_grant_that_is_taken_back_counts_for_the_next_request_of_a_call_that_runs() {
    let name = || "test/probe".parse().expect("a name");
    for (entry, told, code) in [
        (HOST, "PortNotAllowed(443)", "http/port-not-allowed"),
        ("", "HostNotAllowed(\"api.example.com\")", "http/host-not-allowed"),
    ] {
        let world = interrupted(ok, move |app| {
            assert!(app.admin().revoke(&name(), &[http(entry)]).expect("revoked") > 0);
        })
        .granted();
        let flood = json!({ "url": "https://api.example.com/", "times": 3 });
        let result = world.home.call("test/probe.flood", &flood);
        assert_eq!(outcome(&result), format!("sent 3: Failure::Failed({told:?})"));
        assert_eq!(result.expect("an answer").asked[0].ids.len(), 1, "it is declared, so it is asked for");
        assert_eq!(world.upstream.seen().len(), 1, "{entry}: one request left");
        assert_eq!(recorded(&world.home).0, ["sent", code, code]);
    }
}

#[test]
fn a_grant_of_something_else_changes_nothing_for_a_call_that_runs() {
    let world = interrupted(ok, |app| {
        app.admin()
            .revoke(&"test/probe".parse().expect("a name"), &[http("api.example.com:8443")])
            .expect("revoked");
    })
    .granted();
    let flood = json!({ "url": "https://api.example.com/", "times": 3 });
    assert_eq!(outcome(&world.home.call("test/probe.flood", &flood)), "sent 3: 200 {}");
    assert_eq!(world.upstream.seen().len(), 3);
}

#[test]
fn a_call_ends_on_the_version_it_began_with_and_sends_nothing_more_once_that_is_removed_or_revoked() {
    let flood = json!({ "url": "https://api.example.com/", "times": 3 });
    let next = renamed(&built("probe"), |manifest| manifest["version"] = json!("1.1.0"));
    let other = Digest::of(&next).to_string();
    let replace = move |app: &App| {
        let offer = app.admin().offer(next.clone()).expect("a component in order");
        let asks = offer.asks.clone();
        app.admin().install(offer, &asks).expect("installed");
    };
    let world = interrupted(ok, replace).granted();
    assert_eq!(outcome(&world.home.call("test/probe.flood", &flood)), "sent 3: 200 {}");
    assert_eq!(world.upstream.seen().len(), 3);
    // It went on with what its own version was granted, and is recorded as that one's.
    assert_ne!(world.home.records()[0].digest, Some(other));

    let remove = |app: &App| {
        app.admin().uninstall(&"test/probe".parse().expect("a name")).expect("removed");
    };
    let revoke = |app: &App| {
        let release = "test/probe@1.0.0".parse().expect("a release");
        app.admin().revoke_release(&release, None).expect("revoked");
    };
    for (what, world) in
        [("removed", interrupted(ok, remove).granted()), ("revoked", interrupted(ok, revoke).granted())]
    {
        let result = world.home.call("test/probe.flood", &flood);
        assert!(outcome(&result).contains("HostNotAllowed"), "{result:?}");
        assert!(result.expect("an answer").asked.is_empty(), "nobody can give this to it");
        assert_eq!(world.upstream.seen().len(), 1);
        let (outcomes, detail) = recorded(&world.home);
        assert_eq!(outcomes, ["sent", "http/host-not-allowed", "http/host-not-allowed"]);
        assert!(detail.ends_with(&format!("`test/probe` was {what} while its call ran")), "{detail}");
    }
}

#[test]
fn an_approval_that_is_taken_back_counts_for_the_next_hop() {
    let answer = |seen: &Seen| match seen.path.as_str() {
        "/start" => Answer::new(302, "text/plain", "").header("location", "/end"),
        _ => Answer::json(200, &json!({})),
    };
    let end: Approval = Approval { expires_at: Some(1), ..approval("header:authorization") };
    let name = || "test/probe".parse().expect("a name");
    let disapprove = move |app: &App| {
        app.admin().disapprove(&name(), "API_KEY").expect("taken back");
    };
    let expire = move |app: &App| app.admin().approve(&name(), std::slice::from_ref(&end)).expect("declared");
    let places = [Place::Header("authorization".to_owned())];
    for world in [interrupted(answer, disapprove), interrupted(answer, expire)] {
        let world = world.granted().with_secret(HOST, &places);
        let call =
            json!({ "url": "https://api.example.com/start", "headers": ["authorization: Bearer {{API_KEY}}"] });
        let failure = world.fetch(&call).expect_err("refused");
        assert!(failure.error.message.contains("SecretNotAvailable"), "{failure:?}");
        let seen = world.upstream.seen();
        assert_eq!(seen.len(), 1, "one request left");
        assert_eq!(seen[0].header("authorization"), Some(format!("Bearer {SECRET}").as_str()));
        assert_eq!(recorded(&world.home).0, ["sent", "secret/not-available"]);
        // What was in the call's hands stays in its redactor.
        assert!(!format!("{failure:?}").contains(SECRET));
    }
}

#[test]
fn records_are_found_by_the_outcome_of_a_request() {
    let world = narrow();
    assert!(world.fetch(&json!({ "url": "https://api.example.com/" })).is_err());
    assert!(world.fetch(&json!({ "url": format!("https://{CDN}/") })).is_ok());
    world.home.app.shutdown();
    for (outcome, found) in
        [("http/host-not-allowed", 1), ("sent", 1), ("http/timeout", 0), ("capability/failed", 0)]
    {
        let records = remit(world.home.path(), &["audit", "--request-outcome", outcome, "--json"], "").json();
        assert_eq!(records.as_array().map(Vec::len), Some(found), "{outcome}");
    }
}
