//! `remit flag`: feature flags, for everyone, for a share of the principals, and for one.

use clap::{ArgGroup, Args, Subcommand};
use serde_json::{Value, json};

use super::Context;
use crate::error::Result;
use crate::policy::Flag;

/// Set, list and remove feature flags
///
/// A tool that asks for a flag is there for whom the flag is on. One that nobody set is off.
#[derive(Debug, Args)]
pub(super) struct FlagArgs {
    #[command(subcommand)]
    command: FlagCommand,
}

#[derive(Debug, Subcommand)]
enum FlagCommand {
    Set(SetArgs),
    List(ListArgs),
    Remove(RemoveArgs),
}

/// Switch a flag on or off: for everyone, for a share of the principals, or for one
///
/// A share is always the same principals, and who has it keeps it as the share grows. What was set for one principal
/// counts before all else, and stays until the flag is removed.
#[derive(Debug, Args)]
#[command(
    group = ArgGroup::new("state").required(true),
    after_help = "\
Examples:
  remit flag set beta --on --principal laptop
  remit flag set beta --on --percent 20
  remit flag set beta --off"
)]
struct SetArgs {
    /// Lower-case letters, digits and hyphens
    flag: String,
    /// On
    #[arg(long, group = "state")]
    on: bool,
    /// Off
    #[arg(long, group = "state")]
    off: bool,
    /// On for so many of a hundred principals only
    #[arg(long, value_name = "N", conflicts_with_all = ["off", "principal"], value_parser = clap::value_parser!(u8).range(0..=100))]
    percent: Option<u8>,
    /// For this principal only
    #[arg(long, value_name = "NAME")]
    principal: Option<String>,
}

/// List flags: for whom each is on
#[derive(Debug, Args)]
struct ListArgs {}

/// Remove a flag with what was set for single principals: it is off for all
#[derive(Debug, Args)]
struct RemoveArgs {
    /// Its name
    flag: String,
}

/// Runs it.
pub(super) fn run(args: FlagArgs, context: &Context) -> Result<()> {
    match args.command {
        FlagCommand::Set(args) => set(&args, context),
        FlagCommand::List(ListArgs {}) => list(context),
        FlagCommand::Remove(args) => remove(&args, context),
    }
}

fn set(args: &SetArgs, context: &Context) -> Result<()> {
    let SetArgs { flag, on, percent, principal, .. } = args;
    let app = context.open()?;
    match principal {
        Some(principal) => app.admin().set_flag_for(flag, principal, *on)?,
        None => app.admin().set_flag(flag, *on, *percent)?,
    }
    let flags = app.admin().flags()?;
    let Some(stored) = flags.get(flag) else { return Ok(()) };
    if context.output.is_json() {
        return context.output.value(&value(flag, stored));
    }
    let [state, exceptions] = state(stored);
    let exceptions = if stored.exceptions.is_empty() { String::new() } else { format!(" ({exceptions})") };
    context.output.note(&format!("`{flag}` is {state}{exceptions}"));
    Ok(())
}

fn list(context: &Context) -> Result<()> {
    let output = context.output;
    let flags = context.open()?.admin().flags()?;
    if output.is_json() {
        return output.value(&flags.iter().map(|(name, flag)| value(name, flag)).collect());
    }
    if flags.is_empty() {
        output.note("no flags are set\n\nhint: remit flag set NAME --on");
        return Ok(());
    }
    let rows: Vec<_> = flags
        .iter()
        .map(|(name, flag)| {
            let [state, exceptions] = state(flag);
            vec![name.clone(), state, exceptions]
        })
        .collect();
    output.table(&["FLAG", "STATE", "EXCEPTIONS"], &rows)
}

fn remove(args: &RemoveArgs, context: &Context) -> Result<()> {
    context.open()?.admin().remove_flag(&args.flag)?;
    if context.output.is_json() {
        return context.output.value(&json!({ "flag": args.flag, "removed": true }));
    }
    context.output.note(&format!("removed `{}`: it is off", args.flag));
    Ok(())
}

/// What it is, and for whom it is otherwise.
fn state(flag: &Flag) -> [String; 2] {
    let state = match (flag.on, flag.percent) {
        (true, Some(percent)) => format!("on for {percent} %"),
        (true, None) => "on".to_owned(),
        (false, _) => "off".to_owned(),
    };
    let word = |on: bool| if on { "on" } else { "off" };
    let exceptions: Vec<String> =
        flag.exceptions.iter().map(|(principal, on)| format!("{} for {principal}", word(*on))).collect();
    [state, if exceptions.is_empty() { "-".to_owned() } else { exceptions.join(", ") }]
}

fn value(name: &str, flag: &Flag) -> Value {
    json!({ "flag": name, "on": flag.on, "percent": flag.percent, "principals": flag.exceptions })
}
