//! What an upstream's answer becomes: the same pieces that a guest's answer has, for `answer.rs` to bound, search
//! and check. Pure.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use rmcp::model::{CallToolResult, ContentBlock, ResourceContents};

use crate::error::{Error, ErrorKind, Result};
use crate::runtime::tools::{Content, Contents, Embedded, Failure, Media, Reply};

/// The pieces of an answer, or what the tool said of its failure.
pub(super) fn reply(result: CallToolResult) -> Result<Result<Reply, Failure>> {
    if result.is_error == Some(true) {
        let said: Vec<String> = result
            .content
            .into_iter()
            .filter_map(|block| match block {
                ContentBlock::Text(text) => Some(text.text),
                _ => None,
            })
            .collect();
        return Ok(Err(Failure::Failed(said.join("\n"))));
    }
    let content = result.content.into_iter().map(piece).collect::<Result<Vec<_>>>()?;
    let structured = result.structured_content.map(|value| value.to_string());
    Ok(Ok(Reply { structured, content }))
}

fn piece(block: ContentBlock) -> Result<Content> {
    Ok(match block {
        ContentBlock::Text(text) => Content::Text(text.text),
        ContentBlock::Image(image) => Content::Image(media(&image.data, image.mime_type)?),
        ContentBlock::Audio(audio) => Content::Audio(media(&audio.data, audio.mime_type)?),
        ContentBlock::Resource(embedded) => Content::Resource(match embedded.resource {
            ResourceContents::TextResourceContents { uri, mime_type, text, .. } => {
                Embedded { uri, mime_type, contents: Contents::Text(text) }
            }
            ResourceContents::BlobResourceContents { uri, mime_type, blob, .. } => {
                Embedded { uri, mime_type, contents: Contents::Blob(bytes(&blob)?) }
            }
            _ => return Err(unusable()),
        }),
        // A link leads into the upstream, where this host's clients cannot follow it: it is told, not given.
        ContentBlock::ResourceLink(link) => Content::Text(format!("{}: {}", link.name, link.uri)),
        _ => return Err(unusable()),
    })
}

fn media(data: &str, mime_type: String) -> Result<Media> {
    Ok(Media { data: bytes(data)?, mime_type })
}

fn bytes(data: &str) -> Result<Vec<u8>> {
    BASE64_STANDARD.decode(data).map_err(|_| unusable())
}

fn unusable() -> Error {
    Error::new(ErrorKind::McpFailed, "the MCP server's answer has a piece that cannot be read")
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn of(result: Value) -> Result<Result<Reply, Failure>> {
        reply(serde_json::from_value(result).unwrap())
    }

    #[test]
    fn each_kind_of_piece_has_its_own() {
        let answer = of(json!({ "structuredContent": { "n": 1 }, "content": [
            { "type": "text", "text": "a" },
            { "type": "image", "data": "AQI=", "mimeType": "image/png" },
            { "type": "audio", "data": "Aw==", "mimeType": "audio/wav" },
            { "type": "resource", "resource": { "uri": "x:1", "mimeType": "text/plain", "text": "t" } },
            { "type": "resource", "resource": { "uri": "x:2", "blob": "BA==" } },
            { "type": "resource_link", "uri": "file:///etc/hosts", "name": "hosts" },
        ] }))
        .unwrap()
        .unwrap();
        assert_eq!(answer.structured.as_deref(), Some("{\"n\":1}"));
        let media = |data: &[u8], mime_type: &str| Media { data: data.to_vec(), mime_type: mime_type.to_owned() };
        let embedded = |uri: &str, mime_type: Option<&str>, contents| {
            Content::Resource(Embedded { uri: uri.to_owned(), mime_type: mime_type.map(str::to_owned), contents })
        };
        assert_eq!(
            answer.content,
            [
                Content::Text("a".to_owned()),
                Content::Image(media(&[1, 2], "image/png")),
                Content::Audio(media(&[3], "audio/wav")),
                embedded("x:1", Some("text/plain"), Contents::Text("t".to_owned())),
                embedded("x:2", None, Contents::Blob(vec![4])),
                Content::Text("hosts: file:///etc/hosts".to_owned()),
            ]
        );
    }

    #[test]
    fn a_failure_is_the_tools_own() {
        let failed = of(json!({ "isError": true, "content": [{ "type": "text", "text": "no such pin" }] }));
        assert_eq!(failed.unwrap().unwrap_err(), Failure::Failed("no such pin".to_owned()));
        let broken = of(json!({ "content": [{ "type": "image", "data": "?", "mimeType": "image/png" }] }));
        assert_eq!(broken.unwrap_err().kind, ErrorKind::McpFailed);
    }
}
