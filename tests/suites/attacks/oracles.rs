//! Attacks that ask questions: what an answer, an error or a counter tells about a value or about the vault.

use std::io::Write as _;
use std::net::TcpListener;
use std::sync::Mutex;

use remit::policy::Place;
use remit_upstream::{Answer, Seen};
use serde_json::{Value, json};

use super::{body, keyed, post, refused, told, with_key};
use crate::support::client::Client;
use crate::support::home::{program, remit};
use crate::support::outside::{Dial, Lookup, PUBLIC};
use crate::support::world::{HOST, SECRET, World, authorization, echo};

/// Words that no error of ours holds: what libraries, resolvers and servers say.
const FOREIGN: &str = "ns1.corp.example at 10.9.8.7 says sk_live_8Zq2pV7wXcT4nLrB";

#[test]
fn s26_an_answer_that_cannot_be_searched_is_refused() {
    let world = World::raw(|seen: &Seen| {
        let field = seen.path.trim_start_matches('/').replace('_', " ").replacen('=', ": ", 1);
        let body = b"\x1f\x8b\x08\x00 not for a search";
        vec![
            format!("HTTP/1.1 200 OK\r\n{field}\r\ncontent-length: {}\r\n\r\n", body.len()).into_bytes(),
            body.to_vec(),
        ]
    })
    .granted()
    .with_secret(HOST, &[authorization()]);
    let ask = |field: &str| {
        let mut request = with_key();
        request["url"] = json!(format!("https://{HOST}/{field}"));
        world.fetch(&request)
    };
    for field in [
        "content-encoding=gzip",
        "Content-Encoding=GZIP",
        "content-encoding=x-gzip",
        "content-encoding=br",
        "content-encoding=deflate",
        "content-encoding=identity,_gzip",
        "content-encoding=unheard-of",
        "transfer-encoding=gzip,_chunked",
    ] {
        let result = ask(field);
        assert!(result.is_err() && told(&result).starts_with("ResponseInvalid"), "{field}: {result:?}");
        assert!(!told(&result).contains("not for a search"), "{field}");
    }
    assert!(body(ask("content-encoding=identity")).contains("not for a search"));
    assert!(world.upstream.seen().iter().all(|seen| seen.header("accept-encoding") == Some("identity")));
    let own = json!({ "url": format!("https://{HOST}/"), "headers": ["accept-encoding: gzip"] });
    refused(&world, &own, "HeaderNotAllowed", "http/header-not-allowed");
}

/// Keeps what it gets, and gives it to whoever asks, at any of its names.
fn store() -> World {
    let kept = Mutex::new(String::new());
    World::new(move |seen| {
        let mut kept = kept.lock().expect("one request at a time");
        if seen.method == "POST" {
            *kept = String::from_utf8_lossy(&seen.body).into_owned();
            return Answer::new(204, "text/plain", "");
        }
        Answer::json(200, &json!({ "host": seen.header("host"), "kept": *kept }))
    })
    .granted()
    .with_secret(HOST, &[Place::Body])
}

#[test]
fn s27_a_value_that_was_stored_before_does_not_come_back_later() {
    let world = store();
    assert!(world.fetch(&post(HOST, &[], "it is {{API_KEY}}")).is_ok());
    assert_eq!(world.upstream.seen()[0].body, format!("it is {SECRET}").as_bytes());
    let read = body(world.fetch(&json!({ "url": format!("https://{HOST}/") })));
    assert_eq!(read, r#"{"host":"api.example.com","kept":"it is [redacted:API_KEY]"}"#);
    assert!(world.home.records()[0].requests[0].secrets.is_empty(), "that call used no secret");
}

#[test]
fn s28_nor_through_another_host() {
    let world = store();
    assert!(world.fetch(&post(HOST, &[], "it is {{API_KEY}}")).is_ok());
    let read = body(world.fetch(&json!({ "url": "https://files.cdn.example.com/" })));
    assert_eq!(read, r#"{"host":"files.cdn.example.com","kept":"it is [redacted:API_KEY]"}"#);
}

#[test]
fn s30_a_guess_that_is_confirmed_is_counted_and_soon_refused() {
    let limit = "[http]\nredactions-per-minute = 3\n";
    let world = World::with_settings(limit, echo).granted().with_secret(HOST, &[authorization()]);
    // The guest has no value; it sends guesses, and looks which one is cut out of the echo.
    let guess = |text: &str| post(HOST, &[], text);
    for number in 0..20 {
        assert!(body(world.fetch(&guess(&format!("sk_live_{number:016}")))).contains("sk_live_"), "a wrong guess");
    }
    for _ in 0..3 {
        assert!(body(world.fetch(&guess(SECRET))).contains("[redacted:API_KEY]"));
        assert!(world.home.records()[0].requests[0].secrets.is_empty(), "it carried no secret");
        let last = remit(world.home.path(), &["audit", "--json", "--limit", "1"], "").json();
        assert_eq!(last[0]["requests"][0]["redactions"], 1, "{last}");
    }
    let before = (world.outside.counts(), world.upstream.seen().len());
    for request in [guess(SECRET), guess("anything"), with_key()] {
        let result = world.fetch(&request);
        assert!(result.is_err() && told(&result).starts_with("RateLimited"), "{request}: {result:?}");
        assert_eq!(world.home.records()[0].requests[0].outcome, "http/rate-limited");
    }
    assert_eq!((world.outside.counts(), world.upstream.seen().len()), before, "not even looked up");

    // A server says so in its log.
    let log = world.home.path().join("log");
    let file = std::fs::File::create(&log).expect("room");
    let mut client = Client::of(
        std::process::Command::new(program())
            .args(["serve", "--tools", "direct"])
            .env("REMIT_HOME", world.home.path())
            .stderr(file),
    );
    for _ in 0..4 {
        let call = json!({ "name": "probe__fetch", "arguments": guess(SECRET) });
        client.request("tools/call", &call).expect("an answer");
    }
    let said = std::fs::read_to_string(&log).expect("a log");
    assert!(said.contains("test/probe") && said.contains("guessing") && !said.contains(SECRET), "{said}");

    // An echo of what a request carried confirms nothing.
    let honest = World::with_settings(limit, echo).granted().with_secret(HOST, &[authorization()]);
    for _ in 0..10 {
        assert!(body(honest.fetch(&with_key())).contains("[redacted:API_KEY]"));
    }
    // A value that is quickly guessed is taken with a warning.
    let short = remit(honest.home.path(), &["secret", "set", "API_KEY"], "k3y-of-12-by");
    assert!(short.exit == Some(0) && short.stderr.contains("warning:"), "{short:?}");
}

#[test]
fn s32_what_occurs_by_chance_is_no_secret() {
    let world = keyed();
    for value in [
        "true",
        "1",
        "null",
        "password",
        "PASSWORD",
        "12345678",
        "changeme",
        "aaaaaaaaaaaaaaaa",
        "        ",
        "seven77",
    ] {
        let said = remit(world.home.path(), &["secret", "set", "API_KEY", "--json"], value);
        assert_eq!((said.exit, said.code().as_str()), (Some(2), "secret/invalid"), "{value}: {said:?}");
    }
    // So an ordinary answer stays as it is.
    let ordinary = r#"{"ok":true,"count":1,"password":"changeme","id":12345678,"none":null}"#;
    let echo = json!({ "url": format!("https://{HOST}/"), "method": "POST", "body": ordinary });
    let echoed: Value = serde_json::from_str(&body(world.fetch(&echo))).expect("JSON");
    assert_eq!(echoed["body"], ordinary);
}

/// Asserts that a failed request is told in our words alone.
fn in_our_words(world: &World, expected: &str, code: &str) {
    let result = world.fetch(&with_key());
    assert!(result.is_err(), "{expected}: {result:?}");
    let told = told(&result);
    assert!(told == expected || told.starts_with(&format!("{expected}(\"")), "{expected}: {told}");
    let record = format!("{:?}", world.home.records()[0]);
    assert!(record.contains(code), "{expected}: {record}");
    for word in ["ns1", "corp", "10.9.8.7", "ESMTP", "InvalidCertificate", "Os {", "hyper", SECRET] {
        assert!(!told.contains(word) && !record.contains(word), "{expected}, `{word}`: {told} {record}");
    }
}

#[test]
fn s34_errors_are_told_in_our_words() {
    let world = World::with_settings("[http]\nfirst-byte-ms = 200\n", |_| {
        let mut answer = Answer::new(200, "text/plain", FOREIGN);
        answer.delay = std::time::Duration::from_secs(60);
        answer
    })
    .granted()
    .with_secret(HOST, &[authorization()]);
    in_our_words(&world, "Timeout", "http/timeout");
    world.outside.dial(Dial::Fails(FOREIGN));
    in_our_words(&world, "ConnectFailed", "http/connect-failed");
    world.outside.name(HOST, Lookup::Fails(FOREIGN));
    in_our_words(&world, "DnsFailed", "http/dns-failed");

    // A bug in a library ends the call, and not its text either.
    world.outside.name(HOST, Lookup::Panics(FOREIGN));
    let failure = world.fetch(&with_key()).expect_err("it broke");
    assert_eq!(failure.error.kind.code(), "host/internal");
    let record = format!("{:?}", world.home.records()[0]);
    for text in [failure.error.message.clone(), format!("{failure:?}"), record] {
        assert!(!text.contains("ns1") && !text.contains(SECRET), "{text}");
    }

    // A server that speaks no TLS, and one with a certificate for another name.
    let mail = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = mail.local_addr().expect("an address");
    let server = std::thread::spawn(move || {
        let (mut stream, _) = mail.accept().expect("a client");
        let _ = stream.write_all(format!("220 {FOREIGN} ESMTP\r\n").as_bytes());
    });
    world.outside.name(HOST, Lookup::Address(PUBLIC));
    world.outside.dial(Dial::To(address));
    in_our_words(&world, "TlsFailed", "http/tls-failed");
    server.join().expect("it served");
    let other = World::echo().granted_as(|manifest| {
        manifest["http"]["allow"] = json!([HOST, "other.example.com"]);
    });
    let result = other.fetch(&json!({ "url": "https://other.example.com/" }));
    assert_eq!(told(&result), "TlsFailed");
    assert_eq!(other.upstream.seen().len(), 0);

    let garbled = World::raw(|_| vec![format!("{FOREIGN}\r\n\r\n").into_bytes()])
        .granted()
        .with_secret(HOST, &[authorization()]);
    in_our_words(&garbled, "ResponseInvalid", "http/response-invalid");
}

#[test]
fn s45_whatever_is_missing_the_error_is_the_same() {
    let undeclared = World::echo().granted_as(|manifest| manifest["secrets"] = json!([]));
    undeclared.set("API_KEY", SECRET);
    let unapproved = World::echo().granted();
    unapproved.set("API_KEY", SECRET);
    let unset = keyed();
    assert!(unset.home.app.admin().remove_secret("API_KEY").expect("a vault"));
    let elsewhere = World::echo().granted_as(|manifest| {
        manifest["secrets"][0]["hosts"] = json!([HOST, "files.cdn.example.com"]);
    });
    let elsewhere = elsewhere.with_secret("files.cdn.example.com", &[authorization()]);
    for world in [undeclared, unapproved, unset, elsewhere, World::echo().granted()] {
        let failure = world.fetch(&with_key()).expect_err("refused");
        assert_eq!(failure.error.message, r#"SecretNotAvailable("API_KEY")"#);
        assert_eq!(failure.error.kind.code(), "capability/failed");
        assert_eq!(world.home.records()[0].requests[0].outcome, "secret/not-available");
        assert_eq!((world.outside.counts().1, world.upstream.seen().len()), (0, 0));
    }
    assert!(keyed().fetch(&with_key()).is_ok());
}
