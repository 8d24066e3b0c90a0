//! Access tokens at the door of the real program: how a client finds its way, what opens, and that nothing of a token
//! goes any further.

use std::fs::{self, File};

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use remit_upstream::Upstream;
use remit_upstream::issuer::{HOST, ISSUER, Issuer, SigningKey};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::loops_processes::wait_until;
use crate::support::door::{Answered, Door, serve};
use crate::support::home::remit;
use crate::support::world::World;

/// The token that is stored, for the door itself.
const STORED: &str = "0123456789abcdef0123456789abcdef";

/// Stands in a claim, and nowhere else in the world.
const CANARY: &str = "cnry-Yk3vQ9tXz7LmP2sRw5HdB8";

/// A door that takes tokens of one issuer, and a capability behind it that repeats all it gets to know.
pub(crate) struct Stage {
    pub(crate) world: World,
    pub(crate) door: Door,
    pub(crate) key: SigningKey,
    pub(crate) issuer: Upstream,
    _folder: TempDir,
}

impl Stage {
    pub(crate) fn new(more: &str) -> Self {
        let key = SigningKey::es256("k");
        let issuer = Issuer::publishing(&[&key]).serve();
        let folder = tempfile::tempdir().expect("a scratch folder");
        let authority = folder.path().join("ca.pem");
        fs::write(&authority, issuer.authority_pem()).expect("room");
        let settings = format!(
            "[serve]\nurl = \"https://remit.example.com\"\n{more}\n[[serve.issuer]]\nissuer = \"{ISSUER}\"\n\
             [serve.issuer.permissions]\n\"mcp:read\" = [\"probe:read\"]\n[serve.issuer.http]\nca = [{:?}]\n\
             connect = {{ \"{HOST}:443\" = \"{}\" }}\n",
            authority.display().to_string(),
            issuer.address()
        );
        let world = World::with_settings(&settings, crate::support::world::echo).granted();
        let door = Door::of(
            serve("127.0.0.1:0", world.home.path())
                .env("REMIT_TOKEN", STORED)
                .env("REMIT_LOG", "trace,hyper=trace,rustls=trace,rmcp=trace"),
        );
        Self { world, door, key, issuer, _folder: folder }
    }

    pub(crate) fn token(&self, change: impl FnOnce(&mut Value)) -> String {
        let mut claims = json!({
            "iss": ISSUER, "aud": "https://remit.example.com/mcp", "sub": "ada", "scope": "mcp mcp:read",
            "exp": 4_000_000_000_u64, "email": CANARY,
        });
        change(&mut claims);
        self.key.token("ES256", &claims)
    }

    /// Who made the calls so far, newest first, once there are as many as this.
    fn callers(&self, least: usize) -> Vec<String> {
        loop {
            let records = self.world.home.records();
            if records.len() >= least {
                return records.into_iter().map(|record| record.principal).collect();
            }
        }
    }

    /// Calls the capability with this token.
    fn fetch(&self, token: &str) -> Answered {
        let arguments = json!({ "url": "https://api.example.com/" });
        let params = json!({ "name": "probe__fetch", "arguments": arguments });
        self.door.ask(&[&bearer(token)], "tools/call", &params)
    }
}

pub(crate) fn bearer(token: &str) -> String {
    format!("Authorization: Bearer {token}")
}

#[test]
fn a_client_that_knows_nothing_but_the_address_finds_its_way() {
    let stage = Stage::new("");
    let place = "https://remit.example.com/.well-known/oauth-protected-resource/mcp";
    let told = format!("scope=\"mcp:read\", resource_metadata=\"{place}\"");
    let without = stage.door.begin(&[]);
    assert_eq!(without.status, 401);
    assert!(without.head.contains(&format!("www-authenticate: bearer realm=\"remit\", {told}")), "{without:?}");
    let wrong = stage.door.begin(&["Authorization: Bearer wrong"]);
    assert!(wrong.status == 401 && wrong.head.contains("error=\"invalid_token\""), "{wrong:?}");

    for (path, resource) in [
        ("/.well-known/oauth-protected-resource", "https://remit.example.com"),
        ("/.well-known/oauth-protected-resource/mcp", "https://remit.example.com/mcp"),
        ("/.well-known/oauth-protected-resource/mcp/a/b", "https://remit.example.com/mcp/a/b"),
    ] {
        let metadata = stage.door.send("GET", path, &[], "");
        assert_eq!(metadata.status, 200, "{path}");
        assert!(metadata.head.contains("content-type: application/json"), "{metadata:?}");
        let metadata = metadata.json();
        assert_eq!(
            (&metadata["resource"], &metadata["authorization_servers"]),
            (&json!(resource), &json!([ISSUER]))
        );
        assert_eq!(metadata["bearer_methods_supported"], json!(["header"]));
        assert_eq!(metadata["scopes_supported"], json!(["mcp:read"]));
    }
    for path in ["/.well-known/oauth-protected-resource/other", "/.well-known/oauth-authorization-server/mcp"] {
        assert_eq!(stage.door.send("GET", path, &[], "").status, 404, "{path}");
    }
    assert_eq!(stage.door.send("POST", "/.well-known/oauth-protected-resource", &[], "").status, 405);
    assert!(stage.issuer.seen().is_empty(), "nothing of this asks the issuer");

    let answer = stage.fetch(&stage.token(|_| {}));
    assert!(answer.status == 200 && answer.json()["result"]["isError"] == false, "{answer:?}");
    let ada = format!("{ISSUER}#ada");
    assert_eq!(stage.callers(1), std::slice::from_ref(&ada));
    // The name that clients know the door by is answered; others are not.
    let (token, host) = (bearer(&stage.token(|_| {})), "Host: remit.example.com");
    assert_eq!(stage.door.begin(&[&token, host]).status, 200);
    assert_eq!(stage.door.begin(&[&token, "Host: evil.example"]).status, 403);
    let stored = stage.fetch(STORED);
    assert_eq!(stored.status, 200);
    assert_eq!(stage.callers(2), ["http".to_owned(), ada]);
}

#[test]
fn what_is_not_for_this_door_calls_nothing() {
    let stage = Stage::new("required-scope = \"mcp\"");
    let mallory = SigningKey::es256("k");
    let claims =
        json!({ "iss": ISSUER, "aud": "https://remit.example.com/mcp", "sub": "ada", "exp": 4_000_000_000_u64 });
    for (what, status, token) in [
        ("another audience", 401, stage.token(|claims| claims["aud"] = json!("https://other.example.com/mcp"))),
        ("ended", 401, stage.token(|claims| claims["exp"] = json!(1_000_000_000))),
        ("another issuer", 401, stage.token(|claims| claims["iss"] = json!("https://evil.test"))),
        ("another key", 401, mallory.token("ES256", &claims)),
        ("no name", 401, stage.token(|claims| claims["sub"] = json!(null))),
        ("without the scope", 403, stage.token(|claims| claims["scope"] = json!("mcp:read"))),
    ] {
        let answer = stage.fetch(&token);
        assert_eq!(answer.status, status, "{what}: {answer:?}");
        let error = if status == 403 { "insufficient_scope" } else { "invalid_token" };
        assert!(answer.head.contains(&format!("error=\"{error}\"")), "{what}: {answer:?}");
        assert!(answer.head.contains("scope=\"mcp\", resource_metadata=\"https://"), "{what}: {answer:?}");
    }
    let good = stage.token(|_| {});
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" }).to_string();
    for path in [format!("/mcp?access_token={good}"), format!("/mcp?token={good}")] {
        assert_eq!(stage.door.send("POST", &path, &[], &body).status, 401, "in a query");
    }
    let form = format!("access_token={good}");
    let form_type = "Content-Type: application/x-www-form-urlencoded";
    assert_eq!(stage.door.send("POST", "/mcp", &[form_type], &form).status, 401, "in a form");
    let twice = [bearer(&good), bearer(&good)];
    assert_eq!(stage.door.begin(&[&twice[0], &twice[1]]).status, 401, "twice");
    assert!(stage.world.upstream.seen().is_empty());
    assert_eq!(stage.fetch(&good).status, 200);
    assert_eq!(stage.callers(1), [format!("{ISSUER}#ada")], "and nothing before it was a call");
}

#[test]
fn a_session_belongs_to_the_principal_that_began_it() {
    let stage = Stage::new("");
    let ada = bearer(&stage.token(|_| {}));
    let eve = bearer(&stage.token(|claims| claims["sub"] = json!("eve")));
    let renewed = bearer(&stage.token(|claims| claims["exp"] = json!(4_000_000_001_u64)));
    let session = stage.door.begin(&[&ada]).session();
    let list = json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/list" }).to_string();
    let ask = |who: &str| stage.door.send("POST", "/mcp", &[who, &session], &list).status;
    assert_eq!((ask(&ada), ask(&renewed)), (200, 200));
    assert_eq!((ask(&eve), ask(&bearer(STORED))), (404, 404));
    assert_eq!(stage.door.send("DELETE", "/mcp", &[&eve, &session], "").status, 404);
    assert_eq!(stage.door.send("GET", "/mcp", &[&eve, &session], "").status, 404);
    assert_eq!(ask(&ada), 200, "nobody else ended it");
    assert_eq!(stage.door.send("POST", "/mcp", &[&session], &list).status, 401, "an id is no token");
}

#[test]
fn nothing_of_a_token_stays_or_goes_on() {
    let stage = Stage::new("required-scope = \"mcp\"");
    let good = stage.token(|_| {});
    let refused = [
        stage.token(|claims| claims["aud"] = json!("https://other.example.com")),
        stage.token(|claims| claims["scope"] = json!("")),
        SigningKey::es256("k").token("ES256", &json!({ "iss": ISSUER, "email": CANARY })),
    ];
    let mut said = Vec::new();
    let answer = stage.fetch(&good);
    assert!(answer.status == 200 && answer.body.contains("api.example.com"), "{answer:?}");
    said.push(answer);
    // A call that fails, and the session of a client with a handshake.
    let params = json!({ "name": "probe__fetch", "arguments": { "url": "https://evil.test/" } });
    said.push(stage.door.ask(&[&bearer(&good)], "tools/call", &params));
    let session = stage.door.begin(&[&bearer(&good)]).session();
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params }).to_string();
    said.push(stage.door.send("POST", "/mcp", &[&bearer(&good), &session], &call));
    said.extend(refused.iter().map(|token| stage.fetch(token)));
    let home = stage.world.home.path();
    let records = || remit(home, &["audit", "--limit", "1000", "--json"], "");
    // The record of a call that changes nothing may come a moment after its answer.
    let of_ada = format!("{ISSUER}#ada");
    wait_until(|| records().stdout.matches(&of_ada).count() >= 2, || format!("{:?}", records()));
    let audit = records();

    let mut places: Vec<(String, Vec<u8>)> = files(home);
    places.push(("the log".to_owned(), stage.door.said()));
    places.push(("the records".to_owned(), audit.stdout.into_bytes()));
    places.extend(said.iter().map(|answer| ("an answer".to_owned(), format!("{answer:?}").into_bytes())));
    for (who, seen) in [("the upstream", stage.world.upstream.seen()), ("the issuer", stage.issuer.seen())] {
        assert!(!seen.is_empty(), "{who} was asked");
        places.extend(seen.iter().map(|seen| (who.to_owned(), format!("{seen:?}").into_bytes())));
    }
    for part in ["remit.db", "the log"] {
        assert!(places.iter().any(|(name, bytes)| name.contains(part) && !bytes.is_empty()), "{part} is searched");
    }
    let log = String::from_utf8_lossy(&stage.door.said()).into_owned();
    assert!(log.contains("an access token was refused"), "the log is talkative: {log:.2000}");
    let mut traces = vec![CANARY.to_owned(), BASE64_URL_SAFE_NO_PAD.encode(CANARY)];
    for token in refused.iter().chain([&good]) {
        traces.extend(token.split('.').skip(1).map(str::to_owned));
    }
    for (name, bytes) in &places {
        for trace in &traces {
            let is_there = bytes.windows(trace.len()).any(|window| window == trace.as_bytes());
            assert!(!is_there, "{name} holds {trace:.20}");
        }
    }
}

/// Every file below a folder, with what is in it.
fn files(folder: &std::path::Path) -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path()) {
        if entry.is_dir() {
            found.extend(files(&entry));
        } else {
            found.push((entry.display().to_string(), fs::read(&entry).expect("a file")));
        }
    }
    found
}

#[test]
fn a_door_without_a_token_takes_none_either() {
    let home = tempfile::tempdir().expect("a scratch folder");
    let settings =
        format!("[serve]\nurl = \"https://remit.example.com\"\n[[serve.issuer]]\nissuer = \"{ISSUER}\"\n");
    fs::write(home.path().join("remit.toml"), settings).expect("room");
    let log = File::create(home.path().join("log")).expect("room");
    let ended = serve("127.0.0.1:0", home.path()).arg("--no-token").stderr(log).status().expect("it ends");
    assert_eq!(ended.code(), Some(2));
    let said = fs::read_to_string(home.path().join("log")).expect("a log");
    assert!(said.contains("clients need a token") && said.contains("leave `--no-token` out"), "{said}");
}
