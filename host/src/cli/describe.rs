//! A capability in words and as JSON: what it is, what it asks, what its tools do. Pure.
//!
//! Everything a publisher wrote is shown as the publisher's: capped, with control characters made visible
//! by `output.rs`.

use std::fmt::Write as _;
use std::time::Duration;

use comfy_table::ContentArrangement;
use serde_json::{Value, json};

use super::asks::{meaning, meaning_of_others};
use super::figures::{count, local_time, size, span, utc_time};
use super::output::{columns, printable};
use crate::manifest::{Limits, Manifest, NamespaceName, Runtime, Secret, Tool};
use crate::policy::{Approval, Confirm, Grant, OTHERS, OWN_CREDENTIALS, Restriction};
use crate::registry::{Capability, Entry, Origin, Recall};

/// A line of a publisher's words: more would hide what is below it.
const LINE_CHARACTERS: usize = 100;

/// As much guidance as a person reads before deciding; the rest is counted.
const PROMPT_CHARACTERS: usize = 600;

/// Name, version, the publisher's words, digest, size, and who vouched for the bytes.
pub(super) fn head(capability: &Capability, origin: Option<&Origin>) -> String {
    let manifest = &capability.manifest;
    let mut text = format!("{} {}\n", capability.name, manifest.version);
    let _ = writeln!(text, "  {}: {}", one_line(&manifest.title), one_line(&manifest.description));
    let mut rows = vec![
        vec!["digest".to_owned(), capability.digest.to_string()],
        vec!["size".to_owned(), size(capability.size)],
        vec!["from".to_owned(), vouched(manifest.runtime, origin)],
    ];
    // What is only offered is not installed.
    if capability.installed_at > 0 {
        rows.push(vec!["installed".to_owned(), local_time(capability.installed_at)]);
    }
    text.push_str(&indented(&rows));
    text
}

/// Who vouched for the bytes.
fn vouched(runtime: Runtime, origin: Option<&Origin>) -> String {
    match (runtime, origin) {
        (_, Some(Origin { registry, key, reviewer, reviewed_at })) => {
            let at = local_time(*reviewed_at);
            format!("the registry `{registry}`; signed by {key}; reviewed by {reviewer}, {at}")
        }
        (Runtime::Builtin, None) => "this program".to_owned(),
        (Runtime::Mcp, None) => "the server itself".to_owned(),
        _ => "a file, unsigned".to_owned(),
    }
}

/// What a manifest asks, each ask with a mark, then secrets and limits.
pub(super) fn asks(manifest: &Manifest, mark: &dyn Fn(&Grant) -> String) -> String {
    let mut rows: Vec<Vec<String>> = Vec::new();
    for ask in crate::policy::asks(manifest) {
        let (what, allows) = match (ask.namespace, ask.entry.as_deref()) {
            // The hosts below it say it all.
            (NamespaceName::Http, None) => continue,
            (NamespaceName::Http, Some(OWN_CREDENTIALS)) => {
                (format!("http {OWN_CREDENTIALS}"), "send credentials of its own".to_owned())
            }
            (NamespaceName::Http, Some(host)) => ("http".to_owned(), host.to_owned()),
            // The names below it say it all.
            (NamespaceName::Entities, None) if !manifest.entities.is_empty() => continue,
            (NamespaceName::Entities, Some(entity)) => {
                ("entities".to_owned(), format!("{} in {entity}", meaning(NamespaceName::Entities)))
            }
            (NamespaceName::Sandbox, Some(_)) => (format!("sandbox {OTHERS}"), meaning_of_others().to_owned()),
            (namespace, _) => (namespace.as_str().to_owned(), meaning(namespace).to_owned()),
        };
        rows.push(vec![what, allows, mark(&ask)]);
    }
    for secret in &manifest.secrets {
        rows.push(vec![format!("secret {}", secret.name), destinations(secret), one_line(&secret.description)]);
    }
    let asked = if rows.is_empty() { "  nothing\n".to_owned() } else { indented(&rows) };
    let mut text = format!("asks for\n{asked}");
    if let Some(limits) = manifest.limits.as_ref().map(limits).filter(|limits| !limits.is_empty()) {
        let _ = writeln!(text, "\nmay spend per call, under this host's ceilings\n  {}", limits.join(", "));
    }
    text
}

/// The tools, each with what it does to the world.
pub(super) fn tools(manifest: &Manifest) -> String {
    let rows: Vec<_> = manifest
        .tools
        .iter()
        .map(|tool| vec![tool.name.clone(), effect(tool).to_owned(), one_line(&tool.description)])
        .collect();
    let listed = if rows.is_empty() { "  none\n".to_owned() } else { indented(&rows) };
    format!("tools\n{listed}")
}

/// What agents can read and people can pick, beside tools; nothing when there is nothing.
pub(super) fn documents(manifest: &Manifest) -> Option<String> {
    let row = |name: &str, description: &str| vec![name.to_owned(), one_line(description)];
    let resources = manifest.resources.iter().map(|resource| row(&resource.uri, &resource.description));
    let templates =
        manifest.resource_templates.iter().map(|template| row(&template.uri_template, &template.description));
    let documents: Vec<_> = resources.chain(templates).collect();
    let prompts: Vec<_> = manifest.prompts.iter().map(|prompt| row(&prompt.name, &prompt.description)).collect();
    let parts: Vec<_> = [("documents", documents), ("prompts", prompts)]
        .iter()
        .filter(|(_, rows)| !rows.is_empty())
        .map(|(title, rows)| format!("{title}\n{}", indented(rows)))
        .collect();
    (!parts.is_empty()).then(|| parts.join("\n"))
}

/// What the installer asks beyond it; nothing when that is nothing.
pub(super) fn restrictions(restrictions: &[Restriction]) -> Option<String> {
    let rows: Vec<_> = restrictions.iter().map(|said| vec![restricted(said), narrows(said)]).collect();
    (!rows.is_empty()).then(|| format!("restricted by you\n{}", indented(&rows)))
}

/// Which tools a restriction is about.
pub(super) fn restricted(restriction: &Restriction) -> String {
    restriction.tool.clone().unwrap_or_else(|| "all tools".to_owned())
}

/// What a restriction asks: `role admin, confirm writes`.
pub(super) fn narrows(restriction: &Restriction) -> String {
    let Restriction { hidden, role, permission, flag, confirm, .. } = restriction;
    let parts = [
        hidden.then(|| "hidden".to_owned()),
        role.as_ref().map(|role| format!("role {role}")),
        permission.as_ref().map(|permission| format!("permission {permission}")),
        flag.as_ref().map(|flag| format!("flag {flag}")),
        confirm.map(|confirm| format!("confirm {}", confirm.as_str())),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// A restriction for programs.
pub(super) fn restriction_value(restriction: &Restriction) -> Value {
    let Restriction { tool, hidden, role, permission, flag, confirm } = restriction;
    json!({
        "tool": tool, "hidden": hidden, "role": role, "permission": permission, "flag": flag,
        "confirm": confirm.map(Confirm::as_str),
    })
}

/// The loops that come with it: when, and what.
pub(super) fn loops(manifest: &Manifest) -> Option<String> {
    let rows: Vec<_> = manifest
        .loops
        .iter()
        .map(|preset| {
            let zone = preset.timezone.as_deref().map_or(String::new(), |zone| format!(" {zone}"));
            let does = match (&preset.tool, &preset.prompt) {
                (Some(tool), _) => format!("calls {tool}"),
                (None, prompt) => format!("asks an agent: {}", one_line(prompt.as_deref().unwrap_or_default())),
            };
            vec![preset.name.clone(), format!("{}{zone}", preset.schedule_expression), does]
        })
        .collect();
    (!rows.is_empty()).then(|| format!("runs on a schedule\n{}", indented(&rows)))
}

/// The guidance that agents would read, quoted.
pub(super) fn prompt(manifest: &Manifest) -> Option<String> {
    let prompt = printable(manifest.prompt.as_deref()?);
    let shown = capped(&prompt, PROMPT_CHARACTERS);
    let lines: String = shown.lines().map(|line| format!("  > {line}\n")).collect();
    Some(format!("tells agents\n{lines}"))
}

/// Where a secret may go by its manifest: `required, to api.example.com in header:authorization`.
pub(super) fn destinations(secret: &Secret) -> String {
    let need = if secret.required { "required" } else { "optional" };
    format!("{need}, to {} in {}", secret.hosts.join(", "), secret.places.join(", "))
}

/// Host and port, without the port of `https:`.
pub(super) fn authority(approval: &Approval) -> String {
    crate::policy::authority(&approval.host, approval.port)
}

/// What calling a tool can do.
pub(super) fn effect(tool: &Tool) -> &'static str {
    match (tool.read_only, tool.is_destructive()) {
        (true, _) => "only reads",
        (false, true) => "changes, may destroy",
        (false, false) => "changes",
    }
}

/// What is installed and decided, for programs.
pub(super) fn value(entry: &Entry) -> Value {
    let capability = &entry.capability;
    let grants: Vec<_> = entry
        .grants
        .iter()
        .map(|grant| json!({ "namespace": grant.namespace.as_str(), "entry": grant.entry }))
        .collect();
    let approvals: Vec<_> = entry
        .approvals
        .iter()
        .map(|approval| {
            json!({
                "secret": approval.secret, "source": approval.source, "host": approval.host,
                "port": approval.port, "place": approval.place.to_string(),
                "expiresAt": approval.expires_at.map(utc_time),
            })
        })
        .collect();
    json!({
        "name": capability.name.to_string(),
        "version": capability.manifest.version.to_string(),
        "digest": capability.digest.to_string(),
        "size": capability.size,
        "installedAt": utc_time(capability.installed_at),
        "tools": capability.manifest.tools.iter().map(|tool| &tool.name).collect::<Vec<_>>(),
        "grants": grants,
        "approvals": approvals,
        "restrictions": entry.restrictions.iter().map(restriction_value).collect::<Vec<_>>(),
        "origin": entry.origin.as_ref().map(origin_value),
        "recall": entry.recall.as_ref().map(recall_value),
    })
}

fn origin_value(origin: &Origin) -> Value {
    let Origin { registry, key, reviewer, reviewed_at } = origin;
    json!({ "registry": registry, "key": key, "reviewer": reviewer, "reviewedAt": utc_time(*reviewed_at) })
}

/// What was said against a release, for programs.
pub(super) fn recall_value(recall: &Recall) -> Value {
    let Recall { against, reason, source, at } = recall;
    json!({ "against": against.as_str(), "reason": reason, "registry": source, "at": utc_time(*at) })
}

/// Rows in columns, two spaces in, each line with its end.
pub(super) fn indented(rows: &[Vec<String>]) -> String {
    let table = columns(&[], rows, ContentArrangement::Disabled);
    table.lines().map(|line| format!("  {line}\n")).collect()
}

/// Foreign text on one line of bounded length.
pub(super) fn one_line(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    printable(&capped(&words.join(" "), LINE_CHARACTERS))
}

fn capped(text: &str, characters: usize) -> String {
    match text.char_indices().nth(characters) {
        Some((end, _)) => format!("{}… ({} more)", &text[..end], count(text[end..].chars().count() as u64)),
        None => text.to_owned(),
    }
}

fn limits(limits: &Limits) -> Vec<String> {
    let fuel = limits.fuel.map(|fuel| format!("{} fuel", count(fuel)));
    let memory = limits.memory_mib.map(|memory| format!("{} MiB of memory", count(memory.into())));
    let time = limits.time_ms.map(|time| span(Duration::from_millis(time.into())));
    let requests = limits.http_requests.map(|requests| super::figures::plural(requests as usize, "request"));
    [fuel, memory, time, requests].into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn manifest(value: Value) -> Manifest {
        serde_json::from_value(value).unwrap_or_else(|error| panic!("{error}"))
    }

    fn weather() -> Manifest {
        manifest(json!({
            "publisher": "acme", "slug": "weather", "version": "1.0.0", "title": "Weather",
            "description": "Forecasts for\na place.", "uses": ["http", "entities", "loops"], "entities": ["notes"],
            "http": { "allow": ["api.example.com", "*.cdn.example.com"], "ownCredentials": true },
            "secrets": [{
                "name": "API_KEY", "required": true, "description": "From your account page.",
                "hosts": ["api.example.com"], "in": ["header:authorization", "body"],
            }],
            "limits": { "fuel": 500_000_000, "memoryMiB": 64, "timeMs": 30_000, "httpRequests": 1 },
            "tools": [
                { "name": "get_forecast", "description": "The forecast.", "inputSchema": {}, "readOnly": true },
                { "name": "add_place", "description": "Remembers a place.", "inputSchema": {}, "destructive": false },
                { "name": "wipe", "description": "\u{1b}[2J", "inputSchema": {} },
            ],
            "prompt": "Ask for the place.\nThen answer.",
        }))
    }

    #[test]
    fn what_is_asked_can_be_read_at_a_glance() {
        let mark = |grant: &Grant| if grant.entry.is_none() { "new".to_owned() } else { String::new() };
        assert_eq!(
            asks(&weather(), &mark),
            "\
asks for
  http                 *.cdn.example.com
  http                 api.example.com
  http ownCredentials  send credentials of its own
  entities             store documents in notes
  loops                run on a schedule                                           new
  secret API_KEY       required, to api.example.com in header:authorization, body  From your account page.

may spend per call, under this host's ceilings
  500,000,000 fuel, 64 MiB of memory, 30.00 s, 1 request
"
        );
    }

    #[test]
    fn tools_say_what_they_do_to_the_world() {
        assert_eq!(
            tools(&weather()),
            "\
tools
  get_forecast  only reads            The forecast.
  add_place     changes               Remembers a place.
  wipe          changes, may destroy  \\u{1b}[2J
"
        );
        assert_eq!(
            prompt(&weather()).as_deref(),
            Some("tells agents\n  > Ask for the place.\n  > Then answer.\n")
        );
    }

    #[test]
    fn a_capability_that_asks_for_nothing_says_so() {
        let bare = json!({
            "publisher": "a", "slug": "b", "version": "1.0.0", "title": "B", "description": "b"
        });
        assert_eq!(asks(&manifest(bare.clone()), &|_| String::new()), "asks for\n  nothing\n");
        assert_eq!(tools(&manifest(bare)), "tools\n  none\n");
    }

    #[test]
    fn long_words_are_cut() {
        assert_eq!(one_line(&"a".repeat(103)), format!("{}… (3 more)", "a".repeat(100)));
    }
}
