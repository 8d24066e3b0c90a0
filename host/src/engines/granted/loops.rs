//! `remit.loops.create`, `list`, `update`, `pause`, `delete`, `run` and `diffSinceLastRun`.

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{Context, Outcome, Row, read};
use crate::error::{Error, ErrorKind};
use crate::namespaces::loops::host;
use crate::runtime::loops::{self as wire, Cron, LoopInfo, Schedule, Status, Task, ToolTask};

pub(super) const FUNCTIONS: &[Row] = &[
    ("create", create),
    ("delete", delete),
    ("diffSinceLastRun", diff_since_last_run),
    ("list", list),
    ("pause", pause),
    ("run", run),
    ("update", update),
];

/// A loop: when by `cron` (with `timezone`) or `everySeconds`, what by `tool` (with `input`) or `prompt`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Definition {
    name: String,
    #[serde(default)]
    cron: Option<String>,
    #[serde(default)]
    timezone: Option<String>,
    #[serde(default)]
    every_seconds: Option<u64>,
    #[serde(default)]
    tool: Option<String>,
    #[serde(default)]
    input: Map<String, Value>,
    #[serde(default)]
    prompt: Option<String>,
    #[serde(default)]
    quiet: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Named {
    name: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Pause {
    name: String,
    paused: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Items {
    items: Vec<Value>,
}

fn create(store: Context<'_>, input: Value) -> wasmtime::Result<Outcome> {
    let definition = match read(input).and_then(definition) {
        Ok(definition) => definition,
        Err(error) => return Ok(Err(error)),
    };
    Ok(host::create(store, (definition,))?.0.map(shown).map_err(thrown))
}

fn update(store: Context<'_>, input: Value) -> wasmtime::Result<Outcome> {
    let definition = match read(input).and_then(definition) {
        Ok(definition) => definition,
        Err(error) => return Ok(Err(error)),
    };
    Ok(host::update(store, (definition,))?.0.map(shown).map_err(thrown))
}

fn list(store: Context<'_>, _input: Value) -> wasmtime::Result<Outcome> {
    Ok(host::list(store, ())?.0.map(|loops| loops.into_iter().map(shown).collect()).map_err(thrown))
}

fn pause(store: Context<'_>, input: Value) -> wasmtime::Result<Outcome> {
    match read(input) {
        Ok(Pause { name, paused }) => Ok(host::pause(store, (name, paused))?.0.map(shown).map_err(thrown)),
        Err(error) => Ok(Err(error)),
    }
}

fn delete(store: Context<'_>, input: Value) -> wasmtime::Result<Outcome> {
    match read(input) {
        Ok(Named { name }) => Ok(host::delete(store, (name,))?.0.map(|()| Value::Null).map_err(thrown)),
        Err(error) => Ok(Err(error)),
    }
}

fn run(store: Context<'_>, input: Value) -> wasmtime::Result<Outcome> {
    match read(input) {
        Ok(Named { name }) => Ok(host::run(store, (name,))?.0.map(Value::from).map_err(thrown)),
        Err(error) => Ok(Err(error)),
    }
}

fn diff_since_last_run(store: Context<'_>, input: Value) -> wasmtime::Result<Outcome> {
    let items = match read(input) {
        Ok(Items { items }) => items.iter().map(Value::to_string).collect(),
        Err(error) => return Ok(Err(error)),
    };
    let (found,) = host::diff_since_last_run(store, (items,))?;
    let values = |texts: Vec<String>| -> Value {
        texts.iter().map(|text| serde_json::from_str::<Value>(text).unwrap_or_default()).collect()
    };
    let shown = |found: wire::Difference| json!({ "first": found.first, "added": values(found.added), "removed": values(found.removed) });
    Ok(found.map(shown).map_err(thrown))
}

fn definition(asked: Definition) -> Result<wire::Definition, Error> {
    let invalid = |what: &str| Error::new(ErrorKind::InvalidInput, what);
    let schedule = match (asked.cron, asked.every_seconds) {
        (Some(pattern), None) => {
            Schedule::Cron(Cron { pattern, timezone: asked.timezone.unwrap_or_else(|| "UTC".to_owned()) })
        }
        (None, Some(seconds)) if asked.timezone.is_none() => Schedule::Interval(seconds),
        _ => return Err(invalid("a loop has `cron`, with a `timezone`, or `everySeconds`")),
    };
    let task = match (asked.tool, asked.prompt) {
        (Some(tool), None) => Task::Tool(ToolTask { tool, input: Value::Object(asked.input).to_string() }),
        (None, Some(prompt)) if asked.input.is_empty() => Task::Prompt(prompt),
        _ => return Err(invalid("a loop has a `tool`, with its `input`, or a `prompt`")),
    };
    Ok(wire::Definition { name: asked.name, schedule, task, quiet: asked.quiet })
}

fn shown(found: LoopInfo) -> Value {
    let mut value = json!({
        "name": found.definition.name,
        "quiet": found.definition.quiet,
        "status": match found.status {
            Status::Active => "active",
            Status::Paused => "paused",
            Status::Broken => "broken",
        },
        "nextAt": found.next_at,
        "lastAt": found.last_at,
        "preset": found.preset,
    });
    match found.definition.schedule {
        Schedule::Cron(cron) => {
            value["cron"] = cron.pattern.into();
            value["timezone"] = cron.timezone.into();
        }
        Schedule::Interval(seconds) => value["everySeconds"] = seconds.into(),
    }
    match found.definition.task {
        Task::Tool(task) => {
            value["tool"] = task.tool.into();
            value["input"] = serde_json::from_str(&task.input).unwrap_or_default();
        }
        Task::Prompt(prompt) => value["prompt"] = prompt.into(),
    }
    value
}

fn thrown(error: wire::Error) -> Error {
    let (kind, message) = match error {
        wire::Error::NotFound(what) => (ErrorKind::LoopNotFound, what),
        wire::Error::InvalidSchedule(why) => (ErrorKind::LoopSchedule, why),
        wire::Error::InvalidDefinition(why) => (ErrorKind::LoopDefinition, why),
        wire::Error::AlreadyExists(what) => (ErrorKind::LoopExists, what),
        wire::Error::Limit(why) => (ErrorKind::LoopLimit, why),
        wire::Error::Preset => {
            (ErrorKind::LoopPreset, "the loop came with the manifest: it can be paused, no more".to_owned())
        }
        wire::Error::ReadOnly => (ErrorKind::NotAllowed, "the tool is declared to change nothing".to_owned()),
        wire::Error::Unavailable => (ErrorKind::Store, "loops cannot be read or written now".to_owned()),
    };
    Error::new(kind, message)
}
