//! Tokens against an issuer on loopback, over TLS: what is fetched, when, and what is refused meanwhile.

use std::time::Duration;

use remit_upstream::issuer::{self, HOST, ISSUER, Issuer as Published, KEYS, METADATA, SigningKey};
use remit_upstream::{Answer, Gate, Upstream};
use serde_json::{Value, json};

use super::*;
use crate::config::{Config, HttpExceptions, IssuerConfig};
use crate::egress::Outside;
use crate::policy::Authority;

const MCP: &str = "/mcp";
const NOW: u64 = 1_800_000_000;

/// A door that takes tokens of one issuer, and the issuer.
struct Stage {
    published: Published,
    upstream: Upstream,
    clock: Arc<Clock>,
    issuers: Issuers,
    _folder: tempfile::TempDir,
}

impl Stage {
    fn new(keys: &[&SigningKey]) -> Self {
        Self::with(keys, |_| {})
    }

    fn with(keys: &[&SigningKey], change: impl FnOnce(&mut ServeConfig)) -> Self {
        let published = Published::publishing(keys);
        let upstream = published.serve();
        let folder = tempfile::tempdir().unwrap();
        let authority = folder.path().join("ca.pem");
        std::fs::write(&authority, upstream.authority_pem()).unwrap();
        let http = HttpExceptions {
            ca: vec![authority],
            connect: [(format!("{HOST}:443"), upstream.address())].into(),
            ..HttpExceptions::default()
        };
        let permissions = [("mcp:read".to_owned(), vec!["weather:read".to_owned()])].into();
        let settings = IssuerConfig { issuer: ISSUER.to_owned(), permissions, http, ..IssuerConfig::default() };
        let url = Some("https://remit.example.com".to_owned());
        let mut serve = ServeConfig { url, issuer: vec![settings], ..ServeConfig::default() };
        change(&mut serve);
        let config = Config { serve, ..Config::default() };
        let clock = Arc::new(Clock::manual(Duration::from_secs(NOW)));
        let own = Own::configured(&config, &Outside::system()).unwrap();
        let issuers = Issuers::configured(&config.serve, own, Arc::clone(&clock)).unwrap();
        Self { published, upstream, clock, issuers, _folder: folder }
    }

    /// How often its keys were asked for.
    fn fetched(&self) -> usize {
        self.upstream.seen().iter().filter(|seen| seen.path == KEYS).count()
    }

    async fn verify(&self, token: &str) -> Result<Identity, Refusal> {
        self.issuers.verify(token, MCP).await.map(|verified| verified.identity)
    }

    fn pass(&self, seconds: u64) {
        self.clock.advance(Duration::from_secs(seconds));
    }

    /// Waits until the issuer has been asked for its keys so often. An attempt behind the scenes has no other end
    /// that a test could see.
    async fn until_fetched(&self, times: usize) {
        while self.fetched() < times {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }
}

fn claims() -> Value {
    claims_of("ada")
}

fn claims_of(sub: &str) -> Value {
    json!({
        "iss": ISSUER, "aud": "https://remit.example.com/mcp", "sub": sub, "scope": "mcp:read",
        "iat": NOW, "exp": NOW + 100_000,
    })
}

fn invalid<T: std::fmt::Debug>(result: Result<T, Refusal>) -> &'static str {
    match result {
        Err(Refusal::Invalid(why)) => why,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn every_algorithm_that_is_taken_opens() {
    let keys = [SigningKey::rsa("r"), SigningKey::es256("e"), SigningKey::ed25519("d")];
    let stage = Stage::new(&[&keys[0], &keys[1], &keys[2]]);
    for key in &keys {
        for algorithm in key.algorithms() {
            let identity = stage.verify(&key.token(algorithm, &claims())).await.unwrap();
            assert_eq!(identity.principal, format!("{ISSUER}#ada"));
            assert_eq!(identity.authority, Authority::Token(vec!["weather:read".to_owned()]));
        }
    }
    let paths: Vec<_> = stage.upstream.seen().into_iter().map(|seen| seen.path).collect();
    assert_eq!(paths, [METADATA, KEYS], "once for all");
    assert!(
        stage.upstream.seen().iter().all(|seen| seen.header("authorization").is_none()),
        "no token goes along"
    );
}

#[tokio::test]
async fn forged_tokens_are_refused_and_lead_nowhere() {
    let (key, mallory) = (SigningKey::rsa("k"), SigningKey::es256("k"));
    let stage = Stage::new(&[&key]);
    assert!(stage.verify(&key.token("RS256", &claims())).await.is_ok());
    let (text, jwk) = (claims().to_string(), key.jwk());
    let header = |header: &Value| header.to_string();
    let none = issuer::unsigned(&header(&json!({ "alg": "none" })), &text);
    let public = jwk.to_string();
    let secret = header(&json!({ "alg": "HS256", "kid": "k" }));
    let embedded = header(&json!({ "alg": "ES256", "jwk": mallory.jwk() }));
    let elsewhere = header(&json!({
        "alg": "ES256", "kid": "k", "jku": "https://evil.test/keys", "x5u": "https://evil.test/x",
    }));
    let good = key.token("RS256", &claims());
    let (signed, signature) = good.rsplit_once('.').unwrap();
    let other = issuer::unsigned(&header(&json!({ "alg": "RS256", "kid": "k" })), &claims_of("root").to_string());
    let twice = format!("{{\"sub\":\"root\",{}", &text[1..]);
    for (what, token) in [
        ("no signature", format!("{none}.")),
        ("no signature, and no dot", none.clone()),
        ("somebody's signature, and none", format!("{none}.{signature}")),
        ("a cut signature", format!("{signed}.")),
        ("a shared secret: the key as it is published", issuer::with_secret(public.as_bytes(), &secret, &text)),
        (
            "a shared secret: the modulus",
            issuer::with_secret(jwk["n"].as_str().unwrap().as_bytes(), &secret, &text),
        ),
        ("a shared secret: nothing", issuer::with_secret(b"", &secret, &text)),
        ("a key in the token", mallory.token_with("ES256", &embedded, &text)),
        ("a key somewhere else", mallory.token_with("ES256", &elsewhere, &text)),
        ("a key of the same name", mallory.token("ES256", &claims())),
        ("a signature of other claims", format!("{other}.{signature}")),
        ("a name twice", key.token_with("RS256", &header(&json!({ "alg": "RS256", "kid": "k" })), &twice)),
        (
            "another algorithm's name",
            key.token_with("RS256", &header(&json!({ "alg": "PS256", "kid": "k" })), &text),
        ),
        ("another issuer", key.token("RS256", &json!({ "iss": "https://evil.test", "sub": "ada" }))),
        ("a huge one", format!("{good}{}", "A".repeat(1_000_000))),
        ("nothing", String::new()),
    ] {
        assert!(matches!(stage.verify(&token).await, Err(Refusal::Invalid(_))), "{what}");
    }
    assert_eq!(stage.upstream.seen().len(), 2, "whatever a token names, nothing is asked for it");
}

#[tokio::test]
async fn what_is_for_others_or_not_for_now_is_refused() {
    let key = SigningKey::es256("k");
    let stage = Stage::new(&[&key]);
    for (name, value, why) in [
        ("aud", json!("https://other.example.com/mcp"), "it is for another audience"),
        ("exp", json!(NOW - 31), "it has ended"),
        ("nbf", json!(NOW + 31), "it is not valid yet"),
    ] {
        let mut changed = claims();
        changed[name] = value;
        assert_eq!(invalid(stage.verify(&key.token("ES256", &changed)).await), why);
    }
    let token = key.token("ES256", &claims());
    assert!(stage.verify(&token).await.is_ok());
    assert_eq!(invalid(stage.issuers.verify(&token, "/mcp/acme/weather").await), "it is for another audience");
    let mut door = claims();
    door["aud"] = json!("https://remit.example.com/");
    assert!(stage.issuers.verify(&key.token("ES256", &door), "/mcp/acme/weather").await.is_ok());
    let verified = stage.issuers.verify(&token, MCP).await.unwrap();
    stage.pass(100_029);
    assert!(!stage.issuers.has_ended(&verified));
    stage.pass(1);
    assert!(stage.issuers.has_ended(&verified));
    assert_eq!(invalid(stage.verify(&token).await), "it has ended");
}

#[tokio::test]
async fn a_demanded_scope_is_demanded_of_valid_tokens() {
    let key = SigningKey::es256("k");
    let stage = Stage::with(&[&key], |serve| serve.required_scope = Some("mcp".to_owned()));
    let with = |scope: &str| {
        let mut claims = claims();
        claims["scope"] = json!(scope);
        key.token("ES256", &claims)
    };
    assert!(stage.verify(&with("openid mcp")).await.is_ok());
    for scope in ["", "mcp:read", "MCP", "xmcp"] {
        assert_eq!(stage.verify(&with(scope)).await, Err(Refusal::InsufficientScope), "{scope}");
    }
    let mut ended = claims();
    ended["exp"] = json!(1);
    assert_eq!(invalid(stage.verify(&key.token("ES256", &ended)).await), "it has ended");
}

#[tokio::test]
async fn the_same_name_at_two_issuers_is_two_principals() {
    let (ours, theirs) = (SigningKey::es256("k"), SigningKey::es256("k"));
    let other = "https://login.example.com/other";
    let stage = Stage::with(&[&ours], |serve| {
        let second = IssuerConfig {
            issuer: other.to_owned(),
            jwks: Some(format!("{ISSUER}/other/keys")),
            ..serve.issuer[0].clone()
        };
        serve.issuer.push(second);
    });
    stage.published.put("/other/keys", Answer::json(200, &json!({ "keys": [theirs.jwk()] })));
    let mut elsewhere = claims();
    elsewhere["iss"] = json!(other);
    let here = stage.verify(&ours.token("ES256", &claims())).await.unwrap();
    let there = stage.verify(&theirs.token("ES256", &elsewhere)).await.unwrap();
    assert_ne!(here.principal, there.principal);
    // Neither speaks for the other, though both keys have one name.
    assert!(stage.verify(&theirs.token("ES256", &claims())).await.is_err());
    assert!(stage.verify(&ours.token("ES256", &elsewhere)).await.is_err());
}

#[tokio::test]
async fn rotated_keys_are_fetched_for_a_name_that_is_new_and_once_a_minute_at_most() {
    let (old, new) = (SigningKey::es256("old"), SigningKey::es256("new"));
    let stage = Stage::new(&[&old]);
    assert!(stage.verify(&old.token("ES256", &claims())).await.is_ok());
    // Names that nobody gave do not drive the issuer, in that minute or in the next.
    for minute in 1..=2 {
        for attempt in 0..20 {
            let made_up = SigningKey::es256(&format!("made-up-{attempt}"));
            assert_eq!(invalid(stage.verify(&made_up.token("ES256", &claims())).await), "its key is not known");
        }
        assert_eq!(stage.fetched(), minute);
        stage.pass(60);
    }
    stage.published.publish(&[&old, &new]);
    assert!(stage.verify(&new.token("ES256", &claims())).await.is_ok(), "at once");
    assert!(stage.verify(&old.token("ES256", &claims())).await.is_ok());
    assert_eq!(stage.fetched(), 3);
    // A key that is withdrawn counts no longer than ten minutes.
    stage.published.publish(&[&new]);
    stage.pass(599);
    assert!(stage.verify(&old.token("ES256", &claims())).await.is_ok());
    assert_eq!(stage.fetched(), 3);
    stage.pass(1);
    assert!(stage.verify(&old.token("ES256", &claims())).await.is_ok(), "the last time, and behind it keys come");
    stage.until_fetched(4).await;
    while stage.verify(&old.token("ES256", &claims())).await.is_ok() {
        tokio::task::yield_now().await;
    }
    assert!(stage.verify(&new.token("ES256", &claims())).await.is_ok());
}

#[tokio::test]
async fn an_issuer_that_is_down_is_served_for_by_its_last_good_keys_for_some_hours() {
    let key = SigningKey::es256("k");
    let stage = Stage::new(&[&key]);
    let token = key.token("ES256", &claims());
    assert!(stage.verify(&token).await.is_ok());
    for (round, broken) in [
        Answer::new(503, "text/plain", "down"),
        Answer::new(200, "text/html", "<html>sign in</html>"),
        Answer::json(200, &json!({ "keys": [] })),
        Answer::json(200, &json!({ "keys": [{ "kty": "oct", "kid": "k", "k": "c2VjcmV0" }] })),
        Answer::new(200, "application/json", " ".repeat(100_000)),
        Answer::new(404, "text/plain", "gone"),
    ]
    .into_iter()
    .enumerate()
    {
        stage.published.put(KEYS, broken);
        stage.pass(600);
        assert!(stage.verify(&token).await.is_ok(), "{round}");
        stage.until_fetched(round + 2).await;
        assert!(stage.verify(&token).await.is_ok(), "{round}");
    }
    stage.pass(4 * 60 * 60);
    assert_eq!(stage.verify(&token).await, Err(Refusal::Unavailable));
    let asked = stage.fetched();
    assert_eq!(stage.verify(&token).await, Err(Refusal::Unavailable));
    assert_eq!(stage.fetched(), asked, "it is left alone for a minute");
    stage.published.publish(&[&key]);
    stage.pass(60);
    assert!(stage.verify(&token).await.is_ok());
}

#[tokio::test]
async fn an_issuer_is_believed_about_itself_alone_and_sends_nobody_elsewhere() {
    let key = SigningKey::es256("k");
    let token = key.token("ES256", &claims());
    let evil = json!({ "issuer": ISSUER, "jwks_uri": "https://evil.test/keys" });
    let plain = json!({ "issuer": ISSUER, "jwks_uri": format!("http://{HOST}{KEYS}") });
    let inside = json!({ "issuer": ISSUER, "jwks_uri": "https://169.254.169.254/keys" });
    let to = |place: &str| Answer::new(302, "text/plain", "").header("location", place);
    for (what, path, answer) in [
        ("metadata of another issuer", METADATA, Answer::json(200, &issuer::metadata("https://evil.test"))),
        ("metadata with a slash more", METADATA, Answer::json(200, &issuer::metadata(&format!("{ISSUER}/")))),
        ("keys without TLS", METADATA, Answer::json(200, &plain)),
        ("keys at an address", METADATA, Answer::json(200, &inside)),
        ("metadata that moved", METADATA, to(&format!("{ISSUER}/moved"))),
        ("keys that moved", KEYS, to(&format!("{ISSUER}/moved"))),
        ("keys that moved to another host", KEYS, to("https://evil.test/keys")),
    ] {
        let stage = Stage::new(&[&key]);
        let keys = stage.published.answer(&remit_upstream::Seen {
            method: "GET".to_owned(),
            path: KEYS.to_owned(),
            headers: Vec::new(),
            body: Vec::new(),
        });
        stage.published.put("/moved", keys);
        stage.published.put(path, answer);
        assert_eq!(stage.verify(&token).await, Err(Refusal::Unavailable), "{what}");
        assert!(stage.upstream.seen().iter().all(|seen| seen.path != "/moved"), "{what}");
    }
    // Another host for the keys is the issuer's right; it is judged like any endpoint, and here it does not exist.
    let stage = Stage::new(&[&key]);
    stage.published.put(METADATA, Answer::json(200, &evil));
    assert_eq!(stage.verify(&token).await, Err(Refusal::Unavailable));
    assert_eq!(stage.fetched(), 0);
    // OpenID Connect's place is looked at when RFC 8414's is empty, and only then.
    let stage = Stage::new(&[&key]);
    stage.published.remove(METADATA);
    stage.published.put("/.well-known/openid-configuration", Answer::json(200, &issuer::metadata(ISSUER)));
    assert!(stage.verify(&token).await.is_ok());
}

#[tokio::test]
async fn an_issuer_that_hangs_is_waited_for_a_moment_and_by_nobody_who_has_keys() {
    let key = SigningKey::es256("k");
    let (token, gate) = (key.token("ES256", &claims()), Gate::closed());
    let stage = Stage::new(&[&key]);
    assert!(stage.verify(&token).await.is_ok());
    let hanging = Answer::json(200, &json!({ "keys": [key.jwk(), SigningKey::ed25519("x").jwk()] })).behind(&gate);
    stage.published.put(KEYS, hanging);
    stage.pass(600);
    let unknown = SigningKey::es256("unknown").token("ES256", &claims());
    let waits = stage.verify(&unknown);
    let goes_on = async {
        stage.until_fetched(2).await;
        // The clock of these is real: they would have to wait for as long as the other.
        for _ in 0..10 {
            assert!(stage.verify(&token).await.is_ok());
        }
        gate.open();
    };
    let (waited, ()) = tokio::join!(waits, goes_on);
    assert_eq!(invalid(waited), "its key is not known");
    assert_eq!(stage.fetched(), 2);
}

#[tokio::test]
async fn nothing_is_taken_where_no_issuer_or_no_address_is_configured() {
    let own = || Own::configured(&Config::default(), &Outside::system()).unwrap();
    let clock = || Arc::new(Clock::system());
    let issuer = IssuerConfig { issuer: ISSUER.to_owned(), ..IssuerConfig::default() };
    let url = Some("https://remit.example.com".to_owned());
    let none = ServeConfig { url: url.clone(), ..ServeConfig::default() };
    assert!(Issuers::configured(&none, own(), clock()).is_none());
    let nameless = ServeConfig { issuer: vec![issuer.clone()], ..ServeConfig::default() };
    assert!(Issuers::configured(&nameless, own(), clock()).is_none());
    let both = ServeConfig { url, issuer: vec![issuer], ..ServeConfig::default() };
    assert!(Issuers::configured(&both, own(), clock()).is_some());
}
