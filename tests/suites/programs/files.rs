//! Files that the calls of a program write: where they lie, and what a dry run says of them.

use remit::call::Program;
use remit::client::{Client, Conversation};
use remit::policy::Identity;

use crate::support::engine::result;
use crate::support::home::{Home, built};

const WRITE: &str = "return await remit.scribe.write({ name: 'cat.txt', text: 'meow' })";
const LIST: &str = "return await remit.scribe.list({})";

fn home() -> Home {
    let home = Home::with_engine("");
    home.install(built("scribe"));
    home
}

fn program(conversation: &Conversation, source: &str) -> Program {
    let client = Client { conversation: conversation.clone(), ..Client::default() };
    Program { client, ..Program::new(Identity::operator("test"), source) }
}

#[test]
fn a_file_lies_in_the_conversation_of_the_program() {
    let home = home();
    let (here, there) = (Conversation::Named("x".to_owned()), Conversation::Named("y".to_owned()));
    home.run(program(&here, WRITE)).expect("written");
    let list = |conversation: &Conversation| result(&home.run(program(conversation, LIST)));
    assert!(list(&here).contains("cat.txt"), "{}", list(&here));
    for other in [there, Conversation::Own] {
        assert!(!list(&other).contains("cat.txt"), "{other:?}: {}", list(&other));
    }
}

#[test]
fn in_a_dry_run_a_file_is_planned_and_not_written() {
    let home = home();
    let dry = Program { dry_run: true, ..program(&Conversation::Own, WRITE) };
    let plan = home.run(dry).expect("a plan").plan;
    let planned: Vec<_> = plan.files.iter().map(|file| (file.action.as_str(), file.name.as_str())).collect();
    assert_eq!(planned, [("write", "cat.txt")]);
    assert!(!result(&home.run(program(&Conversation::Own, LIST))).contains("cat.txt"));
}
