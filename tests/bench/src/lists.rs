//! `tools_list_1000`: how long the list of a thousand tools takes, and whether a session pays for building it.

use serde_json::{Value, json};

use crate::http::{Door, Era};
use crate::{Effort, figure, home, median};

const CAPABILITIES: usize = 20;
const TOOLS: usize = 50;
const SESSIONS: usize = 10;

pub(crate) fn measure(effort: Effort) {
    let scratch = home::scratch();
    for number in 0..CAPABILITIES {
        let component = home::changed(&home::plugin("echo"), |manifest| {
            manifest["slug"] = format!("echo{number}").into();
            let tool = manifest["tools"][0].clone();
            let tools = (0..TOOLS).map(|number| named(&tool, number)).collect();
            manifest["tools"] = Value::Array(tools);
        });
        home::install(scratch.path(), &component);
    }
    let door = Door::remit(scratch.path());
    let (built, list) = door.client(Era::Modern).list();
    assert_eq!(list.matches("\"inputSchema\"").count(), CAPABILITIES * TOOLS, "not every tool is in the list");
    figure("tools_list_1000_first", "value", built.as_secs_f64() * 1e3, "ms", "");

    for (era, name) in [(Era::Modern, "modern"), (Era::Legacy, "legacy")] {
        let mut client = door.client(era);
        client.list();
        let mut again: Vec<f64> = (0..effort.rounds * 3).map(|_| client.list().0.as_secs_f64() * 1e3).collect();
        let again = median(&mut again);
        figure(&format!("tools_list_1000_{name}"), "value", again, "ms", "< 20");
        let mut first: Vec<f64> = (0..SESSIONS).map(|_| door.client(era).list().0.as_secs_f64() * 1e3).collect();
        let first = median(&mut first);
        // A list that each session built would take as long as the very first one.
        figure(&format!("tools_list_1000_{name}_new_session"), "ratio", first / again, "x", "<= 1.5");
    }
}

fn named(tool: &Value, number: usize) -> Value {
    let mut tool = tool.clone();
    tool["name"] = json!(format!("echo_{number}"));
    tool
}
