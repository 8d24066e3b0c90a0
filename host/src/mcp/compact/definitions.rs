//! How the four tools are listed. An agent carries these words all the time: together they stay under 1,500 tokens, which
//! a test counts.

use std::sync::Arc;

use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use serde_json::{Value, json};

use super::wanted::Meta;

const SEARCH: &str = "Find tools, capabilities, prompts, schedules and stored entities by what they do. Says how each is \
called; the best tools come with their input schema. `entity` gives one thing in full by its id. Without both: an \
overview.";

const READ: &str = "Call a tool that only reads, by the id that `search` gave. Refuses any other.";

const CALL: &str = "Call any tool by the id that `search` gave. A destructive call first answers with its plan and a \
confirmation token: show the plan to the person, then call again with the token.";

const EXECUTE: &str = "Run a JavaScript program that combines tools in one round trip: the body of an async function, with \
`await remit.<slug>.<tool>(input)`, `Promise.all`, `console.log`, and `return` of a JSON value. A tool that fails throws \
`{code, message}`. No files, network, modules, timers or clock. A destructive call inside stops the program with a plan \
and a token, as in `call_tool`.";

/// The four tools; without `execute` where no engine is installed.
pub(in super::super) fn definitions(has_engine: bool) -> Vec<Tool> {
    let reads = || ToolAnnotations::new().read_only(true).open_world(true);
    let writes = || ToolAnnotations::new().read_only(false).destructive(true).open_world(true);
    let id = json!({ "type": "string", "description": "Such as `tool:acme/weather.get_forecast`." });
    let input = json!({ "type": "object", "description": "As the tool's input schema says." });
    let dry_run = json!({ "type": "boolean", "description": "Change nothing: answer with what would happen." });
    let token = json!({ "type": "string", "description": "From the first call, once the person agreed." });
    let mut tools = vec![
        tool(
            Meta::Search,
            SEARCH,
            &json!({
                "query": { "type": "string", "description": "What is to be done, in a few words." },
                "entity": { "type": "string", "description": "An id of an earlier search." },
                "limit": { "type": "integer", "minimum": 1, "maximum": 20, "description": "Results at most; 8 if not said." },
            }),
            &[],
            ToolAnnotations::new().read_only(true).open_world(false),
        ),
        tool(Meta::CallRead, READ, &json!({ "tool": id, "input": input }), &["tool"], reads()),
        tool(
            Meta::Call,
            CALL,
            &json!({ "tool": id, "input": input, "dry_run": dry_run, "confirmation_token": token }),
            &["tool"],
            writes(),
        ),
    ];
    if has_engine {
        let program = json!({ "type": "string", "description": "The program." });
        let properties = json!({ "program": program, "dry_run": dry_run, "confirmation_token": token });
        tools.push(tool(Meta::Execute, EXECUTE, &properties, &["program"], writes()));
    }
    tools
}

fn tool(
    meta: Meta,
    description: &'static str,
    properties: &Value,
    required: &[&str],
    annotations: ToolAnnotations,
) -> Tool {
    let mut schema = JsonObject::new();
    schema.insert("type".to_owned(), json!("object"));
    schema.insert("properties".to_owned(), properties.clone());
    if !required.is_empty() {
        schema.insert("required".to_owned(), json!(required));
    }
    schema.insert("additionalProperties".to_owned(), json!(false));
    Tool::new(meta.name(), description, Arc::new(schema)).with_annotations(annotations)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_four_cost_less_than_1500_tokens() {
        let tools = definitions(true);
        let names: Vec<&str> = tools.iter().map(|tool| tool.name.as_ref()).collect();
        assert_eq!(names, ["search", "call_read_tool", "call_tool", "execute"]);
        let text = serde_json::to_string(&tools).unwrap();
        // Tokenizers of models give about four bytes of such text to a token; three is on the safe side.
        let tokens = text.len().div_ceil(3);
        assert!(tokens < 1_500, "{tokens} tokens, {} bytes", text.len());
        assert_eq!(definitions(false).len(), 3);
    }

    #[test]
    fn what_reads_says_so_and_what_does_not_does_not() {
        for tool in definitions(true) {
            let reads = matches!(tool.name.as_ref(), "search" | "call_read_tool");
            let says = tool.annotations.unwrap();
            assert_eq!((says.read_only_hint, says.destructive_hint), (Some(reads), (!reads).then_some(true)));
        }
    }
}
