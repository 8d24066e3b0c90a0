//! Components that were made for another host: what becomes of their types, of hostile ones, and of those that do not
//! keep to their own.

use std::path::Path;
use std::time::{Duration, Instant};

use remit::build::{Adoption, adopt};
use remit_guests::{hostile, typed, with_type};
use serde_json::{Value, json};

use crate::support::home::{Home, outcome, remit};

/// What a person who adopts the component gets: the capability's bytes, and what was left out of it.
fn adopted(component: &[u8], slug: &str) -> remit::error::Result<(Vec<u8>, Vec<String>)> {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let file = folder.path().join("component.wasm");
    std::fs::write(&file, component).expect("room");
    let adoption = Adoption { publisher: "test".to_owned(), slug: Some(slug.to_owned()) };
    adopt(&file, &adoption).map(|adopted| (adopted.built.bytes, adopted.left_out))
}

fn refusal(component: &[u8]) -> String {
    adopted(component, "refused").expect_err("it is refused").to_string()
}

#[test]
fn each_broken_promise_has_its_code() {
    let (capability, left_out) = adopted(&hostile(), "hostile").expect("its types are in order");
    assert_eq!(left_out, Vec::<String>::new());
    let home = Home::with_settings("[ceilings]\nfuel = 100000000\n");
    home.install(capability);
    let nothing = json!({});
    let big = "A".repeat(400_000);
    let cases = [
        ("lies", nothing.clone(), "capability/trap"),
        ("beyond", nothing.clone(), "capability/trap"),
        ("broken", nothing.clone(), "capability/trap"),
        ("aliases", nothing.clone(), "capability/trap"),
        ("no_number", nothing.clone(), "call/invalid-output"),
        ("no_colour", nothing.clone(), "capability/trap"),
        ("no_char", nothing.clone(), "capability/trap"),
        ("odd", nothing.clone(), "capability/trap"),
        ("traps", nothing.clone(), "capability/trap"),
        ("spins", nothing.clone(), "budget/fuel"),
        ("grows", nothing.clone(), "budget/memory"),
        ("fails", nothing.clone(), "capability/failed"),
        ("fails_bare", nothing.clone(), "capability/failed"),
        ("fails_text", nothing.clone(), "capability/failed"),
        // Bits beyond its flags are no flags.
        ("more_marks", nothing.clone(), r#"{"result":["bold","wide"]}"#),
        ("takes", json!({ "bytes": "AAEC" }), r#"{"result":3}"#),
        ("takes", json!({ "bytes": "AAE" }), "call/invalid-input"),
        ("takes", json!({ "bytes": big }), "call/invalid-input"),
        ("takes", nothing.clone(), "call/invalid-input"),
        ("wide", json!({ "n": 7 }), r#"{"result":"7"}"#),
        ("wide", json!({ "n": "18446744073709551615" }), r#"{"result":"18446744073709551615"}"#),
        ("wide", json!({ "n": "18446744073709551616" }), "call/invalid-input"),
        ("wide", json!({ "n": 9007199254740992_u64 }), "call/invalid-input"),
        ("wide", json!({ "n": -1 }), "call/invalid-input"),
        ("wide", json!({ "n": 7, "m": 1 }), "call/invalid-input"),
        ("nothing", nothing.clone(), "{}"),
        ("nothing", json!({ "dry": true }), "call/invalid-input"),
    ];
    let mut wrong = Vec::new();
    for (tool, input, expected) in cases {
        let begun = Instant::now();
        let got = outcome(&home.call(&format!("test/hostile.{tool}"), &input));
        if got != expected {
            wrong.push(format!("{tool}: expected {expected}, got {got}"));
        }
        if begun.elapsed() > Duration::from_secs(20) {
            wrong.push(format!("{tool}: took {:?}", begun.elapsed()));
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
    assert_eq!(outcome(&home.call("test/hostile.nothing", &nothing)), "{}", "the host goes on");
}

#[test]
fn the_other_half_of_a_result_is_why_there_is_no_answer() {
    let home = Home::new();
    home.install(adopted(&hostile(), "hostile").expect("adopted").0);
    let message = |tool: &str| {
        let failure = home.call(&format!("test/hostile.{tool}"), &json!({})).expect_err("it fails");
        failure.error.message
    };
    assert_eq!(message("fails"), "\"green\"");
    assert_eq!(message("fails_text"), "done");
    assert_eq!(message("fails_bare"), "the tool failed and did not say why");
    assert_eq!(message("aliases"), "the guest stopped: it gave more than one call may bring");
    assert_eq!(message("lies"), "the guest stopped: it broke the rules of its interface");
    assert_eq!(message("no_number"), "the answer at `/result`: `NaN` is no number that JSON can write");
}

#[test]
fn an_adopted_capability_reaches_nothing() {
    let (bytes, _) = adopted(&hostile(), "hostile").expect("adopted");
    let report = remit::component::inspect(&bytes).expect("a capability");
    assert_eq!(report.manifest.uses, []);
    assert!(report.namespaces.is_empty());
    assert!(report.manifest.tools.iter().all(|tool| tool.read_only && tool.open_world == Some(false)));
    let home = Home::new();
    let offer = home.app.admin().offer(bytes).expect("in order");
    assert_eq!(offer.asks, [], "there is nothing to grant");
}

#[test]
fn what_a_component_imports_is_named_and_refused() {
    let world = |import: &str| {
        format!(
            "package test:other;
             interface clock {{ now: func() -> u64; }}
             world typed {{ {import} export f: func() -> u64; }}"
        )
    };
    let import = r#"(import "test:other/clock" "now" (func $now (result i64)))"#;
    let call = r#"(func (export "f") (result i64) (call $now))"#;
    // The same function without the import is adopted.
    let alone = r#"(func (export "f") (result i64) (i64.const 7))"#;
    assert!(adopted(&typed(&world(""), "", alone), "alone").is_ok());
    let refused = typed(&world("import clock;"), import, call);
    assert_eq!(
        refusal(&refused),
        "registry/import-not-declared: the component imports `test:other/clock`, which this version of remit does \
         not offer"
    );
    // Not even the namespaces that there are: nobody would have been asked to grant them.
    let ours = refusal(&remit_guests::importing("remit:capability/http@0.1.0"));
    assert!(ours.ends_with("follows the contract of capabilities, so it needs its own manifest"), "{ours}");
}

#[test]
fn types_that_are_too_much_are_refused_by_the_functions_name() {
    let mut nested = "(type $t0 (list string))".to_owned();
    let mut many = "(type $t0 (tuple string string string string))".to_owned();
    for level in 1..40 {
        let below = level - 1;
        nested += &format!("(type $t{level} (list $t{below}))");
        if level < 9 {
            many += &format!("(type $t{level} (tuple $t{below} $t{below} $t{below} $t{below}))");
        }
    }
    let deep = with_type(&format!("{nested}(type $deep (list $t39))"));
    assert_eq!(
        refusal(&deep),
        "component/invalid: no function of the component can be a tool\n  `deep`: its types nest more than 16 levels \
         deep"
    );
    let large = with_type(&format!("{many}(type $deep (list $t8))"));
    assert_eq!(
        refusal(&large),
        "component/invalid: no function of the component can be a tool\n  `deep`: the types of the component have \
         more than 20000 parts"
    );
    // A schema has its own bound, and says so as for any manifest.
    let wide = refusal(&with_type(&format!("(type $deep (tuple {}))", "string ".repeat(2_000))));
    assert!(wide.starts_with("manifest/invalid: `tools[0].outputSchema`: shorten it to 32 KiB"), "{wide}");
}

#[test]
fn functions_that_meet_in_a_name_are_told_apart_or_refused() {
    let world = |second: &str| {
        format!(
            "package test:names;
             interface first {{ get: func() -> u32; }}
             interface {second} {{ get: func() -> u32; }}
             world typed {{ export first; export {second}; export search: func() -> u32; export a-b: func() -> u32; \
             export first-get: func() -> u32; }}"
        )
    };
    let get = |export: &str, value: u32| format!("(func (export \"{export}\") (result i32) (i32.const {value}))");
    let functions = [
        get("test:names/first#get", 1),
        get("test:names/second#get", 2),
        get("search", 3),
        get("a-b", 4),
        get("first-get", 5),
    ]
    .concat();
    let error = refusal(&typed(&world("second"), "", &functions));
    assert_eq!(
        error,
        "component/invalid: `first-get` and `test:names/first#get` would both be the tool `first_get`"
    );
    let world = world("second").replace("export first-get: func() -> u32;", "");
    let functions = functions.replace(&get("first-get", 5), "");
    let home = Home::new();
    home.install(adopted(&typed(&world, "", &functions), "names").expect("adopted").0);
    for (tool, value) in [("first_get", 1), ("second_get", 2), ("names_search", 3), ("a_b", 4)] {
        let answer = outcome(&home.call(&format!("test/names.{tool}"), &json!({})));
        assert_eq!(answer, format!("{{\"result\":{value}}}"), "{tool}");
    }
}

#[test]
fn resources_are_left_out_by_name() {
    let world = "package test:handles;
        interface things {
          resource thing { constructor(size: u32); size: func() -> u32; }
          borrow-it: func(it: borrow<thing>) -> u32;
          plain: func() -> u32;
        }
        world typed { export things; }";
    let functions = r#"
      (func (export "test:handles/things#[constructor]thing") (param i32) (result i32) (local.get 0))
      (func (export "test:handles/things#[method]thing.size") (param i32) (result i32) (local.get 0))
      (func (export "test:handles/things#borrow-it") (param i32) (result i32) (local.get 0))
      (func (export "test:handles/things#plain") (result i32) (i32.const 9))"#;
    let (bytes, left_out) = adopted(&typed(world, "", functions), "handles").expect("one function remains");
    let why = "it takes, gives or belongs to a resource, which would have to outlive the call";
    assert_eq!(
        left_out,
        [
            format!("`test:handles/things#[constructor]thing`: {why}"),
            format!("`test:handles/things#[method]thing.size`: {why}"),
            format!("`test:handles/things#borrow-it`: {why}"),
        ]
    );
    let home = Home::new();
    home.install(bytes.clone());
    assert_eq!(outcome(&home.call("test/handles.plain", &json!({}))), r#"{"result":9}"#);
    // A manifest by another hand does not bring them in.
    let error = refused_manifest(&bytes, |tool| {
        tool["run"]["export"] = json!("test:handles/things#borrow-it");
    });
    assert_eq!(
        error,
        format!("component/invalid: the tool `plain` cannot run `test:handles/things#borrow-it`: {why}")
    );
}

/// What is said of the capability with another manifest.
fn refused_manifest(capability: &[u8], change: impl FnOnce(&mut Value)) -> String {
    let changed = crate::support::home::renamed(capability, |manifest| change(&mut manifest["tools"][0]));
    remit::component::inspect(&changed).expect_err("it is refused").to_string()
}

#[test]
fn a_manifest_says_what_the_component_can_do() {
    let world = "package test:one; world typed { export f: func(a: u32, b: option<u32>) -> u32; }";
    let function = r#"(func (export "f") (param i32 i32 i32) (result i32) (local.get 0))"#;
    let (bytes, _) = adopted(&typed(world, "", function), "one").expect("adopted");
    let told = |change: fn(&mut Value)| refused_manifest(&bytes, change);
    assert_eq!(
        told(|tool| tool["run"]["export"] = json!("g")),
        "component/invalid: the tool `f` runs `g`, and the component exports no such function"
    );
    assert_eq!(
        told(|tool| tool["inputSchema"]["required"] = json!([])),
        "component/invalid: the tool `f` cannot run `f`: the function needs `a`, so it belongs into `required`"
    );
    assert_eq!(
        told(|tool| tool["inputSchema"]["properties"]["c"] = json!({ "type": "string" })),
        "component/invalid: the tool `f` cannot run `f`: the function has no parameter `c`"
    );
    assert_eq!(
        told(|tool| tool["run"] = json!({ "kind": "component" })),
        "component/invalid: the component does not export `remit:capability/tools@0.1.0`, so it has nothing to call"
    );
    assert!(told(|tool| tool["run"]["export"] = json!("f\u{202e}")).starts_with("manifest/invalid: "));
    // A schema that lies about a type reaches no guest: the types are the component's.
    let lying = crate::support::home::renamed(&bytes, |manifest| {
        manifest["tools"][0]["inputSchema"]["properties"]["a"] = json!({ "type": "string" });
    });
    let home = Home::new();
    home.install(lying);
    let failure = home.call("test/one.f", &json!({ "a": "x" })).expect_err("it is no number");
    assert_eq!(failure.error.to_string(), "call/invalid-input: the arguments at `/a`: it is no whole number");
    assert_eq!(failure.usage.fuel, 0, "no code of the guest ran");
}

#[test]
fn the_command_says_what_it_did() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let path = |name: &str| folder.path().join(name).display().to_string();
    let world = "package test:one; world typed { export f: func(a: u32) -> u32; }";
    let function = r#"(func (export "f") (param i32) (result i32) (local.get 0))"#;
    std::fs::write(path("My Tool.wasm"), typed(world, "", function)).expect("room");
    let run = |arguments: &[&str]| remit(folder.path(), arguments, "");

    let inspected = run(&["inspect", &path("My Tool.wasm")]);
    assert!(inspected.stderr.contains("remit adopt FILE.wasm"), "{inspected:?}");
    let made = run(&["adopt", &path("My Tool.wasm"), "--manifest", &path("capability.json"), "--json"]);
    assert_eq!(made.exit, Some(0), "{made:?}");
    assert_eq!(made.json()["name"], "adopted/my-tool");
    assert!(Path::new(&path("my-tool.capability.wasm")).exists());
    // The manifest is one that builds, to the same.
    let built = run(&[
        "build",
        &path("My Tool.wasm"),
        "--manifest",
        &path("capability.json"),
        "-o",
        &path("b.wasm"),
        "--json",
    ]);
    assert_eq!(built.json()["digest"], made.json()["digest"]);

    let again = run(&["adopt", &path("my-tool.capability.wasm"), "--json"]);
    assert_eq!((again.exit, again.code().as_str()), (Some(2), "host/usage"));
    let over = run(&["adopt", &path("My Tool.wasm"), "--out", &path("My Tool.wasm"), "--json"]);
    assert_eq!((over.exit, over.code().as_str()), (Some(2), "host/usage"));
}
