//! `remit approve`: let one secret of one install go to a host, in a place.

use clap::Args;
use serde_json::{Value, json};

use super::{Context, describe, figures, prompt};
use crate::error::{Error, ErrorKind, Result};
use crate::manifest::Secret;
use crate::policy::{Approval, HTTPS_PORT, Place};
use crate::registry::CapabilityName;

/// Let a secret of an installed capability go to a host
///
/// Without `--host` and `--in`: to every host and place that the manifest declares for it, after showing
/// them. The capability never sees the value: the host puts it into requests on their way out.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  remit approve acme/weather API_KEY
  remit approve acme/weather API_KEY --host api.example.com --in header:authorization
  remit approve acme/weather API_KEY --from WORK_API_KEY --yes")]
pub(super) struct ApproveArgs {
    /// `publisher/slug`
    name: CapabilityName,
    /// The secret, as the manifest names it
    secret: String,
    /// Only to this host of those declared
    #[arg(long, value_name = "HOST[:PORT]")]
    host: Option<String>,
    /// Only in this place of those declared: `header:NAME` or `body`
    #[arg(long = "in", value_name = "PLACE")]
    place: Option<String>,
    /// The name that the value is stored under, where it is another
    #[arg(long, value_name = "STORED_NAME")]
    from: Option<String>,
    /// Ask no question
    #[arg(long, short)]
    yes: bool,
}

/// Runs it.
#[expect(clippy::needless_pass_by_value, reason = "every command takes its arguments")]
pub(super) fn run(args: ApproveArgs, context: &Context) -> Result<()> {
    let output = context.output;
    let app = context.open()?;
    let entry = app.admin().find(&args.name)?;
    let declared = find(&entry.capability.manifest.secrets, &args.secret)?;
    let approvals = approvals(declared, args.host.as_deref(), args.place.as_deref(), args.from.as_deref())?;
    let rows: Vec<_> =
        approvals.iter().map(|approval| vec![describe::authority(approval), approval.place.to_string()]).collect();
    output.note(&format!("`{}` of {} may go to\n{}", args.secret, args.name, describe::indented(&rows)));
    confirm(&args)?;
    app.admin().approve(&args.name, &approvals)?;

    let source = args.from.as_deref().unwrap_or(&args.secret);
    if output.is_json() {
        let approved = approvals.iter().map(
            |approval| json!({ "host": approval.host, "port": approval.port, "place": approval.place.to_string() }),
        );
        let approved = Value::Array(approved.collect());
        return output.value(&json!({
            "name": args.name.to_string(), "secret": args.secret, "source": source, "approved": approved,
        }));
    }
    output.note(&format!("approved {}", figures::plural(approvals.len(), "destination")));
    if !app.admin().secrets()?.iter().any(|stored| stored.name == source) {
        output.note(&format!("\nhint: no value is stored yet: remit secret set {source}"));
    }
    Ok(())
}

fn confirm(args: &ApproveArgs) -> Result<()> {
    if args.yes {
        return Ok(());
    }
    if !prompt::somebody_is_there() {
        return Err(Error::new(ErrorKind::Usage, "nobody is at a terminal to confirm this").hint("pass `--yes`"));
    }
    if prompt::confirm("approve?")? {
        Ok(())
    } else {
        Err(Error::new(ErrorKind::Cancelled, "nothing was approved"))
    }
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
fn approvals(
    declared: &Secret,
    host: Option<&str>,
    place: Option<&str>,
    from: Option<&str>,
) -> Result<Vec<Approval>> {
    let hosts = host.map_or_else(|| declared.hosts.clone(), |host| vec![host.to_owned()]);
    let places = place.map_or_else(|| declared.places.clone(), |place| vec![place.to_owned()]);
    let mut approvals = Vec::new();
    for host in &hosts {
        let (host, port) = read_authority(host)?;
        for place in &places {
            approvals.push(Approval {
                secret: declared.name.clone(),
                source: from.unwrap_or(&declared.name).to_owned(),
                host: host.clone(),
                port,
                place: read_place(place)?,
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
            match (approvals(&declared(), *host, *place, *from), expected) {
                (Ok(approvals), Ok(expected)) => assert_eq!(words(&approvals), *expected),
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
