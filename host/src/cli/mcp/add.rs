//! `remit mcp add`: look at a server, and accept what it says.

use clap::Args;
use serde_json::json;

use super::super::{Context, on_threads};
use super::describe;
use crate::config;
use crate::error::{Error, ErrorKind, Result};
use crate::upstreams::Reach;

/// Add an upstream MCP server: a program, or an address
///
/// Connects once and shows every tool with what the server says of it. What you accept is pinned. Secrets that you
/// name with `{{NAME}}` go to this program or address from then on; store them first, with `remit secret set`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  remit mcp add files -- /usr/local/bin/files-server --root /srv/files
  remit mcp add home --env TOKEN={{HOME_TOKEN}} -- npx -y @example/home-server
  remit mcp add tracker --url https://mcp.example.com/mcp --header 'Authorization: Bearer {{TRACKER}}'")]
pub(in crate::cli) struct AddArgs {
    /// Its name here: lower-case letters, digits and hyphens
    name: String,
    /// Its address, which begins with `https://`
    #[arg(long, conflicts_with = "command", required_unless_present = "command")]
    url: Option<String>,
    /// A header field for requests to `--url`; may be repeated
    #[arg(long = "header", value_name = "NAME: VALUE", conflicts_with = "command")]
    headers: Vec<String>,
    /// A variable for the program; may be repeated
    #[arg(long = "env", value_name = "NAME=VALUE", conflicts_with = "url")]
    environment: Vec<String>,
    /// Accept what it says without a question
    #[arg(long, short)]
    yes: bool,
    /// The program and its arguments
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
}

pub(super) fn run(args: AddArgs, context: &Context) -> Result<()> {
    let output = context.output;
    let AddArgs { name, url, headers, environment, yes, command } = args;
    let reach = reach(url, &headers, &environment, &command)?;
    let app = context.open()?;
    let admin = app.admin();
    admin.check_new_upstream(&name, &reach)?;
    let definitions = output.during("connecting", || on_threads(app.look_at_upstream(&name, &reach)))?;
    let offer = admin.offer_upstream(&name, definitions)?;
    let shown = describe::offer(&offer, &reach)?;
    if yes {
        output.note(&shown)
    } else {
        output.aside(&shown)
    }
    if !yes && !describe::is_accepted(&format!("Add `{name}` with these tools?"), context)? {
        return Err(Error::new(ErrorKind::Cancelled, format!("`{name}` was not added")));
    }
    admin.accept_upstream(&reach, &offer)?;
    let known = admin.upstream(&name)?;
    if output.is_json() {
        return output.value(&json!({ "added": describe::value(&known)? }));
    }
    output.text(&format!("added {name}"))?;
    output.note(&describe::next(&known));
    Ok(())
}

fn reach(url: Option<String>, headers: &[String], environment: &[String], command: &[String]) -> Result<Reach> {
    let pair = |text: &String, separator: char, form: &str| match text.split_once(separator) {
        Some((name, value)) => Ok((name.trim().to_owned(), value.to_owned())),
        // The text itself may hold a secret, put there by mistake.
        None => Err(Error::new(ErrorKind::Usage, format!("expected `{form}`"))),
    };
    if let Some(url) = url {
        let headers = headers.iter().map(|text| {
            let (name, value) = pair(text, ':', "NAME: VALUE")?;
            Ok((name.to_ascii_lowercase(), value.trim().to_owned()))
        });
        return Ok(Reach::Url { url, headers: headers.collect::<Result<_>>()? });
    }
    let Some((program, arguments)) = command.split_first() else {
        return Err(Error::new(ErrorKind::Usage, "name a program after `--`, or an address with `--url`"));
    };
    let environment = environment.iter().map(|text| pair(text, '=', "NAME=VALUE")).collect::<Result<_>>()?;
    let program = config::find_program(program).ok_or_else(|| {
        Error::new(ErrorKind::Usage, format!("there is no program `{program}`"))
            .hint("name it with its whole path, or one that is found in `PATH`")
    })?;
    Ok(Reach::Command { program, arguments: arguments.to_vec(), environment })
}
