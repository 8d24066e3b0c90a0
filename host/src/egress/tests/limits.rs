//! Every limit is hit by a server or a guest that means it.

use super::*;

const URL: &str = "https://api.example.com/";

async fn kind_for(reply: Reply) -> Option<ErrorKind> {
    World::answering([reply]).send(get(URL)).await.kind()
}

fn head(fields: &str) -> Vec<u8> {
    format!("HTTP/1.1 200 OK\r\n{fields}\r\n").into_bytes()
}

#[tokio::test(start_paused = true)]
async fn a_body_is_cut_at_the_limit_while_it_comes() {
    let mut world =
        World::answering([Reply::flood(head("")), Reply::ok(&"a".repeat(1000)), Reply::ok(&"a".repeat(1001))]);
    world.limits.response_bytes = 1000;
    let seen = world.send(get(URL)).await;
    assert_eq!(seen.kind(), Some(ErrorKind::HttpResponseTooLarge));
    // One read more than the limit, whatever the server goes on to send.
    assert!(seen.records[0].bytes_in < 100_000);
    assert_eq!(world.send(get(URL)).await.answer().body.len(), 1000);
    let seen = world.send(get(URL)).await;
    assert_eq!((seen.kind(), seen.records[0].bytes_in), (Some(ErrorKind::HttpResponseTooLarge), 0));
}

#[tokio::test(start_paused = true)]
async fn a_body_that_is_declared_too_large_is_not_read() {
    let reply = Reply::Drip(head("content-length: 99999999999\r\n"), b"a".to_vec());
    assert_eq!(kind_for(reply).await, Some(ErrorKind::HttpResponseTooLarge));
}

#[tokio::test(start_paused = true)]
async fn what_breaks_http_is_refused() {
    let many: String = (0..5000).map(|number| format!("x-{number}: 1\r\n")).collect();
    let long = format!("x-long: {}\r\n", "a".repeat(70_000));
    for (case, bytes) in [
        ("two lengths", head("content-length: 5\r\ncontent-length: 6\r\n")),
        (
            "two framings",
            [&head("content-length: 5\r\ntransfer-encoding: chunked\r\n")[..], b"0\r\n\r\n"].concat(),
        ),
        ("many fields", head(&many)),
        ("a long field", head(&long)),
        ("an upgrade", b"HTTP/1.1 101 Switching\r\nupgrade: websocket\r\nconnection: upgrade\r\n\r\n".to_vec()),
        ("no head", b"body without head\r\n\r\n".to_vec()),
        ("nothing", Vec::new()),
        (
            "a chunk of all memory",
            [&head("transfer-encoding: chunked\r\n")[..], b"ffffffffffffffff\r\na"].concat(),
        ),
        ("a body that breaks off", [&head("content-length: 5\r\n")[..], b"ab"].concat()),
        ("compression", [&head("content-encoding: gzip\r\ncontent-length: 1\r\n")[..], b"a"].concat()),
        ("a coded transfer", [&head("transfer-encoding: gzip, chunked\r\n")[..], b"0\r\n\r\n"].concat()),
    ] {
        assert_eq!(kind_for(Reply::Bytes(bytes)).await, Some(ErrorKind::HttpResponseInvalid), "{case}");
    }
}

#[tokio::test(start_paused = true)]
async fn chunks_identity_and_unframed_bodies_are_read() {
    for (bytes, body) in [
        (
            [&head("transfer-encoding: chunked\r\n")[..], b"2\r\nab\r\n1\r\nc\r\n0\r\nx-trailer: 1\r\n\r\n"]
                .concat(),
            "abc",
        ),
        ([&head("content-encoding: identity\r\ncontent-length: 3\r\n")[..], b"abc"].concat(), "abc"),
        ([&head("")[..], b"until the end"].concat(), "until the end"),
    ] {
        let seen = World::answering([Reply::Bytes(bytes)]).send(get(URL)).await;
        assert_eq!(String::from_utf8_lossy(&seen.answer().body), body);
    }
}

#[tokio::test(start_paused = true)]
async fn slow_servers_run_out_of_time() {
    for (case, reply) in [
        ("a head, byte by byte", Reply::Drip(b"HTTP/1.1 200 OK\r\nx: ".to_vec(), b"a".to_vec())),
        ("a body, byte by byte", Reply::Drip(head("content-length: 1000\r\n"), b"a".to_vec())),
        ("interim answers", Reply::Drip(Vec::new(), b"HTTP/1.1 103 Early Hints\r\n\r\n".to_vec())),
        ("no connection", Reply::Silent),
    ] {
        assert_eq!(kind_for(reply).await, Some(ErrorKind::HttpTimeout), "{case}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_shortest_of_the_times_counts() {
    let drip = || Reply::Drip(head("content-length: 1000\r\n"), b"a".to_vec());
    let all = Duration::from_secs(3600);
    for (limit, asked, deadline, seconds) in [
        (30_000, None, all, 30),
        (30_000, Some(Duration::from_secs(7)), all, 7),
        (30_000, Some(all), all, 30),
        (30_000, None, Duration::from_secs(5), 5),
    ] {
        let mut world = World::answering([drip()]);
        world.limits.request_ms = limit;
        world.deadline = deadline;
        let before = tokio::time::Instant::now();
        let seen = world.send(Template { timeout: asked, ..get(URL) }).await;
        assert_eq!(seen.kind(), Some(ErrorKind::HttpTimeout));
        assert_eq!(seen.outcomes(), [ErrorKind::HttpTimeout.code()]);
        let took = before.elapsed().as_secs_f64();
        assert!((took - f64::from(seconds)).abs() < 1.0, "{took} s instead of {seconds} s");
    }
}

#[tokio::test(start_paused = true)]
async fn a_dropped_call_leaves_a_record() {
    let world = World::answering([Reply::Silent]);
    let granted = world.granted();
    let secrets = CallSecrets::new(&granted, || Ok(SecretSet::default()));
    let deadline = clock::monotonic() + world.deadline;
    let sender = Sender { granted: &granted, secrets: &secrets, deadline, dry_run: false };
    let mut ledger = Ledger::new(1);
    let egress = world.egress();
    let dropped = tokio::time::timeout(Duration::from_secs(1), egress.send(&sender, get(URL), &mut ledger)).await;
    assert!(dropped.is_err());
    assert_eq!(ledger.requests()[0].outcome, ErrorKind::Cancelled.code());
    assert_eq!(ledger.requests()[0].authority, "api.example.com");
}

#[tokio::test(start_paused = true)]
async fn requests_are_bounded() {
    let mut world = World::new();
    world.limits.request_bytes = 4;
    let large = template(Method::Post, URL).body("12345");
    assert_eq!(world.send(large).await.kind(), Some(ErrorKind::HttpRequestTooLarge));

    let mut world = World::answering([Reply::ok(""), Reply::ok("")]);
    world.budget = 1;
    let seen = world.send_all([get(URL), get(URL)]).await;
    assert_eq!((seen.kind(), seen.dialled.len()), (Some(ErrorKind::Egress), 1));

    let mut world = World::answering([Reply::ok(""), Reply::ok("")]);
    world.limits.per_minute = 1;
    let seen = world.send_all([get(URL), get(URL)]).await;
    assert_eq!((seen.kind(), seen.looked_up.len()), (Some(ErrorKind::HttpRateLimited), 1));
}

#[tokio::test(start_paused = true)]
async fn a_guest_sees_no_field_about_credentials_or_the_connection() {
    let fields = "set-cookie: a=b\r\nwww-authenticate: Basic\r\nconnection: close\r\nkeep-alive: 1\r\n\
        alt-svc: h3=\":443\"\r\ncontent-type: text/plain\r\ncontent-length: 2\r\nx-a: 1\r\nx-a: 2\r\n";
    let reply = Reply::Bytes([&head(fields)[..], b"hi"].concat());
    let seen = World::answering([reply]).send(get(URL)).await;
    let shown: Vec<_> = seen
        .answer()
        .headers
        .iter()
        .map(|(name, value)| format!("{name}: {}", String::from_utf8_lossy(value)))
        .collect();
    assert_eq!(
        shown,
        ["alt-svc: h3=\":443\"", "content-type: text/plain", "content-length: 2", "x-a: 1", "x-a: 2"]
    );
}
