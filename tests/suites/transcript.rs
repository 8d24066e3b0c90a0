//! An agent in a host with a thousand tools, by the client for Python: it searches, runs a program that combines three
//! capabilities, and pays for what it used.

use std::path::{Path, PathBuf};
use std::process::Command;

use remit_upstream::{Upstream, github};
use serde_json::{Value, json};

use crate::support::engine::add_engine;
use crate::support::home::{built, program, remit, renamed};

/// What there is beside the capabilities that are used: things, and what can be done with each.
const THINGS: [&str; 40] = [
    "invoice",
    "parcel",
    "meeting",
    "contract",
    "vehicle",
    "employee",
    "customer",
    "ticket",
    "budget",
    "campaign",
    "survey",
    "shipment",
    "warehouse",
    "supplier",
    "order",
    "refund",
    "coupon",
    "subscription",
    "lease",
    "permit",
    "recipe",
    "workout",
    "playlist",
    "podcast",
    "photo",
    "album",
    "flight",
    "hotel",
    "booking",
    "itinerary",
    "course",
    "lesson",
    "exam",
    "grade",
    "patient",
    "appointment",
    "prescription",
    "sensor",
    "alarm",
    "thermostat",
];
const DEEDS: [&str; 25] = [
    "list",
    "get",
    "create",
    "update",
    "archive",
    "restore",
    "approve",
    "reject",
    "assign",
    "share",
    "export",
    "import",
    "duplicate",
    "merge",
    "split",
    "rename",
    "tag",
    "untag",
    "schedule",
    "cancel",
    "print",
    "validate",
    "summarize",
    "compare",
    "forecast",
];

fn others(home: &Path) {
    for thing in THINGS {
        let component = renamed(&built("echo"), |manifest| {
            let tool = manifest["tools"][0].clone();
            let named = |deed: &&str| {
                let mut tool = tool.clone();
                tool["name"] = json!(format!("{deed}_{thing}"));
                tool["description"] = json!(format!("Can {deed} a {thing} by what the message says of it."));
                tool
            };
            manifest["slug"] = json!(thing);
            manifest["title"] = json!(format!("All about the {thing}"));
            manifest["tools"] = DEEDS.iter().map(named).collect();
        });
        install(home, &component, thing);
    }
}

fn install(home: &Path, component: &[u8], slug: &str) {
    let file = home.join(format!("{slug}.wasm"));
    std::fs::write(&file, component).expect("room");
    let installed = remit(home, &["install", &file.display().to_string(), "--yes"], "");
    assert_eq!(installed.exit, Some(0), "{installed:?}");
}

#[test]
fn an_agent_finds_three_of_a_thousand_tools_and_combines_them() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let home = folder.path().join("home");
    add_engine(&home);
    let upstream = Upstream::start(&["api.github.com"], github::server());
    let authority = folder.path().join("upstream.pem");
    std::fs::write(&authority, upstream.authority_pem()).expect("room");
    let settings = upstream.settings("remit/github", "api.github.com", &authority);
    std::fs::write(home.join("remit.toml"), settings).expect("room");
    for slug in ["github", "text", "notes"] {
        install(&home, &built(slug), slug);
    }
    others(&home);
    assert_eq!(remit(&home, &["secret", "set", "GITHUB_TOKEN"], github::TOKEN).exit, Some(0));
    assert_eq!(remit(&home, &["approve", "remit/github", "GITHUB_TOKEN", "--yes"], "").exit, Some(0));

    let said = transcript(&home);
    let steps: Vec<Value> = said.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let [direct, compact, issues, text, notes, ran, tokens] = steps.as_slice() else { panic!("{said}") };
    assert!(direct["direct"]["tools"].as_u64() >= Some(1_000), "{said}");
    assert_eq!(compact["compact"]["tools"], json!(["search", "call_read_tool", "call_tool", "execute"]));
    let best = |step: &Value| step["best"].as_str().unwrap_or_default().to_owned();
    let found = [best(issues), best(text), best(notes)];
    assert_eq!(
        found,
        ["tool:remit/github.search_issues", "tool:remit/text.truncate", "tool:remit/notes.add_note"]
    );
    assert_eq!(ran["execute"]["note"], 1, "{said}");
    assert!(ran["execute"]["issues"].as_u64() >= Some(1), "{said}");
    let spent = |what: &str| tokens["tokens"][what].as_u64().unwrap_or_else(|| panic!("{said}"));
    let (all, few) = (spent("direct definitions"), spent("compact, all in all"));
    assert!(few * 10 < all, "it pays: {few} against {all}");
    // Who reads this with `--no-capture` sees the whole of it.
    eprintln!("{said}");

    let kept = remit(&home, &["audit", "--json", "--limit", "20"], "").json();
    let tools: Vec<&str> =
        kept.as_array().expect("records").iter().filter_map(|one| one["tool"].as_str()).collect();
    for tool in ["search_issues", "truncate", "add_note"] {
        assert!(tools.contains(&tool), "each call has a record: {tools:?}");
    }
}

fn transcript(home: &Path) -> String {
    let python = std::env::var_os("REMIT_TEST_PYTHON")
        .map_or_else(|| program().with_file_name("../python/bin/python"), PathBuf::from);
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/clients/transcript_client.py");
    let output = Command::new(&python)
        .arg(script)
        .arg(program())
        .env("REMIT_HOME", home)
        .output()
        .unwrap_or_else(|error| panic!("`{}`: {error}; `cargo xtask test` makes it", python.display()));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}
