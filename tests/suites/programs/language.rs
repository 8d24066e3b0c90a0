//! What a program finds of its language, and what is not there.

use remit::admin::Allowance;
use remit::call::Program;
use remit::error::ErrorKind;
use remit::policy::Identity;
use serde_json::json;

use crate::support::engine::result;
use crate::support::home::Home;

#[test]
fn a_program_gives_one_value() {
    let home = Home::with_engine("");
    let cases = [
        ("return 1 + 1", "2"),
        ("return { a: [1, null, 'x'], b: undefined }", r#"{"a":[1,null,"x"]}"#),
        ("", "null"),
        ("const f = async () => 7; return await f()", "7"),
        ("return await Promise.all([1, Promise.resolve(2)])", "[1,2]"),
        ("return [3, 1, 2].toSorted().map((n) => n * 2)", "[2,4,6]"),
        ("return 'ä'.normalize('NFD').length", "2"),
        ("return new Date(0).toISOString()", r#""1970-01-01T00:00:00.000Z""#),
        ("// the last line is a comment", "null"),
        ("return {toJSON() { return 'own' }}", r#""own""#),
        ("return Object.keys(remit)", "[]"),
        ("return typeof await remit", r#""object""#),
    ];
    for (source, expected) in cases {
        assert_eq!(result(&home.execute(source)), expected, "{source}");
    }
    let failures = [
        ("return (", ErrorKind::ProgramInvalid),
        ("import fs from 'fs'", ErrorKind::ProgramInvalid),
        ("}); (() => {", ErrorKind::ProgramInvalid),
        ("throw new Error('no')", ErrorKind::ProgramFailed),
        ("return await import('fs')", ErrorKind::ProgramFailed),
        ("return 1n", ErrorKind::ProgramFailed),
        ("const a = {}; a.a = a; return a", ErrorKind::ProgramFailed),
    ];
    for (source, kind) in failures {
        let failure = home.execute(source).expect_err("no result");
        assert_eq!(failure.error.kind, kind, "{source}: {}", failure.error);
    }
    let failure = home.execute("\nconst a = 1;\nreturn a.b.c").expect_err("it throws");
    assert!(failure.error.message.starts_with("the program threw TypeError"), "{}", failure.error);
    let failure = home.execute(&" ".repeat(300_000)).expect_err("too long");
    assert_eq!(failure.error.kind, ErrorKind::ProgramInvalid);
}

#[test]
fn what_is_printed_comes_back_and_is_in_the_record() {
    let home = Home::with_engine("");
    let source = "console.log('a', 1, {b: [2]}); console.warn('w'); console.error(new TypeError('t')); return 0";
    let reply = home.execute(source).expect("a result");
    let structured = reply.structured.expect("structured");
    assert_eq!(structured["log"], json!([r#"a 1 {"b":[2]}"#, "warn: w", "error: TypeError: t"]));
    let record = &home.records()[0];
    assert_eq!((record.capability.as_str(), record.tool.as_str()), ("remit/codemode", "execute"));
    assert_eq!(record.log[0], r#"info: a 1 {"b":[2]}"#);
    let silent = home.execute("return 0").expect("a result").structured.expect("structured");
    assert_eq!(silent, json!({ "result": 0 }));
    // What it printed before it failed is in the record, too.
    home.execute("console.log('before'); throw 1").expect_err("it throws");
    assert_eq!(home.records()[0].log, ["info: before"]);
}

#[test]
fn a_program_has_no_clock_no_chance_and_nothing_of_another_run() {
    let home = Home::with_engine("");
    let source = "const t = Date.now(); let n = 0; while (n < 50000) n++; \
                  return [Date.now() - t, new Date().getTimezoneOffset(), Math.random(), Math.random()]";
    let (first, second) = (result(&home.execute(source)), result(&home.execute(source)));
    assert_eq!(first, second);
    assert!(first.starts_with("[0,0,0."), "{first}");
    assert_eq!(result(&home.execute("globalThis.left = 1; Array.prototype.left = 2; return 0")), "0");
    assert_eq!(result(&home.execute("return [typeof left, typeof [].left]")), r#"["undefined","undefined"]"#);
    let absent = "return ['eval', 'Atomics', 'SharedArrayBuffer', 'WeakRef', 'FinalizationRegistry', 'setTimeout', \
                  'setInterval', 'queueMicrotask', 'fetch', 'require', 'process', 'Deno', 'performance', 'crypto', \
                  'WebAssembly', 'print'].filter((name) => name in globalThis)";
    assert_eq!(result(&home.execute(absent)), "[]");
}

#[test]
fn without_an_engine_nobody_runs_a_program_and_nobody_unknown_ever() {
    let home = Home::new();
    let failure = home.execute("return 1").expect_err("no engine");
    assert_eq!(failure.error.kind, ErrorKind::NoEngine);
    assert!(!home.host().has_engine().expect("it can be read"));
    assert_eq!(home.records()[0].outcome, "program/no-engine");

    let home = Home::with_engine("");
    assert!(home.host().has_engine().expect("it can be read"));
    let as_ada = || home.run(Program::new(Identity::stored("ada"), "return 1"));
    assert_eq!(result(&as_ada()), "call/not-allowed");
    assert_eq!(home.records()[0].usage.fuel, 0, "nothing ran");
    home.app.admin().add_principal("ada", Allowance::default(), None).expect("a principal");
    assert_eq!(result(&as_ada()), "1");
    home.app.admin().uninstall(&"remit/codemode".parse().expect("a name")).expect("it was there");
    assert_eq!(result(&as_ada()), "program/no-engine");
}
