//! The arguments that are the host's and not the tool's: `dry_run` and `confirmation_token`.
//!
//! They are listed with every tool that can change something, and taken out before anything else sees the arguments.
//! No manifest can name them, so nothing of a tool's own is ever taken. A tool that only reads has neither: there they
//! are properties that nobody knows.

use rmcp::model::JsonObject;
use serde_json::{Value, json};

use crate::client::Confirmation;
use crate::error::{Error, ErrorKind, Result};

const DRY_RUN: &str = "dry_run";
const TOKEN: &str = "confirmation_token";

/// What a call says to the host.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct ForHost {
    /// Nothing may change.
    pub(super) dry_run: bool,
    /// What it is confirmed by.
    pub(super) confirmation: Confirmation,
}

/// Adds them to the input schema of a tool that can change something. `needs_word` says that a person has to agree
/// to its calls.
pub(super) fn add(schema: &mut JsonObject, needs_word: bool) {
    let properties = schema.entry("properties").or_insert_with(|| json!({}));
    let Value::Object(properties) = properties else { return };
    let dry_run = json!({ "type": "boolean", "description": "Change nothing: answer with what would happen." });
    properties.insert(DRY_RUN.to_owned(), dry_run);
    if needs_word {
        let token = json!({
            "type": "string",
            "description": "From a first call without it, which only gives the plan; once the person agreed.",
        });
        properties.insert(TOKEN.to_owned(), token);
    }
}

/// Takes them out of the arguments of a tool. A token is taken whether it is listed or not: what is listed may have
/// changed since the agent read it.
pub(super) fn take(arguments: &mut JsonObject, is_read_only: bool) -> Result<ForHost> {
    if is_read_only {
        return Ok(ForHost::default());
    }
    let invalid =
        |name: &str, kind: &str| Error::new(ErrorKind::InvalidInput, format!("`/{name}`: it is no {kind}"));
    // Not `swap_remove`: what is left stays in its order.
    let dry_run = match arguments.shift_remove(DRY_RUN) {
        None => false,
        Some(Value::Bool(dry_run)) => dry_run,
        Some(_) => return Err(invalid(DRY_RUN, "boolean")),
    };
    let confirmation = match arguments.shift_remove(TOKEN) {
        None => Confirmation::Missing,
        Some(Value::String(token)) => Confirmation::Token(token),
        Some(_) => return Err(invalid(TOKEN, "string")),
    };
    Ok(ForHost { dry_run, confirmation })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(value: &Value) -> JsonObject {
        value.as_object().unwrap().clone()
    }

    #[test]
    fn they_stand_beside_what_is_the_tools() {
        let schema = json!({ "type": "object", "properties": { "z": {} }, "additionalProperties": false });
        for (needs_word, names) in [(false, vec!["z", DRY_RUN]), (true, vec!["z", DRY_RUN, TOKEN])] {
            let mut with = object(&schema);
            add(&mut with, needs_word);
            assert_eq!(with["properties"].as_object().unwrap().keys().collect::<Vec<_>>(), names);
            assert_eq!(with["additionalProperties"], json!(false));
            assert_eq!(with.get("required"), None);
        }
        let mut bare = object(&json!({ "type": "object" }));
        add(&mut bare, false);
        assert_eq!(bare["properties"][DRY_RUN]["type"], json!("boolean"));
    }

    #[test]
    fn they_are_taken_and_all_else_stays() {
        let token = |token: &str| Confirmation::Token(token.to_owned());
        let cases = [
            (json!({ "a": 1 }), ForHost::default(), json!({ "a": 1 })),
            (json!({ "dry_run": false }), ForHost::default(), json!({})),
            (
                json!({ "b": 1, "dry_run": true, "a": { "dry_run": 7 }, "c": 2 }),
                ForHost { dry_run: true, ..ForHost::default() },
                json!({ "b": 1, "a": { "dry_run": 7 }, "c": 2 }),
            ),
            (
                json!({ "confirmation_token": "t", "a": 1 }),
                ForHost { confirmation: token("t"), ..ForHost::default() },
                json!({ "a": 1 }),
            ),
            (
                json!({ "confirmation_token": "", "dry_run": true }),
                ForHost { dry_run: true, confirmation: token("") },
                json!({}),
            ),
        ];
        for (arguments, expected, left) in cases {
            let mut arguments = object(&arguments);
            assert_eq!(take(&mut arguments, false).unwrap(), expected);
            assert_eq!(Value::Object(arguments).to_string(), left.to_string());
        }
    }

    #[test]
    fn one_of_a_wrong_type_is_refused_and_never_guessed() {
        for dry_run in [json!("true"), json!(1), json!(null), json!([]), json!({})] {
            let error = take(&mut object(&json!({ "dry_run": dry_run })), false).unwrap_err();
            assert_eq!(
                (error.kind, error.message.as_str()),
                (ErrorKind::InvalidInput, "`/dry_run`: it is no boolean")
            );
        }
        for token in [json!(true), json!(1), json!(null), json!(["t"])] {
            let error = take(&mut object(&json!({ "confirmation_token": token })), false).unwrap_err();
            assert_eq!(error.message, "`/confirmation_token`: it is no string");
        }
    }

    #[test]
    fn a_tool_that_only_reads_has_neither() {
        let mut arguments = object(&json!({ "dry_run": true, "confirmation_token": 1 }));
        assert_eq!(take(&mut arguments, true).unwrap(), ForHost::default());
        assert_eq!(arguments.len(), 2);
    }
}
