//! Questions of guests: a run ends for them and is made again with the answers, nothing happens twice, and nobody
//! answers for somebody else.

use std::collections::BTreeMap;

use remit::call::{CallRequest, Failure, Reply, Visit};
use remit::client::{Ability, Answer, Client, NamedQuestion, Question, Wants};
use remit::error::ErrorKind;
use remit::policy::Identity;
use remit::runtime::ask::Decision;
use remit_guests::{Asked, Guest, manifest};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::support::home::{Home, outcome, request};
use crate::support::world::{HOST, World};

const SCHEMA: &str = r#"{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}"#;
const ADA: &str = r#"{"name":"Ada"}"#;

fn form(name: &str) -> (String, Asked) {
    (name.to_owned(), Asked::Form("Who are you?".to_owned(), SCHEMA.to_owned()))
}

/// The capability `test/SLUG`, which may ask, and keeps notes.
fn asker(guest: &Guest, slug: &str) -> Vec<u8> {
    changed(guest, slug, |_| {})
}

fn changed(guest: &Guest, slug: &str, change: impl FnOnce(&mut Value)) -> Vec<u8> {
    let mut manifest = manifest(slug);
    manifest["uses"] = json!(["ask", "entities"]);
    manifest["entities"] = json!(["notes"]);
    manifest["tools"][0]["readOnly"] = json!(false);
    change(&mut manifest);
    guest.with_manifest(&manifest)
}

/// A client that can be asked for forms, and has answered so.
fn client(answers: &[(&str, Answer)], rounds: u32) -> Client {
    Client {
        features: [Ability::Form].into(),
        answers: answers.iter().map(|(name, answer)| ((*name).to_owned(), answer.clone())).collect(),
        rounds,
        news: None,
    }
}

fn accepted(filled: &str) -> Answer {
    Answer::Form(Decision::Accepted(filled.to_owned()))
}

fn call(home: &Home, slug: &str, client: Client) -> Result<Reply, Failure> {
    let request = CallRequest { client, ..request(&format!("test/{slug}.run"), &json!({})) };
    home.threads.block_on(home.host().call(request, CancellationToken::new()))
}

/// The names of the questions that a call ended for.
fn open(result: &Result<Reply, Failure>) -> Vec<String> {
    match result {
        Err(Failure { wants: Wants::Answers(questions), .. }) => {
            questions.iter().map(|asked| asked.name.clone()).collect()
        }
        _ => Vec::new(),
    }
}

#[test]
fn a_question_ends_the_run_and_its_answer_is_there_in_the_next() {
    let home = Home::new();
    home.install(asker(&Guest::asks(&[form("who")]), "asks"));
    let first = call(&home, "asks", client(&[], 0));
    let failure = first.as_ref().expect_err("it asks");
    assert_eq!(failure.error.kind, ErrorKind::InputRequired);
    assert!(failure.usage.fuel > 0, "{:?}", failure.usage);
    let Wants::Answers(questions) = &failure.wants else { panic!("{failure:?}") };
    let [NamedQuestion { name, question: Question::Form(asked) }] = &questions[..] else { panic!("{questions:?}") };
    assert_eq!((name.as_str(), asked.message.as_str(), asked.schema.as_str()), ("who", "Who are you?", SCHEMA));
    assert_eq!(home.records()[0].outcome, "call/input-required");
    assert!(home.records()[0].usage.fuel > 0);

    assert_eq!(outcome(&call(&home, "asks", client(&[("who", accepted(ADA))], 1))), ADA);
    let declined = Answer::Form(Decision::Declined);
    assert_eq!(outcome(&call(&home, "asks", client(&[("who", declined)], 1))), "declined");
}

#[test]
fn an_answer_that_is_none_is_asked_for_again() {
    let home = Home::new();
    home.install(asker(&Guest::asks(&[form("who"), form("more")]), "asks"));
    let good = ("who", accepted(ADA));
    let forged = [
        accepted("{}"),
        accepted(r#"{"name":1}"#),
        accepted(r#"{"name":"Ada","admin":true}"#),
        accepted("not JSON"),
        Answer::Link(Decision::Accepted("{}".to_owned())),
        Answer::Roots(Vec::new()),
    ];
    for answer in forged {
        let result = call(&home, "asks", client(&[good.clone(), ("more", answer.clone())], 1));
        assert_eq!(open(&result), ["more"], "{answer:?}");
    }
    let other = call(&home, "asks", client(&[("other", accepted(ADA))], 1));
    assert_eq!(open(&other), ["who", "more"], "answers to what was not asked are none");
}

#[test]
fn nothing_is_asked_after_a_change_and_nothing_happens_twice() {
    let home = Home::new();
    let puts = Guest::asks_after("(call $put_one)", &[form("who")]).with_put();
    home.install(asker(&puts, "puts"));
    home.install(changed(&puts, "reads", |manifest| manifest["tools"][0]["readOnly"] = json!(true)));
    let too_late = "err 2";
    for answers in [vec![], vec![("who", accepted(ADA))]] {
        let before = home.app.admin().kept(&"test/puts".parse().expect("a name")).expect("sums");
        assert_eq!(outcome(&call(&home, "puts", client(&answers, 0))), too_late);
        assert_eq!(home.records()[0].changes.len(), 1, "once");
        let after = home.app.admin().kept(&"test/puts".parse().expect("a name")).expect("sums");
        assert_eq!(after.documents, 1, "{before:?} {after:?}");
    }
    // The twin: what is refused is no change, and what is only planned neither.
    assert_eq!(open(&call(&home, "reads", client(&[], 0))), ["who"]);
    let planned = CallRequest { dry_run: true, client: client(&[], 0), ..request("test/puts.run", &json!({})) };
    let planned = home.threads.block_on(home.host().call(planned, CancellationToken::new()));
    assert_eq!(open(&planned), ["who"]);
    let answered = client(&[("who", accepted(ADA))], 1);
    let planned = CallRequest { dry_run: true, client: answered, ..request("test/puts.run", &json!({})) };
    let planned = home.threads.block_on(home.host().call(planned, CancellationToken::new()));
    assert_eq!(outcome(&planned), ADA);
    assert_eq!(planned.expect("an answer").plan.changes.len(), 1);
    assert!(home.records()[0].changes.is_empty());
}

#[test]
fn nothing_is_asked_after_a_request_that_can_change_something() {
    let world = World::echo();
    let guest = |url: &str| Guest::asks_after("(call $post)", &[form("who")]).with_post(url);
    let install = |url: &str, version: &str| {
        world.home.install(changed(&guest(url), "other-probe", |manifest| {
            manifest["version"] = json!(version);
            manifest["uses"] = json!(["ask", "http"]);
            manifest["http"] = json!({ "allow": [HOST] });
            manifest.as_object_mut().expect("an object").remove("entities");
        }));
    };
    install("https://other.example.com/", "1.0.0");
    assert_eq!(open(&call(&world.home, "other-probe", client(&[], 0))), ["who"], "it was refused before it left");
    install("https://api.example.com/", "1.0.1");
    assert_eq!(outcome(&call(&world.home, "other-probe", client(&[], 0))), "err 2");
    assert_eq!(world.upstream.seen().len(), 1, "once");
}

#[test]
fn a_client_that_cannot_be_asked_is_told_what_is_missing() {
    let home = Home::new();
    home.install(asker(&Guest::asks(&[form("who")]), "goes-on"));
    home.install(asker(&Guest::asks_or_fails(&[form("who")]), "fails"));
    assert_eq!(outcome(&call(&home, "goes-on", Client::default())), "err 0", "a guest may do without");
    let failure = call(&home, "fails", Client::default()).expect_err("it does not");
    assert_eq!(failure.error.kind, ErrorKind::ClientCannot);
    assert_eq!(failure.wants, Wants::Abilities([Ability::Form].into()));
    assert_eq!(home.records()[0].outcome, "call/client-cannot");
    // The twin: the same guest, a client that can.
    assert_eq!(open(&call(&home, "fails", client(&[], 0))), ["who"]);
}

#[test]
fn questions_and_rounds_have_an_end() {
    let home = Home::new();
    let many: Vec<_> = (0..11).map(|index| form(&format!("q{index}"))).collect();
    home.install(asker(&Guest::asks(&many), "many"));
    home.install(asker(&Guest::asks(&many[..10]), "ten"));
    home.install(asker(&Guest::asks(&many[..1]), "endless"));
    let limit = "err 3";
    assert_eq!(outcome(&call(&home, "many", client(&[], 0))), limit);
    assert_eq!(open(&call(&home, "ten", client(&[], 0))).len(), 10, "the twin");
    // A client that always answers something else.
    let wrong = [("q0", accepted("{}"))];
    let rounds = (0..20).take_while(|round| !open(&call(&home, "endless", client(&wrong, *round))).is_empty());
    assert_eq!(rounds.count(), 8);
    assert_eq!(outcome(&call(&home, "endless", client(&wrong, 8))), limit);
}

#[test]
fn a_question_that_may_not_be_asked_reaches_nobody() {
    let home = Home::new();
    let page = |url: &str| Asked::Link("Sign in.".to_owned(), url.to_owned());
    let invalid = [
        ("schema", Asked::Form("m".to_owned(), r#"{"type":"object","properties":{"a":{"type":"object"}}}"#.to_owned())),
        ("empty", Asked::Form("\u{200b}".to_owned(), SCHEMA.to_owned())),
        ("foreign", page("https://evil.example/")),
        ("plain", page("http://api.example.com/")),
        ("tokens", Asked::Sample("Say hello.".to_owned(), 1_000_000)),
    ];
    let everything =
        Client { features: [Ability::Form, Ability::Link, Ability::Sample, Ability::Roots].into(), ..client(&[], 0) };
    for (slug, asked) in invalid {
        home.install(asker(&Guest::asks(&[("q".to_owned(), asked)]), slug));
        assert_eq!(outcome(&call(&home, slug, everything.clone())), "err 1", "{slug}");
    }
    let good = [
        ("page", page("https://api.example.com/sign-in")),
        ("sample", Asked::Sample("Say hello.".to_owned(), 100)),
        ("roots", Asked::Roots),
    ];
    for (slug, asked) in good {
        home.install(changed(&Guest::asks(&[("q".to_owned(), asked)]), slug, |manifest| {
            manifest["uses"] = json!(["ask", "http"]);
            manifest["http"] = json!({ "allow": [HOST] });
            manifest.as_object_mut().expect("an object").remove("entities");
        }));
        assert_eq!(open(&call(&home, slug, everything.clone())), ["q"], "{slug}");
    }
}

#[test]
fn asking_is_declared_and_granted() {
    let home = Home::new();
    let guest = Guest::asks(&[form("who")]);
    let undeclared = changed(&guest, "undeclared", |manifest| manifest["uses"] = json!(["entities"]));
    let refused = home.app.admin().offer(undeclared).expect_err("it imports what it does not declare");
    assert_eq!(refused.kind, ErrorKind::ImportNotDeclared);
    home.install_with(asker(&guest, "ungranted"), &[]);
    let failure = call(&home, "ungranted", client(&[], 0)).expect_err("nobody granted it");
    assert_eq!((failure.error.kind, failure.wants), (ErrorKind::NotAllowed, Wants::Nothing));
}

#[test]
fn a_prompt_can_ask_too() {
    let home = Home::new();
    home.install(changed(&Guest::asks_in_a_prompt(&[form("who")]), "asks", |manifest| {
        manifest["prompts"] = json!([{ "name": "greet", "description": "Greets." }]);
    }));
    let host = home.host();
    let prompt = |client: Client| {
        let (caller, capability) = (Identity::operator("test"), "test/asks".parse().expect("a name"));
        let visit = Visit { caller, capability, client, locale: None };
        home.threads.block_on(host.prompt(visit, "greet", BTreeMap::new(), CancellationToken::new()))
    };
    let failure = prompt(client(&[], 0)).expect_err("it asks");
    assert_eq!(failure.error.kind, ErrorKind::InputRequired);
    assert!(matches!(&failure.wants, Wants::Answers(questions) if questions.len() == 1), "{failure:?}");
    let made = prompt(client(&[("who", accepted(ADA))], 1)).expect("a prompt");
    assert_eq!(made.messages[0].content, remit::call::Content::Text(ADA.to_owned()));
}
