//! The host's own requests go to one endpoint, by the same steps as a guest's.

use std::sync::Mutex;

use super::*;
use crate::config::{HttpExceptions, SecretConfig};
use crate::egress::{Endpoint, Outside, Own, Unreached};

const URL: &str = "https://api.example.com/token";

fn config(http: HttpExceptions) -> Config {
    Config { secret: BTreeMap::from([("TOKEN".to_owned(), SecretConfig { http })]), ..Config::default() }
}

/// What became of a request for the connection `TOKEN`, and of its record.
async fn ask(
    world: &World,
    url: &str,
    http: HttpExceptions,
) -> (Result<http::Response<Vec<u8>>, Unreached>, RequestRecord) {
    let outside = Outside { resolver: Arc::new(world.resolver.clone()), dialer: Arc::new(world.dialer.clone()) };
    let own = Own::configured(&config(http), &outside).unwrap();
    let request = http::Request::post(url).header("authorization", "Basic YTpi").body(b"a=b".to_vec()).unwrap();
    let record = Mutex::new(Endpoint::record(URL, "TOKEN"));
    let result = own.send("TOKEN", URL, request, &record).await;
    (result, record.into_inner().unwrap())
}

#[tokio::test(start_paused = true)]
async fn a_private_address_is_not_dialled_unless_it_is_excepted_for_this_secret() {
    let mut world = World::answering([Reply::ok("{}")]);
    world.resolver = FakeResolver::new(&[("api.example.com", &[PUBLIC, "10.0.0.5"])]);
    let (refused, record) = ask(&world, URL, HttpExceptions::default()).await;
    let refused = refused.unwrap_err();
    assert_eq!(refused.kind, ErrorKind::HttpPrivateAddress);
    assert!(refused.hint.unwrap().contains("`[secret.\"TOKEN\".http]`"));
    assert_eq!(record.address.as_deref(), Some("10.0.0.5"));
    assert!(world.dialer.calls().is_empty());
}

#[tokio::test(start_paused = true)]
async fn no_other_host_is_asked_whatever_the_request_says() {
    for url in
        ["https://b.example.com/token", "https://api.example.com:8443/token", "http://api.example.com/token"]
    {
        let world = World::new();
        let (refused, record) = ask(&world, url, HttpExceptions::default()).await;
        assert!(refused.is_err(), "{url}");
        assert!(world.resolver.calls().is_empty() && world.dialer.calls().is_empty(), "{url}");
        assert!(record.own && record.status.is_none());
    }
}

#[test]
fn an_endpoint_is_a_public_name_over_https() {
    assert!(Endpoint::new("https://login.example.com/oauth/token?x=1").is_ok());
    for url in [
        "",
        "/token",
        "http://login.example.com/token",
        "https://LOGIN.internal/token",
        "https://localhost:8443/token",
        "https://10.0.0.5/token",
        "https://[::1]/token",
        "https://a@login.example.com/token",
        "https://login.example.com:5432/token",
        "https://login.example.com\\@evil.test/token",
        "data:text/plain,x",
    ] {
        assert!(Endpoint::new(url).is_err(), "{url}");
    }
}
