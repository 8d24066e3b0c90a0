//! `search`: how long a search among 10,000 tools takes, how long their index takes to be made, and how much memory
//! it keeps; and the same for what changes of it when one capability of a hundred does.

use std::sync::Arc;
use std::time::Instant;

use remit::manifest::Manifest;
use remit::policy::Identity;
use remit::registry::{Capability, CapabilityName, Digest, Entry, Snapshot, Withdrawn};
use remit::search::Search;
use serde_json::json;

use crate::{Effort, figure, quantile};

const CAPABILITIES: usize = 100;
const TOOLS: usize = 100;

const VERBS: [&str; 10] =
    ["get", "list", "create", "update", "delete", "send", "search", "check", "start", "cancel"];

/// What starts the words of a vocabulary of some thousands.
const STARTS: [&str; 24] = [
    "ac", "bra", "cor", "del", "est", "fin", "gra", "hol", "inv", "jun", "kel", "lam", "mar", "not", "ord", "pla",
    "qua", "rep", "ser", "tra", "uni", "val", "wor", "zon",
];
const ENDS: [&str; 24] = [
    "count",
    "nch",
    "respond",
    "iver",
    "imate",
    "ance",
    "nt",
    "iday",
    "oice",
    "ction",
    "vin",
    "ination",
    "ket",
    "ification",
    "er",
    "n",
    "lity",
    "ository",
    "vice",
    "nsfer",
    "verse",
    "ue",
    "kflow",
    "e",
];

pub(crate) fn measure(effort: Effort) {
    let snapshot = installed(1, usize::MAX);
    let caller = Identity::operator("cli");
    let before = resident();
    let search = Search::default();
    let begun = Instant::now();
    drop(search.find(&snapshot, &caller, "account", 1));
    let took = begun.elapsed().as_secs_f64();
    figure("search_index_10000", "value", took * 1e3, "ms", "< 1000");
    figure("search_memory_10000", "value", (resident() - before).max(0.0), "MB", "< 60");

    let questions = ["exact", "beginning", "mistyped", "long"];
    for kind in questions {
        let mut samples: Vec<f64> = (0..effort.calls.min(1_000))
            .map(|number| {
                let question = question(kind, number);
                let begun = Instant::now();
                drop(std::hint::black_box(search.find(&snapshot, &caller, &question, 10)));
                begun.elapsed().as_secs_f64() * 1e3
            })
            .collect();
        figure(&format!("search_{kind}_p50"), "value", quantile(&mut samples, 0.5), "ms", "");
        figure(&format!("search_{kind}_p99"), "value", quantile(&mut samples, 0.99), "ms", "< 5");
    }

    let changed = installed(2, 7);
    let begun = Instant::now();
    drop(search.find(&changed, &caller, "account", 1));
    figure("search_follow_one_of_100", "value", begun.elapsed().as_secs_f64() * 1e3, "ms", "");
}

fn question(kind: &str, number: usize) -> String {
    let (one, other, verb) = (word(number), word(number * 7 + 3), VERBS[number % VERBS.len()]);
    match kind {
        "exact" => format!("{verb} a {one} of the {other}"),
        "beginning" => format!("{verb} {}", &one[..4.min(one.len())]),
        "mistyped" => format!("{verb}x {one}q of {other}q"),
        _ => (0..20).map(|at| word(number * 31 + at)).collect::<Vec<_>>().join(" "),
    }
}

fn word(number: usize) -> String {
    let (start, end) = (number % STARTS.len(), number / STARTS.len() % ENDS.len());
    format!("{}{}", STARTS[start], ENDS[end])
}

/// A hundred capabilities with a hundred tools each; one of them is newer.
fn installed(generation: u64, newer: usize) -> Arc<Snapshot> {
    let entries = (0..CAPABILITIES).map(|number| {
        let name: CapabilityName = format!("acme/{}-{number}", word(number)).parse().expect("a name");
        let at = i64::from(number == newer);
        (name.clone(), Arc::new(entry(name, number, at)))
    });
    Arc::new(Snapshot { generation, entries: entries.collect(), ..Snapshot::default() })
}

fn entry(name: CapabilityName, number: usize, installed_at: i64) -> Entry {
    let tools = (0..TOOLS).map(|at| {
        let number = number * TOOLS + at;
        let words: Vec<String> = (0..30).map(|at| word(number * 13 + at * at)).collect();
        let properties =
            (0..6).map(|at| (format!("{}_{}", words[at], words[at + 1]), json!({ "type": "string" })));
        json!({
            "name": format!("{}_{}_{number}", VERBS[number % VERBS.len()], words[0]), "expose": true,
            "title": format!("{} {} {}", VERBS[number % VERBS.len()], words[0], words[1]),
            "description": words.join(" "), "keywords": [words[2], words[3]],
            "inputSchema": { "type": "object", "properties": properties.collect::<serde_json::Map<_, _>>() },
        })
    });
    let manifest = json!({
        "publisher": name.publisher, "slug": name.slug, "version": "1.0.0", "title": word(number),
        "description": "d", "tools": tools.collect::<Vec<_>>(),
    });
    let manifest: Manifest = serde_json::from_value(manifest).expect("a manifest");
    let digest = Digest::of(name.slug.as_bytes());
    Entry {
        capability: Arc::new(Capability { manifest, name, digest, installed_at, size: 0 }),
        grants: Vec::new(),
        approvals: Vec::new(),
        restrictions: Vec::new(),
        withdrawn: Withdrawn::default(),
        recall: None,
        origin: None,
        schemas: Arc::default(),
    }
}

/// Resident memory of this process, in megabytes (proc(5)).
fn resident() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("a status");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("a size");
    let kibibytes: f64 = line.trim().trim_end_matches("kB").trim().parse().expect("a number");
    kibibytes / 1024.0
}
