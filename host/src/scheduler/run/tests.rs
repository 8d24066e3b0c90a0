//! L-07 as a table: what a loop needs at each start, by who made it.

use std::sync::Arc;

use serde_json::{Map, json};

use super::*;
use crate::config::Config;
use crate::policy::{Directory, Grant, Principal, Restriction};
use crate::registry::{Capability, CapabilityName, Digest, Entry, Withdrawn};
use crate::scheduler::next::Timing;
use crate::scheduler::{Definition, Status};
use crate::validate::ToolSchemas;

/// `acme/weather` with these grants of `loops` and three tools.
fn snapshot(grants: &[Option<&str>]) -> Snapshot {
    let tool = |name: &str, more: serde_json::Value| {
        let mut tool = json!({ "name": name, "description": "D.", "expose": true,
            "inputSchema": { "type": "object", "additionalProperties": false } });
        for (member, value) in more.as_object().unwrap() {
            tool[member] = value.clone();
        }
        tool
    };
    let manifest: crate::manifest::Manifest = serde_json::from_value(json!({
        "publisher": "acme", "slug": "weather", "version": "1.0.0", "title": "W", "description": "W.",
        "uses": ["loops"],
        "tools": [tool("look", json!({ "readOnly": true })), tool("wipe", json!({ "destructive": true })),
                  tool("hidden", json!({ "readOnly": true, "expose": false }))],
    }))
    .unwrap();
    let name: CapabilityName = "acme/weather".parse().unwrap();
    let namespace = crate::manifest::NamespaceName::Loops;
    let entry = |name: CapabilityName, grants: &[Option<&str>]| Entry {
        schemas: Arc::new(manifest.tools.iter().map(ToolSchemas::new).collect()),
        capability: Arc::new(Capability {
            name,
            digest: Digest::of(b"weather"),
            manifest: manifest.clone(),
            installed_at: 0,
            size: 0,
        }),
        grants: grants.iter().map(|entry| Grant { namespace, entry: entry.map(str::to_owned) }).collect(),
        approvals: Vec::new(),
        restrictions: Vec::new(),
        withdrawn: Withdrawn::default(),
        recall: None,
        origin: None,
    };
    // The loops of agents belong to another one, which has its grant.
    let official = crate::scheduler::official();
    let entries = [(name.clone(), entry(name, grants)), (official.clone(), entry(official, &[None]))];
    let directory =
        Directory { principals: [("a".to_owned(), Principal::default())].into(), ..Directory::default() };
    Snapshot {
        generation: 1,
        entries: entries.map(|(name, entry)| (name, Arc::new(entry))).into(),
        directory: Arc::new(directory),
        ..Snapshot::default()
    }
}

/// The same, where every tool asks for a role.
fn restricted(snapshot: Snapshot) -> Snapshot {
    let entries = snapshot.entries.into_iter().map(|(name, entry)| {
        let entry = Arc::into_inner(entry).unwrap();
        let restrictions = vec![Restriction { role: Some("admin".to_owned()), ..Restriction::default() }];
        (name, Arc::new(Entry { restrictions, ..entry }))
    });
    Snapshot { entries: entries.collect(), ..snapshot }
}

fn looped(origin: Origin, tool: &str) -> Loop {
    let capability = match origin {
        Origin::Preset | Origin::Capability => "acme/weather".parse().unwrap(),
        Origin::Agent | Origin::Person => crate::scheduler::official(),
    };
    let task = Task::Tool { tool: format!("acme/weather.{tool}").parse().unwrap(), input: Map::new() };
    Loop {
        id: "1".to_owned(),
        capability,
        definition: Definition::new("a".to_owned(), Timing::Interval { seconds: 600 }, task),
        origin,
        owner: "a".to_owned(),
        status: Status::Active,
        reason: None,
        anchor_at: 0,
        next_at: Some(0),
        last_at: None,
        missed: 0,
        skipped: 0,
        created_at: 0,
        changed_at: 0,
    }
}

#[test]
fn rights_are_looked_at_before_each_start() {
    use Origin::{Agent, Capability, Person, Preset};
    let (granted, narrowed) = (snapshot(&[None]), snapshot(&[None, Some("every=1h")]));
    let (taken_back, gone) = (snapshot(&[]), Snapshot::default());
    let unowned = Snapshot { directory: Arc::default(), ..snapshot(&[None]) };
    let restricted = restricted(snapshot(&[None]));
    let cases: &[(Origin, &str, &Snapshot, &str)] = &[
        (Preset, "look", &granted, "ok"),
        (Preset, "look", &taken_back, "call/not-allowed"),
        (Preset, "look", &narrowed, "loops/limit"),
        (Preset, "look", &gone, "registry/not-found"),
        (Preset, "renamed", &granted, "call/unknown-tool"),
        (Preset, "wipe", &granted, "ok"),
        (Capability, "wipe", &granted, "call/confirmation-required"),
        (Capability, "look", &taken_back, "call/not-allowed"),
        (Capability, "look", &narrowed, "loops/limit"),
        (Capability, "look", &gone, "registry/not-found"),
        // What a tool may do is its capability's; the loop is not.
        (Agent, "look", &taken_back, "ok"),
        (Agent, "wipe", &granted, "call/not-allowed"),
        (Agent, "hidden", &granted, "call/not-allowed"),
        (Agent, "look", &gone, "registry/not-found"),
        (Person, "wipe", &taken_back, "ok"),
        (Person, "hidden", &taken_back, "ok"),
        (Person, "look", &gone, "call/unknown-tool"),
        // Whose maker may call nothing any more.
        (Capability, "look", &unowned, "call/not-allowed"),
        (Agent, "look", &unowned, "call/not-allowed"),
        (Preset, "look", &unowned, "ok"),
        (Person, "look", &unowned, "ok"),
        // Whose maker lacks the role that the tool now asks for.
        (Capability, "look", &restricted, "call/not-allowed"),
        (Agent, "look", &restricted, "call/not-allowed"),
        (Preset, "look", &restricted, "ok"),
        (Person, "look", &restricted, "ok"),
    ];
    for (origin, tool, snapshot, expected) in cases {
        let told = permitted(&looped(*origin, tool), snapshot, &Config::default());
        assert_eq!(told.map_or_else(|error| error.kind.code(), |()| "ok"), *expected, "{origin:?} {tool}");
    }
}

#[test]
fn who_makes_a_loop_decides_what_it_may_do() {
    use crate::scheduler::{Limits, check};
    let snapshot = snapshot(&[None]);
    let cases = [
        (Origin::Capability, "acme/weather", "look", "ok"),
        (Origin::Capability, "acme/weather", "wipe", "call/confirmation-required"),
        (Origin::Capability, "acme/other", "look", "loops/invalid-definition"),
        (Origin::Agent, "remit/loops", "look", "ok"),
        (Origin::Agent, "remit/loops", "wipe", "call/not-allowed"),
        (Origin::Agent, "remit/loops", "hidden", "call/not-allowed"),
        (Origin::Person, "remit/loops", "wipe", "ok"),
    ];
    for (origin, capability, tool, expected) in cases {
        let limits = Limits { origin, min_period: Duration::from_secs(600) };
        let capability = capability.parse().unwrap();
        let told = check(&looped(origin, tool).definition, &capability, limits, &snapshot, 0);
        assert_eq!(told.map_or_else(|error| error.kind.code(), |_| "ok"), expected, "{origin:?} {tool}");
    }
    let limits = Limits { origin: Origin::Capability, min_period: Duration::from_secs(601) };
    let told = check(
        &looped(Origin::Capability, "look").definition,
        &"acme/weather".parse().unwrap(),
        limits,
        &snapshot,
        0,
    );
    assert_eq!(told.unwrap_err().kind, ErrorKind::LoopLimit);
}

#[test]
fn a_firing_is_stale_beyond_its_window() {
    let of = looped(Origin::Person, "look");
    let run = |nominal_at| Run {
        id: "1".to_owned(),
        loop_id: "1".to_owned(),
        nominal_at,
        start_at: nominal_at,
        is_manual: false,
        state: RunState::Claimed,
        attempt: 0,
        started_at: None,
        ended_at: None,
        call: None,
        reason: None,
        is_nothing: false,
        report: None,
        changes: 0,
        taken_by: None,
        lease_until: None,
    };
    let hour = 3_600_000;
    assert!(!is_stale(&run(0), &of, hour) && is_stale(&run(0), &of, hour + 1));
    assert!(!is_stale(&run(hour), &of, 0), "a clock that was set back makes nothing late");
}
