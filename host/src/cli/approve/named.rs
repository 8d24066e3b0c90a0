//! One secret of one install, approved before anybody asks.

use serde_json::{Value, json};

use super::super::{Context, describe, figures};
use super::confirm;
use crate::error::{Error, ErrorKind, Result};
use crate::manifest::Secret;
use crate::policy::{Approval, HTTPS_PORT, Place, check_approval};
use crate::registry::CapabilityName;

/// What was said on the command line.
pub(super) struct Named {
    pub(super) name: CapabilityName,
    pub(super) secret: String,
    pub(super) host: Option<String>,
    pub(super) place: Option<String>,
    pub(super) from: Option<String>,
    /// In milliseconds since 1970.
    pub(super) expires_at: Option<i64>,
    pub(super) yes: bool,
}

/// Runs it.
pub(super) fn run(args: &Named, context: &Context) -> Result<()> {
    let output = context.output;
    let app = context.open()?;
    let entry = app.admin().find(&args.name)?;
    let manifest = &entry.capability.manifest;
    let approvals = approvals(find(&manifest.secrets, &args.secret)?, args)?;
    approvals.iter().try_for_each(|approval| check_approval(manifest, approval))?;
    let rows: Vec<_> =
        approvals.iter().map(|approval| vec![describe::authority(approval), approval.place.to_string()]).collect();
    let end = args.expires_at.map_or(String::new(), |end| format!(", until {}", figures::local_time(end)));
    output.note(&format!("`{}` of {} may go to{end}\n{}", args.secret, args.name, describe::indented(&rows)));
    confirm("approve?", args.yes)?;
    app.admin().approve(&args.name, &approvals)?;

    let source = args.from.as_deref().unwrap_or(&args.secret);
    if output.is_json() {
        let approved = approvals.iter().map(
            |approval| json!({ "host": approval.host, "port": approval.port, "place": approval.place.to_string() }),
        );
        let approved = Value::Array(approved.collect());
        return output.value(&json!({
            "name": args.name.to_string(), "secret": args.secret, "source": source,
            "expiresAt": args.expires_at.map(figures::utc_time), "approved": approved,
        }));
    }
    output.note(&format!("approved {}", figures::plural(approvals.len(), "destination")));
    if !app.admin().secrets()?.iter().any(|stored| stored.name == source) {
        output.note(&format!("\nhint: no value is stored yet: remit secret set {source}"));
    }
    Ok(())
}

fn find<'a>(secrets: &'a [Secret], name: &str) -> Result<&'a Secret> {
    secrets.iter().find(|secret| secret.name == name).ok_or_else(|| {
        let names: Vec<String> = secrets.iter().map(|secret| format!("`{}`", secret.name)).collect();
        let hint = if names.is_empty() {
            "it declares none".to_owned()
        } else {
            format!("it declares {}", names.join(", "))
        };
        Error::new(ErrorKind::Usage, format!("this capability declares no secret `{name}`")).hint(hint)
    })
}

/// Every pair of a host and a place, of those declared or of the ones that were named.
fn approvals(declared: &Secret, args: &Named) -> Result<Vec<Approval>> {
    let hosts = args.host.as_ref().map_or_else(|| declared.hosts.clone(), |host| vec![host.clone()]);
    let places = args.place.as_ref().map_or_else(|| declared.places.clone(), |place| vec![place.clone()]);
    let mut approvals = Vec::new();
    for host in &hosts {
        let (host, port) = read_authority(host)?;
        for place in &places {
            approvals.push(Approval {
                secret: declared.name.clone(),
                source: args.from.as_ref().unwrap_or(&declared.name).clone(),
                host: host.clone(),
                port,
                place: read_place(place)?,
                expires_at: args.expires_at,
            });
        }
    }
    Ok(approvals)
}

fn read_authority(text: &str) -> Result<(String, u16)> {
    let invalid = || {
        Error::new(ErrorKind::Usage, format!("`{text}` is no host"))
            .hint("for example api.example.com or api.example.com:8443")
    };
    let (host, port) = match text.split_once(':') {
        Some((host, port)) => (host, port.parse().map_err(|_| invalid())?),
        None => (text, HTTPS_PORT),
    };
    let is_name =
        !host.is_empty() && host.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._".contains(&byte));
    if !is_name || port == 0 {
        return Err(invalid());
    }
    Ok((host.to_ascii_lowercase(), port))
}

fn read_place(text: &str) -> Result<Place> {
    text.to_ascii_lowercase().parse().map_err(|_| {
        Error::new(ErrorKind::Usage, format!("`{text}` is no place for a secret"))
            .hint("for example header:authorization, or body")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn declared() -> Secret {
        Secret {
            name: "API_KEY".to_owned(),
            required: true,
            description: String::new(),
            hosts: vec!["api.example.com".to_owned(), "up.example.com:8443".to_owned()],
            places: vec!["header:authorization".to_owned(), "body".to_owned()],
        }
    }

    fn words(approvals: &[Approval]) -> Vec<String> {
        let word = |approval: &Approval| {
            let place = approval.place.to_string();
            format!("{}={} {}:{} {place}", approval.secret, approval.source, approval.host, approval.port)
        };
        approvals.iter().map(word).collect()
    }

    #[test]
    fn destinations_are_those_declared_or_named() {
        type Case<'a> = (Option<&'a str>, Option<&'a str>, Option<&'a str>, Result<&'a [&'a str], &'a str>);
        let cases: &[Case<'_>] = &[
            (
                None,
                None,
                None,
                Ok(&[
                    "API_KEY=API_KEY api.example.com:443 header:authorization",
                    "API_KEY=API_KEY api.example.com:443 body",
                    "API_KEY=API_KEY up.example.com:8443 header:authorization",
                    "API_KEY=API_KEY up.example.com:8443 body",
                ]),
            ),
            (
                Some("API.example.com"),
                Some("header:X-Key"),
                Some("WORK"),
                Ok(&["API_KEY=WORK api.example.com:443 header:x-key"]),
            ),
            (Some("https://api.example.com"), None, None, Err("`https://api.example.com` is no host")),
            (Some("*.example.com"), None, None, Err("`*.example.com` is no host")),
            (Some("api.example.com:0"), None, None, Err("`api.example.com:0` is no host")),
            (Some(""), None, None, Err("`` is no host")),
            (None, Some("query"), None, Err("`query` is no place for a secret")),
            (None, Some("header:"), None, Err("`header:` is no place for a secret")),
        ];
        for (host, place, from, expected) in cases {
            let args = Named {
                name: "acme/weather".parse().unwrap_or_else(|error| panic!("{error}")),
                secret: "API_KEY".to_owned(),
                host: host.map(str::to_owned),
                place: place.map(str::to_owned),
                from: from.map(str::to_owned),
                expires_at: Some(7),
                yes: false,
            };
            match (approvals(&declared(), &args), expected) {
                (Ok(approvals), Ok(expected)) => {
                    assert_eq!(words(&approvals), *expected);
                    assert!(approvals.iter().all(|approval| approval.expires_at == Some(7)));
                }
                (Err(error), Err(expected)) => assert_eq!(error.message, *expected),
                (result, expected) => panic!("{host:?} {place:?}: {result:?}, expected {expected:?}"),
            }
        }
    }

    #[test]
    fn an_undeclared_secret_names_the_declared_ones() {
        let error = find(&[declared()], "API_KEYS").err();
        assert_eq!(error.and_then(|error| error.hint).as_deref(), Some("it declares `API_KEY`"));
    }
}
