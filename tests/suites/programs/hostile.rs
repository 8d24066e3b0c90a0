//! Programs that want more than a result. Each ends with a stable code, and the host goes on serving.

use remit::call::Program;
use remit::client::{Client, News};
use remit::policy::Identity;
use serde_json::json;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::support::engine::result;
use crate::support::home::{Home, built, outcome};

/// Small enough that a loop is over soon, large enough for everything that is not one.
const SETTINGS: &str = "[ceilings]\nfuel = 400000000\nmemory-mib = 64\n";

fn home() -> Home {
    let home = Home::with_engine(SETTINGS);
    home.install(built("echo"));
    home
}

fn ends_with(cases: &[(&str, &[&str])]) {
    let home = home();
    for (source, codes) in cases {
        let ran = home.execute(source);
        let code = result(&ran);
        assert!(codes.contains(&code.as_str()), "{source}: {ran:?}");
        let echo = home.call("test/echo.echo", &json!({ "message": "here" }));
        assert_eq!(outcome(&echo), "here", "after {source}");
        assert_eq!(result(&home.execute("return 1")), "1", "after {source}");
    }
}

#[test]
fn loops_and_floods_of_promises_spend_their_fuel() {
    ends_with(&[
        ("while (true) {}", &["budget/fuel"]),
        ("for (;;) await null", &["budget/fuel"]),
        ("const f = () => Promise.resolve().then(f); await f()", &["budget/fuel"]),
        (
            "const f = () => { Promise.resolve().then(f); Promise.resolve().then(f) }; f(); await new Promise(() => {})",
            &["budget/fuel", "budget/memory"],
        ),
        ("return /^(a+)+$/.test('a'.repeat(40) + 'b')", &["budget/fuel"]),
        ("return await { then() { while (true) {} } }", &["budget/fuel"]),
    ]);
}

#[test]
fn what_is_too_large_or_too_deep_does_not_come_to_be() {
    ends_with(&[
        ("let s = 'x'; while (true) s += s", &["budget/memory", "program/failed", "budget/fuel"]),
        ("const a = []; while (true) a.push(new Array(10000).fill(1))", &["budget/memory", "budget/fuel"]),
        ("return 'x'.repeat(2 ** 30)", &["budget/memory", "program/failed"]),
        ("return new ArrayBuffer(2 ** 31)", &["budget/memory", "program/failed"]),
        ("const f = () => f(); f()", &["program/failed"]),
        ("const o = { get a() { return this.a } }; return o.a", &["program/failed"]),
        ("const f = () => [1].map(f); f()", &["program/failed"]),
        (
            "let a = []; for (let n = 0; n < 100000; n++) a = [a]; return a",
            &["program/failed", "budget/fuel", "budget/memory"],
        ),
        (
            "let a = []; for (let n = 0; n < 100000; n++) a = [a]; return String(a)",
            &["program/failed", "budget/fuel", "budget/memory"],
        ),
    ]);
    let nested = format!("return {}1{}", "(".repeat(50_000), ")".repeat(50_000));
    ends_with(&[(&nested, &["program/failed", "program/invalid"])]);

    let ran = Home::with_engine("").execute("return new Array(5 * 1024).fill('x'.repeat(1024)).join('')");
    assert_eq!(result(&ran), "call/invalid-output", "{ran:?}");
}

#[test]
fn what_never_comes_is_not_waited_for() {
    ends_with(&[
        ("await new Promise(() => {})", &["program/failed"]),
        ("await { then() {} }", &["program/failed"]),
        ("return { then() {} }", &["program/failed"]),
    ]);
}

#[test]
fn no_way_leads_from_text_to_code() {
    ends_with(&[
        ("return Function('return 1')()", &["program/failed"]),
        ("return (() => {}).constructor('return 1')()", &["program/failed"]),
        ("return (async () => {}).constructor('return 1')()", &["program/failed"]),
        ("return (function* () {}).constructor('yield 1')().next()", &["program/failed"]),
        ("return Reflect.construct(Function, ['return 1'])()", &["program/failed"]),
        ("return [].map.constructor.constructor('return 1')()", &["program/failed"]),
        ("return (0, globalThis.eval)('1')", &["program/failed"]),
    ]);
}

#[test]
fn prototypes_that_were_changed_change_nothing_for_the_host() {
    let home = home();
    let cases = [
        // Neither what comes in nor what goes out uses what the program can reach.
        ("JSON.parse = JSON.stringify = () => 'mine'; return await remit.echo.echo({ message: 'm' })", r#""m""#),
        (
            "Object.prototype.message = 'mine'; try { return await remit.echo.echo({}) } catch (e) { return e.code }",
            r#""call/invalid-input""#,
        ),
        ("Promise.prototype.then = () => { throw 1 }; return await remit.echo.echo({ message: 'm' })", r#""m""#),
        (
            "Array.prototype[Symbol.iterator] = null; String.prototype.toString = null; return await remit.echo.echo({ message: 'm' })",
            r#""m""#,
        ),
        ("globalThis.Promise = null; return await remit.echo.echo({ message: 'm' })", r#""m""#),
        ("Object.prototype.toJSON = () => 'mine'; return { a: 1 }", r#""mine""#),
        // `remit` itself stays as it is.
        ("try { remit = 1 } catch (e) { return e instanceof TypeError }", "true"),
        ("try { remit.echo.echo = () => 'mine' } catch (e) { return e instanceof TypeError }", "true"),
        (
            "try { Object.defineProperty(remit.echo, 'echo', { value: 1 }) } catch (e) { return e instanceof TypeError }",
            "true",
        ),
        ("return delete remit.echo.nothing", "true"),
    ];
    for (source, expected) in cases {
        assert_eq!(result(&home.execute(source)), expected, "{source}");
    }
}

#[test]
fn floods_of_lines_and_of_calls_have_an_end() {
    let home = home();
    let printed = home.execute("for (let n = 0; n < 20000; n++) console.log('line ' + n); return 'done'");
    let structured = printed.expect("a result").structured.expect("structured");
    assert_eq!(structured["result"], "done");
    let lines = structured["log"].as_array().expect("lines");
    assert!(lines.len() <= 1_002, "{}", lines.len());
    assert_eq!(lines[lines.len() - 1], "warn: 19000 more lines were dropped");
    ends_with(&[
        ("for (let n = 0; n < 1000; n++) await remit.echo.echo({ message: 'm' })", &["budget/host-calls"]),
        (
            "const all = []; for (let n = 0; n < 1000; n++) all.push(remit.echo.echo({ message: 'm' })); await Promise.all(all)",
            &["budget/host-calls"],
        ),
        (
            "const message = 'x'.repeat(1000000); for (let n = 0; n < 100; n++) await remit.echo.echo({ message })",
            &["budget/host-calls", "budget/fuel"],
        ),
        ("while (true) Object.keys(remit.echo)", &["budget/fuel"]),
        ("while (true) { try { remit.nothing } catch {} }", &["budget/fuel"]),
    ]);
    let calls = home.records().iter().filter(|record| record.parent.is_some()).count();
    assert_eq!(calls, 0, "of this home's programs none called anything");
}

#[test]
fn a_program_that_is_called_off_ends_with_its_calls() {
    let home = Home::with_engine("");
    home.install(built("echo"));
    let (host, cancel) = (home.host(), CancellationToken::new());
    let (news, mut told) = mpsc::channel(8);
    let source = "await remit.echo.echo({ message: 'm' }); console.log('here'); while (true) {}";
    let plain = Program::new(Identity::operator("test"), source);
    let program = Program { client: Client { news: Some(news), ..Client::default() }, ..plain };
    let ran = home.threads.block_on(async {
        let running = tokio::spawn({
            let cancel = cancel.clone();
            async move { host.execute(program, cancel).await }
        });
        assert!(matches!(told.recv().await, Some(News::Log { text, .. }) if text == "here"));
        cancel.cancel();
        running.await.expect("it ends")
    });
    assert_eq!(result(&ran), "call/cancelled");
    let records = home.records();
    let outcomes: Vec<_> = records.iter().map(|record| (record.tool.as_str(), record.outcome.as_str())).collect();
    assert_eq!(outcomes, [("echo", "ok"), ("execute", "call/cancelled")]);
}
