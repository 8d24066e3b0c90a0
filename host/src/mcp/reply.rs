//! How an answer or a failure looks on the wire.
//!
//! An agent gets the code and one plain sentence of a failure, for a wrong input the schema to repair it by, and
//! where a person can help, a sentence with the approval id to hand to that person. It never gets the hint or the
//! detail: those tell a person how to widen a grant. What is put here was checked and redacted by whoever made it.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rmcp::model::{CallToolResult, ContentBlock, JsonObject, MetaObject, Resource, ResourceContents};
use serde_json::{Value, json};

use super::plan;
use crate::asks::{self, Asked};
use crate::audit::Usage;
use crate::call::{Content, Contents, Failure, Reply};
use crate::client::Wants;
use crate::error::ErrorKind;

/// A tool's answer. `address` gives the address that a document of the capability has for the client.
pub(super) fn success(reply: Reply, address: &impl Fn(String) -> String) -> CallToolResult {
    // What a dry run planned is added by `plan.rs`.
    let Reply { call_id, structured, content, asked, usage, .. } = reply;
    let mut blocks: Vec<ContentBlock> = content.into_iter().map(|content| block(content, address)).collect();
    if let Some(structured) = &structured {
        // Some clients show their model only the structure, others only the text: both get the same.
        let text = structured.to_string();
        let is_said = blocks.iter().any(|block| block.as_text().is_some_and(|said| said.text == text));
        if !is_said {
            blocks.push(ContentBlock::text(text));
        }
    }
    let mut result = CallToolResult::success(blocks);
    result.structured_content = structured;
    result.meta = Some(meta(None, &call_id, &asked, usage));
    result
}

/// A call without an answer. It carries no structure: clients hold that against the tool's output schema.
pub(super) fn failure(failure: &Failure) -> CallToolResult {
    let Failure { call_id, error, asked, usage, input_schema, wants } = failure;
    let mut text = format!("{}: {}", error.kind.code(), error.message);
    for Asked { sentence, .. } in asked {
        text.push_str("\n\n");
        text.push_str(sentence);
    }
    if let Some(schema) = input_schema {
        text.push_str("\n\ninput schema: ");
        text.push_str(&Value::Object(schema.clone()).to_string());
    }
    let mut meta = Some(meta(Some(error.kind), call_id, asked, *usage));
    if let Wants::Confirmation(unconfirmed) = wants {
        text.push_str("\n\n");
        text.push_str(&plan::unconfirmed_text(unconfirmed));
        plan::note_unconfirmed(&mut meta, unconfirmed);
    }
    let mut result = CallToolResult::error(vec![ContentBlock::text(text)]);
    result.meta = meta;
    result
}

/// A piece of content.
pub(super) fn block(content: Content, address: &impl Fn(String) -> String) -> ContentBlock {
    match content {
        Content::Text(text) => ContentBlock::text(text),
        Content::Image(bytes, mime_type) => ContentBlock::image(STANDARD.encode(bytes), mime_type),
        Content::Audio(bytes, mime_type) => ContentBlock::audio(STANDARD.encode(bytes), mime_type),
        Content::Resource { uri, mime_type, contents } => {
            ContentBlock::resource(document(address(uri), mime_type, contents))
        }
        Content::Link { uri, name, description, mime_type } => {
            let mut link = Resource::new(address(uri), name);
            link.description = description;
            link.mime_type = mime_type;
            ContentBlock::resource_link(link)
        }
    }
}

/// A document.
pub(super) fn document(uri: String, mime_type: Option<String>, contents: Contents) -> ResourceContents {
    match contents {
        Contents::Text(text) => ResourceContents::TextResourceContents { uri, mime_type, text, meta: None },
        Contents::Blob(bytes) => {
            let blob = STANDARD.encode(bytes);
            ResourceContents::BlobResourceContents { uri, mime_type, blob, meta: None }
        }
    }
}

fn meta(code: Option<ErrorKind>, call_id: &str, asked: &[Asked], usage: Usage) -> MetaObject {
    let mut meta = JsonObject::new();
    if let Some(kind) = code {
        meta.insert("remit/code".to_owned(), json!(kind.code()));
    }
    if !call_id.is_empty() {
        meta.insert("remit/callId".to_owned(), json!(call_id));
    }
    let ids: Vec<String> = asks::ids(asked).iter().map(ToString::to_string).collect();
    match ids.as_slice() {
        [] => {}
        [id] => drop(meta.insert("remit/approvalId".to_owned(), json!(id))),
        ids => drop(meta.insert("remit/approvalId".to_owned(), json!(ids))),
    }
    let usage = json!({
        "fuel": usage.fuel,
        "memoryPeak": usage.memory_peak,
        "timeMs": u64::try_from(usage.time.as_millis()).unwrap_or(u64::MAX),
        "hostCalls": usage.host_calls,
        "requests": usage.requests,
        "bytesOut": usage.bytes_out,
        "bytesIn": usage.bytes_in,
    });
    meta.insert("remit/usage".to_owned(), usage);
    MetaObject(meta)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::error::Error;

    fn usage() -> Usage {
        Usage { fuel: 7, memory_peak: 65536, time: Duration::from_micros(2700), ..Usage::default() }
    }

    fn reply(structured: Option<Value>, content: Vec<Content>, asked: Vec<Asked>) -> Reply {
        Reply {
            call_id: "c1".to_owned(),
            structured,
            content,
            plan: crate::call::Plan::default(),
            asked,
            usage: usage(),
        }
    }

    fn answer(structured: Option<Value>, content: Vec<Content>) -> Value {
        serde_json::to_value(success(reply(structured, content, Vec::new()), &|uri| uri)).unwrap()
    }

    fn failed(error: Error, input_schema: Option<Value>) -> Value {
        let input_schema = input_schema.map(|schema| schema.as_object().unwrap().clone());
        failed_and_asked(error, input_schema, Vec::new())
    }

    fn failed_and_asked(error: Error, input_schema: Option<JsonObject>, asked: Vec<Asked>) -> Value {
        let refused = Failure {
            call_id: "c2".to_owned(),
            error,
            asked,
            usage: usage(),
            input_schema,
            wants: Wants::Nothing,
        };
        serde_json::to_value(failure(&refused)).unwrap()
    }

    fn text(text: &str) -> Content {
        Content::Text(text.to_owned())
    }

    #[test]
    fn structure_is_said_in_text_once() {
        let structure = json!({ "z": 1, "a": [null, "é"] });
        let said = r#"{"z":1,"a":[null,"é"]}"#;
        let cases = [
            (Some(structure.clone()), vec![], json!([said])),
            (Some(structure.clone()), vec![text(said)], json!([said])),
            (Some(structure.clone()), vec![text("in words"), text(said)], json!(["in words", said])),
            (Some(structure), vec![text("in words")], json!(["in words", said])),
            (Some(Value::Null), vec![], json!(["null"])),
            (None, vec![text("only words")], json!(["only words"])),
            (None, vec![], json!([])),
        ];
        for (structured, content, expected) in cases {
            let result = answer(structured.clone(), content);
            let texts: Vec<_> = result["content"].as_array().unwrap().iter().map(|block| &block["text"]).collect();
            assert_eq!(json!(texts), expected);
            assert_eq!(result.get("structuredContent").cloned(), structured);
            assert_eq!(result["isError"], json!(false));
        }
    }

    #[test]
    fn every_kind_of_content_has_its_form() {
        let cases = [
            (text("t"), json!({ "type": "text", "text": "t" })),
            (
                Content::Image(vec![0, 255], "image/png".to_owned()),
                json!({ "type": "image", "data": "AP8=", "mimeType": "image/png" }),
            ),
            (
                Content::Audio(vec![1], "audio/wav".to_owned()),
                json!({ "type": "audio", "data": "AQ==", "mimeType": "audio/wav" }),
            ),
            (
                Content::Resource {
                    uri: "note:1".to_owned(),
                    mime_type: Some("text/markdown".to_owned()),
                    contents: Contents::Text("# t".to_owned()),
                },
                json!({
                    "type": "resource",
                    "resource": { "uri": "note:1", "mimeType": "text/markdown", "text": "# t" },
                }),
            ),
            (
                Content::Resource {
                    uri: "file:1".to_owned(),
                    mime_type: Some("application/zip".to_owned()),
                    contents: Contents::Blob(vec![80, 75]),
                },
                json!({
                    "type": "resource",
                    "resource": { "uri": "file:1", "mimeType": "application/zip", "blob": "UEs=" },
                }),
            ),
            (
                Content::Link {
                    uri: "https://example.com/1".to_owned(),
                    name: "one".to_owned(),
                    description: Some("d".to_owned()),
                    mime_type: None,
                },
                json!({ "type": "resource_link", "uri": "https://example.com/1", "name": "one", "description": "d" }),
            ),
        ];
        for (content, expected) in cases {
            assert_eq!(answer(None, vec![content])["content"][0], expected);
        }
    }

    #[test]
    fn an_answer_says_what_it_cost() {
        let expected = json!({
            "remit/callId": "c1",
            "remit/usage": {
                "fuel": 7, "memoryPeak": 65536, "timeMs": 2, "hostCalls": 0, "requests": 0, "bytesOut": 0, "bytesIn": 0,
            },
        });
        assert_eq!(answer(None, vec![])["_meta"], expected);
    }

    #[test]
    fn a_failure_gives_code_and_sentence_and_nothing_for_people() {
        let error = Error::new(ErrorKind::HttpHostNotAllowed, "`evil.example` is not granted")
            .detail("SECRET DETAIL")
            .hint("remit grant acme/notes http evil.example");
        let result = failed(error, None);
        assert_eq!(result["isError"], json!(true));
        assert_eq!(result.get("structuredContent"), None);
        assert_eq!(
            result["content"],
            json!([{ "type": "text", "text": "http/host-not-allowed: `evil.example` is not granted" }]),
        );
        assert_eq!(result["_meta"]["remit/code"], json!("http/host-not-allowed"));
        assert_eq!(result["_meta"]["remit/callId"], json!("c2"));
        assert_eq!(result["_meta"]["remit/usage"]["fuel"], json!(7));
        let all = result.to_string();
        assert!(!all.contains("DETAIL") && !all.contains("remit grant"), "{all}");
    }

    #[test]
    fn what_a_person_can_allow_comes_with_its_id() {
        let asked = |sentence: &str, ids: &[&str]| Asked {
            sentence: sentence.to_owned(),
            ids: ids.iter().map(|id| id.parse().unwrap()).collect(),
        };
        let (one, two) = ("K7QM-2XWA", "00AB-CDEF");
        let cases = [
            (vec![], "capability/failed: no", Value::Null),
            (vec![asked("refused", &[])], "capability/failed: no\n\nrefused", Value::Null),
            (vec![asked("ask", &[one])], "capability/failed: no\n\nask", json!(one)),
            (
                vec![asked("ask", &[one]), asked("ask more", &[one, two])],
                "capability/failed: no\n\nask\n\nask more",
                json!([one, two]),
            ),
        ];
        for (asked, text, id) in cases {
            let result = failed_and_asked(Error::new(ErrorKind::Failed, "no"), None, asked.clone());
            assert_eq!(result["content"][0]["text"], json!(text));
            assert_eq!(result["_meta"]["remit/approvalId"], id);
            assert!(!result.to_string().contains("remit approve"), "{result}");
            let result = serde_json::to_value(success(reply(None, Vec::new(), asked), &|uri| uri)).unwrap();
            assert_eq!((&result["content"], &result["_meta"]["remit/approvalId"]), (&json!([]), &id));
        }
    }

    #[test]
    fn a_wrong_input_comes_back_with_its_schema() {
        let error = Error::new(ErrorKind::InvalidInput, "`/count`: \"three\" is not an integer");
        let schema = json!({ "type": "object", "properties": { "count": { "type": "integer" } } });
        let said = failed(error, Some(schema))["content"][0]["text"].clone();
        let expected = "call/invalid-input: `/count`: \"three\" is not an integer\n\ninput schema: \
            {\"type\":\"object\",\"properties\":{\"count\":{\"type\":\"integer\"}}}";
        assert_eq!(said, json!(expected));
    }
}
