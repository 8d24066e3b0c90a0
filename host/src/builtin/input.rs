//! Inputs of the tools of `remit/loops`: what a schema cannot say of them. Pure.

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::error::{Error, ErrorKind, Result};
use crate::scheduler::next::Timing;
use crate::scheduler::{Definition, Task};

/// Its zone when a pattern names none.
const UTC: &str = "UTC";

/// Of `create_loop` and `update_loop`. The schema was checked before.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LoopInput {
    pub(super) name: String,
    cron: Option<String>,
    timezone: Option<String>,
    every: Option<String>,
    tool: Option<String>,
    input: Option<String>,
    prompt: Option<String>,
    quiet: Option<bool>,
    pub(super) paused: Option<bool>,
}

/// Of `take_run`.
#[derive(Debug, Deserialize)]
pub(super) struct TakeInput {
    pub(super) run: Option<String>,
}

/// Of `diff_since_last_run`.
#[derive(Debug, Deserialize)]
pub(super) struct DiffInput {
    pub(super) run: String,
    pub(super) items: Vec<String>,
}

/// Of `report_run`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ReportInput {
    pub(super) run: String,
    pub(super) text: String,
    #[serde(default)]
    pub(super) nothing_to_report: bool,
}

impl LoopInput {
    /// A loop that is new: it has a schedule and a task.
    pub(super) fn definition(self) -> Result<Definition> {
        let timing = self.timing()?.ok_or_else(|| invalid("give `cron` or `every`"))?;
        let task = self.task()?.ok_or_else(|| invalid("give `tool` or `prompt`"))?;
        Ok(Definition { quiet: self.quiet.unwrap_or(false), ..Definition::new(self.name, timing, task) })
    }

    /// What becomes of a loop that is there; nothing when only its pause changes.
    pub(super) fn changes(&self, there: &Definition) -> Result<Option<Definition>> {
        let (timing, task) = (self.timing()?, self.task()?);
        if timing.is_none() && task.is_none() && self.quiet.is_none() {
            return Ok(None);
        }
        let there = there.clone();
        Ok(Some(Definition {
            timing: timing.unwrap_or(there.timing),
            task: task.unwrap_or(there.task),
            quiet: self.quiet.unwrap_or(there.quiet),
            ..there
        }))
    }

    fn timing(&self) -> Result<Option<Timing>> {
        match (&self.cron, &self.every, &self.timezone) {
            (Some(_), Some(_), _) => Err(invalid("give one of `cron` and `every`, not both")),
            (None, _, Some(_)) => Err(invalid("a `timezone` goes with `cron`")),
            (Some(pattern), None, timezone) => {
                let timezone = timezone.clone().unwrap_or_else(|| UTC.to_owned());
                Ok(Some(Timing::Cron { pattern: pattern.clone(), timezone }))
            }
            (None, Some(every), None) => Ok(Some(Timing::interval(every)?)),
            (None, None, None) => Ok(None),
        }
    }

    fn task(&self) -> Result<Option<Task>> {
        match (&self.tool, &self.prompt, &self.input) {
            (Some(_), Some(_), _) => Err(invalid("give one of `tool` and `prompt`, not both")),
            (None, _, Some(_)) => Err(invalid("an `input` goes with `tool`")),
            (Some(tool), None, input) => {
                let tool = tool.parse().map_err(|_| invalid("a tool is written `publisher/slug.tool`"))?;
                let input = input.as_deref().map_or_else(|| Ok(Map::new()), read_object)?;
                Ok(Some(Task::Tool { tool, input }))
            }
            (None, Some(prompt), None) => Ok(Some(Task::Prompt(prompt.clone()))),
            (None, None, None) => Ok(None),
        }
    }
}

fn read_object(text: &str) -> Result<Map<String, Value>> {
    serde_json::from_str(text).map_err(|_| invalid("the `input` is not a JSON object"))
}

fn invalid(what: &str) -> Error {
    Error::new(ErrorKind::LoopDefinition, what)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_new_loop_has_one_schedule_and_one_task() {
        let cases = [
            (json!({ "every": "15m", "prompt": "Look." }), "every 15m"),
            (json!({ "cron": "0 8 * * *", "tool": "acme/a.b" }), "0 8 * * * UTC"),
            (
                json!({ "cron": "0 8 * * *", "timezone": "Europe/Berlin", "prompt": "Look." }),
                "0 8 * * * Europe/Berlin",
            ),
            (json!({ "prompt": "Look." }), "give `cron` or `every`"),
            (json!({ "every": "15m" }), "give `tool` or `prompt`"),
            (
                json!({ "every": "15m", "cron": "0 8 * * *", "prompt": "L." }),
                "give one of `cron` and `every`, not both",
            ),
            (json!({ "every": "15m", "timezone": "UTC", "prompt": "L." }), "a `timezone` goes with `cron`"),
            (
                json!({ "every": "15m", "prompt": "L.", "tool": "acme/a.b" }),
                "give one of `tool` and `prompt`, not both",
            ),
            (json!({ "every": "15m", "prompt": "L.", "input": "{}" }), "an `input` goes with `tool`"),
            (json!({ "every": "15m", "tool": "a.b" }), "a tool is written `publisher/slug.tool`"),
            (json!({ "every": "15m", "tool": "acme/a.b", "input": "[]" }), "the `input` is not a JSON object"),
        ];
        for (mut input, expected) in cases {
            input["name"] = json!("a");
            let input: LoopInput = serde_json::from_value(input).unwrap();
            let told = input.definition().map_or_else(|error| error.message, |made| made.timing.to_string());
            assert_eq!(told, expected);
        }
    }

    #[test]
    fn what_is_not_said_stays() {
        let there = Definition {
            quiet: true,
            ..Definition::new("a".to_owned(), Timing::Interval { seconds: 60 }, Task::Prompt("Look.".to_owned()))
        };
        let change = |input: Value| {
            let input: LoopInput = serde_json::from_value(input).unwrap();
            input.changes(&there).unwrap()
        };
        assert_eq!(change(json!({ "name": "a", "paused": true })), None);
        let every = Timing::Interval { seconds: 120 };
        assert_eq!(
            change(json!({ "name": "a", "every": "2m" })),
            Some(Definition { timing: every, ..there.clone() })
        );
        assert_eq!(
            change(json!({ "name": "a", "quiet": false })),
            Some(Definition { quiet: false, ..there.clone() })
        );
    }
}
