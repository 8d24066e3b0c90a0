//! The loops of a manifest: named apart, on a schedule that fires, with one thing to do that can be done.

use std::collections::BTreeSet;

use serde_json::Value;

use super::super::{Loop, Manifest, NamespaceName, ScheduleType};
use super::{MAX_PROMPT, Problems, check_name, text};
use crate::scheduler;
use crate::scheduler::next::Schedule;
use crate::validate::ToolSchemas;

/// Whoever installs a capability reads all of them.
const MAX_LOOPS: usize = 20;

pub(super) fn check(manifest: &Manifest, problems: &mut Problems) {
    if manifest.loops.is_empty() {
        return;
    }
    if !manifest.uses.contains(&NamespaceName::Loops) {
        problems.add("uses", "add \"loops\": `loops` describes some");
    }
    if manifest.loops.len() > MAX_LOOPS {
        problems.add("loops", format!("describe at most {MAX_LOOPS} loops"));
    }
    let mut seen = BTreeSet::new();
    for (index, preset) in manifest.loops.iter().enumerate() {
        let field = format!("loops[{index}]");
        problems.add_some(format!("{field}.name"), check_name(&preset.name));
        if !seen.insert(&preset.name) {
            problems.add(format!("{field}.name"), format!("choose another name: `{}` is used twice", preset.name));
        }
        schedule(preset, &field, problems);
        task(manifest, preset, &field, problems);
    }
}

fn schedule(preset: &Loop, field: &str, problems: &mut Problems) {
    if preset.schedule_type == ScheduleType::Interval && preset.timezone.is_some() {
        problems.add(format!("{field}.timezone"), "remove it: an interval knows no clocks");
    }
    // From whenever an interval counts, it is as good.
    if let Err(problem) = scheduler::timing(preset).and_then(|timing| Schedule::new(&timing, 0)) {
        let place = if problem.is_of_zone() { "timezone" } else { "scheduleExpression" };
        problems.add(format!("{field}.{place}"), problem.to_string());
    }
}

fn task(manifest: &Manifest, preset: &Loop, field: &str, problems: &mut Problems) {
    match (&preset.prompt, &preset.tool) {
        (None, None) => problems.add(field, "say what it does: write `prompt` or `tool`"),
        (Some(_), Some(_)) => problems.add(field, "remove `prompt` or `tool`: a loop does one thing"),
        (Some(prompt), None) => {
            problems.add_some(format!("{field}.prompt"), text::paragraphs(prompt, MAX_PROMPT));
            if preset.input.is_some() {
                problems.add(format!("{field}.input"), "remove it: it is the input of a `tool`");
            }
        }
        (None, Some(name)) => match manifest.tools.iter().find(|tool| tool.name == *name) {
            None => problems.add(format!("{field}.tool"), "name one of `tools`"),
            Some(tool) => {
                let input = Value::Object(preset.input.clone().unwrap_or_default());
                if let Err(mismatch) = ToolSchemas::new(tool).check_input(&input) {
                    problems.add(format!("{field}.input{}", mismatch.path), mismatch.reason);
                }
            }
        },
    }
}
