//! The `http` namespace from a guest's side: what is granted works, its twin that is not granted does not,
//! and a refusal leaves no trace outside.

use remit::call::{Failure, Reply};
use remit::manifest::NamespaceName;
use remit::policy::{Grant, Place};
use remit_upstream::Answer;
use serde_json::{Value, json};

use crate::support::home::{Home, built, outcome, request};
use crate::support::world::{HOST, SECRET, World};

#[test]
fn a_granted_host_is_reached() {
    let world = World::echo().granted();
    let reply = world.fetch(&json!({ "url": "https://api.example.com/v1?q=1" })).expect("an answer");
    let seen: Value = reply.structured.expect("structured");
    assert_eq!(seen["status"], 200);
    let echoed: Value = serde_json::from_str(seen["body"].as_str().expect("text")).expect("JSON");
    assert_eq!(echoed["path"], "/v1?q=1");
    assert_eq!(echoed["headers"]["host"], HOST);
    assert_eq!(echoed["headers"]["accept-encoding"], "identity");
    assert_eq!(reply.usage.requests, 1);
    assert_eq!(world.recorded(), ["GET api.example.com sent"]);
}

#[test]
fn what_is_not_granted_is_not_reached() {
    let world = World::echo();
    let none = "https://api.example.com/";
    world.home.install_with(built("probe"), &[]);
    assert_eq!(outcome(&world.fetch(&json!({ "url": none }))), "call/not-allowed", "no namespace at all");

    let namespace = Grant { namespace: NamespaceName::Http, entry: None };
    let files = Grant { namespace: NamespaceName::Http, entry: Some("*.cdn.example.com".to_owned()) };
    world.home.install_with(built("probe"), &[namespace, files]);
    for (url, expected) in [
        (none, "HostNotAllowed"),
        ("https://files.cdn.example.com/", "200"),
        ("https://cdn.example.com/", "HostNotAllowed"),
        ("https://other.example.com/", "HostNotAllowed"),
        ("https://files.cdn.example.com.evil.test/", "HostNotAllowed"),
        ("https://files.cdn.example.com:8443/", "PortNotAllowed"),
        ("http://files.cdn.example.com/", "SchemeNotAllowed"),
        ("https://user@files.cdn.example.com/", "UserinfoNotAllowed"),
        ("https://127.0.0.1/", "IpLiteralNotAllowed"),
        ("https://[::1]/", "IpLiteralNotAllowed"),
        ("https://2130706433/", "IpLiteralNotAllowed"),
        ("https:files.cdn.example.com/", "InvalidUrl"),
        ("not a url", "InvalidUrl"),
    ] {
        let result = world.fetch(&json!({ "url": url }));
        let told = match &result {
            Ok(reply) => reply.structured.as_ref().map_or(String::new(), |seen| seen["status"].to_string()),
            Err(failure) => failure.error.message.clone(),
        };
        assert!(told.contains(expected), "{url}: {told}");
        assert_eq!(world.recorded().len(), 1, "{url}: refused or sent, it is recorded once");
    }
    assert_eq!(world.upstream.seen().len(), 1, "only the granted one arrived");
}

#[test]
fn a_private_address_is_refused_unless_the_operator_says_so() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let home = Home::open(folder);
    home.install(built("probe"));
    // No `connect` here: the name is asked of DNS, which knows no such name on this machine.
    let result = home.call("test/probe.fetch", &json!({ "url": "https://api.example.com/" }));
    let message = result.expect_err("there is no such host").error.message;
    assert!(message.contains("DnsFailed") || message.contains("PrivateAddress"), "{message}");
}

#[test]
fn a_secret_goes_where_it_is_approved_and_comes_back_redacted() {
    let places = [Place::Header("authorization".to_owned()), Place::Body];
    let world = World::echo().granted().with_secret(HOST, &places);
    let reply = world.fetch(&json!({
        "url": "https://api.example.com/",
        "method": "POST",
        "headers": ["authorization: Bearer {{API_KEY}}", "content-type: application/json"],
        "body": "{\"key\":\"{{API_KEY}}\"}",
    }));
    let reply = reply.expect("an answer");
    let seen = world.upstream.seen();
    assert_eq!(seen[0].header("authorization"), Some(format!("Bearer {SECRET}").as_str()));
    assert_eq!(String::from_utf8_lossy(&seen[0].body), format!("{{\"key\":\"{SECRET}\"}}"));
    let answer = format!("{reply:?}");
    assert!(!answer.contains(SECRET), "{answer}");
    assert!(answer.contains("[redacted:API_KEY]"), "{answer}");
}

#[test]
fn a_withdrawn_grant_and_approval_hold_at_once() {
    let world = World::echo().granted().with_secret(HOST, &[Place::Header("authorization".to_owned())]);
    let arguments = json!({ "url": "https://api.example.com/", "headers": ["authorization: Bearer {{API_KEY}}"] });
    assert!(world.fetch(&arguments).is_ok());
    let admin = world.home.app.admin();
    let name = "test/probe".parse().expect("a name");
    admin.disapprove(&name, "API_KEY").expect("withdrawn");
    assert!(world.fetch(&arguments).expect_err("refused").error.message.contains("SecretNotAvailable"));
    admin.revoke(&name, &[Grant { namespace: NamespaceName::Http, entry: None }]).expect("revoked");
    assert_eq!(outcome(&world.fetch(&arguments)), "call/not-allowed");
    assert_eq!(world.upstream.seen().len(), 1);
}

#[test]
fn a_redirect_is_judged_again() {
    let world = World::new(|seen| match seen.path.as_str() {
        "/same" => Answer::new(302, "text/plain", "").header("location", "/end"),
        "/cdn" => Answer::new(302, "text/plain", "").header("location", "https://files.cdn.example.com/end"),
        "/other" => Answer::new(302, "text/plain", "").header("location", "https://other.example.com/end"),
        "/down" => Answer::new(302, "text/plain", "").header("location", "http://api.example.com/end"),
        "/round" => Answer::new(302, "text/plain", "").header("location", "/round"),
        _ => Answer::json(200, &json!({ "authorization": seen.header("authorization") })),
    })
    .granted()
    .with_secret(HOST, &[Place::Header("authorization".to_owned())]);
    let arguments = |path: &str| json!({ "url": format!("https://api.example.com{path}"), "headers": ["authorization: Bearer {{API_KEY}}"] });
    let body = |result: Result<Reply, Failure>| {
        result.expect("an answer").structured.expect("structured")["body"].as_str().expect("text").to_owned()
    };
    assert_eq!(body(world.fetch(&arguments("/same"))), r#"{"authorization":"Bearer [redacted:API_KEY]"}"#);
    assert_eq!(body(world.fetch(&arguments("/cdn"))), r#"{"authorization":null}"#, "not approved there");
    for (path, expected) in
        [("/other", "HostNotAllowed"), ("/down", "SchemeNotAllowed"), ("/round", "RedirectRefused")]
    {
        let message = world.fetch(&arguments(path)).expect_err("refused").error.message;
        assert!(message.contains(expected), "{path}: {message}");
    }
    assert!(world.upstream.seen().iter().all(|seen| seen.header("host") != Some("other.example.com")));
}

#[test]
fn a_dry_run_sends_nothing_that_changes() {
    let world = World::echo().granted().with_secret(HOST, &[Place::Header("authorization".to_owned())]);
    let host = world.home.host();
    let mut call = request(
        "test/probe.change",
        &json!({
            "url": "https://api.example.com/things",
            "headers": ["authorization: Bearer {{API_KEY}}"],
            "body": "new",
        }),
    );
    call.dry_run = true;
    let reply = world.home.threads.block_on(host.call(call, tokio_util::sync::CancellationToken::new()));
    let reply = reply.expect("a plan");
    assert_eq!(world.upstream.seen().len(), 0);
    assert_eq!(reply.plan.requests.len(), 1);
    assert_eq!(
        (reply.plan.requests[0].method.as_str(), reply.plan.requests[0].path.as_str()),
        ("POST", "/things")
    );
    assert_eq!(reply.structured.expect("structured")["status"], 202);
}

#[test]
fn requests_are_counted_and_bounded() {
    let world = World::echo().granted();
    let url = "https://api.example.com/";
    let five = world.home.call("test/probe.flood", &json!({ "url": url, "times": 5 })).expect("five are allowed");
    assert_eq!(five.usage.requests, 5);
    let six = world.home.call("test/probe.flood", &json!({ "url": url, "times": 6 })).expect_err("six are not");
    assert_eq!(six.error.kind.code(), "budget/egress");
    assert_eq!(world.upstream.seen().len(), 10);
}

#[test]
fn a_slow_upstream_costs_its_own_call_only() {
    let world = World::new(|seen| {
        let mut answer = Answer::json(200, &json!({}));
        if seen.path == "/slow" {
            answer.delay = std::time::Duration::from_secs(3600);
        }
        answer
    })
    .granted();
    let host = world.home.host();
    world.home.threads.block_on(async {
        let cancel = tokio_util::sync::CancellationToken::new();
        let slow = request("test/probe.fetch", &json!({ "url": "https://api.example.com/slow" }));
        let slow = tokio::spawn({
            let (host, cancel) = (host.clone(), cancel.clone());
            async move { host.call(slow, cancel).await }
        });
        while world.upstream.seen().is_empty() {
            tokio::task::yield_now().await;
        }
        let quick = request("test/probe.fetch", &json!({ "url": "https://api.example.com/" }));
        assert!(host.call(quick, tokio_util::sync::CancellationToken::new()).await.is_ok());
        cancel.cancel();
        assert_eq!(outcome(&slow.await.expect("no panic")), "call/cancelled");
    });
}
