//! The loops that a manifest brings along.

use super::definition::{Definition, Task};
use super::next::{InvalidSchedule, Timing};
use crate::manifest::{Loop as Preset, Manifest, ScheduleType};
use crate::registry::{CapabilityName, ToolName};

/// Its zone when a preset names none.
const UTC: &str = "UTC";

/// The schedule of a preset as it is written; whether it can be used is another question.
pub(crate) fn timing(preset: &Preset) -> Result<Timing, InvalidSchedule> {
    match preset.schedule_type {
        ScheduleType::Cron => Ok(Timing::Cron {
            pattern: preset.schedule_expression.clone(),
            timezone: preset.timezone.clone().unwrap_or_else(|| UTC.to_owned()),
        }),
        ScheduleType::Interval => Timing::interval(&preset.schedule_expression),
    }
}

/// All loops of a manifest. One that breaks a rule is left out: no manifest that has one is installed.
pub(crate) fn presets(manifest: &Manifest) -> Vec<Definition> {
    manifest.loops.iter().filter_map(|preset| definition(manifest, preset)).collect()
}

fn definition(manifest: &Manifest, preset: &Preset) -> Option<Definition> {
    let capability = CapabilityName { publisher: manifest.publisher.clone(), slug: manifest.slug.clone() };
    let task = match (&preset.tool, &preset.prompt) {
        (Some(tool), None) => Task::Tool {
            tool: ToolName { capability, tool: tool.clone() },
            input: preset.input.clone().unwrap_or_default(),
        },
        (None, Some(prompt)) => Task::Prompt(prompt.clone()),
        _ => return None,
    };
    let definition = Definition::new(preset.name.clone(), timing(preset).ok()?, task);
    Some(Definition { quiet: preset.quiet, ..definition })
}
