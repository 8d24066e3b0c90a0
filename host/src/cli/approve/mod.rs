//! `remit approve`: decide what refused calls asked for, or let a secret go to a host before anybody asks.

mod asked;
mod named;

use clap::Args;

use super::until::EndArgs;
use super::{Context, prompt};
use crate::asks::AskId;
use crate::error::{Error, ErrorKind, Result};
use crate::registry::CapabilityName;

/// Decide what a refused call asked for, or let a secret go to a host
///
/// When a call is refused for want of something that the capability declares, the agent gets an approval id. With
/// that id, this shows what is asked, by whom, and asks you; a yes gives exactly that, to exactly these bytes.
/// Without any argument it lists what is asked.
///
/// With a capability and a secret it approves the secret before anybody asks: without `--host` and `--in`, to every
/// host and place that the manifest declares for it, after showing them. The capability never sees the value: the
/// host puts it into requests on their way out.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  remit approve                      list what is asked
  remit approve K7QM-2XWA            show it, and decide
  remit approve K7QM-2XWA --refuse   no, and do not ask again
  remit approve acme/weather API_KEY
  remit approve acme/weather API_KEY --host api.example.com --in header:authorization --for 30d
  remit approve acme/weather API_KEY --from WORK_API_KEY --yes")]
pub(super) struct ApproveArgs {
    /// An approval id, or `publisher/slug`
    #[arg(value_name = "ID|NAME")]
    subject: Option<String>,
    /// The secret, as the manifest names it
    secret: Option<String>,
    /// Only to this host of those declared
    #[arg(long, value_name = "HOST[:PORT]", requires = "secret")]
    host: Option<String>,
    /// Only in this place of those declared: `header:NAME` or `body`
    #[arg(long = "in", value_name = "PLACE", requires = "secret")]
    place: Option<String>,
    /// The name that the value is stored under, where it is another
    #[arg(long, value_name = "STORED_NAME", requires = "subject")]
    from: Option<String>,
    #[command(flatten)]
    end: EndArgs,
    /// Ask no question
    #[arg(long, short, requires = "subject")]
    yes: bool,
    /// Give nothing, and do not ask for it again
    #[arg(long, requires = "subject", conflicts_with_all = ["secret", "from", "span", "until", "yes"])]
    refuse: bool,
    /// List what was refused as well
    #[arg(long, conflicts_with = "subject")]
    all: bool,
}

/// Runs it.
pub(super) fn run(args: ApproveArgs, context: &Context) -> Result<()> {
    let ApproveArgs { subject, secret, host, place, from, end, yes, refuse, all } = args;
    let expires_at = end.end()?;
    let Some(subject) = subject else { return asked::list(all, context) };
    if !subject.contains('/') {
        let id: AskId = subject.parse().map_err(|_| not_a_subject(&subject))?;
        if secret.is_some() {
            return Err(Error::new(
                ErrorKind::Usage,
                "an approval id stands alone: it says which secret it is about",
            ));
        }
        let choice = asked::Choice { from, expires_at, yes };
        return if refuse { asked::refuse(id, context) } else { asked::decide(id, &choice, context) };
    }
    let name: CapabilityName =
        subject.parse().map_err(|why| Error::new(ErrorKind::Usage, format!("`{subject}` is no name: {why}")))?;
    let Some(secret) = secret else {
        return Err(Error::new(ErrorKind::Usage, format!("which secret of `{name}`?"))
            .hint(format!("remit approve {name} SECRET\nremit show {name} lists its secrets")));
    };
    named::run(&named::Named { name, secret, host, place, from, expires_at, yes }, context)
}

fn not_a_subject(text: &str) -> Error {
    Error::new(ErrorKind::Usage, format!("`{text}` is neither an approval id nor a capability"))
        .hint("an id has eight letters and digits, as K7QM-2XWA; a capability is `publisher/slug`")
}

/// Puts the question, unless it was answered beforehand.
fn confirm(question: &str, yes: bool) -> Result<()> {
    if yes {
        return Ok(());
    }
    if !prompt::somebody_is_there() {
        return Err(Error::new(ErrorKind::Usage, "nobody is at a terminal to confirm this").hint("pass `--yes`"));
    }
    if prompt::confirm(question)? { Ok(()) } else { Err(Error::new(ErrorKind::Cancelled, "nothing was approved")) }
}
