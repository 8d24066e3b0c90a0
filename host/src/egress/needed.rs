//! What a refused request lacks that a person could give. Pure.
//!
//! The request is checked once more as if everything that the manifest declares were given. What it then uses
//! beyond what is given is what it lacks, all of it at once; a request that would be refused even so lacks nothing
//! that a person can give. It is found out after the refusal and for people only: the guest's error does not
//! depend on it.

use super::approve::approve;
use super::request::{self, Checked};
use super::{Refusal, Template, headers};
use crate::asks::Need;
use crate::config::HttpConfig;
use crate::error::ErrorKind;
use crate::policy::{self, Granted, SecretUse, Wish};

/// What the request of `template` needs so that it is not refused with `refusal`; `None` when no person can help.
pub(super) fn needed(
    refusal: &Refusal,
    template: &Template,
    granted: &Granted,
    limits: &HttpConfig,
) -> Option<Need> {
    let kind = refusal.kind();
    if !matches!(
        kind,
        ErrorKind::HttpHostNotAllowed
            | ErrorKind::HttpPortNotAllowed
            | ErrorKind::HttpHeaderNotAllowed
            | ErrorKind::SecretNotAvailable
            | ErrorKind::SecretPlacement
    ) {
        return None;
    }
    let (grant, secrets) = policy::all_declared(&granted.capability().manifest);
    let target = approve(&template.url, &grant.allow).ok()?;
    let checked = request::check(target, template, &grant, &secrets, limits).ok()?;
    let mut wishes = not_given(&checked, template, granted);
    if let (true, Refusal::SecretNotAvailable(secret)) = (wishes.is_empty(), refusal) {
        wishes.extend(value(secret, &checked, granted.secrets()));
    }
    let why = match kind {
        ErrorKind::HttpHostNotAllowed | ErrorKind::HttpPortNotAllowed => {
            format!("the capability may not reach `{}`", checked.target().authority())
        }
        _ => refusal.to_string(),
    };
    if wishes.is_empty() { None } else { Some(Need { kind, why, wishes }) }
}

/// What an acceptable request uses beyond what is given.
fn not_given(checked: &Checked<'_>, template: &Template, granted: &Granted) -> Vec<Wish> {
    let (host, port) = (checked.target().host(), checked.target().port());
    let of_host = Wish::Host { host: host.to_owned(), port };
    let own_credentials = headers::check(&template.headers, false).is_err().then_some(Wish::OwnCredentials);
    let secrets = checked.placed().into_iter().map(|(place, name)| Wish::Secret {
        secret: name.to_owned(),
        host: host.to_owned(),
        port,
        place,
    });
    let mut wishes: Vec<Wish> = Vec::new();
    for wish in std::iter::once(of_host).chain(own_credentials).chain(secrets) {
        if !wish.is_granted(granted) && !wishes.contains(&wish) {
            wishes.push(wish);
        }
    }
    wishes
}

/// The value that an approved secret has not.
fn value(secret: &str, checked: &Checked<'_>, secrets: &[SecretUse]) -> Option<Wish> {
    let (host, port) = (checked.target().host(), checked.target().port());
    let place = checked.placed().into_iter().find_map(|(place, name)| (name == secret).then_some(place))?;
    let approval = secrets.iter().filter(|declared| declared.name == secret).flat_map(|secret| &secret.approvals);
    let mut here =
        approval.filter(|approval| approval.host == host && approval.port == port && approval.place == place);
    here.next().map(|approval| Wish::Value { secret: secret.to_owned(), source: approval.source.clone() })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;

    use super::*;
    use crate::config::Config;
    use crate::egress::Method;
    use crate::policy::{Approval, Grant, OWN_CREDENTIALS};
    use crate::registry::{Capability, Digest};

    const NOW: i64 = 1_700_000_000_000;

    fn granted(entries: &[&str], approvals: &[&str], expires_at: Option<i64>) -> Granted {
        let manifest = json!({
            "publisher": "acme", "slug": "weather", "version": "1.0.0", "title": "W", "description": "W.",
            "uses": ["http"],
            "http": { "allow": ["api.example.com", "*.cdn.example.com", "api.example.com:8443"],
                      "ownCredentials": true },
            "secrets": [
                { "name": "KEY", "description": "K.", "hosts": ["api.example.com", "api.example.com:8443"],
                  "in": ["header:authorization", "header:x-key"] },
                { "name": "PASS", "description": "P.", "hosts": ["api.example.com"], "in": ["body"] },
            ],
        });
        let capability = Arc::new(Capability {
            name: "acme/weather".parse().unwrap(),
            digest: Digest::of(b""),
            manifest: serde_json::from_value(manifest).unwrap(),
            installed_at: 0,
            size: 0,
        });
        let grant = |entry| Grant { namespace: crate::manifest::NamespaceName::Http, entry };
        let grants: Vec<_> = std::iter::once(None)
            .chain(entries.iter().map(|entry| Some((*entry).to_owned())))
            .map(grant)
            .collect();
        let approvals: Vec<_> = approvals
            .iter()
            .map(|approval| {
                let (secret, place) = approval.split_once('@').unwrap();
                let (secret, host) = (secret.to_owned(), "api.example.com".to_owned());
                let source = format!("STORED_{secret}");
                Approval { secret, source, host, port: 443, place: place.parse().unwrap(), expires_at }
            })
            .collect();
        policy::decide(&capability, &grants, &approvals, NOW, &Config::default())
    }

    fn template(url: &str, headers: &[(&str, &str)], body: &str) -> Template {
        Template {
            method: Method::Post,
            url: url.to_owned(),
            headers: headers.iter().map(|(name, value)| ((*name).to_owned(), value.as_bytes().to_vec())).collect(),
            body: Some(body.as_bytes().to_vec()),
            timeout: None,
        }
    }

    /// Refuses the request as the pipeline does, and gives what it needs in words.
    fn needs(template: &Template, granted: &Granted) -> Vec<String> {
        let grant = granted.http().unwrap();
        let limits = HttpConfig::default();
        let refusal = match approve(&template.url, &grant.allow) {
            Err(refusal) => refusal,
            Ok(target) => match request::check(target, template, grant, granted.secrets(), &limits) {
                Err(refusal) => refusal,
                // What substitution answers when a value is not stored.
                Ok(checked) => Refusal::SecretNotAvailable(checked.secrets().swap_remove(0)),
            },
        };
        let wishes = needed(&refusal, template, granted, &limits).map_or_else(Vec::new, |need| need.wishes);
        wishes
            .into_iter()
            .map(|wish| match wish {
                Wish::Host { host, port } => format!("{host}:{port}"),
                Wish::OwnCredentials => OWN_CREDENTIALS.to_owned(),
                Wish::Secret { secret, host, port, place } => format!("{secret} to {host}:{port} in {place}"),
                Wish::Value { secret, source } => format!("{secret} from {source}"),
            })
            .collect()
    }

    #[test]
    fn a_declared_host_is_needed_and_an_undeclared_one_is_not() {
        let cases: &[(&str, &[&str])] = &[
            ("https://api.example.com/", &["api.example.com:443"]),
            ("https://API.example.com:8443/", &["api.example.com:8443"]),
            ("https://a.cdn.example.com/", &["a.cdn.example.com:443"]),
            ("https://cdn.example.com/", &[]),
            ("https://a.cdn.example.com:8443/", &[]),
            ("https://evil.example/", &[]),
            ("http://api.example.com/", &[]),
            ("https://user@api.example.com/", &[]),
            ("https://127.0.0.1/", &[]),
            ("https://api.example.com\\@evil.example/", &[]),
            // Would be refused even with the host.
            ("https://api.example.com/?key={{KEY}}", &[]),
        ];
        for (url, expected) in cases {
            assert_eq!(needs(&template(url, &[], ""), &granted(&[], &[], None)), *expected, "{url}");
        }
    }

    #[test]
    fn a_secret_is_needed_where_it_is_declared_and_not_approved() {
        let here = "https://api.example.com/";
        type Case<'a> = (&'a [(&'a str, &'a str)], &'a str, &'a [&'a str], &'a [&'a str]);
        let cases: &[Case<'_>] = &[
            (&[("authorization", "{{KEY}}")], "", &[], &["KEY to api.example.com:443 in header:authorization"]),
            (
                &[("authorization", "{{KEY}}"), ("x-key", "{{KEY}}")],
                "{{PASS}} {{PASS}}",
                &["KEY@header:x-key"],
                &["KEY to api.example.com:443 in header:authorization", "PASS to api.example.com:443 in body"],
            ),
            // Approved at this host, in the other place.
            (
                &[("x-key", "{{KEY}}")],
                "",
                &["KEY@header:authorization"],
                &["KEY to api.example.com:443 in header:x-key"],
            ),
            // One of the two is not declared, so that the other would not be enough.
            (&[("authorization", "{{KEY}}")], "{{OTHER}}", &[], &[]),
            (&[("x-debug", "{{KEY}}")], "", &[], &[]),
            (&[], "{{KEY}}", &[], &[]),
            (&[], "{{A{{PASS}}}}", &[], &[]),
            // All approved: the value is what is missing.
            (&[("x-key", "{{KEY}}")], "", &["KEY@header:x-key"], &["KEY from STORED_KEY"]),
            // A literal credential, which its own right would allow.
            (&[("authorization", "Bearer mine")], "", &[], &["ownCredentials"]),
            (&[("cookie", "a=b")], "{{PASS}}", &["PASS@body"], &["ownCredentials"]),
            (&[("proxy-authorization", "mine")], "", &[], &[]),
        ];
        for (headers, body, approvals, expected) in cases {
            let granted = granted(&["api.example.com"], approvals, None);
            assert_eq!(needs(&template(here, headers, body), &granted), *expected, "{headers:?} {body}");
        }
    }

    #[test]
    fn everything_that_is_needed_is_asked_for_at_once() {
        let template =
            template("https://api.example.com/", &[("x-key", "{{KEY}}"), ("cookie", "mine")], "{{PASS}}");
        let expected = [
            "api.example.com:443",
            "ownCredentials",
            "KEY to api.example.com:443 in header:x-key",
            "PASS to api.example.com:443 in body",
        ];
        assert_eq!(needs(&template, &granted(&[], &[], None)), expected);
    }

    #[test]
    fn an_approval_that_ended_is_needed_again() {
        let template = template("https://api.example.com/", &[("x-key", "{{KEY}}")], "");
        let at =
            |expires_at| needs(&template, &granted(&["api.example.com"], &["KEY@header:x-key"], Some(expires_at)));
        assert_eq!(at(NOW), ["KEY to api.example.com:443 in header:x-key"]);
        assert_eq!(at(NOW + 1), ["KEY from STORED_KEY"]);
    }
}
