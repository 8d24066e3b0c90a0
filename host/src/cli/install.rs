//! `remit install`: show what a component asks, and grant what the installer confirms.

use std::path::PathBuf;

use clap::Args;
use serde_json::json;

use super::{Context, asks, compiled, describe, missing, prompt, reviewed, source};
use crate::admin::{Admin, Offer};
use crate::clock::Clock;
use crate::error::{Error, ErrorKind, Result};
use crate::policy::{Grant, same_grant};
use crate::registry::{CapabilityName, Entry};
use crate::review::difference::Difference;

/// Install a capability from a file, and decide what it is granted
///
/// Shows what the component asks before anything changes. At a terminal each ask is a question; elsewhere
/// say it with `--grant` or `--yes`. Grants belong to the exact bytes: another version is asked about anew.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  remit install weather.wasm
  remit install weather.wasm --grant http:api.example.com
  remit install weather.wasm --grant http --grant http:ownCredentials
  remit install weather.wasm --grant none
  remit install weather.wasm --yes
  remit install remit/loops")]
pub(super) struct InstallArgs {
    /// The component, as `remit build` makes it, or the name of a capability of this program: `remit/loops`
    file: PathBuf,
    /// Grant this and ask no questions: `http` (every host it asks for), `http:HOST`,
    /// `http:ownCredentials`, another namespace, `entities:NAME`, or `none`; may be repeated
    #[arg(long = "grant", value_name = "SPEC")]
    grants: Vec<String>,
    /// Grant everything it asks for
    #[arg(long, short, conflicts_with = "grants")]
    yes: bool,
}

/// Runs it.
#[expect(clippy::needless_pass_by_value, reason = "every command takes its arguments")]
pub(super) fn run(args: InstallArgs, context: &Context) -> Result<()> {
    let output = context.output;
    let app = context.open()?;
    let admin = app.admin();
    let offer = source::offer(&args.file, admin, context)?;
    let name = offer.capability.name.clone();
    if args.yes || !args.grants.is_empty() {
        output.note(&offered(&offer));
    } else {
        output.aside(&offered(&offer));
    }

    let Some(grants) = decide(&args, &offer)? else {
        output.note("nothing was installed");
        return Err(Error::new(ErrorKind::Cancelled, format!("`{name}` was not installed")));
    };
    let version = offer.capability.manifest.version.clone();
    compiled::ahead(&app, &offer, output)?;
    compiled::forget(&app, &admin.install(offer, &grants)?)?;

    let entry = admin.find(&name)?;
    if output.is_json() {
        return output.value(&json!({ "installed": describe::value(&entry) }));
    }
    output.text(&format!("installed {name} {version}"))?;
    output.note(&next_steps(&entry, admin)?);
    Ok(())
}

/// What to grant; `None` when the person wants nothing installed.
fn decide(args: &InstallArgs, offer: &Offer) -> Result<Option<Vec<Grant>>> {
    if args.yes {
        return Ok(Some(offer.asks.clone()));
    }
    if !args.grants.is_empty() {
        return asks::chosen(&args.grants, &offer.asks).map(Some);
    }
    let groups = asks::groups(&offer.asks);
    let name = &offer.capability.name;
    let others = offer.replaces.as_ref().filter(|before| before.capability.digest != offer.capability.digest);
    if let Some(before) = others.filter(|_| !prompt::somebody_is_there()) {
        // Also when it asks for nothing: its words, schemas and code are others.
        let (old, new) = (&before.capability.manifest.version, &offer.capability.manifest.version);
        let message = format!("nobody is at a terminal to decide whether `{name}` {new} takes the place of {old}");
        return Err(Error::new(ErrorKind::Usage, message)
            .hint("pass `--grant SPEC` for each grant, `--grant none`, or `--yes` for all it asks"));
    }
    if groups.is_empty() && !prompt::somebody_is_there() {
        // There is nothing to decide about.
        return Ok(Some(Vec::new()));
    }
    if !prompt::somebody_is_there() {
        return Err(Error::new(
            ErrorKind::Usage,
            format!("nobody is at a terminal to decide what `{name}` is granted"),
        )
        .hint("pass `--grant SPEC` for each grant, `--grant none`, or `--yes` for all it asks"));
    }
    if !prompt::confirm(&format!("install {} {}?", offer.capability.name, offer.capability.manifest.version))? {
        return Ok(None);
    }
    let mut grants = Vec::new();
    for group in groups {
        if prompt::confirm(&format!("grant {}?", group.about))? {
            grants.extend(group.grants);
        }
    }
    grants.sort();
    grants.dedup();
    Ok(Some(grants))
}

/// Everything to read before deciding.
fn offered(offer: &Offer) -> String {
    let manifest = &offer.capability.manifest;
    let before = offer.replaces.as_deref();
    let mark = |grant: &Grant| match before {
        Some(before) if !was_asked(grant, before) => "new".to_owned(),
        _ => String::new(),
    };
    let mut parts = vec![describe::head(&offer.capability, offer.origin.as_ref())];
    if let Some(before) = before {
        parts.push(difference(offer, before));
    }
    if offer.keeps.documents > 0 {
        let (name, kept) = (&offer.capability.name, super::figures::kept(offer.keeps));
        parts.push(format!("finds what was kept before\n  {kept}: remit entities list {name}\n"));
    }
    parts.push(describe::asks(manifest, &mark));
    parts.push(describe::tools(manifest));
    parts.extend(describe::documents(manifest));
    parts.extend(describe::loops(manifest));
    parts.extend(describe::prompt(manifest));
    parts.join("\n")
}

fn was_asked(grant: &Grant, before: &Entry) -> bool {
    crate::policy::asks(&before.capability.manifest).iter().any(|ask| same_grant(ask, grant))
}

/// What replacing the installed version changes.
fn difference(offer: &Offer, before: &Entry) -> String {
    let (old, new) = (&before.capability.manifest, &offer.capability.manifest);
    if before.capability.digest == offer.capability.digest {
        return "is installed already, with these bytes: grants are only added\n".to_owned();
    }
    let way = if new.version < old.version { "downgrade" } else { "upgrade" };
    let mut text = format!("{way} from {} to {}\n", old.version, new.version);
    let digest = before.capability.digest.to_string();
    text.push_str(&reviewed::difference(&Difference::of_manifests(old, &digest, new)));
    text.push_str(
        "  grants and approvals of the other version are not carried over: `remit upgrade` carries them
",
    );
    text.push_str(
        "  the other version is kept: `remit rollback` returns to it
",
    );
    text
}

/// The commands that make it work.
fn next_steps(entry: &Entry, admin: &Admin) -> Result<String> {
    let missing = missing::missing(entry, &admin.secrets()?, Clock::system().now_ms());
    let name: &CapabilityName = &entry.capability.name;
    let mut steps: Vec<String> = missing.into_iter().map(|missing| missing.fix).collect();
    if let Some(tool) = entry.capability.manifest.tools.first() {
        steps.push(format!("remit call {name}.{} '{{…}}'", tool.name));
    }
    if steps.is_empty() {
        steps.push(format!("remit show {name}"));
    }
    Ok(format!("\nnext:\n  {}", steps.join("\n  ")))
}
