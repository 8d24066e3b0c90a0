//! The word of a person inside a program: it stops before what needs it, and goes on without doing anything twice.

use std::sync::Arc;
use std::time::Duration;

use remit::call::{Failure, Program, Reply};
use remit::client::{Confirmation, Unconfirmed, Wants};
use remit::clock::Clock;
use remit::error::ErrorKind;
use remit::policy::Identity;
use serde_json::json;

use crate::support::engine::result;
use crate::support::home::{Home, built, outcome};

fn keeper(clock: Clock) -> Home {
    let home = Home::with_engine_at("", Arc::new(clock));
    home.install(built("keeper"));
    home.install(built("echo"));
    for key in ["a", "b"] {
        home.call("test/keeper.put", &json!({ "entity": "notes", "key": key, "value": "1" })).expect("stored");
    }
    home
}

fn get(home: &Home, key: &str) -> String {
    outcome(&home.call("test/keeper.get", &json!({ "entity": "notes", "key": key })))
}

fn confirmed(home: &Home, source: &str, token: &str) -> Result<Reply, Failure> {
    let confirmation = Confirmation::Token(token.to_owned());
    home.run(Program { confirmation, ..Program::new(Identity::operator("test"), source) })
}

fn stopped(ran: Result<Reply, Failure>) -> (Unconfirmed, String) {
    let failure = ran.expect_err("nobody agreed");
    assert_eq!(failure.error.kind, ErrorKind::ConfirmationRequired, "{}", failure.error);
    match failure.wants {
        Wants::Confirmation(unconfirmed) => (unconfirmed, failure.error.message),
        wants => panic!("{wants:?}"),
    }
}

/// Calls of a tool that were made for real.
fn made(home: &Home, tool: &str) -> usize {
    let records = home.records();
    records.iter().filter(|record| record.tool == tool && record.parent.is_some() && !record.dry_run).count()
}

/// Counts up, removes a document, and counts up again.
const SOURCE: &str = "
    const first = await remit.keeper.count({ key: 'n', times: 1 });
    const when = Date.now();
    const chance = Math.random();
    await remit.keeper.delete({ entity: 'notes', key: 'a' });
    const second = await remit.keeper.count({ key: 'n', times: 1 });
    return [first, second, when, chance]";

#[test]
fn a_program_stops_before_what_needs_a_word_and_nothing_is_done_twice() {
    let home = keeper(Clock::system());
    let (unconfirmed, message) = stopped(home.execute(SOURCE));
    assert!(message.contains("`test/keeper.delete`"), "{message}");
    let planned: Vec<_> =
        unconfirmed.plan.changes.iter().map(|change| format!("{} {}", change.action, change.key)).collect();
    assert_eq!(planned, ["delete a"]);
    assert_eq!(get(&home, "a"), "1 1", "it is still there");
    assert_eq!((made(&home, "count"), made(&home, "delete")), (1, 0));

    let reply = confirmed(&home, SOURCE, &unconfirmed.token).expect("somebody agreed");
    assert_eq!(get(&home, "a"), "nothing");
    assert_eq!((made(&home, "count"), made(&home, "delete")), (2, 1), "the first count was not repeated");
    assert!(reply.structured.expect("structured")["result"][0].is_string());

    assert_eq!(result(&confirmed(&home, SOURCE, &unconfirmed.token)), "call/confirmation-invalid", "it was used");
    assert_eq!((made(&home, "count"), made(&home, "delete")), (2, 1));
}

#[test]
fn all_that_needs_a_word_at_once_is_asked_at_once() {
    let home = keeper(Clock::system());
    let source = "
        const echo = remit.echo.echo({ message: 'm' });
        await Promise.all(['a', 'b'].map((key) => remit.keeper.delete({ entity: 'notes', key })));
        return await echo";
    let (unconfirmed, _) = stopped(home.execute(source));
    assert_eq!(unconfirmed.plan.changes.len(), 2);
    assert_eq!(made(&home, "echo"), 1, "what ran beside it came to its end");
    assert_eq!(result(&confirmed(&home, source, &unconfirmed.token)), r#""m""#);
    assert_eq!((get(&home, "a"), get(&home, "b")), ("nothing".to_owned(), "nothing".to_owned()));
    assert_eq!((made(&home, "echo"), made(&home, "delete")), (1, 2));
}

#[test]
fn a_program_may_be_stopped_several_times() {
    let home = keeper(Clock::system());
    let source = "
        await remit.keeper.delete({ entity: 'notes', key: 'a' });
        await remit.keeper.delete({ entity: 'notes', key: 'b' });
        return 'done'";
    let (first, _) = stopped(home.execute(source));
    let (second, _) = stopped(confirmed(&home, source, &first.token));
    assert_eq!((get(&home, "a"), get(&home, "b")), ("nothing".to_owned(), "2 1".to_owned()));
    assert_eq!(result(&confirmed(&home, source, &second.token)), r#""done""#);
    assert_eq!(made(&home, "delete"), 2);
}

#[test]
fn a_word_counts_for_its_program_its_principal_and_its_time_only() {
    let clock = Arc::new(Clock::manual(Duration::from_secs(1_700_000_000)));
    let home = Home::with_engine_at("", Arc::clone(&clock));
    home.install(built("keeper"));
    home.call("test/keeper.put", &json!({ "entity": "notes", "key": "a", "value": "1" })).expect("stored");
    let source = "await remit.keeper.delete({ entity: 'notes', key: 'a' }); return 'done'";
    let token = stopped(home.execute(source)).0.token;
    let other = format!("{source} // another");
    assert_eq!(result(&confirmed(&home, &other, &token)), "call/confirmation-invalid");
    let confirmation = Confirmation::Token(token.clone());
    let by_another = Program { confirmation, ..Program::new(Identity::operator("another"), source) };
    assert_eq!(result(&home.run(by_another)), "call/confirmation-invalid");
    assert_eq!(result(&confirmed(&home, source, &token[..token.len() - 1])), "call/confirmation-invalid");
    // The token of the call inside is none of the program's, and the program's is none of a call's.
    assert_eq!(result(&confirmed(&home, source, "")), "call/confirmation-invalid");
    clock.advance(Duration::from_secs(600));
    assert_eq!(result(&confirmed(&home, source, &token)), "call/confirmation-invalid", "its time is over");
    assert_eq!(get(&home, "a"), "1 1", "nothing was removed");
    assert_eq!(made(&home, "delete"), 0);
    let token = stopped(home.execute(source)).0.token;
    assert_eq!(result(&confirmed(&home, source, &token)), r#""done""#);
}

#[test]
fn what_is_caught_is_not_confirmed() {
    let home = keeper(Clock::system());
    let source = "
        try { await remit.keeper.delete({ entity: 'notes', key: 'a' }) } catch (e) { return e.code }
        return 'deleted'";
    let (unconfirmed, _) = stopped(home.execute(source));
    assert_eq!(get(&home, "a"), "1 1");
    assert_eq!(result(&confirmed(&home, source, &unconfirmed.token)), r#""deleted""#);
}

#[test]
fn a_standing_word_is_one_for_every_call() {
    let home = keeper(Clock::system());
    let source = "await remit.keeper.delete({ entity: 'notes', key: 'a' }); return 'done'";
    let confirmation = Confirmation::Standing;
    let program = Program { confirmation, ..Program::new(Identity::operator("test"), source) };
    assert_eq!(result(&home.run(program)), r#""done""#);
    assert_eq!(get(&home, "a"), "nothing");
}
