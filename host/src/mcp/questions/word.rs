//! A person's word for what a call would do: how it is asked for, and what counts as one.

use rmcp::model::{InputRequest, InputRequests};
use serde_json::{Value, json};

use super::super::plan;
use super::wire::form_request;
use crate::audit::Usage;
use crate::call::{Failure, Plan};
use crate::client::Wants;
use crate::error::{Error, ErrorKind};

/// The name that the question has on the wire.
pub(super) const NAME: &str = "confirmation";

/// The property that a person sets.
const AGREE: &str = "agree";

/// What a person said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Word {
    /// Yes: the token confirms the call.
    Agreed(String),
    /// No, in this way.
    Refused(&'static str),
}

/// Asks for a word on a plan.
pub(super) fn requests(title: &str, plan: &Plan) -> InputRequests {
    let schema = json!({
        "type": "object",
        "properties": { AGREE: { "type": "boolean", "title": "Do it", "description": "Whether this may be done, once" } },
        "required": [AGREE],
    });
    let message = format!("this call changes something. {}\nMay it be done?", plan::said(plan));
    let request: Option<InputRequest> = form_request(title, &message, schema).ok();
    request.into_iter().map(|request| (NAME.to_owned(), request)).collect()
}

/// What an answer says; nothing if it is none.
pub(super) fn read(answer: &Value, token: &str) -> Option<Word> {
    match answer["action"].as_str()? {
        "accept" => match answer["content"][AGREE].as_bool()? {
            true => Some(Word::Agreed(token.to_owned())),
            false => Some(Word::Refused("the person declined")),
        },
        "decline" => Some(Word::Refused("the person declined")),
        "cancel" => Some(Word::Refused("the person closed the question without a decision")),
        _ => None,
    }
}

/// A call that a person did not want.
pub(super) fn refused(how: &str) -> Failure {
    Failure {
        call_id: String::new(),
        error: Error::new(ErrorKind::ConfirmationRequired, how),
        asked: Vec::new(),
        usage: Usage::default(),
        input_schema: None,
        wants: Wants::Nothing,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_accepted_yes_is_a_word() {
        let agreed = Some(Word::Agreed("t".to_owned()));
        let declined = Some(Word::Refused("the person declined"));
        let cases = [
            (json!({ "action": "accept", "content": { "agree": true } }), agreed),
            (json!({ "action": "accept", "content": { "agree": false } }), declined.clone()),
            (json!({ "action": "decline" }), declined.clone()),
            (json!({ "action": "decline", "content": { "agree": true } }), declined),
            (json!({ "action": "accept", "content": { "agree": "true" } }), None),
            (json!({ "action": "accept", "content": { "agree": 1 } }), None),
            (json!({ "action": "accept", "content": [true] }), None),
            (json!({ "action": "accept" }), None),
            (json!({ "agree": true }), None),
            (json!(true), None),
            (Value::Null, None),
        ];
        for (answer, expected) in cases {
            assert_eq!(read(&answer, "t"), expected, "{answer}");
        }
        let closed = Some(Word::Refused("the person closed the question without a decision"));
        assert_eq!(read(&json!({ "action": "cancel" }), "t"), closed);
    }

    #[test]
    fn the_question_says_who_asks_and_what_would_be_done() {
        let change = |at: usize| crate::audit::ChangeRecord {
            entity: "notes".to_owned(),
            key: format!("k{at}\n- nothing"),
            action: "delete".to_owned(),
            version: 1,
            bytes: 0,
        };
        let plan = Plan { changes: (0..42).map(change).collect(), ..Plan::default() };
        let requests = serde_json::to_value(requests("Notes", &plan)).unwrap();
        let message = requests[NAME]["params"]["message"].as_str().unwrap();
        assert!(
            message.starts_with("Notes: this call changes something. It would:\n- delete `k0 - nothing` in notes")
        );
        assert!(message.ends_with("- and 2 more\nMay it be done?"), "{message}");
        assert_eq!(requests[NAME]["params"]["requestedSchema"]["required"], json!([AGREE]));
    }
}
