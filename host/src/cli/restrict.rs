//! `remit restrict`: ask more of callers than the publisher does.

use std::str::FromStr;

use clap::{ArgGroup, Args};
use serde_json::json;

use super::{Context, describe};
use crate::error::Result;
use crate::policy::{Confirm, Restriction};
use crate::registry::{CapabilityName, ToolName};

/// Ask more of the callers of a capability, or of one tool, than its publisher does
///
/// What is asked adds to what is asked already, of the capability and of the tool: a caller meets all of it. When a
/// person has to agree is said by the tool, else by the capability. In force for the next call, in every process.
/// Restrictions stay when another version is installed, but for `--confirm never`, which belongs to the bytes that you
/// said it of; they go with an uninstall.
#[derive(Debug, Args)]
#[command(
    group = ArgGroup::new("what").required(true).multiple(true)
        .args(["hide", "role", "permission", "flag", "confirm", "clear"]),
    after_help = "\
Examples:
  remit restrict acme/notes --confirm writes              a person agrees to every change
  remit restrict acme/notes.delete --hide                 agents neither see nor call it
  remit restrict acme/notes.delete --role admin           only callers of this role
  remit restrict acme/notes.tidy --confirm never          no question for this one
  remit restrict acme/notes.tidy --clear                  as if nothing had been said of it
  remit restrict acme/notes --clear --confirm writes      this instead of what was said"
)]
pub(super) struct RestrictArgs {
    /// `publisher/slug`, or `publisher/slug.tool`
    #[arg(value_name = "NAME")]
    target: Target,
    /// Agents neither see nor call it
    #[arg(long)]
    hide: bool,
    /// The role that a caller needs
    #[arg(long)]
    role: Option<String>,
    /// The permission that a caller needs, as `domain:action`
    #[arg(long, value_name = "PERMISSION")]
    permission: Option<String>,
    /// The flag that has to be on for a caller
    #[arg(long)]
    flag: Option<String>,
    /// Which calls need the word of a person: `never`, `destructive` or `writes`
    #[arg(long, value_name = "WHICH", value_parser = read_confirm)]
    confirm: Option<Confirm>,
    /// First take back what was said of it
    #[arg(long)]
    clear: bool,
}

/// A capability, or one of its tools.
#[derive(Clone, Debug)]
struct Target {
    name: CapabilityName,
    tool: Option<String>,
}

impl FromStr for Target {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Ok(ToolName { capability, tool }) = text.parse() {
            return Ok(Self { name: capability, tool: Some(tool) });
        }
        match text.parse() {
            Ok(name) if !text.contains('.') => Ok(Self { name, tool: None }),
            _ => Err("expected `publisher/slug` or `publisher/slug.tool`".to_owned()),
        }
    }
}

fn read_confirm(word: &str) -> Result<Confirm, String> {
    Confirm::from_word(word).ok_or_else(|| "expected `never`, `destructive` or `writes`".to_owned())
}

/// Runs it.
pub(super) fn run(args: RestrictArgs, context: &Context) -> Result<()> {
    let RestrictArgs { target: Target { name, tool }, hide, role, permission, flag, confirm, clear } = args;
    let restriction = Restriction { tool, hidden: hide, role, permission, flag, confirm };
    let app = context.open()?;
    let stands = app.admin().restrict(&name, &restriction, clear)?;
    if context.output.is_json() {
        let stands = stands.as_ref().map(describe::restriction_value);
        return context.output.value(&json!({ "name": name.to_string(), "restriction": stands }));
    }
    let what = describe::restricted(&restriction);
    context.output.note(&match stands {
        Some(stands) => format!("{what} of {name}: {}", describe::narrows(&stands)),
        None => format!("nothing is asked beyond the manifest for {what} of {name}"),
    });
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_is_a_capability_or_a_tool() {
        let read = |text: &str| text.parse::<Target>().map(|target| (target.name.to_string(), target.tool));
        assert_eq!(read("acme/notes"), Ok(("acme/notes".to_owned(), None)));
        assert_eq!(read("acme/notes.put"), Ok(("acme/notes".to_owned(), Some("put".to_owned()))));
        for text in ["", "acme", "acme/", "/notes", "acme/notes.", "acme/a/b", ".put"] {
            assert!(read(text).is_err(), "{text}");
        }
    }
}
