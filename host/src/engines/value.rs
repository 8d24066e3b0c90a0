//! A call's answer as a program gets it, and a failure as it is thrown.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::asks;
use crate::call::{Content, Contents, Failure, Reply};
use crate::runtime::bound;

/// What a call resolves to: what is structured, or else one text as it is, or else all pieces.
pub(super) fn of_reply(reply: &Reply) -> Value {
    match (&reply.structured, reply.content.as_slice()) {
        (Some(value), _) => value.clone(),
        (None, []) => Value::Null,
        (None, [Content::Text(text)]) => Value::String(text.clone()),
        (None, pieces) => pieces.iter().map(piece).collect(),
    }
}

/// What is thrown: the code and the sentence that an agent gets, the tool and its record, the schema that the input
/// did not fit, and the ids by which people were asked.
pub(super) fn of_failure(failure: &Failure, tool: &str) -> bound::Failure {
    let mut details = json!({ "tool": tool, "callId": failure.call_id });
    if let Some(schema) = &failure.input_schema {
        details["schema"] = Value::Object(schema.clone());
    }
    let ids: Vec<_> = asks::ids(&failure.asked).iter().map(ToString::to_string).collect();
    if !ids.is_empty() {
        details["asked"] = json!(ids);
    }
    bound::Failure {
        code: failure.error.kind.code().to_owned(),
        message: failure.error.message.clone(),
        details: Some(details.to_string()),
    }
}

fn piece(content: &Content) -> Value {
    match content {
        Content::Text(text) => json!({ "type": "text", "text": text }),
        Content::Image(bytes, mime_type) => {
            json!({ "type": "image", "data": STANDARD.encode(bytes), "mimeType": mime_type })
        }
        Content::Audio(bytes, mime_type) => {
            json!({ "type": "audio", "data": STANDARD.encode(bytes), "mimeType": mime_type })
        }
        Content::Resource { uri, mime_type, contents } => {
            let (key, value) = match contents {
                Contents::Text(text) => ("text", text.clone()),
                Contents::Blob(bytes) => ("blob", STANDARD.encode(bytes)),
            };
            json!({ "type": "resource", "resource": { "uri": uri, "mimeType": mime_type, key: value } })
        }
        Content::Link { uri, name, description, mime_type } => json!({
            "type": "resource_link", "uri": uri, "name": name, "description": description, "mimeType": mime_type,
        }),
    }
}
