//! `remit review approve` and `reject`: a decision about the bytes that were shown, signed with this home's key.

use clap::Args;
use serde_json::json;

use super::super::{Context, on_threads, prompt};
use super::{Where, look, show};
use crate::clock::Clock;
use crate::error::{Error, ErrorKind, Result};
use crate::registries::Registry;
use crate::registry::{Digest, Exact};
use crate::signing::{Decision, Signed, SigningKey};

/// Characters of a reason. Its publisher reads it, and everybody who looks at the release.
const MAX_REASON: usize = 2000;

/// Say that a release may be published
///
/// The decision names the digest that was shown. At a terminal the release is shown first and its digest is asked
/// about; elsewhere say which digest you looked at. When other bytes wait meanwhile, nothing is decided.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  remit review approve acme/weather@1.1.0
  remit review approve acme/weather@1.1.0 --digest sha256:…")]
pub(super) struct ApproveArgs {
    #[command(flatten)]
    about: About,
    /// Why, for its publisher
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
}

/// Say that a release may not be published, and why
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  remit review reject acme/weather@1.1.0 --reason 'why collect.example.net?'")]
pub(super) struct RejectArgs {
    #[command(flatten)]
    about: About,
    /// Why, for its publisher
    #[arg(long, value_name = "TEXT")]
    reason: String,
}

#[derive(Debug, Args)]
struct About {
    /// `publisher/slug@version`
    release: Exact,
    #[command(flatten)]
    place: Where,
    /// The digest that was looked at
    #[arg(long, value_name = "DIGEST")]
    digest: Option<Digest>,
}

/// Runs `approve`.
pub(super) fn approve(args: &ApproveArgs, context: &Context) -> Result<()> {
    decide(&args.about, true, args.reason.as_deref(), context)
}

/// Runs `reject`.
pub(super) fn reject(args: &RejectArgs, context: &Context) -> Result<()> {
    decide(&args.about, false, Some(&args.reason), context)
}

fn decide(about: &About, approved: bool, reason: Option<&str>, context: &Context) -> Result<()> {
    let output = context.output;
    check_reason(reason)?;
    let registry = about.place.open(context)?;
    let Some(looked_at) = looked_at(about, &registry, approved, context)? else {
        return Err(Error::new(ErrorKind::Cancelled, format!("nothing was decided about `{}`", about.release)));
    };
    let decision = Decision {
        release: about.release.to_string(),
        component_sha256: looked_at,
        approved,
        reason: reason.map(str::to_owned),
        signed_at: Clock::system().now_ms(),
    };
    let key = SigningKey::open(&context.home()?)?;
    let signed = Signed::new(decision, &key)?;
    let state = on_threads(registry.decide(&signed))?;
    if output.is_json() {
        let digest = looked_at.to_string();
        return output.value(&json!({ "release": about.release.to_string(), "state": state, "digest": digest }));
    }
    output.text(&format!("{} is {state}", about.release))
}

/// The digest that the person looked at: the one that is said, or the one that was just shown and agreed to.
fn looked_at(about: &About, registry: &Registry, approved: bool, context: &Context) -> Result<Option<Digest>> {
    if let Some(digest) = about.digest {
        return Ok(Some(digest));
    }
    if context.output.is_json() || !prompt::somebody_is_there() {
        let message = "nobody is at a terminal to look at the release";
        return Err(Error::new(ErrorKind::Usage, message)
            .hint(format!("remit review show {}, and then say which digest was shown: --digest", about.release)));
    }
    let shown = on_threads(look(registry, &about.release, context))?;
    context.output.aside(&show::text(&about.release, &shown));
    let digest = shown.report.digest.parse().map_err(|error| Error::internal("a digest is none").detail(error))?;
    let verb = if approved { "approve" } else { "reject" };
    Ok(prompt::confirm(&format!("{verb} {digest}?"))?.then_some(digest))
}

fn check_reason(reason: Option<&str>) -> Result<()> {
    let Some(reason) = reason else { return Ok(()) };
    let characters = reason.chars().count();
    let hidden = reason.chars().any(|character| crate::manifest::is_hidden(character) && character != '\n');
    if reason.trim().is_empty() || characters > MAX_REASON || hidden {
        let message = format!("a reason is a text of at most {MAX_REASON} characters that all show");
        return Err(Error::new(ErrorKind::Usage, message));
    }
    Ok(())
}
