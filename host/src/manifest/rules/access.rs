//! What a manifest asks to reach: namespaces, hosts, entities, and secrets with the places they go to.

use std::collections::BTreeSet;

use super::super::{Http, Manifest, NamespaceName, Secret};
use super::text::paragraphs;
use super::{MAX_DESCRIPTION, Problems, names};
use crate::egress::is_hosts_own;
use crate::policy::HostPattern;

/// More hosts than one service has; a list that nobody reads is no list.
const MAX_HOSTS: usize = 64;

/// An entity is a kind of document, not a folder; more kinds are several capabilities.
const MAX_ENTITIES: usize = 32;

/// A capability that needs more credentials is several capabilities.
const MAX_SECRETS: usize = 16;

pub(super) fn check(manifest: &Manifest, problems: &mut Problems) {
    uses(manifest, problems);
    let allowed = manifest.http.as_ref().map(|http| hosts(http, problems)).unwrap_or_default();
    secrets(&manifest.secrets, &allowed, problems);
    entities(&manifest.entities, problems);
    formats(manifest, problems);
}

/// Each section needs its namespace, and each namespace its section.
fn uses(manifest: &Manifest, problems: &mut Problems) {
    let mut seen = BTreeSet::new();
    for (index, namespace) in manifest.uses.iter().enumerate() {
        if !seen.insert(*namespace) {
            problems.add(format!("uses[{index}]"), format!("remove it: `{}` is named twice", namespace.as_str()));
        }
    }
    let uses_http = seen.contains(&NamespaceName::Http);
    if uses_http && manifest.http.is_none() {
        problems.add("http", "list the hosts in `http.allow`, or remove \"http\" from `uses`");
    }
    if !uses_http && manifest.http.is_some() {
        problems.add("uses", "add \"http\", or remove the section `http`");
    }
    let uses_entities = seen.contains(&NamespaceName::Entities);
    if uses_entities && manifest.entities.is_empty() {
        problems.add("entities", "name at least one, or remove \"entities\" from `uses`");
    }
    if !uses_entities && !manifest.entities.is_empty() {
        problems.add("uses", "add \"entities\", or remove the section `entities`");
    }
    if !seen.contains(&NamespaceName::Sandbox) && manifest.sandbox.is_some() {
        problems.add("uses", "add \"sandbox\", or remove the section `sandbox`");
    }
    let asks = manifest.sandbox.unwrap_or_default();
    for (field, number) in [("sandbox.files", asks.files), ("sandbox.bytes", asks.bytes)] {
        if number == Some(0) {
            problems.add(field, "ask for more than 0, or leave it out");
        }
    }
    if !uses_http && !manifest.secrets.is_empty() {
        problems.add("uses", "add \"http\", or remove `secrets`: they go nowhere else");
    }
}

/// Checks the allow-list, and gives what of it is well formed.
fn hosts(http: &Http, problems: &mut Problems) -> Vec<HostPattern> {
    if http.allow.is_empty() {
        problems.add("http.allow", "list at least one host, or remove \"http\" from `uses`");
    }
    if http.allow.len() > MAX_HOSTS {
        problems.add("http.allow", format!("list at most {MAX_HOSTS} hosts"));
    }
    let mut allowed = Vec::new();
    for (index, entry) in http.allow.iter().enumerate() {
        match entry.parse::<HostPattern>() {
            Ok(pattern) if allowed.contains(&pattern) => {
                problems.add(format!("http.allow[{index}]"), format!("remove it: `{entry}` is listed twice"));
            }
            Ok(pattern) => allowed.push(pattern),
            Err(error) => problems.add(format!("http.allow[{index}]"), error.to_string()),
        }
    }
    allowed
}

fn entities(entities: &[String], problems: &mut Problems) {
    if entities.len() > MAX_ENTITIES {
        problems.add("entities", format!("name at most {MAX_ENTITIES} entities"));
    }
    for (index, entity) in entities.iter().enumerate() {
        problems.add_some(format!("entities[{index}]"), names::check_entity(entity));
        if entities[..index].contains(entity) {
            problems.add(format!("entities[{index}]"), "remove it: it is named twice");
        }
    }
}

fn formats(manifest: &Manifest, problems: &mut Problems) {
    for (entity, format) in &manifest.entity_formats {
        let field = format!("entityFormats.{entity}");
        if !manifest.entities.contains(entity) {
            problems.add(&field, "remove it, or name the entity in `entities`");
        }
        if *format == 0 {
            problems.add(&field, "count from 1: the first form needs no number");
        }
    }
}

fn secrets(secrets: &[Secret], allowed: &[HostPattern], problems: &mut Problems) {
    if secrets.len() > MAX_SECRETS {
        problems.add("secrets", format!("declare at most {MAX_SECRETS} secrets"));
    }
    for (index, secret) in secrets.iter().enumerate() {
        let field = format!("secrets[{index}]");
        problems.add_some(format!("{field}.name"), names::secret(&secret.name));
        if secrets[..index].iter().any(|other| other.name == secret.name) {
            problems.add(format!("{field}.name"), "choose another name: it is declared twice");
        }
        problems.add_some(format!("{field}.description"), paragraphs(&secret.description, MAX_DESCRIPTION));
        secret_hosts(secret, allowed, &field, problems);
        secret_places(secret, &field, problems);
    }
}

/// A secret goes to exact hosts only: a wildcard would let it go where nobody looked.
fn secret_hosts(secret: &Secret, allowed: &[HostPattern], field: &str, problems: &mut Problems) {
    if secret.hosts.is_empty() {
        problems.add(format!("{field}.hosts"), "name the hosts that it is for");
    }
    for (index, host) in secret.hosts.iter().enumerate() {
        let field = format!("{field}.hosts[{index}]");
        match host.parse::<HostPattern>() {
            Ok(_) if host.starts_with('*') => {
                problems.add(field, "name the exact host: a secret goes to no wildcard")
            }
            Ok(pattern) if !allowed.iter().any(|allowed| allowed.covers(&pattern)) => {
                problems.add(field, format!("add `{host}` to `http.allow`, or remove it here"));
            }
            Ok(_) => {}
            Err(error) => problems.add(field, error.to_string()),
        }
    }
}

fn secret_places(secret: &Secret, field: &str, problems: &mut Problems) {
    if secret.places.is_empty() {
        problems.add(format!("{field}.in"), "say where it goes: `header:authorization`, or `body`");
    }
    for (index, place) in secret.places.iter().enumerate() {
        problems.add_some(format!("{field}.in[{index}]"), check_place(place));
    }
}

fn check_place(place: &str) -> Option<String> {
    if place == "body" {
        return None;
    }
    let Some(header) = place.strip_prefix("header:") else {
        return Some("write `header:NAME` with the name in lower case, or `body`".to_owned());
    };
    if header.is_empty() || !header.bytes().all(is_token) {
        return Some("write the header's name in lower case, as `header:authorization`".to_owned());
    }
    is_hosts_own(header).then(|| format!("choose another header: `{header}` is set by the host, or not at all"))
}

/// A character of a header field's name (RFC 9110, 5.6.2), in lower case.
fn is_token(byte: u8) -> bool {
    byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_headers_of_the_guest_or_the_body() {
        for good in ["body", "header:authorization", "header:x-api-key", "header:cookie", "header:x_1"] {
            assert_eq!(check_place(good), None, "{good}");
        }
        let bad = [
            "",
            "query",
            "Body",
            "header",
            "header:",
            "header:X-Key",
            "header: x",
            "header:a b",
            "header:a:b",
            "header:host",
            "header:transfer-encoding",
            "header:connection",
            "header:content-length",
            "header:ä",
        ];
        for bad in bad {
            assert!(check_place(bad).is_some(), "{bad}");
        }
    }
}
