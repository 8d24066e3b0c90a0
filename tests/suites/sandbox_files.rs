//! Files of the conversation as a guest that does not hold itself back meets them: `test/scribe` on the real rooms,
//! with the upstream that it saves from.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use remit::call::{CallRequest, Content, Failure, Reply};
use remit::client::{Client, Conversation};
use remit::error::ErrorKind;
use remit::manifest::NamespaceName;
use remit::policy::{Approval, Grant, Identity};
use remit_upstream::{Answer, Seen};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::support::home::{Home, built, outcome, remit, renamed, request};
use crate::support::spellings;
use crate::support::world::{HOST, SECRET, World, approval, authorization};

/// What the fixture is granted where a test does not say.
const ALL: &[&str] = &["sandbox", "http", "http:api.example.com"];

fn grants(words: &[&str]) -> Vec<Grant> {
    let grant = |word: &&str| {
        let (namespace, entry) = word.split_once(':').map_or((*word, None), |(name, entry)| (name, Some(entry)));
        let namespace = match namespace {
            "http" => NamespaceName::Http,
            "sandbox" => NamespaceName::Sandbox,
            other => panic!("{other}"),
        };
        Grant { namespace, entry: entry.map(str::to_owned) }
    };
    words.iter().map(grant).collect()
}

/// A home with `test/scribe`, that may keep files and asks one host.
fn home() -> Home {
    with_settings("")
}

fn with_settings(settings: &str) -> Home {
    let home = Home::with_settings(settings);
    home.install_with(built("scribe"), &grants(ALL));
    home
}

/// The same component as `test/mail`, with these grants.
fn install_mail(home: &Home, granted: &[&str]) {
    home.install_with(renamed(&built("scribe"), |manifest| manifest["slug"] = json!("mail")), &grants(granted));
}

fn world(answer: impl Fn(&Seen) -> Answer + Send + Sync + 'static) -> World {
    let world = World::new(answer);
    world.home.install_with(built("scribe"), &grants(ALL));
    world
}

fn call_as(
    home: &Home,
    principal: &str,
    conversation: &Conversation,
    tool: &str,
    arguments: &Value,
) -> Result<Reply, Failure> {
    let plain = request(tool, arguments);
    let client = Client { conversation: conversation.clone(), ..Client::default() };
    let request = CallRequest { caller: Identity::operator(principal), client, ..plain };
    home.threads.block_on(home.host().call(request, CancellationToken::new()))
}

fn said_by(result: Result<Reply, Failure>) -> String {
    match result {
        Err(failure) if failure.error.kind == ErrorKind::Failed => failure.error.message,
        result => outcome(&result),
    }
}

/// What a tool said: its answer, its failure, or the code of the error.
fn said(home: &Home, tool: &str, arguments: &Value) -> String {
    said_by(home.call(&format!("test/scribe.{tool}"), arguments))
}

fn write(home: &Home, name: &str, text: &str) -> String {
    said(home, "write", &json!({ "name": name, "text": text }))
}

fn read(home: &Home, file: &str) -> String {
    said(home, "read", &json!({ "file": file }))
}

fn list(home: &Home) -> String {
    said(home, "list", &json!({}))
}

fn png(_: &Seen) -> Answer {
    Answer::json(200, &json!({ "data": [{ "b64_json": "Y2F0" }] }))
}

#[test]
fn what_is_written_is_read_again() {
    let home = home();
    assert_eq!(write(&home, "a/cat.txt", "meow"), "remit://sandbox/test/scribe/a/cat.txt 4");
    assert_eq!(read(&home, "a/cat.txt"), "meow");
    assert_eq!(read(&home, "remit://sandbox/test/scribe/a/cat.txt"), "meow");
    let part = json!({ "file": "a/cat.txt", "offset": 1, "length": 2 });
    assert_eq!(said(&home, "read", &part), "eo");
    assert_eq!(said(&home, "find", &json!({ "file": "a/cat.txt" })), "a/cat.txt 4 text/plain");
    assert_eq!(said(&home, "find", &json!({ "file": "b" })), "nothing");
    assert_eq!(write(&home, "a/cat.txt", "purr!"), "remit://sandbox/test/scribe/a/cat.txt 5");
    assert_eq!(write(&home, "b", ""), "remit://sandbox/test/scribe/b 0");
    assert_eq!(
        (list(&home), said(&home, "list", &json!({ "prefix": "a/" }))),
        ("a/cat.txt b".into(), "a/cat.txt".into())
    );
    assert_eq!(said(&home, "delete", &json!({ "name": "a/cat.txt" })), "true");
    assert_eq!(said(&home, "delete", &json!({ "name": "a/cat.txt" })), "false");
    assert_eq!(read(&home, "a/cat.txt"), "NotFound(\"a/cat.txt\")");
    let reply = home.call("test/scribe.write", &json!({ "name": "c.svg", "text": "<svg/>" })).expect("written");
    let linked = Content::Link {
        uri: "remit://sandbox/test/scribe/c.svg".to_owned(),
        name: "c.svg".to_owned(),
        description: None,
        mime_type: Some("image/svg+xml".to_owned()),
    };
    assert!(reply.content.contains(&linked), "{reply:?}");
}

#[test]
fn without_the_grant_there_is_nothing_to_call() {
    let home = Home::new();
    home.install_with(built("scribe"), &grants(&["http", "http:api.example.com"]));
    for (tool, arguments) in [
        ("write", json!({ "name": "a", "text": "1" })),
        ("read", json!({ "file": "a" })),
        ("list", json!({})),
        ("delete", json!({ "name": "a" })),
    ] {
        assert_eq!(said(&home, tool, &arguments), "call/not-allowed", "{tool}");
    }
    let name = "test/scribe".parse().expect("a name");
    home.app.admin().grant(&name, &grants(&["sandbox"])).expect("declared");
    assert_eq!(write(&home, "a", "1"), "remit://sandbox/test/scribe/a 1");
    home.app.admin().revoke(&name, &grants(&["sandbox"])).expect("granted");
    assert_eq!(write(&home, "b", "1"), "call/not-allowed");
}

#[test]
fn c_19_a_name_is_of_the_grammar_or_nothing_is_written() {
    let home = home();
    let long = "a".repeat(201);
    for bad in [
        "",
        ".",
        "..",
        "../a",
        "a/../../remit.db",
        "/etc/passwd",
        "a\\b",
        "C:a",
        "a\0b",
        "a\u{202e}gpj",
        "\u{430}.png",
        "con",
        "a/NUL.txt",
        ".hidden",
        "-rf",
        "a.",
        "a//b",
        "%2e%2e/a",
        "remit://sandbox/test/mail/a",
        "{{API_KEY}}",
        &long,
    ] {
        assert!(write(&home, bad, "1").starts_with("InvalidName("), "{bad:?}: {}", write(&home, bad, "1"));
        assert!(said(&home, "delete", &json!({ "name": bad })).starts_with("InvalidName("), "{bad:?}");
    }
    assert_eq!(list(&home), "");
    assert_eq!(write(&home, "Cat.png", "1"), "remit://sandbox/test/scribe/Cat.png 1");
    for beside in ["cat.png", "CAT.PNG", "cat.png/x"] {
        assert_eq!(write(&home, beside, "2"), "Collision(\"Cat.png\")", "{beside}");
    }
    assert_eq!((list(&home), read(&home, "Cat.png")), ("Cat.png".into(), "1".into()));
    // No path on the disk is made of any of it.
    let mut names = Vec::new();
    let mut folders = vec![home.path().to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path()) {
            names.push(entry.display().to_string());
            if entry.is_dir() {
                folders.push(entry);
            }
        }
    }
    assert!(!names.iter().any(|name| name.to_lowercase().contains("cat.png")), "{names:?}");
}

#[test]
fn db_15_files_are_their_principals_their_conversations_and_their_capabilitys() {
    let home = home();
    install_mail(&home, ALL);
    let named = |name: &str| Conversation::Named(name.to_owned());
    let places = [
        ("ann", Conversation::Own, "scribe"),
        ("bob", Conversation::Own, "scribe"),
        ("ann", named("x"), "scribe"),
        ("ann", named("y"), "scribe"),
        ("bob", named("x"), "scribe"),
        ("ann", Conversation::Session("x".to_owned()), "scribe"),
        ("ann", named("x"), "mail"),
    ];
    let at = |place: &(&str, Conversation, &str), tool: &str, arguments: &Value| {
        said_by(call_as(&home, place.0, &place.1, &format!("test/{}.{tool}", place.2), arguments))
    };
    for (number, place) in places.iter().enumerate() {
        let text = json!({ "name": "cat.txt", "text": number.to_string() });
        assert!(at(place, "write", &text).ends_with("cat.txt 1"), "{place:?}");
        let own = json!({ "name": format!("own-{number}"), "text": "" });
        at(place, "write", &own);
    }
    for (number, place) in places.iter().enumerate() {
        assert_eq!(at(place, "read", &json!({ "file": "cat.txt" })), number.to_string(), "{place:?}");
        assert_eq!(at(place, "list", &json!({})), format!("cat.txt own-{number}"), "{place:?}");
        let address = format!("remit://sandbox/test/{}/own-{number}", place.2);
        for other in places.iter().filter(|other| *other != place) {
            let found = at(other, "find", &json!({ "file": address }));
            assert_eq!(found, "nothing", "{other:?} finds {address} of {place:?}");
        }
    }
    assert_eq!(at(&places[0], "delete", &json!({ "name": "cat.txt" })), "true");
    assert_eq!(at(&places[1], "read", &json!({ "file": "cat.txt" })), "1");
}

#[test]
fn files_of_other_capabilities_are_read_where_a_person_granted_that_and_nowhere_else() {
    let home = home();
    install_mail(&home, ALL);
    let (here, there) = (Conversation::Named("x".to_owned()), Conversation::Named("y".to_owned()));
    let tool = |principal: &str, conversation: &Conversation, tool: &str, arguments: &Value| {
        said_by(call_as(&home, principal, conversation, tool, arguments))
    };
    tool("ann", &here, "test/scribe.write", &json!({ "name": "cat.txt", "text": "meow" }));
    let address = "remit://sandbox/test/scribe/cat.txt";
    let read = json!({ "file": address });
    let nothing = format!("NotFound({address:?})");
    assert_eq!(tool("ann", &here, "test/mail.read", &read), nothing, "it is not granted");
    let name = "test/mail".parse().expect("a name");
    home.app.admin().grant(&name, &grants(&["sandbox:others"])).expect("declared");
    assert_eq!(tool("ann", &here, "test/mail.read", &read), "meow");
    assert_eq!(tool("ann", &here, "test/mail.find", &read), "cat.txt 4 text/plain");
    assert_eq!(tool("ann", &here, "test/mail.list", &json!({})), "", "a list shows its own");
    // Another conversation, another principal.
    assert_eq!(tool("ann", &there, "test/mail.read", &read), nothing);
    assert_eq!(tool("ann", &Conversation::Own, "test/mail.read", &read), nothing);
    assert_eq!(tool("bob", &here, "test/mail.read", &read), nothing);
    // To read is not to change.
    for change in ["write", "delete"] {
        let arguments =
            if change == "write" { json!({ "name": address, "text": "1" }) } else { json!({ "name": address }) };
        let refused = tool("ann", &here, &format!("test/mail.{change}"), &arguments);
        assert!(refused.starts_with("InvalidName("), "{refused}");
    }
    assert_eq!(tool("ann", &here, "test/scribe.read", &json!({ "file": "cat.txt" })), "meow");
    // Whoever does not ask for it cannot be granted it, and is not granted it by chance.
    let plain = renamed(&built("scribe"), |manifest| {
        manifest["slug"] = json!("plain");
        manifest.as_object_mut().expect("an object").remove("sandbox");
    });
    home.install(plain);
    assert_eq!(tool("ann", &here, "test/plain.read", &read), nothing);
    let plain = "test/plain".parse().expect("a name");
    let refused = home.app.admin().grant(&plain, &grants(&["sandbox:others"])).expect_err("not declared");
    assert_eq!(refused.kind, ErrorKind::NotAllowed);
}

#[test]
fn db_12_quotas_hold() {
    let home = with_settings("[sandbox]\nfiles = 5\nbytes = 1000\nfile-bytes = 400\nprincipal-bytes = 9000\n");
    let fill =
        |prefix: &str, bytes: u32| said(&home, "fill", &json!({ "prefix": prefix, "bytes": bytes, "times": 100 }));
    assert_eq!(fill("a", 401), "0: Quota(\"a file has at most 400 bytes, not 401\")");
    assert_eq!(fill("b", 400), "2: Quota(\"the capability keeps at most 1000 bytes in a conversation\")");
    assert_eq!(fill("c", 1), "3: Quota(\"the capability keeps at most 5 files in a conversation\")");
    assert_eq!(list(&home), "b0 b1 c0 c1 c2");
    assert!(write(&home, "c0", "22").ends_with("c0 2"), "a file in the place of another is none more");
    // More conversations are no more room.
    let many = |number: usize| {
        let conversation = Conversation::Named(number.to_string());
        said_by(call_as(&home, "test", &conversation, "test/scribe.write", &json!({ "name": "x", "text": "1" })))
    };
    let full = (0..100).map(many).find(|said| said.starts_with("Quota"));
    assert_eq!(
        full.as_deref(),
        Some("Quota(\"the principal keeps as many files as it may, all conversations together\")")
    );
    let other =
        call_as(&home, "other", &Conversation::Own, "test/scribe.write", &json!({ "name": "x", "text": "1" }));
    assert!(said_by(other).ends_with("x 1"), "another principal has room of its own");
    // What is granted may be less, or more.
    let name = "test/scribe".parse().expect("a name");
    said(&home, "delete", &json!({ "name": "c2" }));
    home.app.admin().grant(&name, &grants(&["sandbox:files=4"])).expect("a quota");
    assert_eq!(fill("d", 1), "0: Quota(\"the capability keeps at most 4 files in a conversation\")");
}

#[test]
fn a_tool_that_only_reads_changes_nothing() {
    let world = world(png);
    assert_eq!(said(&world.home, "sneak", &json!({ "name": "a" })), "Some(ReadOnly) Some(ReadOnly)");
    let arguments = json!({ "url": format!("https://{HOST}/"), "to": "a" });
    assert_eq!(said(&world.home, "sneak_save", &arguments), "Sandbox(ReadOnly)");
    assert_eq!(world.outside.counts(), (0, 0), "nothing was looked up or dialled");
    assert_eq!(list(&world.home), "");
}

#[test]
fn a_dry_run_plans_files_and_writes_none() {
    let world = world(png);
    write(&world.home, "old.txt", "old");
    let rehearse = CallRequest { dry_run: true, ..request("test/scribe.rehearse", &json!({})) };
    let host = world.home.host();
    let reply = world.home.threads.block_on(host.call(rehearse, CancellationToken::new())).expect("rehearsed");
    assert_eq!(outcome(&Ok(reply)), "new true new.txt");
    assert_eq!(list(&world.home), "old.txt");

    let dry = |arguments: Value| {
        let request = CallRequest { dry_run: true, ..request("test/scribe.save", &arguments) };
        world.home.threads.block_on(host.call(request, CancellationToken::new())).expect("planned")
    };
    let url = format!("https://{HOST}/");
    // What only asks is asked, and its answer is planned.
    let reply = dry(json!({ "url": url, "to": "cat.png", "field": "/data/0/b64_json" }));
    let planned: Vec<_> =
        reply.plan.files.iter().map(|file| (file.name.as_str(), file.action.as_str(), file.bytes)).collect();
    assert_eq!(planned, [("cat.png", "write", 3)]);
    // What may change something is not, and neither is its file.
    let sent = world.upstream.seen().len();
    let reply = dry(json!({ "url": url, "to": "cat.png", "field": "/data/0/b64_json", "method": "POST" }));
    assert_eq!(reply.plan.requests.len(), 1);
    assert_eq!(reply.plan.files.len(), 1);
    assert_eq!(world.upstream.seen().len(), sent);
    assert_eq!(list(&world.home), "old.txt");
    assert!(world.home.records()[0].files.is_empty(), "nothing was done");
}

#[test]
fn records_name_files_and_hold_no_byte_of_them() {
    let world = world(png);
    write(&world.home, "note.txt", "very private words");
    said(
        &world.home,
        "save",
        &json!({ "url": format!("https://{HOST}/"), "to": "cat.png", "field": "/data/0/b64_json" }),
    );
    said(&world.home, "delete", &json!({ "name": "note.txt" }));
    let records = world.home.records();
    let told: Vec<_> = records
        .iter()
        .rev()
        .flat_map(|record| &record.files)
        .map(|file| format!("{} {} {}", file.action, file.name, file.bytes))
        .collect();
    assert_eq!(told, ["write note.txt 18", "write cat.png 3", "delete note.txt 0"]);
    assert!(!format!("{records:?}").contains("very private"));
}

#[test]
fn a_body_becomes_a_file_and_never_comes_into_the_guest() {
    let answer = "x".repeat(3_000_000);
    let world = World::with_settings("[http]\nresponse-bytes = 1000\n", move |_| {
        Answer::new(200, "image/png", answer.clone())
    });
    world.home.install_with(built("scribe"), &grants(ALL));
    let url = format!("https://{HOST}/cat");
    let answered = said(&world.home, "save", &json!({ "url": url, "to": "cat.png" }));
    assert!(answered.starts_with("200 remit://sandbox/test/scribe/cat.png 3000000 "), "{answered}");
    assert!(answered.len() < 500 && !answered.contains("xxxx"), "{answered}");
    let last = json!({ "file": "cat.png", "offset": 2_999_998, "length": 9 });
    assert_eq!(said(&world.home, "read", &last), "xx");
}

#[test]
fn a_field_of_json_becomes_a_file() {
    let world = world(|seen| match seen.path.as_str() {
        "/image" => Answer::json(200, &json!({ "data": [{ "b64_json": "AP9jYXQ=", "more": "x" }] })),
        "/broken" => Answer::json(200, &json!({ "data": "not base64!" })),
        "/none" => Answer::new(204, "text/plain", ""),
        _ => Answer::json(403, &json!({ "error": "no credit" })),
    });
    let save = |path: &str, field: Option<&str>| {
        let url = format!("https://{HOST}{path}");
        said(&world.home, "save", &json!({ "url": url, "to": "cat.png", "field": field }))
    };
    assert!(save("/image", Some("/data/0/b64_json")).starts_with("200 remit://sandbox/test/scribe/cat.png 5 "));
    assert_eq!(read(&world.home, "cat.png"), "\0\u{fffd}cat");
    // Nothing of these is written over it.
    for (path, field, why) in [
        ("/image", "/data/1/b64_json", "its body has no text in the field"),
        ("/broken", "data", "the field of its body is not base64"),
        ("/image", "", "the field has no name"),
    ] {
        let refused = save(path, Some(field));
        assert_eq!(refused, format!("Request(ResponseInvalid({why:?}))"), "{path}");
    }
    // An answer that is no success is no picture: the guest reads why.
    assert_eq!(save("/other", Some("/data/0/b64_json")), "403 body {\"error\":\"no credit\"}");
    assert_eq!(read(&world.home, "cat.png"), "\0\u{fffd}cat");
}

#[test]
fn without_the_sandbox_nothing_is_looked_up_and_nothing_dialled() {
    let world = World::new(png);
    world.home.install_with(built("scribe"), &grants(&["http", "http:api.example.com", "sandbox"]));
    let save = |to: &str, method: &str| {
        said(&world.home, "save", &json!({ "url": format!("https://{HOST}/"), "to": to, "method": method }))
    };
    for (to, method, why) in [
        ("../cat.png", "GET", "Sandbox(InvalidName("),
        ("nul", "GET", "Sandbox(InvalidName("),
        ("cat.png", "HEAD", "Request(ResponseInvalid("),
    ] {
        assert!(save(to, method).starts_with(why), "{to}: {}", save(to, method));
    }
    write(&world.home, "cat.png", "1");
    assert_eq!(save("CAT.png", "GET"), "Sandbox(Collision(\"cat.png\"))");
    assert_eq!(world.outside.counts(), (0, 0));

    // A guest that imports `http` alone has `save` all the same, and gets nothing by it.
    let bare = World::new(png);
    let http_only = remit_guests::Guest::saves(&format!("https://{HOST}/"), "cat.png").with_manifest(&{
        let mut manifest = remit_guests::manifest("bare");
        manifest["uses"] = json!(["http"]);
        manifest["http"] = json!({ "allow": [HOST] });
        manifest
    });
    bare.home.install(http_only);
    assert_eq!(said_by(bare.home.call("test/bare.run", &json!({}))), "1 1", "an error: `not-available`");
    assert_eq!(bare.outside.counts(), (0, 0));
    assert!(bare.home.records()[0].requests.is_empty());
}

#[test]
fn what_is_revoked_while_a_call_runs_counts_for_the_file_and_for_the_next_request() {
    let place: Arc<OnceLock<PathBuf>> = Arc::default();
    let there = Arc::clone(&place);
    let world = world(move |seen| {
        let revoked = remit(there.get().expect("it is known"), &["revoke", "test/scribe", "sandbox"], "");
        assert_eq!(revoked.exit, Some(0), "{revoked:?}");
        png(seen)
    });
    place.set(world.home.path().to_owned()).expect("once");
    let arguments = json!({ "url": format!("https://{HOST}/"), "to": "cat.png" });
    let answered = said(&world.home, "save_twice", &arguments);
    assert_eq!(answered, "Err(Sandbox(NotAvailable)) Err(Sandbox(NotAvailable))");
    assert_eq!((world.upstream.seen().len(), world.outside.counts()), (1, (1, 1)), "the second was not sent");
    assert!(world.home.records()[0].files.is_empty());
    let listed = remit(world.home.path(), &["sandbox", "list", "--json"], "").json();
    assert_eq!(listed, json!([]));
}

#[test]
fn s_17_to_s_24_no_spelling_of_a_value_gets_into_a_file() {
    let spelt = Arc::new(spellings::all(SECRET));
    let answers = Arc::clone(&spelt);
    let world =
        World::with_settings("[http]\nper-minute = 100000\nredactions-per-minute = 100000\n", move |seen| {
            let number: usize = seen.path.trim_start_matches('/').parse().unwrap_or_default();
            Answer::new(200, "text/plain", [b"before ".as_slice(), &answers[number].whole, b" after"].concat())
        });
    world.home.install_with(built("scribe"), &grants(ALL));
    world.set("API_KEY", SECRET);
    let approved: [Approval; 1] = [approval("API_KEY", HOST, 443, &authorization())];
    world.approve("test/scribe", &approved);
    for (number, spelling) in spelt.iter().enumerate() {
        let url = format!("https://{HOST}/{number}");
        let answered = said(&world.home, "save", &json!({ "url": url, "to": "echo.txt", "with_key": true }));
        let file = read(&world.home, "echo.txt");
        assert!(file.contains("[redacted:API_KEY]"), "{number}: {file}");
        assert!(!spelling.is_in(file.as_bytes()), "{}: {file}", spelling.name);
        // S-31: neither the count of bytes nor a header field tells how long a value is.
        assert!(answered.contains(&format!(" {} ", file.len())), "{answered}");
        assert!(!answered.contains(SECRET));
    }
}

#[test]
fn s_44_files_of_people_are_private_and_in_backups() {
    let home = home();
    write(&home, "charts/rain.csv", "a,b\n1,2\n");
    write(&home, "cat.txt", "meow");
    home.app.shutdown();
    let scratch = tempfile::tempdir().expect("a scratch folder");
    let backup = scratch.path().join("backup");
    let made = remit(home.path(), &["backup", backup.to_str().expect("text")], "");
    assert_eq!(made.exit, Some(0), "{made:?}");
    let restored = scratch.path().join("home");
    let done = remit(&restored, &["restore", backup.to_str().expect("text")], "");
    assert_eq!(done.exit, Some(0), "{done:?}");
    let listed = remit(&restored, &["sandbox", "list", "--json"], "").json();
    assert_eq!(
        (&listed[0]["principal"], &listed[0]["files"], &listed[0]["bytes"]),
        (&json!("test"), &json!(2), &json!(12))
    );
    let id = listed[0]["id"].as_str().expect("an id");
    let folder = scratch.path().join("out");
    let exported = remit(&restored, &["sandbox", "export", id, folder.to_str().expect("text")], "");
    assert_eq!(exported.exit, Some(0), "{exported:?}");
    let file = folder.join("test/scribe/charts/rain.csv");
    assert_eq!(std::fs::read_to_string(&file).expect("a file"), "a,b\n1,2\n");
    let mode = |path: &std::path::Path| {
        std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(path).expect("there").permissions()) & 0o777
    };
    assert_eq!((mode(&file), mode(&folder), mode(file.parent().expect("a folder"))), (0o600, 0o700, 0o700));
    let again = remit(&restored, &["sandbox", "export", id, folder.to_str().expect("text")], "");
    assert_eq!(again.exit, Some(2), "it is never written over: {again:?}");
}

#[test]
fn a_call_that_wrote_is_not_made_again_by_itself() {
    let home = home();
    let reply =
        call_as(&home, "test", &Conversation::Own, "test/scribe.write", &json!({ "name": "a", "text": "1" }));
    assert!(reply.is_ok());
    let records = home.records();
    assert_eq!(records.len(), 1);
    assert_eq!(records[0].files.len(), 1);
}
