//! The contract's types and those of the scheduler, one for one.

use serde_json::{Map, Value};

use super::Difference;
use crate::error::{Error, ErrorKind, Result};
use crate::registry::{CapabilityName, ToolName};
use crate::runtime::loops;
use crate::scheduler::next::Timing;
use crate::scheduler::{Definition, Loop, Origin, Status, Task};

/// Bytes of a definition that cross.
pub(super) fn size(definition: &loops::Definition) -> u64 {
    let schedule = match &definition.schedule {
        loops::Schedule::Cron(cron) => cron.pattern.len() + cron.timezone.len(),
        loops::Schedule::Interval(_) => 0,
    };
    let task = match &definition.task {
        loops::Task::Tool(task) => task.tool.len() + task.input.len(),
        loops::Task::Prompt(prompt) => prompt.len(),
    };
    (definition.name.len() + schedule + task) as u64
}

/// A definition of a loop of this capability. Only what has another type here is looked at.
pub(super) fn read_definition(capability: &CapabilityName, definition: loops::Definition) -> Result<Definition> {
    let timing = match definition.schedule {
        loops::Schedule::Cron(cron) => Timing::Cron { pattern: cron.pattern, timezone: cron.timezone },
        loops::Schedule::Interval(seconds) => Timing::Interval { seconds },
    };
    let task = match definition.task {
        loops::Task::Prompt(prompt) => Task::Prompt(prompt),
        loops::Task::Tool(task) => Task::Tool {
            tool: ToolName { capability: capability.clone(), tool: task.tool },
            input: read_object(&task.input)?,
        },
    };
    Ok(Definition { quiet: definition.quiet, ..Definition::new(definition.name, timing, task) })
}

fn read_object(text: &str) -> Result<Map<String, Value>> {
    serde_json::from_str(text).map_err(|_| Error::new(ErrorKind::LoopDefinition, "the input is not a JSON object"))
}

pub(super) fn loop_info(found: Loop) -> loops::LoopInfo {
    let definition = found.definition;
    loops::LoopInfo {
        definition: loops::Definition {
            name: definition.name,
            schedule: match definition.timing {
                Timing::Cron { pattern, timezone } => loops::Schedule::Cron(loops::Cron { pattern, timezone }),
                Timing::Interval { seconds } => loops::Schedule::Interval(seconds),
            },
            task: match definition.task {
                Task::Tool { tool, input } => {
                    loops::Task::Tool(loops::ToolTask { tool: tool.tool, input: Value::Object(input).to_string() })
                }
                Task::Prompt(prompt) => loops::Task::Prompt(prompt),
            },
            quiet: definition.quiet,
        },
        status: match found.status {
            Status::Active => loops::Status::Active,
            Status::Paused => loops::Status::Paused,
            Status::Broken => loops::Status::Broken,
        },
        next_at: found.next_at.and_then(|at| u64::try_from(at).ok()),
        last_at: found.last_at.and_then(|at| u64::try_from(at).ok()),
        preset: found.origin == Origin::Preset,
    }
}

pub(super) fn difference(found: Difference) -> loops::Difference {
    let texts = |items: Vec<Value>| items.iter().map(Value::to_string).collect();
    loops::Difference { first: found.is_first, added: texts(found.added), removed: texts(found.removed) }
}

/// What a guest may know of an error; the rest comes back.
pub(super) fn error(error: Error) -> Result<loops::Error> {
    Ok(match error.kind {
        ErrorKind::LoopNotFound => loops::Error::NotFound(error.message),
        ErrorKind::LoopSchedule => loops::Error::InvalidSchedule(error.message),
        ErrorKind::LoopDefinition | ErrorKind::UnknownTool | ErrorKind::ConfirmationRequired => {
            loops::Error::InvalidDefinition(error.message)
        }
        ErrorKind::LoopExists => loops::Error::AlreadyExists(error.message),
        ErrorKind::LoopLimit => loops::Error::Limit(error.message),
        ErrorKind::LoopPreset => loops::Error::Preset,
        _ => return Err(error),
    })
}
