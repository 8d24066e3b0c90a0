//! Principals as agents meet them: what each sees and may call, over HTTP in both eras and on stdio, and that a
//! role, a token or a flag that is taken back counts for the very next request.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use remit::admin::Allowance;
use remit::audit::Record;
use remit::call::{CallRequest, Failure, Reply};
use remit::policy::{Authority, Identity};
use remit_guests::{Guest, manifest};
use serde_json::{Value, json};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::loops_processes::wait_until;
use crate::support::client::Client;
use crate::support::home::{Home, outcome, program, remit, request};

/// `test/SLUG` with a tool for everyone, one for each kind of need, one that nobody may, and one that is not
/// published.
fn guest(slug: &str) -> Vec<u8> {
    let mut manifest = manifest(slug);
    let tool = manifest["tools"][0].clone();
    let variants = [
        ("everyone", json!({})),
        ("editors", json!({ "requiredRole": "editor" })),
        ("writers", json!({ "requiredPermission": "notes:write" })),
        ("testers", json!({ "featureFlag": "beta" })),
        ("nobody", json!({ "requiredRole": "boss" })),
        ("inner", json!({ "expose": false })),
    ];
    manifest["tools"] = variants
        .into_iter()
        .map(|(name, more)| {
            let mut tool = tool.clone();
            tool["name"] = json!(name);
            for (key, value) in more.as_object().expect("an object") {
                tool[key] = value.clone();
            }
            tool
        })
        .collect();
    Guest::echoes().with_manifest(&manifest)
}

fn roles(roles: &[&str]) -> Allowance {
    Allowance { roles: roles.iter().map(|&role| role.to_owned()).collect(), permissions: Vec::new() }
}

fn permissions(permissions: &[&str]) -> Allowance {
    let permissions = permissions.iter().map(|&permission| permission.to_owned()).collect();
    Allowance { roles: Vec::new(), permissions }
}

fn scene() -> Home {
    let home = Home::new();
    home.install(guest("desk"));
    home
}

impl Home {
    fn add(&self, name: &str, allowed: Allowance) -> String {
        let new = self.app.admin().add_principal(name, allowed, None).expect("a principal");
        new.token.to_string()
    }

    fn call_as(&self, caller: Identity, tool: &str) -> Result<Reply, Failure> {
        let request = CallRequest { caller, ..request(tool, &json!({})) };
        let host = self.host();
        self.threads.block_on(host.call(request, CancellationToken::new()))
    }

    fn outcome_as(&self, principal: &str, tool: &str) -> String {
        outcome(&self.call_as(Identity::stored(principal), &format!("test/desk.{tool}")))
    }
}

/// A tool, what gives what it asks, what takes it back, and the hint for who lacks it.
type Need<'a> = (&'a str, &'a dyn Fn(), &'a dyn Fn(), &'a str);

#[test]
fn what_is_asked_is_checked_at_each_call_and_recorded() {
    let home = scene();
    let admin = home.app.admin();
    home.add("ada", Allowance::default());
    let cases: [Need<'_>; 4] = [
        (
            "editors",
            &|| admin.allow_principal("ada", roles(&["editor"])).expect("allowed"),
            &|| assert_eq!(admin.disallow_principal("ada", roles(&["editor"]), Vec::new()).expect("taken"), 1),
            "remit principal allow ada --role editor",
        ),
        (
            "writers",
            &|| admin.allow_principal("ada", permissions(&["notes:*"])).expect("allowed"),
            &|| {
                assert_eq!(
                    admin.disallow_principal("ada", permissions(&["notes:*"]), Vec::new()).expect("taken"),
                    1
                )
            },
            "remit principal allow ada --permission notes:write",
        ),
        (
            "testers",
            &|| admin.set_flag_for("beta", "ada", true).expect("set"),
            &|| admin.remove_flag("beta").expect("removed"),
            "remit flag set beta --on --principal ada",
        ),
        (
            "writers",
            &|| {
                admin.set_role("author", vec!["notes:write".to_owned()]).expect("set");
                admin.allow_principal("ada", roles(&["author"])).expect("allowed");
            },
            &|| admin.remove_role("author").expect("removed"),
            "remit principal allow ada --permission notes:write",
        ),
    ];
    for (tool, give, take, hint) in cases {
        assert_eq!(home.outcome_as("ada", tool), "call/not-allowed", "{tool}");
        give();
        assert_eq!(home.outcome_as("ada", tool), "{}", "{tool}");
        take();
        let refused = home.call_as(Identity::stored("ada"), &format!("test/desk.{tool}")).expect_err("taken back");
        assert_eq!(refused.error.kind.code(), "call/not-allowed", "{tool}");
        assert_eq!(refused.error.message, "the caller may not use this; only a person can allow it");
        assert_eq!(refused.error.hint.as_deref(), Some(hint));
        assert_eq!(refused.usage.fuel, 0, "nothing ran");
        let record = &home.records()[0];
        assert_eq!((record.principal.as_str(), record.outcome.as_str()), ("ada", "call/not-allowed"));
        assert!(record.detail.as_deref().is_some_and(|detail| detail.contains("`ada`")), "{record:?}");
    }
    assert_eq!(home.outcome_as("ada", "everyone"), "{}");
    assert_eq!(home.outcome_as("ada", "nobody"), "call/not-allowed");
    assert_eq!(home.outcome_as("ada", "inner"), "call/unknown-tool", "for agents it is not there");
    assert_eq!(outcome(&home.call("test/desk.inner", &json!({}))), "{}", "for people it is");
    assert_eq!(outcome(&home.call("test/desk.nobody", &json!({}))), "{}", "nothing is asked of the operator");
}

#[test]
fn who_may_call_is_asked_before_what_the_call_says() {
    let home = scene();
    home.add("ada", Allowance::default());
    let wrong = |tool: &str| {
        let caller = Identity::stored("ada");
        let request = CallRequest { caller, ..request(&format!("test/desk.{tool}"), &json!({ "wrong": 1 })) };
        let host = home.host();
        home.threads.block_on(host.call(request, CancellationToken::new())).expect_err("wrong input")
    };
    assert_eq!(wrong("everyone").error.kind.code(), "call/invalid-input");
    let refused = wrong("editors");
    assert_eq!(refused.error.kind.code(), "call/not-allowed");
    assert_eq!(refused.input_schema, None, "who may not call it does not learn how");
}

#[test]
fn nobody_is_anybody_by_default() {
    let home = scene();
    let tool = "test/desk.everyone";
    home.add("ada", Allowance::default());
    for name in ["stdio", "http", "ada"] {
        assert_eq!(outcome(&home.call_as(Identity::stored(name), tool)), "{}", "{name}");
    }
    for name in ["eve", "", "cli", "Ada", "ada ", "ada\u{200b}", "loop:test/desk/a", "ada\n"] {
        assert_eq!(outcome(&home.call_as(Identity::stored(name), tool)), "call/not-allowed", "{name:?}");
    }
    home.app.admin().remove_principal("ada").expect("removed");
    assert_eq!(outcome(&home.call_as(Identity::stored("ada"), tool)), "call/not-allowed");
}

#[test]
fn a_token_of_an_issuer_brings_its_own_permissions_and_nothing_more() {
    let home = scene();
    let carrying = |name: &str, permissions: &[&str]| Identity {
        principal: name.to_owned(),
        authority: Authority::Token(permissions.iter().map(|&permission| permission.to_owned()).collect()),
    };
    home.add("ada", roles(&["editor"]));
    home.app.admin().allow_principal("http", roles(&["editor"])).expect("allowed");
    let cases = [
        (carrying("ada", &[]), "editors", "{}"),
        (carrying("ada", &[]), "writers", "call/not-allowed"),
        (carrying("ada", &["notes:write"]), "writers", "{}"),
        (carrying("eve", &["notes:write"]), "writers", "{}"),
        (carrying("eve", &["notes:read"]), "writers", "call/not-allowed"),
        (carrying("eve", &["editor", "editor:*"]), "editors", "call/not-allowed"),
        (carrying("http", &[]), "editors", "call/not-allowed"),
    ];
    for (caller, tool, expected) in cases {
        let came = outcome(&home.call_as(caller.clone(), &format!("test/desk.{tool}")));
        assert_eq!(came, expected, "{caller:?} {tool}");
    }
}

#[test]
fn names_tokens_and_permissions_that_only_look_right_are_refused() {
    let home = scene();
    let admin = home.app.admin();
    let long = "a".repeat(65);
    let bad = [
        "",
        " ",
        "Ada",
        "ada ",
        " ada",
        "a da",
        "ada\u{200b}",
        "ada\u{202e}",
        "аda",
        "ada\n",
        "ada\0",
        "ada/eve",
        "-ada",
        "ada-",
        "a--b",
        "../ada",
        "ada;",
        "ada'--",
        "tok-12345678",
        "{{ADA}}",
        "cli",
        "stdio",
        "http",
        long.as_str(),
    ];
    for name in bad.into_iter().filter(|name| *name != "tok-12345678") {
        let refused = admin.add_principal(name, Allowance::default(), None).map(drop);
        assert_eq!(refused.expect_err(name).kind.code(), "host/usage", "{name:?}");
    }
    admin.add_principal("ada", Allowance::default(), None).expect("a principal");
    for role in bad.into_iter().filter(|role| !["cli", "stdio", "http", "tok-12345678"].contains(role)) {
        assert!(admin.allow_principal("ada", roles(&[role])).is_err(), "{role:?}");
        assert!(admin.set_role(role, vec!["a:b".to_owned()]).is_err(), "{role:?}");
        assert!(admin.set_flag(role, true, None).is_err(), "{role:?}");
    }
    for permission in
        ["", ":", "*", "*:*", "notes", "notes:", ":write", "notes:wri*", "notes:write ", "nоtes:write"]
    {
        assert!(admin.allow_principal("ada", permissions(&[permission])).is_err(), "{permission:?}");
        assert!(admin.set_role("editor", vec![permission.to_owned()]).is_err(), "{permission:?}");
    }
    assert!(admin.set_flag("beta", true, Some(101)).is_err());
    let ada = admin.principal("ada").expect("there");
    assert!(ada.stored.roles.is_empty() && ada.stored.permissions.is_empty(), "{ada:?}");
    assert!(admin.roles().expect("roles").is_empty() && admin.flags().expect("flags").is_empty());
}

#[test]
fn a_share_of_a_flag_is_the_same_in_every_process() {
    let home = scene();
    let admin = home.app.admin();
    let names: Vec<String> = (0..40).map(|number| format!("agent-{number}")).collect();
    names.iter().for_each(|name| drop(home.add(name, Allowance::default())));
    let having =
        || -> Vec<&String> { names.iter().filter(|name| home.outcome_as(name, "testers") == "{}").collect() };
    admin.set_flag("beta", true, Some(25)).expect("set");
    let quarter = having();
    assert!((4..=16).contains(&quarter.len()), "{quarter:?}");
    assert_eq!(having(), quarter);
    for name in &names {
        let ended = remit(home.path(), &["call", "test/desk.testers", "--as", name, "--json"], "");
        assert_eq!(ended.exit == Some(0), quarter.contains(&name), "{name}: {ended:?}");
    }
    admin.set_flag("beta", true, Some(60)).expect("set");
    let more = having();
    assert!(quarter.iter().all(|name| more.contains(name)), "who has it keeps it");
    admin.set_flag("beta", false, None).expect("set");
    assert!(having().is_empty());
}

#[test]
fn a_loop_may_what_its_maker_may_when_it_fires() {
    let home = scene();
    let admin = home.app.admin();
    home.add("ada", roles(&["editor"]));
    let offer = admin.offer_builtin(&"remit/loops".parse().expect("a name")).expect("in order").expect("there");
    let asks = offer.asks.clone();
    admin.install(offer, &asks).expect("installed");
    let scheduler = home.threads.block_on(async { home.app.scheduler() }).expect("schedules");
    let create = json!({ "name": "look", "every": "1h", "tool": "test/desk.editors" });
    let made = CallRequest { caller: Identity::stored("ada"), ..request("remit/loops.create_loop", &create) };
    let host = home.host();
    let made = home.threads.block_on(host.call(made, CancellationToken::new()));
    assert!(made.is_ok(), "{made:?}");
    let found = admin.find_loop(&"remit/loops".parse().expect("a name"), "look").expect("the loop");
    assert_eq!(found.owner, "ada");

    let run = || {
        let id = admin.queue_run(&found).expect("queued");
        home.threads.block_on(scheduler.run_now(&id)).expect("a run");
        let record =
            home.records().into_iter().find(|record| record.principal.starts_with("loop:")).expect("a record");
        (admin.find_run(&id).expect("the run").state.as_str(), record.outcome)
    };
    assert_eq!(run(), ("done", "ok".to_owned()));
    admin.disallow_principal("ada", roles(&["editor"]), Vec::new()).expect("taken");
    assert_eq!(run(), ("skipped", "call/not-allowed".to_owned()));
    admin.allow_principal("ada", roles(&["editor"])).expect("given back");
    assert_eq!(run(), ("done", "ok".to_owned()));
    admin.remove_principal("ada").expect("removed");
    assert_eq!(run(), ("skipped", "call/not-allowed".to_owned()));
}

#[test]
fn a_flood_of_one_principal_meets_its_own_limit_and_no_other() {
    let home = Home::with_settings("[runtime]\ncalls = 3\n[principals]\ncalls = 2\n");
    home.install(guest("desk"));
    home.install(Guest::loops().capability("stuck"));
    home.add("ada", Allowance::default());
    home.add("bob", Allowance::default());
    let host = home.host();
    let stop = CancellationToken::new();
    let mut flood = JoinSet::new();
    for _ in 0..20 {
        let request = CallRequest { caller: Identity::stored("ada"), ..request("test/stuck.run", &json!({})) };
        let (host, stop) = (host.clone(), stop.child_token());
        flood.spawn_on(async move { host.call(request, stop).await }, home.threads.handle());
    }
    // All but two are over at once.
    for _ in 0..18 {
        let ended = home.threads.block_on(flood.join_next()).expect("a call").expect("no panic");
        assert_eq!(outcome(&ended), "host/busy");
    }
    let refused = home.call_as(Identity::stored("ada"), "test/desk.everyone").expect_err("over its share");
    assert_eq!(refused.error.message, "too many calls of this principal run at once; try again in 1 s");
    assert!(!refused.call_id.is_empty(), "it has a record");
    let begun = Instant::now();
    assert_eq!(home.outcome_as("bob", "everyone"), "{}");
    assert_eq!(outcome(&home.call("test/desk.everyone", &json!({}))), "{}", "nor does it stop the operator");
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    stop.cancel();
    while let Some(ended) = home.threads.block_on(flood.join_next()) {
        assert_eq!(outcome(&ended.expect("no panic")), "call/cancelled");
    }
    assert_eq!(home.outcome_as("ada", "everyone"), "{}", "its places are free again");
    assert!(home.records().iter().any(|record| record.principal == "ada" && record.outcome == "host/busy"));
}

#[test]
fn a_minute_has_so_many_calls_of_each_principal() {
    let home = Home::with_settings("[principals]\ncalls-per-minute = 3\n");
    home.install(guest("desk"));
    home.add("ada", Allowance::default());
    home.add("bob", Allowance::default());
    // The last one counts too: who may not call something may not try for ever.
    let came: Vec<_> = (0..3).map(|_| home.outcome_as("ada", "nobody")).collect();
    assert_eq!(came, ["call/not-allowed"; 3]);
    assert_eq!(home.outcome_as("ada", "everyone"), "host/busy");
    assert_eq!(home.outcome_as("bob", "everyone"), "{}");
}

#[test]
fn a_client_on_stdio_is_who_it_was_started_as() {
    let home = scene();
    let admin = home.app.admin();
    home.add("ada", roles(&["editor"]));
    let serve = |name: &str| {
        Client::of(
            Command::new(program())
                .args(["serve", "--tools", "direct", "--principal", name])
                .env("REMIT_HOME", home.path()),
        )
    };
    let (mut ada, mut anybody) = (serve("ada"), Client::start(home.path()));
    assert_eq!(ada.tools(), ["desk__editors", "desk__everyone"]);
    assert_eq!(anybody.tools(), ["desk__everyone"]);
    assert_eq!(ada.call("desk__editors"), "ok");
    assert_eq!(anybody.call("desk__editors"), "call/not-allowed");
    for client in [&mut ada, &mut anybody] {
        assert_eq!(client.call("desk__inner"), "-32602");
        assert_eq!(client.call("desk__unheard_of"), "-32602");
    }
    // Listed, then taken back, then called.
    assert_eq!(ada.tools(), ["desk__editors", "desk__everyone"]);
    admin.disallow_principal("ada", roles(&["editor"]), Vec::new()).expect("taken");
    assert_eq!(ada.call("desk__editors"), "call/not-allowed");
    assert_eq!(ada.tools(), ["desk__everyone"]);
    while ada.notified == 0 {
        ada.receive();
    }
    // Every session hears of it, as the list may be another for each.
    while anybody.notified == 0 {
        anybody.receive();
    }
    admin.remove_principal("ada").expect("removed");
    assert_eq!(ada.call("desk__everyone"), "call/not-allowed");
    assert!(ada.tools().is_empty());
    assert_eq!(anybody.call("desk__everyone"), "ok");
}

#[test]
fn what_is_not_published_is_there_for_people_and_for_the_capability_itself() {
    let home = scene();
    let shown = remit(home.path(), &["show", "test/desk", "--json"], "").json();
    let tools: Vec<&str> = shown["tools"].as_array().expect("tools").iter().filter_map(Value::as_str).collect();
    assert!(tools.contains(&"inner") && tools.contains(&"everyone"), "{tools:?}");
    let file = home.path().join("desk.wasm");
    std::fs::write(&file, guest("desk")).expect("room");
    let inspected = remit(home.path(), &["inspect", file.to_str().expect("a path")], "").stdout;
    assert!(inspected.contains("inner"), "{inspected}");
    assert_eq!(remit(home.path(), &["call", "test/desk.inner"], "").exit, Some(0));
    let refused = remit(home.path(), &["call", "test/desk.inner", "--as", "stdio", "--json"], "");
    assert_eq!((refused.exit, refused.code().as_str()), (Some(1), "call/unknown-tool"));
}

// What follows is over HTTP, with the built program.

struct Door {
    child: Child,
    address: String,
    home: PathBuf,
}

impl Door {
    fn open(home: &Path, more: &[&str]) -> Self {
        let mut child = Command::new(program())
            .args(["serve", "--tools", "direct", "--http", "127.0.0.1:0"])
            .args(more)
            .env("REMIT_HOME", home)
            .stderr(Stdio::piped())
            .spawn()
            .expect("remit starts");
        let mut errors = BufReader::new(child.stderr.take().expect("a pipe"));
        let address = loop {
            let mut line = String::new();
            assert!(errors.read_line(&mut line).expect("a line") > 0, "the door did not open");
            let address =
                line.trim().strip_prefix("listening on http://").and_then(|rest| rest.strip_suffix("/mcp"));
            if let Some(address) = address {
                break address.to_owned();
            }
        };
        std::thread::spawn(move || std::io::copy(&mut errors, &mut std::io::sink()));
        Self { child, address, home: home.to_owned() }
    }

    /// The home's own token.
    fn own(&self) -> String {
        std::fs::read_to_string(self.home.join("token")).expect("a token").trim().to_owned()
    }

    /// Sends a request and gives the status, the head and the body.
    fn send(&self, method: &str, fields: &[String], body: &str) -> (u16, String, String) {
        let mut head = format!(
            "{method} /mcp HTTP/1.1\r\nConnection: close\r\nHost: localhost\r\nContent-Type: application/json\r\n\
             Accept: application/json, text/event-stream\r\nContent-Length: {}\r\n",
            body.len()
        );
        for field in fields {
            head.push_str(field);
            head.push_str("\r\n");
        }
        let mut stream = TcpStream::connect(&self.address).expect("a connection");
        let _ = stream.write_all(format!("{head}\r\n{body}").as_bytes());
        let mut text = String::new();
        let _ = stream.read_to_string(&mut text);
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or_default();
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
        (status, head.to_ascii_lowercase(), body.to_owned())
    }
}

impl Drop for Door {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// So many records, which another process writes: a call that changes nothing is answered before its record is on
/// disk.
fn records_of_others(home: &Home, count: usize) -> Vec<Record> {
    loop {
        let records = home.records();
        if records.len() >= count {
            return records;
        }
        std::thread::yield_now();
    }
}

/// How one client speaks: with a session, or each request for itself.
#[derive(Clone, Debug)]
struct Agent {
    token: String,
    session: Option<String>,
}

impl Agent {
    fn modern(token: &str) -> Self {
        Self { token: token.to_owned(), session: None }
    }

    fn legacy(token: &str, door: &Door) -> Self {
        let params = json!({
            "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "test", "version": "1" },
        });
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params }).to_string();
        let (status, head, body) = door.send("POST", &[format!("Authorization: Bearer {token}")], &body);
        assert_eq!(status, 200, "{body}");
        let session = head.lines().find_map(|line| line.strip_prefix("mcp-session-id: ")).expect("a session");
        Self { token: token.to_owned(), session: Some(session.to_owned()) }
    }

    fn ask(&self, door: &Door, id: u64, method: &str, params: Value) -> (u16, Value) {
        let mut fields = vec![format!("Authorization: Bearer {}", self.token)];
        let mut params = params;
        match &self.session {
            Some(session) => fields.push(format!("Mcp-Session-Id: {session}")),
            None => {
                fields.push("MCP-Protocol-Version: 2026-07-28".to_owned());
                fields.push(format!("Mcp-Method: {method}"));
                if let Some(name) = params["name"].as_str() {
                    fields.push(format!("Mcp-Name: {name}"));
                }
                params["_meta"] = json!({
                    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                    "io.modelcontextprotocol/clientCapabilities": {},
                });
            }
        }
        let body = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string();
        let (status, _, body) = door.send("POST", &fields, &body);
        // A legacy answer may come as an event.
        let text = body.lines().find_map(|line| line.strip_prefix("data: ").filter(|data| !data.is_empty()));
        (status, serde_json::from_str(text.unwrap_or(&body)).unwrap_or(Value::Null))
    }

    fn tools(&self, door: &Door) -> Vec<String> {
        let (status, listed) = self.ask(door, 2, "tools/list", json!({}));
        assert_eq!(status, 200, "{listed}");
        let tools = listed["result"]["tools"].as_array().expect("tools").iter();
        tools.map(|tool| tool["name"].as_str().expect("a name").to_owned()).collect()
    }

    /// `ok`, the code of a tool's error, the number of a protocol error, or the status.
    fn call(&self, door: &Door, tool: &str) -> String {
        let (status, answer) = self.ask(door, 3, "tools/call", json!({ "name": tool, "arguments": {} }));
        match (status, &answer["error"]["code"], &answer["result"]) {
            (401 | 404, _, _) => status.to_string(),
            (_, Value::Number(code), _) => code.to_string(),
            (_, _, result) if result["isError"] == true => {
                result["_meta"]["remit/code"].as_str().unwrap_or_default().to_owned()
            }
            _ => "ok".to_owned(),
        }
    }
}

#[test]
fn a_role_revoked_between_list_and_call_stops_the_call_over_http() {
    let home = scene();
    let admin = home.app.admin();
    let (ada, bob) = (home.add("ada", roles(&["editor"])), home.add("bob", Allowance::default()));
    let door = Door::open(home.path(), &[]);
    for (of_ada, of_bob) in
        [(Agent::modern(&ada), Agent::modern(&bob)), (Agent::legacy(&ada, &door), Agent::legacy(&bob, &door))]
    {
        assert_eq!(of_ada.tools(&door), ["desk__editors", "desk__everyone"], "{of_ada:?}");
        assert_eq!(of_bob.tools(&door), ["desk__everyone"], "{of_bob:?}");
        assert_eq!(of_ada.call(&door, "desk__editors"), "ok");
        assert_eq!(of_bob.call(&door, "desk__editors"), "call/not-allowed");
        assert_eq!(of_bob.call(&door, "desk__inner"), "-32602");
        assert_eq!(of_ada.tools(&door), ["desk__editors", "desk__everyone"]);
        admin.disallow_principal("ada", roles(&["editor"]), Vec::new()).expect("taken");
        assert_eq!(of_ada.call(&door, "desk__editors"), "call/not-allowed", "{of_ada:?}");
        assert_eq!(of_ada.tools(&door), ["desk__everyone"]);
        admin.allow_principal("ada", roles(&["editor"])).expect("given back");
        assert_eq!(of_ada.call(&door, "desk__editors"), "ok");
    }
    let own = Agent::modern(&door.own());
    assert_eq!(own.tools(&door), ["desk__everyone"]);
    admin.allow_principal("http", roles(&["editor"])).expect("allowed");
    assert_eq!(own.tools(&door), ["desk__editors", "desk__everyone"]);
    let of_editors = || home.records().iter().filter(|record| record.tool == "editors").count();
    // The record of a call that changes nothing may come a moment after its answer.
    wait_until(|| of_editors() >= 8, || of_editors().to_string());
    let outcomes: BTreeMap<String, usize> = home.records().iter().filter(|record| record.tool == "editors").fold(
        BTreeMap::new(),
        |mut outcomes, record| {
            *outcomes.entry(format!("{} {}", record.principal, record.outcome)).or_default() += 1;
            outcomes
        },
    );
    let expected = [("ada call/not-allowed", 2), ("ada ok", 4), ("bob call/not-allowed", 2)];
    assert_eq!(outcomes, expected.map(|(outcome, count)| (outcome.to_owned(), count)).into());
}

#[test]
fn a_token_that_was_taken_back_is_over_or_never_was_opens_nothing() {
    let home = scene();
    let admin = home.app.admin();
    let ada = admin.add_principal("ada", Allowance::default(), None).expect("a principal");
    let second = admin.add_token("ada", None).expect("a token");
    let bob = home.add("bob", Allowance::default());
    // It ended before anybody could use it.
    let over = admin.add_token("bob", Some(1)).expect("a token");
    for more in [&[][..], &["--no-token"]] {
        let door = Door::open(home.path(), more);
        let good = Agent::modern(&bob);
        assert_eq!(good.call(&door, "desk__everyone"), "ok");
        let upper = bob.to_uppercase();
        let bad = [over.token.as_str(), "rmt_", "rmt_0", &bob[..bob.len() - 1], &bob[4..], &upper, "tok-12345678"];
        for token in bad {
            assert_eq!(Agent::modern(token).call(&door, "desk__everyone"), "401", "{more:?} {token}");
        }
        let (status, ..) = door.send(
            "POST",
            &[format!("Authorization: Bearer {bob}"), format!("Authorization: Bearer {bob}")],
            "{}",
        );
        assert_eq!(status, 401, "{more:?}: two fields");
    }

    let door = Door::open(home.path(), &[]);
    let (first, other) = (Agent::legacy(&ada.token, &door), Agent::modern(&second.token));
    assert_eq!(
        (first.call(&door, "desk__everyone"), other.call(&door, "desk__everyone")),
        ("ok".into(), "ok".into())
    );
    let of_another = Agent { token: bob.clone(), session: first.session.clone() };
    assert_eq!(of_another.call(&door, "desk__everyone"), "404", "the session is another's");
    let same = Agent { token: second.token.to_string(), session: first.session.clone() };
    assert_eq!(same.call(&door, "desk__everyone"), "ok", "another token of the same principal");
    assert_eq!(admin.disallow_principal("ada", Allowance::default(), vec![ada.id.clone()]).expect("taken"), 1);
    assert_eq!(first.call(&door, "desk__everyone"), "401", "also in a session that is open");
    assert_eq!(other.call(&door, "desk__everyone"), "ok");
    admin.remove_principal("ada").expect("removed");
    assert_eq!(other.call(&door, "desk__everyone"), "401");
    assert_eq!(same.call(&door, "desk__everyone"), "401");
    assert!(!home.records().iter().any(|record| record.principal == "http"), "nobody fell back to the door's own");
    // The door writes it down soon.
    while !admin.principal("bob").expect("there").tokens.iter().any(|(_, used_at)| used_at.is_some()) {
        std::thread::yield_now();
    }
}

#[test]
fn the_same_ids_at_the_same_time_do_not_cross() {
    const ROUNDS: usize = 25;
    let home = scene();
    let tokens: Vec<(String, String)> = ["ada", "bob", "eve"]
        .iter()
        .map(|name| ((*name).to_owned(), home.add(name, Allowance::default())))
        .collect();
    let door = Door::open(home.path(), &[]);
    let agents: Vec<(String, Agent)> = tokens
        .iter()
        .flat_map(|(name, token)| {
            [(name.clone(), Agent::modern(token)), (name.clone(), Agent::legacy(token, &door))]
        })
        .collect();
    std::thread::scope(|scope| {
        for (number, (name, agent)) in agents.iter().enumerate() {
            let door = &door;
            scope.spawn(move || {
                for round in 0..ROUNDS {
                    let input = format!("{name} {number} {round}");
                    let params = json!({ "name": "desk__everyone", "arguments": { "input": input } });
                    let (status, answer) = agent.ask(door, 7, "tools/call", params);
                    assert_eq!((status, &answer["id"]), (200, &json!(7)), "{answer}");
                    let said = answer["result"]["content"][0]["text"].as_str().unwrap_or_default().to_owned();
                    assert_eq!(said, json!({ "input": input }).to_string());
                }
            });
        }
    });
    let mut calls: BTreeMap<String, usize> = BTreeMap::new();
    records_of_others(&home, 6 * ROUNDS)
        .iter()
        .for_each(|record| *calls.entry(record.principal.clone()).or_default() += 1);
    let expected = ["ada", "bob", "eve"].map(|name| (name.to_owned(), 2 * ROUNDS));
    assert_eq!(calls, expected.into());
}

#[test]
fn one_principal_does_not_take_all_sessions() {
    let home = Home::with_settings("[serve]\nsessions = 6\n[principals]\nsessions = 4\n");
    let (ada, bob) = (home.add("ada", Allowance::default()), home.add("bob", Allowance::default()));
    let door = Door::open(home.path(), &[]);
    let begin = |token: &str| {
        let params = json!({
            "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "test", "version": "1" },
        });
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params }).to_string();
        door.send("POST", &[format!("Authorization: Bearer {token}")], &body).0
    };
    let begun: Vec<u16> = (0..6).map(|_| begin(&ada)).collect();
    assert_eq!(begun, [200, 200, 200, 200, 503, 503]);
    assert_eq!(begin(&bob), 200);
}

#[test]
fn no_token_is_anywhere_but_with_its_client() {
    let home = scene();
    let token = home.add("ada", Allowance::default());
    home.app.shutdown();
    let mut folders = vec![home.path().to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry")) {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let bytes = std::fs::read(&path).expect("a file");
            let is_in = |needle: &[u8]| bytes.windows(needle.len()).any(|window| window == needle);
            assert!(!is_in(token.as_bytes()), "{}", path.display());
            assert!(!is_in(&token.as_bytes()[4..]), "{}", path.display());
        }
    }
    for arguments in [&["principal", "list", "--json"][..], &["principal", "show", "ada"], &["audit", "--json"]] {
        let ended = remit(home.path(), arguments, "");
        assert!(!format!("{ended:?}").contains(&token[4..]), "{arguments:?}");
    }
}
