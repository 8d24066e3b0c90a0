//! Attacks by a server that sends a request elsewhere.

use remit::policy::Place;
use remit_upstream::{Answer, Seen};
use serde_json::json;

use super::{body, post, told};
use crate::support::world::{HOST, SECRET, World, approval, authorization};

const OTHER: &str = "files.cdn.example.com";

/// Redirects as the path says, `/STATUS/WHERE`, and answers what it got at the end.
fn redirects(seen: &Seen) -> Answer {
    let mut parts = seen.path.trim_start_matches('/').splitn(2, '/');
    match (parts.next().and_then(|status| status.parse().ok()), parts.next()) {
        (Some(status), Some(location)) => {
            // The rest of a path cannot hold `//`.
            Answer::new(status, "text/plain", "").header("location", &location.replacen(':', "://", 1))
        }
        _ => {
            let body = String::from_utf8_lossy(&seen.body).into_owned();
            Answer::json(200, &json!({ "authorization": seen.header("authorization"), "body": body }))
        }
    }
}

/// A world that declares the secret for both hosts, and approves these.
fn world(approved: &[&str]) -> World {
    let world = World::new(redirects).granted_as(|manifest| {
        manifest["http"]["allow"] = json!([HOST, OTHER, "b.example.com"]);
        manifest["secrets"][0]["hosts"] = json!([HOST, OTHER]);
    });
    world.set("API_KEY", SECRET);
    for host in approved {
        let places = [authorization(), Place::Body];
        world.approve("test/probe", &places.map(|place| approval("API_KEY", host, 443, &place)));
    }
    world
}

fn with_key(path: &str) -> serde_json::Value {
    json!({ "url": format!("https://{HOST}{path}"), "headers": ["authorization: Bearer {{API_KEY}}"] })
}

fn authorizations(world: &World) -> Vec<Option<String>> {
    world.upstream.seen().iter().map(|seen| seen.header("authorization").map(str::to_owned)).collect()
}

#[test]
fn s14_a_redirect_takes_no_secret_to_another_host() {
    let sent = Some(format!("Bearer {SECRET}"));
    for status in [301, 302, 303, 307, 308] {
        let path = format!("/{status}/https:{OTHER}/end");
        let alone = world(&[HOST]);
        assert_eq!(body(alone.fetch(&with_key(&path))), r#"{"authorization":null,"body":""}"#, "{status}");
        assert_eq!(authorizations(&alone), [sent.clone(), None], "{status}");
        assert!(alone.home.records()[0].requests[1].secrets.is_empty());
    }
    let both = world(&[HOST, OTHER]);
    let path = format!("/302/https:{OTHER}/end");
    let seen = body(both.fetch(&with_key(&path)));
    assert_eq!(seen, r#"{"authorization":"Bearer [redacted:API_KEY]","body":""}"#, "approved there, too");
    assert_eq!(authorizations(&both), [sent.clone(), sent]);
}

#[test]
fn s15_a_redirect_takes_no_body_with_a_secret_to_another_host() {
    for status in [307, 308] {
        let alone = world(&[HOST]);
        let mut request = post(HOST, &["content-type: text/plain"], "key={{API_KEY}}");
        request["url"] = json!(format!("https://{HOST}/{status}/https:{OTHER}/end"));
        let result = alone.fetch(&request);
        assert!(result.is_err() && told(&result).starts_with("SecretNotAvailable"), "{status}: {result:?}");
        let seen = alone.upstream.seen();
        assert_eq!(seen.len(), 1, "{status}: nothing arrived at the other host");
        assert_eq!((alone.outside.counts().0, seen[0].header("host")), (1, Some(HOST)), "{status}");
        let outcomes: Vec<_> =
            alone.home.records()[0].requests.iter().map(|request| request.outcome.clone()).collect();
        assert_eq!(outcomes, ["sent", "secret/not-available"], "{status}");

        // On the same host the body goes along.
        request["url"] = json!(format!("https://{HOST}/{status}/https:{HOST}/end"));
        assert!(body(alone.fetch(&request)).contains("key=[redacted:API_KEY]"), "{status}");
        assert_eq!(alone.upstream.seen()[2].body, format!("key={SECRET}").as_bytes(), "{status}");
    }
}

#[test]
fn s16_a_redirect_to_clear_text_is_refused() {
    let world = world(&[HOST, OTHER]);
    for status in [301, 302, 303, 307, 308] {
        for to in [HOST, OTHER] {
            let before = world.outside.counts();
            let result = world.fetch(&with_key(&format!("/{status}/http:{to}/end")));
            assert!(result.is_err() && told(&result).starts_with("SchemeNotAllowed"), "{status} {to}: {result:?}");
            assert_eq!(
                world.outside.counts(),
                (before.0 + 1, before.1 + 1),
                "{status} {to}: the first host alone"
            );
        }
    }
    assert!(world.upstream.seen().iter().all(|seen| seen.header("host") == Some(HOST)));
    assert!(world.fetch(&with_key(&format!("/302/https:{HOST}/end"))).is_ok());
}
