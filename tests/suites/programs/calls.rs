//! The calls of a program: what is bound, what comes back, what is recorded, and what is not callable by any trick.

use std::time::Duration;

use remit::admin::Allowance;
use remit::call::{Failure, Program, Reply};
use remit::client::Confirmation;
use remit::policy::{Identity, Restriction};
use serde_json::{Value, json};

use crate::support::engine::result;
use crate::support::home::{Home, built, remit, renamed};

fn scene() -> Home {
    let home = Home::with_engine("");
    home.install(built("echo"));
    home.install(built("keeper"));
    home.install(built("text"));
    home
}

impl Home {
    fn run_as(&self, name: &str, source: &str) -> Result<Reply, Failure> {
        self.run(Program::new(Identity::stored(name), source))
    }

    /// Capability, tool and outcome of each call that the last program made, in their order.
    fn calls_of_last(&self) -> Vec<String> {
        let records = self.records();
        let program = records.iter().find(|record| record.tool == "execute").expect("a program");
        let mut calls: Vec<_> =
            records.iter().filter(|record| record.parent.as_ref() == Some(&program.id)).collect();
        calls.reverse();
        calls.iter().map(|call| format!("{}.{} {}", call.capability, call.tool, call.outcome)).collect()
    }
}

#[test]
fn a_program_combines_capabilities_and_each_call_has_its_record() {
    let home = scene();
    let source = "
        const [a, b] = await Promise.all([
            remit.echo.echo({ message: 'one two' }),
            remit.echo.echo({ message: 'three' }),
        ]);
        await remit.keeper.put({ entity: 'notes', key: 'k', value: JSON.stringify(a + b) });
        return await remit.keeper.get({ entity: 'notes', key: 'k' });";
    let plain = Program::new(Identity::operator("test"), source);
    let reply = home.run(Program { confirmation: Confirmation::Standing, ..plain }).expect("a result");
    assert_eq!(reply.structured.expect("structured")["result"], r#"1 "one twothree""#);
    assert_eq!(
        home.calls_of_last(),
        ["test/echo.echo ok", "test/echo.echo ok", "test/keeper.put ok", "test/keeper.get ok"]
    );
    let record = home.records().into_iter().find(|record| record.tool == "execute").expect("a record");
    let parts: u64 =
        home.records().iter().filter(|record| record.parent.is_some()).map(|part| part.usage.fuel).sum();
    assert!(record.usage.fuel > parts && parts > 0, "what its calls spend is spent by the program");

    let shown = remit(home.path(), &["audit", &record.id, "--json"], "").json();
    assert_eq!(shown["calls"].as_array().expect("its calls").len(), 4);
    assert_eq!(shown["calls"][2]["tool"], "put");
    assert_eq!(shown["calls"][2]["parent"], record.id.as_str());
    let call = shown["calls"][2]["id"].as_str().expect("an id");
    let text = remit(home.path(), &["audit", call], "").stdout;
    assert!(text.contains(&record.id), "{text}");
}

#[test]
fn what_fails_is_thrown_with_its_code() {
    let home = scene();
    let caught = |call: &str| {
        let source = format!(
            "try {{ await {call}; return 'called' }} catch (e) {{ \
             return {{ code: e.code, message: e.message, isError: e instanceof Error, tool: e.tool, schema: !!e.schema }} }}"
        );
        home.execute(&source).expect("a result").structured.expect("structured")["result"].clone()
    };
    let failure = caught("remit.echo.echo({ massage: 'm' })");
    assert_eq!(
        (&failure["code"], &failure["isError"], &failure["schema"]),
        (&json!("call/invalid-input"), &json!(true), &json!(true))
    );
    assert_eq!(failure["tool"], "echo.echo");
    assert_eq!(caught("remit.echo.echo()")["code"], "call/invalid-input");
    assert_eq!(caught("remit.echo.echo('text')")["code"], "call/invalid-input");
    let failure = caught("remit.keeper.put({ entity: 'nothing', key: 'k', value: '1' })");
    assert_eq!(failure["code"], "capability/failed");
    let failure = caught("remit.weather.get()");
    assert_eq!(failure["message"], "nothing is bound as `weather` here; there is: echo, keeper, text");
    let failure = home.execute("await remit.echo.echo({})").expect_err("it is not caught");
    assert_eq!(failure.error.kind.code(), "program/failed");
    assert!(failure.error.message.contains("(call/invalid-input)"), "{}", failure.error);
}

#[test]
fn publishers_of_one_slug_are_told_apart() {
    let home = scene();
    home.install(renamed(&built("echo"), |manifest| manifest["publisher"] = json!("other-test")));
    home.install(renamed(&built("echo"), |manifest| manifest["slug"] = json!("my-echo")));
    let names = home.execute("return Object.keys(remit)");
    assert_eq!(result(&names), r#"["keeper","my_echo","other_test__echo","test__echo","text"]"#);
    let both = "return [await remit.test__echo.echo({ message: 'a' }), await remit.other_test__echo.echo({ message: 'b' })]";
    assert_eq!(result(&home.execute(both)), r#"["a","b"]"#);
    assert_eq!(home.calls_of_last(), ["test/echo.echo ok", "other-test/echo.echo ok"]);
    assert_eq!(result(&home.execute("return await remit.echo.echo({ message: 'a' })")), "program/failed");
    assert_eq!(home.calls_of_last(), [""; 0]);
}

#[test]
fn what_its_caller_may_not_call_a_program_does_not_find() {
    let home = scene();
    let admin = home.app.admin();
    admin.add_principal("ada", Allowance::default(), None).expect("a principal");
    let restrict = |name: &str, restriction: Restriction| {
        admin.restrict(&name.parse().expect("a name"), &restriction, true).expect("within the manifest");
    };
    let tools = "return Object.keys(remit).map((name) => name + ' ' + ('echo' in remit[name]))";
    assert_eq!(result(&home.run_as("ada", tools)), r#"["echo true","keeper false","text true"]"#);
    restrict("test/echo", Restriction { role: Some("admin".to_owned()), ..Restriction::default() });
    restrict("test/keeper", Restriction { hidden: true, tool: Some("get".to_owned()), ..Restriction::default() });
    assert_eq!(result(&home.run_as("ada", tools)), r#"["keeper false","text true"]"#);
    assert_eq!(result(&home.run_as("ada", "return 'get' in remit.keeper")), "false");
    let tricks = [
        "return await remit.echo.echo({ message: 'm' })",
        "return await remit['echo']['echo']({ message: 'm' })",
        "return await Reflect.get(Reflect.get(remit, 'echo'), 'echo')({ message: 'm' })",
        "return await remit.keeper.get.call(null, { entity: 'notes', key: 'k' })",
        "return await remit.keeper.__proto__.get({})",
        "return await remit.mcp.keeper.get({})",
        "return await remit['test/echo'].echo({ message: 'm' })",
    ];
    for trick in tricks {
        assert_eq!(result(&home.run_as("ada", trick)), "program/failed", "{trick}");
        assert_eq!(home.calls_of_last(), [""; 0], "{trick}");
    }
    // What was taken back while the program runs is refused at the call, which is the boundary.
    restrict("test/echo", Restriction::default());
    assert_eq!(result(&home.run_as("ada", tricks[0])), r#""m""#);
    // The engine itself can be kept from somebody.
    restrict("remit/codemode", Restriction { role: Some("admin".to_owned()), ..Restriction::default() });
    assert_eq!(result(&home.run_as("ada", "return 1")), "call/not-allowed");
}

#[test]
fn a_capability_without_its_grants_is_not_bound() {
    let home = Home::with_engine("");
    home.install_with(built("keeper"), &[]);
    assert_eq!(result(&home.execute("return Object.keys(remit)")), "[]");
    home.install(built("keeper"));
    assert_eq!(result(&home.execute("return Object.keys(remit)")), r#"["keeper"]"#);
}

#[test]
fn in_a_dry_run_no_call_changes_anything() {
    let home = scene();
    home.call("test/keeper.put", &json!({ "entity": "notes", "key": "k", "value": "0" })).expect("stored");
    let before = home.records().len();
    let source = "await remit.keeper.put({ entity: 'notes', key: 'k', value: '1' }); \
                  await remit.keeper.delete({ entity: 'notes', key: 'k' }); \
                  return await remit.keeper.get({ entity: 'notes', key: 'k' })";
    let program = Program { dry_run: true, ..Program::new(Identity::operator("test"), source) };
    let reply = home.run(program).expect("a result");
    assert_eq!(reply.structured.expect("structured")["result"], "1 0");
    let planned: Vec<_> =
        reply.plan.changes.iter().map(|change| format!("{} {}", change.action, change.key)).collect();
    assert_eq!(planned, ["put k", "delete k"]);
    let records = home.records();
    let made = &records[..records.len() - before];
    assert!(made.len() == 4 && made.iter().all(|record| record.changes.is_empty()), "nothing was changed");
    let source = "return await remit.keeper.get({ entity: 'notes', key: 'k' })";
    assert_eq!(result(&home.execute(source)), r#""1 0""#);
}

#[test]
fn calls_share_the_time_of_their_program_and_have_places_of_their_own() {
    // One place for calls: a program that held it would wait for ever.
    let home = Home::with_engine("[runtime]\ncalls = 1\ncalls-per-capability = 1\n[principals]\ncalls = 1\n");
    home.install(built("echo"));
    home.app.admin().add_principal("ada", Allowance::default(), None).expect("a principal");
    let source =
        "return (await Promise.all([1, 2, 3].map((n) => remit.echo.echo({ message: String(n) })))).join('')";
    assert_eq!(result(&home.run_as("ada", source)), r#""123""#);

    let home = Home::with_engine("[ceilings]\ntime-ms = 1500\n");
    home.install(built("echo"));
    let begun = std::time::Instant::now();
    // Which of them ends it depends on how busy this machine is.
    let ended = result(&home.execute("while (true) { await remit.echo.echo({ message: 'm' }) }"));
    assert!(["budget/host-calls", "budget/time"].contains(&ended.as_str()), "{ended}");
    assert!(begun.elapsed() < Duration::from_secs(60));
    let value: Value = home.execute("return null").expect("a result").structured.expect("structured");
    assert_eq!(value["result"], Value::Null);
}
