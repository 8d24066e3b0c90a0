//! What a new version may do, or would be given, that the one before did not ask, and the other way round.
//!
//! Each widening is a question of its own. One of a grant is answered by giving it or not; any other comes with the
//! version, so that who does not agree does not upgrade. What became narrower is no question.

use std::time::Duration;

use serde::{Serialize, Serializer};

use crate::manifest::{Manifest, NamespaceName, Tool};
use crate::policy::{DEFAULT_BUDGET, Grant, HostPattern, asks};
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
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
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

impl Serialize for About {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(match self {
            Self::Grant(_) => "grant",
            Self::Secrets => "secrets",
            about => about.word().unwrap_or_default(),
        })
    }
}

/// All that becomes wider from `before` to `after`, grants first.
#[must_use]
pub fn widenings(before: &Manifest, after: &Manifest) -> Vec<Widening> {
    let wider = shifts(before, after).into_iter().filter(|shift| shift.is_wider);
    wider.map(|shift| Widening { about: shift.about, what: shift.what }).collect()
}

/// All that becomes narrower, as phrases.
#[must_use]
pub fn narrowings(before: &Manifest, after: &Manifest) -> Vec<String> {
    shifts(before, after).into_iter().filter(|shift| !shift.is_wider).map(|shift| shift.what).collect()
}

/// Whether one grant gives all that another would.
#[must_use]
pub fn covers(grant: &Grant, other: &Grant) -> bool {
    let pattern = |grant: &Grant| grant.entry.as_ref().and_then(|entry| entry.parse::<HostPattern>().ok());
    grant == other
        || grant.namespace == NamespaceName::Http
            && other.namespace == NamespaceName::Http
            && pattern(grant).zip(pattern(other)).is_some_and(|(wide, narrow)| wide.covers(&narrow))
}

/// One thing that is asked otherwise than before.
struct Shift {
    about: About,
    is_wider: bool,
    what: String,
}

/// What is found, in order.
#[derive(Default)]
struct Shifts(Vec<Shift>);

impl Shifts {
    fn wider(&mut self, about: About, what: String) {
        self.0.push(Shift { about, is_wider: true, what });
    }

    fn narrower(&mut self, about: About, what: String) {
        self.0.push(Shift { about, is_wider: false, what });
    }

    /// Adds what is more or less than it was, and nothing when it is the same.
    fn compare<T: PartialOrd + Copy>(&mut self, about: About, old: T, new: T, what: String) {
        if new != old {
            self.0.push(Shift { about, is_wider: new > old, what });
        }
    }
}

fn shifts(before: &Manifest, after: &Manifest) -> Vec<Shift> {
    let mut shifts = Shifts::default();
    let (old, new) = (asks(before), asks(after));
    let is_covered = |asks: &[Grant], ask: &Grant| asks.iter().any(|other| covers(other, ask));
    for ask in new.iter().filter(|ask| !is_covered(&old, ask)) {
        shifts.wider(About::Grant(ask.clone()), in_words(ask));
    }
    for ask in old.iter().filter(|ask| !is_covered(&new, ask)) {
        shifts.narrower(About::Grant(ask.clone()), in_words(ask));
    }
    secrets(before, after, &mut shifts);
    limits(before, after, &mut shifts);
    sandbox(before, after, &mut shifts);
    loops(before, after, &mut shifts);
    tools(before, after, &mut shifts);
    shifts.0
}

fn in_words(ask: &Grant) -> String {
    let entry = ask.entry.as_ref().map_or(String::new(), |entry| format!(" `{entry}`"));
    format!("`{}`{entry}", ask.namespace.as_str())
}

fn secrets(before: &Manifest, after: &Manifest, shifts: &mut Shifts) {
    for (secret, host, place) in placements(after).filter(|placement| !is_placed(before, placement)) {
        shifts.wider(About::Secrets, format!("the secret `{secret}` may be approved for `{host}` in `{place}`"));
    }
    for (secret, host, place) in placements(before).filter(|placement| !is_placed(after, placement)) {
        shifts.narrower(
            About::Secrets,
            format!("the secret `{secret}` may not be approved any more for `{host}` in `{place}`"),
        );
    }
}

/// Where secrets may go: name, host, place.
type Placement<'a> = (&'a str, &'a str, &'a str);

fn placements(manifest: &Manifest) -> impl Iterator<Item = Placement<'_>> {
    manifest.secrets.iter().flat_map(|secret| {
        let places =
            move |host| secret.places.iter().map(move |place| (secret.name.as_str(), host, place.as_str()));
        secret.hosts.iter().flat_map(move |host| places(host.as_str()))
    })
}

fn is_placed(manifest: &Manifest, placement: &Placement<'_>) -> bool {
    placements(manifest).any(|other| other == *placement)
}

fn limits(before: &Manifest, after: &Manifest, shifts: &mut Shifts) {
    let (old, new) = (before.limits.unwrap_or_default(), after.limits.unwrap_or_default());
    let mib = (DEFAULT_BUDGET.memory_bytes / (1024 * 1024)) as u64;
    let milliseconds = u64::try_from(DEFAULT_BUDGET.time.as_millis()).unwrap_or(u64::MAX);
    let requests = DEFAULT_BUDGET.http_requests.into();
    let rows = [
        ("fuel", old.fuel, new.fuel, DEFAULT_BUDGET.fuel),
        ("MiB of memory", old.memory_mib.map(u64::from), new.memory_mib.map(u64::from), mib),
        ("ms of time", old.time_ms.map(u64::from), new.time_ms.map(u64::from), milliseconds),
        ("requests", old.http_requests.map(u64::from), new.http_requests.map(u64::from), requests),
    ];
    for (unit, old, new, otherwise) in rows {
        let (old, new) = (old.unwrap_or(otherwise), new.unwrap_or(otherwise));
        shifts.compare(About::Limits, old, new, format!("a call may spend {new} {unit}, before {old}"));
    }
}

fn sandbox(before: &Manifest, after: &Manifest, shifts: &mut Shifts) {
    if !before.uses.contains(&NamespaceName::Sandbox) || !after.uses.contains(&NamespaceName::Sandbox) {
        // The namespace itself is asked for, or gone.
        return;
    }
    let (old, new) = (before.sandbox.unwrap_or_default(), after.sandbox.unwrap_or_default());
    let said =
        |number: Option<u64>| number.map_or_else(|| "as many as allowed".to_owned(), |some| some.to_string());
    for (unit, old, new) in [("files", old.files, new.files), ("bytes", old.bytes, new.bytes)] {
        let what = format!("it keeps {} {unit} in a conversation, before {}", said(new), said(old));
        // Without a number it takes whatever the operator allows.
        shifts.compare(About::Sandbox, old.unwrap_or(u64::MAX), new.unwrap_or(u64::MAX), what);
    }
}

fn loops(before: &Manifest, after: &Manifest, shifts: &mut Shifts) {
    let (old, new) = (presets(before), presets(after));
    for gone in old.iter().filter(|old| !new.iter().any(|new| new.name == old.name)) {
        shifts.narrower(About::Loops, format!("it does not run `{}` by itself any more", gone.name));
    }
    for new in new {
        let (name, period) = (&new.name, period(&new));
        let Some(old) = old.iter().find(|old| old.name == *name) else {
            let apart = in_largest_unit(period);
            shifts.wider(About::Loops, format!("it runs `{name}` by itself, at least {apart} apart"));
            continue;
        };
        let before = self::period(old);
        let (often, before_often) = (in_largest_unit(period), in_largest_unit(before));
        let what = format!("it runs `{name}` as often as every {often}, before every {before_often}");
        // A shorter period is more.
        shifts.compare(About::Loops, u64::MAX - before, u64::MAX - period, what);
        if new.task != old.task {
            shifts.wider(About::Loops, format!("`{name}` does something else when it runs"));
        }
    }
}

/// The least time between two firings, in seconds. One that never fires comes as late as can be.
fn period(preset: &Definition) -> u64 {
    Schedule::new(&preset.timing, 0).map_or(Duration::MAX, |schedule| schedule.period()).as_secs()
}

fn tools(before: &Manifest, after: &Manifest, shifts: &mut Shifts) {
    if before.runtime != after.runtime {
        shifts.wider(About::Tools, "its tools run in another way".to_owned());
    }
    for new in &after.tools {
        match before.tools.iter().find(|old| old.name == new.name) {
            None if !new.read_only => {
                shifts.wider(About::Tools, format!("the new tool `{}` {}", new.name, effect(new)));
            }
            None => {}
            Some(old) => tool(old, new, shifts),
        }
    }
}

fn tool(old: &Tool, new: &Tool, shifts: &mut Shifts) {
    let name = &new.name;
    if new.is_destructive() && !old.is_destructive() {
        shifts.wider(About::Tools, format!("`{name}` may destroy"));
    } else if old.read_only && !new.read_only {
        shifts.wider(About::Tools, format!("`{name}` changes something, before it only read"));
    }
    if old.idempotent && !new.idempotent && !new.read_only {
        shifts.wider(About::Tools, format!("`{name}` does more when it is called again"));
    }
    if old.open_world == Some(false) && new.open_world != Some(false) {
        shifts.wider(About::Tools, format!("`{name}` reaches beyond this host"));
    }
    if old.is_destructive() && !new.is_destructive() {
        // The word of a person is not asked for any more: what narrows the claim widens what happens unasked.
        shifts.wider(
            About::Tools,
            format!("`{name}` is said to destroy nothing, so nobody is asked before it runs"),
        );
    } else if !old.read_only && new.read_only {
        shifts.wider(About::Tools, format!("`{name}` is said to only read, so it can be called unasked"));
    }
    if new.expose != old.expose {
        let what = if new.expose { "is published to agents" } else { "is not published to agents any more" };
        shifts.compare(About::Tools, old.expose, new.expose, format!("`{name}` {what}"));
    }
    let requirements = [
        ("role", &old.required_role, &new.required_role),
        ("permission", &old.required_permission, &new.required_permission),
        ("flag", &old.feature_flag, &new.feature_flag),
    ];
    for (what, old, new) in requirements.into_iter().filter(|(_, old, new)| old != new) {
        if let Some(asked) = old {
            shifts.wider(About::Tools, format!("`{name}` does not ask for the {what} `{asked}` any more"));
        } else if let Some(asked) = new {
            shifts.narrower(About::Tools, format!("`{name}` asks for the {what} `{asked}`"));
        }
    }
}

fn effect(tool: &Tool) -> &'static str {
    if tool.is_destructive() { "may destroy" } else { "changes something" }
}
