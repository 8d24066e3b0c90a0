//! What capabilities show and withdraw by themselves: it narrows, it holds for calls too, and a flood of it costs
//! nobody but the one who makes it.

use remit::call::{CallRequest, Offer, Updated, Visit};
use remit::client::Client;
use remit::policy::Identity;
use remit::registry::Item;
use remit_guests::{Guest, manifest};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::support::home::{Home, outcome, renamed, request};

/// A capability `test/SLUG` whose tool `run` may change something, with another tool, a document and a prompt.
fn shop(guest: &Guest, slug: &str, change: impl FnOnce(&mut Value)) -> Vec<u8> {
    let mut manifest = manifest(slug);
    let mut other = manifest["tools"][0].clone();
    other["name"] = json!("other");
    manifest["tools"][0]["readOnly"] = json!(false);
    manifest["tools"].as_array_mut().expect("tools").push(other);
    manifest["resources"] = json!([{ "uri": "note:all", "name": "all", "description": "All notes." }]);
    manifest["resourceTemplates"] =
        json!([{ "uriTemplate": "note:id/{id}", "name": "note", "description": "One note." }]);
    manifest["prompts"] = json!([{ "name": "sum_up", "description": "Sums up." }]);
    change(&mut manifest);
    guest.clone().with_documents().with_manifest(&manifest)
}

fn run(home: &Home, slug: &str) -> String {
    outcome(&home.call(&format!("test/{slug}.run"), &json!({})))
}

fn visit(slug: &str) -> Visit {
    Visit {
        caller: Identity::operator("test"),
        capability: format!("test/{slug}").parse().expect("a name"),
        client: Client::default(),
        locale: None,
    }
}

fn read(home: &Home, slug: &str, uri: &str) -> &'static str {
    let read = home.threads.block_on(home.host().read(visit(slug), uri, CancellationToken::new()));
    read.map_or_else(|failure| failure.error.kind.code(), |_| "read")
}

fn prompt(home: &Home, slug: &str) -> &'static str {
    let host = home.host();
    let prompt = host.prompt(visit(slug), "sum_up", [].into(), CancellationToken::new());
    home.threads.block_on(prompt).map_or_else(|failure| failure.error.kind.code(), |_| "made")
}

fn withdrawn(home: &Home, slug: &str) -> Vec<Item> {
    let name = format!("test/{slug}").parse().expect("a name");
    home.app.admin().find(&name).expect("installed").withdrawn.iter().cloned().collect()
}

#[test]
fn what_is_withdrawn_cannot_be_called_until_it_is_offered_again() {
    let home = Home::new();
    let all = [(0, "other"), (1, "sum_up"), (2, "note:all"), (2, "note:id/{id}")];
    let with = |offered: bool| Guest::offers(&all.map(|(kind, name)| (kind, name, offered)));
    home.install(shop(&with(false), "closes", |_| {}));
    home.install(shop(&with(false), "stays", |_| {}));
    assert_eq!(run(&home, "closes"), "0000");
    assert_eq!(withdrawn(&home, "closes").len(), 4);
    assert_eq!(outcome(&home.call("test/closes.other", &json!({}))), "call/unknown-tool");
    assert_eq!(home.records()[0].usage.fuel, 0, "no guest ran");
    assert_eq!(prompt(&home, "closes"), "call/unknown-prompt");
    for uri in ["note:all", "note:id/1"] {
        assert_eq!(read(&home, "closes", uri), "call/unknown-resource", "{uri}");
    }
    assert_eq!(outcome(&home.call("test/stays.other", &json!({}))), "2222", "another capability's is there");
    assert_eq!(read(&home, "stays", "note:all"), "read");

    // An upgrade begins with everything.
    home.install(shop(&with(true), "closes", |manifest| manifest["version"] = json!("1.1.0")));
    assert_eq!(withdrawn(&home, "closes"), []);
    assert_eq!(read(&home, "closes", "note:id/1"), "read");
    assert_eq!(prompt(&home, "closes"), "made");
}

#[test]
fn a_flood_of_offers_moves_nothing() {
    let home = Home::new();
    let flips: Vec<_> = (0..20).map(|index| (0, "other", index % 2 == 1)).collect();
    home.install(shop(&Guest::offers(&flips), "flips", |_| {}));
    home.install(shop(&Guest::offers(&[(0, "other", true); 20]), "repeats", |_| {}));
    let generation = || home.host().snapshot().expect("a snapshot").generation;
    let before = generation();
    assert_eq!(run(&home, "repeats"), "0".repeat(20));
    assert_eq!(generation(), before, "what is so already is no change");
    // Past the limit: a change is refused, and what is so already is none.
    assert_eq!(run(&home, "flips"), format!("{}3030", "0".repeat(16)));
    assert_eq!(generation(), before + 16);
    assert_eq!(withdrawn(&home, "flips"), []);
}

#[test]
fn only_what_is_declared_and_only_by_a_tool_that_may() {
    let home = Home::new();
    let foreign = [(0, "walk", false), (1, "run", false), (2, "note:1", false), (2, "note:id/1", true)];
    home.install(shop(&Guest::offers(&foreign), "foreign", |_| {}));
    assert_eq!(run(&home, "foreign"), "1111", "nothing of that name");
    let guest = Guest::offers(&[(0, "other", false)]);
    home.install(shop(&guest, "reads", |manifest| manifest["tools"][0]["readOnly"] = json!(true)));
    assert_eq!(run(&home, "reads"), "2", "read-only");
    assert_eq!((withdrawn(&home, "foreign"), withdrawn(&home, "reads")), (vec![], vec![]));
    // A call that goes on after an upgrade changes nothing of the new version: see the store's tests.
}

#[test]
fn a_dry_run_withdraws_nothing() {
    let home = Home::new();
    let guest = Guest::offers(&[(0, "other", false), (0, "other", false), (1, "sum_up", true)]);
    home.install(shop(&guest, "shop", |_| {}));
    let rehearsal = CallRequest { dry_run: true, ..request("test/shop.run", &json!({})) };
    let reply = home.threads.block_on(home.host().call(rehearsal, CancellationToken::new())).expect("an answer");
    assert_eq!(reply.plan.listing, [Offer { item: Item::Tool("other".to_owned()), offered: false }]);
    assert_eq!(withdrawn(&home, "shop"), []);
    // The twin.
    assert_eq!(run(&home, "shop"), "000");
    assert_eq!(withdrawn(&home, "shop"), [Item::Tool("other".to_owned())]);
}

#[test]
fn what_changed_is_told_of_the_capabilitys_own_addresses_alone() {
    let home = Home::new();
    home.install(shop(&Guest::updates("note:id/7", 1), "tells", |_| {}));
    home.install(shop(&Guest::updates("note:id/7", 100), "floods", |_| {}));
    let foreign = ["note:other", "remit://inbox", "note:id/{id}", "note:id/a/b", "https://evil.example/"];
    let host = home.host();
    let mut updates = host.updates();
    for (index, uri) in foreign.iter().enumerate() {
        let slug = format!("foreign{index}");
        home.install(shop(&Guest::updates(uri, 1), &slug, |_| {}));
        assert_eq!(run(&home, &slug), "1", "{uri}");
    }
    let rehearsal = CallRequest { dry_run: true, ..request("test/tells.run", &json!({})) };
    assert!(home.threads.block_on(host.call(rehearsal, CancellationToken::new())).is_ok());
    assert!(updates.try_recv().is_err(), "nothing was told");

    let update = |slug: &str| Updated {
        capability: format!("test/{slug}").parse().expect("a name"),
        uri: "note:id/7".to_owned(),
    };
    assert_eq!(run(&home, "tells"), "0");
    assert_eq!(updates.try_recv(), Ok(update("tells")));
    assert_eq!(run(&home, "floods"), "3", "the last one was over the limit");
    let told = std::iter::from_fn(|| updates.try_recv().ok()).collect::<Vec<_>>();
    assert_eq!((told.len(), told.iter().all(|told| *told == update("floods"))), (64, true));
}

#[test]
fn an_uninstall_takes_it_along() {
    let home = Home::new();
    let component = shop(&Guest::offers(&[(0, "other", false)]), "shop", |_| {});
    home.install(component.clone());
    home.install(renamed(&component, |manifest| manifest["slug"] = json!("rival")));
    assert_eq!(run(&home, "shop"), "0");
    assert_eq!(withdrawn(&home, "rival"), []);
    home.app.admin().uninstall(&"test/shop".parse().expect("a name")).expect("uninstalled");
    home.install(component);
    assert_eq!(withdrawn(&home, "shop"), []);
}
