//! What is found, by whom, and that what somebody may not use leaves no trace.

use serde_json::json;

use super::*;
use crate::manifest::{Manifest, NamespaceName};
use crate::policy::{Directory, Grant, Principal, Restriction};
use crate::registry::{Capability, CapabilityName, Digest, Item, Withdrawn};

/// `ada` is an admin, `bob` has nothing.
fn directory() -> Arc<Directory> {
    let ada = Principal { roles: ["admin".to_owned()].into(), ..Principal::default() };
    let principals = [("ada".to_owned(), ada), ("bob".to_owned(), Principal::default())];
    Arc::new(Directory { principals: principals.into(), ..Directory::default() })
}

fn bob() -> Identity {
    Identity::stored("bob")
}

fn ada() -> Identity {
    Identity::stored("ada")
}

fn entry(name: &str, changes: &Value) -> Entry {
    let name: CapabilityName = name.parse().unwrap();
    let mut manifest = json!({
        "publisher": name.publisher, "slug": name.slug, "version": "1.0.0", "title": format!("The {}", name.slug),
        "description": "d",
    });
    for (key, value) in changes.as_object().unwrap() {
        manifest[key] = value.clone();
    }
    let manifest: Manifest = serde_json::from_value(manifest).unwrap();
    let digest = Digest::of(changes.to_string().as_bytes());
    Entry {
        capability: Arc::new(Capability { manifest, name, digest, installed_at: 0, size: 0 }),
        grants: Vec::new(),
        approvals: Vec::new(),
        restrictions: Vec::new(),
        withdrawn: Withdrawn::default(),
        recall: None,
        origin: None,
        schemas: Arc::new(Vec::new()),
    }
}

fn snapshot(generation: u64, entries: impl IntoIterator<Item = Entry>) -> Arc<Snapshot> {
    let entries = entries.into_iter().map(|entry| (entry.capability.name.clone(), Arc::new(entry)));
    Arc::new(Snapshot { generation, entries: entries.collect(), directory: directory(), ..Snapshot::default() })
}

fn tool(name: &str, description: &str) -> Value {
    json!({
        "name": name, "description": description, "expose": true, "readOnly": true,
        "inputSchema": { "type": "object", "properties": { "placeName": {} }, "additionalProperties": false },
    })
}

/// The same tool for admins alone.
fn secret(name: &str, description: &str) -> Value {
    let mut tool = tool(name, description);
    tool["requiredRole"] = "admin".into();
    tool
}

fn weather() -> Entry {
    let forecast = tool("get_forecast", "What the weather will be.");
    let mut alert = tool("createAlert", "Tells of storms to come.");
    alert["keywords"] = json!(["hurricane"]);
    entry(
        "acme/weather",
        &json!({
            "title": "Weather", "domain": "outdoors", "keywords": ["rain"], "tools": [forecast, alert],
            "prompts": [{ "name": "pack_list", "description": "What to put into a suitcase.", "arguments": [] }],
            "loops": [{ "name": "morning", "scheduleType": "cron", "scheduleExpression": "0 7 * * *",
                        "tool": "get_forecast" }],
            "entities": ["stations"],
        }),
    )
}

fn ids(found: &[Found]) -> Vec<&str> {
    found.iter().map(|found| found.id.as_str()).collect()
}

/// The best answer.
fn best(snapshot: &Arc<Snapshot>, question: &str) -> Option<String> {
    Search::default().find(snapshot, &bob(), question, 1).pop().map(|found| found.id)
}

#[test]
fn words_are_found_in_every_field_and_spelling() {
    let snapshot =
        snapshot(1, [weather(), entry("acme/notes", &json!({ "tools": [tool("add", "Adds a note.")] }))]);
    let cases = [
        ("forecast", "tool:acme/weather.get_forecast"),
        ("show me the forecasts", "tool:acme/weather.get_forecast"),
        ("forec", "tool:acme/weather.get_forecast"),
        ("forcast please", "tool:acme/weather.get_forecast"),
        ("new alert", "tool:acme/weather.createAlert"),
        ("createAlert", "tool:acme/weather.createAlert"),
        ("hurricanes", "tool:acme/weather.createAlert"),
        ("make a note", "tool:acme/notes.add"),
        ("rain", "capability:acme/weather"),
        ("suitcase", "prompt:acme/weather.pack_list"),
        ("morning", "loop:acme/weather.morning"),
        ("stations", "entity:acme/weather.stations"),
    ];
    for (question, expected) in cases {
        assert_eq!(best(&snapshot, question).as_deref(), Some(expected), "{question}");
    }
    for nothing in ["zeppelin", "xx", "?!"] {
        assert_eq!(best(&snapshot, nothing), None, "{nothing}");
    }
    let found = Search::default().find(&snapshot, &bob(), "forcast for a place", 1);
    assert_eq!(found[0].why, ["name: forecast", "input: place"]);
    assert_eq!(
        found[0].tool.as_ref().map(|(entry, at)| (entry.capability.name.slug.as_str(), *at)),
        Some(("weather", 0))
    );
}

#[test]
fn an_empty_question_gives_domains_and_then_capabilities() {
    let notes = entry("acme/notes", &json!({ "tools": [tool("add", "d")] }));
    let tides = entry("acme/tides", &json!({ "domain": "outdoors", "tools": [tool("get", "d")] }));
    let snapshot = snapshot(1, [weather(), notes, tides]);
    let found = Search::default().find(&snapshot, &bob(), "  ", 9);
    let expected = [
        "domain:notes",
        "domain:outdoors",
        "capability:acme/notes",
        "capability:acme/tides",
        "capability:acme/weather",
    ];
    assert_eq!(ids(&found), expected);
    let domains = [("notes", "The notes"), ("outdoors", "The tides; Weather")];
    let domains = domains.map(|(name, line)| (name.to_owned(), line.to_owned()));
    assert_eq!(Search::default().domains(&snapshot, &bob()), domains);
    assert_eq!(Search::default().find(&snapshot, &bob(), "", 1).len(), 1);
}

/// All that a caller hears of some questions.
fn heard(search: &Search, snapshot: &Arc<Snapshot>, caller: &Identity) -> String {
    let questions =
        ["", "vault", "valt", "open the vaults", "weather", "add", "vaultkeeper", "forecast weather alert"];
    let found = questions.map(|question| search.find(snapshot, caller, question, 50));
    let looked =
        found.iter().flatten().map(|found| search.look_up(snapshot, caller, &found.id).unwrap().1.to_string());
    let looked: Vec<String> = looked.collect();
    let lines = found
        .iter()
        .flatten()
        .map(|found| format!("{} {} {} {:?}\n", found.id, found.name, found.line, found.why));
    format!("{}{looked:?}{:?}", lines.collect::<String>(), search.domains(snapshot, caller))
}

#[test]
fn what_a_caller_may_not_use_leaves_no_trace() {
    let open = || tool("add", "Adds a note to the weather.");
    let many = |tool: &dyn Fn(&str, &str) -> Value| {
        (0..20)
            .map(|at| tool(&format!("vault{at}"), "Opens vaults in the weather with a forecast alert."))
            .collect::<Vec<_>>()
    };
    let mut tools = vec![open()];
    tools.extend(many(&secret));
    let mut unexposed = tool("vault_out", "Not exposed: vaults.");
    unexposed["expose"] = false.into();
    tools.push(unexposed);
    tools.push(tool("vault_gone", "Withdrawn: vaults."));
    let mut mixed = entry("acme/notes", &json!({ "tools": tools }));
    mixed.withdrawn = [Item::Tool("vault_gone".to_owned())].into_iter().collect();
    let alone = entry("acme/notes", &json!({ "tools": [open()] }));

    let hidden = |restriction: Restriction| {
        let mut entry = entry(
            "acme/vaultkeeper",
            &json!({ "tools": many(&tool), "prompt": "Vault!", "entities": ["vaults"] }),
        );
        entry.restrictions = vec![restriction];
        entry
    };
    let mut ungranted = entry("acme/vaults", &json!({ "uses": ["entities"], "tools": many(&tool) }));
    let (hide, role) = (
        Restriction { hidden: true, ..Restriction::default() },
        Restriction { role: Some("admin".to_owned()), ..Restriction::default() },
    );

    let without = heard(&Search::default(), &snapshot(1, [weather(), alone]), &bob());
    assert!(without.contains("tool:acme/notes.add") && !without.contains("ault"), "{without}");
    for restriction in [hide, role] {
        let with = snapshot(1, [weather(), mixed.clone(), hidden(restriction), ungranted.clone()]);
        assert_eq!(heard(&Search::default(), &with, &bob()), without);
        assert!(
            heard(&Search::default(), &with, &ada()).contains("tool:acme/notes.vault7"),
            "an admin does hear of it"
        );
        let search = Search::default();
        for id in [
            "tool:acme/notes.vault7",
            "tool:acme/notes.vault_out",
            "tool:acme/notes.vault_gone",
            "capability:acme/vaultkeeper",
            "domain:vaultkeeper",
            "tool:acme/vaults.vault1",
            "entity:acme/vaultkeeper.vaults",
        ] {
            assert!(search.look_up(&with, &bob(), id).is_none(), "{id}");
        }
        let nobody = Identity::stored("nobody");
        assert_eq!(ids(&search.find(&with, &nobody, "vault note weather", 9)), [""; 0]);
        assert_eq!(search.domains(&with, &nobody), []);
    }
    ungranted.grants = vec![Grant { namespace: NamespaceName::Entities, entry: None }];
    assert!(best(&snapshot(1, [ungranted]), "vault").is_some(), "what is granted is found");
}

#[test]
fn scores_are_those_of_a_host_without_the_rest() {
    let open = || vec![tool("add_note", "Adds a note."), tool("list_notes", "Lists notes and weather.")];
    let scores = |tools: Vec<Value>| {
        let snapshot = snapshot(1, [entry("acme/notes", &json!({ "tools": tools }))]);
        let search = Search::default();
        let index = search.at(&snapshot);
        let bob = bob();
        let view = View { caller: Caller::of(&bob, &snapshot.directory), snapshot: &snapshot };
        let (seen, mut stems) = (index.seen(&view), Stems::default());
        let is_seen = |number: Number| seen[number as usize];
        let wanted = Reader { postings: &index.postings, is_seen, stems: &mut stems }.read("add notes weathr");
        let ranked = rank::rank(&wanted, &index.postings, &seen);
        let id = |number| index.thing(number).map(|(kind, entry, at)| kind.id(&entry.capability, at));
        ranked.into_iter().map(|(number, score)| (id(number), score.to_bits())).collect::<Vec<_>>()
    };
    let without = scores(open());
    let mut with = open();
    with.extend((0..9).map(|at| secret(&format!("weather_notes{at}"), "Adds weathr to notes and weathers.")));
    assert_eq!(scores(with), without);
    assert!(without.len() >= 3, "{without:?}");
}

#[test]
fn only_what_changed_is_read_again() {
    let search = Search::default();
    let read = |snapshot: &Arc<Snapshot>| search.at(snapshot).read;
    let notes = |description: &str| entry("acme/notes", &json!({ "tools": [tool("add", description)] }));
    let first = snapshot(1, [weather(), notes("Adds a note.")]);
    assert_eq!(read(&first), 2);
    assert_eq!(read(&first), 2);
    // A grant, a restriction or a withdrawal is no text.
    let mut restricted = weather();
    restricted.restrictions = vec![Restriction { hidden: true, ..Restriction::default() }];
    let second = snapshot(2, [restricted, notes("Adds a note.")]);
    assert_eq!(read(&second), 2);
    assert_eq!(ids(&search.find(&second, &bob(), "forecast", 5)), [""; 0]);
    let third = snapshot(3, [weather(), notes("Adds a memo.")]);
    assert_eq!(read(&third), 3);
    assert_eq!(ids(&search.find(&third, &bob(), "memo", 1)), ["tool:acme/notes.add"]);
    let fourth = snapshot(4, [notes("Adds a memo.")]);
    assert_eq!(ids(&search.find(&fourth, &bob(), "forecast", 5)), [""; 0], "it is uninstalled");
    assert!(search.look_up(&fourth, &bob(), "tool:acme/weather.get_forecast").is_none());
    // Whoever still holds an older snapshot gets the newer answer.
    assert_eq!(ids(&search.find(&first, &bob(), "forecast", 5)), [""; 0]);
    assert_eq!(ids(&search.find(&fourth, &bob(), "memo", 1)), ["tool:acme/notes.add"]);
}

#[test]
fn a_tool_is_shown_with_all_that_a_call_needs() {
    let snapshot = snapshot(1, [weather()]);
    let search = Search::default();
    let show = |id: &str| search.look_up(&snapshot, &bob(), id).map(|(_, whole)| whole);
    let whole = show("tool:acme/weather.get_forecast").unwrap();
    assert_eq!(whole["inputSchema"]["properties"], json!({ "placeName": {} }));
    assert_eq!(whole["annotations"]["readOnlyHint"], json!(true));
    assert_eq!(whole["needsConfirmation"], json!(false));
    assert_eq!(whole["tool"], json!("acme/weather.get_forecast"));
    let domain = show("domain:outdoors").unwrap();
    assert_eq!(domain["capabilities"][0]["id"], json!("capability:acme/weather"));
    let capability = show("capability:acme/weather").unwrap();
    assert_eq!(capability["tools"][1]["id"], json!("tool:acme/weather.createAlert"));
    for id in ["tool:acme/weather.nothing", "tool", "", ":", "zeppelin:acme/weather"] {
        assert_eq!(show(id), None, "{id}");
    }
}

#[test]
fn lines_are_clean_and_short() {
    let text = format!("Two\nlines\u{202e} {}", "long ".repeat(99));
    let snapshot = snapshot(1, [entry("acme/notes", &json!({ "tools": [tool("add", &text)] }))]);
    let found = Search::default().find(&snapshot, &bob(), "add", 1);
    assert!(
        found[0].line.starts_with("Two lines long") && found[0].line.chars().count() <= 200,
        "{}",
        found[0].line
    );
}

#[test]
fn any_question_has_an_answer() {
    let snapshot = snapshot(1, [weather()]);
    let search = Search::default();
    for question in ["\0", "𝕏𝕐", "a".repeat(1 << 20).as_str(), "天気", "get get get", "--", "e\u{301}"] {
        assert!(search.find(&snapshot, &bob(), question, usize::MAX).len() < 9);
    }
    assert_eq!(search.find(&snapshot, &bob(), "forecast", 0).len(), 0);
}
