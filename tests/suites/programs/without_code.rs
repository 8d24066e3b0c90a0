//! Capabilities without code: the agent's program reaches what is granted to the capability, and nothing else.

use remit::call::{CallRequest, Failure, Reply};
use remit::client::{Confirmation, Wants};
use remit::policy::{Grant, Identity};
use remit_upstream::Answer;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::support::home::{Home, built, outcome, renamed};
use crate::support::world::{HOST, SECRET, World, approval, authorization, echo};

const RUN: &str = "test/scripted.run";

fn run(home: &Home, program: &str) -> Result<Reply, Failure> {
    home.call(RUN, &json!({ "program": program }))
}

/// The result, or the code of the error.
fn result(ran: &Result<Reply, Failure>) -> String {
    match ran {
        Ok(reply) => reply.structured.as_ref().map(|value| value["result"].to_string()).unwrap_or_default(),
        Err(failure) => failure.error.kind.code().to_owned(),
    }
}

fn home() -> Home {
    let home = Home::with_engine("");
    home.install(built("scripted"));
    home
}

#[test]
fn a_program_uses_http_with_a_secret_that_it_never_sees() {
    let world = World::with_engine(echo);
    world.home.install(built("scripted"));
    world.set("API_KEY", SECRET);
    world.approve("test/scripted", &[approval("API_KEY", HOST, 443, &authorization())]);
    let source = "
        const answer = await remit.http.request({
            method: 'POST',
            url: 'https://api.example.com/things?q=1',
            headers: { authorization: 'Bearer {{API_KEY}}' },
            json: { a: 1 },
        });
        return [answer.status, answer.headers['content-type'], JSON.parse(answer.body)]";
    let ran = run(&world.home, source);
    let value = ran.expect("a result").structured.expect("structured")["result"].clone();
    assert_eq!((&value[0], &value[1]), (&json!(200), &json!("application/json; charset=utf-8")));
    assert_eq!((&value[2]["method"], &value[2]["body"]), (&json!("POST"), &json!(r#"{"a":1}"#)));
    assert!(!value.to_string().contains(SECRET), "{value}");
    assert_eq!(world.upstream.seen()[0].header("authorization"), Some(format!("Bearer {SECRET}").as_str()));
    assert_eq!(world.recorded(), ["POST api.example.com sent"]);
    let record = &world.home.records()[0];
    assert_eq!((record.capability.as_str(), record.tool.as_str()), ("test/scripted", "run"));

    let refused = "
        const codes = [];
        for (const url of ['https://other.example.com/', 'http://api.example.com/', 'https://127.0.0.1/']) {
            try { await remit.http.request({ url }) } catch (e) { codes.push(e.code) }
        }
        return codes";
    assert_eq!(
        result(&run(&world.home, refused)),
        r#"["http/host-not-allowed","http/scheme-not-allowed","http/ip-literal-not-allowed"]"#
    );
    assert_eq!(world.upstream.seen().len(), 1, "nothing more was sent");
}

#[test]
fn what_is_not_granted_is_not_bound() {
    let world = World::with_engine(|_| Answer::json(200, &json!("here")));
    let grant = |namespace, entry: Option<&str>| Grant { namespace, entry: entry.map(str::to_owned) };
    let entities = remit::manifest::NamespaceName::Entities;
    let grants = [grant(entities, None), grant(entities, Some("notes"))];
    // It is ready only when all that it uses is granted; what a program of it finds is what is.
    world.home.install_with(built("scripted"), &grants);
    assert_eq!(result(&run(&world.home, "return Object.keys(remit)")), r#"["entities"]"#);
    let tricks = [
        "return await remit.http.request({ url: 'https://api.example.com/' })",
        "return await remit.loops.list({})",
        "return await remit.entities.get.call({ http: 1 }, { entity: 'other', key: 'k' })",
        "return await remit.sandbox.list({})",
    ];
    for trick in tricks {
        assert_eq!(result(&run(&world.home, trick)), "program/failed", "{trick}");
    }
    assert!(world.upstream.seen().is_empty(), "nothing was sent");
    world.home.install(built("scripted"));
    assert_eq!(result(&run(&world.home, "return Object.keys(remit)")), r#"["entities","http","loops"]"#);
    assert_eq!(
        result(&run(&world.home, "return (await remit.http.request({ url: 'https://api.example.com/' })).body")),
        r#""\"here\"""#
    );
}

#[test]
fn a_program_keeps_documents_and_makes_loops() {
    let home = home();
    let source = "
        const { entities, loops } = remit;
        const version = await entities.put({ entity: 'notes', key: 'a', value: { n: 1 }, expected: 'absent' });
        const got = await entities.get({ entity: 'notes', key: 'a' });
        let conflict;
        try { await entities.put({ entity: 'notes', key: 'a', value: 2, expected: 'absent' }) } catch (e) { conflict = e.code }
        await entities.transact({ changes: [
            { entity: 'notes', key: 'b', value: null },
            { entity: 'notes', key: 'a', expected: version },
        ] });
        const { documents, next } = await entities.list({ entity: 'notes' });
        const made = await loops.create({ name: 'daily', cron: '0 9 * * *', prompt: 'Look.' });
        await loops.pause({ name: 'daily', paused: true });
        const listed = await loops.list();
        await loops.delete({ name: 'daily' });
        return [got.value, got.version === version, conflict, documents.map((d) => [d.key, d.value]), next,
                made.timezone, listed[0].status, (await loops.list()).length]";
    let ran = run(&home, source);
    assert_eq!(
        result(&ran),
        r#"[{"n":1},true,"entities/conflict",[["b",null]],null,"UTC","paused",0]"#,
        "{ran:?}"
    );
    let bad = "
        const codes = [];
        for (const call of [
            () => remit.entities.get({ entity: 'notes' }),
            () => remit.entities.get({ entity: 'notes', key: 'k', more: 1 }),
            () => remit.entities.put({ entity: 'nothing', key: 'k', value: 1 }),
            () => remit.entities.put({ entity: 'notes', key: '', value: 1 }),
            () => remit.loops.create({ name: 'x' }),
            () => remit.loops.create({ name: 'x', cron: 'never', prompt: 'p' }),
        ]) {
            try { await call(); codes.push('done') } catch (e) { codes.push(e.code) }
        }
        return codes";
    assert_eq!(
        result(&run(&home, bad)),
        r#"["call/invalid-input","call/invalid-input","call/not-allowed","entities/invalid","call/invalid-input","loops/invalid-schedule"]"#
    );
}

#[test]
fn a_dry_run_and_the_word_of_a_person_hold_as_for_any_tool() {
    let home = Home::with_engine("");
    // What its publisher does not say of the tool is assumed: it may destroy.
    home.install(renamed(&built("scripted"), |manifest| {
        manifest["tools"][0].as_object_mut().expect("a tool").remove("destructive");
    }));
    let source = "await remit.entities.put({ entity: 'notes', key: 'a', value: 1 }); \
                  return (await remit.entities.get({ entity: 'notes', key: 'a' })).value";
    let arguments: Value = json!({ "program": source });
    let plain = || {
        let arguments = arguments.as_object().cloned().expect("an object");
        CallRequest::new(Identity::operator("test"), RUN.parse().expect("a name"), arguments)
    };
    let host = home.host();
    let send = |request| home.threads.block_on(host.call(request, CancellationToken::new()));
    let failure = send(plain()).expect_err("nobody agreed");
    let Wants::Confirmation(unconfirmed) = failure.wants else { panic!("{:?}", failure.wants) };
    assert_eq!(unconfirmed.plan.changes.len(), 1);
    let dry = send(CallRequest { dry_run: true, ..plain() }).expect("tried out");
    assert_eq!((dry.plan.changes.len(), dry.structured.expect("structured")["result"].clone()), (1, json!(1)));
    let look = "return await remit.entities.get({ entity: 'notes', key: 'a' })";
    assert_eq!(result(&run(&home, look)), "null", "nothing was changed");
    let confirmation = Confirmation::Token(unconfirmed.token);
    assert_eq!(result(&send(CallRequest { confirmation, ..plain() })), "1");
    assert!(result(&run(&home, look)).contains(r#""value":1"#));

    home.install(renamed(&built("scripted"), |manifest| {
        manifest["slug"] = json!("reader");
        let tool = manifest["tools"][0].as_object_mut().expect("a tool");
        tool.remove("destructive");
        tool.insert("readOnly".to_owned(), json!(true));
    }));
    let write =
        "try { await remit.entities.put({ entity: 'notes', key: 'a', value: 2 }) } catch (e) { return e.code }";
    let ran = home.call("test/reader.run", &json!({ "program": write }));
    assert_eq!(result(&ran), r#""call/not-allowed""#, "a tool that changes nothing changes nothing");
}

#[test]
fn nothing_stands_in_for_the_engine_or_the_derived_tool() {
    let home = Home::new();
    home.install(built("scripted"));
    assert_eq!(outcome(&run(&home, "return 1")), "program/no-engine");
    assert_eq!(outcome(&home.call(RUN, &json!({ "code": "return 1" }))), "call/invalid-input");

    let refused = |component: &[u8], change: &dyn Fn(&mut Value)| {
        let offered = home.app.admin().offer(renamed(component, change));
        offered.err().map(|error| error.kind.code()).unwrap_or("offered")
    };
    let scripted = built("scripted");
    assert_eq!(refused(&scripted, &|manifest| manifest["tools"][0]["name"] = json!("walk")), "manifest/invalid");
    assert_eq!(
        refused(&scripted, &|manifest| manifest["tools"][0]["inputSchema"]["properties"] = json!({})),
        "manifest/invalid"
    );
    // Other code is no engine, an engine has another name for nobody, and nobody else imports what it imports.
    let engine = built("codemode");
    assert_eq!(refused(&engine, &|manifest| manifest["slug"] = json!("other")), "manifest/invalid");
    assert_eq!(refused(&engine, &|manifest| manifest["uses"] = json!(["http"])), "manifest/invalid");
    assert_eq!(refused(&built("echo"), &|manifest| manifest["runtime"] = json!("engine")), "manifest/invalid");
    let as_codemode = |manifest: &mut Value| {
        *manifest =
            serde_json::to_value(&remit::component::inspect(&scripted).expect("in order").manifest).expect("JSON");
        manifest["slug"] = json!("sly");
    };
    assert_eq!(refused(&engine, &as_codemode), "registry/import-not-declared");
}
