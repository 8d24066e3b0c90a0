//! The one tool of a `codemode` capability: it runs a program of the agent's in which the granted namespaces are
//! functions. It is derived when the capability is built, so it is pinned with it.

use serde_json::{Map, Value, json};

use super::Tool;

/// The tool's name.
const RUN: &str = "run";

/// The property of its input that holds the program.
pub const PROGRAM: &str = "program";

/// The tool as it is derived. `capability.json` may say more of it, or say it better.
#[must_use]
pub fn run_tool() -> Map<String, Value> {
    let Value::Object(tool) = json!({
        "name": RUN,
        "description": "Runs a JavaScript program with what this capability may reach as functions, and gives what it returns. The capability's guidance says which there are.",
        "inputSchema": input_schema(),
        "expose": true,
        "run": { "kind": "codemode" },
    }) else {
        return Map::new();
    };
    tool
}

/// Whether a tool is the derived one, whatever else is said of it.
#[must_use]
pub fn is_run_tool(tool: &Tool) -> bool {
    tool.name == RUN && Value::Object(tool.input_schema.clone()) == input_schema() && tool.output_schema.is_none()
}

fn input_schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            PROGRAM: {
                "type": "string",
                "description": "JavaScript: the body of an async function. `return` gives the result, which is JSON; `console.log` prints.",
            },
        },
        "required": [PROGRAM],
        "additionalProperties": false,
    })
}
