//! A redirect starts again at the top, with what the guest wrote.

use super::*;

const START: &str = "https://api.example.com/start";

#[tokio::test(start_paused = true)]
async fn a_redirect_to_a_granted_host_is_followed_and_judged_again() {
    for location in
        ["https://api.example.com/next", "/next", "//api.example.com/next", "https://b.example.com/next"]
    {
        let world = World::answering([Reply::redirect(302, location), Reply::ok("there")]);
        let seen = world.send(get(START)).await;
        assert_eq!(seen.answer().body, b"there", "{location}");
        assert_eq!((seen.looked_up.len(), seen.dialled.len(), seen.records.len()), (2, 2, 2));
        assert!(seen.requests[1].starts_with("GET /next HTTP/1.1\r\n"));
        assert_eq!(seen.outcomes(), ["sent", "sent"]);
        assert_eq!((seen.records[0].status, seen.records[1].path.as_str()), (Some(302), "/next"));
    }
}

#[tokio::test(start_paused = true)]
async fn a_redirect_to_anywhere_else_ends_there() {
    for (location, kind) in [
        ("http://api.example.com/next", ErrorKind::HttpSchemeNotAllowed),
        ("ftp://api.example.com/", ErrorKind::HttpSchemeNotAllowed),
        ("javascript:alert(1)", ErrorKind::HttpSchemeNotAllowed),
        ("https://169.254.169.254/", ErrorKind::HttpIpLiteralNotAllowed),
        ("//evil.test/x", ErrorKind::HttpHostNotAllowed),
        ("https://api.example.com:8443/", ErrorKind::HttpPortNotAllowed),
        ("https://user:p@api.example.com/", ErrorKind::HttpUserinfoNotAllowed),
        ("https:api.example.com", ErrorKind::HttpInvalidUrl),
    ] {
        let seen = World::answering([Reply::redirect(302, location)]).send(get(START)).await;
        assert_eq!(seen.kind(), Some(kind), "{location}");
        assert_eq!(seen.outcomes(), ["sent", kind.code()], "{location}");
        assert_eq!((seen.looked_up.len(), seen.dialled.len()), (1, 1), "{location}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_redirect_to_a_private_address_is_refused() {
    let mut world = World::answering([Reply::redirect(302, "https://b.example.com/")]);
    world.resolver = FakeResolver::new(&[("api.example.com", &[PUBLIC]), ("b.example.com", &["10.0.0.5"])]);
    let seen = world.send(get(START)).await;
    assert_eq!(seen.kind(), Some(ErrorKind::HttpPrivateAddress));
    assert_eq!((seen.looked_up.len(), seen.dialled.len()), (2, 1));
}

#[tokio::test(start_paused = true)]
async fn a_redirect_without_a_location_is_an_answer() {
    let reply = Reply::text("HTTP/1.1 302 Found\r\ncontent-length: 2\r\n\r\nhi");
    let seen = World::answering([reply]).send(get(START)).await;
    assert_eq!((seen.answer().status, seen.answer().body.as_slice()), (302, b"hi".as_slice()));
}

#[tokio::test(start_paused = true)]
async fn refresh_is_not_followed() {
    let reply = Reply::text("HTTP/1.1 200 OK\r\nrefresh: 0;url=https://evil.test\r\ncontent-length: 0\r\n\r\n");
    let seen = World::answering([reply]).send(get(START)).await;
    assert_eq!((seen.answer().status, seen.dialled.len()), (200, 1));
}

#[tokio::test(start_paused = true)]
async fn redirects_come_to_an_end() {
    let world = World::answering(std::iter::repeat_n(Reply::redirect(302, "/again"), 10));
    let seen = world.send(get(START)).await;
    assert_eq!(seen.kind(), Some(ErrorKind::HttpRedirectRefused));
    assert_eq!(seen.records.len(), 4);
}

#[tokio::test(start_paused = true)]
async fn each_hop_is_a_request_of_the_budget() {
    let mut world = World::answering(std::iter::repeat_n(Reply::redirect(302, "/again"), 10));
    world.budget = 2;
    let seen = world.send(get(START)).await;
    assert_eq!(seen.kind(), Some(ErrorKind::Egress));
    assert_eq!(seen.outcomes(), ["sent", "sent", "budget/egress"]);
    assert_eq!(seen.dialled.len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_post_becomes_a_get_where_the_standard_says_so() {
    for (status, line, body) in [(303, "GET", ""), (302, "GET", ""), (307, "POST", "x"), (308, "POST", "x")] {
        let world = World::answering([Reply::redirect(status, "/next"), Reply::ok("")]);
        let seen = world.send(template(Method::Post, START).body("x")).await;
        assert!(seen.requests[1].starts_with(line), "{status}");
        assert!(seen.requests[1].ends_with(&format!("\r\n\r\n{body}")), "{status}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_secret_in_a_field_crosses_only_to_a_host_it_is_approved_for() {
    let here = ("api.example.com", header("x-api-key"));
    let there = ("b.example.com", header("x-api-key"));
    for (approvals, crosses) in [(vec![here.clone()], false), (vec![here, there], true)] {
        let world = World::answering([Reply::redirect(302, "https://b.example.com/x"), Reply::ok("")]);
        let world = world.with_secret("KEY", &approvals);
        let seen = world.send(get(START).header("X-Api-Key", "{{KEY}}")).await;
        assert_eq!(seen.answer().status, 200);
        assert!(seen.requests[0].contains(VALUE));
        assert_eq!(seen.requests[1].contains(VALUE), crosses);
        assert_eq!(seen.requests[1].contains("x-api-key"), crosses);
    }
}

#[tokio::test(start_paused = true)]
async fn a_secret_in_a_body_crosses_only_to_a_host_it_is_approved_for() {
    let here = ("api.example.com", Place::Body);
    let there = ("b.example.com", Place::Body);
    for (approvals, kind) in [(vec![here.clone()], Some(ErrorKind::SecretNotAvailable)), (vec![here, there], None)]
    {
        let world = World::answering([Reply::redirect(307, "https://b.example.com/x"), Reply::ok("")]);
        let world = world.with_secret("KEY", &approvals);
        let template = template(Method::Post, START).header("Content-Type", "application/json");
        let seen = world.send(template.body(r#"{"k":"{{KEY}}"}"#)).await;
        assert_eq!(seen.kind(), kind);
        assert_eq!(seen.requests.len(), if kind.is_some() { 1 } else { 2 });
        assert_eq!(seen.looked_up.len(), seen.requests.len());
    }
}

#[tokio::test(start_paused = true)]
async fn literal_credentials_do_not_cross() {
    for (location, kept) in [("/next", true), ("https://b.example.com/next", false)] {
        let mut world = World::answering([Reply::redirect(302, location), Reply::ok("")]);
        world.own_credentials = true;
        let seen = world.send(get(START).header("Authorization", "Bearer literal").header("X-A", "b")).await;
        assert_eq!(seen.requests[1].contains("Bearer literal"), kept, "{location}");
        assert!(seen.requests[1].contains("x-a: b"), "{location}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_location_that_holds_a_secret_is_not_followed() {
    let world = World::answering([Reply::redirect(302, &format!("/next?key={VALUE}"))]);
    let world = world.with_secret("KEY", &[("api.example.com", header("authorization"))]);
    let seen = world.send(get(START).header("Authorization", "{{KEY}}")).await;
    assert_eq!(seen.kind(), Some(ErrorKind::HttpRedirectRefused));
    assert!(!format!("{:?} {:?}", seen.records, seen.result).contains(VALUE));
}
