//! `remit loops create`: a loop of the person's own.

use std::time::Duration;

use clap::{ArgGroup, Args};
use jiff::tz::TimeZone;
use serde_json::{Map, Value};

use super::super::{Context, figures};
use super::describe::loop_value;
use crate::error::{Error, ErrorKind, Result};
use crate::registry::ToolName;
use crate::scheduler::next::Timing;
use crate::scheduler::{Definition, Misfire, Overlap, Task};

/// Make a loop of your own: it calls any installed tool, or asks an agent
#[derive(Debug, Args)]
#[command(
    group = ArgGroup::new("when").required(true).args(["cron", "every"]),
    group = ArgGroup::new("what").required(true).args(["tool", "prompt"]),
    after_help = "\
Examples:
  remit loops create backup --cron '0 3 * * *' --tool acme/files.backup
  remit loops create news --every 2h --tool acme/feeds.read --input '{\"limit\":10}' --silent
  remit loops create review --cron '0 9 * * mon' --timezone Europe/Berlin --prompt 'Review open issues.'"
)]
pub(super) struct CreateArgs {
    /// Its name: lower-case letters, digits and hyphens
    #[arg(value_name = "LOOP")]
    name: String,
    /// Five fields: minute, hour, day of the month, month, weekday
    #[arg(long, value_name = "PATTERN")]
    cron: Option<String>,
    /// The zone of the pattern [default: this machine's]
    #[arg(long, value_name = "ZONE", requires = "cron")]
    timezone: Option<String>,
    /// A fixed period: `15m`, `2h`, `1d`
    #[arg(long, value_name = "INTERVAL")]
    every: Option<String>,
    /// The tool that it calls: `publisher/slug.tool`
    #[arg(long)]
    tool: Option<ToolName>,
    /// The tool's input, a JSON object
    #[arg(long, value_name = "JSON", requires = "tool")]
    input: Option<String>,
    /// What an agent is asked to do
    #[arg(long, value_name = "TEXT")]
    prompt: Option<String>,
    /// Deliver nothing when there is nothing to report
    #[arg(long)]
    silent: bool,
    /// When this host was too late for firings: `run-once`, `skip` or `run-all`
    #[arg(long, value_name = "RULE", default_value = "run-once")]
    misfire: String,
    /// When an earlier run is not done: `skip` or `queue-one`
    #[arg(long, value_name = "RULE", default_value = "skip")]
    overlap: String,
    /// How late a firing may be made up for, from `10s` to `30d`
    #[arg(long, value_name = "INTERVAL", default_value = "1h")]
    window: String,
}

pub(super) fn run(args: CreateArgs, context: &Context) -> Result<()> {
    let definition = definition(args)?;
    let app = context.open()?;
    let made = app.admin().create_loop(definition)?;
    if context.output.is_json() {
        return context.output.value(&loop_value(&made));
    }
    let next = made.next_at.map(figures::local_time).unwrap_or_default();
    let name = &made.definition.name;
    context.output.note(&format!("made the loop `{name}` ({}); it fires next at {next}", made.definition.timing));
    Ok(())
}

fn definition(args: CreateArgs) -> Result<Definition> {
    let timing = match (args.cron, args.every) {
        (Some(pattern), _) => Timing::Cron { pattern, timezone: args.timezone.unwrap_or_else(local_zone) },
        (None, every) => Timing::interval(&every.unwrap_or_default())?,
    };
    let task = match (args.tool, args.prompt) {
        (Some(tool), _) => Task::Tool { tool, input: args.input.as_deref().map_or(Ok(Map::new()), read_object)? },
        (None, prompt) => Task::Prompt(prompt.unwrap_or_default()),
    };
    let misfire = rule(&args.misfire, Misfire::ALL, Misfire::as_str)?;
    let overlap = rule(&args.overlap, Overlap::ALL, Overlap::as_str)?;
    Ok(Definition {
        quiet: args.silent,
        misfire,
        overlap,
        window: match Timing::interval(&args.window)? {
            Timing::Interval { seconds } => Duration::from_secs(seconds),
            Timing::Cron { .. } => return Err(Error::internal("an interval is no pattern")),
        },
        ..Definition::new(args.name, timing, task)
    })
}

/// The zone of this machine by its name; without one, what is the same everywhere.
fn local_zone() -> String {
    TimeZone::system().iana_name().unwrap_or("UTC").to_owned()
}

fn read_object(text: &str) -> Result<Map<String, Value>> {
    serde_json::from_str(text)
        .map_err(|error| Error::new(ErrorKind::Usage, "the input is not a JSON object").detail(error))
}

/// The rule of this word.
fn rule<T: Copy>(word: &str, all: &[T], as_str: fn(T) -> &'static str) -> Result<T> {
    all.iter().copied().find(|&rule| as_str(rule) == word).ok_or_else(|| {
        let known: Vec<_> = all.iter().map(|&rule| format!("`{}`", as_str(rule))).collect();
        Error::new(ErrorKind::Usage, format!("there is no rule `{word}`"))
            .hint(format!("the rules are {}", known.join(", ")))
    })
}
