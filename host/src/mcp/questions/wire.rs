//! How a question looks on the wire, and what counts as an answer to it.
//!
//! A question begins with the title of the capability that asks, so that a person knows who it is. Its words are a
//! stranger's: they are cleaned like a description. An answer is held against the kind of its question; whoever sent it
//! may be mistaken, or hostile. Whether a form is filled in as it asks is the `ask` namespace's to say.

#![expect(deprecated, reason = "clients speak it for years to come")]

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rmcp::model::{
    AudioContent, CreateMessageRequest, CreateMessageRequestParams, CreateMessageResult, ElicitRequest,
    ElicitRequestParams, ElicitResult, ElicitationAction, ElicitationSchema, ImageContent, InputRequest,
    ListRootsRequest, ListRootsResult, Role, SamplingMessage, SamplingMessageContentBlock,
};
use serde_json::Value;

use super::super::text::{clean_line, clean_text};
use super::state::Kind;
use crate::client::{Answer, Question};
use crate::runtime::ask;

/// Characters of a title.
const MAX_TITLE: usize = 120;

/// Characters of a message. A person reads no more of it.
const MAX_MESSAGE: usize = 4000;

/// Folders, and pieces of what a model said, that are taken.
const MAX_PIECES: usize = 1000;

/// A question of the capability with this title. The error says why it cannot be asked.
pub(super) fn request(title: &str, question: &Question) -> Result<InputRequest, String> {
    match question {
        Question::Form(form) => {
            let schema = serde_json::from_str(&form.schema).map_err(|_| "its form is not JSON".to_owned())?;
            form_request(title, &form.message, schema)
        }
        Question::Link(link) => {
            Ok(InputRequest::Elicitation(ElicitRequest::new(ElicitRequestParams::UrlElicitationParams {
                meta: None,
                message: message(title, &link.message),
                url: link.url.clone(),
                elicitation_id: crate::registry::Digest::of(link.url.as_bytes()).hex(),
            })))
        }
        Question::Sample(sample) => Ok(InputRequest::CreateMessage(CreateMessageRequest::new(sampling(sample)))),
        Question::Roots => Ok(InputRequest::ListRoots(ListRootsRequest::default())),
    }
}

/// A form of the capability with this title.
pub(super) fn form_request(title: &str, text: &str, schema: Value) -> Result<InputRequest, String> {
    let requested_schema: ElicitationSchema =
        serde_json::from_value(schema).map_err(|_| "its form is none that clients can show".to_owned())?;
    let form =
        ElicitRequestParams::FormElicitationParams { meta: None, message: message(title, text), requested_schema };
    Ok(InputRequest::Elicitation(ElicitRequest::new(form)))
}

/// The answer that a response is; nothing if it is none to a question of this kind.
pub(super) fn answer(kind: &Kind, response: &Value) -> Option<Answer> {
    match kind {
        Kind::Form => decision(response, true).map(Answer::Form),
        Kind::Link => decision(response, false).map(Answer::Link),
        Kind::Sample => sampled(response).map(Answer::Sample),
        Kind::Roots => roots(response).map(Answer::Roots),
    }
}

fn message(title: &str, text: &str) -> String {
    format!("{}: {}", clean_line(title, MAX_TITLE), clean_text(text, MAX_MESSAGE))
}

fn decision(response: &Value, is_form: bool) -> Option<ask::Decision> {
    let result: ElicitResult = serde_json::from_value(response.clone()).ok()?;
    match result.action {
        ElicitationAction::Accept if is_form => {
            let content = result.content.filter(Value::is_object)?;
            Some(ask::Decision::Accepted(content.to_string()))
        }
        ElicitationAction::Accept => Some(ask::Decision::Accepted("{}".to_owned())),
        ElicitationAction::Decline => Some(ask::Decision::Declined),
        ElicitationAction::Cancel => Some(ask::Decision::Cancelled),
        _ => None,
    }
}

fn sampling(sample: &ask::Sample) -> CreateMessageRequestParams {
    let turns = sample.turns.iter().map(|turn| {
        let role = match turn.role {
            ask::Role::User => Role::User,
            ask::Role::Assistant => Role::Assistant,
        };
        SamplingMessage::new(role, block(&turn.said))
    });
    let mut params = CreateMessageRequestParams::new(turns.collect(), sample.max_tokens);
    params.system_prompt.clone_from(&sample.system);
    #[expect(clippy::cast_possible_truncation, reason = "a temperature is a small number without many digits")]
    let temperature = sample.temperature.map(|temperature| temperature as f32);
    params.temperature = temperature;
    params.stop_sequences = (!sample.stop.is_empty()).then(|| sample.stop.clone());
    params
}

fn block(said: &ask::Said) -> SamplingMessageContentBlock {
    let media = |media: &ask::Media| (STANDARD.encode(&media.data), media.mime_type.clone());
    match said {
        ask::Said::Text(text) => SamplingMessageContentBlock::text(text.clone()),
        ask::Said::Image(image) => {
            let (data, mime_type) = media(image);
            SamplingMessageContentBlock::Image(ImageContent::new(data, mime_type))
        }
        ask::Said::Audio(audio) => {
            let (data, mime_type) = media(audio);
            SamplingMessageContentBlock::Audio(AudioContent::new(data, mime_type))
        }
    }
}

fn sampled(response: &Value) -> Option<ask::Sampled> {
    let result: CreateMessageResult = serde_json::from_value(response.clone()).ok()?;
    let blocks: Vec<&SamplingMessageContentBlock> = result.message.content.iter().collect();
    if result.message.role != Role::Assistant || blocks.len() > MAX_PIECES {
        return None;
    }
    let said: Option<Vec<ask::Said>> = blocks.into_iter().map(said).collect();
    Some(ask::Sampled { said: said?, model: result.model, stop_reason: result.stop_reason })
}

fn said(block: &SamplingMessageContentBlock) -> Option<ask::Said> {
    let media = |data: &str, mime_type: &str| {
        Some(ask::Media { data: STANDARD.decode(data).ok()?, mime_type: mime_type.to_owned() })
    };
    match block {
        SamplingMessageContentBlock::Text(text) => Some(ask::Said::Text(text.text.clone())),
        SamplingMessageContentBlock::Image(image) => media(&image.data, &image.mime_type).map(ask::Said::Image),
        SamplingMessageContentBlock::Audio(audio) => media(&audio.data, &audio.mime_type).map(ask::Said::Audio),
        // No tools are offered to the model, so it can use none.
        _ => None,
    }
}

fn roots(response: &Value) -> Option<Vec<ask::Root>> {
    let result: ListRootsResult = serde_json::from_value(response.clone()).ok()?;
    let roots = result.roots.into_iter().take(MAX_PIECES);
    Some(roots.map(|root| ask::Root { uri: root.uri, name: root.name }).collect())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn form(message: &str, schema: &Value) -> Question {
        Question::Form(ask::Form { message: message.to_owned(), schema: schema.to_string() })
    }

    fn schema() -> Value {
        json!({
            "type": "object", "required": ["name"],
            "properties": { "name": { "type": "string" }, "age": { "type": "integer", "default": 30 } },
        })
    }

    #[test]
    fn a_person_sees_who_asks_in_words_without_hidden_characters() {
        let request = request("Notes\nfor you", &form("Who?\u{202e}\u{200b}", &schema())).unwrap();
        let expected = json!({
            "method": "elicitation/create",
            "params": { "mode": "form", "message": "Notes for you: Who?", "requestedSchema": schema() },
        });
        assert_eq!(serde_json::to_value(request).unwrap(), expected);
    }

    #[test]
    fn a_form_that_clients_cannot_show_is_not_asked() {
        for bad in
            [json!(true), json!({}), json!({ "type": "object", "properties": { "a": { "type": "object" } } })]
        {
            assert!(request("T", &form("m", &bad)).is_err(), "{bad}");
        }
        assert!(
            request("T", &Question::Form(ask::Form { message: "m".to_owned(), schema: "{".to_owned() })).is_err()
        );
    }

    #[test]
    fn the_other_questions_have_their_forms() {
        let link = ask::Link { message: "Sign in".to_owned(), url: "https://example.com/in".to_owned() };
        let link = serde_json::to_value(request("T", &Question::Link(link)).unwrap()).unwrap();
        assert_eq!(
            (&link["params"]["mode"], &link["params"]["url"]),
            (&json!("url"), &json!("https://example.com/in"))
        );
        let turn = ask::Turn { role: ask::Role::User, said: ask::Said::Text("Hi".to_owned()) };
        let sample =
            ask::Sample { turns: vec![turn], system: None, max_tokens: 10, temperature: Some(0.5), stop: vec![] };
        let sample = serde_json::to_value(request("T", &Question::Sample(sample)).unwrap()).unwrap();
        assert_eq!(sample["method"], "sampling/createMessage");
        assert_eq!(
            sample["params"]["messages"],
            json!([{ "role": "user", "content": { "type": "text", "text": "Hi" } }])
        );
        assert_eq!((&sample["params"]["maxTokens"], &sample["params"]["temperature"]), (&json!(10), &json!(0.5)));
        let roots = serde_json::to_value(request("T", &Question::Roots).unwrap()).unwrap();
        assert_eq!(roots["method"], "roots/list");
    }

    #[test]
    fn an_answer_fits_its_question() {
        let form = Kind::Form;
        let accepted = |text: &str| Some(Answer::Form(ask::Decision::Accepted(text.to_owned())));
        let cases = [
            (&form, json!({ "action": "accept", "content": { "name": "a" } }), accepted(r#"{"name":"a"}"#)),
            (&form, json!({ "action": "decline" }), Some(Answer::Form(ask::Decision::Declined))),
            (&form, json!({ "action": "cancel" }), Some(Answer::Form(ask::Decision::Cancelled))),
            (&form, json!({ "action": "accept" }), None),
            (&form, json!({ "action": "accept", "content": "name" }), None),
            (&form, json!({ "action": "other" }), None),
            (&form, json!({}), None),
            (&form, json!(null), None),
            (
                &Kind::Link,
                json!({ "action": "accept" }),
                Some(Answer::Link(ask::Decision::Accepted("{}".to_owned()))),
            ),
            (
                &Kind::Roots,
                json!({ "roots": [{ "uri": "file:///a" }] }),
                Some(Answer::Roots(vec![ask::Root { uri: "file:///a".to_owned(), name: None }])),
            ),
            (&Kind::Roots, json!({ "roots": "all" }), None),
            (&Kind::Sample, json!({ "action": "accept" }), None),
            (
                &Kind::Sample,
                json!({ "role": "user", "model": "m", "content": { "type": "text", "text": "t" } }),
                None,
            ),
        ];
        for (kind, response, expected) in cases {
            assert_eq!(answer(kind, &response), expected, "{response}");
        }
        let said = json!({
            "role": "assistant", "model": "m", "stopReason": "endTurn",
            "content": [{ "type": "text", "text": "t" }, { "type": "image", "data": "AP8=", "mimeType": "image/png" }],
        });
        let Some(Answer::Sample(sampled)) = answer(&Kind::Sample, &said) else { panic!("an answer") };
        let image = ask::Said::Image(ask::Media { data: vec![0, 255], mime_type: "image/png".to_owned() });
        assert_eq!(sampled.said, vec![ask::Said::Text("t".to_owned()), image]);
    }
}
