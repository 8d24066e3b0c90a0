//! From one version to another and back, by the program, and a home that is made equal to a lock file: what is asked,
//! what stands, and what did not happen. The ids are those of the table of supply chain attacks.

use std::collections::BTreeMap;
use std::path::Path;

use remit::registry::{Against, Digest, Exact, Recall};
use remit::scheduler::next::Timing;
use remit::scheduler::{Definition, Status, Task};
use remit::versions::lock;
use remit_guests::Guest;
use serde_json::{Value, json};

use crate::support::client::Client;
use crate::support::home::{Home, built, outcome, remit, renamed};

/// A folder with files, and a home in it.
struct Desk {
    folder: tempfile::TempDir,
}

impl Desk {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().expect("a folder") }
    }

    fn home(&self, name: &str) -> std::path::PathBuf {
        self.folder.path().join(name)
    }

    fn file(&self, name: &str, bytes: &[u8]) -> String {
        let path = self.folder.path().join(name);
        std::fs::write(&path, bytes).expect("a file");
        path.display().to_string()
    }
}

/// `test/probe` in another version, with these changes to its manifest.
fn probe(version: &str, change: impl Fn(&mut Value)) -> Vec<u8> {
    renamed(&built("probe"), |manifest| {
        manifest["version"] = json!(version);
        change(manifest);
    })
}

fn same(_: &mut Value) {}

/// Version and grants of an install.
fn state(home: &Path, name: &str) -> (String, Vec<String>) {
    let value = remit(home, &["show", name, "--json"], "").json();
    let grants = value["grants"].as_array().expect("grants").iter().map(|grant| {
        let namespace = grant["namespace"].as_str().expect("a namespace");
        grant["entry"].as_str().map_or(namespace.to_owned(), |entry| format!("{namespace}:{entry}"))
    });
    (value["version"].as_str().expect("a version").to_owned(), grants.collect())
}

fn verbs(home: &Path, name: &str) -> Vec<String> {
    let records = remit(home, &["audit", "--json", "--capability", name], "").json();
    let all = records.as_array().expect("records").iter();
    all.map(|record| record["tool"].as_str().unwrap_or_default().to_owned())
        .filter(|tool| tool.starts_with("versions."))
        .collect()
}

const GRANTED: [&str; 2] = ["http", "http:api.example.com"];

fn installed(desk: &Desk, home: &Path) {
    let file = desk.file("probe-1.0.0.wasm", &built("probe"));
    let ended = remit(home, &["install", &file, "--grant", "http:api.example.com"], "");
    assert_eq!(ended.exit, Some(0), "{}", ended.stderr);
}

/// What is wider, and how the manifest says so.
type Wider<'a> = (&'a str, &'a str, &'a str, &'a dyn Fn(&mut Value));

#[test]
fn c_12_only_what_widened_is_asked_and_narrowing_is_not() {
    let desk = Desk::new();
    let home = desk.home("home");
    installed(&desk, &home);
    // Less, or as much: nobody is asked, nothing is lost that is still asked for.
    let narrower = probe("1.1.0", |manifest| {
        manifest["http"]["allow"] = json!(["api.example.com"]);
        manifest["limits"]["httpRequests"] = json!(2);
    });
    let ended = remit(&home, &["upgrade", &desk.file("narrower.wasm", &narrower)], "");
    assert_eq!(ended.exit, Some(0), "{}", ended.stderr);
    assert_eq!(state(&home, "test/probe"), ("1.1.0".to_owned(), GRANTED.map(str::to_owned).to_vec()));

    let wider: [Wider; 6] = [
        ("a host", "/http/allow", "--grant none", &|m| {
            m["http"]["allow"] = json!(["api.example.com", "b.example.org"])
        }),
        ("a wildcard", "/http/allow", "--grant none", &|m| {
            m["http"]["allow"] = json!(["api.example.com", "*.example.com"])
        }),
        ("a port", "/http/allow", "--grant none", &|m| {
            m["http"]["allow"] = json!(["api.example.com", "api.example.com:8443"])
        }),
        ("requests", "/limits", "--agree limits", &|m| {
            m["http"]["allow"] = json!(["api.example.com"]);
            m["limits"]["httpRequests"] = json!(5);
        }),
        ("fuel", "/limits", "--agree limits", &|m| {
            m["http"]["allow"] = json!(["api.example.com"]);
            m["limits"] = json!({ "httpRequests": 2, "fuel": 9_000_000_000_u64 });
        }),
        ("a loop", "/loops", "--agree loops", &|m| {
            m["http"]["allow"] = json!(["api.example.com"]);
            m["limits"]["httpRequests"] = json!(2);
            m["uses"] = json!(["http", "loops"]);
            m["loops"] = json!([{
                "name": "often", "scheduleType": "interval", "scheduleExpression": "1h", "tool": "fetch",
                "input": { "url": "https://api.example.com/" },
            }]);
        }),
    ];
    for (what, _, said, change) in wider {
        let file = desk.file(
            "wider.wasm",
            &probe("1.2.0", |manifest| {
                manifest["limits"]["httpRequests"] = json!(2);
                change(manifest);
            }),
        );
        let before = state(&home, "test/probe");
        let ended = remit(&home, &["upgrade", &file], "");
        assert_eq!(ended.exit, Some(2), "{what}: {}", ended.stderr);
        assert!(ended.stderr.contains("wider"), "{what}: {}", ended.stderr);
        let word = said.split(' ').next_back().expect("a word");
        assert!(ended.stderr.contains(word), "{what}: {}", ended.stderr);
        assert_eq!(state(&home, "test/probe"), before, "{what}: nothing was taken");

        let mut arguments = vec!["upgrade", file.as_str(), "--grant", "none"];
        if said.starts_with("--agree") {
            arguments.extend(said.split(' '));
        }
        let ended = remit(&home, &arguments, "");
        assert_eq!(ended.exit, Some(0), "{what}: {}", ended.stderr);
        let (version, grants) = state(&home, "test/probe");
        assert_eq!(version, "1.2.0");
        assert_eq!(grants, GRANTED, "{what}: what was asked more was not given");
        assert_eq!(remit(&home, &["rollback", "test/probe"], "").exit, Some(0));
        assert_eq!(state(&home, "test/probe"), before);
        // The next of these has the same number and other bytes: it is another world's.
        remit(&home, &["uninstall", "test/probe"], "");
        let file = desk.file("narrower.wasm", &narrower);
        remit(&home, &["install", &file, "--grant", "http:api.example.com"], "");
    }
    // The twin: a yes gives it.
    let file = desk.file(
        "wider.wasm",
        &probe("1.2.0", |manifest| {
            manifest["http"]["allow"] = json!(["api.example.com", "b.example.org"]);
            manifest["limits"]["httpRequests"] = json!(2);
        }),
    );
    let ended = remit(&home, &["upgrade", &file, "--grant", "http:b.example.org"], "");
    assert_eq!(ended.exit, Some(0), "{}", ended.stderr);
    assert!(state(&home, "test/probe").1.contains(&"http:b.example.org".to_owned()));
}

#[test]
fn c_10_other_words_alone_are_shown_and_want_a_yes() {
    let desk = Desk::new();
    let home = desk.home("home");
    installed(&desk, &home);
    let file = desk.file(
        "words.wasm",
        &probe("1.0.1", |manifest| {
            manifest["description"] = json!("Sends everything you know.");
        }),
    );
    let ended = remit(&home, &["upgrade", &file], "");
    assert_eq!(ended.exit, Some(2), "{}", ended.stderr);
    for shown in ["Sends what a test tells it to.", "Sends everything you know.", "--agree changes"] {
        assert!(ended.stderr.contains(shown), "{shown}: {}", ended.stderr);
    }
    assert_eq!(state(&home, "test/probe").0, "1.0.0", "nothing was taken");
    let ended = remit(&home, &["upgrade", &file, "--agree", "limits"], "");
    assert_eq!(ended.exit, Some(2), "another word is no yes to this");
    let ended = remit(&home, &["upgrade", &file, "--agree", "changes"], "");
    assert_eq!(ended.exit, Some(0), "{}", ended.stderr);
    assert_eq!(state(&home, "test/probe"), ("1.0.1".to_owned(), GRANTED.map(str::to_owned).to_vec()));
}

#[test]
fn c_13_a_downgrade_is_allowed_recorded_and_compared_with_the_form_of_documents() {
    let desk = Desk::new();
    let home = desk.home("home");
    let keeper = |version: &str, format: u32| {
        renamed(&built("keeper"), |manifest| {
            manifest["version"] = json!(version);
            if format > 1 {
                manifest["entityFormats"] = json!({ "notes": format });
            }
        })
    };
    let file = |version: &str, format| desk.file(&format!("keeper-{version}.wasm"), &keeper(version, format));
    let (one, two, three) = (file("1.0.0", 1), file("1.1.0", 1), file("2.0.0", 2));
    let run = |arguments: &[&str]| remit(&home, arguments, "");
    assert_eq!(run(&["install", &two, "--yes"]).exit, Some(0));
    assert_eq!(
        run(&["call", "test/keeper.put", r#"{"entity":"notes","key":"a","value":"1"}"#, "--yes"]).exit,
        Some(0)
    );

    // Downwards, while the form is the same.
    let ended = run(&["upgrade", &one]);
    assert_eq!(ended.exit, Some(0), "{}", ended.stderr);
    assert!(ended.stderr.contains("downgrade from 1.1.0 to 1.0.0"), "{}", ended.stderr);
    assert_eq!(verbs(&home, "test/keeper"), ["versions.downgrade"]);

    // Upwards to a newer form, and no way back while there are documents.
    assert_eq!(run(&["upgrade", &three, "--yes"]).exit, Some(0));
    for back in [
        &["rollback", "test/keeper", "--json"][..],
        &["upgrade", &two, "--yes", "--json"],
        &["install", &two, "--yes", "--json"],
    ] {
        let ended = run(back);
        assert_eq!(
            (ended.exit, ended.code().as_str()),
            (Some(1), "entities/format"),
            "{back:?}: {}",
            ended.stderr
        );
        assert_eq!(state(&home, "test/keeper").0, "2.0.0", "{back:?}");
    }
    let kept = run(&["call", "test/keeper.get", r#"{"entity":"notes","key":"a"}"#]);
    assert!(kept.stdout.contains('1'), "documents survive: {}", kept.stdout);
    // Without documents there is nothing that it could not read.
    assert_eq!(run(&["call", "test/keeper.delete", r#"{"entity":"notes","key":"a"}"#, "--yes"]).exit, Some(0));
    let ended = run(&["rollback", "test/keeper"]);
    assert_eq!(ended.exit, Some(0), "{}", ended.stderr);
    assert_eq!(state(&home, "test/keeper").0, "1.0.0");
}

#[test]
fn a_rollback_gives_back_what_was_given_and_nothing_that_was_taken_back() {
    let desk = Desk::new();
    let home = desk.home("home");
    let file = desk.file("probe.wasm", &built("probe"));
    remit(&home, &["install", &file, "--grant", "http:api.example.com", "--grant", "http:*.cdn.example.com"], "");
    let next = desk.file("next.wasm", &probe("1.1.0", same));
    assert_eq!(remit(&home, &["upgrade", &next], "").exit, Some(0));
    assert_eq!(state(&home, "test/probe").1.len(), 3, "all of it stands");
    assert_eq!(remit(&home, &["revoke", "test/probe", "http", "*.cdn.example.com"], "").exit, Some(0));
    let ended = remit(&home, &["rollback", "test/probe"], "");
    assert_eq!(ended.exit, Some(0), "{}", ended.stderr);
    assert_eq!(state(&home, "test/probe"), ("1.0.0".to_owned(), GRANTED.map(str::to_owned).to_vec()));
    assert_eq!(verbs(&home, "test/probe"), ["versions.rollback", "versions.upgrade"]);
    // There is nothing before it, and no third version.
    for (arguments, code) in [
        (&["rollback", "test/probe", "--json"][..], "registry/not-kept"),
        (&["rollback", "test/probe", "--to", "3.0.0", "--json"], "registry/not-kept"),
        (&["rollback", "test/probe", "--to", "^1", "--json"], "registry/inexact-version"),
        (&["rollback", "test/other", "--json"], "registry/not-found"),
    ] {
        assert_eq!(remit(&home, arguments, "").code(), code, "{arguments:?}");
    }
    // What a rollback left is there for whoever names it.
    assert_eq!(remit(&home, &["rollback", "test/probe", "--to", "1.1.0"], "").exit, Some(0));
    assert_eq!(state(&home, "test/probe").0, "1.1.0");
    // What is uninstalled leaves nothing to return to, and no bytes.
    assert_eq!(remit(&home, &["uninstall", "test/probe"], "").exit, Some(0));
    assert_eq!(std::fs::read_dir(home.join("components/sha256")).expect("a folder").count(), 0);
}

#[test]
fn every_open_session_sees_the_list_of_the_other_version() {
    let desk = Desk::new();
    let home = desk.home("home");
    let with = |version: &str, tool: &str| {
        renamed(&Guest::done().capability("one"), |manifest| {
            manifest["version"] = json!(version);
            manifest["tools"][0]["name"] = json!(tool);
        })
    };
    let (old, new) = (desk.file("old.wasm", &with("1.0.0", "run")), desk.file("new.wasm", &with("2.0.0", "walk")));
    remit(&home, &["install", &old, "--yes"], "");
    let mut clients = [Client::start(&home), Client::start(&home)];
    for client in &mut clients {
        assert_eq!(client.tools(), ["one__run"]);
    }
    for (command, listed) in
        [(&["upgrade", &new, "--yes"][..], "one__walk"), (&["rollback", "test/one"], "one__run")]
    {
        let ended = remit(&home, command, "");
        assert_eq!(ended.exit, Some(0), "{}", ended.stderr);
        for client in &mut clients {
            let before = client.notified;
            assert_eq!(client.tools(), [listed], "{command:?}");
            // Each is told, or was while it asked.
            while client.notified == before {
                client.receive();
            }
        }
    }
}

fn recall(against: Against) -> Recall {
    Recall { against, reason: Some("it leaks".to_owned()), source: Some("main".to_owned()), at: 1_767_600_000_000 }
}

fn release(text: &str) -> Exact {
    text.parse().expect("a release")
}

#[test]
fn c_08_what_was_yanked_goes_on_where_it_is_and_comes_nowhere_new() {
    let home = Home::new();
    home.install(Guest::done().capability("one"));
    let one = release("test/one@1.0.0");
    let heard = home.app.admin().hear(&one, &recall(Against::Yanked)).expect("heard");
    assert!(heard.is_news && heard.is_pinned && heard.paused == 0, "{heard:?}");
    assert_eq!(outcome(&home.call("test/one.run", &json!({}))), "done", "who has it keeps it");
    let listed = remit(home.path(), &["list"], "");
    assert!(listed.stdout.contains("1.0.0 yanked"), "{}", listed.stdout);
    let called = remit(home.path(), &["call", "test/one.run", "{}", "--yes"], "");
    assert!(called.stderr.contains("warning") && called.stderr.contains("yanked"), "{}", called.stderr);
    // Once it is gone, it does not come again.
    home.app.admin().uninstall(&one.name).expect("removed");
    let offer = home.app.admin().offer(Guest::done().capability("one")).expect("an offer");
    let error = home.app.admin().install(offer, &[]).expect_err("refused");
    assert_eq!(error.kind.code(), "registry/yanked");
    assert!(home.app.admin().installed().expect("installs").entries.is_empty());
}

#[test]
fn c_09_what_was_revoked_stops_at_once_and_its_loops_are_paused() {
    let home = Home::new();
    home.install(Guest::done().capability("one"));
    home.install(Guest::done().capability("two"));
    for slug in ["one", "two"] {
        let tool = format!("test/{slug}.run").parse().expect("a tool");
        let task = Task::Tool { tool, input: serde_json::Map::new() };
        let definition = Definition::new(slug.to_owned(), Timing::Interval { seconds: 3600 }, task);
        home.app.admin().create_loop(definition).expect("a loop");
    }
    let mut client = Client::start(home.path());
    assert_eq!(client.tools(), ["one__run", "two__run"]);
    assert_eq!(client.call("one__run"), "ok");

    let one = release("test/one@1.0.0");
    let heard = home.app.admin().hear(&one, &recall(Against::Revoked)).expect("heard");
    assert!(heard.is_news && heard.is_pinned && heard.paused == 1, "{heard:?}");
    // At once, in the other process too.
    assert_eq!(outcome(&home.call("test/one.run", &json!({}))), "registry/revoked");
    assert_ne!(client.call("one__run"), "ok");
    assert_eq!(client.tools(), ["two__run"]);
    assert_eq!(
        home.records()
            .iter()
            .filter(|record| record.outcome == "registry/revoked")
            .map(|record| record.usage.fuel)
            .max(),
        Some(0),
        "no guest ran"
    );
    let loops = home.app.admin().loops(None).expect("loops");
    let status = |name: &str| loops.iter().find(|found| found.definition.name == name).expect("a loop").status;
    assert_eq!((status("one"), status("two")), (Status::Paused, Status::Active));
    assert_eq!(verbs(home.path(), "test/one"), ["versions.revoked"]);
    // Saying it again is no news, and a yank does not soften it.
    assert!(!home.app.admin().hear(&one, &recall(Against::Yanked)).expect("heard").is_news);
    assert_eq!(outcome(&home.call("test/one.run", &json!({}))), "registry/revoked");
    // Nor does it return: not by an install, not by a rollback.
    let next = renamed(&Guest::done().capability("one"), |manifest| manifest["version"] = json!("1.0.1"));
    home.install(next);
    assert_eq!(outcome(&home.call("test/one.run", &json!({}))), "done", "a version that is mended runs");
    let error = home.app.admin().roll_back(&one.name, None).expect_err("refused");
    assert_eq!(error.kind.code(), "registry/revoked");
    let offer = home.app.admin().offer(Guest::done().capability("one")).expect("an offer");
    assert_eq!(home.app.admin().install(offer, &[]).expect_err("refused").kind.code(), "registry/revoked");
    assert_eq!(outcome(&home.call("test/one.run", &json!({}))), "done");
}

#[test]
fn a_home_is_made_equal_to_a_lock_without_a_question() {
    let desk = Desk::new();
    let (here, there) = (desk.home("here"), desk.home("there"));
    installed(&desk, &here);
    let echo = desk.file("echo.wasm", &built("echo"));
    remit(&here, &["install", &echo, "--yes"], "");
    let file = desk.folder.path().join("remit.lock").display().to_string();
    assert_eq!(remit(&here, &["lock", "--file", &file], "").exit, Some(0));
    let text = std::fs::read_to_string(&file).expect("a lock");
    assert_eq!(remit(&here, &["lock", "--file", &file, "--check"], "").exit, Some(0));

    // Another home has nothing of it.
    let ended = remit(&there, &["lock", "--file", &file, "--check", "--json"], "");
    assert_eq!((ended.exit, ended.code().as_str()), (Some(1), "lock/differs"));
    let ended = remit(&there, &["sync", "--locked", "--file", &file, "--json"], "");
    assert_eq!(ended.code(), "lock/no-source", "{}", ended.stderr);
    assert!(remit(&there, &["list", "--json"], "").json().as_array().expect("a list").is_empty());

    let probe_file = desk.home("probe-1.0.0.wasm").display().to_string();
    let sync = ["sync", "--locked", "--file", &file, &probe_file, &echo];
    let ended = remit(&there, &sync, "");
    assert_eq!(ended.exit, Some(0), "{}", ended.stderr);
    assert_eq!(state(&there, "test/probe"), state(&here, "test/probe"));
    assert_eq!(remit(&there, &["lock", "--file", &file, "--check"], "").exit, Some(0));
    let again = desk.folder.path().join("again.lock").display().to_string();
    remit(&there, &["lock", "--file", &again], "");
    assert_eq!(std::fs::read_to_string(&again).expect("a lock"), text, "the same decisions, the same text");

    // What was given beside the lock goes, what it does not name stays until it is pruned.
    remit(&there, &["grant", "test/probe", "http", "*.cdn.example.com"], "");
    let keeper = desk.file("keeper.wasm", &built("keeper"));
    remit(&there, &["install", &keeper, "--yes"], "");
    assert_eq!(remit(&there, &["sync", "--locked", "--file", &file], "").exit, Some(0));
    assert_eq!(state(&there, "test/probe").1, GRANTED);
    assert_eq!(state(&there, "test/keeper").0, "1.0.0");
    assert_eq!(remit(&there, &["sync", "--locked", "--file", &file, "--prune"], "").exit, Some(0));
    assert_eq!(remit(&there, &["show", "test/keeper", "--json"], "").code(), "registry/not-found");
    // Nothing is followed by accident.
    assert_eq!(remit(&there, &["sync", "--file", &file], "").exit, Some(2));
}

#[test]
fn c_26_c_27_c_28_c_29_a_lock_that_was_edited_changes_nothing() {
    let desk = Desk::new();
    let home = desk.home("home");
    installed(&desk, &home);
    let file = desk.folder.path().join("remit.lock").display().to_string();
    remit(&home, &["lock", "--file", &file], "");
    let text = std::fs::read_to_string(&file).expect("a lock");
    let digest = Digest::of(&built("probe")).to_string();
    let hex = digest.trim_start_matches("sha256:").to_owned();
    let flipped = format!("{}{}", if hex.starts_with('0') { '1' } else { '0' }, &hex[1..]);
    let line = format!("component-digest = \"{digest}\"\n");
    let at = text.lines().position(|line| line.contains(&digest)).expect("it is there") + 1;
    let cases = [
        ("upper case", text.replace(&hex, &hex.to_uppercase()), "lock/invalid-digest"),
        ("sha512", text.replace(&digest, &digest.replace("sha256", "sha512")), "lock/invalid-digest"),
        ("63 digits", text.replace(&hex, &hex[1..]), "lock/invalid-digest"),
        ("no prefix", text.replace(&digest, &hex), "lock/invalid-digest"),
        ("no digest", text.replace(&line, ""), "lock/unpinned"),
        ("a range", text.replace("\"1.0.0\"", "\"^1\""), "registry/inexact-version"),
        ("latest", text.replace("\"1.0.0\"", "\"latest\""), "registry/inexact-version"),
        ("build metadata", text.replace("\"1.0.0\"", "\"1.0.0+a\""), "registry/inexact-version"),
        ("other bytes", text.replace(&hex, &flipped), "lock/no-source"),
        ("another version", text.replace("\"1.0.0\"", "\"1.0.1\""), "lock/mismatch"),
        ("another name", text.replace("test/probe", "test/prone"), "lock/mismatch"),
        ("another host", text.replace("http:api.example.com", "http:evil.example.com"), "call/not-allowed"),
    ];
    remit(&home, &["revoke", "test/probe", "http"], "");
    let before = state(&home, "test/probe");
    for (what, edited, code) in cases {
        assert_ne!(edited, text, "{what}: nothing was edited");
        std::fs::write(&file, &edited).expect("room");
        let ended = remit(&home, &["sync", "--locked", "--file", &file, "--json"], "");
        assert_eq!(ended.code(), code, "{what}: {}", ended.stderr);
        if code == "lock/invalid-digest" {
            assert!(ended.stderr.contains(&format!("line {at}: ")), "{what}: {}", ended.stderr);
        }
        assert_eq!(state(&home, "test/probe"), before, "{what}: nothing was taken and nothing given");
    }
    // The twin: as it was written it is followed.
    std::fs::write(&file, &text).expect("room");
    assert_eq!(remit(&home, &["sync", "--locked", "--file", &file], "").exit, Some(0));
    assert_eq!(state(&home, "test/probe").1, GRANTED);
}

#[test]
fn c_28_c_29_a_release_is_named_by_one_exact_version() {
    let desk = Desk::new();
    let home = desk.home("home");
    installed(&desk, &home);
    for word in ["latest", "*", "^1", "1", "1.2", ">=1.0.0", "", "1.0.0+a", "1.0.0+b"] {
        for command in ["install", "upgrade"] {
            let ended = remit(&home, &[command, &format!("test/probe@{word}"), "--yes", "--json"], "");
            assert_eq!(ended.code(), "registry/inexact-version", "{command} {word}: {}", ended.stderr);
        }
    }
    // Metadata makes no other version: bytes that say some are refused, and the ones that are there stay.
    let before = remit(&home, &["show", "test/probe", "--json"], "").json()["digest"].clone();
    for version in ["1.0.0+a", "1.0.0+b"] {
        let file = desk.file("meta.wasm", &probe(version, same));
        for command in ["install", "upgrade"] {
            let ended = remit(&home, &[command, &file, "--yes", "--json"], "");
            assert_eq!(ended.code(), "manifest/invalid", "{command} {version}: {}", ended.stderr);
        }
    }
    assert_eq!(remit(&home, &["show", "test/probe", "--json"], "").json()["digest"], before);
}

#[test]
fn c_01_what_came_is_compared_with_what_was_decided() {
    let home = Home::new();
    home.install(built("echo"));
    let locked = home.app.admin().lock().expect("a lock");
    let name = "test/echo".parse().expect("a name");
    home.app.admin().uninstall(&name).expect("removed");
    let digest = locked.entries[0].component;
    let mut changed = built("echo");
    *changed.last_mut().expect("bytes") ^= 1;
    let other = renamed(&built("echo"), |manifest| manifest["description"] = json!("Other."));
    for bytes in [changed, other, Vec::new()] {
        let fetched = BTreeMap::from([(digest, bytes)]);
        let error = home.app.admin().follow(&locked, &fetched, false).expect_err("refused");
        assert_eq!(error.kind.code(), "registry/digest-mismatch");
        assert!(home.app.admin().installed().expect("installs").entries.is_empty());
    }
    let fetched = BTreeMap::from([(digest, built("echo"))]);
    home.app.admin().follow(&locked, &fetched, false).expect("the twin");
    assert_eq!(lock::differences(&locked, &home.app.admin().lock().expect("a lock")), [""; 0]);
}

#[test]
fn c_02_a_file_that_is_swapped_after_it_was_read_is_not_what_is_installed() {
    let desk = Desk::new();
    let home = Home::new();
    let file = desk.file("one.wasm", &Guest::done().capability("one"));
    let bytes = remit::component::read(Path::new(&file)).expect("read");
    let offer = home.app.admin().offer(bytes).expect("an offer");
    let (digest, shown) = (offer.capability.digest, offer.bytes.clone());
    // Between what was shown and what is compiled and pinned.
    desk.file("one.wasm", &Guest::traps().capability("one"));
    home.threads.block_on(home.app.prepare(&offer.bytes)).expect("compiled");
    home.app.admin().install(offer, &[]).expect("installed");
    assert_eq!(Digest::of(&shown), digest);
    assert_eq!(home.app.admin().bytes(&digest).expect("stored"), shown);
    assert_eq!(outcome(&home.call("test/one.run", &json!({}))), "done");
}

#[test]
fn c_04_a_flipped_byte_anywhere_in_a_home_is_refused_with_its_own_code() {
    // In the artifact.
    let home = Home::new();
    home.install(Guest::done().capability("one"));
    let digest = home.app.admin().lock().expect("a lock").entries[0].component;
    let path = home.path().join("components/sha256").join(format!("{}.wasm", digest.hex()));
    let good = std::fs::read(&path).expect("stored");
    let mut bad = good.clone();
    let middle = bad.len() / 2;
    bad[middle] ^= 1;
    std::fs::write(&path, &bad).expect("room");
    assert_eq!(outcome(&home.call("test/one.run", &json!({}))), "registry/digest-mismatch");
    std::fs::write(&path, &good).expect("room");
    assert_eq!(outcome(&home.call("test/one.run", &json!({}))), "done", "the twin");

    // In the compiled code, under the right name: it is made anew from the bytes, and never run.
    let home = Home::new();
    home.install(Guest::done().capability("one"));
    assert_eq!(outcome(&home.call("test/one.run", &json!({}))), "done");
    let compiled: Vec<_> = walk(&home.path().join("compiled"));
    assert!(!compiled.is_empty());
    for file in &compiled {
        let mut bytes = std::fs::read(file).expect("compiled code");
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        std::fs::write(file, bytes).expect("room");
    }
    let damaged: Vec<_> = compiled.iter().map(|file| std::fs::read(file).expect("code")).collect();
    let called = remit(home.path(), &["call", "test/one.run", "{}", "--yes"], "");
    assert!(called.stdout.contains("done"), "{called:?}");
    for (file, damaged) in compiled.iter().zip(damaged) {
        assert_ne!(std::fs::read(file).ok(), Some(damaged), "what was damaged is not kept");
    }

    // In the database: the digest of a pin, and what is stored of a manifest.
    let rows = [
        (
            "UPDATE installs SET digest = 'sha256:' || (CASE substr(digest, 8, 1) WHEN '0' THEN '1' ELSE '0' END)
          || substr(digest, 9)",
            "registry/digest-mismatch",
        ),
        (
            "UPDATE installs SET manifest = replace(manifest, '\"readOnly\":false', '\"readOnly\":true'), installed_at = installed_at + 1",
            "registry/manifest-mismatch",
        ),
        (
            "UPDATE installs SET manifest = replace(manifest, '\"Small\"', '\"Smell\"'), installed_at = installed_at + 1",
            "registry/manifest-mismatch",
        ),
    ];
    for (row, code) in rows {
        let home = Home::new();
        home.install(renamed(&Guest::done().capability("one"), |manifest| {
            manifest["title"] = json!("Small");
            manifest["tools"][0]["readOnly"] = json!(false);
            manifest["tools"][0]["destructive"] = json!(true);
        }));
        let database = rusqlite::Connection::open(home.path().join("remit.db")).expect("the database");
        let changed = database.execute(row, []);
        match changed {
            Ok(changed) => assert_eq!(changed, 1, "{row}"),
            // Grants hang on the digest: the database itself may refuse.
            Err(error) => panic!("{row}: {error}"),
        }
        drop(database);
        let before = remit(home.path(), &["show", "test/one", "--json"], "");
        let ended = remit(home.path(), &["call", "test/one.run", "{}", "--yes", "--json"], "");
        assert_eq!(ended.code(), code, "{row}: {} {}", ended.stderr, before.stdout);
        assert!(!ended.stdout.contains("done"), "nothing ran");
    }
}

fn walk(folder: &Path) -> Vec<std::path::PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.path().is_dir() {
            files.extend(walk(&entry.path()));
        } else {
            files.push(entry.path());
        }
    }
    files
}
