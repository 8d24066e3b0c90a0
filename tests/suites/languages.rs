//! One world in three languages, each made a component by its own tool and adopted: `cargo xtask languages` makes
//! them of `tests/languages/words`.

use remit::build::{Adoption, adopt};
use serde_json::{Value, json};

use crate::support::home::{Home, outcome};
use crate::support::languages;

/// Calls and their answers, the same in every language.
fn cases() -> Vec<(&'static str, Value, &'static str)> {
    let text = "The cat and the dog. A Dog, the dog!";
    vec![
        (
            "count",
            json!({ "text": text, "order": "most-used", "at-most": 2 }),
            r#"{"result":[{"text":"the","count":3,"first-at":"0","capital":"T"},{"text":"dog","count":3,"first-at":"16"}]}"#,
        ),
        (
            "count",
            json!({ "text": text, "order": "first-seen", "at-most": null }),
            r#"{"result":[{"text":"the","count":3,"first-at":"0","capital":"T"},{"text":"cat","count":1,"first-at":"4"},{"text":"and","count":1,"first-at":"8"},{"text":"dog","count":3,"first-at":"16"},{"text":"a","count":1,"first-at":"21","capital":"A"}]}"#,
        ),
        ("count", json!({ "text": "12 34", "order": "most-used" }), "capability/failed"),
        ("count", json!({ "text": "word ".repeat(300), "order": "most-used" }), "capability/failed"),
        ("count", json!({ "text": text, "order": "random" }), "call/invalid-input"),
        ("count", json!({ "text": text, "order": "most-used", "at-most": 256 }), "call/invalid-input"),
        ("count", json!({ "order": "most-used" }), "call/invalid-input"),
        ("reverse", json!({ "bytes": "AAEC/w==" }), r#"{"result":"/wIBAA=="}"#),
        ("reverse", json!({ "bytes": "" }), r#"{"result":""}"#),
        ("reverse", json!({ "bytes": "no base64" }), "call/invalid-input"),
    ]
}

fn check(language: &str) {
    let scratch = tempfile::tempdir().expect("a scratch folder");
    let file = scratch.path().join("words.wasm");
    std::fs::copy(languages::folder().join(format!("words/{language}.wasm")), &file)
        .unwrap_or_else(|error| panic!("{language}: {error}; `cargo xtask languages` makes it"));
    let adoption = Adoption { publisher: "acme".to_owned(), slug: None };
    let adopted = adopt(&file, &adoption).expect("adopted");
    assert_eq!(adopted.left_out, Vec::<String>::new());
    let report = &adopted.built.report;
    assert_eq!(report.imports, Vec::<String>::new());
    let names: Vec<_> = report.manifest.tools.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(
        {
            let mut names = names.clone();
            names.sort_unstable();
            names
        },
        ["count", "reverse"]
    );

    let home = Home::new();
    // As `remit install` does: compiling an interpreter takes longer than a call may.
    home.threads.block_on(home.app.prepare(&adopted.built.bytes)).expect("it compiles");
    home.install(adopted.built.bytes);
    let mut wrong = Vec::new();
    for (tool, input, expected) in cases() {
        let got = outcome(&home.call(&format!("acme/words.{tool}"), &input));
        if got != expected {
            wrong.push(format!("{tool} {input}: expected {expected}, got {got}"));
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
    let failure = |text: &str| {
        let input = json!({ "text": text, "order": "most-used" });
        home.call("acme/words.count", &input).expect_err("it says why not").error.message
    };
    assert_eq!(failure("12"), "\"no-words\"");
    assert_eq!(failure(&"a".repeat(1001)), "{\"too-long\":1001}");
}

#[test]
fn javascript() {
    check("js");
}

#[test]
fn python() {
    check("python");
}

#[test]
fn c() {
    check("c");
}
