//! What a manifest declares, in the terms in which people grant it.
//!
//! The same questions are asked twice: when a person grants (a refusal then names what is declared), and
//! when a call is decided (what is outside the declaration counts for nothing).

use std::fmt::Display;

use super::{Approval, Grant, HTTPS_PORT, HostPattern, HttpGrant, OTHERS, Place, SecretUse, loops, sandbox};
use crate::error::{Error, ErrorKind, Result};
use crate::manifest::{Http, Manifest, NamespaceName, Secret};

/// The entry of `http` that lets a guest send credentials of its own.
pub const OWN_CREDENTIALS: &str = "ownCredentials";

/// What is declared, where there is nothing to name.
const NOTHING: &[&str] = &[];

/// Every grant that a manifest asks for: each namespace, and each entry of it.
#[must_use]
pub fn asks(manifest: &Manifest) -> Vec<Grant> {
    let mut asks = Vec::new();
    for &namespace in manifest.uses.iter().filter(|namespace| !namespace.is_always_there()) {
        asks.push(Grant { namespace, entry: None });
        if namespace == NamespaceName::Http
            && let Some(http) = &manifest.http
        {
            let own_credentials = http.own_credentials.then(|| OWN_CREDENTIALS.to_owned());
            let entries = http.allow.iter().cloned().chain(own_credentials);
            asks.extend(entries.map(|entry| Grant { namespace, entry: Some(entry) }));
        }
        if namespace == NamespaceName::Entities {
            asks.extend(manifest.entities.iter().map(|entity| Grant { namespace, entry: Some(entity.clone()) }));
        }
        if namespace == NamespaceName::Sandbox && manifest.sandbox.is_some_and(|sandbox| sandbox.others) {
            asks.push(Grant { namespace, entry: Some(OTHERS.to_owned()) });
        }
    }
    asks.sort();
    asks.dedup();
    asks
}

/// Checks that a manifest declares what is to be granted.
pub fn check_grant(manifest: &Manifest, grant: &Grant) -> Result<()> {
    let namespace = grant.namespace.as_str();
    if !manifest.uses.contains(&grant.namespace) {
        let declared = manifest.uses.iter().map(|namespace| namespace.as_str());
        return Err(outside(manifest, &format!("`{namespace}`"), "namespaces", declared));
    }
    let Some(entry) = &grant.entry else { return Ok(()) };
    if grant.namespace == NamespaceName::Loops {
        return loops::check_entry(entry);
    }
    if grant.namespace == NamespaceName::Sandbox {
        return sandbox::check_entry(manifest.sandbox.as_ref(), entry);
    }
    if grant.namespace == NamespaceName::Entities {
        return if manifest.entities.contains(entry) {
            Ok(())
        } else {
            Err(outside(manifest, &format!("the entity `{entry}`"), "entities", manifest.entities.iter()))
        };
    }
    let Some(http) = manifest.http.as_ref().filter(|_| grant.namespace == NamespaceName::Http) else {
        return Err(outside(manifest, &format!("`{namespace}:{entry}`"), "entries", NOTHING.iter()));
    };
    if entry == OWN_CREDENTIALS {
        return if http.own_credentials {
            Ok(())
        } else {
            Err(outside(manifest, &format!("`http:{OWN_CREDENTIALS}`"), "entries", NOTHING.iter()))
        };
    }
    let pattern: HostPattern =
        entry.parse().map_err(|error| Error::new(ErrorKind::Usage, format!("`{entry}`: {error}")))?;
    if declared_hosts(http).any(|declared| declared.covers(&pattern)) {
        return Ok(());
    }
    Err(outside(manifest, &format!("`{entry}`"), "hosts", http.allow.iter()))
}

/// Checks that a manifest declares what is to be approved.
pub fn check_approval(manifest: &Manifest, approval: &Approval) -> Result<()> {
    let Approval { secret: name, host, port, place, .. } = approval;
    let Some(secret) = manifest.secrets.iter().find(|secret| secret.name == *name) else {
        let declared = manifest.secrets.iter().map(|secret| &secret.name);
        return Err(outside(manifest, &format!("the secret `{name}`"), "secrets", declared));
    };
    if !declares_host(secret, host, *port) {
        let host = format!("`{host}:{port}` for the secret `{name}`");
        return Err(outside(manifest, &host, "hosts for it", secret.hosts.iter()));
    }
    if !secret.places.contains(&place.to_string()) {
        let place = format!("`{place}` as a place for the secret `{name}`");
        return Err(outside(manifest, &place, "places for it", secret.places.iter()));
    }
    Ok(())
}

/// What `http` and the secrets could do if everything that is declared were given: to find out what a request
/// lacks. It is no receipt, and lets nothing out.
#[must_use]
pub fn all_declared(manifest: &Manifest) -> (HttpGrant, Vec<SecretUse>) {
    let http = manifest.http.as_ref();
    let grant = HttpGrant {
        allow: http.into_iter().flat_map(declared_hosts).collect(),
        own_credentials: http.is_some_and(|http| http.own_credentials),
    };
    let secrets = manifest.secrets.iter().map(|secret| {
        let hosts = secret.hosts.iter().filter_map(|host| read_host(host));
        let approvals = hosts.flat_map(|(host, port)| {
            let places = secret.places.iter().filter_map(|place| place.parse::<Place>().ok());
            places.map(move |place| Approval {
                secret: secret.name.clone(),
                source: secret.name.clone(),
                host: host.to_owned(),
                port,
                place,
                expires_at: None,
            })
        });
        SecretUse { name: secret.name.clone(), approvals: approvals.collect() }
    });
    (grant, secrets.collect())
}

/// Whether two grants mean the same: `a.example` is `a.example:443`.
#[must_use]
pub fn same_grant(one: &Grant, other: &Grant) -> bool {
    let pattern = |grant: &Grant| grant.entry.as_ref().and_then(|entry| entry.parse::<HostPattern>().ok());
    one == other
        || one.namespace == NamespaceName::Http
            && other.namespace == NamespaceName::Http
            && pattern(one).is_some_and(|one| Some(one) == pattern(other))
}

/// The patterns that are declared. What is no pattern declares nothing.
pub(super) fn declared_hosts(http: &Http) -> impl Iterator<Item = HostPattern> {
    http.allow.iter().filter_map(|entry| entry.parse().ok())
}

/// Secrets go to exact hosts: a `*` is a character here that no host name has.
fn declares_host(secret: &Secret, host: &str, port: u16) -> bool {
    !host.contains('*') && secret.hosts.iter().any(|declared| read_host(declared) == Some((host, port)))
}

fn read_host(declared: &str) -> Option<(&str, u16)> {
    match declared.split_once(':') {
        Some((name, port)) => Some((name, port.parse().ok()?)),
        None => Some((declared, HTTPS_PORT)),
    }
}

fn outside(manifest: &Manifest, what: &str, kind: &str, declared: impl Iterator<Item = impl Display>) -> Error {
    let declared: Vec<_> = declared.map(|entry| format!("`{entry}`")).collect();
    let (publisher, slug) = (&manifest.publisher, &manifest.slug);
    let message = if declared.is_empty() {
        format!("`{publisher}/{slug}` does not declare {what}, nor any other {kind}")
    } else {
        format!("`{publisher}/{slug}` does not declare {what}; it declares these {kind}: {}", declared.join(", "))
    };
    Error::new(ErrorKind::NotAllowed, message)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::policy::Place;

    fn manifest() -> Manifest {
        serde_json::from_value(json!({
            "publisher": "acme", "slug": "weather", "version": "1.0.0", "title": "W", "description": "W.",
            "uses": ["log", "http"],
            "http": { "allow": ["api.example.com", "*.cdn.example.com", "api.example.com:8443"] },
            "secrets": [{ "name": "API_KEY", "description": "K.",
                          "hosts": ["api.example.com", "api.example.com:8443"],
                          "in": ["header:authorization", "body"] }],
        }))
        .unwrap()
    }

    fn grant(namespace: NamespaceName, entry: &str) -> Grant {
        Grant { namespace, entry: Some(entry.to_owned()).filter(|entry| !entry.is_empty()) }
    }

    #[test]
    fn a_manifest_asks_for_everything_it_declares() {
        use NamespaceName::Http;
        let entries = ["", "*.cdn.example.com", "api.example.com", "api.example.com:8443"];
        assert_eq!(asks(&manifest()), entries.map(|entry| grant(Http, entry)));
        for grant in asks(&manifest()) {
            check_grant(&manifest(), &grant).unwrap();
        }
        let mut own = manifest();
        own.http.as_mut().unwrap().own_credentials = true;
        assert!(asks(&own).contains(&grant(Http, OWN_CREDENTIALS)));
    }

    #[test]
    fn a_grant_must_be_declared() {
        use NamespaceName::{Entities, Http, Loops};
        let cases = [
            (Http, "api.example.com", None),
            (Http, "api.example.com:443", None),
            (Http, "a.cdn.example.com", None),
            (Http, "*.a.cdn.example.com", None),
            (Http, "cdn.example.com", Some(ErrorKind::NotAllowed)),
            (Http, "*.example.com", Some(ErrorKind::NotAllowed)),
            (Http, "api.example.com:80", Some(ErrorKind::NotAllowed)),
            (Http, "evil.example", Some(ErrorKind::NotAllowed)),
            (Http, OWN_CREDENTIALS, Some(ErrorKind::NotAllowed)),
            (Http, "https://api.example.com/", Some(ErrorKind::Usage)),
            (Entities, "", Some(ErrorKind::NotAllowed)),
            (Loops, "api.example.com", Some(ErrorKind::NotAllowed)),
        ];
        for (namespace, entry, refused) in cases {
            let result = check_grant(&manifest(), &grant(namespace, entry));
            assert_eq!(result.err().map(|error| error.kind), refused, "{namespace:?} {entry}");
        }
        let error = check_grant(&manifest(), &grant(Http, "evil.example")).unwrap_err();
        assert_eq!(
            error.message,
            "`acme/weather` does not declare `evil.example`; it declares these hosts: `api.example.com`, \
             `*.cdn.example.com`, `api.example.com:8443`"
        );
    }

    #[test]
    fn entities_are_asked_for_and_granted_by_name() {
        use NamespaceName::Entities;
        let mut manifest = manifest();
        manifest.uses = vec![Entities];
        manifest.entities = vec!["notes".to_owned(), "tags".to_owned()];
        assert_eq!(asks(&manifest), ["", "notes", "tags"].map(|entry| grant(Entities, entry)));
        for (entry, is_declared) in
            [("notes", true), ("tags", true), ("other", false), ("Notes", false), ("*", false)]
        {
            assert_eq!(check_grant(&manifest, &grant(Entities, entry)).is_ok(), is_declared, "{entry}");
        }
        let error = check_grant(&manifest, &grant(Entities, "other")).unwrap_err();
        assert_eq!(
            error.message,
            "`acme/weather` does not declare the entity `other`; it declares these entities: `notes`, `tags`"
        );
    }

    #[test]
    fn an_approval_must_be_declared() {
        let header = Place::Header("authorization".to_owned());
        let cases = [
            ("API_KEY", "api.example.com", 443, header.clone(), true),
            ("API_KEY", "api.example.com", 8443, Place::Body, true),
            ("API_KEY", "api.example.com", 80, Place::Body, false),
            ("API_KEY", "a.cdn.example.com", 443, Place::Body, false),
            ("API_KEY", "*.cdn.example.com", 443, Place::Body, false),
            ("API_KEY", "API.example.com", 443, Place::Body, false),
            ("API_KEY", "api.example.com", 443, Place::Header("x-debug".to_owned()), false),
            ("OTHER", "api.example.com", 443, header, false),
        ];
        for (secret, host, port, place, allowed) in cases {
            let (secret, host) = (secret.to_owned(), host.to_owned());
            let approval = Approval { source: secret.clone(), secret, host, port, place, expires_at: None };
            let result = check_approval(&manifest(), &approval);
            assert_eq!(result.is_ok(), allowed, "{approval:?}: {result:?}");
        }
    }

    #[test]
    fn everything_declared_is_what_can_be_granted_and_approved() {
        let (http, secrets) = all_declared(&manifest());
        let allow: Vec<_> = http.allow.iter().map(ToString::to_string).collect();
        assert_eq!(allow, ["api.example.com", "*.cdn.example.com", "api.example.com:8443"]);
        assert!(!http.own_credentials);
        let approvals: Vec<_> = secrets.iter().flat_map(|secret| &secret.approvals).collect();
        assert_eq!(approvals.len(), 4, "two hosts, two places");
        for approval in approvals {
            check_approval(&manifest(), approval).unwrap();
        }
    }

    #[test]
    fn the_port_of_https_may_be_said_or_not() {
        use NamespaceName::{Entities, Http};
        assert!(same_grant(&grant(Http, "a.example"), &grant(Http, "a.example:443")));
        assert!(!same_grant(&grant(Http, "a.example"), &grant(Http, "a.example:8443")));
        assert!(!same_grant(&grant(Http, ""), &grant(Http, "a.example")));
        assert!(!same_grant(&grant(Entities, "a.example"), &grant(Http, "a.example:443")));
    }
}
