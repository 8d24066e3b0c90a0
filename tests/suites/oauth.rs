//! Connections to accounts by OAuth 2, as people make them, guests use them and authorization servers break them:
//! a token is asked for when it is needed and allowed, once however many want it, and no token, code or client
//! secret gets to a guest, a record or a file.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::prelude::{BASE64_STANDARD, BASE64_STANDARD_NO_PAD, BASE64_URL_SAFE};
use remit::call::{Failure, Reply};
use remit::policy::{Approval, Place};
use remit_upstream::oauth::{CLIENT, CLIENT_SECRET, HOST as LOGIN, Misbehaviour, Server};
use remit_upstream::{Answer, Seen, Upstream};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::support::home::{Ended, program, remit, request};
use crate::support::world::{HOST, World};

const TOKEN_URL: &str = "https://login.example.com/token";
const AUTH_URL: &str = "https://login.example.com/authorize?tenant=1";

/// A home whose `test/probe` may send the secret `TOKEN`, an upstream that echoes it, and the server that gives it.
struct Account {
    world: World,
    server: Server,
    _login: Upstream,
    _scratch: tempfile::TempDir,
}

impl Account {
    fn new() -> Self {
        Self::with_settings("")
    }

    fn with_settings(more: &str) -> Self {
        let server = Server::default();
        server.lifetime(Some(3600));
        let answering = server.clone();
        let login = Upstream::start(&[LOGIN], move |seen| answering.answer(seen));
        let scratch = tempfile::tempdir().expect("a scratch folder");
        let authority = scratch.path().join("login.pem");
        std::fs::write(&authority, login.authority_pem()).expect("room");
        let settings = format!(
            "{more}\n[secret.TOKEN.http]\nca = [{:?}]\nconnect = {{ \"{LOGIN}:443\" = \"{}\" }}\n",
            authority.display().to_string(),
            login.address()
        );
        let world = World::with_settings(&settings, echo).granted();
        Self { world, server, _login: login, _scratch: scratch }
    }

    fn approved(self) -> Self {
        let approval = Approval {
            secret: "API_KEY".to_owned(),
            source: "TOKEN".to_owned(),
            host: HOST.to_owned(),
            port: 443,
            place: Place::Header("authorization".to_owned()),
            expires_at: None,
        };
        let admin = self.world.home.app.admin();
        admin.approve(&"test/probe".parse().expect("a name"), &[approval]).expect("within the manifest");
        self
    }

    /// Connected for a client that speaks for itself, with a token that ends after so many seconds.
    fn by_client(self, seconds: Option<u64>) -> Self {
        self.server.lifetime(seconds);
        let ended = self.connect_client(&[]);
        assert_eq!(ended.exit, Some(0), "{ended:?}");
        self.server.lifetime(Some(3600));
        self
    }

    /// Connected by somebody in a browser, with a token that ends after so many seconds.
    fn by_consent(self, seconds: Option<u64>) -> Self {
        self.server.lifetime(seconds);
        let (ended, _) = self.browse(&[], |url| vec![self.server.authorize(url)]);
        assert_eq!(ended.exit, Some(0), "{ended:?}");
        self.server.lifetime(Some(3600));
        self
    }

    fn connect_client(&self, more: &[&str]) -> Ended {
        let always = ["secret", "connect", "TOKEN", "--token-url", TOKEN_URL, "--client-id", CLIENT];
        let client = ["--client-credentials", "--client-secret", "--json"];
        remit(self.world.home.path(), &[&always[..], &client, more].concat(), CLIENT_SECRET)
    }

    /// Runs `connect`, visits what `browser` makes of the address that it prints, and gives what it was answered.
    fn browse(&self, more: &[&str], browser: impl FnOnce(&str) -> Vec<String>) -> (Ended, Vec<String>) {
        let new = ["--token-url", TOKEN_URL, "--auth-url", AUTH_URL, "--client-id", CLIENT, "--scope", "read"];
        self.browse_with(&[&new[..], more].concat(), browser)
    }

    fn browse_with(&self, more: &[&str], browser: impl FnOnce(&str) -> Vec<String>) -> (Ended, Vec<String>) {
        let arguments = [&["secret", "connect", "TOKEN", "--no-browser"], more].concat();
        let mut child = Command::new(program())
            .args(arguments)
            .env("REMIT_HOME", self.world.home.path())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("remit starts");
        let mut stderr = BufReader::new(child.stderr.take().expect("a pipe"));
        let (mut said, url) = read_address(&mut stderr);
        let answers = match url {
            Some(url) => browser(&url).iter().map(|url| visit(url)).collect(),
            None => Vec::new(),
        };
        stderr.read_to_string(&mut said).expect("text");
        (ended(child, said), answers)
    }

    fn fetch(&self) -> Result<Reply, Failure> {
        self.world.fetch(&with_token("/"))
    }

    /// The `authorization` fields that the upstream got.
    fn sent(&self) -> Vec<String> {
        let seen = self.world.upstream.seen().into_iter();
        seen.map(|seen| seen.header("authorization").unwrap_or_default().to_owned()).collect()
    }

    /// Every value that must stay hidden, so far, in the common spellings.
    fn hidden(&self) -> Vec<String> {
        let issued = self.server.issued();
        issued.iter().map(String::as_str).chain([CLIENT_SECRET]).flat_map(spellings).collect()
    }

    /// Fails when a hidden value is in `text`.
    fn assert_clean(&self, what: &str, text: &[u8]) {
        self.assert_all_clean([(what.to_owned(), text.to_vec())]);
    }

    fn assert_all_clean(&self, texts: impl IntoIterator<Item = (String, Vec<u8>)>) {
        let hidden = self.hidden();
        let finder = aho_corasick::AhoCorasick::new(&hidden).expect("a finder");
        for (what, text) in texts {
            let found = finder.find(&text).map(|found| &hidden[found.pattern().as_usize()]);
            assert_eq!(found, None, "in {what}");
        }
    }

    /// Looks for hidden values in everything that the home holds.
    fn assert_home_is_clean(&self) {
        self.world.home.app.shutdown();
        let mut files = Vec::new();
        let mut folders = vec![self.world.home.path().to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).expect("a folder") {
                let path: PathBuf = entry.expect("an entry").path();
                if path.is_dir() {
                    folders.push(path);
                } else {
                    files.push((path.display().to_string(), std::fs::read(&path).expect("a file")));
                }
            }
        }
        assert!(files.iter().any(|(path, _)| path.ends_with("remit.db")), "the database is among them");
        self.assert_all_clean(files);
    }
}

/// Answers with everything it got; `/401` with a refusal.
fn echo(seen: &Seen) -> Answer {
    let status = if seen.path == "/401" { 401 } else { 200 };
    let headers: serde_json::Map<String, Value> =
        seen.headers.iter().map(|(name, value)| (name.clone(), value.clone().into())).collect();
    Answer::json(status, &json!({ "headers": headers, "body": String::from_utf8_lossy(&seen.body) }))
}

fn with_token(path: &str) -> Value {
    json!({ "url": format!("https://{HOST}{path}"), "headers": ["authorization: Bearer {{API_KEY}}"] })
}

fn spellings(value: &str) -> Vec<String> {
    let hexadecimal: String = value.bytes().map(|byte| format!("{byte:02x}")).collect();
    let form: String = url::form_urlencoded::byte_serialize(value.as_bytes()).collect();
    let percent: String = value.bytes().map(|byte| format!("%{byte:02X}")).collect();
    vec![
        BASE64_STANDARD_NO_PAD.encode(value),
        BASE64_URL_SAFE.encode(value),
        BASE64_STANDARD.encode(format!("{CLIENT}:{form}")),
        hexadecimal,
        form,
        percent,
        value.to_owned(),
    ]
}

/// What the program says until it has printed the address to visit, and that address.
fn read_address(stderr: &mut impl BufRead) -> (String, Option<String>) {
    let mut said = String::new();
    loop {
        let mut line = String::new();
        if stderr.read_line(&mut line).expect("text") == 0 {
            return (said, None);
        }
        said.push_str(&line);
        if line.trim().starts_with("https://") {
            return (said, Some(line.trim().to_owned()));
        }
    }
}

fn ended(mut child: Child, stderr: String) -> Ended {
    let mut stdout = String::new();
    child.stdout.take().expect("a pipe").read_to_string(&mut stdout).expect("text");
    Ended { exit: child.wait().expect("it ends").code(), stdout, stderr }
}

/// What a browser is answered at a loopback address; empty when nobody listens there.
fn visit(url: &str) -> String {
    let (authority, path) = url.trim_start_matches("http://").split_once('/').expect("a path");
    ask(authority, authority, "GET", &format!("/{path}"))
}

fn ask(address: &str, host: &str, method: &str, path: &str) -> String {
    let Ok(mut stream) = TcpStream::connect(address) else { return String::new() };
    let head = format!("{method} {path} HTTP/1.1\r\nhost: {host}\r\ncontent-length: 0\r\n\r\n");
    let mut answer = String::new();
    let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.read_to_string(&mut answer).map(drop));
    answer
}

fn is_unavailable(result: &Result<Reply, Failure>) -> bool {
    result.as_ref().is_err_and(|failure| failure.error.message.contains("SecretNotAvailable(\"API_KEY\")"))
}

#[test]
fn a_client_that_speaks_for_itself_gets_a_token_and_the_guest_never_sees_it() {
    for auth in ["basic", "body"] {
        let account = Account::new().approved();
        let connected =
            account.connect_client(&["--auth", auth, "--audience", "api", "--scope", "a", "--scope", "b"]);
        assert_eq!(connected.exit, Some(0), "{connected:?}");
        assert_eq!(connected.json()["connected"], true);
        account.assert_clean("what connect says", format!("{connected:?}").as_bytes());

        let reply = account.fetch();
        let said = format!("{reply:?}");
        assert!(said.contains("Bearer [redacted:API_KEY]"), "{said}");
        account.assert_clean("the reply", said.as_bytes());
        assert_eq!(account.sent(), [format!("Bearer {}", account.server.issued()[0])]);
        assert_eq!(account.server.token_requests(), 1, "the one of connect");

        let listed = remit(account.world.home.path(), &["secret", "list", "--json"], "");
        assert_eq!((&listed.json()[0]["name"], &listed.json()[0]["kind"]), (&json!("TOKEN"), &json!("oauth2")));
        assert!(listed.json()[0]["expiresAt"].is_string());
        account.assert_clean("the list", listed.stdout.as_bytes());
        account.assert_clean("the records", format!("{:?}", account.world.home.records()).as_bytes());
        account.assert_home_is_clean();
    }
}

#[test]
fn somebody_allows_it_in_a_browser_and_the_host_carries_on() {
    let account = Account::new().approved();
    account.server.lifetime(Some(0));
    let (connected, answers) = account.browse(&[], |url| {
        let query: Vec<_> = url::Url::parse(url).expect("a URL").query_pairs().into_owned().collect();
        let field = |name: &str| query.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str());
        assert_eq!((field("tenant"), field("scope")), (Some("1"), Some("read")));
        assert!(field("state").is_some_and(|state| state.len() >= 22), "128 bits: {url}");
        vec![account.server.authorize(url)]
    });
    assert_eq!(connected.exit, Some(0), "{connected:?}");
    assert!(answers[0].starts_with("HTTP/1.1 200") && answers[0].contains("close this window"), "{answers:?}");
    assert!(answers[0].contains("referrer-policy: no-referrer") && answers[0].contains("cache-control: no-store"));
    account.assert_clean("what connect says", format!("{connected:?}").as_bytes());

    // The first token has ended: it never goes out.
    account.server.lifetime(Some(3600));
    for _ in 0..3 {
        let reply = account.fetch();
        assert!(reply.is_ok(), "{reply:?}");
        account.assert_clean("the reply", format!("{reply:?}").as_bytes());
    }
    assert_eq!((account.server.token_requests(), account.server.refused()), (2, 0));
    let issued = account.server.issued();
    let second = issued.iter().rfind(|value| value.starts_with("access")).expect("a token");
    assert_eq!(account.sent(), vec![format!("Bearer {second}"); 3]);
    account.assert_home_is_clean();
}

#[test]
fn eight_calls_and_two_programs_renew_it_once() {
    let account = Account::new().approved().by_consent(Some(0));
    account.server.delay(Duration::from_millis(200));
    let arguments = with_token("/").to_string();
    let account = Arc::new(account);
    std::thread::scope(|scope| {
        let calls: Vec<_> = (0..8).map(|_| scope.spawn(|| account.fetch().map(drop))).collect();
        let programs: Vec<_> = (0..2)
            .map(|_| {
                scope.spawn(|| remit(account.world.home.path(), &["call", "test/probe.fetch", &arguments], ""))
            })
            .collect();
        for call in calls {
            call.join().expect("no panic").expect("an answer");
        }
        for program in programs {
            let ended = program.join().expect("no panic");
            assert_eq!(ended.exit, Some(0), "{ended:?}");
        }
    });
    assert_eq!((account.server.token_requests(), account.server.refused()), (2, 0), "connect, and one renewal");
    let sent = account.sent();
    assert_eq!(sent.len(), 10);
    assert!(sent.iter().all(|field| field == &sent[0]), "{sent:?}");
    let records = account.world.home.records();
    let own: Vec<_> = records.iter().flat_map(|record| &record.requests).filter(|request| request.own).collect();
    assert_eq!(own.len(), 1, "one call has the request in its record");
    let request = own[0];
    assert_eq!((request.method.as_str(), request.authority.as_str()), ("POST", LOGIN));
    assert_eq!((request.path.as_str(), request.outcome.as_str(), request.status), ("/token", "sent", Some(200)));
    assert_eq!((&request.secrets[..], request.bytes_in, request.bytes_out), (&["TOKEN".to_owned()][..], 0, 0));
}

#[test]
fn a_renewal_is_kept_though_the_call_that_wanted_it_is_gone() {
    let account = Account::new().approved().by_consent(Some(0));
    account.server.delay(Duration::from_millis(300));
    let (host, cancel) = (account.world.home.host(), CancellationToken::new());
    let threads = &account.world.home.threads;
    threads.block_on(async {
        let call = host.call(request("test/probe.fetch", &with_token("/")), cancel.clone());
        let watch = async {
            while account.server.token_requests() < 2 {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            cancel.cancel();
        };
        let (result, ()) = tokio::join!(call, watch);
        assert!(result.is_err(), "it was cancelled");
    });
    assert_eq!(account.sent(), [""; 0]);
    account.fetch().expect("the next one has the token");
    assert_eq!(
        (account.server.token_requests(), account.server.refused()),
        (2, 0),
        "and it was not asked for again"
    );
    let record = &account.world.home.records()[1];
    assert_eq!(record.requests[0].outcome, "call/cancelled");
    assert!(record.requests[0].own);
}

#[test]
fn what_is_not_allowed_or_not_sent_asks_for_no_token() {
    let account = Account::new().by_client(Some(0));
    assert!(is_unavailable(&account.fetch()), "nobody approved it");
    let account = account.approved();
    let at =
        |url: &str, place: &str| json!({ "url": url, "headers": [format!("{place}: Bearer {{{{API_KEY}}}}")] });
    for (arguments, what) in [
        (at("https://files.cdn.example.com/", "authorization"), "another host"),
        (at("https://api.example.com:8443/", "authorization"), "another port"),
        (at("https://api.example.com/", "x-api-key"), "another place"),
        (at("https://api.example.com/", "x-other"), "a place that is not declared"),
        (json!({ "url": "https://api.example.com/" }), "no placeholder"),
    ] {
        let _ = account.world.fetch(&arguments);
        assert_eq!(account.server.token_requests(), 1, "{what}");
    }
    let host = account.world.home.host();
    let mut dry = request("test/probe.change", &with_token("/"));
    dry.dry_run = true;
    let reply = account.world.home.threads.block_on(host.call(dry, CancellationToken::new())).expect("a plan");
    assert_eq!(
        (reply.plan.requests.len(), account.server.token_requests()),
        (1, 1),
        "a dry run that sends nothing"
    );
    account.fetch().expect("now it is");
    assert_eq!(account.server.token_requests(), 2);
}

#[test]
fn a_server_that_fails_is_told_in_our_words_and_left_alone_for_a_while() {
    let elsewhere = "https://elsewhere.example.com/token".to_owned();
    let mut account = Account::new().approved();
    for how in [
        Misbehaviour::Error("invalid_grant"),
        Misbehaviour::Error("invalid_client"),
        Misbehaviour::Error("invalid_scope"),
        Misbehaviour::Error("temporarily_out_of_{{API_KEY}}"),
        Misbehaviour::OkError,
        Misbehaviour::Page(200),
        Misbehaviour::Page(503),
        Misbehaviour::Huge(70_000),
        Misbehaviour::Redirect(elsewhere),
        Misbehaviour::Type("mac"),
        Misbehaviour::Access("short"),
        Misbehaviour::Access("two words\r\nx-injected: 1"),
        Misbehaviour::NoToken,
        Misbehaviour::Empty,
    ] {
        // Connecting anew ends the pause after the failure before.
        account = account.by_consent(Some(0));
        let asked = account.server.token_requests();
        account.server.misbehave(how.clone());
        let failed = account.fetch();
        assert!(is_unavailable(&failed), "{how:?}: {failed:?}");
        let failure = failed.expect_err("a failure");
        let hint = failure.error.hint.clone().unwrap_or_default();
        assert!(hint.starts_with("`TOKEN`: "), "{how:?}: {hint}");
        let reconnect = matches!(how, Misbehaviour::Error("invalid_grant" | "invalid_client"));
        assert_eq!(hint.contains("remit secret connect TOKEN"), reconnect, "{how:?}: {hint}");
        account.assert_clean("the failure", format!("{failure:?}").as_bytes());
        assert!(!format!("{failure:?}").contains("grant_type"), "no text of the server: {failure:?}");

        assert!(is_unavailable(&account.fetch()), "{how:?}");
        assert_eq!(account.server.token_requests(), asked + 1, "{how:?}: it is not asked again at once");
        let record = &account.world.home.records()[1];
        let outcomes: Vec<_> = record.requests.iter().map(|request| request.outcome.as_str()).collect();
        let own = match how {
            Misbehaviour::Huge(_) => "http/response-too-large",
            Misbehaviour::Redirect(_) => "http/redirect-refused",
            _ => "sent",
        };
        assert_eq!(outcomes, [own, "secret/not-available"], "{how:?}");
    }
    assert_eq!(account.sent(), [""; 0], "no token, no request");
    account.assert_clean("the records", format!("{:?}", account.world.home.records()).as_bytes());
    account.assert_home_is_clean();
}

#[test]
fn a_slow_server_holds_nobody_up_for_ever() {
    let account = Account::with_settings("[http]\nfirst-byte-ms = 300").approved().by_client(Some(0));
    account.server.delay(Duration::from_secs(20));
    let failed = account.fetch();
    assert!(is_unavailable(&failed), "{failed:?}");
    let hint = failed.expect_err("a failure").error.hint.unwrap_or_default();
    assert_eq!(hint, "`TOKEN`: the token endpoint could not be asked: the request ran out of time");
    assert_eq!(account.world.home.records()[0].requests[0].outcome, "http/timeout");
}

#[test]
fn a_person_connects_again_when_what_was_allowed_is_taken_back() {
    let account = Account::new().approved().by_consent(Some(0));
    account.server.revoke();
    let failure = account.fetch().expect_err("a failure");
    let hint = failure.error.hint.unwrap_or_default();
    assert!(hint.ends_with("allow it again: remit secret connect TOKEN"), "{hint}");
    // Without options: everything but the tokens is stored.
    let (connected, _) = account.browse_with(&[], |url| vec![account.server.authorize(url)]);
    assert_eq!(connected.exit, Some(0), "{connected:?}");
    account.fetch().expect("at once, without the pause after a failure");
    assert_eq!(account.sent().len(), 1);
    assert_eq!(remit(account.world.home.path(), &["secret", "remove", "TOKEN"], "").exit, Some(0));
    assert!(is_unavailable(&account.fetch()), "removed");
}

#[test]
fn servers_that_rotate_nothing_or_say_no_end_are_served_as_well() {
    let account = Account::new().approved();
    account.server.keep_refresh_tokens();
    let account = account.by_consent(Some(0));
    account.server.lifetime(Some(1));
    account.fetch().expect("an answer");
    // Half a second later the next one is due.
    std::thread::sleep(Duration::from_millis(600));
    account.server.lifetime(Some(3600));
    account.fetch().expect("an answer");
    assert_eq!((account.server.token_requests(), account.server.refused()), (3, 0));

    let account = Account::new().approved().by_client(None);
    for _ in 0..2 {
        account.fetch().expect("an answer");
    }
    assert_eq!(account.server.token_requests(), 1, "a token without an end is used until it is refused");

    let account = Account::new().approved();
    account.server.give_no_refresh_tokens();
    let account = account.by_consent(Some(0));
    let failure = account.fetch().expect_err("nothing renews it");
    assert!(failure.error.hint.is_some_and(|hint| hint.contains("remit secret connect TOKEN")));
    assert_eq!(account.server.token_requests(), 1);
}

#[test]
fn a_refusal_by_the_upstream_does_not_drive_the_token_endpoint() {
    let account = Account::new().approved().by_client(None);
    for _ in 0..3 {
        account.world.fetch(&with_token("/401")).expect("the upstream's own answer");
    }
    assert_eq!(account.server.token_requests(), 1, "a token of this minute is not renewed for that");
    assert_eq!(account.sent().len(), 3, "and nothing is sent twice");
}

#[test]
fn an_answer_that_was_not_asked_for_stores_nothing() {
    let account = Account::new().approved();
    // Another state, none, another path, another host, another method: turned away, and the right one waited for.
    let (connected, answers) = account.browse(&[], |url| {
        let right = account.server.authorize(url);
        let (base, query) = right.split_once('?').expect("a query");
        let code = query.split('&').next().expect("a code");
        let wrong = format!("{base}?{code}&state=AAAAAAAAAAAAAAAAAAAAAA");
        let (none, path) = (format!("{base}?{code}"), right.replace("/callback", "/other"));
        let address = base.trim_start_matches("http://").trim_end_matches("/callback").to_owned();
        let target = format!("/callback?{query}");
        let rebound = ask(&address, "evil.example.com", "GET", &target);
        assert!(rebound.starts_with("HTTP/1.1 404"), "{rebound}");
        let posted = ask(&address, &address, "POST", &target);
        assert!(posted.starts_with("HTTP/1.1 405"), "{posted}");
        assert_eq!(account.server.token_requests(), 0);
        vec![wrong, none, path, right.clone(), right]
    });
    assert_eq!(connected.exit, Some(0), "{connected:?}");
    let statuses: Vec<_> = answers.iter().map(|answer| answer.split(' ').nth(1).unwrap_or("none")).collect();
    assert_eq!(statuses[..4], ["400", "400", "404", "200"]);
    assert!(["none", "410"].contains(&statuses[4]), "a second answer is refused: {statuses:?}");
    assert_eq!(account.server.token_requests(), 1);

    for (message, instead) in [
        ("another authorization server", "iss=https%3A%2F%2Fevil.example.com&code="),
        ("access was denied", "error=access_denied&x="),
        ("refused the request", "error=%1B%5B2Jboo&x="),
    ] {
        let account = Account::new().approved();
        let (refused, _) =
            account.browse(&[], |url| vec![account.server.authorize(url).replace("code=", instead)]);
        assert_eq!(refused.exit, Some(1), "{refused:?}");
        assert!(refused.stderr.contains(message), "{refused:?}");
        assert!(!refused.stderr.contains("boo"), "no text of the server: {refused:?}");
        assert_eq!(account.server.token_requests(), 0);
        let listed = remit(account.world.home.path(), &["secret", "list", "--json"], "");
        assert_eq!(listed.json(), json!([]), "nothing is stored");
    }
}

#[test]
fn an_issuer_is_believed_when_it_is_the_one_that_was_asked() {
    for (named, option, exit) in [
        ("https://login.example.com/tenant", None, Some(0)),
        ("https://issuer.example.com", None, Some(1)),
        ("https://issuer.example.com", Some("https://issuer.example.com"), Some(0)),
        ("https://login.example.com", Some("https://issuer.example.com"), Some(1)),
    ] {
        let account = Account::new();
        account.server.name_itself(named);
        let more: Vec<&str> = option.iter().flat_map(|issuer| ["--issuer", issuer]).collect();
        let (ended, _) = account.browse(&more, |url| vec![account.server.authorize(url)]);
        assert_eq!(ended.exit, exit, "{named} {option:?}: {ended:?}");
        assert_eq!(account.server.token_requests(), usize::from(exit == Some(0)));
    }
}

#[test]
fn connect_says_no_before_anything_is_sent() {
    let account = Account::new();
    let home = account.world.home.path();
    let base = ["secret", "connect", "TOKEN", "--client-id", CLIENT, "--json"];
    let run = |more: &[&str]| {
        let ended = remit(home, &[&base[..], more].concat(), CLIENT_SECRET);
        account.assert_clean("what it says", format!("{ended:?}").as_bytes());
        (ended.exit, ended.code())
    };
    let client = ["--client-credentials", "--client-secret"];
    for url in [
        "http://login.example.com/token",
        "https://127.0.0.1/token",
        "https://localhost/token",
        "https://user:pass@login.example.com/token",
    ] {
        let refused = run(&[&["--token-url", url][..], &client].concat());
        assert_eq!(refused, (Some(2), "host/usage".to_owned()), "{url}");
    }
    let usage = (Some(2), "host/usage".to_owned());
    assert_eq!(run(&["--token-url", TOKEN_URL, "--client-credentials"]), usage, "no client secret");
    assert_eq!(run(&["--token-url", TOKEN_URL]), usage, "no authorization endpoint");
    let hidden = [&["--token-url", TOKEN_URL][..], &client, &[CLIENT_SECRET]].concat();
    assert_eq!(run(&hidden), usage, "a secret as an argument");
    let again = remit(home, &["secret", "connect", "TOKEN", "--json"], "");
    assert_eq!((again.exit, again.code()), usage, "nothing is stored to connect again");
    let named = remit(
        home,
        &[
            &["secret", "connect", "no-name", "--token-url", TOKEN_URL, "--client-id", CLIENT][..],
            &client,
            &["--json"],
        ]
        .concat(),
        CLIENT_SECRET,
    );
    assert_eq!(named.exit, Some(2), "{named:?}");
    assert_eq!(account.server.token_requests(), 0);

    // A server that refuses leaves nothing behind.
    account.server.misbehave(Misbehaviour::Error("invalid_client"));
    let refused = account.connect_client(&[]);
    assert_eq!((refused.exit, refused.code().as_str()), (Some(1), "secret/not-available"), "{refused:?}");
    account.assert_clean("what it says", format!("{refused:?}").as_bytes());
    assert_eq!(remit(home, &["secret", "list", "--json"], "").json(), json!([]));
}
