//! A secret goes where it is approved, as it may stand there, and comes back nowhere.

use super::*;

const URL: &str = "https://api.example.com/";

fn echoing(reply: &str) -> World {
    World::answering([Reply::text(reply)]).with_secret("KEY", &[("api.example.com", header("authorization"))])
}

#[tokio::test(start_paused = true)]
async fn an_echo_is_redacted_wherever_it_stands() {
    let body = format!("{{\"you\":\"sent {VALUE}\"}}");
    let reply = format!(
        "HTTP/1.1 200 {VALUE}\r\ncontent-length: {}\r\netag: \"{VALUE}\"\r\nx-{VALUE}: 1\r\nset-cookie: k={VALUE}\r\n\r\n{body}",
        body.len()
    );
    let seen = echoing(&reply).send(get(URL).header("Authorization", "{{KEY}}")).await;
    let clean = "{\"you\":\"sent [redacted:KEY]\"}";
    let answer = seen.answer();
    assert_eq!(String::from_utf8_lossy(&answer.body), clean);
    let expected = [
        ("content-length".to_owned(), clean.len().to_string().into_bytes()),
        ("etag".to_owned(), b"\"[redacted:KEY]\"".to_vec()),
    ];
    assert_eq!(answer.headers, expected);
}

#[tokio::test(start_paused = true)]
async fn a_secret_that_this_request_did_not_use_is_redacted_too() {
    let reply = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{VALUE}", VALUE.len());
    let seen = echoing(&reply).send(get(URL)).await;
    assert_eq!(seen.answer().body, b"[redacted:KEY]");
}

#[tokio::test(start_paused = true)]
async fn a_secret_that_is_not_set_answers_like_one_that_is_unknown() {
    let mut world = World::new().with_secret("KEY", &[("api.example.com", header("authorization"))]);
    world.values.clear();
    let unset = world.send(get(URL).header("Authorization", "{{KEY}}")).await;
    let unknown = World::new().send(get(URL).header("Authorization", "{{KEY}}")).await;
    assert_eq!(unset.result.unwrap_err().to_string(), unknown.result.unwrap_err().to_string());
    assert!(unset.dialled.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_value_cannot_leave_its_place() {
    let nasty = "a\"b&x=1{{KEY}}\\";
    for (content_type, body, sent) in [
        ("application/json", r#"{"k":"{{KEY}}"}"#, r#"{"k":"a\"b&x=1{{KEY}}\\"}"#),
        ("application/x-www-form-urlencoded", "k={{KEY}}&y=2", "k=a%22b%26x%3D1%7B%7BKEY%7D%7D%5C&y=2"),
        ("text/plain", "k={{KEY}}", "k=a\"b&x=1{{KEY}}\\"),
    ] {
        let mut world = World::answering([Reply::ok("")]).with_secret("KEY", &[("api.example.com", Place::Body)]);
        world.values = vec![("KEY", nasty.to_owned())];
        let template = template(Method::Post, URL).header("Content-Type", content_type).body(body);
        let seen = world.send(template).await;
        assert_eq!(seen.requests[0].split_once("\r\n\r\n").unwrap().1, sent);
    }
}

#[tokio::test(start_paused = true)]
async fn a_value_that_no_header_can_hold_is_refused() {
    for value in ["line\r\nHost: evil.test", "nul\0nul", "caf\u{e9}-caf\u{e9}"] {
        let mut world = World::new().with_secret("KEY", &[("api.example.com", header("authorization"))]);
        world.values = vec![("KEY", value.to_owned())];
        let seen = world.send(get(URL).header("Authorization", "{{KEY}}")).await;
        assert_eq!((seen.kind(), seen.dialled.len()), (Some(ErrorKind::HttpHeaderInvalid), 0));
    }
}

#[tokio::test(start_paused = true)]
async fn values_count_towards_the_size_of_a_request() {
    let mut world = World::new().with_secret("KEY", &[("api.example.com", Place::Body)]);
    world.limits.request_bytes = 100;
    world.values = vec![("KEY", "x".repeat(60))];
    let seen = world.send(template(Method::Post, URL).body("{{KEY}}{{KEY}}")).await;
    assert_eq!((seen.kind(), seen.dialled.len()), (Some(ErrorKind::HttpRequestTooLarge), 0));
}

#[tokio::test(start_paused = true)]
async fn one_call_reads_its_secrets_once() {
    let world = World::answering([Reply::ok(""), Reply::ok("")])
        .with_secret("KEY", &[("api.example.com", header("authorization"))]);
    let seen = world.send_all([get(URL), get(URL)]).await;
    assert_eq!((seen.secret_reads, seen.dialled.len()), (1, 2));
    let none = World::answering([Reply::ok("")]).send(get(URL)).await;
    assert_eq!(none.secret_reads, 1, "what was approved for it once is searched for, too");
}

#[tokio::test(start_paused = true)]
async fn one_placeholder_can_stand_for_another_value_at_another_host() {
    let mut world = World::answering([Reply::ok(""), Reply::ok("")]);
    let approval = |host: &str, source: &str| Approval {
        secret: "KEY".to_owned(),
        source: source.to_owned(),
        host: host.to_owned(),
        port: 443,
        place: header("x-key"),
        expires_at: None,
    };
    let approvals = vec![approval("api.example.com", "FIRST"), approval("b.example.com", "SECOND")];
    world.secrets = vec![SecretUse { name: "KEY".to_owned(), approvals }];
    let granted = world.granted();
    let secrets = CallSecrets::new(|_| {
        let value = |source: &str| SecretValue {
            name: "KEY".to_owned(),
            source: source.to_owned(),
            value: Zeroizing::new(format!("value of {source}").into_bytes()),
            is_usable: true,
        };
        Ok(SecretSet::new(vec![value("FIRST"), value("SECOND")]))
    });
    let deadline = clock::monotonic() + world.deadline;
    let sender = Sender { granted: &granted, secrets: &secrets, deadline, dry_run: false };
    let (egress, mut ledger) = (world.egress(), Ledger::new(2));
    for url in [URL, "https://b.example.com/"] {
        egress.send(&sender, get(url).header("X-Key", "{{KEY}}"), &mut ledger).await.unwrap();
    }
    let requests = world.dialer.requests();
    assert!(requests[0].contains("x-key: value of FIRST") && requests[1].contains("x-key: value of SECOND"));
}
