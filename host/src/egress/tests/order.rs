//! What happens before what: nothing is looked up, dialled or read for a request that an earlier step refuses,
//! and every attempt leaves one record.

use proptest::prelude::*;

use super::*;

/// Look-ups, connections and secret reads of a refused request, with the outcome of its one record.
async fn refused(world: World, template: Template, kind: ErrorKind) -> (usize, usize, usize) {
    let seen = world.send(template).await;
    assert_eq!(seen.kind(), Some(kind));
    assert_eq!(seen.outcomes(), [kind.code()]);
    (seen.looked_up.len(), seen.dialled.len(), seen.secret_reads)
}

fn with_key(world: World) -> World {
    world.with_secret("KEY", &[("api.example.com", header("authorization"))])
}

fn authorized(url: &str) -> Template {
    get(url).header("Authorization", "Bearer {{KEY}}")
}

#[tokio::test(start_paused = true)]
async fn a_granted_request_goes_out_with_the_hosts_own_fields() {
    let world = with_key(World::answering([Reply::ok("hello")]));
    let template = authorized("https://api.example.com/v1/x?q=1#f").header("X-A", "b");
    let seen = world.send(template).await;
    assert_eq!((seen.answer().status, seen.answer().body.as_slice()), (200, b"hello".as_slice()));
    assert_eq!(seen.looked_up, ["api.example.com"]);
    assert_eq!(seen.dialled, [SocketAddr::new(address(PUBLIC), 443)]);
    assert_eq!(seen.secret_reads, 1);
    let agent = concat!("remit/", env!("CARGO_PKG_VERSION"));
    let expected = format!(
        "GET /v1/x?q=1 HTTP/1.1\r\nhost: api.example.com\r\nuser-agent: {agent}\r\n\
         accept-encoding: identity\r\nauthorization: Bearer {VALUE}\r\nx-a: b\r\n\r\n"
    );
    assert_eq!(seen.requests, [expected]);
    let record = &seen.records[0];
    assert_eq!((record.authority.as_str(), record.path.as_str()), ("api.example.com", "/v1/x"));
    assert_eq!((record.outcome.as_str(), record.status), ("sent", Some(200)));
    assert_eq!((record.address.as_deref(), record.bytes_in), (Some("93.184.215.14:443"), 5));
    assert_eq!(record.secrets, ["KEY"]);
}

#[tokio::test(start_paused = true)]
async fn a_body_goes_out_with_its_length() {
    let world = World::answering([Reply::ok("")]);
    let seen = world
        .send(template(Method::Post, "https://api.example.com/").body("12345").header("User-Agent", "me"))
        .await;
    assert!(seen.requests[0].contains("content-length: 5\r\n") && seen.requests[0].ends_with("\r\n\r\n12345"));
    assert!(seen.requests[0].contains("user-agent: me\r\n"));
    assert_eq!(seen.records[0].bytes_out, 5);
}

#[tokio::test(start_paused = true)]
async fn a_name_that_is_not_granted_is_never_looked_up() {
    let untouched = (0, 0, 0);
    for (url, kind) in [
        ("https://evil.test/", ErrorKind::HttpHostNotAllowed),
        ("https://api.example.com:8443/", ErrorKind::HttpPortNotAllowed),
        ("http://api.example.com/", ErrorKind::HttpSchemeNotAllowed),
        ("https://127.0.0.1/", ErrorKind::HttpIpLiteralNotAllowed),
        ("https://api.example.com@evil.test/", ErrorKind::HttpUserinfoNotAllowed),
        ("https://api.example.com\\.evil.test/", ErrorKind::HttpInvalidUrl),
    ] {
        assert_eq!(refused(with_key(World::new()), authorized(url), kind).await, untouched, "{url}");
    }
    let template = authorized("https://api.example.com/").header("Host", "evil.test");
    assert_eq!(refused(with_key(World::new()), template, ErrorKind::HttpHeaderNotAllowed).await, untouched);
}

#[tokio::test(start_paused = true)]
async fn a_secret_that_may_not_go_there_stops_the_request_before_the_look_up() {
    for (template, kind) in [
        (authorized("https://b.example.com/"), ErrorKind::SecretNotAvailable),
        (get("https://api.example.com/").header("X-Debug", "{{KEY}}"), ErrorKind::SecretPlacement),
        (get("https://api.example.com/?k={{KEY}}"), ErrorKind::SecretPlacement),
        (get("https://api.example.com/").header("X-A", "{{OTHER}}"), ErrorKind::SecretNotAvailable),
    ] {
        assert_eq!(refused(with_key(World::new()), template, kind).await, (0, 0, 0));
    }
}

#[tokio::test(start_paused = true)]
async fn an_address_that_is_not_public_is_neither_dialled_nor_trusted_with_a_secret() {
    for addresses in [
        &["10.0.0.5"][..],
        &["127.0.0.1"],
        &["169.254.169.254"],
        &["::1"],
        &["::ffff:93.184.215.14"],
        &[PUBLIC, "10.0.0.5"],
        &[PUBLIC, "fd00::5"],
    ] {
        let mut world = with_key(World::new());
        world.resolver = FakeResolver::new(&[("api.example.com", addresses)]);
        let counts = refused(world, authorized("https://api.example.com/"), ErrorKind::HttpPrivateAddress).await;
        assert_eq!(counts, (1, 0, 0), "{addresses:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_excepted_network_is_dialled_and_its_neighbour_is_not() {
    let mut world = World::answering([Reply::ok("inside")]);
    world.private = vec!["10.0.0.0/24"];
    world.resolver = FakeResolver::new(&[("api.example.com", &["10.0.0.5"]), ("b.example.com", &["10.0.1.5"])]);
    let seen = world.send(get("https://api.example.com/")).await;
    assert_eq!(seen.answer().body, b"inside");
    let seen = world.send(get("https://b.example.com/")).await;
    assert_eq!(seen.kind(), Some(ErrorKind::HttpPrivateAddress));
    assert_eq!(seen.records[0].address.as_deref(), Some("10.0.1.5"));
}

#[tokio::test(start_paused = true)]
async fn an_excepted_connection_asks_no_dns_and_still_verifies_the_name() {
    let local: SocketAddr = "127.0.0.1:8443".parse().unwrap();
    let wrong = Reply::Certificate(Certificate::Named("other.example.com".to_owned()));
    for (reply, kind) in [(Reply::ok(""), None), (wrong, Some(ErrorKind::HttpTlsFailed))] {
        let mut world = World::answering([reply]);
        world.connect = vec![("api.example.com", 443, local)];
        let seen = world.send(get("https://api.example.com/")).await;
        assert_eq!(seen.kind(), kind);
        assert_eq!((seen.looked_up.len(), seen.dialled), (0, vec![local]));
    }
}

#[tokio::test(start_paused = true)]
async fn names_that_do_not_resolve_say_nothing_about_the_resolver() {
    let many: Vec<_> = (0..33).map(|number| format!("93.184.215.{number}")).collect();
    let many: Vec<_> = many.iter().map(String::as_str).collect();
    for names in [&[][..], &[("api.example.com", &[][..])], &[("api.example.com", &many[..])]] {
        let mut world = World::new();
        world.resolver = FakeResolver::new(names);
        let seen = world.send(get("https://api.example.com/")).await;
        assert_eq!(seen.result.unwrap_err().to_string(), "the host's name could not be resolved");
        assert!(seen.dialled.is_empty());
    }
    let mut world = World::new();
    world.resolver.hangs = true;
    assert_eq!(world.send(get("https://api.example.com/")).await.kind(), Some(ErrorKind::HttpDnsFailed));
}

#[tokio::test(start_paused = true)]
async fn every_request_is_judged_anew() {
    let mut world = World::answering([Reply::ok("")]);
    assert_eq!(world.send(get("https://api.example.com/")).await.kind(), None);
    world.resolver = FakeResolver::new(&[("api.example.com", &["127.0.0.1"])]);
    let seen = world.send(get("https://api.example.com/")).await;
    assert_eq!((seen.kind(), seen.dialled.len()), (Some(ErrorKind::HttpPrivateAddress), 1));
}

#[tokio::test(start_paused = true)]
async fn both_ends_of_a_connection_are_read_back() {
    let world = World::answering([Reply::Elsewhere("10.0.0.9:443".parse().unwrap())]);
    assert_eq!(world.send(get("https://api.example.com/")).await.kind(), Some(ErrorKind::HttpPrivateAddress));
    let mut world = World::answering([Reply::ok("")]);
    world.dialer.local = Some(SocketAddr::new(address(PUBLIC), 50000));
    let seen = world.send(get("https://api.example.com/")).await;
    assert_eq!(seen.kind(), Some(ErrorKind::HttpPrivateAddress));
    assert!(seen.requests.is_empty());
}

#[tokio::test(start_paused = true)]
async fn the_next_address_is_tried_only_when_no_connection_was_made() {
    let two = || FakeResolver::new(&[("api.example.com", &[PUBLIC, "93.184.215.15"])]);
    for (first, kind, dials) in [
        (Reply::Refused, None, 2),
        (Reply::Silent, None, 2),
        (Reply::garbage(), Some(ErrorKind::HttpTlsFailed), 1),
        (
            Reply::Certificate(Certificate::Named("other.example.com".to_owned())),
            Some(ErrorKind::HttpTlsFailed),
            1,
        ),
        (Reply::Certificate(Certificate::Expired), Some(ErrorKind::HttpTlsFailed), 1),
    ] {
        let mut world = World::answering([first, Reply::ok("")]);
        world.resolver = two();
        let seen = world.send(get("https://api.example.com/")).await;
        assert_eq!((seen.kind(), seen.dialled.len()), (kind, dials));
    }
    for (first, second, kind) in [
        (Reply::Refused, Reply::Refused, ErrorKind::HttpConnectFailed),
        (Reply::Silent, Reply::Silent, ErrorKind::HttpTimeout),
    ] {
        let mut world = World::answering([first, second]);
        world.resolver = two();
        assert_eq!(world.send(get("https://api.example.com/")).await.kind(), Some(kind));
    }
}

#[tokio::test(start_paused = true)]
async fn a_dry_run_plans_what_could_change_something_and_sends_the_rest() {
    for (method, sent) in [
        (Method::Get, true),
        (Method::Head, true),
        (Method::Post, false),
        (Method::Put, false),
        (Method::Patch, false),
        (Method::Delete, false),
    ] {
        let mut world = with_key(World::answering([Reply::text("HTTP/1.1 204 No Content\r\n\r\n")]));
        world.dry_run = true;
        let seen =
            world.send(template(method, "https://api.example.com/x").header("Authorization", "{{KEY}}")).await;
        assert_eq!(seen.answer().status, if sent { 204 } else { 202 }, "{method:?}");
        let counts = (seen.looked_up.len(), seen.dialled.len(), seen.secret_reads, seen.plan.len());
        assert_eq!(counts, if sent { (1, 1, 1, 0) } else { (0, 0, 0, 1) }, "{method:?}");
        assert_eq!(seen.records[0].secrets, ["KEY"]);
    }
    let mut world = with_key(World::new());
    world.dry_run = true;
    let template = template(Method::Post, "https://evil.test/");
    assert_eq!(refused(world, template, ErrorKind::HttpHostNotAllowed).await, (0, 0, 0));
}

#[tokio::test(start_paused = true)]
async fn literal_credentials_leave_only_when_that_is_granted() {
    let bearer = || get("https://api.example.com/").header("Authorization", "Bearer literal");
    let counts = refused(World::new(), bearer(), ErrorKind::HttpHeaderNotAllowed).await;
    assert_eq!(counts, (0, 0, 0));
    let mut world = World::answering([Reply::ok("")]);
    world.own_credentials = true;
    assert!(world.send(bearer()).await.requests[0].contains("authorization: Bearer literal\r\n"));
}

#[tokio::test(start_paused = true)]
async fn the_operator_learns_the_fix() {
    for (template, hint) in [
        (get("https://evil.test:8443/"), "does not declare evil.test:8443"),
        (authorized("https://b.example.com/"), "approved for b.example.com"),
    ] {
        let seen = with_key(World::new()).send(template).await;
        assert!(seen.hint.as_deref().is_some_and(|text| text.contains(hint)), "{:?}", seen.hint);
    }
}

/// Pieces of URLs that name a granted host, or seem to.
fn urls() -> impl Strategy<Value = String> {
    let piece = |pieces: &[&'static str]| prop::sample::select(pieces.to_vec());
    (
        piece(&["https://", "HTTPS://", "http://", "https:/", "https:"]),
        piece(&["", "", "", "user@", "evil.test@", "b.example.com\\@"]),
        piece(&[
            "api.example.com",
            "API.example.com",
            "b.example.com",
            "evil.test",
            "127.0.0.1",
            "api.example.com.",
        ]),
        piece(&["", "", ":443", ":8443", ":0443", ".evil.test", "%2e"]),
        piece(&["", "/", "/v1?a=b", "#@evil.test", "?@evil.test", "/\\evil.test"]),
    )
        .prop_map(|(scheme, user, host, port, rest)| format!("{scheme}{user}{host}{port}{rest}"))
}

proptest! {
    /// What is looked up and dialled is the host that was approved; for any other URL, nothing is.
    #[test]
    fn the_name_that_is_dialled_is_the_one_that_was_approved(url in urls()) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        let world = World::answering([Reply::Refused]);
        let seen = runtime.block_on(world.send(get(&url)));
        match crate::egress::approve(&url, &world.granted().http().unwrap().allow) {
            Ok(target) => {
                prop_assert_eq!(seen.looked_up, [target.host()]);
                prop_assert_eq!(seen.dialled, [SocketAddr::new(address(PUBLIC), target.port())]);
                prop_assert_eq!(&seen.records[0].authority, &target.authority());
            }
            Err(refusal) => {
                prop_assert_eq!(seen.kind(), Some(refusal.kind()));
                prop_assert!(seen.looked_up.is_empty() && seen.dialled.is_empty());
            }
        }
    }
}
