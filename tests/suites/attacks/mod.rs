//! Every attack of the threat table, S-01 to S-50, on the real host: a guest that repeats all it gets to know, a
//! vault with its key, an upstream over TLS, and DNS that counts. One file an idea, one test an attack, with the
//! attack's number in its name; each says what did not happen, and has a twin that works. S-29 has none: it
//! cannot be prevented, and `docs/security.md` says so.

mod canary;
mod echoes;
mod files;
mod listed;
mod oracles;
mod owners;
mod placement;
mod redirects;

use std::fs;

use remit::call::{Failure, Reply};
use remit::policy::Place;
use serde_json::{Value, json};

use crate::support::world::{HOST, SECRET, World, authorization};

/// A value with every character that some format escapes.
const AWKWARD: &str = r#"q7"\x<&>'/+=%~* Zr3:kW9!TbV"#;

/// Sends the secret where it is approved.
fn with_key() -> Value {
    json!({ "url": "https://api.example.com/", "headers": ["authorization: Bearer {{API_KEY}}"] })
}

/// A world whose key is approved where most APIs want it.
fn keyed() -> World {
    World::echo().granted().with_secret(HOST, &[authorization()])
}

/// All that comes out of a call, in one text.
fn told(result: &Result<Reply, Failure>) -> String {
    match result {
        Ok(reply) => format!("{reply:?}"),
        Err(failure) => failure.error.message.clone(),
    }
}

/// The body of an answer as the guest saw it.
fn body(result: Result<Reply, Failure>) -> String {
    let reply = result.unwrap_or_else(|failure| panic!("no answer: {failure:?}"));
    reply.structured.expect("structured")["body"].as_str().expect("text").to_owned()
}

/// A request in full.
fn post(host: &str, headers: &[&str], body: &str) -> Value {
    json!({ "url": format!("https://{host}/"), "method": "POST", "headers": headers, "body": body })
}

/// Asserts that a request is refused with these words to the guest and this code in its record, and that nothing
/// else came of it: no name looked up, no connection, nothing at the upstream, no value opened.
fn refused(world: &World, arguments: &Value, words: &str, code: &str) {
    let before = (world.outside.counts(), world.upstream.seen().len());
    let result = without_key(world, || world.fetch(arguments));
    let told = told(&result);
    assert!(result.is_err() && told.starts_with(words), "{arguments}: {told}");
    assert_eq!(
        (world.outside.counts(), world.upstream.seen().len()),
        before,
        "{arguments}: nothing happened outside"
    );
    let record = &world.home.records()[0];
    assert_eq!(record.requests.len(), 1, "{arguments}: {record:?}");
    let request = &record.requests[0];
    assert_eq!((request.outcome.as_str(), &request.address), (code, &None), "{arguments}");
    let kept = format!("{record:?}");
    assert!(!kept.contains(SECRET) && !told.contains(SECRET), "{arguments}: {kept}");
}

/// Does something while the key file is away: whoever opens a value meanwhile fails with `secret/key`.
fn without_key<T>(world: &World, act: impl FnOnce() -> T) -> T {
    let key = world.home.path().join("key");
    let away = key.with_extension("away");
    let was_there = fs::rename(&key, &away).is_ok();
    let result = act();
    if was_there {
        fs::rename(&away, &key).expect("nobody made another key");
    }
    result
}

#[test]
fn a_value_that_is_opened_without_its_key_is_noticed() {
    let world = keyed();
    let result = without_key(&world, || world.fetch(&with_key()));
    assert!(result.is_err(), "{result:?}");
    assert_eq!(world.home.records()[0].requests[0].outcome, "secret/key");
    assert_eq!(world.outside.counts(), (1, 0), "and a name that is looked up is counted");
    assert!(world.fetch(&with_key()).is_ok());
    assert_eq!(world.outside.counts(), (2, 1));
}

/// A field besides the one that is approved.
fn field(name: &str) -> Place {
    Place::Header(name.to_owned())
}
