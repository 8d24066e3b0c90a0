//! What a new version may do, or would be given, that the one before did not ask.
//!
//! Each widening is a question of its own. One of a grant is answered by giving it or not; any other comes with the
//! version, so that who does not agree does not upgrade. What became narrower is no question.

use std::time::Duration;

use super::carried::covers;
use crate::manifest::{Manifest, NamespaceName, Tool};
use crate::policy::{DEFAULT_BUDGET, Grant, asks};
use crate::scheduler::next::{Schedule, in_largest_unit};
use crate::scheduler::{Definition, presets};

/// What a widening is about: the word to agree to it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum About {
    /// Something that is granted or not.
    Grant(Grant),
    /// A place that a secret may go to once that is approved. It is never given by an upgrade.
    Secrets,
    /// What a call may spend.
    Limits,
    /// How much it keeps in a conversation.
    Sandbox,
    /// When it runs by itself, and what it does then.
    Loops,
    /// What its tools do to the world, and who may call them.
    Tools,
}

/// One thing that became wider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Widening {
    /// What it is about.
    pub about: About,
    /// What became wider, as a phrase.
    pub what: String,
}

impl About {
    /// The word by which a person agrees to it beforehand. `None` where a grant or an approval says it.
    #[must_use]
    pub fn word(&self) -> Option<&'static str> {
        match self {
            Self::Grant(_) | Self::Secrets => None,
            Self::Limits => Some("limits"),
            Self::Sandbox => Some("sandbox"),
            Self::Loops => Some("loops"),
            Self::Tools => Some("tools"),
        }
    }
}

/// All that becomes wider from `before` to `after`, grants first.
#[must_use]
pub fn widenings(before: &Manifest, after: &Manifest) -> Vec<Widening> {
    let mut found = Vec::new();
    let asked = asks(before);
    for ask in asks(after).into_iter().filter(|ask| !asked.iter().any(|old| covers(old, ask))) {
        let entry = ask.entry.as_ref().map_or(String::new(), |entry| format!(" `{entry}`"));
        found.push(Widening { what: format!("`{}`{entry}", ask.namespace.as_str()), about: About::Grant(ask) });
    }
    let mut add = |about: About, what: Vec<String>| {
        found.extend(what.into_iter().map(|what| Widening { about: about.clone(), what }));
    };
    add(About::Secrets, secrets(before, after));
    add(About::Limits, limits(before, after));
    add(About::Sandbox, sandbox(before, after));
    add(About::Loops, loops(before, after));
    add(About::Tools, tools(before, after));
    found
}

fn secrets(before: &Manifest, after: &Manifest) -> Vec<String> {
    let mut wider = Vec::new();
    for secret in &after.secrets {
        let known = before.secrets.iter().find(|known| known.name == secret.name);
        for host in &secret.hosts {
            for place in &secret.places {
                let was_there =
                    known.is_some_and(|known| known.hosts.contains(host) && known.places.contains(place));
                if !was_there {
                    wider.push(format!("the secret `{}` may be approved for `{host}` in `{place}`", secret.name));
                }
            }
        }
    }
    wider
}

fn limits(before: &Manifest, after: &Manifest) -> Vec<String> {
    let (old, new) = (before.limits.unwrap_or_default(), after.limits.unwrap_or_default());
    let mib = (DEFAULT_BUDGET.memory_bytes / (1024 * 1024)) as u64;
    let milliseconds = DEFAULT_BUDGET.time.as_millis() as u64;
    let rows = [
        ("fuel", old.fuel, new.fuel, DEFAULT_BUDGET.fuel),
        ("MiB of memory", old.memory_mib.map(u64::from), new.memory_mib.map(u64::from), mib),
        ("ms of time", old.time_ms.map(u64::from), new.time_ms.map(u64::from), milliseconds),
        (
            "requests",
            old.http_requests.map(u64::from),
            new.http_requests.map(u64::from),
            DEFAULT_BUDGET.http_requests.into(),
        ),
    ];
    let wider = rows.into_iter().filter_map(|(unit, old, new, otherwise)| {
        let (old, new) = (old.unwrap_or(otherwise), new.unwrap_or(otherwise));
        (new > old).then(|| format!("a call may spend {new} {unit}, before {old}"))
    });
    wider.collect()
}

fn sandbox(before: &Manifest, after: &Manifest) -> Vec<String> {
    if !before.uses.contains(&NamespaceName::Sandbox) || !after.uses.contains(&NamespaceName::Sandbox) {
        // The namespace itself is asked for, or gone.
        return Vec::new();
    }
    let (old, new) = (before.sandbox.unwrap_or_default(), after.sandbox.unwrap_or_default());
    let said =
        |number: Option<u64>| number.map_or_else(|| "as many as allowed".to_owned(), |some| some.to_string());
    let rows = [("files", old.files, new.files), ("bytes", old.bytes, new.bytes)];
    // Without a number it takes whatever the operator allows.
    let wider = rows.into_iter().filter(|(_, old, new)| new.unwrap_or(u64::MAX) > old.unwrap_or(u64::MAX));
    wider
        .map(|(unit, old, new)| format!("it keeps {} {unit} in a conversation, before {}", said(new), said(old)))
        .collect()
}

fn loops(before: &Manifest, after: &Manifest) -> Vec<String> {
    let old = presets(before);
    let mut wider = Vec::new();
    for new in presets(after) {
        let name = &new.name;
        match old.iter().find(|old| old.name == *name) {
            None => {
                wider.push(format!("it runs `{name}` by itself, at least {} apart", in_largest_unit(period(&new))))
            }
            Some(old) => {
                if period(&new) < period(old) {
                    let (new, old) = (in_largest_unit(period(&new)), in_largest_unit(period(old)));
                    wider.push(format!("it runs `{name}` as often as every {new}, before every {old}"));
                }
                if new.task != old.task {
                    wider.push(format!("`{name}` does something else when it runs"));
                }
            }
        }
    }
    wider
}

/// The least time between two firings, in seconds. One that never fires comes as late as can be.
fn period(preset: &Definition) -> u64 {
    Schedule::new(&preset.timing, 0).map_or(Duration::MAX, |schedule| schedule.period()).as_secs()
}

fn tools(before: &Manifest, after: &Manifest) -> Vec<String> {
    let mut wider = Vec::new();
    if before.runtime != after.runtime {
        wider.push("its tools run in another way".to_owned());
    }
    for new in &after.tools {
        match before.tools.iter().find(|old| old.name == new.name) {
            None if !new.read_only => wider.push(format!("the new tool `{}` {}", new.name, effect(new))),
            None => {}
            Some(old) => tool(old, new, &mut wider),
        }
    }
    wider
}

fn tool(old: &Tool, new: &Tool, wider: &mut Vec<String>) {
    let name = &new.name;
    if new.is_destructive() && !old.is_destructive() {
        wider.push(format!("`{name}` may destroy"));
    } else if old.read_only && !new.read_only {
        wider.push(format!("`{name}` changes something, before it only read"));
    }
    if old.idempotent && !new.idempotent && !new.read_only {
        wider.push(format!("`{name}` does more when it is called again"));
    }
    if new.expose && !old.expose {
        wider.push(format!("`{name}` is published to agents"));
    }
    let requirements = [
        ("role", &old.required_role, &new.required_role),
        ("permission", &old.required_permission, &new.required_permission),
        ("flag", &old.feature_flag, &new.feature_flag),
    ];
    for (what, old, new) in requirements {
        if let Some(asked) = old.as_ref().filter(|_| old != new) {
            wider.push(format!("`{name}` does not ask for the {what} `{asked}` any more"));
        }
    }
}

fn effect(tool: &Tool) -> &'static str {
    if tool.is_destructive() { "may destroy" } else { "changes something" }
}
