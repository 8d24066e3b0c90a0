//! Documents, prompts and proposals on the one path: known before a guest runs, recorded, bounded, and unable to
//! change anything.

use std::collections::BTreeMap;

use remit::call::{Content, Contents, Draft, Failure, Proposals, Subject, Visit};
use remit::client::Client;
use remit::error::ErrorKind;
use remit::policy::Identity;
use remit_guests::{Guest, manifest};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::support::home::{Home, outcome};

/// A capability `test/SLUG` with a document, a family of them and a prompt.
fn library(guest: &Guest, slug: &str, change: impl FnOnce(&mut Value)) -> Vec<u8> {
    let mut manifest = manifest(slug);
    manifest["resources"] = json!([{ "uri": "note:all", "name": "all", "description": "All notes." }]);
    manifest["resourceTemplates"] =
        json!([{ "uriTemplate": "note:id/{id}", "name": "note", "description": "One note." }]);
    manifest["prompts"] = json!([{
        "name": "sum_up", "description": "Sums up.",
        "arguments": [{ "name": "topic", "description": "Of what.", "required": true },
                      { "name": "style", "description": "How." }],
    }]);
    change(&mut manifest);
    guest.with_manifest(&manifest)
}

fn visit(slug: &str) -> Visit {
    Visit {
        caller: Identity::operator("test"),
        capability: format!("test/{slug}").parse().expect("a name"),
        client: Client::default(),
        locale: None,
    }
}

/// The text at an address, or the code of the error.
fn read(home: &Home, slug: &str, uri: &str) -> String {
    match home.threads.block_on(home.host().read(visit(slug), uri, CancellationToken::new())) {
        Ok(documents) => {
            let texts = documents.iter().map(|document| match &document.contents {
                Contents::Text(text) => format!("{} {text}", document.uri),
                Contents::Blob(_) => "bytes".to_owned(),
            });
            texts.collect::<Vec<_>>().join(", ")
        }
        Err(failure) => failure.error.kind.code().to_owned(),
    }
}

fn prompt(home: &Home, slug: &str, name: &str, arguments: &[(&str, &str)]) -> String {
    let arguments: BTreeMap<_, _> =
        arguments.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    match home.threads.block_on(home.host().prompt(visit(slug), name, arguments, CancellationToken::new())) {
        Ok(prompt) => format!("{:?}", prompt.messages.iter().map(|message| &message.content).collect::<Vec<_>>()),
        Err(failure) => failure.error.kind.code().to_owned(),
    }
}

fn complete(home: &Home, slug: &str, subject: Subject, name: &str) -> Result<Proposals, Failure> {
    let draft = Draft { subject, name: name.to_owned(), value: "d".to_owned(), others: BTreeMap::new() };
    home.threads.block_on(home.host().complete(visit(slug), draft, CancellationToken::new()))
}

fn of_prompt(name: &str) -> Subject {
    Subject::Prompt(name.to_owned())
}

fn of_template(form: &str) -> Subject {
    Subject::Template(form.to_owned())
}

#[test]
fn what_is_declared_is_given_and_recorded_as_what_it_is() {
    let home = Home::new();
    home.install(library(&Guest::done().with_documents(), "library", |_| {}));
    assert_eq!(read(&home, "library", "note:all"), "note:all done");
    assert_eq!(read(&home, "library", "note:id/private-7"), "note:id/private-7 done");
    let message = format!("{:?}", [Content::Text("done".to_owned())]);
    assert_eq!(prompt(&home, "library", "sum_up", &[("topic", "cats")]), message);
    let proposals = complete(&home, "library", of_prompt("sum_up"), "topic").expect("proposals");
    assert_eq!(proposals, Proposals { values: vec!["done".to_owned()], total: None, more: false });
    assert!(complete(&home, "library", of_template("note:id/{id}"), "id").is_ok());

    let records = home.records();
    let told: Vec<_> = records.iter().rev().map(|record| (record.tool.as_str(), record.outcome.as_str())).collect();
    assert_eq!(
        told,
        [
            ("resources/read note:all", "ok"),
            ("resources/read note:id/{id}", "ok"),
            ("prompts/get sum_up", "ok"),
            ("completion/complete sum_up", "ok"),
            ("completion/complete note:id/{id}", "ok"),
        ]
    );
    assert!(records.iter().all(|record| record.usage.fuel > 0 && record.digest.is_some()));
    assert!(!format!("{records:?}").contains("private-7"), "what fills a form is an argument");
}

#[test]
fn what_is_not_declared_runs_no_guest() {
    let home = Home::new();
    home.install(library(&Guest::done().with_documents(), "library", |_| {}));
    let long = format!("note:id/{}", "a".repeat(100_000));
    let unknown = [
        ("library", "note:other"), ("library", "note:id/"), ("library", "note:id/a/b"), ("library", "NOTE:all"),
        ("library", "note:all\u{202e}"), ("library", ""), ("library", "file:///etc/passwd"), ("nothing", "note:all"),
        ("library", "note:id/a\n"),
    ];
    for (slug, uri) in unknown {
        assert_eq!(read(&home, slug, uri), "call/unknown-resource", "{slug} {uri:?}");
    }
    assert_eq!(prompt(&home, "library", "other", &[]), "call/unknown-prompt");
    assert_eq!(prompt(&home, "nothing", "sum_up", &[]), "call/unknown-prompt");
    let wrong_arguments: [&[(&str, &str)]; 4] =
        [&[], &[("topic", "")], &[("style", "short")], &[("topic", "cats"), ("other", "x")]];
    for arguments in wrong_arguments {
        assert_eq!(prompt(&home, "library", "sum_up", arguments), "call/invalid-input", "{arguments:?}");
    }
    assert_eq!(prompt(&home, "library", "sum_up", &[("topic", &long.repeat(3))]), "call/invalid-input");
    let drafts = [
        (of_prompt("other"), "topic", ErrorKind::UnknownPrompt),
        (of_prompt("sum_up"), "other", ErrorKind::InvalidInput),
        (of_template("note:id/1"), "id", ErrorKind::UnknownResource),
        (of_template("note:id/{id}"), "other", ErrorKind::InvalidInput),
    ];
    for (subject, name, expected) in drafts {
        let failure = complete(&home, "library", subject.clone(), name).expect_err("unknown");
        assert_eq!(failure.error.kind, expected, "{subject:?} {name}");
    }
    for record in home.records() {
        assert_eq!((record.usage.fuel, record.usage.host_calls), (0, 0), "no guest ran: {record:?}");
        assert!(record.tool.chars().count() < 250 && !record.tool.contains(['\n', '\u{202e}']), "{}", record.tool);
    }
    assert!(read(&home, "library", &long).ends_with(" done"), "a long address of a form is one");
}

#[test]
fn reading_changes_nothing() {
    let home = Home::new();
    let kept = |manifest: &mut Value| {
        manifest["uses"] = json!(["entities"]);
        manifest["entities"] = json!(["notes"]);
        manifest["tools"][0]["readOnly"] = json!(false);
    };
    let guest = Guest::calling("(call $put_one) (call $text (i32.const 1150) (i32.const 1))")
        .with_put()
        .reading(
            "(call $put_one)
             (call $document (local.get $uri) (local.get $uri_len) (i32.const 1150) (i32.const 1))",
        )
        .prompting("(call $put_one) (call $message (i32.const 1150) (i32.const 1))")
        .proposing("(call $put_one) (call $values (i32.const 1))");
    home.install(library(&guest, "library", kept));
    let read_only = "6";
    assert_eq!(read(&home, "library", "note:all"), format!("note:all {read_only}"));
    let message = format!("{:?}", [Content::Text(read_only.to_owned())]);
    assert_eq!(prompt(&home, "library", "sum_up", &[("topic", "cats")]), message);
    assert!(complete(&home, "library", of_prompt("sum_up"), "topic").is_ok());
    let kept = || home.app.admin().kept(&"test/library".parse().expect("a name")).expect("sums").documents;
    assert_eq!(kept(), 0);
    // The twin: a tool that may.
    assert_eq!(outcome(&home.call("test/library.run", &json!({}))), "0");
    assert_eq!(kept(), 1);
}

#[test]
fn hostile_answers_do_not_leave() {
    let home = Home::new();
    let elsewhere = Guest::done()
        .with(r#"(data (i32.const 2048) "https://evil.example/")"#)
        .reading("(call $document (i32.const 2048) (i32.const 21) (i32.const 1024) (i32.const 4))");
    let large = Guest::done().reading(
        "(drop (memory.grow (i32.const 100)))
         (call $document (local.get $uri) (local.get $uri_len) (i32.const 65536) (i32.const 5000000))",
    );
    let flood = Guest::done().proposing("(call $values (i32.const 5000))");
    let cases = [
        ("elsewhere", elsewhere, "call/invalid-output"),
        ("large", large, "call/invalid-output"),
        ("traps", Guest::done().reading("(unreachable)"), "capability/trap"),
        ("loops", Guest::done().reading("(loop $again (br $again)) (unreachable)"), "budget/fuel"),
    ];
    for (slug, guest, expected) in cases {
        home.install(library(&guest, slug, |manifest| manifest["limits"] = json!({ "fuel": 50_000_000 })));
        assert_eq!(read(&home, slug, "note:all"), expected, "{slug}");
        assert_eq!(home.records()[0].outcome, expected);
    }
    home.install(library(&flood, "flood", |_| {}));
    let proposals = complete(&home, "flood", of_prompt("sum_up"), "topic").expect("proposals");
    assert_eq!((proposals.values.len(), proposals.more), (100, true));
}

#[test]
fn what_is_declared_is_exported() {
    let home = Home::new();
    let refused = home.app.admin().offer(library(&Guest::done(), "library", |_| {})).expect_err("nothing is there");
    assert_eq!(refused.kind, ErrorKind::ComponentInvalid);
    assert!(refused.message.contains("documents") && refused.message.contains("remit:capability/resources@0.1.0"));
    let prompts_only = library(&Guest::done(), "library", |manifest| {
        manifest["resources"] = json!([]);
        manifest["resourceTemplates"] = json!([]);
    });
    let refused = home.app.admin().offer(prompts_only).expect_err("nothing is there");
    assert!(refused.message.contains("remit:capability/prompts@0.1.0"), "{refused}");
}
