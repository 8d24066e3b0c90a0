//! Whether a loop may be made as it is described, by whom it is. Pure.
//!
//! The same questions are asked of people, of agents and of capabilities; only the answers to some differ.

use std::time::Duration;

use serde_json::Value;

use super::definition::{Definition, Origin, Task, WINDOWS, official};
use super::next::{MIN_PERIOD, Schedule, in_largest_unit};
use crate::error::{Error, ErrorKind, Result};
use crate::manifest::{Tool, check_name, check_prompt};
use crate::policy::{self, Restriction, is_published};
use crate::registry::{CapabilityName, Snapshot, ToolName};

/// Bytes of a tool's input that are kept with a loop. It says what to look at, and does not carry it.
const INPUT_BYTES: usize = 64 * 1024;

/// What a maker of loops may do.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// Who makes the loop.
    pub(crate) origin: Origin,
    /// The shortest period.
    pub(crate) min_period: Duration,
}

/// Checks a loop of `capability`, and gives its first firing after `now_ms`, from which on it counts.
pub(crate) fn check(
    definition: &Definition,
    capability: &CapabilityName,
    limits: Limits,
    snapshot: &Snapshot,
    now_ms: i64,
) -> Result<i64> {
    let invalid = |what: String| Error::new(ErrorKind::LoopDefinition, what);
    if let Some(problem) = check_name(&definition.name) {
        return Err(invalid(format!("the loop's name: {problem}")));
    }
    let schedule = Schedule::new(&definition.timing, now_ms)?;
    let next_at = schedule.next(now_ms)?;
    let min_period = limits.min_period.max(MIN_PERIOD);
    if schedule.period() < min_period {
        let [is, may] = [schedule.period(), min_period].map(|period| in_largest_unit(period.as_secs()));
        let message = format!("two firings are `{is}` apart, and `{may}` is the least that is granted");
        return Err(
            Error::new(ErrorKind::LoopLimit, message).hint(format!("remit grant {capability} loops every={is}"))
        );
    }
    if !WINDOWS.contains(&definition.window) {
        let [least, most] = [WINDOWS.start(), WINDOWS.end()].map(|window| in_largest_unit(window.as_secs()));
        return Err(invalid(format!("the catch-up window is between `{least}` and `{most}`")));
    }
    check_task(&definition.task, capability, limits.origin, snapshot)?;
    Ok(next_at)
}

fn check_task(task: &Task, capability: &CapabilityName, origin: Origin, snapshot: &Snapshot) -> Result<()> {
    let invalid = |what: String| Error::new(ErrorKind::LoopDefinition, what);
    let (tool, input) = match task {
        Task::Prompt(prompt) => {
            return check_prompt(prompt).map_or(Ok(()), |problem| Err(invalid(format!("the prompt: {problem}"))));
        }
        Task::Tool { tool, input } => (tool, input),
    };
    if matches!(origin, Origin::Preset | Origin::Capability) && tool.capability != *capability {
        return Err(invalid(format!("`{tool}` is not a tool of `{capability}`")));
    }
    let entry = snapshot.entries.get(&tool.capability);
    let position =
        entry.and_then(|entry| entry.capability.manifest.tools.iter().position(|known| known.name == tool.tool));
    let (Some(entry), Some(position)) = (entry, position) else {
        return Err(Error::new(ErrorKind::UnknownTool, format!("no installed capability has the tool `{tool}`"))
            .hint("remit list shows what is installed"));
    };
    let bytes = serde_json::to_vec(input).map_or(usize::MAX, |text| text.len());
    if bytes > INPUT_BYTES {
        return Err(invalid(format!("the input has {bytes} bytes, {INPUT_BYTES} are allowed")));
    }
    let known = &entry.capability.manifest.tools[position];
    if origin == Origin::Agent && !is_for_agents(tool, known, &entry.restrictions) {
        let message =
            format!("an agent's loop cannot call `{tool}`: it may destroy, or is not for loops of agents");
        return Err(
            Error::new(ErrorKind::NotAllowed, message).hint("a person can make such a loop: remit loops create")
        );
    }
    if !has_standing_word(origin) && policy::needs_word(known, &entry.restrictions) {
        return Err(unconfirmed(tool));
    }
    entry.schemas[position].check_input(&Value::Object(input.clone())).map_err(|mismatch| {
        let place = if mismatch.path.is_empty() { "the input".to_owned() } else { format!("`{}`", mismatch.path) };
        invalid(format!("{place}: {}", mismatch.reason))
    })
}

/// Whether a person agreed beforehand to what loops of this origin call: they made the loop, or installed it.
pub(super) fn has_standing_word(origin: Origin) -> bool {
    matches!(origin, Origin::Person | Origin::Preset)
}

/// The refusal of a loop whose tool needs the word of a person, when nobody is there to give it.
pub(super) fn unconfirmed(tool: &ToolName) -> Error {
    let message = format!("`{tool}` needs the word of a person at each call, and a loop has nobody to ask");
    Error::new(ErrorKind::ConfirmationRequired, message).hint("a person can make such a loop: remit loops create")
}

/// Whether an agent's loop may call a tool: one that an agent could call itself, and that destroys nothing and
/// makes no more loops while nobody looks.
pub(super) fn is_for_agents(name: &ToolName, tool: &Tool, restrictions: &[Restriction]) -> bool {
    is_published(tool, restrictions) && !tool.is_destructive() && name.capability != official()
}
